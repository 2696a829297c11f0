package query

import (
	"slices"
	"strconv"
	"strings"

	"resq/schema/problem"
)

// A Verb is what a write does.
type Verb string

// The verbs.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// A Write is the arguments of res-create, res-update or res-delete as they were asked.
type Write struct {
	Verb     Verb
	Resource string
	IDs      []int64  // of update and delete: ascending, each once
	Records  []Record // of create, all with the same keys; of update, one with the changes
	Batch    bool     // create was given a list

	Confirm     bool
	Declined    bool   // __confirm__ is false, and not left out
	Token       string // __confirm_token__
	DryRun      bool
	Idempotency string
}

// A Record gives fields their values, in the caller's order.
type Record []Assignment

// An Assignment gives one field a value.
type Assignment struct {
	Field, At string
	Value     Value
}

// A Value is one JSON value as it was sent.
type Value struct {
	v value
}

// Null says whether the value is null.
func (v Value) Null() bool { return v.v.kind == 'n' }

// Scalar gives the text of a string, number or boolean.
func (v Value) Scalar() (text string, ok bool) {
	return v.v.text, v.v.kind == 's' || v.v.kind == 'd' || v.v.kind == 'b'
}

// Number says whether the value is a number.
func (v Value) Number() bool { return v.v.kind == 'd' }

// Kind names the value's kind in a message.
func (v Value) Kind() string { return kindNames[v.v.kind] }

// Items gives the elements of an array.
func (v Value) Items() ([]Value, bool) {
	if v.v.kind != 'a' {
		return nil, false
	}
	out := make([]Value, len(v.v.items))
	for i, x := range v.v.items {
		out[i] = Value{x}
	}
	return out, true
}

// JSON is the value as a document. A text that holds an object or an array is that document: clients send
// nested values so (mcp.md 2.4).
func (v Value) JSON() string {
	x := v.v
	if x.kind == 's' {
		for _, open := range []byte{'{', '['} {
			x = (&decoder{lim: &Limits{Depth: 64}}).unwrap(x, open)
		}
	}
	return string(x.append(nil))
}

// append writes a value as JSON without spaces.
func (v value) append(b []byte) []byte {
	switch v.kind {
	case 's':
		return appendText(b, v.text)
	case 'a':
		b = append(b, '[')
		for i, x := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = x.append(b)
		}
		return append(b, ']')
	case 'o':
		b = append(b, '{')
		for i, m := range v.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, m.key), ':')
			b = m.val.append(b)
		}
		return append(b, '}')
	case 'n':
		return append(b, "null"...)
	}
	return append(b, v.text...) // the text of a number or a boolean
}

// appendText writes a string as JSON.
func appendText(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// writeKeys are the keys of each verb.
var writeKeys = map[Verb][]string{
	Create: {"resource", "data", "idempotency_key"},
	Update: {"resource", "ids", "data", "__confirm__", "__confirm_token__", "dry_run"},
	Delete: {"resource", "ids", "__confirm__", "__confirm_token__", "dry_run"},
}

// maxKey is the longest idempotency key, in bytes.
const maxKey = 200

// maxToken is the longest confirm token, with what a model may have put around it.
const maxToken = 1000

// DecodeWrite reads the arguments of a write. The error is a problem.List of everything that is wrong with
// their form and size; names are not looked up.
func DecodeWrite(verb Verb, raw []byte, lim Limits) (*Write, error) {
	v, err := arguments(raw, lim)
	if err != nil {
		return nil, problem.List{err}
	}
	d := &decoder{lim: &lim}
	o := d.object(v, "", writeKeys[verb])
	w := &Write{Verb: verb}
	o.need("resource")
	w.Resource, _ = o.code("resource")
	if verb == Create {
		told := len(d.probs)
		w.Idempotency, _ = o.str("idempotency_key", maxKey)
		if o.has("idempotency_key") && w.Idempotency == "" && len(d.probs) == told {
			d.bad("/idempotency_key", "the key is empty", "a text of your own for this one creation, such as a UUID, or leave it out")
		}
	} else {
		w.IDs = d.ids(o)
		w.Confirm = o.bool("__confirm__")
		w.Declined = !w.Confirm && o.has("__confirm__")
		w.Token, _ = o.str("__confirm_token__", maxToken)
		w.DryRun = o.bool("dry_run")
		if w.DryRun && w.Confirm {
			d.bad("/dry_run", "a dry run cannot be confirmed", "send one of dry_run and __confirm__")
		}
	}
	if verb != Delete {
		d.data(o, w)
	}
	return w, d.probs.Err()
}

// Handle reads the arguments of a tool that names one operation: res-operation and, with confirmation,
// res-undo.
func Handle(raw []byte, confirm bool, lim Limits) (op string, w *Write, err error) {
	v, p := arguments(raw, lim)
	if p != nil {
		return "", nil, problem.List{p}
	}
	d := &decoder{lim: &lim}
	keys := []string{"op_id"}
	if confirm {
		keys = append(keys, "__confirm__", "__confirm_token__", "dry_run")
	}
	o := d.object(v, "", keys)
	o.need("op_id")
	op, _ = o.str("op_id", maxKey)
	op = strings.ToLower(strings.TrimSpace(op))
	w = &Write{}
	if confirm {
		w.Confirm = o.bool("__confirm__")
		w.Declined = !w.Confirm && o.has("__confirm__")
		w.Token, _ = o.str("__confirm_token__", maxToken)
		w.DryRun = o.bool("dry_run")
	}
	if o.has("op_id") && !operationID(op) && len(d.probs) == 0 {
		d.bad("/op_id", problem.Quote(op)+" is no id of an operation", "the op_id that a preview or a result told")
	}
	return op, w, d.probs.Err()
}

func operationID(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) && (s[i] < 'a' || s[i] > 'f') {
			return false
		}
	}
	return len(s) == 32
}

