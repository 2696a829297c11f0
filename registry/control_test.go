package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"resq/engine"
	"resq/engine/dialect/mysql"
	"resq/engine/dialect/postgres"
	"resq/engine/dialect/sqlite"
	"resq/engine/policy"
	"resq/schema/problem"
	"resq/testdb"
)

var testSecret = []byte("a secret of the tests, long enough")

// options are those of a control database in a fresh database.
func controlOptions(t *testing.T, e testdb.Engine) ControlOptions {
	return ControlOptions{
		DSN: testdb.Create(t, e), Drivers: []engine.Driver{sqlite.New(), mysql.New(), postgres.New()}, Secret: testSecret,
		Log: slog.New(slog.DiscardHandler),
	}
}

func openTest(t *testing.T, o ControlOptions) *Control {
	t.Helper()
	c, err := OpenControl(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// migratedControl is one with its tables.
func migratedControl(t *testing.T, e testdb.Engine) (*Control, ControlOptions) {
	t.Helper()
	o := controlOptions(t, e)
	c := openTest(t, o)
	if _, err := c.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, o
}

// controlSteps is how many steps make the control database: one a table, one that alters a table, and one that makes the
// last three at once.
const controlSteps = 14

var controlTables = []string{"agent_api_key", "agent_scope", "agent_scope_tool", "token_scope", "mcp_tool", "mcp_audit_log", "resq_control",
	"alembic_version", "resources", "tools", "tool_bindings", "validation_attachments", "resq_admin", "resq_admin_session"}

// C-003, dependencies.md 9: the steps go up, down and up again, are made once by whoever starts first, and are
// recorded.
func TestMigrations(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		o := controlOptions(t, e)
		var starters sync.WaitGroup
		made := make([][]Migration, 4)
		errs := make([]error, 4)
		for i := range made {
			c := openTest(t, o)
			starters.Go(func() { made[i], errs[i] = c.Up(t.Context()) })
		}
		starters.Wait()
		steps := 0
		for i := range made {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			steps += len(made[i])
		}
		c := openTest(t, o)
		there := func(want bool) {
			t.Helper()
			for _, table := range controlTables {
				if has, err := c.has(t.Context(), table); err != nil || has != want {
					t.Errorf("%s: %v %v, want %v", table, has, err, want)
				}
			}
			list, err := c.Status(t.Context())
			if err != nil || len(list) != controlSteps {
				t.Fatalf("%v %v", list, err)
			}
			for _, m := range list {
				if m.Applied != want {
					t.Errorf("%+v, want %v", m, want)
				}
			}
		}
		if steps != controlSteps {
			t.Errorf("four starters made %d steps of %d", steps, controlSteps)
		}
		there(true)
		if list, err := c.Down(t.Context(), false); err != nil || len(list) != 1 || list[0].Version != controlSteps {
			t.Fatalf("one step down: %v %v", list, err)
		}
		if list, err := c.Down(t.Context(), true); err != nil || len(list) != controlSteps-1 {
			t.Fatalf("all steps down: %v %v", list, err)
		}
		there(false)
		if list, err := c.Down(t.Context(), false); err != nil || len(list) != 0 {
			t.Errorf("below the ground: %v %v", list, err)
		}
		if list, err := c.Up(t.Context()); err != nil || len(list) != controlSteps {
			t.Fatalf("up again: %v %v", list, err)
		}
		there(true)
		if list, err := c.Up(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("a second time: %v %v", list, err)
		}
		// A process that dies after it made the table of steps leaves it without its first row on MySQL.
		if _, err := c.Down(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if _, err := c.exec(t.Context(), c.db, "DELETE FROM "+migrationTable); err != nil {
			t.Fatal(err)
		}
		if list, err := c.Up(t.Context()); err != nil || len(list) != controlSteps {
			t.Fatalf("after a death: %v %v", list, err)
		}
		if _, _, err := c.CreateKey(t.Context(), NewKey{Name: "works"}); err != nil {
			t.Error(err)
		}
	})
}

func codeOf(err error) problem.Code {
	if err == nil {
		return ""
	}
	var p *problem.Problem
	if !errors.As(err, &p) {
		return problem.Code(err.Error())
	}
	return p.Code
}

// B-002, N3: keys are kept as sums and sealed, shown again to who asks, and go through their states.
func TestControlKeys(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		o := controlOptions(t, e)
		o.Prefix = "xqak_"
		now := time.Date(2027, 3, 1, 12, 0, 0, 123456000, time.UTC)
		o.Now = func() time.Time { return now }
		c := openTest(t, o)
		ctx := t.Context()
		if _, err := c.Up(ctx); err != nil {
			t.Fatal(err)
		}
		if has, err := c.HasKeys(ctx); has || err != nil {
			t.Errorf("%v %v", has, err)
		}
		for _, s := range []struct {
			code  string
			tools []string
		}{{"reading", []string{"res-query", "res-schema"}}, {"agents", []string{"agent.list.query", "res-query"}}} {
			if _, err := c.CreateScope(ctx, s.code, "", s.tools...); err != nil {
				t.Fatal(err)
			}
		}
		k, plain, err := c.CreateKey(ctx, NewKey{Name: "报表 \"7\"", User: "42", Scopes: []string{"reading", "agents", "reading"}, Expires: now.Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		want := &Key{ID: k.ID, Prefix: plain[:9], KeyID: sumOf(plain)[:12], Name: "报表 \"7\"", User: "42", State: StateActive, Scopes: []string{"agents", "reading"}, Expires: ptr(now.Add(time.Hour)), Created: now}
		if !reflect.DeepEqual(k, want) || !strings.HasPrefix(plain, "xqak_") || len(plain) != 57 {
			t.Errorf("made %+v of %d characters\nwant %+v", k, len(plain), want)
		}
		if got, err := c.Key(ctx, k.ID); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v %v", got, err)
		}
		// Nothing in the table is the key.
		var sum, sealed, prefix string
		if err := c.db.QueryRowContext(ctx, "SELECT ak_sha256, ak_cipher, ak_prefix FROM agent_api_key").Scan(&sum, &sealed, &prefix); err != nil {
			t.Fatal(err)
		}
		if sum != sumOf(plain) || strings.Contains(sealed+prefix, plain[9:20]) {
			t.Errorf("%s %s %s", sum, sealed, prefix)
		}
		if got, err := c.Reveal(ctx, k.ID); err != nil || got != plain {
			t.Errorf("shown again: %q %v", got, err)
		}
		// With a new secret and the old one among the earlier, it is still shown; without it is not, and still opens.
		n := o
		n.Secret, n.Previous = []byte("another secret of the tests, longer"), [][]byte{testSecret}
		if got, err := openTest(t, n).Reveal(ctx, k.ID); err != nil || got != plain {
			t.Errorf("with an earlier secret: %q %v", got, err)
		}
		n.Previous = nil
		other := openTest(t, n)
		if got, err := other.Reveal(ctx, k.ID); codeOf(err) != problem.DataError || got != "" || strings.Contains(err.Error(), plain) {
			t.Errorf("with another secret: %q %v", got, err)
		}
		owner, err := other.owner(ctx, sum)
		if err != nil || owner == nil || owner.User != "42" || !slices.Equal(owner.Tools, []string{"agent.list.query", "res-query", "res-schema"}) {
			t.Errorf("owner %+v %v", owner, err)
		}
		// A seal belongs to its row: moved to another, it opens nothing.
		k2, plain2, err := c.CreateKey(ctx, NewKey{Name: "second"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.exec(ctx, c.db, "UPDATE agent_api_key SET ak_cipher = ? WHERE id = ?", sealed, k2.ID); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Reveal(ctx, k2.ID); err == nil {
			t.Errorf("a moved seal opens as %q", got)
		}
		opens := func(plain string) bool {
			o, err := c.owner(ctx, sumOf(plain))
			if err != nil {
				t.Fatal(err)
			}
			return o != nil
		}
		for i, step := range []struct {
			do    func(context.Context, int64) (*Key, error)
			state string
			code  problem.Code
		}{
			{c.DisableKey, StateDisabled, ""}, {c.EnableKey, StateActive, ""}, {c.RevokeKey, StateRevoked, ""}, {c.RevokeKey, StateRevoked, ""},
			{c.EnableKey, "", problem.Conflict}, {c.DisableKey, "", problem.Conflict},
		} {
			k, err := step.do(ctx, k2.ID)
			if codeOf(err) != step.code || err == nil && k.State != step.state {
				t.Errorf("step %d: %+v %v", i, k, err)
			}
			if want := step.state == StateActive; opens(plain2) != want {
				t.Errorf("step %d: the key opens: %v", i, !want)
			}
		}
		// A rotation takes over all with the expiry; the old key ends after the grace, and never later than it would have.
		k3, plain3, err := c.RotateKey(ctx, k.ID, 10*time.Minute)
		if err != nil || k3.User != "42" || k3.Expires == nil || !k3.Expires.Equal(*want.Expires) || !slices.Equal(k3.Scopes, k.Scopes) || plain3 == plain {
			t.Fatalf("%+v %v", k3, err)
		}
		if old, _ := c.Key(ctx, k.ID); !old.Expires.Equal(now.Add(10*time.Minute)) || !opens(plain) || !opens(plain3) {
			t.Errorf("the old one in its grace: %+v", old)
		}
		now = now.Add(10 * time.Minute)
		if old, _ := c.Key(ctx, k.ID); old.State != StateExpired || opens(plain) {
			t.Errorf("the old one after its grace: %+v", old)
		}
		k4, plain4, err := c.RotateKey(ctx, k3.ID, 0)
		if err != nil || opens(plain3) || !opens(plain4) {
			t.Fatalf("%+v %v", k4, err)
		}
		if _, _, err := c.RotateKey(ctx, k3.ID, 0); codeOf(err) != problem.Conflict {
			t.Errorf("a revoked key is rotated: %v", err)
		}
		// B-002: no rotation opens what was closed or has ended.
		if _, err := c.DisableKey(ctx, k4.ID); err != nil {
			t.Fatal(err)
		}
		for state, id := range map[string]int64{StateExpired: k.ID, StateDisabled: k4.ID} {
			if k, _, err := c.RotateKey(ctx, id, time.Hour); codeOf(err) != problem.Conflict {
				t.Errorf("a key that is %s is rotated: %+v %v", state, k, err)
			}
		}
		if list, err := c.Keys(ctx, KeyFilter{After: k4.ID}); err != nil || len(list) != 0 {
			t.Errorf("refused rotations made keys: %v %v", list, err)
		}
		if _, err := c.EnableKey(ctx, k4.ID); err != nil {
			t.Fatal(err)
		}
		// Scopes: bound, unbound, set, and disabled as a whole.
		tools := func() []string {
			o, err := c.owner(ctx, sumOf(plain4))
			if err != nil || o == nil {
				t.Fatal(o, err)
			}
			return o.Tools
		}
		if _, err := c.UnbindKey(ctx, k4.ID, "agents"); err != nil || !slices.Equal(tools(), []string{"res-query", "res-schema"}) {
			t.Errorf("%v %v", tools(), err)
		}
		if _, err := c.EnableScope(ctx, "reading", false); err != nil || len(tools()) != 0 {
			t.Errorf("%v %v", tools(), err)
		}
		if _, err := c.BindKey(ctx, k4.ID, "agents", "agents"); err != nil || !slices.Equal(tools(), []string{"agent.list.query", "res-query"}) {
			t.Errorf("%v %v", tools(), err)
		}
		if s, err := c.RemoveTools(ctx, "agents", "res-query"); err != nil || !slices.Equal(s.Tools, []string{"agent.list.query"}) || s.Keys != 3 {
			t.Errorf("%+v %v", s, err)
		}
		if k, err := c.SetKeyScopes(ctx, k4.ID, []string{"reading"}); err != nil || !slices.Equal(k.Scopes, []string{"reading"}) {
			t.Errorf("%+v %v", k, err)
		}
		if s, err := c.SetTools(ctx, "reading", []string{"b", "a"}); err != nil || !slices.Equal(s.Tools, []string{"a", "b"}) || s.Enabled {
			t.Errorf("%+v %v", s, err)
		}
		if list, err := c.Scopes(ctx); err != nil || len(list) != 2 || list[0].Code != "agents" || !slices.Equal(list[1].Tools, []string{"a", "b"}) {
			t.Errorf("%v %v", list, err)
		}
		if list, err := c.Keys(ctx, KeyFilter{User: "42"}); err != nil || len(list) != 3 || !slices.Equal(list[2].Scopes, []string{"reading"}) {
			t.Errorf("%v %v", list, err)
		}
		if list, err := c.Keys(ctx, KeyFilter{After: k2.ID, Limit: 1}); err != nil || len(list) != 1 || list[0].ID != k3.ID {
			t.Errorf("%v %v", list, err)
		}
		for _, bad := range []struct {
			what string
			err  error
			code problem.Code
			at   string
		}{
			{"no name", second(c.CreateKey(ctx, NewKey{})), problem.InvalidArgument, "/name"},
			{"a long name", second(c.CreateKey(ctx, NewKey{Name: strings.Repeat("é", 191)})), problem.InvalidArgument, "/name"},
			{"a name of two lines", second(c.CreateKey(ctx, NewKey{Name: "a\nb"})), problem.InvalidArgument, "/name"},
			{"no such scope", second(c.CreateKey(ctx, NewKey{Name: "x", Scopes: []string{"agents", "nosuch"}})), problem.InvalidArgument, "/scopes/1"},
			{"in the past", second(c.CreateKey(ctx, NewKey{Name: "x", Expires: now})), problem.InvalidArgument, "/expire_time"},
			{"no such key", first(c.Key(ctx, 999)), problem.NotFound, ""},
			{"no such key to bind", first(c.BindKey(ctx, 999, "agents")), problem.NotFound, ""},
			{"a scope it lacks", first(c.UnbindKey(ctx, k4.ID, "agents")), problem.InvalidArgument, "/scopes/0"},
			{"a scope twice", first(c.CreateScope(ctx, "agents", "")), problem.Conflict, "/scope_code"},
			{"a bad code", first(c.CreateScope(ctx, "a b", "")), problem.InvalidArgument, "/scope_code"},
			{"a bad tool", first(c.AddTools(ctx, "agents", "a b")), problem.InvalidArgument, "/tools/0"},
			{"no such scope to change", first(c.AddTools(ctx, "nosuch", "a")), problem.NotFound, ""},
			{"a tool it lacks", first(c.RemoveTools(ctx, "agents", "nosuch")), problem.InvalidArgument, "/tools/0"},
			{"a tool nobody has", first(c.EnableTool(ctx, "nosuch", false)), problem.NotFound, ""},
		} {
			var p *problem.Problem
			if !errors.As(bad.err, &p) || p.Code != bad.code || p.At != bad.at {
				t.Errorf("%s: %#v", bad.what, bad.err)
			}
		}
		// What was refused is not there in part.
		if list, err := c.Keys(ctx, KeyFilter{}); err != nil || len(list) != 4 {
			t.Errorf("%d keys %v", len(list), err)
		}
	})
}

func ptr[T any](v T) *T { return &v }

func first[T any](_ T, err error) error { return err }

func second(_ *Key, _ string, err error) error { return err }

func TestTools(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		c, _ := migratedControl(t, e)
		ctx := t.Context()
		long := strings.Repeat("长", 300)
		for range 2 {
			if err := c.RegisterTools(ctx, []Tool{{Name: "res-query", Title: "Query"}, {Name: "agent.list.query", Category: "customer", Title: long}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.EnableTool(ctx, "res-query", false); err != nil {
			t.Fatal(err)
		}
		if err := c.RegisterTools(ctx, []Tool{{Name: "res-query", Title: "Ask"}}); err != nil {
			t.Fatal(err)
		}
		list, err := c.Tools(ctx)
		want := []Tool{{"agent.list.query", "customer", strings.Repeat("长", 190), true}, {"res-query", "", "Ask", false}}
		if err != nil || !slices.Equal(list, want) {
			t.Errorf("%v %v", list, err)
		}
	})
}

// E-10, N3: another process's changes are noticed within five seconds, those by hand too; a key is not looked up on
// every call; what is remembered is used for a stated time while the database is away, and no longer.
func TestDirectory(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		c, o := migratedControl(t, e)
		ctx := t.Context()
		var logged bytes.Buffer
		o.Log = slog.New(slog.NewTextHandler(&logged, nil))
		replica := openTest(t, o)
		var mu sync.Mutex
		clock := time.Now()
		replica.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return clock }
		wait := func(d time.Duration) { mu.Lock(); clock = clock.Add(d); mu.Unlock() }
		changes := 0
		d, err := NewDirectory(ctx, replica, DirectoryOptions{Principal: func(o *Owner) *policy.Principal {
			return &policy.Principal{Name: o.Name, Roles: o.Tools}
		}})
		if err != nil {
			t.Fatal(err)
		}
		poll := func() {
			t.Helper()
			changed, err := d.poll(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if changed {
				changes++
			}
		}
		find := func(key string) string {
			t.Helper()
			who, err := d.Find(ctx, key)
			switch {
			case err != nil:
				return string(codeOf(err))
			case who == nil:
				return "nobody"
			}
			return who.Name + " " + strings.Join(who.Roles, ",")
		}
		expect := func(what, key, want string) {
			t.Helper()
			if got := find(key); got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		if _, err := c.CreateScope(ctx, "s", "", "a", "b"); err != nil {
			t.Fatal(err)
		}
		k, plain, err := c.CreateKey(ctx, NewKey{Name: "n", Scopes: []string{"s"}})
		if err != nil {
			t.Fatal(err)
		}
		expect("a new key", plain, "n a,b")
		for _, bad := range []string{"", "x", plain + "x", plain[:len(plain)-1], strings.ToLower(plain), strings.Repeat("x", 1000)} {
			expect("no key", bad, "nobody")
		}
		poll()
		if changes != 1 {
			t.Errorf("%d changes", changes)
		}
		expect("the same key", plain, "n a,b")
		if _, err := c.RemoveTools(ctx, "s", "b"); err != nil {
			t.Fatal(err)
		}
		expect("before the next look", plain, "n a,b")
		poll()
		expect("a scope that changed", plain, "n a")
		poll()
		if changes != 2 {
			t.Errorf("%d changes", changes)
		}
		// By hand, without the version.
		if _, err := c.exec(ctx, c.db, "UPDATE agent_api_key SET status = 0"); err != nil {
			t.Fatal(err)
		}
		poll()
		wait(hardTime + time.Millisecond)
		expect("disabled by hand", plain, "nobody")
		if _, err := c.EnableKey(ctx, k.ID); err != nil {
			t.Fatal(err)
		}
		poll()
		expect("enabled again", plain, "n a")
		// Expiry needs no look.
		if _, err := c.exec(ctx, c.db, "UPDATE agent_api_key SET expire_time = ?", moment{replica.now().Add(time.Second)}); err != nil {
			t.Fatal(err)
		}
		wait(hardTime + time.Millisecond)
		if _, err := c.exec(ctx, c.db, "UPDATE agent_api_key SET expire_time = ?", moment{replica.now().Add(time.Second)}); err != nil {
			t.Fatal(err)
		}
		expect("before its end", plain, "n a")
		wait(time.Second)
		expect("after its end", plain, "nobody")
		if _, err := c.exec(ctx, c.db, "UPDATE agent_api_key SET expire_time = NULL"); err != nil {
			t.Fatal(err)
		}
		wait(hardTime + time.Millisecond)
		expect("without an end", plain, "n a")
		// The last use is written at most once a minute.
		d.keep(ctx, useTime)
		at := replica.now().Truncate(time.Second)
		used := func() time.Time {
			k, err := c.Key(ctx, k.ID)
			if err != nil || k.LastUsed == nil {
				t.Fatalf("%+v %v", k, err)
			}
			return *k.LastUsed
		}
		if got := used(); !got.Equal(at) {
			t.Errorf("last used %s, want %s", got, at)
		}
		wait(30 * time.Second)
		expect("half a minute later", plain, "n a")
		d.keep(ctx, useTime)
		if got := used(); !got.Equal(at) {
			t.Errorf("last used is written again after half a minute: %s", got)
		}
		wait(31 * time.Second)
		expect("a minute later", plain, "n a")
		d.keep(ctx, useTime)
		if got := used(); !got.Equal(at.Add(61 * time.Second)) {
			t.Errorf("last used %s, want %s", got, at.Add(61*time.Second))
		}
		// Tools that are switched off, under either spelling.
		if err := c.RegisterTools(ctx, []Tool{{Name: "agent.list.query"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.EnableTool(ctx, "agent.list.query", false); err != nil {
			t.Fatal(err)
		}
		poll()
		if d.Enabled("agent.list.query") || d.Enabled("agent_list_query") || !d.Enabled("res-query") {
			t.Error("what is disabled is enabled")
		}
		// Without the database.
		if err := replica.Close(); err != nil {
			t.Fatal(err)
		}
		expect("the database is away", plain, "n a")
		expect("a key that is not known", plain+"y", string(problem.Unavailable))
		wait(DefaultStale - hardTime)
		expect("it still is", plain, "n a")
		wait(hardTime + 2*time.Second)
		expect("for too long", plain, string(problem.Unavailable))
		if strings.Contains(logged.String(), plain) {
			t.Errorf("the log has the key: %s", &logged)
		}
	})
}

// Many callers, many keys, and a revocation in between: run with the race detector.
func TestDirectoryTogether(t *testing.T) {
	c, _ := migratedControl(t, testdb.Engine{Name: testdb.SQLite})
	ctx, stop := context.WithCancel(t.Context())
	d, err := NewDirectory(ctx, c, DirectoryOptions{Principal: func(o *Owner) *policy.Principal { return &policy.Principal{Name: o.Name} }})
	if err != nil {
		t.Fatal(err)
	}
	var runs, calls sync.WaitGroup
	runs.Go(func() { d.Run(ctx) })
	var plains []string
	for i := range 8 {
		_, plain, err := c.CreateKey(ctx, NewKey{Name: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		plains = append(plains, plain)
	}
	end := time.Now().Add(3500 * time.Millisecond)
	for i := range 32 {
		calls.Go(func() {
			for time.Now().Before(end) {
				k := i % len(plains)
				who, err := d.Find(ctx, plains[k])
				if err != nil || who == nil && k != 0 || who != nil && who.Name != fmt.Sprint(k) {
					t.Errorf("key %d: %v %v", k, who, err)
					return
				}
				if i%4 == 0 {
					d.Remake()
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	if _, err := c.RevokeKey(ctx, 1); err != nil {
		t.Fatal(err)
	}
	calls.Wait()
	if who, err := d.Find(ctx, plains[0]); who != nil || err != nil {
		t.Errorf("a revoked key is %v %v", who, err)
	}
	stop()
	runs.Wait()
}

// E-10: a process that holds the control database of SQLite for itself, and a call that waits to be kept there, stop no
// look-up of a key.
func TestLookupBesideLock(t *testing.T) {
	c, o := migratedControl(t, testdb.Engine{Name: testdb.SQLite})
	ctx := t.Context()
	k, plain, err := c.CreateKey(ctx, NewKey{Name: "x", User: "42"})
	if err != nil {
		t.Fatal(err)
	}
	other := openTest(t, o)
	conn, err := other.db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	waits, stop := context.WithCancel(ctx)
	var writer sync.WaitGroup
	writer.Go(func() { _ = c.used(waits, map[int64]time.Time{k.ID: time.Now()}) })
	defer writer.Wait()
	defer stop()
	for end := time.Now().Add(5 * time.Second); c.db.Stats().InUse == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no writer waits")
		}
	}
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if owner, err := c.owner(soon, sumOf(plain)); err != nil || owner == nil || owner.User != "42" {
		t.Errorf("the owner beside a lock: %+v %v", owner, err)
	}
	if _, _, _, err := c.disabled(soon); err != nil {
		t.Errorf("the version beside a lock: %v", err)
	}
	if c.db.Stats().InUse == 0 {
		t.Error("the writer did not wait all the while")
	}
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}

// E-10: what scopes open together is known from memory, follows every change, is used while the database is away for the
// stated time, and then nothing is open. A scope that is not there or is disabled opens nothing.
func TestDirectoryOpens(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		c, o := migratedControl(t, e)
		ctx := t.Context()
		replica := openTest(t, o)
		var mu sync.Mutex
		clock := time.Now()
		replica.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return clock }
		wait := func(d time.Duration) { mu.Lock(); clock = clock.Add(d); mu.Unlock() }
		d, err := NewDirectory(ctx, replica, DirectoryOptions{Principal: func(*Owner) *policy.Principal { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		want := func(about, tools string, scopes ...string) {
			t.Helper()
			if _, err := d.poll(ctx); err != nil {
				t.Fatal(err)
			}
			got, err := d.Open(ctx, scopes)
			if slices.Sort(got); err != nil || strings.Join(got, " ") != tools {
				t.Errorf("%s: %v %v, want %s", about, got, err, tools)
			}
		}
		for _, s := range [][]string{{"alpha", "res-query", "res-create"}, {"beta", "res-query", "res-delete"}, {"empty"}} {
			if _, err := c.CreateScope(ctx, s[0], "", s[1:]...); err != nil {
				t.Fatal(err)
			}
		}
		want("no scope", "")
		want("one", "res-create res-query", "alpha")
		want("together", "res-create res-delete res-query", "beta", "alpha", "beta")
		want("none that there is", "", "nosuch", "", "ALPHA")
		want("without tools", "", "empty")
		if _, err := c.EnableScope(ctx, "alpha", false); err != nil {
			t.Fatal(err)
		}
		want("disabled", "res-delete res-query", "alpha", "beta")
		if _, err := c.AddTools(ctx, "beta", "res-undo"); err != nil {
			t.Fatal(err)
		}
		want("one more tool", "res-delete res-query res-undo", "alpha", "beta")
		if _, err := c.db.ExecContext(ctx, "UPDATE agent_scope SET status = 0"); err != nil { // by hand, which counts up nothing
			t.Fatal(err)
		}
		wait(hardTime + time.Millisecond)
		want("disabled by hand", "", "alpha", "beta")
		if _, err := c.EnableScope(ctx, "beta", true); err != nil {
			t.Fatal(err)
		}
		want("enabled", "res-delete res-query res-undo", "beta")
		if err := replica.Close(); err != nil {
			t.Fatal(err)
		}
		wait(DefaultStale - time.Second)
		if got, err := d.Open(ctx, []string{"beta"}); err != nil || len(got) != 3 {
			t.Errorf("away: %v %v", got, err)
		}
		wait(2 * time.Second)
		if got, err := d.Open(ctx, []string{"beta"}); err == nil || got != nil {
			t.Errorf("away for too long: %v %v", got, err)
		}
	})
}

// B-022: where the tables were made anew under a running server, the server tells of its tools again, and they can be
// switched off as before.
func TestToolsAfterMigration(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		c, o := migratedControl(t, e)
		if err := c.RegisterTools(t.Context(), []Tool{{Name: "res-query", Title: "Query", Category: "system"}, {Name: "a.list"}}); err != nil {
			t.Fatal(err)
		}
		changes := make(chan struct{}, 100)
		d, err := NewDirectory(t.Context(), c, DirectoryOptions{Principal: func(*Owner) *policy.Principal { return nil }, Changed: func() { changes <- struct{}{} }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { d.Run(ctx); close(ended) }()
		t.Cleanup(func() { cancel(); <-ended })
		other := openTest(t, o) // the command
		if _, err := other.Down(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Up(t.Context()); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			list, err := other.Tools(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 2 && list[1] == (Tool{Name: "res-query", Title: "Query", Category: "system", Enabled: true}) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the tables made anew hold %v", list)
			}
		}
		if _, err := other.EnableTool(t.Context(), "a_list", false); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(10 * time.Second); d.Enabled("a.list"); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("a tool that was switched off is still on")
			}
		}
	})
}
