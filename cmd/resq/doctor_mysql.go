package main

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"
)

// A grant is one line of SHOW GRANTS.
type grant struct {
	privileges []string // in capitals, without columns
	db, table  string   // "*" is all
}

// grantLine takes a line apart. A role that is granted has no ON.
var grantLine = regexp.MustCompile("^GRANT (.+?) ON (?:TABLE )?(\\*|`(?:[^`]|``)*`)\\.(\\*|`(?:[^`]|``)*`) TO ")

// columnList is the list of columns behind a privilege.
var columnList = regexp.MustCompile(`\s*\([^)]*\)`)

func parseGrant(line string) (g grant, ok bool) {
	m := grantLine.FindStringSubmatch(line)
	if m == nil {
		return g, false
	}
	for _, p := range strings.Split(columnList.ReplaceAllString(m[1], ""), ",") {
		g.privileges = append(g.privileges, strings.ToUpper(strings.TrimSpace(p)))
	}
	if strings.Contains(line[len(m[0]):], "WITH GRANT OPTION") {
		g.privileges = append(g.privileges, "GRANT OPTION")
	}
	g.db, g.table = unquote(m[2]), unquote(m[3])
	return g, true
}

func unquote(name string) string {
	if strings.HasPrefix(name, "`") {
		return strings.ReplaceAll(name[1:len(name)-1], "``", "`")
	}
	return name
}

// covers says whether a grant is about a table. The database of a grant for all its tables is a pattern.
func (g grant) covers(db, table string) bool {
	switch {
	case g.db == "*":
		return true
	case g.table == "*":
		return likePattern(g.db, db)
	}
	return strings.EqualFold(g.db, db) && strings.EqualFold(g.table, table)
}

// likePattern compares as LIKE does, with \ before what stands for itself.
func likePattern(pattern, s string) bool {
	var b strings.Builder
	b.WriteString("(?is)^")
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			b.WriteString(regexp.QuoteMeta(string(r)))
		case r == '\\':
		case r == '_':
			b.WriteString(".")
		case r == '%':
			b.WriteString(".*")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
		escaped = r == '\\' && !escaped
	}
	re, err := regexp.Compile(b.String() + "$")
	return err == nil && re.MatchString(s)
}

func (g grant) on() string { return g.db + "." + g.table }

// harmless are the privileges that a role for reading may have; writes are those of a role for writing.
var (
	harmless  = []string{"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES"}
	writes    = []string{"INSERT", "UPDATE", "DELETE"}
	dangerous = map[string]string{
		"ALL PRIVILEGES": "may do everything", "SUPER": "may change the server and pass by its read-only mode", "FILE": "may read and write files of the server's machine",
	}
)

func examineMySQL(ctx context.Context, x *examination) error {
	before := len(x.findings)
	var db, version sql.NullString
	if err := x.db.QueryRowContext(ctx, "SELECT DATABASE(), VERSION()").Scan(&db, &version); err != nil {
		return err
	}
	lines, err := x.rows(ctx, "SHOW GRANTS")
	if err != nil {
		return err
	}
	var may, roles []string
	for _, line := range column(lines) {
		g, ok := parseGrant(line)
		if !ok {
			if strings.HasPrefix(line, "GRANT ") {
				roles = append(roles, line[len("GRANT "):max(len("GRANT "), strings.Index(line, " TO "))])
			}
			continue
		}
		may = append(may, x.grant(g, db.String)...)
	}
	x.writable(may)
	// MariaDB lists what comes by roles; MySQL only names them.
	if len(roles) > 0 && !strings.Contains(version.String, "MariaDB") {
		x.say(levelWarn, "it also has the privileges of roles, which are not shown here: "+some(roles), "see SHOW GRANTS … USING these roles")
	}
	x.clean(before)
	return nil
}

// grant tells what is wrong with one grant, and gives the tables of the catalog that may be changed by it.
func (x *examination) grant(g grant, own string) (may []string) {
	var beyond, change []string
	for _, p := range g.privileges {
		global := g.db == "*"
		switch {
		case dangerous[p] != "" && (global || p != "ALL PRIVILEGES"):
			x.say(levelFail, "its role "+dangerous[p]+": "+p+" on "+g.on(), "REVOKE "+p+" ON "+g.on()+"; give the role SELECT on the tables of the catalog")
			if p == "ALL PRIVILEGES" {
				return nil // which says it all
			}
		case p == "ALL PRIVILEGES":
			beyond, change = append(beyond, p), writes
		case slices.Contains(writes, p):
			change = append(change, p)
		case !slices.Contains(harmless, p):
			beyond = append(beyond, p)
		}
	}
	if len(beyond) > 0 {
		x.say(levelWarn, "its role has more than it needs: "+some(beyond)+" on "+g.on(), "REVOKE it")
	}
	if x.conn.Write || len(change) == 0 {
		return nil
	}
	for _, r := range x.tables {
		db := r.Schema
		if db == "" {
			db = own
		}
		if g.covers(db, r.Table) {
			may = append(may, r.Table+" ("+strings.Join(change, ", ")+")")
		}
	}
	if len(may) == 0 {
		x.say(levelWarn, "its role may change tables that are not in the catalog: "+strings.Join(change, ", ")+" on "+g.on(), "REVOKE it")
	}
	return may
}
