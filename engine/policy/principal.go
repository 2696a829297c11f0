// Package policy decides what one principal may see and do.
package policy

// A Principal is who asks. It is passed as a parameter everywhere, so that forgetting it does not compile.
type Principal struct {
	Name       string
	Key        string // id of the key it came with
	User       string // id of the user it acts for, by which the catalog's principal query finds attributes; "" is none
	Roles      []string
	Scopes     []string         // read, write, delete; empty is read alone
	Attributes map[string]Value // for row rules
	Funcs      map[string]Value // UserID, UserUuid, UserRolesUuid, UserPlatform, UserSaaS
}

// A Value is an attribute: one text or, when List is set, several. Numbers and booleans are kept as text and
// typed by what they are compared with.
type Value struct {
	Texts []string
	List  bool
}

// One makes a single value.
func One(s string) Value { return Value{Texts: []string{s}} }
