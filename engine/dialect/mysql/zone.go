package mysql

import (
	"strings"
	"sync"
	"time"

	"resq/engine/plan"
	"resq/engine/sqlgen"
	"resq/schema"
)

// Note [instants of MySQL]
//
// A TIMESTAMP is an instant, which the server shows in its session's zone: always UTC here. Its local time is
// calculated from the offsets of the connection's zone, written into the statement: CONVERT_TZ knows names of zones
// only where somebody has loaded the tables of zones into the server.

// The offsets are those of the instants that a TIMESTAMP can hold; MariaDB's go up to 2106.
const (
	firstYear = 1970
	lastYear  = 2106
)

// An offset is in force from an instant on. Both are seconds.
type offset struct{ from, seconds int64 }

var zones sync.Map // name → []offset

// offsets gives those of a zone, the earliest first.
func offsets(name string) []offset {
	if known, ok := zones.Load(name); ok {
		return known.([]offset)
	}
	loc, err := time.LoadLocation(name)
	if err != nil { // the catalog was checked when it was loaded
		loc = time.UTC
	}
	var list []offset
	end := time.Date(lastYear+1, 1, 1, 0, 0, 0, 0, time.UTC)
	for at := time.Date(firstYear, 1, 1, 0, 0, 0, 0, loc); at.Before(end); {
		if _, seconds := at.Zone(); len(list) == 0 || list[len(list)-1].seconds != int64(seconds) {
			list = append(list, offset{at.Unix(), int64(seconds)})
		}
		_, next := at.ZoneBounds()
		if next.IsZero() {
			break
		}
		if !next.After(at) { // at the end of a leap year the bound is the very instant
			next = at.Add(24 * time.Hour)
		}
		at = next
	}
	zones.Store(name, list)
	return list
}

// local writes the local time of an instant. INTERVAL looks constants up by halves.
func local(w *sqlgen.Writer, c *plan.Column, zone string) {
	list := offsets(zone)
	if len(list) == 1 {
		if list[0].seconds == 0 {
			w.Column(c)
			return
		}
		w.SQL("DATE_ADD(").Column(c).SQL(", INTERVAL ").Int(list[0].seconds).SQL(" SECOND)")
		return
	}
	w.SQL("DATE_ADD(").Column(c).SQL(", INTERVAL CAST(ELT(INTERVAL(UNIX_TIMESTAMP(").Column(c).SQL("), ")
	w.Commas(len(list)-1, func(i int) { w.Int(list[i+1].from) })
	w.SQL(") + 1, ").Commas(len(list), func(i int) { w.Int(list[i].seconds) }).SQL(") AS SIGNED) SECOND)")
}

// utc writes an instant as MySQL reads it.
func utc(s string) string { return strings.Replace(strings.TrimSuffix(s, "Z"), "T", " ", 1) }

// instant says whether a column that keeps its zone meets a value of its kind: then an index serves.
func instant(l, r plan.Expr) (*plan.Column, bool) {
	c, ok := l.(*plan.Column)
	a, isArg := r.(*plan.Arg)
	if !ok || !isArg || !a.Zone || a.T.Kind != schema.DateTime {
		return nil, false
	}
	f, _ := c.Zoned()
	return c, f != nil
}

// Compare compares instants as such.
func (d Dialect) Compare(w *sqlgen.Writer, x *plan.Compare) {
	if c, ok := instant(x.L, x.R); ok {
		w.SQL("(").Column(c).SQL(sqlgen.Operator(x.Op)).Expr(x.R).SQL(")")
		return
	}
	if sqlgen.Instants(w, x) {
		return
	}
	d.ANSI.Compare(w, x)
}

// In lists instants as such.
func (d Dialect) In(w *sqlgen.Writer, x *plan.List) {
	c, ok := instant(x.X, x.Xs[0])
	if !ok {
		d.ANSI.In(w, x)
		return
	}
	own := *c
	own.Instant = true
	d.ANSI.In(w, &plan.List{X: &own, Xs: x.Xs, Not: x.Not})
}
