package plan

import (
	"fmt"
	"slices"
	"time"

	"resq/schema"
	"resq/schema/query"
)

// Note [plans that are used again]
//
// A token that is compared with a plain field, and is of the field's own type, is an argument and nothing else: the
// rest of the plan does not depend on it. Such an argument is a slot, in which another token can be put, read and
// checked as the first one was. Everything else that a plan depends on, the principal above all, is what it was when
// the plan was made, so whoever keeps a plan must use it for the very same only. A plan that depends on the time, or
// on a set that was read for it, cannot be used again at all.
//
// A plan with slots is changed by putting tokens in, so only one call may use it at a time.

// A Slot is a value of a plan that can be replaced.
type Slot struct {
	Place int // of the token in the arguments
	arg   *Arg
	of    *Column
	conn  *schema.Connection
	lim   *query.Limits
}

// Slots are the values of the plan that can be replaced.
func (p *Plan) Slots() []Slot { return p.slots }

// Lasting says whether the plan depends on nothing but the request, the view and the limits.
func (p *Plan) Lasting() bool { return !p.momentary }

// Probe is another token than the given one that can be put in, different from those of other slots where its type
// has enough values. A bare one is a whole number, or what stands for a boolean.
func (s Slot) Probe(i int, token string, bare bool) string {
	k := s.arg.T.Kind
	switch {
	case bare && k != schema.Bool, k == schema.Integer:
		return fmt.Sprintf("7%06d", i)
	}
	switch k {
	case schema.Decimal, schema.Number:
		return fmt.Sprintf("7%06d.25", i)
	case schema.Bool:
		if token == "true" || token == "1" {
			return "0"
		}
		return "1"
	case schema.Enum:
		values := s.of.Field.Values
		if len(values) == 0 {
			break
		}
		return values[(slices.Index(values, token)+1)%len(values)]
	case schema.Date:
		return fmt.Sprintf("19%02d-07-04", i%100)
	case schema.DateTime:
		return fmt.Sprintf("19%02d-07-04 01:02:03", i%100)
	case schema.Time:
		return fmt.Sprintf("01:02:%02d", i%60)
	case schema.UUID:
		return fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
	}
	return fmt.Sprintf("probe %d", i)
}

// Set puts a token in. It says false when the token is no value there, or one of another form; the plan is of no use
// until the slot is set again.
func (s Slot) Set(token string) bool {
	b := &binder{lim: s.lim, conn: s.conn}
	a, ok := b.token(token, "", s.of).(*Arg)
	if !ok || !alike(a, s.arg) {
		return false
	}
	s.arg.Value = a.Value
	return true
}

// alike says whether two arguments differ in their values alone.
func alike(a, b *Arg) bool {
	return a.T == b.T && a.Zone == b.Zone && a.Bare == b.Bare && a.Kept == b.Kept && a.Many == nil && b.Many == nil
}

// slotted are the types as which a token is read and compared in one way, whatever it is.
var slotted = map[schema.Kind]bool{schema.Integer: true, schema.Decimal: true, schema.Number: true, schema.Bool: true, schema.String: true, schema.Text: true,
	schema.Date: true, schema.DateTime: true, schema.Time: true, schema.UUID: true, schema.Enum: true}

// slotsOf notes the slots of a leaf that was bound to e.
func (b *binder) slotsOf(l *query.Leaf, x, e Expr) {
	c, ok := x.(*Column)
	if !ok || b.trusted || c.Field == nil || c.Field.Array || !slotted[c.T.Kind] {
		return
	}
	switch e := e.(type) {
	case *Compare:
		if !l.HasTokens && len(l.Places) == 1 && e.L == x {
			b.slot(l.Places[0], l.Token, c, e.R)
		}
	case *List:
		if l.HasTokens && len(l.Places) == len(e.Xs) && len(l.Tokens) == len(e.Xs) && e.X == x {
			for i := range e.Xs {
				b.slot(l.Places[i], l.Tokens[i], c, e.Xs[i])
			}
		}
	}
}

// slot notes one, if the argument is what the token alone makes it.
func (b *binder) slot(place int32, token string, of *Column, e Expr) {
	a, ok := e.(*Arg)
	if !ok || place == 0 || a.T != of.T {
		return
	}
	again, ok := (&binder{lim: b.lim, conn: b.conn}).token(token, "", of).(*Arg)
	if !ok || again.Value != a.Value || !alike(again, a) {
		return
	}
	b.slots = append(b.slots, Slot{Place: int(place), arg: a, of: of, conn: b.conn, lim: b.lim})
}

// clock is the instant of the request.
func (b *binder) clock() time.Time {
	b.momentary = true
	return b.now
}
