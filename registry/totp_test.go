package registry

import (
	"errors"
	"strings"
	"testing"
	"time"

	"resq/schema/problem"
	"resq/testdb"
)

// The codes are those of the example in RFC 6238, of which six digits are shown.
func TestTOTPIsTheStandard(t *testing.T) {
	secret := []byte("12345678901234567890")
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		if got := totpAt(secret, at/30); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
}

// security.md 3.10: a login with one-time passwords takes both, a code once, and no code of long ago.
func TestTOTP(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		o := controlOptions(t, e)
		now := time.Date(2026, 8, 1, 9, 0, 0, 0, time.UTC)
		o.Now = func() time.Time { return now }
		c := openTest(t, o)
		ctx := t.Context()
		if _, err := c.Up(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CreateAdmin(ctx, "alice", RoleAdmin, goodWord); err != nil {
			t.Fatal(err)
		}
		login := func(word, code string) string {
			t.Helper()
			now = now.Add(time.Second)
			_, token, err := c.Login(ctx, "alice", word, code)
			if err != nil {
				t.Fatal(err)
			}
			return token
		}
		before := login(goodWord, "whatever") // without a secret a code is not looked at
		if before == "" {
			t.Fatal("a login without one-time passwords needs one")
		}
		a, secret, err := c.SetTOTP(ctx, "alice", true)
		if err != nil || !a.TOTP || len(secret) != 32 || TOTPAddress("alice", secret) != "otpauth://totp/resq:alice?secret="+secret+"&issuer=resq" {
			t.Fatal(a, secret, err)
		}
		if a, _ := c.Session(ctx, before, true); a != nil {
			t.Error("a session outlives what its login now lacks")
		}
		var kept string
		if err := c.row(ctx, c.db, "SELECT totp FROM resq_admin WHERE name = ?", "alice").Scan(&kept); err != nil || strings.Contains(kept, secret) {
			t.Error("the secret is kept as it is", err)
		}
		raw, err := totpText.DecodeString(secret)
		if err != nil {
			t.Fatal(err)
		}
		code := func(d time.Duration) string { return totpAt(raw, now.Add(d).Unix()/30) }
		for _, bad := range []string{"", "000000", code(-10 * time.Minute), code(10 * time.Minute), code(0) + "0", code(0)[:5]} {
			if login(goodWord, bad) != "" {
				t.Errorf("the code %q is good", bad)
			}
		}
		if login("wrong word for it", code(0)) != "" {
			t.Error("a code is enough")
		}
		used := code(0)
		if login(goodWord, used[:3]+" "+used[3:]) == "" {
			t.Error("the right code is refused")
		}
		if login(goodWord, used) != "" {
			t.Error("a code is good twice")
		}
		if login(goodWord, code(-30*time.Second)) != "" {
			t.Error("a code from before the last one is good")
		}
		if login(goodWord, code(30*time.Second)) == "" { // a clock that is ahead
			t.Error("the next code is refused")
		}
		// Of two logins at once with the same code one is let in.
		now = now.Add(5 * time.Minute)
		once := code(0)
		tokens := make(chan string, 4)
		for range cap(tokens) {
			go func() {
				_, token, err := c.Login(ctx, "alice", goodWord, once)
				if err != nil {
					token = "" // the database refused one of two that met
				}
				tokens <- token
			}()
		}
		in := 0
		for range cap(tokens) {
			if <-tokens != "" {
				in++
			}
		}
		if in != 1 {
			t.Errorf("a code let %d logins in", in)
		}
		if a, secret, err := c.SetTOTP(ctx, "alice", false); err != nil || a.TOTP || secret != "" {
			t.Error(a, secret, err)
		}
		if login(goodWord, "") == "" {
			t.Error("without one-time passwords the password is not enough")
		}
		var p *problem.Problem
		if _, _, err := c.SetTOTP(ctx, "bob", true); !errors.As(err, &p) || p.Code != problem.NotFound {
			t.Error("somebody who is not there has one-time passwords:", err)
		}
	})
}
