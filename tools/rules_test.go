package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"resq/engine"
	"resq/testdb"
)

// Which rows each principal sees of each family of rules (B.2); an agent without an agent of its own sees none (B-033). The generic tools and the business tools see the same.
var matrix = []struct{ resource, key, head, agent, sales, nobody string }{
	{"Agent", "id", "1 10 11 20 30 40", "10 11", "1 10 11 20 30 40", ""},                        // RP-AGENT
	{"Property", "id", "301 302 303 304 305", "301 302 303 304", "302 304", ""},                 // RP-PROP
	{"District", "id", "501 502 503 504 505", "501 502 503 504", "502 504", ""},                 // RP-SITE
	{"MallOrder", "id", "701 702 703 704 705 706", "702 703 704 706", "704 706", ""},            // RP-ORDER
	{"Contract", "id", "1001 1002 1003 1004 1005", "1001 1002 1003", "1003 1005", ""},           // RP-CONTRACT
	{"WarehouseOut", "id", "901 902 903 904 905", "901 902 903 904", "901 902 903 904 905", ""}, // RP-WH-OUT
	{"WarehouseIn", "id", "951 952 953 954", "951 952 954", "951 952 953 954", ""},              // RP-WH-IN
	{"WarehouseOutTodo", "process_id", "2", "1 3 6 7", "", "5"},                                 // RP-TODO
	{"DeliveryOrder", "id", "991 992 993 994 995", "991 992 993 994", "993 995", ""},            // RP-DELIV
}

func TestRowRules(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		p := open(t, on)
		for _, m := range matrix {
			for who, want := range map[string]string{"head": m.head, "agent": m.agent, "sales": m.sales, "nobody": m.nobody, "service": ""} {
				a, err := p.engine.Query(t.Context(), people[who], []byte(`{"resource":"`+m.resource+`","fields":[{"code":"`+m.key+`"}],"orderBy":["`+m.resource+`.`+m.key+`"]}`))
				if err != nil {
					t.Fatal(err)
				}
				var rows struct{ Rows [][]json.Number }
				if err := json.Unmarshal(a.Text, &rows); err != nil {
					t.Fatal(err)
				}
				var ids []string
				for _, r := range rows.Rows {
					ids = append(ids, r[0].String())
				}
				if got := strings.Join(ids, " "); got != want {
					t.Errorf("%s sees of %s: %s, want %s", who, m.resource, got, want)
				}
			}
		}
		// What is there for tools alone nobody lists.
		for _, hidden := range []string{"AgentAny", "User", "WarehouseOutDetail", "NetworkCard"} {
			_, err := p.engine.Query(t.Context(), people["head"], []byte(`{"resource":"`+hidden+`","fields":[]}`))
			_, none := p.engine.Query(t.Context(), people["head"], []byte(`{"resource":"Nothing","fields":[]}`))
			if err == nil || strings.ReplaceAll(strings.SplitN(err.Error(), "·", 2)[0], hidden, "Nothing") != strings.SplitN(none.Error(), "·", 2)[0] {
				t.Errorf("%s: %v, and for what is not there: %v", hidden, err, none)
			}
		}
	})
}

