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
	Budget     Budget
}

// A Budget bounds what one key spends. A member that is 0 is the server's own bound, one below zero is none.
type Budget struct {
	CallsPerMinute int
	RowsPerHour    int // of all answers together
	Statements     int // that run at once on one connection
}

// Account names what the calls of a principal are counted under: its key, or its name where it came without one and has
// a budget of its own. Anything else, "", is not counted.
func (p *Principal) Account() string {
	switch {
	case p.Key != "":
		return p.Key
	case p.Budget != Budget{}:
		return "principal " + p.Name
	}
	return ""
}

// A Value is an attribute: one text or, when List is set, several. Numbers and booleans are kept as text and
// typed by what they are compared with.
type Value struct {
	Texts []string
	List  bool
}

// One makes a single value.
func One(s string) Value { return Value{Texts: []string{s}} }
