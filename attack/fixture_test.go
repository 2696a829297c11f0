package attack_test

import (
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.yaml.in/yaml/v4"

	"resq/engine"
	"resq/engine/dialect/mysql"
	"resq/engine/dialect/postgres"
	"resq/engine/dialect/sqlite"
	"resq/engine/policy"
	"resq/schema"
	"resq/testdb"
)

const corpusDir = "../../shared/corpus"

// needCorpus gives the path of a file of the shared attack corpus. Without the corpus the test is skipped,
// and failed where RESQ_CI says that nothing may be left out.
func needCorpus(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(corpusDir, name))
	if err == nil {
		return b
	}
	if os.Getenv("RESQ_CI") == "1" {
		t.Fatalf("the attack corpus is not there: %v", err)
	}
	t.Skipf("SKIPPED LOUDLY: the attack corpus is not there, so no attack was tried: %v", err)
	return nil
}

// catalog is the fixture's catalog in this system's own files. An order is seen through its user, who is
// seen through the department, so the second rule stands on the first.
const catalog = `
version: 1
rules:
  own_department:
    args: [dept]
    cases:
      - when: {type: and, exprs: [{field: all_rows, operator: "=", token: "true"}]}
        rows: all
      - rows: {type: and, exprs: [{field: $dept, operator: "=", tokenType: principal, token: dept_id}]}
  own_order:
    args: [user]
    cases:
      - when: {type: and, exprs: [{field: all_rows, operator: "=", token: "true"}]}
        rows: all
      - rows:
          type: and
          exprs:
            - field: $user
              operator: IN
              tokenType: query
              query: {resource: User, fields: [{code: id}]}
resources:
  - code: Dept
    name: 部门
    table: t_dept
    key: id
    fields:
      id: {type: integer}
      name: {type: string, maxLength: 50, required: true}
      parent_id: {type: integer, nullable: false, references: Dept.id}
  - code: User
    name: 用户
    table: t_user
    key: id
    writes: [create, update, delete]
    fields:
      id: {type: integer}
      name: {type: string, maxLength: NAME_LENGTH, required: true}
      email: {type: string, maxLength: 100, mask: redact}
      phone: {type: string, maxLength: 20, mask: last4}
      status: {type: integer, nullable: false}
      dept_id: {type: integer, references: Dept.id}
      created_at: {type: datetime, nullable: false, system: created_at}
    rows: {rule: own_department, args: {dept: dept_id}}
  - code: Order
    name: 订单
    table: t_order
    key: id
    writes: [create, update, delete]
    fields:
      id: {type: integer}
      user_id: {type: integer, references: User.id}
      amount: {type: "decimal(12,2)", required: true}
      status: {type: integer, nullable: false}
      created_at: {type: datetime, nullable: false, system: created_at}
    rows: {rule: own_order, args: {user: user_id}}
  - code: HiddenResource
    table: t_hidden
    key: id
    roles: [nobody]
    fields:
      id: {type: integer}
      name: {type: string, maxLength: 50}
`

// who may ask, by name. root's rows are all rows, its masks are everybody's.
var people = map[string]*policy.Principal{
	"alice":        person("alice", "1", map[string]string{"dept_id": "10"}, "read", "write", "delete"),
	"bob":          person("bob", "3", map[string]string{"dept_id": "20"}, "read", "write", "delete"),
	"root":         person("root", "1", map[string]string{"all_rows": "true"}, "read", "write", "delete"),
	"readonly_key": person("readonly_key", "1", map[string]string{"dept_id": "10"}, "read"),
	"dave_no_dept": person("dave_no_dept", "4", nil, "read"),
}

func person(name, id string, attributes map[string]string, scopes ...string) *policy.Principal {
	p := &policy.Principal{
		Name: name, Key: name, Scopes: scopes, Attributes: map[string]policy.Value{},
		Funcs: map[string]policy.Value{
			"UserID": policy.One(id), "UserUuid": policy.One("uuid-" + name), "UserPlatform": policy.One("test"), "UserSaaS": policy.One("1"),
			"UserRolesUuid": {List: true, Texts: []string{"role-" + name}},
		},
	}
	for k, v := range attributes {
		p.Attributes[k] = policy.One(v)
	}
	return p
}

