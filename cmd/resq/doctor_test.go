package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"resq/testdb"
)

// examine runs the doctor on a catalog of one table.
func examine(t *testing.T, e testdb.Engine, dsn, more string) (code int, out string) {
	t.Helper()
	path := write(t, t.TempDir(), "item.yaml", fmt.Sprintf(`version: 1
connections: {main: {driver: %s, dsn: %q%s}}
resources:
  - {code: Item, table: item, key: id, fields: {id: {type: integer, nullable: false}, name: {type: string}}}
`, e.Name, dsn, more))
	code, out, errOut := resq(t, "", "doctor", "--catalog", path, "--state", t.TempDir())
	if errOut != "" {
		t.Errorf("%s", errOut)
	}
	return code, out
}

// lacks gives those of the wanted lines that are not in the output.
func lacks(out string, want ...string) (missing []string) {
	for _, w := range want {
		if !strings.Contains(out, w) {
			missing = append(missing, w)
		}
	}
	return missing
}

// A user makes a role for a test, and gives the DSN with which it logs in.
func user(t *testing.T, e testdb.Engine, dsn string, grants ...string) string {
	t.Helper()
	b := make([]byte, 5)
	_, _ = rand.Read(b)
	name := "resq_" + hex.EncodeToString(b)
	fill := func(s string) string { return strings.ReplaceAll(s, "$U", name) }
	make, drop := []string{"CREATE ROLE $U LOGIN PASSWORD 'pw'"}, []string{"DROP OWNED BY $U CASCADE", "DROP ROLE $U"}
	if e.Name == testdb.MySQL {
		make, drop = []string{"CREATE USER $U@'%' IDENTIFIED BY 'pw'"}, []string{"DROP USER $U@'%'"}
	}
	t.Cleanup(func() {
		for _, s := range drop {
			testdb.Exec(t, e, dsn, fill(s))
		}
	})
	for _, s := range append(make, grants...) {
		testdb.Exec(t, e, dsn, fill(s))
	}
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, "pw")
	return u.String()
}

var itemTables = []string{"CREATE TABLE item (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(20))", "CREATE TABLE other (id INTEGER NOT NULL PRIMARY KEY)"}

func onEngine(t *testing.T, name string) testdb.Engine {
	t.Helper()
	for _, e := range testdb.Engines(t) {
		if e.Name == name {
			return e
		}
	}
	testdb.Skip(t, name+" is named in RESQ_WITHOUT")
	return testdb.Engine{}
}

// What a role of PostgreSQL may do that it should not is told, and a role with SELECT alone has nothing but what
// the server gives to everybody (security.md 4.6).
func TestDoctorPostgres(t *testing.T) {
	e := onEngine(t, testdb.Postgres)
	dsn := testdb.Create(t, e, itemTables...)
	testdb.Exec(t, e, dsn, "REVOKE EXECUTE ON FUNCTION lo_creat, lo_create, lo_from_bytea, lo_put, lo_unlink, lo_truncate, lo_truncate64, lowrite FROM PUBLIC")
	code, out := examine(t, e, dsn, "")
	if m := lacks(out, "FAIL main: its role postgres is a superuser", "ok   main: PostgreSQL ", "ok   main: its clock differs", "ok   main: the catalog fits it"); code != 1 || m != nil {
		t.Errorf("a superuser: exit %d, lacks %q\n%s", code, m, out)
	}
	plain := user(t, e, dsn, "GRANT SELECT ON item TO $U")
	code, out = examine(t, e, plain, "")
	if m := lacks(out, "ok   main: its role has no privilege that it should not have"); code != 0 || m != nil || strings.Contains(out, "FAIL") || strings.Contains(out, "warn") {
		t.Errorf("SELECT alone: exit %d, lacks %q\n%s", code, m, out)
	}
	much := user(t, e, dsn, "GRANT SELECT, INSERT, DELETE ON item TO $U", "GRANT UPDATE (name) ON item TO $U", "GRANT ALL ON other TO $U",
		"GRANT pg_read_server_files, pg_execute_server_program TO $U", "GRANT CREATE ON SCHEMA public TO $U", "GRANT EXECUTE ON FUNCTION lo_put TO $U",
		"ALTER ROLE $U CREATEROLE BYPASSRLS CREATEDB REPLICATION")
	code, out = examine(t, e, much, "")
	if m := lacks(out, "may create roles · ALTER ROLE", "may copy the whole server", "warn main: its role", "passes by row security", "may create databases",
		"is a member of pg_read_server_files · REVOKE pg_read_server_files FROM", "is a member of pg_execute_server_program",
		"may create tables in the schemas: public", "FAIL main: its mode is read, but its role may change tables of the catalog: item (INSERT, UPDATE, DELETE) ·"); code != 1 || m != nil {
		t.Errorf("too much: exit %d, lacks %q\n%s", code, m, out)
	}
	if strings.Contains(out, "PostgreSQL 15") && !strings.Contains(out, "may write large objects: lo_put") {
		t.Errorf("large objects: %s", out)
	}
	if strings.Contains(out, "other") {
		t.Errorf("a table that is not in the catalog: %s", out)
	}
	writes := user(t, e, dsn, "GRANT SELECT, INSERT ON item TO $U")
	if code, out = examine(t, e, writes, ", mode: write"); code != 0 || strings.Contains(out, "change tables") {
		t.Errorf("mode: write: exit %d\n%s", code, out)
	}
}

