package engine

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
)

// A sent is one call with SQL that a client wrote.
type sent struct {
	e     *Engine
	ctx   context.Context
	who   *policy.Principal
	view  *policy.View
	conn  *schema.Connection
	text  string
	given map[string]sqlgen.Given
	limit int64
	most  int64 // that limit may be
	// Of export_query.
	format, filename string
}

// queryTool answers a call of the tools with SQL of clients (D-060 to D-064, D-068).
func (e *Engine) queryTool(ctx context.Context, who *policy.Principal, t *schema.Tool, raw []byte) (*Answer, error) {
	c, err := e.sent(ctx, who, t, raw, e.opts.SQL)
	if err != nil {
		return nil, err
	}
	if t.Name == "validate_query" {
		return c.validate()
	}
	return c.execute()
}

// sent reads the arguments.
func (e *Engine) sent(ctx context.Context, who *policy.Principal, t *schema.Tool, raw []byte, most SQLLimits) (*sent, error) {
	names := make([]string, len(t.Params))
	for i, p := range t.Params {
		names[i] = p.Name
	}
	args, err := query.Values(raw, names, "params", e.opts.Limits)
	if err != nil {
		return nil, err
	}
	c := &sent{e: e, ctx: ctx, who: who, view: policy.For(e.cat, who), conn: t.Own.Default, limit: most.Default, most: most.Max, given: map[string]sqlgen.Given{}}
	var probs problem.List
	sent := false
	for _, a := range args {
		switch {
		case a.Kind == "null":
		case a.Name == "params":
			if a.Values == nil {
				probs = append(probs, argument("params", "expected a list, not "+article(a.Kind), "a value for each ?, in their order"))
			}
			c.values(a.Values, &probs)
		case a.Name == "limit" || a.Name == "maxRows":
			n, ok := query.Whole(a.Text)
			if !ok || n < 1 || a.Kind != "number" && a.Kind != "string" {
				probs = append(probs, argument(a.Name, "expected a whole number of at least 1", "at most "+strconv.FormatInt(c.most, 10)))
				continue
			}
			c.limit = min(n, c.most)
		case a.Kind != "string":
			probs = append(probs, argument(a.Name, "expected a string, not "+article(a.Kind), ""))
		case a.Name == "sql":
			c.text, sent = a.Text, true
		case a.Name == "format":
			c.form(a.Text, &probs)
		case a.Name == "filename":
			c.name(a.Text, &probs)
		case a.Name == "system":
			i := slices.IndexFunc(t.Own.Systems, func(x *schema.Connection) bool { return x.Name == a.Text })
			if i < 0 {
				probs = append(probs, argument("system", "there is no such database here", "one of: "+strings.Join(connectionNames(t.Own.Systems), ", ")))
				continue
			}
			c.conn = t.Own.Systems[i]
		}
	}
	if !sent && len(probs) == 0 {
		probs = append(probs, argument("sql", "missing sql", "one SELECT, or WITH … SELECT, that only reads"))
	}
	return c, probs.Err()
}

// values are what the ? stand for. A number is as exact as it is written.
func (c *sent) values(list []query.Arg, probs *problem.List) {
	for i, v := range list {
		name := strconv.Itoa(i + 1)
		g := sqlgen.Given{Kind: v.Kind, Value: v.Text}
		switch v.Kind {
		case "null":
			g = sqlgen.Given{None: true}
		case "number":
			if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
				g.Kind, g.Value = "integer", strconv.FormatInt(n, 10)
			}
		case "string":
			if strings.ContainsRune(v.Text, 0) {
				*probs = append(*probs, argument("params/"+strconv.Itoa(i), "the value holds a NUL character", ""))
			}
		}
		c.given[name] = g
	}
}

// Visible and the two below say what the caller sees, as schema.Sight.
func (c *sent) Visible(r *schema.Resource) bool { return c.view.Visible(r) }

func (c *sent) Readable(f *schema.Field) bool { return c.view.Readable(f) }

