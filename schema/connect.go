package schema

import (
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // zones must be known on hosts without a zone database too

	"resq/schema/problem"
)

const (
	maxTimeout  = time.Hour
	maxDSNBytes = 64 << 10
	dsnForms    = "sqlite:PATH, mysql://user:password@host:port/database, postgres://user:password@host:port/database or redis://host:port/number"
)

func (l *loader) declareConnections() {
	l.connections = map[string]declared[*Connection]{}
	for _, f := range l.files {
		for i := range f.decl.connections {
			d := &f.decl.connections[i]
			c := &Connection{Name: d.name.text, Driver: d.driver.text, Write: d.mode.text == "write", Control: d.operations.text == "control", Pool: d.pool.n, At: f.pos(d.name.at)}
			if !declare(l.connections, "connection", c.Name, c, f, d.name.at) {
				continue
			}
			l.cat.Connections = append(l.cat.Connections, c)
			for _, s := range d.schemas {
				c.Schemas = append(c.Schemas, s.text)
			}
			if len(c.Schemas) == 0 {
				c.Schemas = slices.Clone(l.opts.Schemas)
			}
			c.Tables, c.Functions = textsOf(d.tables), textsOf(d.functions)
			l.zone(f, d, c)
			l.timeout(f, d, c)
			l.dsn(f, d, c)
			l.connectionTools(f, d, c)
		}
	}
	// Deterministic, and after the files, so that a file's connection is found first.
	var added []string
	for name := range l.opts.DSN {
		if _, known := l.connections[name]; !known {
			added = append(added, name)
		}
	}
	slices.Sort(added)
	for _, name := range added {
		c := &Connection{Name: name, Schemas: slices.Clone(l.opts.Schemas)}
		declare(l.connections, "connection", name, c, l.general, place{})
		l.cat.Connections = append(l.cat.Connections, c)
		l.useDSN(l.general, place{}, c, l.opts.DSN[name], true)
	}
}

func (l *loader) zone(f *file, d *connDecl, c *Connection) {
	if !d.zone.given() || d.zone.text == "UTC" {
		return
	}
	if _, err := time.LoadLocation(d.zone.text); err != nil || d.zone.text == "Local" {
		f.tell(d.zone.at, "an IANA name such as Asia/Shanghai, Europe/Berlin or UTC", "%s is no time zone", problem.Quote(d.zone.text))
		return
	}
	c.Zone = d.zone.text
}

func (l *loader) timeout(f *file, d *connDecl, c *Connection) {
	if !d.timeout.given() {
		return
	}
	t, err := time.ParseDuration(d.timeout.text)
	if err != nil || t <= 0 || t > maxTimeout {
		f.tell(d.timeout.at, "a number with a unit, above 0 and up to 1h: 5s, 500ms, 1m30s", "%s is no duration for a timeout", problem.Quote(d.timeout.text))
		return
	}
	c.Timeout = t
}

// dsn finds the DSN that a declaration means, in the order: the options, the file, the text.
func (l *loader) dsn(f *file, d *connDecl, c *Connection) {
	if dsn, ok := l.opts.DSN[c.Name]; ok {
		l.useDSN(f, d.name.at, c, dsn, true)
		return
	}
	switch {
	case d.dsnFile.given() && d.dsn.given(): // told by the grammar
	case l.opts.Offline:
		if scheme, _, ok := strings.Cut(d.dsn.text, ":"); ok && !strings.Contains(scheme, "$") {
			c.Driver, _ = driverFor(f, d.dsn.at, c, scheme, false)
		}
	case d.dsnFile.given():
		if dsn, ok := readDSN(f, d.dsnFile); ok {
			l.useDSN(f, d.dsnFile.at, c, dsn, false)
		}
	case d.dsn.given():
		if dsn, ok := l.expand(f, d.dsn); ok {
			l.useDSN(f, d.dsn.at, c, dsn, false)
		}
	}
}

// readDSN reads a file that holds a DSN. What it holds never shows in a problem.
func readDSN(f *file, w word) (string, bool) {
	name := w.text
	if !filepath.IsAbs(name) {
		if f.dir == "" {
			f.tell(w.at, "give its absolute path", "a dsnFile beside an embedded catalog is not read")
			return "", false
		}
		name = filepath.Join(f.dir, name)
	}
	r, err := os.Open(name)
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(r, maxDSNBytes+1))
		r.Close()
	}
	switch {
	case err != nil:
		f.tell(w.at, "", "the dsnFile %s: %s", problem.Quote(w.text), reason(err))
		return "", false
	case len(data) > maxDSNBytes:
		f.tell(w.at, "a file that holds one line, the DSN", "the dsnFile %s is too large", problem.Quote(w.text))
		return "", false
	}
	return strings.TrimRight(string(data), "\r\n"), true
}

