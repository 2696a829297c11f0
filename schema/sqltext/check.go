package sqltext

import (
	"slices"
	"strings"

	"resq/schema/problem"
)

// Facts are what is known of a table before the database is asked.
type Facts struct {
	Masked  []string // columns whose values are hidden
	Columns []string // all of them; nil is not known
}

func (f *Facts) masks(column string) bool {
	return slices.ContainsFunc(f.Masked, func(m string) bool { return strings.EqualFold(m, column) })
}

// A checker follows masked columns through a statement.
//
// Note [masks by lineage]: a masked column may stand in one place alone, as an output of the outermost SELECT under its
// own name. So no query inside another ever gives a masked value, whatever it calls its columns, and only tables need to
// be followed. What could name the column without writing it, a star, a whole row, a column list, NATURAL, USING, a
// position, is refused wherever such a table is near. Beside this, what is read in place of the table has the column
// masked already, so that a hole in these rules shows asterisks.
type checker struct {
	s      *Statement
	facts  map[*Table]*Facts
	masked map[string]bool // every masked column of any table of the statement, in lower case
	probs  problem.List
}

// Check resolves the columns of a statement as far as its tables are known. What facts gives as an error is told at its
// table. The error is a problem.List with places as line:column of the text.
func (s *Statement) Check(facts func(*Table) (*Facts, *problem.Problem)) error {
	c := &checker{s: s, facts: map[*Table]*Facts{}, masked: map[string]bool{}}
	for _, t := range s.Tables {
		f, p := facts(t)
		if p != nil {
			p.At, p.Stage = s.At(t.First), problem.Resources
			c.probs = append(c.probs, p)
			continue
		}
		if f == nil {
			f = &Facts{}
		}
		c.facts[t] = f
		for _, m := range f.Masked {
			c.masked[strings.ToLower(m)] = true
		}
	}
	if len(c.probs) > 0 {
		return c.probs.Err()
	}
	for _, x := range s.selects {
		c.sources(x)
	}
	for _, x := range s.Columns {
		c.column(x)
	}
	c.positions()
	return c.probs.Err()
}

func (c *checker) tell(tok int, code problem.Code, stage problem.Stage, msg, hint string) {
	c.probs = append(c.probs, &problem.Problem{Code: code, Stage: stage, At: c.s.At(tok), Message: msg, Hint: hint})
}

const maskHint = "name it as an output of the outermost SELECT, without an alias"

func (c *checker) hidden(tok int, msg string) {
	c.tell(tok, problem.SQLMaskedColumn, problem.Masks, msg, maskHint)
}

// guarded says whether a source is a table with masked columns.
func (c *checker) guarded(s *Source) bool { return s.Table != nil && len(c.facts[s.Table].Masked) > 0 }

func (c *checker) sources(x *Select) {
	any := false
	for _, s := range x.From {
		if !c.guarded(s) {
			continue
		}
		any = true
		if len(s.Columns) > 0 {
			c.hidden(s.Table.First, "a table with masked columns is given other names for its columns")
		}
	}
	for _, j := range x.Joins {
		if any && j.Natural {
			c.hidden(j.tok, "NATURAL JOIN compares every column, and one is masked")
		}
		for _, u := range j.Using {
			if c.masked[strings.ToLower(u)] {
				c.hidden(j.tok, "USING compares the masked column "+problem.Quote(u))
			}
		}
	}
}

// find gives the source that a qualifier means from x outwards; nil is none. Whether capitals count differs between
// databases: a name that is the same goes before one that differs in them.
func find(x *Select, schema, name string) *Source {
	for _, equal := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for in := x; in != nil; in = in.query.around() {
			for _, s := range in.From {
				if equal(s.name(), name) && (schema == "" || s.Table != nil && s.Alias == "" && (s.Table.Schema == "" || strings.EqualFold(s.Table.Schema, schema))) {
					return s
				}
			}
		}
	}
	return nil
}

// around is the SELECT in which a query stands; nil is none.
func (q *Query) around() *Select {
	if q == nil {
		return nil
	}
	return q.from
}