// Columns asks for a table's columns. A database that answers that it cannot be read has no such table, for whatever reason.
func (c *sent) Columns(u *schema.Use) ([]string, error) {
	if c.e.controls(c.conn, u) {
		return nil, nil
	}
	var names []string
	db := c.e.dbs[c.conn]
	_, err := c.e.within(c.ctx, db, func(ctx context.Context) (st *sqlgen.Statement, err error) {
		names, err = c.e.columns(ctx, c.conn, u)
		return nil, err
	})
	if err != nil && problem.From(err)[0].Code == problem.DataIntegrity && problem.From(err)[0].Stage == problem.Database {
		return nil, nil
	}
	if err != nil || len(names) == 0 {
		return nil, err
	}
	if shown, err := c.shows(c.ctx, u); shown || err != nil {
		return nil, err
	}
	return names, nil
}

// controlTables are those of the control database, in which keys and records stand.
var controlTables = strings.Fields("agent_api_key agent_scope agent_scope_tool alembic_version mcp_audit_log mcp_tool resources tool_bindings tools validation_attachments token_scope")

// controls says whether a table is one of the control database: no SQL of clients reaches it, though it may lie in the same
// database or beside it.
func (e *Engine) controls(conn *schema.Connection, u *schema.Use) bool {
	if e.opts.Control == "" || len(u.Resources) > 0 {
		return false
	}
	a, err := url.Parse(e.opts.Control)
	if err != nil {
		return true
	}
	b, err := url.Parse(conn.DSN)
	if err != nil || a.Scheme != b.Scheme || a.Host != b.Host {
		return false
	}
	if a.Path == b.Path && a.Opaque == b.Opaque {
		return slices.ContainsFunc(controlTables, func(n string) bool { return strings.HasSuffix(strings.ToLower(u.Table), n) })
	}
	return conn.Driver == "mysql" && strings.EqualFold(u.Schema, strings.TrimPrefix(a.Path, "/"))
}

// read checks the statement, and its values where they are given.
func (c *sent) read(values bool) (*schema.Statement, error) {
	st, err := c.e.cat.Sent(c.conn, c.text, c)
	if err != nil {
		return nil, err
	}
	if n := len(st.Params); values && n != len(c.given) {
		return nil, problem.List{{Code: problem.SQLParam, Stage: problem.Shape, Reason: "parameters", At: "/params",
			Message: "the statement has " + strconv.Itoa(n) + " places for values, and params has " + strconv.Itoa(len(c.given)), Hint: "a value for each ?, in their order"}}
	}
	return st, nil
}

// execute runs the statement.
func (c *sent) execute() (*Answer, error) {
	st, err := c.read(true)
	if err != nil {
		return nil, c.told(err)
	}
	a, err := c.e.runForeign(c.ctx, &foreignCall{who: c.who, st: st, given: c.given, limit: c.limit})
	if err != nil {
		return nil, c.told(err)
	}
	return a, nil
}

// told places problems in the argument, and says of a statement that failed what may help, without a word of the database's
// own (D-072).
func (c *sent) told(err error) error {
	list := problem.From(err)
	out := make(problem.List, len(list))
	for i, p := range list {
		x := *p
		if x.At == "" || x.At[0] != '/' {
			x.At = strings.TrimSuffix("/sql:"+x.At, ":")
		}
		if x.Stage == problem.Database {
			c.recovery(&x)
		}
		out[i] = &x
	}
	return out.Err()
}

// recovery says what to do about a statement that the database did not run. The class is that of SQLSTATE, by the kind of
// the fault, alike on every database.
func (c *sent) recovery(p *problem.Problem) {
	class := ""
	switch p.Code {
	case problem.DataIntegrity:
		p.Code, class = problem.SQLSyntax, "42"
		p.Message = "the database does not take the statement: a column, a function's arguments or a type does not fit"
		p.Hint = "compare it with describe_table"
		if names := c.e.cat.Tables(c.conn, c); len(names) > 0 {
			p.Hint += " of " + strings.Join(names[:min(len(names), 10)], ", ")
		}
		p.Hint += "; a ? of which the type is not known needs CAST(? AS type)"
	case problem.DataError:
		class = "22"
	case problem.Timeout, problem.Cancelled:
		class = "57"
	case problem.Unavailable:
		class = "08"
	default:
		return
	}
	p.Reason = "sqlstate-" + class
}

