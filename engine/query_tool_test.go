package engine_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"resq/testdb"
)

const queryToolCatalog = `version: 1
texts:
  saleState: {0: open, 1: done}
resources:
  - code: Sale
    table: sale
    key: id
    connection: main
    softDelete: {field: gone, deleted: 1}
    rows: {type: and, exprs: [{field: team_id, operator: "=", tokenType: principal, token: team}]}
    fields: {id: integer, team_id: integer, shop_id: integer, state: {type: integer, text: saleState}, amount: "decimal(10,2)", made_at: datetime, memo: string, gone: integer}
  - {code: Shop, table: shop, key: id, connection: main, fields: {id: integer, name: string, city: string}}
  - {code: Owner, table: owner, key: shop_id, connection: other, roles: [tool], fields: {shop_id: integer, name: string}}
tools:
  - name: sale.by_month
    description: Sales of each month.
    shape: list
    query:
      resource: Sale
      fields:
        - {code: "DATE_FORMAT(made_at, '%Y-%m')", isExpr: true, alias: month}
        - {code: COUNT(*), isExpr: true, alias: sales}
        - {code: SUM(amount), isExpr: true, alias: amount}
      groupBy: [{type: sql, expr: "DATE_FORMAT(made_at, '%Y-%m')"}]
    where:
      - {where: {Sale.state: 1}, when: {param: doneOnly}}
    params:
      from: {type: date, field: Sale.made_at, match: from}
      to: {type: date, field: Sale.made_at, match: to, wholeDay: true}
      memo: {type: string, field: Sale.memo, match: contains}
      least: {type: number, field: amount, match: from}
      doneOnly: {type: boolean, default: false}
    order: [month desc]
    paging: {default: 2, max: 10}
    columns: ["*"]
  - name: sale.top
    description: The best shops of one state.
    shape: list
    naming: camel
    query:
      resource: Sale
      relations:
        - {code: Shop, type: inner, actuallyResource: Shop, actuallyField: id, relationResource: Sale, relationField: shop_id}
      fields:
        - {code: shop_id}
        - {code: name, codeResource: Shop, alias: shop_name}
        - {code: state}
        - {code: SUM(amount), isExpr: true, alias: total_amount}
      conditions:
        type: and
        exprs:
          - {field: state, operator: "=", tokenType: param, token: state}
          - {field: made_at, operator: ">=", tokenType: expr, token: "CAST('2024-01-01' AS DATE)"}
        children:
          - {type: or, exprs: [{field: city, fieldResource: Shop, operator: LIKE, tokenType: param, token: word}, {field: name, fieldResource: Shop, operator: LIKE, tokenType: param, token: word}]}
      groupBy: [Sale.shop_id, Shop.name, Sale.state]
      having: {type: and, exprs: [{field: total_amount, operator: ">=", tokenType: param, token: least}]}
    params:
      state: {type: enum, text: saleState}
      word: {type: string, maxLength: 20}
      least: {type: number}
      shops: {type: integer, field: shop_id, match: in}
    order: [total_amount desc]
    columns:
      - "*"
      - stateText: {text: state}
      - owner: {lookup: Owner, by: shop_id, take: name, default: nobody}
  - name: sale.count
    description: How many months had sales.
    shape: count
    query:
      resource: Sale
      distinct: true
      fields: [{code: "DATE_FORMAT(made_at, '%Y-%m')", isExpr: true, alias: month}]
  - name: shop.get
    description: What one shop sold.
    shape: record
    query:
      resource: Sale
      fields: [{code: shop_id}, {code: COUNT(*), isExpr: true, alias: sales}]
      groupBy: [Sale.shop_id]
    params: {shop_id: {type: integer, required: true}}
    notFound: {style: notice, text: it sold nothing}
    children:
      sales: {source: Sale, on: {shop_id: shop_id}, order: [id], columns: [id, amount]}
    columns: ["*"]
    outputs: [{sales: {children: sales}}]
`

const queryToolRows = `CREATE TABLE sale (id INT PRIMARY KEY, team_id INT, shop_id INT, state INT, amount DECIMAL(10,2), made_at DATETIMETYPE, memo VARCHAR(20), gone INT);
CREATE TABLE shop (id INT PRIMARY KEY, name VARCHAR(20), city VARCHAR(20));
INSERT INTO shop VALUES (1, 'North 100%', 'Oslo'), (2, 'South', 'Rome'), (3, 'East', 'Riga');
INSERT INTO sale VALUES
 (1, 1, 1, 1, 10.50, '2024-01-31 23:59:59', 'a%b', 0), (2, 1, 1, 0, 20, '2024-02-01 00:00:00', NULL, 0),
 (3, 1, 2, 1, 5, '2024-02-10 08:00:00', 'ab', 0), (4, 1, 3, 1, 7, '2024-03-05 08:00:00', NULL, 0),
 (5, 2, 1, 1, 1000, '2024-02-05 08:00:00', NULL, 0), (6, 1, 1, 1, 500, '2024-02-05 08:00:00', NULL, 1);
`

