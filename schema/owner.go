package schema

import (
	"slices"

	"resq/schema/problem"
	"resq/schema/query"
)

// An ownerUnit is the principal of a catalog on its way into it.
type ownerUnit struct {
	file    *file
	decl    *ownerDecl
	outputs []string // of the queries before the one at hand
	keyed   bool     // the query at hand compares with the user, or with an output of a query before it
}

// bindOwner reads how a user becomes attributes.
func (l *loader) bindOwner() {
	var first *ownerUnit
	for _, f := range l.files {
		for i := range f.decl.owners {
			u := &ownerUnit{file: f, decl: &f.decl.owners[i]}
			if first != nil {
				f.tell(u.decl.at, "keep one of them", "principal is declared twice; the first is at %s", first.file.pos(first.decl.at))
				continue
			}
			first = u
			l.cat.Owner = &Owner{At: f.pos(u.decl.at)}
			for _, r := range u.decl.queries {
				l.bindOwnerQuery(u, r)
			}
			u.checkLists()
			if w := u.decl.roles; w.given() {
				if l.cat.Owner.Roles = w.text; !slices.Contains(u.outputs, w.text) {
					f.tell(w.at, problem.OneOf(w.text, u.outputs), "no query of principal has an output %s", problem.Quote(w.text))
				}
			}
		}
	}
}

func (l *loader) bindOwnerQuery(u *ownerUnit, r raw) {
	if !r.given() {
		return
	}
	q := l.decodeRequest(u.file, r)
	if q == nil {
		return
	}
	l.uncut(u.file, r, q, "a query of principal", "leave it out; every row that it gives is of the user")
	n := &names{l: l, file: u.file, raw: r, owner: u}
	if main, ok := l.resources[q.Resource]; ok {
		n.connection = main.thing.Connection
	}
	u.keyed = false
	n.request(q, nil)
	if !u.keyed {
		u.file.tell(r.at, `a condition such as {field: id, operator: "=", tokenType: func, token: UserID}`, "the query is the same for every user")
	}
	if len(q.Fields) == 0 {
		u.file.tell(r.at, "fields: [{code: FIELD, alias: ATTRIBUTE}]", "a query of principal must name its outputs, which become attributes")
	}
	x := OwnerQuery{Query: q, Connection: n.connection}
	for i := range q.Fields {
		name := q.Fields[i].Name()
		if slices.Contains(u.outputs, name) {
			u.file.tell(follow(r.node, q.Fields[i].At), "give it an alias of its own", "two outputs are called %s", problem.Quote(name))
		}
		u.outputs = append(u.outputs, name)
		x.Lists = append(x.Lists, slices.ContainsFunc(u.decl.lists, func(w word) bool { return w.text == name }))
	}
	l.cat.Owner.Queries = append(l.cat.Owner.Queries, x)
}

// rolesToken is the one func token that is a list.
const rolesToken = "UserRolesUuid"

// checkLists holds lists against the outputs, and the func tokens against what they are.
func (u *ownerUnit) checkLists() {
	listed := textsOf(u.decl.lists)
	for _, w := range u.decl.lists {
		switch {
		case !slices.Contains(u.outputs, w.text):
			u.file.tell(w.at, problem.OneOf(w.text, u.outputs), "no query of principal has an output %s", problem.Quote(w.text))
		case w.text != rolesToken && slices.Contains(query.Funcs, w.text):
			u.file.tell(w.at, "", "%s is one value, and no list", w.text)
		}
	}
	if slices.Contains(u.outputs, rolesToken) && !slices.Contains(listed, rolesToken) {
		u.file.tell(u.decl.at, "lists: ["+rolesToken+"]", "%s is a list", rolesToken)
	}
}

// token checks a comparison with the user in a query of principal.
func (u *ownerUnit) token(n *names, x *query.Leaf) {
	known := u.outputs
	switch x.TokenType {
	case query.TokenFunc:
		known = append([]string{"UserID"}, known...)
	case query.TokenPrincipal:
	case query.TokenSet:
		n.tell(x.At+"/tokenType", "sets are for row rules, which the attributes come before", "a query of principal uses a set")
		return
	default:
		return
	}
	u.keyed = true // or meant to be
	if !slices.Contains(known, x.Token) {
		n.tell(x.At+"/token", problem.OneOf(x.Token, known), "no query before this one gives %s", problem.Quote(x.Token))
	}
}
