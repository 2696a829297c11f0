package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"math"
	"slices"
	"strconv"
	"time"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/query"
)

// A digest hashes parts so that no two lists of parts give the same bytes: each has a tag and its length.
type digest struct{ hash.Hash }

func newDigest(use string) digest {
	d := digest{sha256.New()}
	d.part('u', []byte(use))
	return d
}

func (d digest) part(tag byte, b []byte) {
	var n [9]byte
	n[0] = tag
	binary.BigEndian.PutUint64(n[1:], uint64(len(b)))
	d.Write(n[:])
	d.Write(b)
}

func (d digest) text(s string) { d.part('s', []byte(s)) }

func (d digest) value(v any) {
	tag, text := packed(v)
	d.part(tag, []byte(text))
}

func (d digest) String() string { return hex.EncodeToString(d.Sum(nil)) }

// packed is a value of a database as a tag and a text, from which unpacked makes it again.
func packed(v any) (tag byte, text string) {
	switch x := v.(type) {
	case nil:
		return 'n', ""
	case int64:
		return 'i', strconv.FormatInt(x, 10)
	case uint64:
		return 'u', strconv.FormatUint(x, 10)
	case float64:
		return 'f', strconv.FormatUint(math.Float64bits(x), 16)
	case float32:
		return 'f', strconv.FormatUint(math.Float64bits(float64(x)), 16)
	case bool:
		return 'b', strconv.FormatBool(x)
	case string:
		return 's', x
	case sqlgen.JSON:
		return 'j', string(x)
	case sqlgen.Blob:
		return 'x', string(x)
	case []byte:
		return 'y', string(x)
	case time.Time:
		return 't', x.UTC().Format(time.RFC3339Nano)
	}
	return '?', ""
}

// unpacked gives the value as an argument.
func unpacked(tag byte, text string) (v any, ok bool) {
	switch tag {
	case 'n':
		return nil, true
	case 'i':
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	case 'u':
		n, err := strconv.ParseUint(text, 10, 64)
		return n, err == nil
	case 'f':
		n, err := strconv.ParseUint(text, 16, 64)
		return math.Float64frombits(n), err == nil
	case 'b':
		return text == "true", true
	case 's', 'j':
		return text, true
	case 't':
		m, err := time.Parse(time.RFC3339Nano, text)
		return m, err == nil
	case 'x':
		return []byte(text), true
	case 'y':
		return text, true
	}
	return nil, false
}

// binding is what a confirmation or an idempotency key is for (security.md 3.3): who asks for what, on which rows, with
// which values. Those that follow from who asks are part of it.
func binding(owner, key, tool string, c *plan.Change, op string) string {
	return bound("resq-bind-v2", owner, key, tool, c, op, true)
}

// bindingBefore is what earlier releases kept, under the principal's name and without what its row rule sets.
func bindingBefore(name, key, tool string, c *plan.Change, op string) string {
	return bound("resq-bind-v1", name, key, tool, c, op, false)
}

func bound(form, owner, key, tool string, c *plan.Change, op string, filled bool) string {
	d := newDigest(form)
	for _, s := range []string{owner, key, tool, c.Resource().Connection.Name, c.Resource().Code, op} {
		d.text(s)
	}
	for _, id := range c.IDs() {
		d.value(id)
	}
	if op != "" { // an undo is named by what it takes back
		return d.String()
	}
	for _, row := range c.Rows() {
		d.part('r', nil)
		sorted := slices.Clone(row)
		slices.SortFunc(sorted, func(a, b plan.Assignment) int { return cmpText(a.Column, b.Column) })
		for _, a := range sorted {
			switch {
			case a.System && !(filled && a.Caller):
			case a.Now:
				d.text(a.Column)
				d.part('t', nil)
			default:
				d.text(a.Column)
				d.value(a.Value.Value)
			}
		}
	}
	return d.String()
}

func cmpText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// A rowset is rows as they were read, with what encodes them.
type rowset struct {
	cols []column
	rows [][]any
}

