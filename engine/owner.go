package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// ownerRows is how many rows one query may give of a user.
const ownerRows = 10_000

// known gives the principal with what the catalog's queries say of its user, as it is now. Every entry of the engine
// goes through it before anything is decided; a view of a principal that did not shows no row that a rule guards.
func (e *Engine) known(ctx context.Context, who *policy.Principal) (*policy.Principal, error) {
	if e.cat.Owner == nil || who.User == "" {
		return who, nil
	}
	// The queries see the user's id, and what the ones before them gave, and nothing that the principal brings.
	asks := (&policy.Principal{Name: who.Name, Key: who.Key, User: who.User}).Known(nil, nil)
	attributes, funcs := map[string]*policy.Value{}, map[string]*policy.Value{}
	for i, q := range e.cat.Owner.Queries {
		found, err := e.ask(ctx, asks, q)
		if err != nil {
			return nil, unread(err)
		}
		if i == 0 && found == nil {
			return who.Nobody(), nil
		}
		for k := range q.Query.Fields {
			name := q.Query.Fields[k].Name()
			attributes[name] = found[name]
			if slices.Contains(query.Funcs, name) {
				funcs[name] = found[name]
			}
		}
		asks = asks.Known(attributes, funcs)
	}
	who = who.Known(attributes, funcs)
	if name := e.cat.Owner.Roles; name != "" && attributes[name] != nil {
		// The role of business tools is the engine's to give, whatever the data say.
		who = who.Playing(slices.DeleteFunc(slices.Clone(attributes[name].Texts), func(r string) bool { return r == ToolRole }))
	}
	return who, nil
}

// present is the principal with what the catalog says of its user, and a refusal where there is no such user: business tools
// say who asks and writes keep it, so neither is for somebody who is not there.
func (e *Engine) present(ctx context.Context, who *policy.Principal) (*policy.Principal, error) {
	who, err := e.known(ctx, who)
	if err == nil && who.Absent() {
		err = problem.List{{Code: problem.Unauthenticated, Stage: problem.Policy, Message: "the user that this key acts for does not exist", Hint: "the operator gives the key a user that does"}}
	}
	return who, err
}

// Present says why a principal's user may ask nothing; nil is that it is there. It is for tools that are asked elsewhere.
func (e *Engine) Present(ctx context.Context, who *policy.Principal) error {
	_, err := e.present(ctx, who)
	return err
}

// ask runs one query of the user and gives its outputs by name, without those that are NULL; nil when there is no row.
func (e *Engine) ask(ctx context.Context, who *policy.Principal, q schema.OwnerQuery) (map[string]*policy.Value, error) {
	v := policy.For(e.cat, who)
	p, err := plan.ReadOwner(v, q, ownerRows, plan.Options{Limits: e.opts.Limits, Now: e.opts.Now()})
	if err != nil || p == nil {
		return nil, err
	}
	var found map[string]*policy.Value
	rows, empty := 0, make([]bool, len(q.Lists))
	err = e.each(ctx, who, p, func(row []text) error {
		if rows++; rows > ownerRows {
			return problem.List{{Code: problem.DataIntegrity, Stage: problem.Policy, Reason: "principal", Message: fmt.Sprintf("the user has more than %d rows", ownerRows), Hint: "the operator narrows the queries of principal in the catalog"}}
		}
		if found == nil {
			found = map[string]*policy.Value{}
			for i, list := range q.Lists {
				if list {
					found[q.Query.Fields[i].Name()] = &policy.Value{Texts: []string{}, List: true}
				}
			}
		}
		for i, list := range q.Lists {
			name := q.Query.Fields[i].Name()
			had := found[name]
			switch {
			case list && row[i].null, list && slices.Contains(had.Texts, row[i].text):
			case list:
				had.Texts = append(had.Texts, row[i].text)
			case rows == 1:
				if empty[i] = row[i].null; !empty[i] {
					one := policy.One(row[i].text)
					found[name] = &one
				}
			case empty[i] != row[i].null || !row[i].null && had.Texts[0] != row[i].text:
				return problem.List{{Code: problem.DataIntegrity, Stage: problem.Policy, Reason: "principal", Message: "the user has several values of one attribute, so that who asks is not known",
					Hint: "the operator declares the attribute a list in the catalog, or narrows the query", Err: fmt.Errorf("attribute %s", name)}}
			}
		}
		return nil
	})
	return found, err
}

// unread says that who asks could not be found out. What the database said is no caller's business, and it is its
// absence that counts: without attributes nothing is answered.
func unread(err error) error {
	p := problem.From(err)[0]
	switch p.Code {
	case problem.Cancelled, problem.Overloaded:
		return problem.List{p}
	case problem.DataIntegrity:
		if p.Reason == "principal" {
			return problem.List{p}
		}
	}
	return problem.List{{Code: problem.Unavailable, Stage: problem.Policy, Reason: "principal", Message: "what the caller may see cannot be looked up now", Hint: "call again later", RetryAfter: 1, Err: err}}
}

// needs says whether the answer to a request can depend on what the principal's user is: it names a resource with a row
// rule, or a func token.
func (e *Engine) needs(r *query.Request) bool {
	if e.cat.Owner == nil {
		return false
	}
	if e.cat.Owner.Roles != "" { // which decide what there is at all
		return true
	}
	found := false
	named := func(code string) {
		if x, ok := e.cat.Resource(code); ok && x.Rows != nil {
			found = true
		}
	}
	r.Each(func(x *query.Request) {
		named(x.Resource)
		for _, j := range x.Relations {
			named(j.Resource)
		}
	}, func(l *query.Leaf) {
		found = found || l.TokenType == query.TokenFunc
	})
	return found
}

// byRole says whether a case of a row rule is one of certain roles.
func byRole(cat *schema.Catalog) bool {
	return slices.ContainsFunc(cat.Rules, func(r *schema.Rule) bool {
		return slices.ContainsFunc(r.Cases, func(c schema.Case) bool { return len(c.Roles) > 0 })
	})
}

// Where roles come from the database, which tools a user sees hangs on them, and lists are asked for without a call. What was
// found is used for a second there; a call looks them up anew.
const (
	rolesTime = time.Second
	maxRoles  = 10_000 // users that are remembered
	rolesWait = 2 * time.Second
)

// playing are the roles of users as lists see them.
type playing struct {
	mu sync.Mutex
	of map[string]played
}

type played struct {
	at    time.Time
	roles []string
}

// playing gives the principal with the roles of its user. Where they cannot be found out it has those that it brought.
func (e *Engine) playing(who *policy.Principal) *policy.Principal {
	if who == nil || who.User == "" || e.cat.Owner == nil || e.cat.Owner.Roles == "" {
		return who
	}
	e.roles.mu.Lock()
	p, ok := e.roles.of[who.User]
	e.roles.mu.Unlock()
	if now := time.Now(); !ok || now.Sub(p.at) > rolesTime {
		ctx, cancel := context.WithTimeout(context.Background(), rolesWait)
		defer cancel()
		bare := &policy.Principal{Name: who.Name, Key: who.Key, User: who.User}
		p = played{at: now}
		if found, err := e.known(ctx, bare); err == nil {
			p.roles = found.Roles
		}
		e.roles.mu.Lock()
		if e.roles.of == nil || len(e.roles.of) >= maxRoles {
			e.roles.of = map[string]played{}
		}
		e.roles.of[who.User] = p
		e.roles.mu.Unlock()
	}
	return who.Playing(p.roles)
}
