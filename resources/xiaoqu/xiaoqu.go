// Package xiaoqu describes the databases of the pack xiaoqu, the back office of a company that sets up paper dispensers in
// housing estates: its tables, their rows, and what it keeps in Redis. One description makes them on every database.
package xiaoqu

import (
	"context"
	"database/sql"
	"fmt"
	"sort"
	"strings"
)

// Version changes with what the databases hold.
const Version = 2

// Connections are the databases, in the order of the catalog.
var Connections = []string{"m0", "m1", "m2", "svc"}

type column struct {
	name string
	kind byte
	key  bool
}

type table struct {
	conn, name string
	columns    []column
}

func parse() []table {
	var out []table
	for _, line := range strings.Split(strings.TrimSpace(tables), "\n") {
		head, cols, _ := strings.Cut(line, ": ")
		conn, name, _ := strings.Cut(head, " ")
		t := table{conn: conn, name: name}
		cols = strings.ReplaceAll(cols, "+A", "create_id i, create_time w, modify_time w, soft_delete s")
		for _, c := range strings.Split(cols, ", ") {
			n, k, _ := strings.Cut(c, " ")
			t.columns = append(t.columns, column{n, k[0], strings.HasSuffix(k, "!")})
		}
		out = append(out, t)
	}
	return out
}

// types are those of the columns. SQLite keeps what is declared and needs no more of it than the others.
func sqlType(driver string, kind byte) string {
	switch kind {
	case 'i':
		return "BIGINT"
	case 'n':
		return "INT"
	case 's':
		return "SMALLINT"
	case 'm':
		return "DECIMAL(12,2)"
	case 'd':
		return "DATE"
	case 'w':
		return map[string]string{"postgres": "TIMESTAMP(0)"}[driver] + map[string]string{"mysql": "DATETIME", "sqlite": "DATETIME"}[driver]
	case 'b':
		return "TEXT"
	}
	return fmt.Sprintf("VARCHAR(%d)", map[byte]int{'t': 100, 'c': 64, 'v': 20, 'l': 255, 'x': 500}[kind])
}

func quote(driver, name string) string {
	if driver == "mysql" {
		return "`" + name + "`"
	}
	return `"` + name + `"`
}

// SQL makes the database of a connection on an empty database of a driver: mysql, postgres or sqlite. The statements end
// in a semicolon and a line end; no value holds the two.
func SQL(driver, conn string) string {
	var b strings.Builder
	all := parse()
	for _, t := range all {
		if t.conn != conn {
			continue
		}
		b.WriteString("CREATE TABLE " + quote(driver, t.name) + " (")
		for i, c := range t.columns {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quote(driver, c.name) + " " + sqlType(driver, c.kind))
			switch {
			case c.key && driver == "sqlite":
				b.WriteString(" NOT NULL PRIMARY KEY")
			case c.key:
				b.WriteString(" PRIMARY KEY")
			}
		}
		b.WriteString(");\n")
	}
	for _, t := range all {
		if t.conn == conn {
			insert(&b, driver, t)
		}
	}
	for _, v := range views {
		if v[0] == conn {
			b.WriteString("CREATE VIEW " + quote(driver, v[1]) + " AS " + v[2] + ";\n")
		}
	}
	return b.String()
}

func insert(b *strings.Builder, driver string, t table) {
	list := rows()[t.name]
	if len(list) == 0 {
		return
	}
	b.WriteString("INSERT INTO " + quote(driver, t.name) + " VALUES\n")
	for i, r := range list {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString(" (")
		for k, c := range t.columns {
			if k > 0 {
				b.WriteString(",")
			}
			v, ok := r[c.name]
			if !ok && c.name == "soft_delete" {
				v, ok = "0", true
			}
			switch {
			case !ok:
				b.WriteString("NULL")
			case strings.IndexByte("insm", c.kind) >= 0:
				b.WriteString(v)
			default:
				b.WriteString("'" + strings.ReplaceAll(v, "'", "''") + "'")
			}
		}
		b.WriteString(")")
		for name := range r {
			if !has(t, name) {
				panic("xiaoqu: " + t.name + " has no column " + name)
			}
		}
	}
	b.WriteString(";\n")
}

func has(t table, name string) bool {
	for _, c := range t.columns {
		if c.name == name {
			return true
		}
	}
	return false
}

// Fill makes the database of a connection in an empty SQLite file.
func Fill(conn string) func(ctx context.Context, db *sql.DB) error {
	return func(ctx context.Context, db *sql.DB) error {
		for _, s := range strings.SplitAfter(SQL("sqlite", conn), ";\n") {
			if strings.TrimSpace(s) == "" {
				continue
			}
			if _, err := db.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

// Keys is what the system keeps in Redis.
func Keys() map[string]string {
	out := map[string]string{}
	for _, r := range rows()["agent"] {
		if r["id"] != "30" { // a name that is missing
			out["name:Agent:"+r["id"]] = `"` + r["name"] + `"` // its writer writes JSON
		}
	}
	for _, r := range rows()["properyt"] {
		out["name:Properyt:"+r["id"]] = r["name"]
	}
	for _, r := range rows()["district"] {
		out["name:District:"+r["id"]] = r["district_name"]
	}
	out["Assignment:SN0001:29"], out["Assignment:SN0002:29"], out["Assignment:SN0003:29"] = "1", "2", "none"
	out["districtRefresh:501"], out["forbidFunction:501"] = "15", "3"
	return out
}

// KeyNames are the keys of Keys in order.
func KeyNames() []string {
	var names []string
	for k := range Keys() {
		names = append(names, k)
	}
	sort.Strings(names)
	return names
}
