package registry

import (
	"errors"
	"strings"
	"testing"
	"time"

	"resq/schema/problem"
	"resq/testdb"
)

const goodWord = "correct horse battery"

// security.md 3.10: who decides has a login of its own, which ends by itself, and with whatever is taken from its admin.
func TestAdmins(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		o := controlOptions(t, e)
		now := time.Date(2026, 8, 1, 9, 0, 0, 0, time.UTC)
		o.Now = func() time.Time { return now }
		c := openTest(t, o)
		ctx := t.Context()
		if _, err := c.Up(ctx); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []struct{ name, role, password, at string }{
			{"Alice", RoleViewer, goodWord, "/name"},
			{"", RoleViewer, goodWord, "/name"},
			{"a b", RoleViewer, goodWord, "/name"},
			{"alice", "root", goodWord, "/role"},
			{"alice", RoleViewer, "short", "/password"},
			{"alice", RoleViewer, strings.Repeat("x", maxPassword+1), "/password"},
		} {
			_, err := c.CreateAdmin(ctx, bad.name, bad.role, bad.password)
			var p *problem.Problem
			if !errors.As(err, &p) || p.At != bad.at || p.Code != problem.InvalidArgument {
				t.Errorf("%q %q: %v, want a problem at %s", bad.name, bad.role, err, bad.at)
			}
		}
		a, err := c.CreateAdmin(ctx, "alice", RoleApprover, goodWord)
		if err != nil || !a.Enabled || a.Login != nil || !a.Created.Equal(now) {
			t.Fatal(a, err)
		}
		if !a.Is(RoleViewer) || !a.Is(RoleApprover) || a.Is(RoleAdmin) {
			t.Error("an approver is a viewer and no admin")
		}
		if (&Admin{Role: "?"}).Is(RoleViewer) {
			t.Error("a role that there is not is one")
		}
		var p *problem.Problem
		if _, err := c.CreateAdmin(ctx, "alice", RoleAdmin, goodWord); !errors.As(err, &p) || p.Code != problem.Conflict {
			t.Error("a name was given twice:", err)
		}
		if _, err := c.SetPassword(ctx, "bob", goodWord); !errors.As(err, &p) || p.Code != problem.NotFound {
			t.Error("somebody who is not there has a password:", err)
		}
		var kept string
		if err := c.row(ctx, c.db, "SELECT password FROM resq_admin WHERE name = ?", "alice").Scan(&kept); err != nil || !strings.HasPrefix(kept, "$argon2id$v=19$m=19456,t=2,p=1$") {
			t.Error(kept, err)
		}
		login := func(word string) string {
			t.Helper()
			_, token, err := c.Login(ctx, "alice", word, "")
			if err != nil {
				t.Fatal(err)
			}
			return token
		}
		live := func(token string, active bool) bool {
			t.Helper()
			a, err := c.Session(ctx, token, active)
			if err != nil {
				t.Fatal(err)
			}
			return a != nil && a.Name == "alice"
		}
		if login("wrong word for it") != "" || login("") != "" || login(strings.Repeat("x", 10_000)) != "" {
			t.Error("a wrong password is good")
		}
		if a, token, err := c.Login(ctx, "bob", goodWord, ""); a != nil || token != "" || err != nil {
			t.Error("a name that is not there logs in:", a, err)
		}
		first, second := login(goodWord), login(goodWord)
		if first == second || !live(first, true) || !live(second, true) || live("", true) || live(first+"x", true) {
			t.Error("sessions are not what they should be")
		}
		if n, err := c.exec(ctx, c.db, "UPDATE resq_admin_session SET token_sha256 = token_sha256 WHERE token_sha256 = ?", first); err != nil || n != 0 {
			t.Error("a session stands in the database as its cookie has it")
		}
		if err := c.Logout(ctx, first); err != nil || live(first, true) || !live(second, true) {
			t.Error("a logout ends one session:", err)
		}
		now = now.Add(SessionIdle - time.Second)
		if !live(second, false) { // by a page itself: it keeps nothing alive
			t.Error("a session ended before its time")
		}
		now = now.Add(2 * time.Second)
		if live(second, true) {
			t.Error("a session that nobody used lives on")
		}
		third := login(goodWord)
		for begun := now; now.Sub(begun) < SessionLife-20*time.Minute; now = now.Add(20 * time.Minute) {
			if !live(third, true) {
				t.Fatal("a session in use ended after", now.Sub(begun))
			}
		}
		now = now.Add(21 * time.Minute)
		if live(third, true) {
			t.Error("a session lives for ever")
		}
		fourth := login(goodWord)
		if _, err := c.SetPassword(ctx, "alice", "another good password"); err != nil || live(fourth, true) || login(goodWord) != "" {
			t.Error("sessions outlive the password they began with:", err)
		}
		fifth := login("another good password")
		if a, err := c.EnableAdmin(ctx, "alice", false); err != nil || a.Enabled || live(fifth, true) || login("another good password") != "" {
			t.Error("an admin who is disabled is let in:", err)
		}
		if a, err := c.EnableAdmin(ctx, "alice", true); err != nil || !a.Enabled || live(fifth, true) || login("another good password") == "" {
			t.Error("an admin who is enabled again is not let in, or an old session is:", err)
		}
		list, err := c.Admins(ctx)
		if err != nil || len(list) != 1 || list[0].Login == nil || !list[0].Login.Equal(now) {
			t.Error(list, err)
		}
	})
}

// What is kept in place of a password opens nothing but with the password, however it is damaged.
func TestDamagedPasswords(t *testing.T) {
	good := hashPassword(goodWord)
	if !checkPassword(good, goodWord) || checkPassword(good, goodWord+"x") {
		t.Fatal("a password is not checked")
	}
	for _, bad := range []string{"", "$", "$$$$$", "plain", good + "!", strings.Replace(good, "m=19456", "m=0", 1), strings.Replace(good, "t=2", "t=0", 1), strings.Replace(good, "m=19456", "m=4000000000", 1), good[:strings.LastIndex(good, "$")+1]} {
		if checkPassword(bad, goodWord) || checkPassword(bad, "") {
			t.Errorf("%q opens", bad)
		}
	}
	if checkPassword(nobodysPassword, "") || checkPassword(nobodysPassword, goodWord) {
		t.Error("nobody has a password")
	}
}
