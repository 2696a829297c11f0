package plan

import (
	"strings"

	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
)

// A Shadow is what SQL of others reads in place of a table: the rows that the principal sees and the columns that are
// there for it, masked ones as their images. It stands where the table would, as Note [guard at the point of use] has
// it, so nothing of the SQL around it can reach the table itself. Only Shadows makes one.
type Shadow struct {
	schema, table string
	inner         *Source
	where         Expr
	columns       []Shade
	authorised    bool
}

// A Shade is one column of a Shadow.
type Shade struct{ Column, Mask string }

// Table is the table behind the shadow.
func (s *Shadow) Table() (schema, name string) { return s.schema, s.table }

// Alias is what the table is called inside.
func (s *Shadow) Alias() int { return s.inner.ID }

// Columns are those that are there. It panics for a shadow that was not authorised.
func (s *Shadow) Columns() []Shade {
	if !s.authorised {
		panic("plan: a shadow was not authorised")
	}
	return s.columns
}

// Where is the condition of the rows that are there; nil is all.
func (s *Shadow) Where() Expr { return s.where }

// A Cover says what is to be put in place of a table.
type Cover struct {
	Use     *schema.Use
	Columns []string // of a table that no resource declares
	Free    bool     // row rules are bypassed
}

// Shadows makes what is read in place of the tables of one statement, in their order. The error is a problem.List; it
// tells of a resource that the principal may not use as of a table that is not there.
func Shadows(v *policy.View, covers []Cover, o Options) ([]*Shadow, error) {
	b := &binder{view: v, lim: &o.Limits, now: o.Now.UTC(), set: o.Set}
	out := make([]*Shadow, len(covers))
	for i, c := range covers {
		out[i] = b.shadow(c)
	}
	b.authorise()
	if err := b.probs.Err(); err != nil {
		return nil, err
	}
	for _, s := range out {
		s.authorised = true
	}
	return out, nil
}

func (b *binder) shadow(c Cover) *Shadow {
	s := &Shadow{schema: c.Use.Schema, table: c.Use.Table}
	id := b.id()
	s.inner = &Source{ID: id, guarded: true}
	for _, r := range c.Use.Resources {
		b.conn = r.Connection
		if !b.view.Visible(r) {
			b.add(problem.SQLTableNotAllowed, problem.Resources, "", "there is no table "+problem.Quote(c.Use.Table)+" here", "")
			return s
		}
		for _, f := range b.view.Fields(r) {
			s.add(f.Column, c.Use.Masked(f.Column))
		}
		// Every resource that declares the table has its say, and all speak of one row: the source of each has one name.
		in := &Source{ID: id, Code: r.Code, Resource: r, guarded: true}
		if c.Free {
			continue // not asked, so that no record has it as a rule that decided
		}
		if grant := b.view.Rows(r); !grant.All {
			s.where = and(s.where, b.rule(in, grant, 1))
		}
	}
	for _, name := range c.Columns {
		s.add(name, c.Use.Masked(name))
	}
	return s
}

func (s *Shadow) add(column, mask string) {
	for _, c := range s.columns {
		if strings.EqualFold(c.Column, column) {
			return
		}
	}
	s.columns = append(s.columns, Shade{column, mask})
}
