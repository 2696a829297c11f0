package engine

import (
	"slices"
	"strings"

	"resq/schema/problem"
)

// A routine is a function or procedure that names no table which the caller does not see.
type routine struct{ specific, name, kind, result, comment string }

// routinesIn gives those of a schema.
func (q *inquiry) routinesIn(schemaName string) ([]routine, error) {
	var list []routine
	var tables []string
	err := q.ask(q.asks.Routines, schemaName, "", func(r told) {
		list = append(list, routine{r.text(0), r.text(1), r.text(2), r.text(3), harmless(r.text(4))})
		tables = append(tables, r.text(5))
	})
	if err != nil {
		return nil, err
	}
	var seen []routine
	for i, r := range list {
		whole := !strings.HasPrefix(strings.ToLower(r.name), "resq_")
		if tables[i] != "" {
			for _, line := range strings.Split(tables[i], "\n") {
				s, name, _ := strings.Cut(line, "\x1f")
				t, err := q.find(s, name)
				if err != nil {
					return nil, err
				}
				whole = whole && t != nil
			}
		}
		if whole {
			seen = append(seen, r)
		}
	}
	return seen, nil
}

// routineSchema is the schema that an argument names: one may hold routines alone.
func (q *inquiry) routineSchema(name string) (string, []routine, error) {
	s, err := q.chosen(name)
	if err == nil {
		list, err := q.routinesIn(s)
		return s, list, err
	}
	all, failed := q.schemas(true)
	if failed != nil {
		return "", nil, failed
	}
	if at := slices.IndexFunc(all, func(s string) bool { return strings.EqualFold(s, name) }); at >= 0 {
		if list, failed := q.routinesIn(all[at]); failed != nil || len(list) > 0 {
			return all[at], list, failed
		}
	}
	return "", nil, err
}

// callable says whether SQL of clients may call a routine.
func (q *inquiry) callable(schemaName string, r routine) bool {
	return r.kind == "function" && slices.ContainsFunc(q.conn.Functions, func(f string) bool {
		return strings.EqualFold(f, r.name) || strings.EqualFold(f, schemaName+"."+r.name)
	})
}

func (q *inquiry) routineHead(schemaName string, r routine) object {
	o := newObject().text("schema", schemaName).text("routine", r.name).text("specific_name", r.specific).text("type", r.kind)
	if r.kind == "function" {
		o = o.text("returns", r.result).flag("callable", q.callable(schemaName, r))
	}
	return o.some("comment", r.comment)
}

func (q *inquiry) listRoutines(schemaName, filter, kind string) (*Answer, error) {
	s, list, err := q.routineSchema(schemaName)
	if err != nil {
		return nil, err
	}
	l, match := q.listing(), matcher(filter)
	for _, r := range list {
		if (kind == "" || r.kind == kind) && match(r.name) && !l.add(q.routineHead(s, r)) {
			break
		}
	}
	return l.answer(), nil
}

func (q *inquiry) describeRoutine(schemaName, name, specific string) (*Answer, error) {
	s, all, err := q.routineSchema(schemaName)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(slices.Clone(all), func(r routine) bool { return !strings.EqualFold(r.name, name) })
	if len(list) == 0 {
		names := make([]string, len(all))
		for i, r := range all {
			names[i] = r.name
		}
		return nil, problem.List{argument("name", "there is no routine "+problem.Quote(name)+" here", problem.OneOf(name, names))}
	}
	if specific != "" {
		one := slices.DeleteFunc(slices.Clone(list), func(r routine) bool { return r.specific != specific })
		if len(one) == 0 {
			names := make([]string, len(list))
			for i, r := range list {
				names[i] = r.specific
			}
			return nil, problem.List{argument("specific_name", "there is no such one of "+problem.Quote(name), "one of: "+strings.Join(names, ", "))}
		}
		list = one
	}
	params := map[string][]object{}
	err = q.ask(q.asks.Parameters, s, "", func(r told) {
		o := newObject().some("name", r.text(1)).text("mode", r.text(2)).text("type", strings.ToLower(r.text(3)))
		if r[4] != nil {
			o = o.text("default", *r[4])
		}
		k := r.text(5) + "\x00" + r.text(0)
		params[k] = append(params[k], o)
	})
	if err != nil {
		return nil, err
	}
	l := q.listing()
	for _, r := range list {
		if !l.add(q.routineHead(s, r).objects("parameters", params[r.kind+"\x00"+r.specific])) {
			break
		}
	}
	return l.answer(), nil
}
