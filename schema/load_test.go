package schema

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"resq/schema/problem"
)

// loaded loads one file's text, which must be good.
func loaded(t *testing.T, text string) *Catalog {
	t.Helper()
	c, err := LoadFS(fstest.MapFS{"catalog.yaml": {Data: []byte(text)}}, LoadOptions{})
	if err != nil {
		t.Fatalf("does not load:\n%v", err)
	}
	return c
}

func resourceOf(t *testing.T, c *Catalog, code string) *Resource {
	t.Helper()
	r, ok := c.Resource(code)
	if !ok {
		t.Fatalf("no resource %s", code)
	}
	return r
}

func fieldOf(t *testing.T, r *Resource, code string) *Field {
	t.Helper()
	f, ok := r.Field(code)
	if !ok {
		t.Fatalf("no field %s on %s", code, r.Code)
	}
	return f
}

const ordersYAML = `
version: 1
connections:
  default: {driver: sqlite, dsn: "sqlite:shop.db", mode: write, timeout: 1m, pool: 3, zone: Asia/Shanghai, schemas: [main]}
rules:
  own:
    args: [owner]
    cases:
      - when: {type: and, exprs: [{field: all_rows, operator: "=", token: "true"}]}
        rows: all
      - rows: {type: and, exprs: [{field: $owner, operator: "=", tokenType: principal, token: user_id}]}
texts:
  orderStatus: {0: 新建, 1: 已付款}
resources:
  - code: Order
    name: 订单
    table: orders
    connection: default
    key: id
    writes: [create, update]
    fields:
      id:         {type: integer}
      order_no:   {type: string, maxLength: 32, required: true, name: 订单编号}
      status:     {type: integer, text: orderStatus, default: 0}
      amount:     {type: decimal(12,2)}
      user_id:    {type: integer, references: User.id}
      phone:      {type: string, mask: last4}
      created_at: {type: datetime, system: created_at}
    rows: {rule: own, args: {owner: user_id}}
  - code: User
    fields: {id: integer, name: string, price: decimal(10,4), note: text}
`

// The example of the grammar loads as it is written, with everything that it leaves to defaults.
func TestLoadExample(t *testing.T) {
	c := loaded(t, ordersYAML)
	conn := c.Connections[0]
	if conn.Driver != "sqlite" || conn.DSN != "sqlite:shop.db" || !conn.Write || conn.Timeout != time.Minute || conn.Pool != 3 ||
		conn.Zone != "Asia/Shanghai" || !slices.Equal(conn.Schemas, []string{"main"}) {
		t.Errorf("connection %+v", conn)
	}
	o := resourceOf(t, c, "Order")
	if o.Name != "订单" || o.Table != "orders" || o.Connection != conn || o.Confirm != "token" || !slices.Equal(o.Writes, []string{"create", "update"}) {
		t.Errorf("resource %+v", o)
	}
	if o.At.String() != "catalog.yaml:15:11" || fieldOf(t, o, "amount").At.String() != "catalog.yaml:25:7" || c.Rules[0].At.String() != "catalog.yaml:6:3" {
		t.Errorf("places %s, %s, %s", o.At, fieldOf(t, o, "amount").At, c.Rules[0].At)
	}
	if got := strings.Join(o.fieldCodes(), " "); got != "id order_no status amount user_id phone created_at" {
		t.Errorf("the order of fields is %s", got)
	}
	no := fieldOf(t, o, "order_no")
	if no.Column != "order_no" || no.Type.Kind != String || no.MaxLength != 32 || !no.Required || no.NotNull || no.Name != "订单编号" {
		t.Errorf("order_no %+v", no)
	}
	status := fieldOf(t, o, "status")
	if label, ok := status.Text.Label("1"); !ok || label != "已付款" || status.Default != "0" {
		t.Errorf("status %+v, label %q", status, label)
	}
	// Within braces YAML ends a value at a comma; the type is put together again.
	if got := fieldOf(t, o, "amount").Type.String(); got != "decimal(12,2)" {
		t.Errorf("amount is %s", got)
	}
	if got := fieldOf(t, resourceOf(t, c, "User"), "price").Type.String(); got != "decimal(10,4)" {
		t.Errorf("price is %s", got)
	}
	if o.Rows == nil || o.Rows.Rule != c.Rules[0] || o.Rows.Args["owner"] != fieldOf(t, o, "user_id") {
		t.Errorf("rows %+v", o.Rows)
	}
	if cases := c.Rules[0].Cases; len(cases) != 2 || !cases[0].All || cases[0].When == nil || cases[1].When != nil || cases[1].Rows == nil {
		t.Errorf("cases %+v", cases)
	}
	u := resourceOf(t, c, "User")
	if u.Table != "User" || len(u.Key) != 1 || u.Key[0] != fieldOf(t, u, "id") || !u.Key[0].NotNull || u.Rows != nil {
		t.Errorf("defaults of User: %+v", u)
	}
	if ref := fieldOf(t, o, "user_id").References; ref == nil || ref.Resource != u || ref.Field != u.Key[0] {
		t.Errorf("reference %+v", ref)
	}
}

