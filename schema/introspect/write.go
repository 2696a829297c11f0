package introspect

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"resq/schema"
)

// A File is one file of a catalog. Its name has forward slashes and begins at the catalog's directory.
type File struct {
	Name string
	Data []byte
}

// A Result is what there is to save and to tell.
type Result struct {
	Files  []File   // new or changed
	Drift  []Drift  // where an existing catalog and its database differ
	Notes  []string // what the reader should know; one sentence each
	Added  []string // what Update added, each with file:line
	Tables int
}

// WriteOptions say how a catalog is written.
type WriteOptions struct {
	Connection string // its name in the catalog; "" is default
	DSN        string // as it was given. A password in it is not written
	Naming     Naming
	AddColumns bool // Update adds columns to resources that lack them, instead of reporting them
}

func (o WriteOptions) connection() string {
	if o.Connection == "" {
		return "default"
	}
	return o.Connection
}

const intro = "# Read from the database, and yours to edit: resq introspect --update adds new tables and leaves the rest alone.\n"

// Write makes a catalog of a snapshot: connections.yaml, and one file for each table and view below
// resources. It fails only when there is nothing to write.
func Write(s *Snapshot, opts WriteOptions) (*Result, error) {
	if len(s.Tables) == 0 {
		return nil, fmt.Errorf("the database has no table that can be read%s", because(s.Notes))
	}
	r := &Result{Notes: slices.Clone(s.Notes), Tables: len(s.Tables)}
	r.Files = append(r.Files, File{"connections.yaml", r.connections(s, opts)})
	w := newWriter(s, newBook(s, opts.Naming), opts)
	names := map[string]bool{}
	for _, t := range s.Tables {
		r.Files = append(r.Files, File{"resources/" + fileName(w.book.codes[t], names) + ".yaml", w.file(t)})
	}
	r.noteGuesses(w)
	return r, nil
}

// noteGuesses says how many keys were written that no database declares.
func (r *Result) noteGuesses(w *writer) {
	switch w.guesses {
	case 0:
	case 1:
		r.Notes = append(r.Notes, "1 table declares no key; the key written for it is a guess from the data")
	default:
		r.Notes = append(r.Notes, fmt.Sprintf("%d tables declare no key; the keys written for them are guesses from the data", w.guesses))
	}
}

func because(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return ": " + strings.Join(notes, "; ")
}

// connections writes the file of the connection.
func (r *Result) connections(s *Snapshot, opts WriteOptions) []byte {
	dsn, variable := redact(s.Driver, opts.DSN, opts.connection())
	if variable != "" {
		r.Notes = append(r.Notes, fmt.Sprintf("the DSN's password is not written: set the environment variable %s to it, escaped as in a URL", variable))
		if strings.HasSuffix(variable, "_DSN") {
			r.Notes[len(r.Notes)-1] = fmt.Sprintf("the DSN is not written: set the environment variable %s to it", variable)
		}
	}
	var p page
	p.WriteString(intro)
	p.line(0, "version: 1")
	p.line(0, "connections:")
	p.line(2, "%s:", scalar(opts.connection()))
	p.line(4, "driver: %s", s.Driver)
	p.line(4, "dsn: %s", scalar(dsn))
	if len(s.scope.schemas) > 0 {
		p.line(4, "schemas: %s", list(s.scope.schemas))
	}
	return []byte(p.String())
}

// redact writes a DSN as a catalog does, its password replaced by an environment variable, which it names.
// Where it is not certain which part is the password, the whole DSN is replaced.
func redact(driver, dsn, connection string) (text, variable string) {
	name := strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, strings.ToUpper(connection))
	password, whole := "RESQ_"+name+"_PASSWORD", "RESQ_"+name+"_DSN"
	plain := strings.ReplaceAll(dsn, "${", "$${")
	if driver == "sqlite" && dsn != "" {
		return plain, ""
	}
	scheme, rest, ok := strings.Cut(plain, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, tail := rest[:end], rest[end:]
	// An @ behind the host may well belong to a password that was not escaped.
	if _, err := url.Parse(dsn); err != nil || !ok || strings.Contains(tail, "@") {
		return "${" + whole + "}", whole
	}
	secrets := 0
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if user, secret, ok := strings.Cut(authority[:at], ":"); ok && secret != "" {
			authority = user + ":${" + password + "}" + authority[at:]
			secrets++
		}
	}
	if head, options, ok := strings.Cut(tail, "?"); ok {
		parts := strings.Split(options, "&")
		for i, part := range parts {
			key, value, _ := strings.Cut(part, "=")
			if key = strings.ToLower(key); value != "" && (strings.Contains(key, "pass") || strings.Contains(key, "pwd") || strings.Contains(key, "secret") || strings.Contains(key, "token")) {
				parts[i] = part[:len(part)-len(value)] + "${" + password + "}"
				secrets++
			}
		}
		tail = head + "?" + strings.Join(parts, "&")
	}
	switch secrets {
	case 0:
		return plain, ""
	case 1:
		return scheme + "://" + authority + tail, password
	}
	return "${" + whole + "}", whole
}