// validate says whether the statement would be run, and why not.
func (c *sent) validate() (*Answer, error) {
	st, err := c.read(false)
	if err == nil {
		err = c.prepare(st)
	}
	var list problem.List
	if err != nil {
		list = problem.From(c.told(err))
		if p := list[0]; p.Code == problem.Unavailable || p.Code == problem.Overloaded || p.Code == problem.Cancelled || p.Code == problem.Timeout || p.Code == problem.DataIntegrity {
			return nil, list // it could not be found out
		}
	}
	b := []byte(`{"success":true,"valid":`)
	b = strconv.AppendBool(b, len(list) == 0)
	if len(list) == 0 || list[0].Code != problem.SQLNotReadOnly && list[0].Reason != "read-only" {
		b = append(b, `,"statementType":"SELECT"`...)
	}
	missing := map[string][]string{}
	for _, p := range list {
		if key := absentKeys[p.Code]; key != "" && (p.Code == problem.SQLFunctionNotAllowed || p.Reason == "names") {
			if name := c.nameAt(p.At); name != "" && !slices.Contains(missing[key], name) {
				missing[key] = append(missing[key], name)
			}
		}
	}
	for _, key := range []string{"missingTables", "missingColumns", "missingRoutines"} {
		b = append(append(b, `,"`...), key...)
		b = append(b, `":[`...)
		for i, n := range missing[key] {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, n)
		}
		b = append(b, ']')
	}
	b = append(b, `,"violations":[`...)
	for i, p := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"check":`...), p.Reason)
		b = appendString(append(b, `,"code":`...), string(p.Code))
		b = appendString(append(b, `,"at":`...), p.At)
		b = appendString(append(b, `,"message":`...), p.Message)
		if p.Hint != "" {
			b = appendString(append(b, `,"hint":`...), p.Hint)
		}
		b = append(b, '}')
	}
	return &Answer{Text: append(b, `]}`...)}, nil
}

var absentKeys = map[problem.Code]string{problem.SQLTableNotAllowed: "missingTables", problem.UnknownField: "missingColumns", problem.SQLFunctionNotAllowed: "missingRoutines"}

// prepare has the database read the statement without running it.
func (c *sent) prepare(st *schema.Statement) error {
	given := map[string]sqlgen.Given{}
	for _, p := range st.Params {
		given[p.Name] = sqlgen.Given{None: true}
	}
	db := c.e.dbs[c.conn]
	call := &foreignCall{who: c.who, st: st, given: given, limit: 1}
	text, err := c.e.within(c.ctx, db, func(ctx context.Context) (*sqlgen.Statement, error) { return c.e.renderForeign(ctx, call, false) })
	if err != nil {
		return err
	}
	leave, err := db.queue.enter(c.ctx, c.who)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(c.ctx, db.timeout)
	defer cancel()
	stmt, err := db.PrepareContext(ctx, text.SQL)
	if err != nil {
		return problem.List{db.fault(ctx, err)}
	}
	return stmt.Close()
}

// nameAt is the name that stands at a place of the statement.
func (c *sent) nameAt(at string) string {
	line, col, _ := strings.Cut(strings.TrimPrefix(at, "/sql:"), ":")
	l, _ := strconv.Atoi(line)
	n, _ := strconv.Atoi(col)
	lines := strings.Split(c.text, "\n")
	if l < 1 || l > len(lines) || n < 1 || n > len([]rune(lines[l-1])) {
		return ""
	}
	rest := []rune(lines[l-1])[n-1:]
	end := 0
	for end < len(rest) {
		if r := rest[end]; r == '"' || r == '`' || r == '[' {
			close := map[rune]rune{'[': ']'}[r]
			if close == 0 {
				close = r
			}
			if k := slices.Index(rest[end+1:], close); k >= 0 {
				end += k + 2
				continue
			}
		}
		if strings.ContainsRune(" \t\r(),;=<>+-*/|'?:", rest[end]) {
			break
		}
		end++
	}
	return strings.NewReplacer(`"`, "", "`", "", "[", "", "]", "").Replace(string(rest[:end]))
}
