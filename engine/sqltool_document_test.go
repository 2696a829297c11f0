package engine_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"resq/testdb"
)

// The example of the document that SQL tools were described by loads as it is and, once its tables are those of a database, runs.
func TestDocumentExample(t *testing.T) {
	page, err := os.ReadFile("../../shared/spec/sql-tools.md")
	if err != nil {
		testdb.Skip(t, "the document of SQL tools is not there, so its example was not tried: "+err.Error())
	}
	found := regexp.MustCompile("(?s)```yaml\n(version: 1\ntools:.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("the document has no example of tools")
	}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		dsn := testdb.Create(t, on, `CREATE TABLE orderhdr (orderno INT PRIMARY KEY, custno VARCHAR(10), orderdate DATE, status VARCHAR(1));
INSERT INTO orderhdr VALUES (1, 'C1', '2024-01-02', 'O'), (2, 'C1', '2024-02-02', 'O'), (3, 'C1', '2024-01-02', 'C'), (4, 'C2', '2024-01-02', 'O');
`)
		// MYLIB is the schema of the connection: its name alone is another one on each database, and MariaDB tells apart capitals.
		file := strings.NewReplacer("MYLIB.ORDERHDR", "orderhdr", "MYLIB.ORDERS", "orders").Replace(string(found[1]))
		b := newBench(t, on, fstest.MapFS{"t.yaml": {Data: []byte(file)}}, map[string]string{"main": dsn})
		if err := b.engine.PrepareTools(t.Context()); err != nil {
			t.Errorf("%v", err)
		}
		for args, want := range map[string]string{
			`{"customer":"C1"}`:              `"rowCount":2,"limitApplied":200,"truncated":false}`,
			`{"customer":"C1","status":"C"}`: `"rowCount":1,"limitApplied":200,"truncated":false}`,
			`{"customer":"12345678901"}`:     `INVALID_ARGUMENT /customer`,
			`{"customer":"C1","status":"X"}`: `INVALID_ARGUMENT /status`,
			`{}`:                             `INVALID_ARGUMENT /customer`,
		} {
			if got := askTool(t, b, member, "search_sales_orders", args); !strings.Contains(got, want) {
				t.Errorf("%s: %s", args, got)
			} else if strings.HasPrefix(want, `"rowCount":2`) && strings.Index(got, "2024-02-02") > strings.Index(got, "2024-01-02") {
				t.Errorf("the newest is not the first: %s", got)
			}
		}
		if got := askTool(t, b, member, "get_business_context", `{"entity":"sales_order"}`); !strings.Contains(got, "O = open, C = closed") {
			t.Errorf("%s", got)
		}
	})
}