// However many records a page has, a call asks once for its rows, once for each look-up and each child list, and Redis
// once for each key pattern; the rows are counted when the page is full (B-019). Sets of row rules come on top, once for
// a call; the head office has none.
func TestStatements(t *testing.T) {
	p := open(t, testdb.Engines(t)[0])
	for _, c := range []struct {
		tool, args string
		want       int
	}{
		{"agent.count", `{}`, 1},
		{"agent.list.query", `{}`, 2}, // rows, supervisors
		{"agent.list.query", `{"rows":2}`, 3},
		{"property.list.query", `{}`, 3},
		{"district.list.query", `{}`, 3},
		{"mall.order.list.query", `{}`, 3},
		{"mall.order.detail.query", `{"orderNo":"SC20260901001"}`, 3},
		{"mall.order.logistics.query", `{"orderNo":"SC20260901001"}`, 3},
		{"hardware.list.query", `{"rows":2}`, 3},
		{"hardware.list.query", `{"rows":100}`, 3},
		{"contract.list.query", `{}`, 3},
		{"contract.detail.query", `{"id":1001}`, 5},
		{"warehouse.out.list.query", `{}`, 7},            // rows, agents, types; details and their warehouses; open; links
		{"warehouse.out.detail.query", `{"id":901}`, 12}, // and what a detail has beside, with the number of serials that were not asked for
		{"warehouse.todo.list.query", `{}`, 1},
		{"delivery.order.list.query", `{}`, 2},
		{"delivery.order.detail.query", `{"id":991}`, 7},
	} {
		p.recorder.Reset()
		p.ask(t, "head", c.tool, c.args)
		if got := p.recorder.Texts()[1:]; len(got) != c.want { // the first reads who the user is
			var b strings.Builder
			for _, s := range got {
				fmt.Fprintf(&b, "\n  %.150s", s.SQL)
			}
			t.Errorf("%s %s: %d statements, want %d%s", c.tool, c.args, len(got), c.want, b.String())
		}
	}
	before := p.redis.CommandCount()
	p.ask(t, "head", "hardware.list.query", `{"rows":100}`)
	if got := p.redis.CommandCount() - before; got != 4 {
		t.Errorf("%d commands for the four key patterns of a page of 100", got)
	}
}

// A Redis that is down costs an answer its values, not the answer (V-21).
func TestRedisDown(t *testing.T) {
	p := open(t, testdb.Engines(t)[0])
	p.redis.Close()
	got := p.ask(t, "head", "hardware.list.query", `{"snCode":"SN0001"}`)
	for _, want := range []string{`"agentName":"未查询到"`, `"piStatus":0`, `"factoryType":"华智"`, `"notice":"Redis 暂时不可用，相关字段已按默认值返回"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if got := p.ask(t, "head", "district.detail.get", `{"id":501}`); !strings.Contains(got, `"districtRefresh":5,"forbidFunction":0`) {
		t.Errorf("%s", got)
	}
	if got := p.ask(t, "service", "sys.ping", `{}`); !strings.Contains(got, `"redis":"ERROR: unavailable"`) {
		t.Errorf("%s", got)
	}
}

// The log of calls holds the arguments that a tool names, telephone numbers under their mask, and no other (V-39, B-014).
func TestLogged(t *testing.T) {
	p := open(t, testdb.Engines(t)[0])
	for _, c := range []struct{ tool, args, want string }{
		{"property.list.query", `{"phone":"13900000304","contact":"冯四","agentId":30}`, `{"agentId":30,"phone":"139****0304","page":1,"rows":20}`},
		{"property.list.query", `{"phone":"123"}`, `{"phone":"****","page":1,"rows":20}`},
		{"contract.list.query", `{"contractNo":"HT001"}`, ``},
	} {
		a, err := p.engine.CallTool(t.Context(), people["head"], engine.Call{Tool: c.tool, Args: []byte(c.args)})
		if err != nil {
			t.Fatal(err)
		}
		if string(a.Logged) != c.want {
			t.Errorf("%s %s: %s, want %s", c.tool, c.args, a.Logged, c.want)
		}
	}
}

// A user whose agent was deleted still sees what belongs to it: the agent of a user is who the user is, whatever became of
// the agent's own row (B.2, SELF). The row itself is shown to nobody.
func TestAgentWasDeleted(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		p := open(t, on)
		before := p.ask(t, "agent", "contract.list.query", `{}`)
		testdb.Exec(t, on, p.dsn["m0"], "UPDATE agent SET soft_delete = 1 WHERE id = 10")
		after := p.ask(t, "agent", "contract.list.query", `{}`)
		if strings.ReplaceAll(before, "北京D类代理", "未查询到") != after {
			t.Errorf("before %s\nafter %s", before, after)
		}
		if got := p.ask(t, "agent", "agent.list.query", `{"id":10}`); !strings.Contains(got, `"total":0`) {
			t.Errorf("%s", got)
		}
	})
}
