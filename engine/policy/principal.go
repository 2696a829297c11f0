// Package policy decides what one principal may see and do.
package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Principal is who asks. It is passed as a parameter everywhere, so that forgetting it does not compile.
type Principal struct {
	Name       string
	Key        string          // id of the key it came with
	Token      int64           // number of that key in the control database; 0 is a key of the configuration, or none
	User       string          // id of the user it acts for, by which the catalog's principal query finds attributes; "" is none
	Tools      map[string]bool // that its key's scopes open, by ToolKey; nil is all that its verbs allow
	Codes      []string        // of the enabled scopes of the control database that its key is bound to, sorted
	Bound      int64           // when these bindings changed last, in milliseconds since 1970; 0 is none
	Roles      []string
	Scopes     []string         // read, write, delete; empty is read alone
	Attributes map[string]Value // for row rules
	Funcs      map[string]Value // UserID, UserUuid, UserRolesUuid, UserPlatform, UserSaaS
	Budget     Budget

	known  bool // the user was looked up, where there is one to look up
	nobody bool // there is no such user
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

// maxOwner is how long an owner may be, in characters: it is a column of the operations.
const maxOwner = 190

// Owner names the caller whose sessions, cursors, exports and operations something is: the principal and the user it acts
// for. No two callers have the same, and none is the bare name of a principal, under which earlier releases kept
// operations.
func (p *Principal) Owner() string {
	s := p.Name + ownerMark + url.QueryEscape(p.User)
	if utf8.RuneCountInString(s) <= maxOwner {
		return s
	}
	sum := sha256.Sum256([]byte(strconv.Itoa(len(p.Name)) + ownerMark + p.Name + p.User))
	mark := ownerMark + "#" + hex.EncodeToString(sum[:])
	name := []rune(p.Name)
	return string(name[:min(len(name), maxOwner-len(mark))]) + mark
}

// ownerMark parts the name of an owner's principal from its user, whose escaped id has neither it nor a "#".
const ownerMark = "\x1f"

// OwnerOf gives the principal and the user of an owner, as far as it tells them: of one that is too long the beginning of the
// name alone. A text that is no owner is a name.
func OwnerOf(owner string) (name, user string) {
	i := strings.LastIndex(owner, ownerMark)
	if i < 0 {
		return owner, ""
	}
	user, err := url.QueryUnescape(owner[i+len(ownerMark):])
	if err != nil || strings.HasPrefix(owner[i+len(ownerMark):], "#") {
		user = ""
	}
	return owner[:i], user
}

// OwnedBy says whether an owner can be one of this principal, whatever the user.
func OwnedBy(owner, name string) bool {
	had, _ := OwnerOf(owner)
	return had == name || strings.Contains(owner, ownerMark+"#") && strings.HasPrefix(name, had)
}

// A Value is an attribute: one text or, when List is set, several. Numbers and booleans are kept as text and
// typed by what they are compared with.
type Value struct {
	Texts []string
	List  bool
}

// One makes a single value.
func One(s string) Value { return Value{Texts: []string{s}} }

// Calls says whether p may call a tool as far as its key's scopes go. Both spellings of a name are one.
func (p *Principal) Calls(tool string) bool { return p.Tools == nil || p.Tools[ToolKey(tool)] }

// ToolKey is the form of a tool's name by which it is compared: names with dots and hyphens are also written with
// underscores, and no two tools of a server differ in that alone.
func ToolKey(name string) string {
	if !strings.ContainsAny(name, ".-") {
		return name
	}
	return toolKey.Replace(name)
}

var toolKey = strings.NewReplacer(".", "_", "-", "_")

// Func gives a func token. That of a principal's user is the user's id, unless something else is said.
func (p *Principal) Func(name string) (Value, bool) {
	v, ok := p.Funcs[name]
	if !ok && name == "UserID" && p.User != "" && !p.nobody {
		return One(p.User), true
	}
	return v, ok
}

// Known gives the principal with what was found of its user, in place of whatever it had under these names. A name
// without a Value is one that the user lacks.
func (p *Principal) Known(attributes, funcs map[string]*Value) *Principal {
	q := *p
	q.known = true
	over := func(had map[string]Value, found map[string]*Value) map[string]Value {
		out := make(map[string]Value, len(had)+len(found))
		maps.Copy(out, had)
		for name, v := range found {
			if v == nil {
				delete(out, name)
			} else {
				out[name] = *v
			}
		}
		return out
	}
	q.Attributes, q.Funcs = over(p.Attributes, attributes), over(p.Funcs, funcs)
	return &q
}

// Playing gives the principal with more roles than it brought.
func (p *Principal) Playing(roles []string) *Principal {
	q := *p
	q.Roles = slices.Clip(slices.Clone(p.Roles))
	for _, r := range roles {
		if !slices.Contains(q.Roles, r) {
			q.Roles = append(q.Roles, r)
		}
	}
	return &q
}

// Absent says that the principal's user is not there.
func (p *Principal) Absent() bool { return p.nobody }

// Nobody gives the principal as one whose user is not there: it has no attributes, and every row rule denies.
func (p *Principal) Nobody() *Principal {
	q := *p
	q.known, q.nobody, q.Attributes, q.Funcs = true, true, nil, nil
	return &q
}

// Append writes all that p consists of, and what it is different from any other by.
func (p *Principal) Append(b []byte) []byte {
	texts := func(list []string) {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, s := range list {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
	}
	values := func(m map[string]Value) {
		b = binary.AppendUvarint(b, uint64(len(m)))
		for _, name := range slices.Sorted(maps.Keys(m)) {
			texts([]string{name})
			texts(m[name].Texts)
			b = append(b, flag(m[name].List))
		}
	}
	texts([]string{p.Name, p.Key, p.User})
	b = append(binary.AppendVarint(b, p.Token), flag(p.Tools != nil))
	b = binary.AppendUvarint(b, uint64(len(p.Tools)))
	for _, name := range slices.Sorted(maps.Keys(p.Tools)) {
		texts([]string{name})
		b = append(b, flag(p.Tools[name]))
	}
	texts(p.Codes)
	b = binary.AppendVarint(b, p.Bound)
	texts(p.Roles)
	texts(p.Scopes)
	values(p.Attributes)
	values(p.Funcs)
	for _, n := range []int{p.Budget.CallsPerMinute, p.Budget.RowsPerHour, p.Budget.Statements} {
		b = binary.AppendVarint(b, int64(n))
	}
	return append(b, flag(p.known), flag(p.nobody))
}

func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}
