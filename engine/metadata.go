package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"strconv"
	"strings"

	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"
)

// Note [what metadata tells]
//
// The tools of the group metadata tell what a database says of its own tables. Nothing of it reaches a caller but through
// an inquiry, which keeps to what SQL of the caller's would find: tables by schema.Seen, columns by what their resources
// declare and the caller reads. What names anything else, such as an index, a foreign key or a check on a column that is
// not there, is not there either, as a whole: half of it would tell of the other half. So an answer does not change with
// what is hidden. What is kept of rows is told of tables alone of which the caller sees every row.

// An inquiry is one call of a tool of the group metadata.
type inquiry struct {
	*sent
	v      *values
	db     *database
	asks   sqlgen.Structure
	apart  *sql.DB         // nil is the pool
	own    map[string]bool // schema → whether it is the database's own; nil was not asked for
	tables map[string][]*aTable
	keys   map[string][]*foreignKey
}

// metadataTool answers a call of the tools of the group metadata.
func (e *Engine) metadataTool(ctx context.Context, who *policy.Principal, t *schema.Tool, raw []byte) (*Answer, error) {
	v, err := e.arguments(t, raw)
	if err != nil {
		return nil, err
	}
	c := &sent{e: e, ctx: ctx, who: who, view: policy.For(e.cat, who), conn: t.Own.Default, limit: e.opts.SQL.Default}
	text := func(name string) string { return v.of[t.Param(name)].text }
	if p := t.Param("system"); p != nil {
		c.conn = t.Own.System(text("system"))
	}
	if n, err := strconv.ParseInt(text("limit"), 10, 64); err == nil {
		c.limit = min(n, e.opts.SQL.Max)
	}
	q := &inquiry{sent: c, v: v, db: e.dbs[c.conn], tables: map[string][]*aTable{}, keys: map[string][]*foreignKey{}}
	q.asks = q.db.driver.Structure()
	if q.asks.Apart {
		if q.apart, err = q.db.driver.Inspect(c.conn); err != nil {
			return nil, problem.List{q.db.fault(ctx, err)}
		}
		defer q.apart.Close()
	}
	// Every tool of the group has its case here.
	switch t.Name {
	case "list_schemas":
		return q.turn(func() (*Answer, error) { return q.listSchemas(text("filter"), text("include_system") == "true") })
	case "list_tables", "list_views":
		return q.turn(func() (*Answer, error) { return q.listTables(text("schema"), text("filter"), t.Name == "list_views") })
	case "search_tables":
		return q.turn(func() (*Answer, error) {
			return q.searchTables(text("schema"), text("filter"), text("include_system") == "true")
		})
	case "search_columns":
		return q.turn(func() (*Answer, error) {
			return q.searchColumns(text("schema"), text("filter"), text("include_system") == "true")
		})
	case "describe_table":
		return q.turn(func() (*Answer, error) { return q.describe(text("schema"), text("table")) })
	case "list_indexes":
		return q.turn(func() (*Answer, error) { return q.listIndexes(text("schema"), text("table")) })
	case "get_table_constraints":
		return q.turn(func() (*Answer, error) { return q.listConstraints(text("schema"), text("table")) })
	case "get_related_objects":
		return q.turn(func() (*Answer, error) { return q.listRelated(text("schema"), text("table")) })
	case "get_object_ddl":
		return q.turn(func() (*Answer, error) { return q.ddl(text("schema"), text("object"), text("type")) })
	case "list_routines":
		return q.turn(func() (*Answer, error) { return q.listRoutines(text("schema"), text("filter"), text("type")) })
	case "describe_routine":
		return q.turn(func() (*Answer, error) { return q.describeRoutine(text("schema"), text("name"), text("specific_name")) })
	case "profile_table":
		return q.profile(text("schema"), text("table"), text("compute") == "true", v.of[t.Param("columns")].list)
	}
	return nil, problem.List{{Code: problem.DataIntegrity, Stage: problem.Raw, Message: "the tool cannot be run"}}
}

