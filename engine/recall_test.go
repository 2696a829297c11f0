package engine_test

import (
	"path/filepath"
	"testing"

	"resq/testdb"
)

// A preview that is told once more is the one that was told first, token and all, though the database wrote its end down
// a second later than the server.
func TestRecall(t *testing.T) {
	people := peopleOf(t, filepath.Join(officeDir, "principals.yaml"))
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		s := newStory(t, newOffice(t, on), people)
		const ask = `{"resource": "Person", "ids": [1], "data": {"hours": 3.5}}`
		s.call("1", "ann", "res-update", ask)
		testdb.Exec(t, on, s.b.dsn["main"], map[string]string{
			testdb.SQLite:   "UPDATE resq_operation SET expires_at = strftime('%Y-%m-%d %H:%M:%f', expires_at, '2 seconds')",
			testdb.MySQL:    "UPDATE resq_operation SET expires_at = TIMESTAMPADD(SECOND, 2, expires_at)",
			testdb.Postgres: "UPDATE resq_operation SET expires_at = expires_at + interval '2 seconds'",
		}[on.Name])
		s.call("2", "ann", "res-update.silent.1", ask)
		if s.tokens["1"] == "" || s.tokens["2"] != s.tokens["1"] {
			t.Errorf("the token was %q and is %q: %v", s.tokens["1"], s.tokens["2"], s.told)
		}
	})
}
