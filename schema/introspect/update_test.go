package introspect_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"resq/schema"
	"resq/schema/introspect"
)

const kept = `# The shop. Do not touch without asking.
version: 1

connections:
  default: {driver: sqlite, dsn: "sqlite:x.sqlite", mode: write}   # the one

rules:
  own:
    cases:
      - rows: all

resources:
  # Orders first: they matter most.
  - code: Order
    name: 我的订单          # a better name
    table: orders
    key: id
    writes: [create]
    fields:
      note: {type: text, name: "Remark", mask: redact}   # moved to the front

      id:
        type: integer
        nullable: false
        description: |
          The number
          on the paper.
      total: {type: decimal(10,2)}
      gone: {type: text}
      kind: integer
      # old: {type: text}
    rows: {rule: own}
    relations:
      - {code: customer, to: Person, on: {customer_id: id}}

  - code: Slim        # a selection of the same table
    table: orders
    fields: {id: {type: integer}}

  - code: Person
    table: person
    fields:
      id: {type: integer}
      name: {type: string, maxLength: 20}
      customer_id: {type: integer}
      born: {type: date}
  - {code: Flow, table: flow, fields: {id: {type: integer}, price: {type: decimal(5,2)}}}   # on one line
  - code: Lost
    table: lost
    fields:
      id: {type: integer}
`

const keptDB = `
CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT, total DECIMAL(12,2), kind TEXT, customer_id INT NOT NULL REFERENCES person, "odd: one" TEXT);
CREATE TABLE person (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, born BLOB);
CREATE TABLE flow (id INTEGER PRIMARY KEY, price DECIMAL(5,2), extra INT);
CREATE TABLE "Order" (id INTEGER PRIMARY KEY, person_id INT REFERENCES person);
CREATE VIEW names AS SELECT name FROM person;`

