package engine_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/policy"
	"resq/schema/problem"
	"resq/testdb"
)

const slotCatalog = `version: 1
resources:
  - {code: Customer, table: customer, connection: north, fields: {id: integer, name: {type: string, maxLength: 20}, town: string}}
  - {code: Supplier, table: supplier, connection: south, fields: {id: integer, name: {type: string, column: label}, town: string}}
  - {code: Partner, table: partner, view: true, connection: north, fields: {id: integer, name: string, town: string}}
tools:
  - name: party.list
    description: Parties of one kind.
    shape: list
    slots:
      party: {type: table, binding: parameter, to: [Customer, Supplier], default: Customer, description: Which kind}
    source: party
    params: {name: {type: string, match: contains}}
    columns: [id, name]
  - name: party.must
    description: Parties of one kind, which the call must name.
    shape: count
    slots: {party: {type: resource, binding: parameter, to: [Customer, Supplier, Partner]}}
    source: party
  - name: party.mine
    description: Parties of the caller's kind.
    shape: list
    slots: {party: {type: table, binding: context, attribute: kind, to: [Customer, Supplier]}}
    source: party
    columns: [name]
  - name: party.usual
    description: Parties of the caller's kind, or customers.
    shape: count
    slots: {party: {type: table, binding: context, attribute: kind, to: [Customer, Supplier], default: Customer}}
    source: party
  - name: party.fixed
    description: Suppliers.
    shape: list
    slots: {party: {type: table, binding: static, to: [Supplier]}}
    source: party
    columns: [name]
  - name: party.towns
    description: Towns of the parties of one kind, and of how many parties of another.
    shape: list
    slots:
      party: {type: resource, binding: parameter, to: [Customer, Partner]}
      other: {type: resource, binding: parameter, to: [Customer, Partner], default: Partner}
    query:
      resource: party
      fields: [{code: town}, {code: 'COUNT(DISTINCT other.id)', isExpr: true, alias: n}]
      relations: [{code: other, actuallyResource: other, actuallyField: town, relationResource: party, relationField: town, type: inner}]
      groupBy: [{type: field, expr: party.town}]
    order: [town]
    columns: [town, n]
  - name: where_am_i
    title: Where
    description: The place of the caller.
    system: {context: site}
    sql: SELECT name FROM place
  - name: where_is_it
    title: Where
    description: A place.
    slots: {region: {type: connection, binding: parameter, to: [south, north], description: Which region}}
    sql: SELECT name FROM place
  - name: where_usually
    title: Where
    description: The place of the caller, or the north.
    slots: {region: {type: connection, binding: context, attribute: site, default: north}}
    sql: SELECT name FROM place
  - name: in_the_south
    title: South
    description: The place of the south.
    slots: {region: {type: connection, binding: static, to: [south]}}
    sql: SELECT name FROM place
`

