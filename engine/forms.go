package engine

import (
	"bytes"
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/schema/query"
)

// Note [requests of one form]
//
// Clients ask the same with other values again and again. Decoding and binding such a request gives the same plan but
// for those values, so plans are kept by form: all bytes of the arguments except the tokens of conditions, and all that
// the principal consists of. A plan is never used for a principal that differs in anything, and with its engine it ends
// with the catalog. What is taken from a request is its tokens, each read and checked anew as the binder did
// (plan, Note [plans that are used again]), and the statement is rendered anew from the values that it has now, because
// how a value is written may depend on it.
//
// A form is trusted only after its plan, with other values put in, has given the very statements that a whole compile
// of those values gives. One call at a time uses a plan; a second one compiles its own, which is kept beside it.

const (
	maxForms    = 1024
	maxPlans    = 256
	maxFormSize = 16 << 10 // bytes of a request whose form is kept
)

// A compiled is a request that is ready to run.
type compiled struct {
	r      *query.Request
	p      *plan.Plan
	view   *policy.View // that it was planned in, which knows the rules
	tokens query.Tokens
	slots  []plan.Slot // the i-th is of the i-th token
	form   *form       // nil is none
	cols   []column    // as they were when it ran before; nil is never
}

// forms keeps plans by form.
type forms struct {
	mu    sync.Mutex
	byKey map[string]*form
	used  list.List // *form, the latest in front
	plans int
	hits  atomic.Int64
}

// A form is what is known of requests that differ in their tokens alone.
type form struct {
	key   string
	at    *list.Element
	state formState
	free  []*compiled
}

type formState uint8

const (
	seen    formState = iota // once
	trying                   // by one call now
	trusted                  // its plans can be used
	refused                  // they cannot
)

var keys Room

// fixed says that every token of a request can be replaced.
func (c *compiled) fixed(holes []query.Hole) bool {
	if c.r.Cursor != "" || !c.p.Lasting() || len(c.p.Slots()) != len(holes) {
		return false
	}
	slots := make([]plan.Slot, len(holes))
	for i, h := range holes {
		n := 0
		for _, s := range c.p.Slots() {
			if s.Place == h.From {
				slots[i] = s
				n++
			}
		}
		if n != 1 {
			return false
		}
	}
	tokens, ok := c.r.Tokens(holes)
	c.tokens, c.slots = tokens, slots
	return ok
}

// fill puts the tokens of raw in.
func (c *compiled) fill(raw []byte, holes []query.Hole) bool {
	if len(holes) != len(c.slots) {
		return false
	}
	for i, h := range holes {
		token := string(raw[h.From:h.To])
		if !c.slots[i].Set(token) {
			return false
		}
		c.tokens.Set(i, token)
	}
	return true
}

// compile makes a request ready to run. The call gives it back when it is through with it.
func (e *Engine) compile(ctx context.Context, who *policy.Principal, raw []byte) (*compiled, *policy.Principal, error) {
	if len(raw) > min(maxFormSize, e.opts.Limits.Bytes) || e.cat.Owner != nil {
		return e.whole(ctx, who, raw)
	}
	key := keys.Take(2 * len(raw))
	defer func() { keys.Give(key) }()
	var holes []query.Hole
	var ok bool
	if key, holes, ok = query.Form(who.Append(key), raw); !ok {
		return e.whole(ctx, who, raw)
	}
	f, c := e.forms.take(key)
	if c != nil {
		if c.fill(raw, holes) {
			e.forms.hits.Add(1)
			return c, who, nil
		}
		e.forms.give(c)
	}
	c, who, err := e.whole(ctx, who, raw)
	if err != nil || !c.fixed(holes) {
		return c, who, err
	}
	switch {
	case f == nil:
		e.forms.add(string(key))
	case e.forms.begin(f):
		ok := e.proven(ctx, who, c, raw, holes)
		e.forms.settle(f, ok)
		if ok && c.fill(raw, holes) {
			c.form = f
			return c, who, nil
		}
		return e.whole(ctx, who, raw) // what is in c now are the values of the proof
	case e.forms.trusts(f):
		c.form = f
	}
	return c, who, nil
}

