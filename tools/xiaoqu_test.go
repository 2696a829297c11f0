package tools_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"resq/engine"
	"resq/engine/dialect/mysql"
	"resq/engine/dialect/postgres"
	"resq/engine/dialect/sqlite"
	"resq/engine/kv"
	"resq/engine/policy"
	"resq/resources"
	"resq/resources/xiaoqu"
	"resq/schema"
	"resq/schema/problem"
	"resq/testdb"
	"resq/tools"
)

var update = flag.Bool("update", false, "rewrite the expected answers")

// people are the five principals of the pack (B-050).
var people = map[string]*policy.Principal{
	"head":    {Name: "head", Key: "head", User: "1", Token: 7, Codes: []string{"crm", "warehouse"}, Bound: 1767254400123},
	"agent":   {Name: "agent", Key: "agent", User: "2"},   // with a subordinate, a delegated agent and an authorised property
	"sales":   {Name: "sales", Key: "sales", User: "3"},   // who does not lead the department
	"nobody":  {Name: "nobody", Key: "nobody", User: "4"}, // an agent without an agent of its own
	"service": {Name: "service", Key: "service", Token: 8, Codes: []string{"crm"}, Bound: 1767254400000},
}

var names = []string{"head", "agent", "sales", "nobody", "service"}

// A pack is the pack xiaoqu on one database system.
type pack struct {
	engine   *engine.Engine
	recorder *testdb.Recorder
	redis    *miniredis.Miniredis
	dsn      map[string]string
}

func open(t testing.TB, on testdb.Engine) *pack { return openWith(t, on, true) }

// openWith is open with or without a recorder between the engine and its drivers.
func openWith(t testing.TB, on testdb.Engine, record bool) *pack {
	t.Helper()
	p := &pack{recorder: &testdb.Recorder{}, redis: miniredis.RunT(t)}
	for k, v := range xiaoqu.Keys() {
		if err := p.redis.Set(k, v); err != nil {
			t.Fatal(err)
		}
	}
	dsn := map[string]string{"redis": "redis://" + p.redis.Addr() + "/0"}
	p.dsn = dsn
	for _, c := range xiaoqu.Connections {
		dsn[c] = testdb.Create(t, on, xiaoqu.SQL(on.Name, c))
	}
	found, ok := resources.Find("xiaoqu")
	if !ok {
		t.Fatal("there is no pack xiaoqu")
	}
	cat, err := schema.Load(nil, schema.LoadOptions{DSN: dsn, Packs: []schema.Pack{{Name: "xiaoqu", FS: found.Files}, {Name: "xiaoqu/tools", FS: tools.Files("xiaoqu")}}})
	if err != nil {
		t.Fatal(err)
	}
	drivers := []engine.Driver{sqlite.New(), mysql.New(), postgres.New()}
	for i, d := range drivers {
		if record {
			drivers[i] = recorded{d, p.recorder}
		}
	}
	p.engine, err = engine.New(cat, engine.Options{
		Drivers: drivers,
		Now:     func() time.Time { return time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC) }, Timeout: 30 * time.Second,
		Log: slog.New(slog.DiscardHandler), Values: kv.Open, Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.engine.Close() })
	return p
}

func (p *pack) ask(t testing.TB, who, tool, args string) string {
	t.Helper()
	a, err := p.engine.CallTool(t.Context(), people[who], engine.Call{Tool: tool, Args: []byte(args), Tools: func() []string { return []string{tool} }})
	if err != nil {
		first := problem.From(err)[0]
		if first.Err != nil {
			t.Logf("%s %s %s: %v", who, tool, args, first.Err)
		}
		return string(first.Code) + " " + first.At + " " + first.Message
	}
	if !json.Valid(a.Text) {
		t.Errorf("%s %s %s is no JSON: %s", who, tool, args, a.Text)
	}
	return string(a.Text)
}

const golden = "../testdata/tools/xiaoqu"

// Every tool gives each of the five principals the same answers on all three databases, for four sets of arguments and
// more (A-… of the golden files; B.3).
func TestXiaoqu(t *testing.T) {
	list, err := fs.Glob(os.DirFS(golden), "*.txt")
	if err != nil || len(list) == 0 {
		t.Fatalf("no expected answers: %v", err)
	}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		p := open(t, on)
		var told []string
		for _, c := range p.engine.Catalog().Tools {
			if file := c.Name + ".txt"; !slices.Contains(list, file) {
				told = append(told, c.Name)
			}
		}
		if told != nil {
			t.Errorf("no expected answers for %v", told)
		}
		for _, file := range list {
			path := filepath.Join(golden, file)
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			head, want, _ := strings.Cut(string(raw), "\n\n")
			tool := strings.TrimSuffix(file, ".txt")
			if _, ok := p.engine.Catalog().Tool(tool); !ok {
				t.Errorf("%s: no such tool", file)
				continue
			}
			args := strings.Split(strings.TrimSpace(head), "\n")
			if len(args) < 4 && !strings.Contains(" agent.count sys.ping integration.context.get ", " "+tool+" ") {
				t.Errorf("%s has %d sets of arguments", file, len(args))
			}
			var b bytes.Buffer
			for _, a := range args {
				for _, who := range names {
					fmt.Fprintf(&b, "> %s %s\n%s\n", who, a, p.ask(t, who, tool, a))
				}
			}
			if b.String() == want {
				continue
			}
			if *update && on.Name == testdb.SQLite {
				if err := os.WriteFile(path, []byte(strings.TrimSpace(head)+"\n\n"+b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			t.Errorf("%s: %s", file, firstDifference(b.String(), want))
		}
	})
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	call := ""
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if strings.HasPrefix(x, "> ") {
			call = x
		}
		if x != y {
			return fmt.Sprintf("%s\n got %s\nwant %s", call, x, y)
		}
	}
	return "they are alike"
}