// A preset may read a query instead of a resource (V-02): its rows are under the rules and the soft deletion of what it
// reads, its outputs are fields like others, and arguments narrow either what it reads or what it gives.
func TestToolQuery(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		moment := map[string]string{"sqlite": "DATETIME", "mysql": "DATETIME", "postgres": "TIMESTAMP"}[on.Name]
		b := newBench(t, on, fstest.MapFS{"c.yaml": {Data: []byte(queryToolCatalog)}}, map[string]string{
			"main":  testdb.Create(t, on, strings.ReplaceAll(queryToolRows, "DATETIMETYPE", moment)),
			"other": testdb.Create(t, on, "CREATE TABLE owner (shop_id INT PRIMARY KEY, name VARCHAR(20)); INSERT INTO owner VALUES (1, 'Ada');"),
		})
		for _, c := range []struct{ tool, args, want string }{
			{"sale.by_month", `{}`, `{"total":3,"page":1,"rows":2,"records":[{"month":"2024-03","sales":1,"amount":7.00},{"month":"2024-02","sales":2,"amount":25.00}]}`},
			{"sale.by_month", `{"page":2}`, `{"total":3,"page":2,"rows":2,"records":[{"month":"2024-01","sales":1,"amount":10.50}]}`},
			{"sale.by_month", `{"from":"2024-02-01","to":"2024-02-10"}`, `{"total":1,"page":1,"rows":2,"records":[{"month":"2024-02","sales":2,"amount":25.00}]}`},
			{"sale.by_month", `{"to":"2024-01-31"}`, `{"total":1,"page":1,"rows":2,"records":[{"month":"2024-01","sales":1,"amount":10.50}]}`},
			{"sale.by_month", `{"doneOnly":true,"from":"2024-02-01"}`, `{"total":2,"page":1,"rows":2,"records":[{"month":"2024-03","sales":1,"amount":7.00},{"month":"2024-02","sales":1,"amount":5.00}]}`},
			{"sale.by_month", `{"least":10}`, `{"total":2,"page":1,"rows":2,"records":[{"month":"2024-02","sales":2,"amount":25.00},{"month":"2024-01","sales":1,"amount":10.50}]}`},
			{"sale.by_month", `{"memo":"a%"}`, `{"total":1,"page":1,"rows":2,"records":[{"month":"2024-01","sales":1,"amount":10.50}]}`},
			{"sale.by_month", `{"from":"someday"}`, `INVALID_ARGUMENT /from: "someday" is no date written as YYYY-MM-DD · such as 2026-01-31`},
			{"sale.top", `{}`, `{"total":4,"page":1,"rows":20,"records":[` +
				`{"shopId":1,"shopName":"North 100%","state":0,"totalAmount":20.00,"stateText":"open","owner":"Ada"},{"shopId":1,"shopName":"North 100%","state":1,"totalAmount":10.50,"stateText":"done","owner":"Ada"},` +
				`{"shopId":3,"shopName":"East","state":1,"totalAmount":7.00,"stateText":"done","owner":"nobody"},{"shopId":2,"shopName":"South","state":1,"totalAmount":5.00,"stateText":"done","owner":"nobody"}]}`},
			{"sale.top", `{"state":1,"shops":[2,3],"rows":1}`, `{"total":2,"page":1,"rows":1,"records":[{"shopId":3,"shopName":"East","state":1,"totalAmount":7.00,"stateText":"done","owner":"nobody"}]}`},
			{"sale.top", `{"word":"100%"}`, `{"total":2,"page":1,"rows":20,"records":[{"shopId":1,"shopName":"North 100%","state":0,"totalAmount":20.00,"stateText":"open","owner":"Ada"},{"shopId":1,"shopName":"North 100%","state":1,"totalAmount":10.50,"stateText":"done","owner":"Ada"}]}`},
			{"sale.top", `{"word":"r_m"}`, `{"total":0,"page":1,"rows":20,"records":[]}`},
			{"sale.top", `{"word":"rom"}`, `{"total":1,"page":1,"rows":20,"records":[{"shopId":2,"shopName":"South","state":1,"totalAmount":5.00,"stateText":"done","owner":"nobody"}]}`},
			{"sale.top", `{"least":10.5,"state":"1"}`, `{"total":1,"page":1,"rows":20,"records":[{"shopId":1,"shopName":"North 100%","state":1,"totalAmount":10.50,"stateText":"done","owner":"Ada"}]}`},
			{"sale.count", `{}`, `{"count":3}`},
			{"shop.get", `{"shop_id":1}`, `{"record":{"shop_id":1,"sales":2},"sales":[{"id":1,"amount":10.50},{"id":2,"amount":20.00}]}`},
			{"shop.get", `{"shop_id":9}`, `{"record":null,"sales":[],"notice":"it sold nothing"}`},
		} {
			if got := askTool(t, b, member, c.tool, c.args); got != c.want {
				t.Errorf("%s %s\n got %s\nwant %s", c.tool, c.args, got, c.want)
			}
		}
		for _, x := range b.engine.Tools("en") {
			if out := string(x.Output); x.Name == "sale.by_month" && !strings.Contains(out, `"sales":{}`) || x.Name == "shop.get" && !strings.Contains(out, `"shop_id":{"type":["number","string","null"]},"sales":{}`) {
				t.Errorf("what %s answers is described as %s", x.Name, out)
			}
		}
		// One statement and, for a full page, one that counts; another for the look-up, whatever the rows.
		for args, want := range map[string]int{`{}`: 2, `{"rows":1}`: 3} {
			b.recorder.Reset()
			askTool(t, b, member, "sale.top", args)
			if got := b.recorder.Texts(); len(got) != want {
				t.Errorf("%s: %d statements, want %d: %v", args, len(got), want, got)
			}
		}
		// Whoever sees no sale sees none through a query.
		if got := askTool(t, b, boss, "sale.by_month", `{}`); !strings.HasPrefix(got, `{"total":0,`) {
			t.Errorf("a query shows rows that a rule hides: %s", got)
		}
	})
}
