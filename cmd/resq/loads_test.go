package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"resq/schema"
	"resq/server/console"
	"resq/testdb"
)

// The last loads are kept, good and bad, the newest first, and no more of them than can be shown.
func TestLoads(t *testing.T) {
	var h history
	for i := range loadsKept + 5 {
		h.add(console.Load{Problems: i})
	}
	if list := h.newest(); len(list) != loadsKept || list[0].Problems != loadsKept+4 {
		t.Errorf("%d loads, the newest %d", len(list), list[0].Problems)
	}
	dsn := testdb.Create(t, testdb.Engine{Name: testdb.SQLite}, "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(20))")
	file := filepath.Join(t.TempDir(), "c.yaml")
	write := func(fields string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(fmt.Sprintf("version: 1\nconnections: {main: {driver: sqlite, dsn: %q}}\nresources:\n  - {code: Item, connection: main, table: item, fields: {%s}}\n", dsn, fields)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("id: integer")
	s := servingOn(t, &source{catalogs: []string{file}}, true, 50*time.Millisecond)
	until := func(n int) []console.Load {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if list := s.loads.newest(); len(list) >= n {
				return list
			}
		}
		t.Fatalf("no %d loads: %s", n, s.log)
		return nil
	}
	write("id: nothing")
	if l := until(1)[0]; l.Hash != "" || l.Problem == "" || !strings.Contains(l.At, "c.yaml:4") || l.Problems != 1 {
		t.Errorf("a bad load: %+v", l)
	}
	write("id: integer, name: string")
	if list := until(2); list[0].Hash == "" || list[0].Resources != 1 || list[0].Problem != "" || list[0].Time.IsZero() || list[1].Hash != "" {
		t.Errorf("a good load after it: %+v", list)
	}
}

// Drift says what a database lacks, and of one that cannot be read no word of its driver.
func TestDriftOf(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte(`version: 1
connections:
  here: {driver: sqlite, dsn: "`+testdb.Create(t, testdb.Engine{Name: testdb.SQLite}, "CREATE TABLE item (id INTEGER PRIMARY KEY)")+`"}
  gone: {dsn: "mysql://nobody:hush@127.0.0.1:1/nowhere"}
resources:
  - {code: Item, connection: here, table: item, fields: {id: integer, name: string}}
  - {code: Far, connection: gone, table: far, fields: {id: integer}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	cat, err := schema.Load([]string{dir}, schema.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list := driftOf(t.Context(), cat)
	said := ""
	for _, d := range list {
		said += d.Connection + " " + d.At + " " + d.Text + "\n"
	}
	if !strings.Contains(said, "here ") || !strings.Contains(said, "name") || !strings.Contains(said, "c.yaml:") || !strings.Contains(said, "gone  its structure cannot be read") ||
		strings.Contains(said, "hush") || strings.Contains(said, "127.0.0.1") {
		t.Errorf("drift: %s", said)
	}
}