func (c *checker) column(x *Column) {
	masked, whole, what := false, false, ""
	switch {
	case x.Star && len(x.Path) == 0:
		masked = slices.ContainsFunc(x.in.From, c.guarded)
		what = "* holds a masked column"
	case x.Star:
		s := c.source(x, x.Path)
		if s == nil {
			return
		}
		masked = c.guarded(s)
		what = "* holds a masked column"
	case len(x.Path) == 1:
		name := x.Path[0]
		what = "the column " + problem.Quote(name) + " is masked"
		if masked = c.masked[strings.ToLower(name)]; !masked {
			if s := find(x.in, "", name); s != nil && c.guarded(s) {
				masked, whole, what = true, true, "a whole row of "+problem.Quote(name)+" holds a masked column"
			} else if s == nil {
				c.known(x, name)
			}
		}
	default:
		s := c.source(x, x.Path[:len(x.Path)-1])
		if s == nil {
			return
		}
		if s.Table == nil {
			return
		}
		name, f := x.name(), c.facts[s.Table]
		masked, what = f.masks(name), "the column "+problem.Quote(name)+" is masked"
		if f.Columns != nil && len(s.Columns) == 0 && !slices.ContainsFunc(f.Columns, func(n string) bool { return strings.EqualFold(n, name) }) {
			c.tell(x.Last, problem.UnknownField, problem.Fields, "there is no column "+problem.Quote(name)+" on "+problem.Quote(s.Table.Name), problem.OneOf(name, f.Columns))
			return
		}
	}
	if !masked || !whole && c.shown(x) {
		return
	}
	if x.Star && x.query.exists {
		return // EXISTS (SELECT * …) gives no value
	}
	c.hidden(x.Last, what+" and cannot stand here")
}

// source finds the source that a qualifier means; nil is none, which is told.
func (c *checker) source(x *Column, path []string) *Source {
	schema, name := "", path[len(path)-1]
	if len(path) == 2 {
		schema = path[0]
	}
	s := find(x.in, schema, name)
	if s == nil {
		c.tell(x.First, problem.SQLSyntax, problem.Names, "there is no "+problem.Quote(strings.Join(path, "."))+" in FROM here", "the alias of a table, or its name where it has none")
	}
	return s
}

// known tells a column that none of the tables has, where all that could have it are known.
func (c *checker) known(x *Column, name string) {
	if x.in == nil || len(x.in.From) == 0 || x.use == inOrder || x.use == inGroup || x.use == inHaving || x.in.query.around() != nil {
		return
	}
	var all []string
	for _, s := range x.in.From {
		if s.Table == nil || c.facts[s.Table].Columns == nil || len(s.Columns) > 0 {
			return
		}
		all = append(all, c.facts[s.Table].Columns...)
	}
	if !slices.ContainsFunc(all, func(n string) bool { return strings.EqualFold(n, name) }) {
		c.tell(x.First, problem.UnknownField, problem.Fields, "there is no column "+problem.Quote(name)+" in FROM here", problem.OneOf(name, all))
	}
}

// shown says whether x is an output of the outermost SELECT and nothing else.
func (c *checker) shown(x *Column) bool {
	q := c.s.Query
	return x.query == q && len(q.Terms) == 1 && q.Terms[0].Select == x.in && x.in != nil && x.item != nil && x.item.Alias == "" && (x.Star || x.lonely)
}

// positions refuses numbers that point at a masked output.
func (c *checker) positions() {
	q := c.s.Query
	if len(q.Terms) != 1 || q.Terms[0].Select == nil || len(c.masked) == 0 {
		return
	}
	sel := q.Terms[0].Select
	unsure := false
	points := map[int]bool{}
	for i, it := range sel.Items {
		switch {
		case it.Star != nil:
			unsure = unsure || slices.ContainsFunc(sel.From, c.guarded)
		case it.Expr.Column != nil && c.masked[strings.ToLower(it.Expr.Column.name())]:
			points[i+1] = true
		}
	}
	for _, x := range slices.Concat(q.Order, sel.Group) {
		if x.Position > 0 && (unsure || points[x.Position]) {
			c.hidden(x.First, "a position may point at a masked column")
		}
	}
}