// The same for MySQL and MariaDB.
func TestDoctorMySQL(t *testing.T) {
	e := onEngine(t, testdb.MySQL)
	dsn := testdb.Create(t, e, itemTables...)
	u, _ := url.Parse(dsn)
	db := strings.TrimPrefix(u.Path, "/")
	code, out := examine(t, e, dsn, "")
	if m := lacks(out, "FAIL main: its role may do everything: ALL PRIVILEGES on *.*", "ok   main: its clock differs", "ok   main: the catalog fits it"); code != 1 || m != nil {
		t.Errorf("root: exit %d, lacks %q\n%s", code, m, out)
	}
	code, out = examine(t, e, user(t, e, dsn, "GRANT SELECT ON "+db+".item TO $U@'%'"), "")
	if m := lacks(out, "ok   main: its role has no privilege that it should not have"); code != 0 || m != nil || strings.Contains(out, "warn") {
		t.Errorf("SELECT alone: exit %d, lacks %q\n%s", code, m, out)
	}
	much := user(t, e, dsn, "GRANT FILE, PROCESS, SUPER ON *.* TO $U@'%'", "GRANT SELECT, INSERT, CREATE ON "+db+".* TO $U@'%'",
		"GRANT UPDATE (name) ON "+db+".item TO $U@'%'", "GRANT DELETE ON "+db+".other TO $U@'%'")
	code, out = examine(t, e, much, "")
	if m := lacks(out, "FAIL main: its role may read and write files of the server's machine: FILE on *.*", "FAIL main: its role may change the server", "PROCESS on *.*",
		"CREATE on "+db+".*", "FAIL main: its mode is read, but its role may change tables of the catalog: item (INSERT), item (UPDATE) ·",
		"warn main: its role may change tables that are not in the catalog: DELETE on "+db+".other"); code != 1 || m != nil {
		t.Errorf("too much: exit %d, lacks %q\n%s", code, m, out)
	}
	if strings.Contains(out, "PASSWORD") {
		t.Errorf("the sum of a password: %s", out)
	}
	all := user(t, e, dsn, "GRANT ALL ON `"+strings.ReplaceAll(db, "_", `\_`)+"`.* TO $U@'%'")
	code, out = examine(t, e, all, "")
	if m := lacks(out, "warn main: its role has more than it needs: ALL PRIVILEGES on", "item (INSERT, UPDATE, DELETE)"); code != 1 || m != nil {
		t.Errorf("all of one database: exit %d, lacks %q\n%s", code, m, out)
	}
	if code, out = examine(t, e, user(t, e, dsn, "GRANT SELECT, INSERT ON "+db+".item TO $U@'%'"), ", mode: write"); code != 0 || strings.Contains(out, "change tables") {
		t.Errorf("mode: write: exit %d\n%s", code, out)
	}
}