// relationsText writes the relations of a resource: code → target on pairs, * for many.
func relationsText(r *Resource) string {
	var out []string
	for _, x := range r.Relations {
		s := x.Code + "→" + x.To.Code
		if x.Many {
			s += "*"
		}
		for _, p := range x.On {
			s += " " + p.From.Code + "=" + p.To.Code
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

// References give a relation in both directions, unless one is declared; several to one target are told apart.
func TestImpliedRelations(t *testing.T) {
	c := loaded(t, `
version: 1
connections: {default: {dsn: "sqlite:a"}}
resources:
  - code: User
    fields: {id: integer, dept_id: {type: integer, references: Dept.id}}
  - code: Dept
    fields: {id: integer, parent_id: {type: integer, references: Dept.id}}
    relations: [{code: staff, name: 员工, to: User, many: true, on: {id: dept_id}}]
  - code: Order
    fields: {id: integer, buyer_id: {type: integer, references: User.id}, seller_id: {type: integer, references: User.id}}
  - code: Invoice
    key: order_id
    fields: {order_id: {type: integer, references: Order.id}}
  - code: Line
    key: [tenant, order_id]
    fields: {tenant: integer, order_id: {type: integer, references: Order.id}, item_tenant: {type: integer, references: Item.tenant}, item: {type: integer, references: Item.code}}
    relations: [{to: Item, on: {item_tenant: tenant, item: code}}]
  - code: Item
    key: [tenant, code]
    fields: {tenant: integer, code: integer}
    relations: [{code: Line, to: Order, on: {code: id}}]
`)
	for code, want := range map[string]string{
		"User":    "Dept→Dept dept_id=id; Order_buyer_id→Order* id=buyer_id; Order_seller_id→Order* id=seller_id",
		"Dept":    "staff→User* id=dept_id; Dept→Dept parent_id=id; Dept_list→Dept* id=parent_id",
		"Order":   "User_buyer_id→User buyer_id=id; User_seller_id→User seller_id=id; Invoice→Invoice id=order_id; Line→Line* id=order_id",
		"Invoice": "Order→Order order_id=id",
		"Line":    "Item→Item item_tenant=tenant item=code; Order→Order order_id=id",
		"Item":    "Line→Order code=id; Line_item_tenant→Line* tenant=item_tenant; Line_item→Line* code=item",
	} {
		if got := relationsText(resourceOf(t, c, code)); got != want {
			t.Errorf("relations of %s\n got %s\nwant %s", code, got, want)
		}
	}
}

// Codes made from odd names can stand as names in a request.
func TestImpliedRelationNames(t *testing.T) {
	c := loaded(t, `
version: 1
connections: {default: {dsn: "sqlite:a"}}
resources:
  - code: 客户 信息
    fields: {id: integer, up: {type: integer, references: 客户 信息.id}, 2nd.up: {type: integer, references: 客户 信息.id}}
  - code: 2 x
    fields: {id: integer, a: {type: integer, references: 客户 信息.id}, b: {type: integer, references: 客户 信息.id}}
`)
	want := "客户_信息_up→客户 信息 up=id; 客户_信息_list_up→客户 信息* id=up; 客户_信息_2nd_up→客户 信息 2nd.up=id; " +
		"客户_信息_list_2nd_up→客户 信息* id=2nd.up; r_2_x_a→2 x* id=a; r_2_x_b→2 x* id=b"
	if got := relationsText(resourceOf(t, c, "客户 信息")); got != want {
		t.Errorf("relations\n got %s\nwant %s", got, want)
	}
}

// Codes made for relations stay within the length of a code and apart from each other.
func TestImpliedRelationCodes(t *testing.T) {
	taken := map[string]bool{}
	long := strings.Repeat("长", 70)
	for range 12 {
		code := freeCode(long, taken)
		if n := len([]rune(code)); n > 64 || taken[code] {
			t.Fatalf("code of %d characters, taken: %v", n, taken[code])
		}
		taken[code] = true
	}
}

// Sets keep their bound and connection, and are found by name; rules over several connections compare with them.
func TestSetsAcrossConnections(t *testing.T) {
	c, err := Load([]string{"testdata/valid/shop"}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, ok := c.Set("agents")
	if !ok || s.Bound != defaultBound || len(s.Members) != 2 || s.Members[0].Connection.Name != "m0" || !s.On(s.Members[0].Connection) {
		t.Fatalf("set %+v", s)
	}
	if site := resourceOf(t, c, "Site"); site.Connection.Name != "m1" || site.Rows.Args["property"].Code != "property_id" {
		t.Errorf("site %+v", site)
	}
}

// Names of any script and sign are kept byte for byte; names that differ in case are different.
func TestOddNames(t *testing.T) {
	c, err := Load([]string{"testdata/valid/odd-names.yaml"}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	info := resourceOf(t, c, "客户 信息")
	for _, code := range []string{"编号", "姓 名", "e-mail", "50%", "a.b", `qu"ote`, "ba`ck", "2nd", "ap'os", "😀", "br]acket", "a, b", "$arg", "{}", `\`, "?"} {
		if f := fieldOf(t, info, code); f.Column != code {
			t.Errorf("column of %q is %q", code, f.Column)
		}
	}
	if ref := fieldOf(t, info, "a").References; ref == nil || ref.Resource.Code != "a.b" || ref.Field.Code != "c.d" {
		t.Errorf("a.b.c.d is split as %+v", ref)
	}
	cases := resourceOf(t, c, "CaseTest")
	for _, code := range []string{"Name", "name", "NAME"} {
		fieldOf(t, cases, code)
	}
	if _, ok := cases.Field("nAME"); ok {
		t.Error("fields are found whatever their case")
	}
	order := resourceOf(t, c, "order")
	for _, code := range []string{"select", "null", "true", "2024", "18_49", "on"} {
		fieldOf(t, order, code)
	}
}

// An empty list of keys says that there is none, even beside a field id.
func TestNoKey(t *testing.T) {
	c := loaded(t, "version: 1\nconnections: {default: {dsn: 'sqlite:a'}}\nresources:\n  - {code: A, key: [], fields: {id: integer}}\n")
	if r := resourceOf(t, c, "A"); r.Key != nil || r.Fields[0].NotNull {
		t.Errorf("key %v", r.Key)
	}
}

// Problems come in the order of files and lines, with every step of the load among them, and no catalog with them.
func TestProblemOrder(t *testing.T) {
	fsys := fstest.MapFS{
		"b.yaml": {Data: []byte("version: 1\nresources:\n  - {code: B, key: x, fields: {id: int}, colour: 1}\n")},
		"a.yaml": {Data: []byte("version: 1\nresources:\n  - {code: A, fields: {id: integer, b: {type: integer, references: C.id}}}\n")},
	}
	c, err := LoadFS(fsys, LoadOptions{DSN: map[string]string{"default": "oracle:x"}})
	if c != nil || err == nil {
		t.Fatal("a broken catalog loaded")
	}
	var places []string
	for _, p := range problem.From(err) {
		places = append(places, p.At)
	}
	// The connection of the options stands in no file, and so comes first.
	if got := strings.Join(places, " "); got != " a.yaml:3:68 b.yaml:3:20 b.yaml:3:36 b.yaml:3:42" {
		t.Errorf("order of problems: %s\n%v", got, err)
	}
}
