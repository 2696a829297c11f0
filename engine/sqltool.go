package engine

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"resq/engine/plan"
	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
	"resq/schema/query"
	"resq/schema/sqltext"
)

// A SQLLimits bounds the answers of SQL of others, in rows.
type SQLLimits struct {
	Default int64 // of a tool without maxRows; 1000
	Max     int64 // of any; 10000
}

func (l SQLLimits) filled() SQLLimits {
	if l.Default <= 0 {
		l.Default = 1000
	}
	if l.Max <= 0 {
		l.Max = 10_000
	}
	l.Default = min(l.Default, l.Max)
	return l
}

// foreigners keeps what was read of SQL of others: statements by connection and text, and the columns of tables that no
// resource declares.
type foreigners struct {
	mu         sync.Mutex
	statements map[statementKey]*schema.Statement
	columns    map[string][]string
	derived    map[*schema.Connection]*kinships
}

type statementKey struct {
	conn *schema.Connection
	text string
}

// maxForeign bounds what is kept of statements that clients send.
const maxForeign = 1000

// foreign reads a statement for a connection, once.
func (e *Engine) foreign(conn *schema.Connection, text string) (*schema.Statement, error) {
	k := statementKey{conn, text}
	e.others.mu.Lock()
	st := e.others.statements[k]
	e.others.mu.Unlock()
	if st != nil {
		return st, nil
	}
	st, err := e.cat.Foreign(conn, text)
	if err != nil {
		return nil, err
	}
	e.others.mu.Lock()
	defer e.others.mu.Unlock()
	if e.others.statements == nil || len(e.others.statements) > maxForeign {
		e.others.statements = map[statementKey]*schema.Statement{}
	}
	e.others.statements[k] = st
	return st, nil
}

// columns are those of a table that no resource declares and that has masks. A mask of a column that is not there stops
// every statement on the table: hiding nothing is not what was meant.
func (e *Engine) columns(ctx context.Context, conn *schema.Connection, u *schema.Use) ([]string, error) {
	key := conn.Name + "\x00" + u.Schema + "\x00" + u.Table // of which there may be two that differ in case
	e.others.mu.Lock()
	names := e.others.columns[key]
	e.others.mu.Unlock()
	if names != nil {
		return names, nil
	}
	db := e.dbs[conn]
	st := sqlgen.Outputs(db.driver, u.Schema, u.Table)
	err := db.query(ctx, st.SQL, st.Args, func(rows driver.Rows) error {
		names = slices.Clone(rows.Columns())
		return nil
	})
	if err != nil {
		return nil, err
	}
	for m := range u.Masks {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, m) }) {
			return nil, problem.List{{Code: problem.DataIntegrity, Stage: problem.Policy, Message: "a mask of this table does not fit the database",
				Err: fmt.Errorf("connection %s: table %s has no column %s, which masking names", conn.Name, u.Table, m)}}
		}
	}
	e.others.mu.Lock()
	defer e.others.mu.Unlock()
	if e.others.columns == nil || len(e.others.columns) > maxForeign {
		e.others.columns = map[string][]string{}
	}
	e.others.columns[key] = names
	return names, nil
}

// sees says whether all that a SQL tool reads by name is there for a principal.
func (e *Engine) sees(who *policy.Principal, t *schema.Tool) bool {
	if b := t.SQL.Bypass; b != nil && !slices.Contains(b.Principals, who.Name) {
		return false
	}
	st, err := e.foreign(t.SQL.Default, t.SQL.Text)
	if err != nil {
		return false
	}
	return readable(policy.For(e.cat, asTool(who)), st)
}

func readable(v *policy.View, st *schema.Statement) bool {
	for _, r := range st.Reads() {
		if !v.Visible(r) {
			return false
		}
		for _, f := range r.Fields {
			if !v.Readable(f) && slices.ContainsFunc(st.Columns, func(c *sqltext.Column) bool { return !c.Star && strings.EqualFold(c.Path[len(c.Path)-1], f.Column) }) {
				return false
			}
		}
	}
	return true
}

// sqlTool answers a call of a SQL tool.
func (e *Engine) sqlTool(ctx context.Context, who *policy.Principal, t *schema.Tool, call Call) (*Answer, error) {
	given, conn, err := e.given(t, call.Args)
	if err != nil {
		return nil, err
	}
	if conn, err = runsOn(who, t, conn); err != nil {
		return nil, err
	}
	st, err := e.foreign(conn, t.SQL.Text)
	if err != nil {
		return nil, problem.List{{Code: problem.InvalidArgument, Stage: problem.Shape, At: "/" + t.SQL.Arg, Message: "the tool cannot run on " + problem.Quote(conn.Name), Err: err}}
	}
	limit := e.opts.SQL.Default
	if t.SQL.MaxRows > 0 {
		limit = min(int64(t.SQL.MaxRows), e.opts.SQL.Max)
	}
	if b := t.SQL.Bypass; b != nil {
		traceBypass(ctx, b)
		e.opts.Log.Info("row rules bypassed", "tool", t.Name, "request", call.Request, "principal", who.Name, "key", who.Key, "owner", b.Owner, "reason", b.Reason)
	}
	return e.runForeign(ctx, &foreignCall{who: asTool(who), st: st, given: given, limit: limit, free: t.SQL.Bypass != nil})
}