// version is the state of rows (security.md 3.4): their version column where one is declared, else all columns;
// and of a delete the rows that refer to them. A time is no version by itself: two changes can have the same.
func version(r *schema.Resource, set *rowset, children []dependents) string {
	d := newDigest("resq-ver-v1")
	alone := r.Version != nil && !r.Version.Type.Kind.Temporal()
	for _, row := range set.rows {
		d.part('r', nil)
		for i, f := range r.Fields {
			if !alone || f == r.Version || r.IsKey(f) {
				d.value(row[i])
			}
		}
	}
	for _, c := range children {
		d.text(c.child.Resource.Code + "." + c.child.Field.Code)
		d.value(c.count)
		for _, k := range c.keys {
			d.part('k', nil)
			for _, v := range k {
				d.value(v)
			}
		}
	}
	return d.String()
}

// policyHash names what decides about a write beside its rows: what the catalog says of the resource and all row
// rules, and what the principal brings. When it changes, previews end (security.md 3.3).
func policyHash(who *policy.Principal, r *schema.Resource, rules string) string {
	d := newDigest("resq-cat-v1")
	for _, s := range []string{r.Code, r.Name, r.Connection.Name, r.Schema, r.Table, r.Confirm, rules, who.User} {
		d.text(s)
	}
	for _, list := range [][]string{r.Writes, r.Roles, who.Roles, who.Scopes} {
		d.part('l', nil)
		for _, s := range list {
			d.text(s)
		}
	}
	if r.Version != nil {
		d.text(r.Version.Code)
	}
	for _, a := range r.Validations {
		d.part('v', nil)
		d.text(a.Validation.Name)
		d.text(a.Mode)
	}
	if r.SoftDelete != nil {
		d.text(r.SoftDelete.Field.Code)
		d.text(r.SoftDelete.Deleted)
	}
	for _, f := range r.Fields {
		d.part('f', nil)
		for _, s := range []string{f.Code, f.Name, f.Column, f.Type.String(), f.Native, f.Default, f.Mask, f.System} {
			d.text(s)
		}
		d.text(fmt.Sprint(f.Unsigned, f.Zone, f.Array, f.Required, f.NotNull, f.Generated, f.MaxLength))
		for _, list := range [][]string{f.Values, f.Roles} {
			d.part('l', nil)
			for _, s := range list {
				d.text(s)
			}
		}
		if f.References != nil {
			d.text(f.References.Resource.Code + "." + f.References.Field.Code)
		}
	}
	for _, m := range []map[string]policy.Value{who.Attributes, who.Funcs} {
		names := make([]string, 0, len(m))
		for k := range m {
			names = append(names, k)
		}
		slices.Sort(names)
		for _, k := range names {
			d.part('a', []byte(k))
			for _, s := range m[k].Texts {
				d.text(s)
			}
		}
	}
	return d.String()
}

// rulesHash is what the catalog says about which rows are whose.
func rulesHash(cat *schema.Catalog) string {
	d := newDigest("resq-rules-v1")
	put := func(v any) {
		b, err := json.Marshal(v)
		if err != nil {
			b = []byte(err.Error())
		}
		d.part('j', b)
	}
	for _, r := range cat.Rules {
		d.text(r.Name)
		put(r.Cases)
	}
	for _, s := range cat.Sets {
		d.text(s.Name)
		for _, m := range s.Members {
			put(m.Query)
			put(m.Value)
			d.text(m.Attribute)
			d.text(m.Func)
			if m.Set != nil {
				d.text(m.Set.Name)
			}
		}
	}
	if cat.Owner != nil {
		for _, q := range cat.Owner.Queries {
			put(q.Query)
			put(q.Lists)
		}
	}
	for _, r := range cat.Resources {
		if r.Rows == nil {
			continue
		}
		d.text(r.Code)
		if r.Rows.Rule == nil {
			put(r.Rows.Cond)
			continue
		}
		d.text(r.Rows.Rule.Name)
		for _, a := range r.Rows.Rule.Args {
			d.text(a)
			if f := r.Rows.Args[a]; f != nil {
				d.text(f.Column)
			}
		}
	}
	return d.String()
}

// verbOf is what a tool does.
func verbOf(tool string) (query.Verb, bool) {
	switch tool {
	case "res-create":
		return query.Create, true
	case "res-update":
		return query.Update, true
	case "res-delete":
		return query.Delete, true
	}
	return "", false
}