// ids reads the keys of rows. An empty list never means all rows.
func (d *decoder) ids(o object) []int64 {
	o.need("ids")
	if !o.has("ids") {
		return nil
	}
	told := len(d.probs)
	items := o.array("ids", d.lim.Ids, "ids")
	if len(items) == 0 && len(d.probs) == told {
		d.bad("/ids", "no ids", "at least one id, from res-query")
	}
	var out []int64
	for i, x := range items {
		n, ok := int64(0), false
		if x.kind == 'd' || x.kind == 's' && canonical(x.text) {
			n, ok = whole(x.text)
		}
		if !ok {
			d.bad("/ids/"+strconv.Itoa(i), "an id is a whole number within 64 bits", "an id from res-query")
			continue
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// data reads the values of create and update.
func (d *decoder) data(o object, w *Write) {
	o.need("data")
	v := o.v.member("data")
	if v == nil {
		return
	}
	x := *v
	if w.Verb == Create {
		x = d.unwrap(x, '[')
	}
	if w.Verb == Create && x.kind == 'a' {
		w.Batch = true
		switch n := len(x.items); {
		case n == 0:
			d.bad("/data", "no records", "one object, or a list of at least one")
			return
		case n > d.lim.Batch:
			d.limit("/data", strconv.Itoa(n)+" records", "at most "+strconv.Itoa(d.lim.Batch)+" in one call")
			return
		}
		for i, item := range x.items {
			w.Records = append(w.Records, d.record(item, "/data/"+strconv.Itoa(i)))
		}
		d.alike(w.Records)
		return
	}
	w.Records = []Record{d.record(x, "/data")}
}

func (d *decoder) record(v value, at string) Record {
	v = d.unwrap(v, '{')
	if v.kind != 'o' {
		d.bad(at, "expected an object of fields and values, not "+kindNames[v.kind], `{"field": value}`)
		return nil
	}
	if len(v.members) == 0 {
		d.bad(at, "no fields", `{"field": value}, with codes from res-schema`)
		return nil
	}
	if len(v.members) > d.lim.Fields {
		d.limit(at, strconv.Itoa(len(v.members))+" fields", "at most "+strconv.Itoa(d.lim.Fields))
		return nil
	}
	r := make(Record, len(v.members))
	for i, m := range v.members {
		r[i] = Assignment{Field: m.key, At: at + "/" + pointer(m.key), Value: Value{m.val}}
		if len(m.val.text) > d.lim.Token {
			d.limit(r[i].At, "a value of "+strconv.Itoa(len(m.val.text))+" bytes", "at most "+strconv.Itoa(d.lim.Token))
		}
	}
	return r
}

// alike refuses a batch whose records do not have the same keys.
func (d *decoder) alike(records []Record) {
	names := func(r Record) []string {
		out := make([]string, len(r))
		for i, a := range r {
			out[i] = a.Field
		}
		slices.Sort(out)
		return out
	}
	if len(records) == 0 || records[0] == nil {
		return
	}
	first := names(records[0])
	for i, r := range records[1:] {
		if r != nil && !slices.Equal(first, names(r)) {
			d.bad("/data/"+strconv.Itoa(i+1), "the record has other fields than the first", "every record of a batch has the same fields; send null where there is no value")
		}
	}
}