// A table of fixture.yaml.
type table struct {
	name    string
	columns []column
	rows    [][]*string // nil is NULL
}

type column struct {
	name, typ        string
	length, pre, sc  int
	nullable, unique bool
	primary          bool
}

// fixtureTables reads the tables of fixture.yaml. The order of columns is that of the file, which a map of Go
// would lose.
func fixtureTables(t testing.TB, raw []byte) []table {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	var tables []table
	for name, n := range pairs(child(doc.Content[0], "tables")) {
		tb := table{name: name}
		for cname, cn := range pairs(child(n, "columns")) {
			var c struct {
				Type                     string
				Length, Precision, Scale int
				Nullable, Unique         bool
				PrimaryKey               bool `yaml:"primary_key"`
			}
			if err := cn.Decode(&c); err != nil {
				t.Fatal(err)
			}
			tb.columns = append(tb.columns, column{cname, c.Type, c.Length, c.Precision, c.Scale, c.Nullable, c.Unique, c.PrimaryKey})
		}
		for _, rn := range child(n, "rows").Content {
			var row []*string
			for _, v := range rn.Content {
				if v.ShortTag() == "!!null" {
					row = append(row, nil)
				} else {
					row = append(row, &v.Value)
				}
			}
			tb.rows = append(tb.rows, row)
		}
		tables = append(tables, tb)
	}
	if len(tables) == 0 {
		t.Fatal("fixture.yaml holds no tables")
	}
	return tables
}

func child(n *yaml.Node, key string) *yaml.Node {
	for k, v := range pairs(n) {
		if k == key {
			return v
		}
	}
	return &yaml.Node{}
}

