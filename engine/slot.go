package engine

import (
	"slices"

	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
)

// filled gives the tool that a call means: one with slots is what they are bound to (C-041).
func (e *Engine) filled(who *policy.Principal, t *schema.Tool, raw []byte) (*schema.Tool, error) {
	if len(t.Slots) == 0 {
		return t, nil
	}
	args, err := e.arguments(t, raw) // which are the same however it is bound
	if err != nil {
		return nil, err
	}
	to := make([]string, len(t.Slots))
	for i, s := range t.Slots {
		switch s.Binding {
		case schema.ByStatic:
			to[i] = s.To[0]
		case schema.ByParameter:
			to[i] = args.of[s.Param].text
		case schema.ByContext:
			name, there := attribute(who, s.Attribute)
			if !there && s.Default != "" {
				name = s.Default
			}
			if to[i] = name; !slices.Contains(s.To, name) {
				return nil, unbound("what this tool works on for the key is not known")
			}
		}
	}
	if b, ok := t.Bound(to); ok {
		return b, nil
	}
	return nil, unbound("the tool cannot be bound so") // every way is bound when the catalog is loaded
}

// attribute is the one text of an attribute of the principal; false where it has none. One that is a list names nothing.
func attribute(who *policy.Principal, name string) (string, bool) {
	a, there := who.Attributes[name]
	if !there || len(a.Texts) == 0 {
		return "", false
	}
	if a.List || len(a.Texts) != 1 {
		return "", true
	}
	return a.Texts[0], true
}

// unbound says that nothing fills a slot for the caller. What it could be bound to is not the caller's to know.
func unbound(message string) error {
	return problem.List{{Code: problem.PermissionDenied, Stage: problem.Resources, Message: message, Hint: "the operator says it with the principal of the key"}}
}

// runsOn is the connection on which a SQL tool runs (C-041): what the call chose, what the caller has, or the usual one. A caller that has
// none where one is needed, or one that takes no SQL, may not ask: nothing else could be meant.
func runsOn(who *policy.Principal, t *schema.Tool, chosen *schema.Connection) (*schema.Connection, error) {
	switch {
	case chosen != nil:
		return chosen, nil
	case t.SQL.Context == "":
		return t.SQL.Default, nil
	}
	name, there := attribute(who, t.SQL.Context)
	if !there && t.SQL.Fallback != nil {
		return t.SQL.Fallback, nil
	}
	for _, c := range t.SQL.Among {
		if there && c.Name == name {
			return c, nil
		}
	}
	return nil, unbound("which database this key asks is not known")
}
