package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"resq/engine"
	"resq/engine/dialect/sqlite"
	"resq/resources"
	"resq/schema"
)

// shopFiles are the demonstration's databases by connection, made once for all tests of this package in shopDir.
var shopDir string

var shopFiles = sync.OnceValues(func() (map[string]string, error) {
	p, _ := resources.Find("store")
	dir, err := os.MkdirTemp("", "resq-server-")
	if err != nil {
		return nil, err
	}
	shopDir = dir
	files := map[string]string{}
	for _, d := range p.Databases {
		path := filepath.Join(dir, d.Connection+".sqlite")
		files[d.Connection] = "sqlite:" + path
		db, err := sqlite.OpenWrite(path)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(d.Fill(context.Background(), db), db.Close()); err != nil {
			return nil, err
		}
	}
	return files, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if shopDir != "" {
		os.RemoveAll(shopDir)
	}
	os.Exit(code)
}

// shop is a server on the demonstration's catalog and rows.
func shop(t *testing.T) *Server {
	t.Helper()
	files, err := shopFiles()
	if err != nil {
		t.Fatal(err)
	}
	p, _ := resources.Find("store")
	cat, err := schema.Load(nil, schema.LoadOptions{Packs: []schema.Pack{{Name: p.Name, FS: p.Files}}, DSN: files})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(cat, engine.Options{Drivers: []engine.Driver{sqlite.New()}, Timeout: time.Minute}) // this machine may be busy
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return newServer(t, e, Options{})
}

// promises are requests that the tools' schemas and texts let a model write, with what the answer must hold.
var promises = []struct{ about, args, want string }{
	{"no fields are all", `{"resource":"Category","fields":[],"limit":1}`, `"columns":["id","parent_id","name","name_en","sort"]`},
	{"thirty rows by default", `{"resource":"Customer","fields":[{"code":"id"}]}`, `"hasMore":true`},
	{"LIKE finds anywhere", `{"resource":"Category","fields":[{"code":"name_en"}],"conditions":{"type":"and","exprs":[{"field":"name_en","operator":"LIKE","token":"PHONE"}]}}`, `["Smartphones"]`},
	{"LIKE with its own %", `{"resource":"Category","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"name_en","operator":"LIKE","token":"phone%"}]}}`, "[\n[2],\n[4]\n]"},
	{"IN as text", `{"resource":"Category","fields":[{"code":"name"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"IN","token":"1,3"}]}}`, "[\n[\"数码电器\"],\n[\"智能手机\"]\n]"},
	{"IN and BETWEEN as lists", `{"resource":"Category","fields":[{"code":"id"}],"conditions":{"type":"or","exprs":[{"field":"id","operator":"IN","tokens":["1"]},{"field":"id","operator":"BETWEEN","tokens":["39","40"]}]}}`, "[\n[1],\n[39],\n[40]\n]"},
	{"function on a field", `{"resource":"Order","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"conditions":{"type":"and","exprs":[{"field":"created_at","fieldSqlFunc":"YEAR","operator":"=","token":"2023"}]}}`, "[0]"},
	{"function with a parameter", `{"resource":"Staff","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"salary","fieldSqlFunc":"ROUND","fieldSqlFuncParam":"0","operator":">","token":"59000"}]}}`, "[1]"},
	{"JSON", `{"resource":"Product","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"conditions":{"type":"and","exprs":[{"field":"tags","fieldSqlFunc":"json_contains","operator":"=","token":"nosuch"}]}}`, "[0]"},
	{"expression on the left", `{"resource":"Order","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"conditions":{"type":"and","exprs":[{"field":"Order.amount + Order.discount","isExpr":true,"operator":"<","token":"0"}]}}`, "[0]"},
	{"field against field", `{"resource":"Order","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"conditions":{"type":"and","exprs":[{"field":"paid_at","operator":"<","tokenType":"field","token":"Order.created_at"}]}}`, "[0]"},
	{"expression on the right", `{"resource":"Product","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"conditions":{"type":"and","exprs":[{"field":"cost","operator":">","tokenType":"expr","token":"Product.price * 1"}]}}`, "[0]"},
	{"EXISTS over an outer resource", `{"resource":"Category","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"roots"}],"conditions":{"type":"and","exprs":[{"field":"*","operator":"NOT EXISTS","tokenType":"query","query":{"resource":"Category","code":"Up","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"=","tokenType":"field","token":"Category.parent_id"}]}}}]}}`, "[5]"},
	{"IN a query", `{"resource":"Customer","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"IN","tokenType":"query","query":{"resource":"Order","fields":[{"code":"customer_id"}],"conditions":{"type":"and","exprs":[{"field":"status","operator":"=","token":"9"}]}}}]}}`, "[0]"},
	{"negated group", `{"resource":"Category","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"conditions":{"type":"or","not":true,"exprs":[{"field":"parent_id","operator":"IS NULL"},{"field":"id","operator":">","token":"3"}]}}`, "[2]"},
	{"nested groups", `{"resource":"Category","fields":[{"code":"id"}],"conditions":{"type":"or","exprs":[],"children":[{"type":"and","exprs":[{"field":"id","operator":"=","token":"1"}]},{"type":"and","exprs":[{"field":"id","operator":"=","token":"2"}]}]}}`, "[\n[1],\n[2]\n]"},
	{"join, group, having by alias, order by alias", `{"resource":"OrderItem","fields":[{"code":"name","codeResource":"Product"},{"code":"SUM(quantity)","isExpr":true,"alias":"sold"}],"relations":[{"code":"Product","actuallyResource":"Product","actuallyField":"id","relationResource":"OrderItem","relationField":"product_id","type":"inner"}],"groupBy":["Product.id","Product.name"],"having":{"type":"and","exprs":[{"field":"sold","operator":">","token":"300"},{"field":"*","fieldSqlFunc":"COUNT","operator":">","token":"1"}]},"orderBy":[{"type":"sql","expr":"sold","direction":"desc","nulls":"last"}],"limit":3}`, `"columns":["name","sold"]`},
	{"conditions of a join", `{"resource":"Customer","fields":[{"code":"id"},{"code":"id","codeResource":"Home","alias":"home"}],"relations":[{"code":"Home","actuallyResource":"Address","actuallyField":"customer_id","relationResource":"Customer","relationField":"id","type":"left","conditions":{"type":"and","exprs":[{"field":"city","operator":"=","token":"nowhere"}]}}],"limit":1}`, `[1,null]`},
	{"cross join", `{"resource":"Staff","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"relations":[{"code":"Category","actuallyResource":"Category","type":"cross"}]}`, "[2680]"},
	{"join by conditions alone", `{"resource":"Category","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"relations":[{"code":"Next","actuallyResource":"Category","actuallyField":"","relationResource":"","relationField":"","type":"inner","conditions":{"type":"and","exprs":[{"field":"Next.id - Category.id","isExpr":true,"operator":"=","token":"1"}]}}]}`, "[39]"},
	{"distinct", `{"resource":"Order","fields":[{"code":"channel"}],"distinct":true,"orderBy":["Order.channel"]}`, "[\n[\"app\"],\n[\"phone\"],\n[\"shop\"],\n[\"web\"]\n]"},
	{"window function", `{"resource":"Category","fields":[{"code":"id"},{"code":"ROW_NUMBER() OVER (ORDER BY Category.id DESC)","isExpr":true,"alias":"place"}],"orderBy":[{"type":"sql","expr":"place"}],"limit":1}`, "[40,1]"},
	{"CASE and CAST", `{"resource":"Category","fields":[{"code":"CASE WHEN id > 1 THEN 'more' ELSE CAST(id AS CHAR) END","isExpr":true,"alias":"x"}],"limit":1}`, `["1"]`},
	{"set operation", `{"resource":"Category","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"<","token":"4"}]},"setOps":[{"op":"except","query":{"resource":"Category","fields":[{"code":"id"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"=","token":"2"}]}}}],"orderBy":["id"]}`, "[\n[1],\n[3]\n]"},
	{"with", `{"resource":"big","with":[{"code":"big","query":{"resource":"Category","fields":[{"code":"id"},{"code":"name"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"=","token":"7"}]}}}],"fields":[{"code":"name"}]}`, `["电脑办公"]`},
	{"tree with levels and the root", `{"resource":"Category","fields":[{"code":"id"}],"recursive":{"pField":"Category.parent_id","cField":"Category.id","root":"4","levelAlias":"level","pathAlias":"path","includeRoot":true}}`, "[4,0,"},
	{"tree from NULL parents", `{"resource":"Category","fields":[{"code":"id"}],"recursive":{"pField":"Category.parent_id","cField":"Category.id","root":"","depth":1}}`, "[1]"},
	{"total", `{"resource":"Category","fields":[{"code":"id"}],"limit":1,"total":true}`, `"total":40`},
	{"offset", `{"resource":"Category","fields":[{"code":"id"}],"limit":1,"offset":39}`, "[40]"},
	{"objects", `{"resource":"Category","fields":[{"code":"id"}],"limit":1,"format":"objects"}`, `{"id":1}`},
	{"csv", `{"resource":"Category","fields":[{"code":"id"}],"limit":1,"format":"csv"}`, "id\n1\n"},
	{"markdown", `{"resource":"Category","fields":[{"code":"id"}],"limit":1,"format":"markdown"}`, "|"},
	{"data type", `{"resource":"Category","fields":[{"code":"id","dataType":"string"}],"limit":1}`, `["1"]`},
}

// What the tools' schemas and texts promise, the engine keeps: each request is valid by the schema that clients
// see, and gives the rows it should.
func TestPromises(t *testing.T) {
	s := shop(t)
	d, _ := s.views().box.find("res-query")
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	if err := c.AddResource("tool.json", bytes.NewReader(d.InputSchema)); err != nil {
		t.Fatal(err)
	}
	published, err := c.Compile("tool.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range promises {
		var v any
		if err := json.Unmarshal([]byte(q.args), &v); err != nil {
			t.Fatalf("%s: %v", q.about, err)
		}
		// The contract requires the fields of a join, and knew no join that has none.
		if err := published.Validate(v); err != nil && q.about != "cross join" {
			t.Errorf("%s: the published schema refuses it: %#v", q.about, err)
		}
		r, _ := s.Call(t.Context(), alice, "res-query", []byte(q.args))
		if r.Failed || !strings.Contains(r.Texts[0], q.want) {
			t.Errorf("%s: %s\nlacks %s", q.about, r.Texts[0], q.want)
		}
	}
}

// A cursor of one answer opens the next page.
func TestCursor(t *testing.T) {
	s := shop(t)
	seen := map[float64]bool{}
	cursor := ""
	for page := 0; ; page++ {
		args := map[string]any{"resource": "Category", "fields": []any{map[string]any{"code": "id"}}, "limit": 7}
		if cursor != "" {
			args["cursor"] = cursor
		}
		raw, _ := json.Marshal(args)
		r, _ := s.Call(t.Context(), alice, "res-query", raw)
		if r.Failed {
			t.Fatal(r.Texts)
		}
		var answer struct {
			Rows    [][]float64
			HasMore bool
			Cursor  string
		}
		if err := json.Unmarshal([]byte(r.Texts[0]), &answer); err != nil {
			t.Fatal(err)
		}
		for _, row := range answer.Rows {
			seen[row[0]] = true
		}
		if cursor = answer.Cursor; !answer.HasMore {
			break
		}
		if cursor == "" || page > 10 {
			t.Fatalf("page %d has no cursor: %s", page, r.Texts[0])
		}
	}
	if len(seen) != 40 {
		t.Errorf("%d of 40 rows", len(seen))
	}
}

// res-schema answers in its three details, and names nothing it does not find.
func TestDescribe(t *testing.T) {
	s := shop(t)
	size := map[string]int{}
	for _, detail := range []string{"names", "fields", "full"} {
		r, _ := s.Call(t.Context(), alice, "res_schema", []byte(`{"keywords":"订单|customer","detail":"`+detail+`"}`))
		if r.Failed || !strings.Contains(r.Texts[0], "订单") || !strings.Contains(r.Texts[0], "客户") || strings.Contains(r.Texts[0], "员工\n") {
			t.Errorf("%s: %s", detail, r.Texts[0])
		}
		size[detail] = len(r.Texts[0])
	}
	if size["names"] >= size["fields"] || size["fields"] >= size["full"] {
		t.Errorf("sizes %v", size)
	}
	r, _ := s.Call(t.Context(), alice, "res-schema", nil)
	if r.Failed || strings.Count(r.Texts[0], " · store") < 8 {
		t.Errorf("without keywords: %s", r.Texts[0])
	}
}