// whole decodes and plans a request from its beginning.
func (e *Engine) whole(ctx context.Context, who *policy.Principal, raw []byte) (*compiled, *policy.Principal, error) {
	end := e.stage(ctx, "decode")
	r, err := query.Decode(raw, e.opts.Limits)
	end(err)
	if err != nil {
		return nil, who, err
	}
	if e.needs(r) {
		end = e.stage(ctx, "principal")
		who, err = e.known(ctx, who)
		end(err)
		if err != nil {
			return nil, who, err
		}
	}
	after, err := e.seal.open(who, r)
	if err != nil {
		return nil, who, err
	}
	v := policy.For(e.cat, who)
	end = e.stage(ctx, "plan")
	p, err := plan.Read(v, r, e.options(ctx, v, after))
	end(err)
	if err != nil {
		return nil, who, err
	}
	return &compiled{r: r, p: p, view: v}, who, nil
}

// proven says whether a plan with other values gives what a whole compile of them gives.
func (e *Engine) proven(ctx context.Context, who *policy.Principal, c *compiled, raw []byte, holes []query.Hole) bool {
	var other []byte
	from := 0
	for i, h := range holes {
		other = append(append(other, raw[from:h.From]...), c.slots[i].Probe(i, string(raw[h.From:h.To]), raw[h.From-1] != '"')...)
		from = h.To
	}
	other = append(other, raw[from:]...)
	form, its, ok := query.Form(nil, other)
	if mine, _, same := query.Form(nil, raw); !ok || !same || !bytes.Equal(form, mine) {
		return false
	}
	want, _, err := e.whole(ctx, who, other)
	if err != nil || !c.fill(other, its) {
		return false
	}
	d := e.dbs[c.p.Connection()].driver
	for _, fence := range []bool{false, true} {
		a, errA := render(c.p, d, fence)
		b, errB := render(want.p, d, fence)
		if errA != nil || errB != nil || a.text() != b.text() {
			return false
		}
	}
	return c.r.Shape() == want.r.Shape() && fmt.Sprint(c.p.Page(), c.p.Notices()) == fmt.Sprint(want.p.Page(), want.p.Notices())
}

// text is all of the statements, to compare them by.
func (st statements) text() string {
	s := fmt.Sprintf("%s %#v", st.rows.SQL, st.rows.Args)
	if st.count != nil {
		s += fmt.Sprintf(" %s %#v", st.count.SQL, st.count.Args)
	}
	return s
}

// take gives what is known of a form, and a plan of it for the caller alone.
func (fs *forms) take(key []byte) (*form, *compiled) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.byKey[string(key)]
	if f == nil {
		return nil, nil
	}
	fs.used.MoveToFront(f.at)
	n := len(f.free)
	if f.state != trusted || n == 0 {
		return f, nil
	}
	c := f.free[n-1]
	f.free[n-1] = nil
	f.free = f.free[:n-1]
	fs.plans--
	return f, c
}

// give takes a plan back.
func (fs *forms) give(c *compiled) {
	if c.form == nil {
		return
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := c.form
	if fs.byKey[f.key] != f { // it went in the meantime
		return
	}
	f.free = append(f.free, c)
	fs.plans++
	fs.trim()
}

// add remembers a form that was seen.
func (fs *forms) add(key string) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.byKey[key] != nil {
		return
	}
	if fs.byKey == nil {
		fs.byKey = map[string]*form{}
	}
	f := &form{key: key}
	f.at = fs.used.PushFront(f)
	fs.byKey[key] = f
	fs.trim()
}

// trim drops the forms used longest ago.
func (fs *forms) trim() {
	for fs.used.Len() > 1 && (fs.used.Len() > maxForms || fs.plans > maxPlans) {
		f := fs.used.Remove(fs.used.Back()).(*form)
		delete(fs.byKey, f.key)
		fs.plans -= len(f.free)
		f.free = nil
	}
}

// begin says whether the caller is the one to try a form.
func (fs *forms) begin(f *form) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.state != seen {
		return false
	}
	f.state = trying
	return true
}

// settle says what came of it.
func (fs *forms) settle(f *form, ok bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.state = refused; ok {
		f.state = trusted
	}
}

func (fs *forms) trusts(f *form) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return f.state == trusted
}