// given reads the arguments of a SQL tool. One that was not given and has no default is NULL, and so is one that was
// given as null where it need not be given (D-012). The connection is the one that the call chooses; nil is none.
func (e *Engine) given(t *schema.Tool, raw []byte) (map[string]sqlgen.Given, *schema.Connection, error) {
	names := make([]string, 0, len(t.Params)+1)
	for _, p := range t.Params {
		names = append(names, p.Name)
	}
	if t.SQL.Choice != nil {
		names = append(names, t.SQL.Arg)
	}
	args, err := query.Args(raw, names, e.opts.Limits)
	if err != nil {
		return nil, nil, err
	}
	var conn *schema.Connection
	out := make(map[string]sqlgen.Given, len(t.Params))
	v := &values{of: map[*schema.Param]value{}, lang: t.Lang}
	var probs problem.List
	for _, a := range args {
		p := t.Param(a.Name)
		switch {
		case p == nil: // where it runs
			i := slices.IndexFunc(t.SQL.Choice, func(c *schema.Connection) bool { return c.Name == a.Text && a.Kind == "string" })
			if a.Kind == "null" {
				continue
			}
			if i < 0 {
				probs = append(probs, argument(t.SQL.Arg, "there is no such database here", "one of: "+strings.Join(connectionNames(t.SQL.Choice), ", ")))
				continue
			}
			conn = t.SQL.Choice[i]
		case a.Kind == "null" && p.Required:
			probs = append(probs, argument(p.Name, "expected "+article(p.Type)+", not null", p.Hint()))
		case a.Kind == "null":
			out[p.Name] = sqlgen.Given{Kind: t.SQL.Kinds[p], None: true}
		case strings.ContainsRune(a.Text, 0):
			probs = append(probs, argument(p.Name, "the value holds a NUL character", ""))
		default:
			told := len(probs)
			v.read(p, a, &probs)
			if len(probs) == told {
				text := v.of[p].text
				if p.MaxLength > 0 && len([]rune(text)) > p.MaxLength {
					probs = append(probs, argument(p.Name, problem.Quote(text)+" has more than "+strconv.Itoa(p.MaxLength)+" characters", ""))
				}
				out[p.Name] = sqlgen.Given{Kind: t.SQL.Kinds[p], Value: text}
			}
		}
	}
	for _, p := range t.Params {
		if _, ok := out[p.Name]; ok {
			continue
		}
		switch {
		case p.HasDefault:
			out[p.Name] = sqlgen.Given{Kind: t.SQL.Kinds[p], Value: p.Default}
		case !p.Required:
			out[p.Name] = sqlgen.Given{Kind: t.SQL.Kinds[p], None: true}
		case len(probs) == 0 || !slices.ContainsFunc(args, func(a query.Arg) bool { return a.Name == p.Name }):
			probs = append(probs, argument(p.Name, "missing "+p.Name, p.Type))
		}
	}
	if conn == nil && t.SQL.Must && !slices.ContainsFunc(probs, func(p *problem.Problem) bool { return p.At == "/"+t.SQL.Arg }) {
		probs = append(probs, argument(t.SQL.Arg, "missing "+t.SQL.Arg, "one of: "+strings.Join(connectionNames(t.SQL.Choice), ", ")))
	}
	if err := probs.Err(); err != nil {
		return nil, nil, err
	}
	return out, conn, nil
}

func connectionNames(list []*schema.Connection) []string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Name
	}
	return names
}

// A foreignCall is one run of SQL of others.
type foreignCall struct {
	who   *policy.Principal
	st    *schema.Statement
	given map[string]sqlgen.Given
	limit int64 // rows that are shown
	free  bool  // row rules are bypassed
	bytes int   // of the rows; 0 is the usual budget
	file  *file // takes the rows; nil is the answer itself
	// Of a validation: what it sees, and the transaction in which it runs; nil is what the principal sees, on the pool.
	view *policy.View
	in   *inside
}

// render writes the statement with the shadows of the tables that have any.
func (e *Engine) renderForeign(ctx context.Context, c *foreignCall, fence bool) (*sqlgen.Statement, error) {
	v := c.view
	if v == nil {
		v = policy.For(e.cat, c.who)
	}
	var tables []*sqltext.Table
	var covers []plan.Cover
	for _, t := range c.st.Tables {
		u := c.st.Uses[t]
		cover := plan.Cover{Use: u, Free: c.free}
		if len(u.Resources) == 0 {
			if len(u.Masks) == 0 {
				continue // nothing is said of it
			}
			names, err := e.columns(ctx, c.st.Connection, u)
			if err != nil {
				return nil, err
			}
			cover.Columns = names
		}
		tables, covers = append(tables, t), append(covers, cover)
	}
	list, err := plan.Shadows(v, covers, e.options(ctx, v, nil))
	if err != nil {
		return nil, err
	}
	traceRules(ctx, v)
	f := &sqlgen.Foreign{Statement: c.st.Statement, Shadows: map[*sqltext.Table]*plan.Shadow{}, Given: func(name string) sqlgen.Given { return c.given[name] }}
	for i, t := range tables {
		f.Shadows[t] = list[i]
	}
	f.Limit = c.limit + 1 // one more shows that there is more
	if own := c.st.Limit(); own != nil {
		f.Offset = own.Offset
		if own.Rows >= 0 {
			f.Limit = min(f.Limit, own.Rows)
		}
	}
	return f.Render(e.dbs[c.st.Connection].driver, fence)
}

