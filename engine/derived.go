package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
)

// Note [what shows the rows of others]
//
// A view shows rows of the tables that it reads, a table with partitions those of its partitions, and an index of texts those of the
// table that it indexes: past the rules, masks and roles of that table, which stand at its own name. Whoever writes a tool or a
// resource on a view answers for that. A client that sends SQL does not, so for it such a view is not there, unless the operator lists
// it under tables of the connection, or declares it as a resource.

// derivedTime is how long it is believed what a database's views read.
const derivedTime = time.Minute

// kinships are what is known of a database's views.
type kinships struct {
	at   time.Time
	list []sqlgen.Derived
}

// shows says whether a table of no resource shows rows of one that has something to hide.
func (c *sent) shows(ctx context.Context, u *schema.Use) (bool, error) {
	if len(c.conn.Tables) > 0 {
		return false, nil // what is listed is meant
	}
	var guarded []string
	for _, r := range c.e.cat.Resources {
		if r.Connection == c.conn {
			guarded = append(guarded, r.Table)
		}
	}
	if len(u.Masks) == 0 { // else whoever masked the view thought of the masks of its tables
		for _, m := range c.e.cat.Masks {
			guarded = append(guarded, m.Table)
		}
	}
	if guarded == nil {
		return false, nil
	}
	list, err := c.e.derived(ctx, c.conn)
	if err != nil {
		return false, err
	}
	schema := cmp.Or(u.Schema, c.conn.Home())
	return slices.ContainsFunc(list, func(d sqlgen.Derived) bool {
		return strings.EqualFold(d.Table, u.Table) && (schema == "" || strings.EqualFold(strings.Trim(d.Schema, `"`), schema)) && derives(list, d, guarded, map[string]bool{})
	}), nil
}

// derives says whether one of the list is made, in however many steps, of a guarded table. Names in it are compared without their
// schemas and their case: what cannot be told apart is taken for the same.
func derives(list []sqlgen.Derived, d sqlgen.Derived, guarded []string, seen map[string]bool) bool {
	if d.Of == "" || slices.ContainsFunc(guarded, func(g string) bool { return mentions(d.Of, g) }) {
		return true
	}
	return slices.ContainsFunc(list, func(o sqlgen.Derived) bool {
		k := o.Schema + "\x00" + o.Table + "\x00" + o.Of
		if seen[k] || !mentions(d.Of, o.Table) {
			return false
		}
		seen[k] = true
		return derives(list, o, guarded, seen)
	})
}

// mentions says whether a name stands in a text by itself, in whatever quotes.
func mentions(text, name string) bool {
	text, name = strings.ToLower(text), strings.ToLower(name)
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		start := from + i
		end := start + len(name)
		if (start == 0 || !partOfName(text[start-1])) && (end == len(text) || !partOfName(text[end])) {
			return true
		}
		from = start + 1
	}
}

func partOfName(b byte) bool {
	return b == '_' || b == '$' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 0x80
}

// derived asks what the views of a connection's database read, at most once in a while.
func (e *Engine) derived(ctx context.Context, conn *schema.Connection) ([]sqlgen.Derived, error) {
	e.others.mu.Lock()
	k := e.others.derived[conn]
	e.others.mu.Unlock()
	if k != nil && e.opts.Now().Sub(k.at) < derivedTime {
		return k.list, nil
	}
	db := e.dbs[conn]
	ctx, cancel := context.WithTimeout(ctx, db.timeout)
	defer cancel()
	list, err := db.driver.Derived(ctx, db.DB.DB, conn)
	if err != nil {
		return nil, problem.List{db.fault(ctx, err)}
	}
	e.others.mu.Lock()
	defer e.others.mu.Unlock()
	if e.others.derived == nil {
		e.others.derived = map[*schema.Connection]*kinships{}
	}
	e.others.derived[conn] = &kinships{at: e.opts.Now(), list: list}
	return list, nil
}
