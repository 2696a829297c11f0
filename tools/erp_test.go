package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/dialect/mysql"
	"resq/engine/dialect/postgres"
	"resq/engine/dialect/sqlite"
	"resq/engine/policy"
	"resq/resources"
	"resq/resources/erp"
	"resq/schema"
	"resq/testdb"
	"resq/tools"
)

// erpEngine serves the pack erp from a database of one system.
func erpEngine(t *testing.T, on testdb.Engine) *engine.Engine {
	t.Helper()
	files := fstest.MapFS{}
	pack, _ := resources.Find("erp")
	for _, from := range []fs.FS{pack.Files, tools.Files("erp")} {
		entries, err := fs.ReadDir(from, ".")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			data, err := fs.ReadFile(from, e.Name())
			if err != nil {
				t.Fatal(err)
			}
			files[e.Name()] = &fstest.MapFile{Data: data}
		}
	}
	cat, err := schema.LoadFS(files, schema.LoadOptions{DSN: map[string]string{"erp": testdb.Create(t, on, erp.Script)}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(cat, engine.Options{Drivers: []engine.Driver{sqlite.New(), mysql.New(), postgres.New()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// canon writes a value so that what is the same number on two databases is the same text: digits behind the third are
// theirs to choose.
func canon(v any) string {
	text := fmt.Sprint(v)
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return strconv.FormatFloat(math.Round(n*1000)/1000, 'f', -1, 64)
	}
	return text
}

// Every tool of the pack answers alike on all databases, and its first row and number of rows are these (D-021).
func TestERP(t *testing.T) {
	all := &policy.Principal{Name: "all", Key: "all"}
	branch := &policy.Principal{Name: "branch", Key: "b", Attributes: map[string]policy.Value{"branch": policy.One("1")}}
	asked := map[string]bool{}
	first := map[string]string{}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		e := erpEngine(t, on)
		if err := e.PrepareTools(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			who        *policy.Principal
			tool, args string
			rows       int
		}{
			{all, "search_sales_orders", `{}`, 37},
			{all, "search_sales_orders", `{"customer":"C003"}`, 3},
			{all, "search_sales_orders", `{"from_date":"2025-03-01","to_date":"2025-03-31"}`, 4},
			{all, "search_sales_orders", `{"status":"invoiced"}`, 7},
			{all, "search_sales_orders", `{"status":"error"}`, 3},
			{branch, "search_sales_orders", `{}`, 13},
			{all, "get_sales_order", `{"orderno":1003}`, 3},
			{all, "find_customers", `{"text":"pier"}`, 1},
			{branch, "find_customers", `{"text":"pier"}`, 0},
			{all, "find_items", `{"text":"pump"}`, 3},
			{all, "find_items", `{}`, 12},
			{all, "list_purchase_orders", `{}`, 5},
			{all, "list_purchase_orders", `{"open_only":false,"supplier":"vega"}`, 3},
			{all, "list_service_orders", `{}`, 14},
			{all, "list_service_orders", `{"status":"closed"}`, 4},
			{all, "get_service_order", `{"svcno":7003}`, 2},
			{all, "list_service_order_lines", `{"svcno":7003,"kind":"L"}`, 2},
			{all, "search_service_orders", `{"text":"sn-3002"}`, 1},
			{all, "search_service_orders", `{"text":"mill"}`, 2},
			{all, "list_manufacturing_orders", `{"itemno":"PUMP-100"}`, 3},
			{all, "explode_bill_of_materials", `{"itemno":"PUMP-100"}`, 10},
			{all, "explode_bill_of_materials", `{"itemno":"PUMP-100","depth":1}`, 3},
			{all, "get_business_context", `{"entity":"order"}`, 2},
			{all, "get_gl_balance", `{}`, 6},
			{all, "get_gl_balance", `{"acctno":"4000","from_date":"2025-06-01"}`, 1},
		} {
			asked[c.tool] = true
			a, err := e.CallTool(context.Background(), c.who, engine.Call{Tool: c.tool, Args: []byte(c.args)})
			if err != nil {
				t.Errorf("%s %s: %v", c.tool, c.args, err)
				continue
			}
			d := json.NewDecoder(bytes.NewReader(a.Text))
			d.UseNumber()
			var got struct{ Data []map[string]any }
			if err := d.Decode(&got); err != nil {
				t.Fatal(err)
			}
			if len(got.Data) != c.rows {
				t.Errorf("%s %s as %s: %d rows, want %d\n%.300s", c.tool, c.args, c.who.Name, len(got.Data), c.rows, a.Text)
			}
			rows := ""
			for _, r := range got.Data {
				keys := map[string]string{}
				for k, v := range r {
					keys[k] = canon(v)
				}
				rows += fmt.Sprintln(keys)
			}
			k := c.who.Name + c.tool + c.args
			if first[k] == "" {
				first[k] = rows
			} else if first[k] != rows {
				t.Errorf("%s %s: another answer than on the first database\n%s\n%s", c.tool, c.args, rows, first[k])
			}
		}
		for _, tool := range e.Catalog().Tools {
			if !asked[tool.Name] {
				t.Errorf("%s is not tried", tool.Name)
			}
		}
	})
}