// A writer writes resources.
type writer struct {
	s          *Snapshot
	book       *book
	connection string
	references map[*Table]map[string]string
	relations  map[*Table][]relation
	guesses    int // keys written that the database does not declare
}

func newWriter(s *Snapshot, b *book, opts WriteOptions) *writer {
	w := &writer{s: s, book: b, connection: opts.connection()}
	w.references, w.relations = b.keys(s)
	return w
}

// file writes the file of one resource.
func (w *writer) file(t *Table) []byte {
	var p page
	code := w.book.codes[t]
	name, description := titled(t.Comment)
	p.line(0, "version: 1")
	p.line(0, "resources:")
	p.line(2, "- code: %s", scalar(code))
	part := func(key, value string) {
		if value != "" {
			p.line(4, "%s: %s", key, scalar(value))
		}
	}
	part("name", name)
	part("description", description)
	part("connection", w.connection)
	if t.Schema != w.s.Schema {
		part("schema", t.Schema)
	}
	if t.Name != code {
		part("table", t.Name)
	}
	if t.View {
		p.line(4, "view: true")
	}
	if key := w.book.codesOf(t, t.key()); len(key) > 0 {
		p.line(4, "key: %s", oneOrList(key))
	} else if guess := w.book.codesOf(t, t.Distinct[:min(len(t.Distinct), 1)]); len(guess) > 0 {
		w.guesses++
		p.line(4, "key: %s # unique in the data when this was read; the database declares no key", scalar(guess[0]))
	} else if w.has(t, "id") {
		p.line(4, "key: []") // id would be taken for one, and the database does not say so
	}
	p.line(4, "fields:")
	for _, c := range t.Columns {
		p.line(6, "%s", w.field(t, c))
	}
	if len(w.relations[t]) > 0 {
		p.line(4, "relations:")
		for _, r := range w.relations[t] {
			p.line(6, "- %s", r)
		}
	}
	return []byte(p.String())
}

func (w *writer) has(t *Table, code string) bool {
	for _, c := range w.book.fields[t] {
		if c == code {
			return true
		}
	}
	return false
}

// field writes one field as an entry of a mapping.
func (w *writer) field(t *Table, c *Column) string {
	code := w.book.fields[t][c.Name]
	name, description := titled(c.Comment)
	var f flow
	f.text("type", c.Type.String())
	if c.Name != code {
		f.set("column", scalar(c.Name))
	}
	f.text("name", name)
	f.text("description", description)
	f.flag("required", c.NotNull && !c.Filled && !c.Generated && !t.View)
	if c.NotNull {
		f.set("nullable", "false")
	}
	if c.MaxLength > 0 && c.MaxLength < 1<<31 {
		f.set("maxLength", strconv.Itoa(c.MaxLength))
	}
	if c.Default != "" && len(c.Default) <= maxDefault && !strings.ContainsFunc(c.Default, hidden) {
		f.set("default", c.defaultValue())
	}
	if len(c.Values) > 0 {
		f.set("values", list(c.Values))
	}
	f.text("references", w.references[t][c.Name])
	f.flag("generated", c.Generated)
	f.flag("unsigned", c.Unsigned)
	// MySQL's TIMESTAMP is an instant; it needs to be said where the connection's zone is not UTC, in which it is read.
	f.flag("zone", c.Zone && w.s.Driver == "postgres")
	f.text("native", c.Native)
	f.flag("array", c.Array)
	return scalar(code) + ": " + f.String()
}

// defaultValue writes numbers and truth values bare and everything else as a text.
func (c *Column) defaultValue() string {
	if c.Type.Kind == schema.Bool || c.Type.Kind.Numeric() && numeral.MatchString(c.Default) {
		return c.Default
	}
	return scalar(c.Default)
}

func (r relation) String() string {
	var f, on flow
	f.set("code", scalar(r.code))
	f.set("to", scalar(r.to))
	f.flag("many", r.many)
	for i := range r.from {
		on.set(scalar(r.from[i]), scalar(r.on[i]))
	}
	f.set("on", on.String())
	return f.String()
}
