package attack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

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
	testdb.Skip(t, "the attack corpus is not there, so no attack was tried: "+err.Error())
	return nil
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
