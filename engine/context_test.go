package engine_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"resq/testdb"
)

// What tables mean is told by entity and table, near names included, and not of what the caller may not use (D-041).
func TestBusinessContext(t *testing.T) {
	on := testdb.Engines(t)[0]
	b := newBench(t, on, fstest.MapFS{"c.yaml": {Data: []byte(`version: 1
resources: [{code: Board, table: board, connection: main, key: id, roles: [boss], fields: {id: integer}}]
annotations:
  ERP.ORDERHDR:
    entity: sales_order
    description: Header
    columns: {STATUS: "O = open"}
    relations: [{table: ERP.ORDERS, join: {NO: NO}, cardinality: one-to-many, description: Lines}]
    filters: [{sql: "FLAG <> 'D'", columns: [FLAG], reason: deleted ones stay}]
  ERP.PURHDR: {entity: purchase_order}
  board: {entity: board_meeting}
`)}}, map[string]string{"main": testdb.Create(t, on, "CREATE TABLE board (id INT PRIMARY KEY);")})
	orders := `{"schema":"ERP","table":"ORDERHDR","entity":"sales_order","description":"Header","columns":{"STATUS":"O = open"},"relations":[{"table":"ERP.ORDERS","join":{"NO":"NO"},"cardinality":"one-to-many","description":"Lines"}],"filters":[{"sql":"FLAG \u003c\u003e 'D'","columns":["FLAG"],"reason":"deleted ones stay"}]}`
	purchases := `{"schema":"ERP","table":"PURHDR","entity":"purchase_order"}`
	for _, c := range []struct{ args, want string }{
		{`{}`, `{"success":true,"data":[` + orders + `,` + purchases + `],"rowCount":2}`},
		{`{"entity":"Sales Order"}`, `{"success":true,"data":[` + orders + `],"rowCount":1}`},
		{`{"table":"orderhdr"}`, `{"success":true,"data":[` + orders + `],"rowCount":1}`},
		{`{"table":"erp.purhdr"}`, `{"success":true,"data":[` + purchases + `],"rowCount":1}`},
		{`{"entity":"sales"}`, `{"success":true,"data":[` + orders + `],"rowCount":1,"partial_match":true,"hint":"no entity has exactly this name; these are near it"}`},
		{`{"entity":"order of purchase"}`, `{"success":true,"data":[` + purchases + `],"rowCount":1,"partial_match":true,"hint":"no entity has exactly this name; these are near it"}`},
		{`{"entity":"board_meeting"}`, `{"success":true,"data":[],"rowCount":0,"hint":"nothing is noted on it; ask for one of those that are available, or leave the arguments out","available_entities":["sales_order","purchase_order"]}`},
		{`{"table":"none"}`, `{"success":true,"data":[],"rowCount":0,"hint":"nothing is noted on it; ask for one of those that are available, or leave the arguments out","available_entities":["sales_order","purchase_order"],"available_tables":["ERP.ORDERHDR","ERP.PURHDR"]}`},
		{`{"entitty":"x"}`, "INVALID_ARGUMENT /entitty"},
	} {
		if got := askTool(t, b, member, "get_business_context", c.args); got != c.want && !(strings.HasPrefix(c.want, "INVALID") && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s\n got %s\nwant %s", c.args, got, c.want)
		}
	}
	if got := askTool(t, b, boss, "get_business_context", `{"table":"board"}`); !strings.Contains(got, "board_meeting") {
		t.Errorf("the boss is not told of the board: %s", got)
	}
}