func pairs(n *yaml.Node) func(yield func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

var columnTypes = map[string]map[string]string{
	testdb.SQLite:   {"integer": "INTEGER", "string": "VARCHAR(%d)", "timestamp": "DATETIME", "decimal": "DECIMAL(%d,%d)"},
	testdb.MySQL:    {"integer": "INT", "string": "VARCHAR(%d)", "timestamp": "DATETIME", "decimal": "DECIMAL(%d,%d)"},
	testdb.Postgres: {"integer": "INTEGER", "string": "VARCHAR(%d)", "timestamp": "TIMESTAMP(0)", "decimal": "DECIMAL(%d,%d)"},
}

// script writes the tables and rows for one database system.
func script(t testing.TB, tables []table, on string) string {
	t.Helper()
	var b strings.Builder
	if on == testdb.MySQL {
		b.WriteString("SET sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES');\n")
	}
	for _, tb := range tables {
		fmt.Fprintf(&b, "CREATE TABLE %s (", tb.name)
		for i, c := range tb.columns {
			typ, ok := columnTypes[on][c.typ]
			if !ok {
				t.Fatalf("fixture.yaml: %s.%s: no type %q", tb.name, c.name, c.typ)
			}
			switch c.typ {
			case "string":
				typ = fmt.Sprintf(typ, c.length)
			case "decimal":
				typ = fmt.Sprintf(typ, c.pre, c.sc)
			}
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s %s", c.name, typ)
			if !c.nullable {
				b.WriteString(" NOT NULL")
			}
			if c.primary {
				b.WriteString(" PRIMARY KEY")
			}
			if c.unique {
				b.WriteString(" UNIQUE")
			}
		}
		b.WriteString(");\n")
		for some := range slices.Chunk(tb.rows, 500) {
			var lists []string
			for _, row := range some {
				lists = append(lists, "("+literals(row)+")")
			}
			b.WriteString("INSERT INTO " + tb.name + " VALUES\n" + strings.Join(lists, ",\n") + ";\n")
		}
	}
	b.WriteString("CREATE TABLE t_hidden (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(50));\n")
	return b.String()
}

func literals(row []*string) string {
	var list []string
	for _, v := range row {
		if v == nil {
			list = append(list, "NULL")
		} else {
			list = append(list, "'"+strings.ReplaceAll(*v, "'", "''")+"'")
		}
	}
	return strings.Join(list, ", ")
}

// The big variant is smaller here than the corpus has it, and still so big that an answer is cut and a scan
// takes long: 3,000 users, 1,000 of them with names of 1,200 characters, and 9,000 orders.
const bigUsers, longNames, bigOrders = 3000, 1000, 9000

func enlarge(tables []table) []table {
	var big []table
	for _, tb := range tables {
		tb.columns = append([]column(nil), tb.columns...)
		tb.rows = append([][]*string(nil), tb.rows...)
		switch tb.name {
		case "t_user":
			for i := range tb.columns {
				if tb.columns[i].name == "name" {
					tb.columns[i].length = 2000
				}
			}
			for i := range bigUsers {
				id := fmt.Sprint(1001 + i)
				name := "u" + id
				if i < longNames {
					name = strings.Repeat("n", 1200-len(name)) + name
				}
				tb.rows = append(tb.rows, texts(id, name, "u"+id+"@corp.test", "18000000000", fmt.Sprint((1001+i)%3), "10", "2024-06-01 00:00:00"))
			}
		case "t_order":
			for i := range bigOrders {
				tb.rows = append(tb.rows, texts(fmt.Sprint(1001+i), fmt.Sprint(1001+i%bigUsers), "1.00", fmt.Sprint((1001+i)%3), "2024-06-02 00:00:00"))
			}
		}
		big = append(big, tb)
	}
	return big
}

func texts(s ...string) []*string {
	list := make([]*string, len(s))
	for i := range s {
		list[i] = &s[i]
	}
	return list
}

// A target is the system under attack on one database, with a recorder between engine and driver.
type target struct {
	on       testdb.Engine
	dsn      string
	engine   *engine.Engine
	recorder *testdb.Recorder
	tables   []table
	db       *sql.DB // past the engine
}

type recorded struct {
	engine.Driver
	recorder *testdb.Recorder
}

// Connector opens the dialect's own connector and listens to it.
func (d recorded) Connector(c *schema.Connection, timeout time.Duration) (driver.Connector, error) {
	inner, err := d.Driver.Connector(c, timeout)
	if err != nil {
		return nil, err
	}
	return d.recorder.Connector(inner), nil
}

func newTarget(t testing.TB, on testdb.Engine, tables []table) *target {
	t.Helper()
	g := &target{on: on, recorder: &testdb.Recorder{}, tables: tables}
	g.dsn = testdb.Create(t, on, script(t, tables, on.Name))
	names := "100"
	for _, tb := range tables {
		if tb.name == "t_user" {
			names = fmt.Sprint(tb.columns[1].length)
		}
	}
	cat, err := schema.LoadFS(fstest.MapFS{
		"catalog.yaml":     {Data: []byte(strings.ReplaceAll(catalog, "NAME_LENGTH", names))},
		"connections.yaml": {Data: fmt.Appendf(nil, "version: 1\nconnections: {default: {driver: %s, dsn: %q, mode: write}}\n", on.Name, g.dsn)},
	}, schema.LoadOptions{})
	if err != nil {
		t.Fatalf("catalog:\n%v", err)
	}
	g.engine, err = engine.New(cat, engine.Options{
		Drivers: []engine.Driver{recorded{sqlite.New(), g.recorder}, recorded{mysql.New(), g.recorder}, recorded{postgres.New(), g.recorder}},
		Now:     func() time.Time { return time.Date(2024, 6, 15, 12, 0, 0, 0, time.UTC) },
		Log:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatalf("engine: %v", err)
	}
	g.db = testdb.Open(t, on, g.dsn)
	t.Cleanup(func() { g.engine.Close() })
	return g
}

// hash is a digest of every row of every table, read past the engine.
func (g *target) hash(t testing.TB) string {
	t.Helper()
	h := sha256.New()
	for _, tb := range g.tables {
		rows, err := g.db.Query("SELECT * FROM " + tb.name + " ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		cols, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		cells := make([]any, len(cols))
		into := make([]any, len(cols))
		for i := range cells {
			into[i] = &cells[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			for _, c := range cells {
				if b, ok := c.([]byte); ok {
					c = string(b)
				}
				fmt.Fprintf(h, "%q,", fmt.Sprint(c))
			}
			h.Write([]byte{'\n'})
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