// C-041: what a slot is bound to by an argument, by the caller or by the file is what the tool reads, on whichever connection that is.
// A slot that must be filled and is not is INVALID_ARGUMENT of an argument and PERMISSION_DENIED of a caller.
func TestSlots(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		rows := func(name, more string) string {
			return "CREATE TABLE place (name VARCHAR(20)); INSERT INTO place VALUES ('" + name + "');" + more
		}
		b := newBench(t, on, fstest.MapFS{"tools.yaml": {Data: []byte(slotCatalog)}}, map[string]string{
			"north": testdb.Create(t, on, rows("n", "CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR(20), town VARCHAR(20)); INSERT INTO customer VALUES (1, 'Ada', 'A'), (2, 'Bob', 'B');"+
				"CREATE VIEW partner AS SELECT id, name, town FROM customer WHERE id = 2;")),
			"south": testdb.Create(t, on, rows("s", "CREATE TABLE supplier (id INTEGER PRIMARY KEY, label VARCHAR(20), town VARCHAR(20)); INSERT INTO supplier VALUES (7, 'Steel', 'S');"))})
		ask := func(tool string, of map[string]policy.Value, args string) string {
			a, err := b.engine.CallTool(t.Context(), &policy.Principal{Name: "w", Attributes: of}, engine.Call{Tool: tool, Args: []byte(args)})
			if err != nil {
				p := problem.From(err)[0]
				return string(p.Code) + " " + p.At + " " + p.Message
			}
			return strings.ReplaceAll(string(a.Text), "\n", "")
		}
		is := func(name, value string) map[string]policy.Value {
			return map[string]policy.Value{name: policy.One(value)}
		}
		list := map[string]policy.Value{"kind": {Texts: []string{"Customer"}, List: true}, "site": {Texts: []string{"north"}, List: true}}
		for _, x := range []struct {
			tool string
			of   map[string]policy.Value
			args string
			want string
		}{
			{"party.list", nil, `{}`, `"records":[{"id":1,"name":"Ada"},{"id":2,"name":"Bob"}]`},
			{"party.list", nil, `{"party":"Supplier"}`, `"records":[{"id":7,"name":"Steel"}]`},
			{"party.list", nil, `{"party":"Supplier","name":"x"}`, `"total":0`},
			{"party.list", nil, `{"party":"Customer","name":"b"}`, `"records":[{"id":2,"name":"Bob"}]`},
			{"party.list", nil, `{"party":"Partner"}`, `INVALID_ARGUMENT /party "Partner" is none of its values`},
			{"party.list", nil, `{"party":["Customer"]}`, `INVALID_ARGUMENT /party`},
			{"party.list", nil, `{"party":null}`, `"records":[{"id":1,`},
			{"party.must", nil, `{}`, `INVALID_ARGUMENT /party missing party`},
			{"party.must", nil, `{"party":"Partner"}`, `{"count":1}`},
			{"party.mine", is("kind", "Supplier"), `{}`, `"records":[{"name":"Steel"}]`},
			{"party.mine", is("kind", "Customer"), `{}`, `"records":[{"name":"Ada"},{"name":"Bob"}]`},
			{"party.mine", is("kind", "Customer"), `{"party":"Supplier"}`, `INVALID_ARGUMENT`},
			{"party.mine", is("kind", "Partner"), `{}`, `PERMISSION_DENIED  what this tool works on for the key is not known`},
			{"party.mine", is("kind", ""), `{}`, `PERMISSION_DENIED`},
			{"party.mine", nil, `{}`, `PERMISSION_DENIED`},
			{"party.mine", list, `{}`, `PERMISSION_DENIED`},
			{"party.usual", nil, `{}`, `{"count":2}`},
			{"party.usual", is("kind", "Supplier"), `{}`, `{"count":1}`},
			{"party.usual", is("kind", "Partner"), `{}`, `PERMISSION_DENIED`},
			{"party.usual", list, `{}`, `PERMISSION_DENIED`},
			{"party.fixed", nil, `{}`, `"records":[{"name":"Steel"}]`},
			{"party.towns", nil, `{"party":"Customer"}`, `"records":[{"town":"B","n":1}]`},
			{"party.towns", nil, `{"party":"Customer","other":"Customer"}`, `"records":[{"town":"A","n":1},{"town":"B","n":1}]`},
			{"where_am_i", is("site", "north"), `{}`, `"name":"n"`},
			{"where_am_i", is("site", "south"), `{}`, `"name":"s"`},
			{"where_am_i", is("site", "west"), `{}`, `PERMISSION_DENIED  which database this key asks is not known`},
			{"where_am_i", is("site", ""), `{}`, `PERMISSION_DENIED`},
			{"where_am_i", list, `{}`, `PERMISSION_DENIED`},
			{"where_am_i", nil, `{}`, `PERMISSION_DENIED`},
			{"where_am_i", is("site", "north"), `{"system":"south"}`, `INVALID_ARGUMENT`},
			{"where_is_it", nil, `{"region":"south"}`, `"name":"s"`},
			{"where_is_it", nil, `{"region":"north"}`, `"name":"n"`},
			{"where_is_it", nil, `{"region":"west"}`, `INVALID_ARGUMENT /region there is no such database here`},
			{"where_is_it", nil, `{}`, `INVALID_ARGUMENT /region missing region`},
			{"where_usually", nil, `{}`, `"name":"n"`},
			{"where_usually", is("site", "south"), `{}`, `"name":"s"`},
			{"where_usually", is("site", "west"), `{}`, `PERMISSION_DENIED`},
			{"where_usually", list, `{}`, `PERMISSION_DENIED`},
			{"in_the_south", is("site", "north"), `{}`, `"name":"s"`},
		} {
			if got := ask(x.tool, x.of, x.args); !strings.Contains(got, x.want) {
				t.Errorf("%s %v %s\ngives %s\nwant  %s", x.tool, x.of, x.args, got, x.want)
			}
		}
		tool, _ := b.catalog.Tool("party.list")
		if got, want := string(tool.Input("en")), `"party":{"type":"string","enum":["Customer","Supplier"],"default":"Customer","description":"Which kind"}`; !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
		tool, _ = b.catalog.Tool("where_is_it")
		if got, want := string(tool.Input("en")), `{"type":"object","properties":{"region":{"type":"string","enum":["south","north"],"description":"Which region"}},"required":["region"],"additionalProperties":false}`; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}

// C-042: a slot is read on a connection and in a transaction that cannot write, whatever the statement looks like: here a view whose
// function would write. SQLite has no such functions; there the pool itself is asked to write.
func TestSlotReadsOnly(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		script := "CREATE TABLE sly (n INTEGER); INSERT INTO sly VALUES (1)"
		switch on.Name {
		case "mysql":
			script = "CREATE FUNCTION leave_mark() RETURNS INTEGER DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO mark VALUES (1); RETURN 1; END"
		case "postgres":
			script = "CREATE FUNCTION leave_mark() RETURNS INTEGER LANGUAGE sql VOLATILE AS 'INSERT INTO mark VALUES (1) RETURNING 1'"
		}
		dsn := testdb.Create(t, on, "CREATE TABLE mark (n INTEGER)")
		db := testdb.Open(t, on, dsn)
		if on.Name != "sqlite" {
			script += "\nCREATE VIEW sly AS SELECT leave_mark() AS n"
		}
		for st := range strings.SplitSeq(script, "\n") {
			if _, err := db.ExecContext(t.Context(), st); err != nil {
				t.Fatal(err)
			}
		}
		b := newBench(t, on, fstest.MapFS{"tools.yaml": {Data: []byte(`version: 1
tools:
  - name: look
    title: Look
    description: What there is.
    slots: {region: {type: connection, binding: parameter, to: [main]}}
    sql: SELECT n FROM sly
`)}}, map[string]string{"main": dsn})
		marks := func() string {
			a, err := b.engine.CallTool(t.Context(), &policy.Principal{Name: "w"}, engine.Call{Tool: "look", Args: []byte(`{"region":"main"}`)})
			if err != nil {
				return string(problem.From(err)[0].Code)
			}
			return string(a.Text)
		}
		got := marks()
		if on.Name == "sqlite" {
			if err := engine.WriteOnReadPool(t.Context(), b.engine, "INSERT INTO mark VALUES (1)"); err == nil || !strings.Contains(err.Error(), "not authorized") {
				t.Errorf("the pool for reading writes: %v", err)
			}
		} else if strings.Contains(got, "success") {
			t.Errorf("a tool that reads has written: %s", got)
		}
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM mark").Scan(&n); err != nil || n != 0 {
			t.Errorf("%d marks were left %v", n, err)
		}
	})
}