// A SQLite file has no roles; who may write it and its directory is what counts.
func TestDoctorSQLite(t *testing.T) {
	dsn := testdb.Create(t, sqliteEngine, itemTables...)
	file := strings.TrimPrefix(dsn, "sqlite:")
	mode := func(path string, m os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, m); err != nil {
			t.Fatal(err)
		}
	}
	mode(file, 0o600)
	mode(filepath.Dir(file), 0o700)
	if code, out := examine(t, sqliteEngine, dsn, ""); code != 0 || lacks(out, "ok   main: SQLite 3.", "its journal mode is delete", "the catalog fits it") != nil || strings.Contains(out, "clock") {
		t.Errorf("exit %d\n%s", code, out)
	}
	testdb.Exec(t, sqliteEngine, dsn, "PRAGMA journal_mode = WAL")
	mode(file, 0o666)
	mode(filepath.Dir(file), 0o777)
	code, out := examine(t, sqliteEngine, dsn, "")
	if m := lacks(out, "FAIL main: every user of this machine may write "+file+" · chmod o-w", "FAIL main: every user of this machine may write to its directory", "WAL"); code != 1 || m != nil {
		t.Errorf("exit %d, lacks %q\n%s", code, m, out)
	}
	mode(filepath.Dir(file), 0o777|os.ModeSticky)
	if _, out := examine(t, sqliteEngine, dsn, ""); !strings.Contains(out, "warn main: every user of this machine may write to its directory") {
		t.Errorf("%s", out)
	}
	mode(filepath.Dir(file), 0o700)
}

// A column that is gone is told at once (security.md D10), a NULL that was not expected is a warning, and both
// are in the JSON form.
func TestDoctorDrift(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		dsn := testdb.Create(t, e, "CREATE TABLE item (id INTEGER NOT NULL PRIMARY KEY, title VARCHAR(20))")
		path := write(t, t.TempDir(), "item.yaml", fmt.Sprintf(`version: 1
connections: {main: {driver: %s, dsn: %q}}
resources:
  - {code: Item, table: item, key: id, fields: {id: {type: integer}, name: {type: string}, title: {type: string, nullable: false}}}
`, e.Name, dsn))
		code, out, errOut := resq(t, "", "doctor", "--catalog", path, "--format", "json")
		var r struct {
			OK     bool
			Checks []finding
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != 1 || r.OK || errOut != "" {
			t.Fatalf("exit %d: %v\n%s%s", code, err, out, errOut)
		}
		levels := map[string]bool{}
		for _, f := range r.Checks {
			if f.Check == "drift" {
				levels[f.Level] = true
				if f.Connection != "main" || f.Do == "" || !strings.Contains(f.Text, "item.yaml:4") {
					t.Errorf("%+v", f)
				}
			}
		}
		if !levels[levelFail] || !levels[levelWarn] {
			t.Errorf("%s", out)
		}
	})
}

// A database that is not there is one line; the others are examined all the same. No password is shown.
func TestDoctorUnreachable(t *testing.T) {
	good := testdb.Create(t, sqliteEngine, itemTables...)
	path := write(t, t.TempDir(), "c.yaml", fmt.Sprintf(`version: 1
connections:
  gone: {driver: postgres, dsn: "postgres://app:verysecret@127.0.0.1:1/shop"}
  lost: {driver: mysql, dsn: "mysql://app:verysecret@127.0.0.1:1/shop"}
  none: {driver: sqlite, dsn: "sqlite:/nonexistent/x.sqlite"}
  good: {driver: sqlite, dsn: %q}
`, good))
	code, out, _ := resq(t, "", "doctor", "--catalog", path)
	if m := lacks(out, "FAIL gone: it does not answer", "FAIL lost: it does not answer", "FAIL none: it does not answer", "ok   good: the catalog fits it"); code != 1 || m != nil {
		t.Errorf("exit %d, lacks %q\n%s", code, m, out)
	}
	if strings.Contains(out, "verysecret") {
		t.Errorf("a password: %s", out)
	}
}

