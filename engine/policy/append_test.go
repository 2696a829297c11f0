package policy

import (
	"reflect"
	"testing"
)

// Plans are kept by what Append writes (engine, Note [requests of one form]): a principal that differs in anything must
// be written otherwise, and what is written must tell where one part ends and the next begins.
func TestAppendWritesEverything(t *testing.T) {
	base := func() *Principal {
		return &Principal{Name: "n", Key: "k", Token: 1, User: "u", Tools: map[string]bool{"t": true}, Codes: []string{"c"}, Bound: 5, Roles: []string{"r"}, Scopes: []string{"s"},
			Attributes: map[string]Value{"a": One("1")}, Funcs: map[string]Value{"f": One("1")}, Budget: Budget{1, 2, 3}, known: true}
	}
	changes := map[string][]func(p *Principal){
		"Name":   {func(p *Principal) { p.Name = "" }, func(p *Principal) { p.Name, p.Key = "nk", "" }},
		"Key":    {func(p *Principal) { p.Key = "" }},
		"Token":  {func(p *Principal) { p.Token = 2 }},
		"User":   {func(p *Principal) { p.User = "" }},
		"Tools":  {func(p *Principal) { p.Tools = nil }, func(p *Principal) { p.Tools = map[string]bool{} }, func(p *Principal) { p.Tools["t"] = false }, func(p *Principal) { p.Tools["v"] = true }},
		"Codes":  {func(p *Principal) { p.Codes = nil }, func(p *Principal) { p.Codes, p.Roles = []string{"c", "r"}, nil }},
		"Bound":  {func(p *Principal) { p.Bound = 6 }},
		"Roles":  {func(p *Principal) { p.Roles = nil }, func(p *Principal) { p.Roles = []string{"r", ""} }, func(p *Principal) { p.Roles, p.Scopes = []string{"r", "s"}, nil }},
		"Scopes": {func(p *Principal) { p.Scopes = []string{"r"} }},
		"Attributes": {func(p *Principal) { p.Attributes = nil }, func(p *Principal) { p.Attributes["a"] = One("2") }, func(p *Principal) { p.Attributes["a"] = Value{Texts: []string{"1"}, List: true} },
			func(p *Principal) { p.Attributes["a"] = Value{} }, func(p *Principal) { p.Attributes["b"] = One("1") }, func(p *Principal) { p.Attributes, p.Funcs = nil, map[string]Value{"a": One("1"), "f": One("1")} }},
		"Funcs":  {func(p *Principal) { p.Funcs["f"] = One("2") }},
		"Budget": {func(p *Principal) { p.Budget.CallsPerMinute++ }, func(p *Principal) { p.Budget.RowsPerHour++ }, func(p *Principal) { p.Budget.Statements++ }},
		"known":  {func(p *Principal) { p.known = false }},
		"nobody": {func(p *Principal) { p.nobody = true }},
	}
	written := map[string]string{string(base().Append(nil)): "nothing"}
	for i := range reflect.TypeFor[Principal]().NumField() {
		name := reflect.TypeFor[Principal]().Field(i).Name
		if len(changes[name]) == 0 {
			t.Errorf("nothing here tells whether Append writes the field %s", name)
		}
		for _, change := range changes[name] {
			p := base()
			change(p)
			s := string(p.Append(nil))
			if other, twice := written[s]; twice {
				t.Errorf("a change of %s is written as one of %s", name, other)
			}
			written[s] = name
		}
	}
	for _, known := range []struct {
		of     reflect.Type
		fields int
	}{{reflect.TypeFor[Value](), 2}, {reflect.TypeFor[Budget](), 3}} {
		if known.of.NumField() != known.fields {
			t.Errorf("%s has other fields than Append writes", known.of)
		}
	}
}