// An update adds what is new and keeps every byte that a person wrote; what no longer fits is reported
// with its line.
func TestUpdate(t *testing.T) {
	db, dsn := newSQLite(t, keptDB)
	s := read(t, db, "sqlite", introspect.Options{})
	catalog := fstest.MapFS{"shop.yaml": {Data: []byte(strings.Replace(kept, "  - {code: Flow", "  - {code: Flow", 1))}}
	r, err := introspect.Update(catalog, s, introspect.WriteOptions{DSN: dsn, AddColumns: true})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range r.Files {
		names = append(names, f.Name)
		catalog[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	if want := []string{"shop.yaml", "resources/Order_2.yaml", "resources/names.yaml"}; !slices.Equal(names, want) {
		t.Fatalf("files %v, want %v", names, want)
	}
	text := string(r.Files[0].Data)
	for _, want := range []string{
		"# The shop. Do not touch without asking.", "# the one", "# Orders first: they matter most.", "name: 我的订单", "# a better name", "mask: redact", "# moved to the front",
		"# old: {type: text}", "rows: {rule: own}", "The number\n", "# a selection of the same table", "# on one line",
		"customer_id: {type: integer, required: true, nullable: false, references: Person.id}", `"odd: one": {type: text}`, "extra:",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the updated file lacks %q:\n%s", want, text)
		}
	}
	if _, err := schema.LoadFS(catalog, schema.LoadOptions{}); err != nil {
		t.Errorf("the updated catalog does not load: %v\n%s", err, text)
	}
	again, err := introspect.Update(catalog, s, introspect.WriteOptions{DSN: dsn, AddColumns: true})
	if err != nil || len(again.Files) > 0 || len(again.Added) > 0 {
		t.Errorf("a second update adds %v, %v", again.Added, err)
	}
}

// What a person took out of a resource stays out: it is reported with the line of the resource, and nothing refers to
// it. New tables get their files all the same (A-081 hides by leaving out).
func TestUpdateReports(t *testing.T) {
	db, dsn := newSQLite(t, keptDB+`
CREATE TABLE badge (id INTEGER PRIMARY KEY, owner TEXT REFERENCES person (name), flow_id INT REFERENCES flow (id));`)
	s := read(t, db, "sqlite", introspect.Options{})
	text := strings.Replace(kept, "      name: {type: string, maxLength: 20}\n", "", 1)
	text = strings.Replace(text, "fields: {id: {type: integer}}", "fields: {id: {type: integer}, c: {type: integer, column: CUSTOMER_ID}}", 1)
	catalog := fstest.MapFS{"shop.yaml": {Data: []byte(text)}}
	r, err := introspect.Update(catalog, s, introspect.WriteOptions{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Files {
		if f.Name == "shop.yaml" {
			t.Errorf("the file was written:\n%s", f.Data)
		}
		if f.Name == "resources/badge.yaml" && (strings.Contains(string(f.Data), "Person.name") || !strings.Contains(string(f.Data), "Flow.id")) {
			t.Errorf("the new table refers to what is not there:\n%s", f.Data)
		}
		catalog[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	if len(r.Files) != 3 || len(r.Added) != 3 {
		t.Errorf("%v", r.Added)
	}
	var got []string
	for _, d := range r.Drift {
		if strings.Contains(d.Text, "not in the catalog") {
			got = append(got, d.String())
			if !d.Warning {
				t.Errorf("%s is no warning", d)
			}
		}
	}
	slices.Sort(got)
	// customer_id of orders is there in the resource Slim, under another code.
	want := []string{
		`shop.yaml:14: column "odd: one" of table orders is not in the catalog`,
		`shop.yaml:40: column name of table person is not in the catalog`,
		`shop.yaml:46: column extra of table flow is not in the catalog`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	// The resource Order joins by customer_id, which no longer being added it lacks; that is the person's to mend.
	_, err = schema.LoadFS(catalog, schema.LoadOptions{})
	if err == nil || strings.Contains(err.Error(), "resources/") {
		t.Errorf("%v", err)
	}
}

// Where fields stand on lines of their own nothing but the new lines differs, whatever the line ends.
func TestUpdateKeepsBytes(t *testing.T) {
	db, dsn := newSQLite(t, keptDB)
	s := read(t, db, "sqlite", introspect.Options{})
	source := regexpLine(kept, "code: Flow")
	for _, ends := range []string{"\n", "\r\n"} {
		before := strings.ReplaceAll(source, "\n", ends)
		r, err := introspect.Update(fstest.MapFS{"shop.yml": {Data: []byte(before)}}, s, introspect.WriteOptions{DSN: dsn, AddColumns: true})
		if err != nil {
			t.Fatal(err)
		}
		after := string(r.Files[0].Data)
		rest := after
		for _, line := range []string{"      customer_id: {type: integer, required: true, nullable: false, references: Person.id}", `      "odd: one": {type: text}`} {
			if strings.Count(rest, line+ends) != 1 {
				t.Fatalf("%q is not there once:\n%s", line, after)
			}
			rest = strings.Replace(rest, line+ends, "", 1)
		}
		if rest != before {
			t.Errorf("more than the new lines differs:\n%s", after)
		}
		if want := "      # old: {type: text}" + ends + "      customer_id:"; !strings.Contains(after, want) {
			t.Errorf("the new fields do not follow the last one:\n%s", after)
		}
		checkReport(t, r)
	}
}

// regexpLine drops the line that holds part.
func regexpLine(text, part string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, part) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func checkReport(t *testing.T, r *introspect.Result) {
	t.Helper()
	var got []string
	for _, d := range r.Drift {
		got = append(got, d.String())
	}
	got = append(got, r.Added...)
	want := []string{
		`shop.yml:29: field Order.gone: the table orders has no column "gone"`,
		`shop.yml:28: field Order.total is declared as decimal(10,2), but the column is decimal(12,2)`,
		`shop.yml:30: field Order.kind is declared as integer, but the column is text; the two are not compared or written alike`,
		`field Person.name is declared to hold 20 characters, but the column holds 40`,
		`field Person.name may be NULL, but the column is NOT NULL`,
		`field Person.customer_id: the table person has no column "customer_id"`,
		`field Person.born is declared as date, but the column is binary`,
		`resource Lost: the database has no table "lost"`,
		`shop.yml:32: field Order.customer_id`, `shop.yml:33: field Order.odd: one`,
		`resources/Order_2.yaml:1: resource Order_2 for the new table Order`,
		`resources/flow.yaml:1: resource flow for the new table flow`,
		`resources/names.yaml:1: resource names for the new view names`,
	}
	for _, w := range want {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, w) }) {
			t.Errorf("the report lacks %q", w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
	if t.Failed() {
		t.Log(strings.Join(got, "\n"))
	}
}

// The connection that is not there yet gets a file that is not there yet; other connections are left alone.
func TestUpdateConnection(t *testing.T) {
	db, dsn := newSQLite(t, `CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (id INTEGER PRIMARY KEY)`)
	s := read(t, db, "sqlite", introspect.Options{Exclude: []string{"b"}})
	catalog := fstest.MapFS{
		"connections.yaml":  {Data: []byte("version: 1\nconnections:\n  main: {dsn: \"sqlite:other\"}\n")},
		"resources/A.yaml":  {Data: []byte("version: 1\nresources:\n  - {code: a, connection: main, fields: {id: integer, more: text}}\n  - {code: b, connection: second, fields: {id: integer}}\n  - {code: c, connection: second, fields: {id: integer}}\n")},
		".hidden/x.yaml":    {Data: []byte("{")},
		"resources/readme":  {Data: []byte("no catalog")},
		"resources/z.yaml":  {Data: []byte("# nothing yet\n")},
		"resources/.x.yaml": {Data: []byte("{")},
	}
	r, err := introspect.Update(catalog, s, introspect.WriteOptions{DSN: dsn, Connection: "second"})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Files) != 2 || r.Files[0].Name != "connections-2.yaml" || r.Files[1].Name != "resources/a_2.yaml" {
		t.Fatalf("%s", r.Files)
	}
	if !strings.Contains(string(r.Files[1].Data), "- code: a_2\n    connection: second\n    table: a\n") {
		t.Errorf("%s", r.Files[1].Data)
	}
	// b was not asked for; c is gone.
	if len(r.Drift) != 1 || !strings.Contains(r.Drift[0].Text, `no table "c"`) || r.Drift[0].At.Line != 5 {
		t.Errorf("%v", r.Drift)
	}
	if _, err := introspect.Update(fstest.MapFS{"x.yaml": {Data: []byte("a: [")}}, s, introspect.WriteOptions{}); err == nil || !strings.Contains(err.Error(), "x.yaml") {
		t.Errorf("a broken file: %v", err)
	}
	if _, err := introspect.Update(fstest.MapFS{"x.yaml": {Data: []byte("- a")}}, s, introspect.WriteOptions{}); err == nil {
		t.Error("a list is no catalog")
	}
}

// Fields that two resources share through an anchor are not added to: the other would change with them.
func TestUpdateAlias(t *testing.T) {
	db, dsn := newSQLite(t, `CREATE TABLE a (id INTEGER PRIMARY KEY, v INT); CREATE TABLE b (id INTEGER PRIMARY KEY, w INT)`)
	s := read(t, db, "sqlite", introspect.Options{})
	catalog := fstest.MapFS{"c.yaml": {Data: []byte("version: 1\nconnections: {default: {dsn: \"sqlite:x\"}}\nresources:\n  - code: a\n    fields: &f\n      id: integer\n  - code: b\n    fields: *f\n")}}
	r, err := introspect.Update(catalog, s, introspect.WriteOptions{DSN: dsn, AddColumns: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Files) != 0 || len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "add by hand: v: {type: integer}") {
		t.Errorf("%v %v", r.Files, r.Notes)
	}
}

// A layout that lines cannot be put into is written anew, with its comments and values.
func TestUpdateRewrites(t *testing.T) {
	db, dsn := newSQLite(t, `CREATE TABLE a (id INTEGER PRIMARY KEY, v INT, p DECIMAL(5,2))`)
	s := read(t, db, "sqlite", introspect.Options{})
	for _, fields := range []string{
		"{\n      id: integer, # the number\n      p: {type: decimal(5,2), name: \"it's\"} # the price\n    }",
		"{ id: {type: integer, name: 'a }''b'}, p: {type: decimal(5,2), name: don't {: \"x\"} }",
		"{id: integer, p: {type: decimal(5,2)}, }",
		"\n      {id: integer, p: [\"}\"]}",
		"\n      ? id\n      : integer # the number\n\n      ? p\n      : {type: decimal(5,2)} # the price",
	} {
		catalog := fstest.MapFS{"c.yaml": {Data: []byte("# head\nversion: 1\nconnections: {default: {dsn: \"sqlite:x\"}}\nresources:\n  - code: a\n    fields: " + fields + "\n# foot\n")}}
		if strings.Contains(fields, "{: ") { // no YAML
			if _, err := introspect.Update(catalog, s, introspect.WriteOptions{DSN: dsn, AddColumns: true}); err == nil {
				t.Errorf("%s is no error", fields)
			}
			continue
		}
		r, err := introspect.Update(catalog, s, introspect.WriteOptions{DSN: dsn, AddColumns: true})
		if err != nil || len(r.Files) != 1 {
			t.Fatalf("%s: %v %v", fields, r, err)
		}
		text := string(r.Files[0].Data)
		for _, want := range []string{"# head\nversion: 1\n", "v: {type: integer}", "# foot"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is lost:\n%s", want, text)
			}
		}
		if strings.Contains(fields, "# the number") && (!strings.Contains(text, "# the number") || !strings.Contains(text, "# the price")) {
			t.Errorf("comments are lost:\n%s", text)
		}
		if len(r.Added) != 1 || !strings.HasSuffix(r.Added[0], ": field a.v") {
			t.Errorf("%v", r.Added)
		}
	}
}

// Where writing a file anew would lose a comment the file stays, and the reader is told what to add.
func TestUpdateLosesNothing(t *testing.T) {
	db, dsn := newSQLite(t, `CREATE TABLE a (id INTEGER PRIMARY KEY, v INT)`)
	s := read(t, db, "sqlite", introspect.Options{})
	catalog := fstest.MapFS{"c.yaml": {Data: []byte("version: 1\nconnections: {default: {dsn: \"sqlite:x\"}}\nresources:\n  - code: a\n    fields:\n      ? id # the number\n      : integer\n      ? p # the price\n      : {type: text}\n")}}
	r, err := introspect.Update(catalog, s, introspect.WriteOptions{DSN: dsn, AddColumns: true})
	if err != nil || len(r.Files) != 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "c.yaml:4:11: the fields of a") || !strings.Contains(r.Notes[0], "by hand: v: {type: integer}") {
		t.Errorf("%v %v %v", r.Files, r.Notes, err)
	}
}

// Save writes all or nothing where it must not replace, and replaces whole files where it may.
func TestSave(t *testing.T) {
	dir := t.TempDir()
	r := &introspect.Result{Files: []introspect.File{{Name: "a.yaml", Data: []byte("1")}, {Name: "resources/b.yaml", Data: []byte("2")}}}
	if err := r.Save(dir, false); err != nil {
		t.Fatal(err)
	}
	r.Files = append([]introspect.File{{Name: "new.yaml", Data: []byte("3")}}, r.Files...)
	if err := r.Save(dir, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an existing file: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new.yaml")); err == nil {
		t.Error("a refused save wrote a file")
	}
	if err := os.Chmod(filepath.Join(dir, "a.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Files[1].Data = []byte("4")
	if err := r.Save(dir, true); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(filepath.Join(dir, "a.yaml"))
	info, _ := os.Stat(filepath.Join(dir, "a.yaml"))
	if string(data) != "4" || info.Mode().Perm() != 0o600 {
		t.Errorf("%s %v", data, info.Mode())
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".resq-*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
