package introspect

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"resq/schema"
)

// The bounds of looking for keys in the data. What is beyond them is not looked at, for a guess is not worth
// a database that is kept busy.
const (
	guessTime    = 2 * time.Second  // of one statement
	guessAll     = 20 * time.Second // of all of them
	guessRows    = 100_000          // of a table
	guessColumns = 8                // of a table that are tried
	guessLength  = "255"            // characters of a text; what is longer names nothing
)

// guess finds the columns that could be the key of tables that declare none: those that the data show to be
// unique and never NULL. Whatever goes wrong with a table, it is left without a guess; guess fails only when
// ctx is cancelled, and not when its time is over, for the structure has been read by then.
func (s *Snapshot) guess(ctx context.Context, db *sql.DB, progress func(done, total int)) error {
	short, cancel := context.WithTimeout(ctx, guessAll)
	defer cancel()
	for i, t := range s.Tables {
		if progress != nil {
			progress(i, len(s.Tables))
		}
		if t.View || len(t.key()) > 0 {
			continue
		}
		columns := s.candidates(t)
		if len(columns) == 0 {
			continue
		}
		distinct, err := s.distinct(short, db, t, columns)
		if err == nil {
			t.Distinct = distinct
		}
		if short.Err() != nil {
			break
		}
	}
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// keyEndings are how the names of keys end.
var keyEndings = []string{"id", "code", "no", "key", "uuid"}

// candidates are the columns that may tell rows apart, the likeliest first. The first column of a table mostly
// is its key; but where columns are in the order of their names, or came out of a spreadsheet, it is any
// column, and then the names say more.
func (s *Snapshot) candidates(t *Table) []*Column {
	table := strings.ToLower(t.Name)
	one := strings.TrimSuffix(table, "s")
	own := []string{"id", table + "id", table + "_id", one + "id", one + "_id"}
	rank := func(i int, c *Column) int {
		name := strings.ToLower(c.Name)
		switch {
		case slices.Contains(own, name):
			return 0
		case !slices.ContainsFunc(keyEndings, func(end string) bool { return strings.HasSuffix(name, end) }):
			return 4
		case i == 0:
			return 1
		case name == "uuid", name == "code":
			return 2
		}
		return 3
	}
	ranks := map[*Column]int{}
	var out []*Column
	for i, c := range t.Columns {
		if r := rank(i, c); s.tells(c) && (i == 0 || r < 4) {
			ranks[c], out = r, append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b *Column) int { return ranks[a] - ranks[b] })
	return out[:min(len(out), guessColumns)]
}

// tells says whether values of the column's type can tell rows apart.
func (s *Snapshot) tells(c *Column) bool {
	if c.Array || c.Native != "" && !c.padded() {
		return false
	}
	switch c.Type.Kind {
	case schema.Integer, schema.String, schema.Text, schema.UUID:
		return true
	case schema.Decimal: // of whole numbers; in SQLite the values say whether they are
		return c.Type.Scale == 0 && (c.Type.Precision > 0 || s.Driver == "sqlite")
	}
	return false
}

// distinct gives those of columns that have another value in every row; none for a table of less than two
// rows, which shows nothing, or of too many.
func (s *Snapshot) distinct(ctx context.Context, db *sql.DB, t *Table, columns []*Column) ([]string, error) {
	// TiDB refuses a transaction that is to be read-only.
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: s.Driver != "mysql"})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	if s.Driver == "postgres" {
		if _, err := tx.ExecContext(ctx, "SET LOCAL statement_timeout = "+guessLimit); err != nil {
			return nil, err
		}
	}
	table := s.quote(t.Name)
	if t.Schema != "" {
		table = s.quote(t.Schema) + "." + table
	}
	var rows int64
	bound := "COUNT(*) FROM (SELECT 1 AS x FROM " + table + " LIMIT " + strconv.Itoa(guessRows+1) + ") AS s"
	if err := s.ask(ctx, tx, bound, &rows); err != nil || rows < 2 || rows > guessRows {
		return nil, err
	}
	counts := make([]int64, 2*len(columns)) // of each column its values, and the rows it tells apart
	at := []any{&rows}
	text := "COUNT(*)"
	for i, c := range columns {
		text += ", COUNT(DISTINCT " + s.quote(c.Name) + "), COUNT(CASE WHEN " + s.usable(c) + " THEN 1 END)"
		at = append(at, &counts[2*i], &counts[2*i+1])
	}
	if err := s.ask(ctx, tx, text+" FROM "+table, at...); err != nil {
		return nil, err
	}
	var out []string
	for i, c := range columns {
		if rows > 1 && counts[2*i] == rows && counts[2*i+1] == rows {
			out = append(out, c.Name)
		}
	}
	return out, nil
}

// guessLimit is guessTime as PostgreSQL and MySQL take it.
var guessLimit = strconv.FormatInt(guessTime.Milliseconds(), 10)

// ask runs one SELECT of one row. The server ends it, where there is one: the drivers end a statement by
// giving its connection up, and MySQL would still go on with it. So the time here is a little longer.
func (s *Snapshot) ask(ctx context.Context, tx *sql.Tx, text string, at ...any) error {
	short, cancel := context.WithTimeout(ctx, guessTime+guessTime/4)
	defer cancel()
	start := "SELECT "
	if s.Driver == "mysql" { // MariaDB has a statement of its own for it, which to MySQL is a comment
		start = "/*M!100101 SET STATEMENT max_statement_time = " + strconv.FormatFloat(guessTime.Seconds(), 'f', -1, 64) +
			" FOR */ SELECT /*+ MAX_EXECUTION_TIME(" + guessLimit + ") */ "
	}
	return tx.QueryRowContext(short, start+text).Scan(at...)
}

// usable is the condition that a value may be a part of a key: not NULL, no long text, and in SQLite, where a
// column holds what it likes, of the type that the catalog will say.
func (s *Snapshot) usable(c *Column) string {
	name := s.quote(c.Name)
	var is []string
	whole := c.Type.Kind == schema.Integer || c.Type.Kind == schema.Decimal
	switch {
	case s.Driver != "sqlite":
		is = append(is, name+" IS NOT NULL")
	case whole:
		is = append(is, "typeof("+name+") = 'integer'")
	default:
		is = append(is, "typeof("+name+") = 'text'")
	}
	switch {
	case whole || c.Type.Kind == schema.UUID:
	case s.Driver == "postgres": // "char" has no length of its own
		is = append(is, "LENGTH(CAST("+name+" AS text)) <= "+guessLength)
	default:
		is = append(is, "LENGTH("+name+") <= "+guessLength)
	}
	return strings.Join(is, " AND ")
}

// quote writes a name in SQL.
func (s *Snapshot) quote(name string) string {
	if s.Driver == "mysql" {
		return "`" + strings.ReplaceAll(name, "`", "``") + "`"
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