// within does something within the time of a statement.
func (e *Engine) within(ctx context.Context, db *database, do func(context.Context) (*sqlgen.Statement, error)) (*sqlgen.Statement, error) {
	ctx, cancel := context.WithTimeout(ctx, db.timeout)
	defer cancel()
	st, err := do(ctx)
	if err != nil {
		return nil, problem.List{db.fault(ctx, err)}
	}
	return st, nil
}

// runForeign runs SQL of others and says what it gave as sql-tools has it: an object with the rows as objects.
func (e *Engine) runForeign(ctx context.Context, c *foreignCall) (*Answer, error) {
	rows, err := e.foreignRows(ctx, c)
	if err != nil {
		return nil, err
	}
	return e.answerForeign(c, rows), nil
}

// foreignRows runs SQL of others.
func (e *Engine) foreignRows(ctx context.Context, c *foreignCall) (*foreignRows, error) {
	db := e.dbs[c.st.Connection]
	run := func(fence bool) (*foreignRows, error) {
		// Sets that the rules of its tables need take turns of their own, so that this one must not have its turn yet.
		st, err := e.within(ctx, db, func(ctx context.Context) (*sqlgen.Statement, error) { return e.renderForeign(ctx, c, fence) })
		if err != nil {
			return nil, err
		}
		leave, err := db.queue.enter(ctx, c.who)
		if err != nil {
			return nil, err
		}
		defer leave()
		ctx, cancel := context.WithTimeout(ctx, db.timeout)
		defer cancel()
		rows, err := e.readForeign(ctx, db, c, st)
		if err != nil {
			return nil, problem.List{db.fault(ctx, err)}
		}
		return rows, nil
	}
	if c.in != nil { // which has its turn and its time, and whose rows are all seen
		st, err := e.renderForeign(ctx, c, false)
		if err != nil {
			return nil, problem.List{db.fault(ctx, err)}
		}
		rows, err := e.readForeign(ctx, db, c, st)
		if c.in.note(err) != nil {
			return nil, problem.List{db.fault(ctx, err)}
		}
		return rows, nil
	}
	rows, err := run(false)
	if err != nil && problem.From(err)[0].Code == problem.DataError {
		rows, err = run(true) // as in execute: a fault is told only when it comes from rows that are seen
	}
	return rows, err
}

// PrepareTools prepares the statement of every SQL tool on its database, without running it. The error is a problem.List
// with the places of the tools; it is for operators, and tells what the database said.
func (e *Engine) PrepareTools(ctx context.Context) error {
	var probs problem.List
	for _, t := range e.cat.Tools {
		if t.SQL == nil {
			continue
		}
		if err := e.prepareTool(ctx, t); err != nil {
			p := *problem.From(err)[0]
			p.At = t.At.String()
			if p.Err != nil {
				p.Message = "the tool " + problem.Quote(t.Name) + " on " + problem.Quote(t.SQL.Default.Name) + ": " + strings.Join(strings.Fields(p.Err.Error()), " ")
			}
			probs = append(probs, &p)
		}
	}
	return probs.Err()
}

func (e *Engine) prepareTool(ctx context.Context, t *schema.Tool) error {
	st, err := e.foreign(t.SQL.Default, t.SQL.Text)
	if err != nil {
		return err
	}
	given := map[string]sqlgen.Given{}
	for _, p := range t.Params {
		given[p.Name] = sqlgen.Given{Kind: t.SQL.Kinds[p], None: true}
	}
	db := e.dbs[t.SQL.Default]
	// Nobody has no attribute and every role, so that whatever anybody could read is looked for.
	who := asTool(&policy.Principal{Name: "nobody", Roles: e.allRoles()})
	text, err := e.renderForeign(ctx, &foreignCall{who: who, st: st, given: given, limit: 1}, false)
	if err != nil {
		return problem.List{db.fault(ctx, err)}
	}
	ctx, cancel := context.WithTimeout(ctx, db.timeout)
	defer cancel()
	stmt, err := db.PrepareContext(ctx, text.SQL)
	if err != nil {
		return problem.List{db.fault(ctx, err)}
	}
	return stmt.Close()
}

// allRoles are the roles that resources and fields ask for.
func (e *Engine) allRoles() []string {
	var out []string
	for _, r := range e.cat.Resources {
		out = append(out, r.Roles...)
		for _, f := range r.Fields {
			out = append(out, f.Roles...)
		}
	}
	return out
}