// useDSN sets the DSN of c after a look at its form. With override the DSN decides the driver, too.
func (l *loader) useDSN(f *file, at place, c *Connection, dsn string, override bool) {
	if dsn == "" {
		f.tell(at, dsnForms, "the DSN of the connection %s is empty", problem.Quote(c.Name))
		return
	}
	scheme, rest, _ := strings.Cut(dsn, ":")
	driver, ok := driverFor(f, at, c, scheme, override)
	if !ok {
		return
	}
	u, err := url.Parse(dsn)
	wellFormed := rest != ""
	if driver != "sqlite" {
		wellFormed = err == nil && strings.HasPrefix(rest, "//") && (u.Host != "" || u.RawQuery != "")
	}
	if !wellFormed {
		f.tell(at, "write it as "+dsnForms+"; in a password write %40 for @, %3A for :, %2F for / and %25 for %",
			"the DSN of the connection %s is not well-formed", problem.Quote(c.Name))
		return
	}
	c.Driver, c.DSN = driver, dsn
}

// driverFor reads the driver from the beginning of a DSN.
func driverFor(f *file, at place, c *Connection, scheme string, override bool) (string, bool) {
	driver, known := driverOf(scheme)
	switch {
	case !known:
		f.tell(at, dsnForms, "the DSN of the connection %s does not begin with a known driver", problem.Quote(c.Name))
	case !override && c.Driver != "" && c.Driver != driver:
		f.tell(at, "", "the connection %s is declared as %s, but its DSN is one of %s", problem.Quote(c.Name), c.Driver, driver)
	default:
		return driver, true
	}
	return c.Driver, false
}

// expand replaces ${NAME} and ${NAME:-text}. "$${" stands for "${".
func (l *loader) expand(f *file, w word) (string, bool) {
	var b strings.Builder
	ok := true
	for s := w.text; s != ""; {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			break
		}
		if i > 0 && s[i-1] == '$' {
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			f.tell(w.at, `close it with "}", or write "$${" for the two characters themselves`, `"${" without an end`)
			return "", false
		}
		name, instead, hasInstead := strings.Cut(s[i+2:i+end], ":-")
		s = s[i+end+1:]
		if !isVariable(name) {
			f.tell(w.at, "${NAME} or ${NAME:-text}", `what stands between "${" and "}" is no name of an environment variable`)
			ok = false
			continue
		}
		value, set := l.opts.Getenv(name)
		switch {
		case hasInstead && value == "":
			value = instead
		case !set:
			f.tell(w.at, "set it, or give a default: ${"+name+":-text}", "the environment variable %s is not set", name)
			ok = false
		}
		b.WriteString(value)
	}
	return b.String(), ok
}

func isVariable(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// connectionOf finds the connection of a resource; nil when there is none, which is told.
func (l *loader) connectionOf(f *file, d *resDecl) *Connection {
	if d.connection.given() {
		if c, ok := l.connections[d.connection.text]; ok {
			if c.thing.Driver == "redis" {
				f.tell(d.connection.at, "the look-ups of tools read it", "the connection %s is a Redis, which has no tables", problem.Quote(c.thing.Name))
				return nil
			}
			return c.thing
		}
		f.tell(d.connection.at, l.nearest("connection", d.connection.text, func() []string { return keysOf(l.connections) }),
			"no connection %s", problem.Quote(d.connection.text))
		return nil
	}
	if c, ok := l.connections["default"]; ok {
		return c.thing
	}
	tables := slices.DeleteFunc(slices.Clone(l.cat.Connections), func(c *Connection) bool { return c.Driver == "redis" })
	switch len(tables) {
	case 1:
		return tables[0]
	case 0:
		f.tell(d.at, "declare one under connections", "the resource %s has no connection, and none is declared", problem.Quote(d.code.text))
	default:
		// Taking the first would let a file that is added later move resources to another database.
		f.tell(d.at, "add connection, one of: "+strings.Join(keysOf(l.connections), ", "),
			"the resource %s does not say which connection it is on, and none is called default", problem.Quote(d.code.text))
	}
	return nil
}