// turn asks the database, in a turn at its connections and within the time of one statement.
func (q *inquiry) turn(do func() (*Answer, error)) (*Answer, error) {
	outer := q.ctx
	leave, err := q.db.queue.enter(outer, q.who)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(outer, q.db.timeout)
	defer cancel()
	q.ctx = ctx
	defer func() { q.ctx = outer }()
	a, err := do()
	if err != nil {
		if l, ok := err.(problem.List); ok {
			return nil, l
		}
		return nil, problem.List{q.db.fault(ctx, err)}
	}
	return a, nil
}

// A told row is what a database answers a question, as texts; a NULL is no text.
type told []*string

func (r told) text(i int) string {
	if r[i] == nil {
		return ""
	}
	return *r[i]
}

func (r told) yes(i int) bool { return r.text(i) == "1" }

// ask puts a question; use is given every row.
func (q *inquiry) ask(what sqlgen.Question, schema, table string, use func(told)) error {
	args := make([]any, len(what.Args))
	for i := range what.Args {
		if args[i] = schema; what.Args[i] == 't' {
			args[i] = table
		}
	}
	read := func(rows driver.Rows) error {
		vals, row := make([]driver.Value, len(rows.Columns())), make(told, len(rows.Columns()))
		return each(q.ctx, rows, vals, func() (bool, error) {
			for i, v := range vals {
				row[i] = plainText(v)
			}
			use(row)
			return true, nil
		})
	}
	if q.apart == nil {
		return q.db.query(q.ctx, string(what.Text), args, read)
	}
	c, err := q.apart.Conn(q.ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return queryOn(q.ctx, c, string(what.Text), args, read)
}

// plainText is a value of an answer as text; nil is NULL.
func plainText(v driver.Value) *string {
	var s string
	switch x := v.(type) {
	case nil:
		return nil
	case string:
		s = x
	case []byte:
		s = string(x)
	case *sqlgen.Loan:
		s = string(*x)
	case *int64:
		s = strconv.FormatInt(*x, 10)
	case bool:
		if s = "0"; x {
			s = "1"
		}
	default:
		c := &column{}
		s, _ = c.plain(v)
	}
	return &s
}

// askIfKept asks what a database may not keep: one that has nothing of the kind, or does not show it to this account, tells
// nothing.
func (q *inquiry) askIfKept(what sqlgen.Question, schema, table string, use func(told)) error {
	if what.Text == "" {
		return nil
	}
	err := q.ask(what, schema, table, use)
	if err != nil && q.ctx.Err() == nil && q.db.driver.Classify(err) == problem.DataIntegrity {
		return nil
	}
	return err
}

// An aTable is a table or view that the caller sees.
type aTable struct {
	schema, name string
	view         bool
	comment      string
	use          *schema.Use
	note         *schema.Annotation
}

func (t *aTable) kind() string {
	if t.view {
		return "view"
	}
	return "table"
}

// in gives the tables and views of a schema that the caller sees.
func (q *inquiry) in(schemaName string) ([]*aTable, error) {
	if list, ok := q.tables[schemaName]; ok {
		return list, nil
	}
	var list []*aTable
	err := q.ask(q.asks.Tables, schemaName, "", func(r told) {
		u := q.e.cat.Seen(q.conn, schemaName, r.text(0), q)
		if u == nil || q.e.controls(q.conn, u) {
			return
		}
		t := &aTable{schema: schemaName, name: r.text(0), view: r.yes(1), comment: harmless(r.text(2)), use: u, note: q.e.cat.Note(q.conn, schemaName, r.text(0))}
		list = append(list, t)
	})
	if err != nil {
		return nil, err
	}
	// Names that only capitals tell apart are one to SQL of clients: that of the catalog, or the first.
	all := slices.Clone(list)
	list = slices.DeleteFunc(list, func(t *aTable) bool {
		return slices.ContainsFunc(all, func(o *aTable) bool {
			return o != t && strings.EqualFold(o.name, t.name) && (len(t.use.Resources) > 0 && o.name == t.use.Table || t.name != t.use.Table && o.name < t.name)
		})
	})
	slices.SortFunc(list, func(a, b *aTable) int { return strings.Compare(a.name, b.name) })
	q.tables[schemaName] = list
	return list, nil
}

// harmless is a comment of the database's, unless it speaks to the model or hides something: whoever may comment a column
// need not be who runs this program.
func harmless(comment string) string {
	if comment = strings.TrimSpace(comment); schema.Suspicious(comment) != "" {
		return ""
	}
	return comment
}

// schemas are those that the connection allows, in the order of their names.
func (q *inquiry) schemas(system bool) ([]string, error) {
	if q.own == nil {
		q.own = map[string]bool{}
		if err := q.ask(q.asks.Schemas, "", "", func(r told) { q.own[r.text(0)] = r.yes(1) }); err != nil {
			return nil, err
		}
	}
	var list []string
	for s, own := range q.own {
		listed := slices.ContainsFunc(q.conn.Schemas, func(a string) bool { return strings.EqualFold(a, s) })
		if (len(q.conn.Schemas) == 0 || listed) && (!own || system && listed) {
			list = append(list, s)
		}
	}
	slices.Sort(list)
	return list, nil
}

// chosen is the schema that an argument names, and else the connection's own. One that is not there and one in which the
// caller sees nothing are told alike.
func (q *inquiry) chosen(name string) (string, error) {
	if name == "" {
		if home := q.conn.Home(); home != "" {
			return home, nil
		}
		return "", problem.List{argument("schema", "the connection has no schema of its own", "list_schemas has those that there are")}
	}
	all, err := q.schemas(true)
	if err != nil {
		return "", err
	}
	at := slices.Index(all, name)
	if at < 0 {
		at = slices.IndexFunc(all, func(s string) bool { return strings.EqualFold(s, name) })
	}
	if at >= 0 {
		if list, err := q.in(all[at]); err != nil || len(list) > 0 || strings.EqualFold(all[at], q.conn.Home()) {
			return all[at], err
		}
	}
	return "", problem.List{argument("schema", "there is no schema "+problem.Quote(name)+" here", "list_schemas has those that there are")}
}

// table finds the table that the arguments name.
func (q *inquiry) table(schemaName, name, arg string) (*aTable, error) {
	s, err := q.chosen(schemaName)
	if err != nil {
		return nil, err
	}
	list, err := q.in(s)
	if err != nil {
		return nil, err
	}
	if t := tableNamed(list, name); t != nil {
		return t, nil
	}
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.name
	}
	return nil, problem.List{{Code: problem.SQLTableNotAllowed, Stage: problem.Resources, Reason: "names", At: "/" + arg,
		Message: "there is no table " + problem.Quote(name) + " here", Hint: problem.OneOf(name, names)}}
}

// tableNamed finds a table by its name, in any case.
func tableNamed(list []*aTable, name string) *aTable {
	for _, t := range list {
		if t.name == name {
			return t
		}
	}
	for _, t := range list {
		if strings.EqualFold(t.name, name) {
			return t
		}
	}
	return nil
}

// find gives a table in another schema, if the caller sees it; nil is none.
func (q *inquiry) find(schemaName, name string) (*aTable, error) {
	all, err := q.schemas(true)
	if err != nil {
		return nil, err
	}
	at := slices.Index(all, schemaName)
	if at < 0 {
		at = slices.IndexFunc(all, func(s string) bool { return strings.EqualFold(s, schemaName) })
	}
	if at < 0 {
		return nil, nil
	}
	list, err := q.in(all[at])
	if err != nil {
		return nil, err
	}
	return tableNamed(list, name), nil
}