// Files with secrets that others can read, files that others can write, and an address without keys.
func TestDoctorMachine(t *testing.T) {
	dir := t.TempDir()
	dsn := testdb.Create(t, sqliteEngine, itemTables...)
	write(t, dir, "dsn.txt", dsn)
	write(t, dir, "item.yaml", "version: 1\nconnections:\n  main: {driver: sqlite, dsnFile: dsn.txt}\n  pg: {driver: postgres, dsn: \"postgres://app:secret@127.0.0.1:1/x\"}\n")
	config := write(t, dir, "resq.yml", "catalog: item.yaml\nlisten: 0.0.0.0:8088\nprincipals: {ann: {keys: anns-own-secret-key}}\n")
	if err := os.Chmod(filepath.Join(dir, "dsn.txt"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"item.yaml", "resq.yml"} {
		if err := os.Chmod(filepath.Join(dir, name), 0o604); err != nil {
			t.Fatal(err)
		}
	}
	code, out, _ := resq(t, "", "doctor", "--config", config, "--principal", "ann")
	if m := lacks(out, "dsn.txt, which holds a DSN · chmod o-r", "item.yaml, which holds a password", "resq.yml, which holds keys", "warn this machine: 0.0.0.0:8088 can be reached"); code != 1 || m != nil {
		t.Errorf("exit %d, lacks %q\n%s", code, m, out)
	}
	if strings.Contains(out, "anns-own") || strings.Contains(out, ":secret@") {
		t.Errorf("a secret: %s", out)
	}
	if err := os.Chmod(filepath.Join(dir, "item.yaml"), 0o602); err != nil {
		t.Fatal(err)
	}
	if _, out, _ := resq(t, "", "doctor", "--config", config, "--principal", "ann"); !strings.Contains(out, "FAIL this machine: every user of this machine may write "+filepath.Join(dir, "item.yaml")) {
		t.Errorf("%s", out)
	}
	write(t, dir, "good.yaml", fmt.Sprintf("version: 1\nconnections: {main: {driver: sqlite, dsn: %q}}\n", dsn))
	if code, out, _ := resq(t, "", "doctor", "--catalog", filepath.Join(dir, "good.yaml"), "--http", "0.0.0.0:1"); code != 1 || !strings.Contains(out, "FAIL this machine: 0.0.0.0:1 can be reached from other machines, and no principal has a key") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if code, out, _ := resq(t, "", "doctor", "--catalog", filepath.Join(dir, "good.yaml")); code != 0 || lacks(out, "ok   this machine: nobody else can", "free for the state directory", "127.0.0.1:8088 can be reached from this machine alone") != nil {
		t.Errorf("exit %d\n%s", code, out)
	}
	if code, _, errOut := resq(t, "", "doctor", "--format", "xml"); code != 2 || !strings.Contains(errOut, `--format "xml"`) {
		t.Errorf("exit %d %s", code, errOut)
	}
}

// Clocks that differ are told in two degrees, in both directions.
func TestDoctorSkew(t *testing.T) {
	for skew, want := range map[time.Duration]string{0: levelOK, -time.Second: levelOK, 5 * time.Second: levelWarn, -5 * time.Second: levelWarn, 2 * time.Minute: levelFail, -time.Hour: levelFail} {
		var r report
		r.skew("main", skew)
		if r.findings[0].Level != want {
			t.Errorf("%v: %v", skew, r.findings[0])
		}
	}
}

func TestParseGrant(t *testing.T) {
	for line, want := range map[string]string{
		"GRANT USAGE ON *.* TO `u`@`%`":                                                    "[USAGE] *.*",
		"GRANT SELECT, UPDATE (`a`, `b`) ON `shop`.`t` TO `u`@`%`":                         "[SELECT UPDATE] shop.t",
		"GRANT ALL PRIVILEGES ON `a``b`.* TO `u`@`%` WITH GRANT OPTION":                    "[ALL PRIVILEGES GRANT OPTION] a`b.*",
		"GRANT EXECUTE ON PROCEDURE `shop`.`p` TO `u`@`%`":                                 "",
		"GRANT PROCESS, FILE ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*D821809F681A40A6'": "[PROCESS FILE] *.*",
		"GRANT `reader`@`%` TO `u`@`%`":                                                    "",
		"SET DEFAULT ROLE `r` FOR `u`@`%`":                                                 "",
		"REVOKE INSERT ON `shop`.* FROM `u`@`%`":                                           "",
	} {
		g, ok := parseGrant(line)
		got := ""
		if ok {
			got = fmt.Sprint(g.privileges, " ", g.on())
		}
		if got != want {
			t.Errorf("%s\ngives %q\nwant  %q", line, got, want)
		}
	}
	for _, c := range []struct {
		g    grant
		db   string
		want bool
	}{
		{grant{nil, "*", "*"}, "shop", true},
		{grant{nil, `sh\_p%`, "*"}, "sh_p2", true},
		{grant{nil, `sh\_p%`, "*"}, "shop2", false},
		{grant{nil, `sh_p`, "*"}, "shop", true},
		{grant{nil, `sh_p`, "t"}, "shop", false},
		{grant{nil, `shop`, "t"}, "shop", true},
		{grant{nil, `shop`, "u"}, "shop", false},
		{grant{nil, `a.b`, "*"}, "axb", false},
	} {
		if got := c.g.covers(c.db, "t"); got != c.want {
			t.Errorf("%+v covers %s.t: %v", c.g, c.db, got)
		}
	}
}
