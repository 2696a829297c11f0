package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"resq/testdb"
)

// told are the lines of an output that begin with one of the words.
func told(output string, words ...string) []string {
	var lines []string
	for line := range strings.Lines(output) {
		if slices.Contains(words, strings.Fields(line + " .")[0]) {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return lines
}

// What a newcomer sees: a catalog in one command, where a database has gone on without its catalog (B-041),
// and what an update brings.
func TestIntrospectDrift(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		dsn := testdb.Create(t, e, `CREATE TABLE shop (id int NOT NULL PRIMARY KEY, name varchar(20), former varchar(5)); CREATE TABLE closed (id int NOT NULL PRIMARY KEY);
CREATE TABLE sold (shop_id int, sale_no int, n int); INSERT INTO sold VALUES (1, 1, 1), (1, 2, 1)`)
		dir := filepath.Join(t.TempDir(), "catalog")
		code, out, errOut := resq(t, "", "introspect", dsn, "--out", dir)
		if code != 0 || out != "3 tables and views read, 4 files written to "+dir+"\n" || errOut != "note: 1 table declares no key; the key written for it is a guess from the data\n" {
			t.Fatalf("exit %d\n%s%s", code, out, errOut)
		}
		code, out, errOut = resq(t, "", "validate", dir, "--connect")
		if code != 0 || errOut != "" || len(told(out, "ok")) != 5 || len(told(out, "note")) != 0 || !strings.HasSuffix(out, "1 connections compared, all passed.\n") {
			t.Errorf("exit %d\n%s%s", code, out, errOut)
		}
		testdb.Exec(t, e, dsn, `ALTER TABLE shop DROP COLUMN former; ALTER TABLE shop ADD COLUMN town varchar(9); DROP TABLE closed; INSERT INTO sold VALUES (2, 2, 2); CREATE TABLE fresh (code varchar(3)); INSERT INTO fresh VALUES ('a'), ('b')`)
		code, out, errOut = resq(t, "", "validate", dir, "--connect")
		resources := filepath.Join(dir, "resources") + string(filepath.Separator)
		want := []string{
			"FAIL  " + resources + `closed.yaml:3: resource closed: the database has no table "closed"`,
			"FAIL  " + resources + `shop.yaml:9: field shop.former: the table shop has no column "former"`,
			"note  " + resources + `sold.yaml:3: resource sold: its key "sale_no" is no key of the table sold; nothing keeps it unique`,
			"1 connections compared, 1 failed.",
		}
		got := append(told(errOut, "FAIL"), told(out, "note")...)
		if got = append(got, told(errOut, "1")...); code != 1 || !slices.Equal(got, want) {
			t.Errorf("exit %d\n%s%swant\n%s", code, out, errOut, strings.Join(want, "\n"))
		}
		code, out, errOut = resq(t, "", "introspect", dsn, "--out", dir, "--update", "--no-guess")
		if code != 0 || !slices.Equal(told(out, "added:"), []string{"added: resources/fresh.yaml:1: resource fresh for the new table fresh"}) {
			t.Errorf("exit %d\n%s%s", code, out, errOut)
		}
		if differs := told(errOut, "differs:"); len(told(errOut, "note:")) != 0 || len(differs) != 4 || differs[3] != "differs: resources/shop.yaml:3: column town of table shop is not in the catalog" {
			t.Errorf("%s", errOut)
		}
		code, out, errOut = resq(t, "", "introspect", dsn, "--out", dir, "--update", "--add-columns")
		if code != 0 || !slices.Equal(told(out, "added:"), []string{"added: resources/shop.yaml:10: field shop.town"}) || len(told(errOut, "differs:")) != 3 {
			t.Errorf("exit %d\n%s%s", code, out, errOut)
		}
		if data, err := os.ReadFile(filepath.Join(dir, "resources", "fresh.yaml")); err != nil || strings.Contains(string(data), "key:") {
			t.Errorf("--no-guess: %v\n%s", err, data)
		}
	})
}

// An update reads what the connection in the catalog may read. Tables of other schemas would be taken for
// those of the same name.
func TestIntrospectSchemas(t *testing.T) {
	e := onEngine(t, testdb.Postgres)
	dsn := testdb.Create(t, e, `CREATE SCHEMA a; CREATE TABLE a.item (id int PRIMARY KEY, v int); CREATE TABLE item (id int PRIMARY KEY, w int)`)
	for _, schemas := range [][]string{{"a"}, {"a", "public"}, nil} {
		dir := filepath.Join(t.TempDir(), "catalog")
		args := []string{"introspect", dsn, "--out", dir}
		for _, s := range schemas {
			args = append(args, "--schema", s)
		}
		if code, out, errOut := resq(t, "", args...); code != 0 {
			t.Fatalf("exit %d\n%s%s", code, out, errOut)
		}
		if code, out, errOut := resq(t, "", "introspect", dsn, "--out", dir, "--update"); code != 0 || !strings.Contains(out, "0 files written") || errOut != "" {
			t.Errorf("schemas %q: exit %d\n%s%s", schemas, code, out, errOut)
		}
		if code, out, errOut := resq(t, "", "validate", dir, "--connect"); code != 0 || len(told(out, "note")) > 0 {
			t.Errorf("schemas %q: exit %d\n%s%s", schemas, code, out, errOut)
		}
		column := "w"
		if len(schemas) == 1 {
			column = "v"
		}
		if code, out, errOut := resq(t, "", "call", "res-query", `{"resource":"item","fields":[]}`, "--catalog", dir); code != 0 || !strings.Contains(out, `["id","`+column+`"]`) {
			t.Errorf("schemas %q: exit %d\n%s%s", schemas, code, out, errOut)
		}
		code, _, errOut := resq(t, "", append(args, "--update", "--schema", "b")...)
		if refused := strings.Contains(errOut, `does not allow the schema "b"; add it to its schemas first`); refused != (len(schemas) > 0) || (code != 0) != refused {
			t.Errorf("schemas %q and b: exit %d %s", schemas, code, errOut)
		}
	}
}

// What cannot be reached is told in one line with its place.
func TestValidateUnreachable(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "c.yaml", "version: 1\nconnections:\n  lost: {dsn: \"sqlite:/nonexistent/x.db\"}\n  gone: {dsn: \"postgres://nobody:hunter2@127.0.0.1:1/x\"}\n")
	code, _, errOut := resq(t, "", "validate", dir, "--connect")
	fails := told(errOut, "FAIL")
	if code != 1 || len(fails) != 2 || strings.Count(errOut, "\n") != 3 || strings.Contains(errOut, "hunter2") ||
		!strings.HasPrefix(fails[0], "FAIL  "+filepath.Join(dir, "c.yaml")+":3: connection \"lost\": ") {
		t.Errorf("exit %d\n%s", code, errOut)
	}
	none := filepath.Join(dir, "none")
	if code, _, errOut := resq(t, "", "introspect", "sqlite:/nonexistent/x.db", "--out", none, "--update"); code != 1 || !strings.Contains(errOut, "there is no catalog in") {
		t.Errorf("exit %d %s", code, errOut)
	}
}
