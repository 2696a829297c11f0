package engine_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"fmt"
	"bufio"

	"resq/engine/policy"
	"resq/testdb"
)

var anyone = &policy.Principal{Name: "anyone", Scopes: []string{"read"}}

func TestExplore(t *testing.T) {
	var benches []*bench
	for _, on := range testdb.Engines(t) {
		benches = append(benches, newParity(t, on))
	}
	f, err := os.Open(os.Getenv("PARITY"))
	if err != nil { t.Skip() }
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		line := sc.Text()
		if line == "" || line[0] == '#' { continue }
		explore(t, benches, line, line)
		if os.Getenv("TEXTS") != "" {
			explore(t, benches, "CONCAT('<', "+line+", '>')", line)
		}
	}
}

func explore(t *testing.T, benches []*bench, expr, line string) {
	fields := []any{map[string]any{"code": "id"}, map[string]any{"code": expr, "alias": "v", "isExpr": true}}
	req := map[string]any{"resource": "T", "limit": 1000, "fields": fields, "orderBy": []any{"T.id"}}
	up := strings.ToUpper(expr)
	for _, a := range []string{"COUNT(", "SUM(", "AVG(", "MIN(", "MAX(", "ANY_VALUE(", "GROUP_CONCAT(", "STRING_AGG(", "STDDEV", "VAR"} {
		if strings.Contains(up, a) && !strings.Contains(up, " OVER ") {
			fields[0] = map[string]any{"code": "g"}
			req["groupBy"] = []any{"T.g"}
			req["orderBy"] = []any{"T.g"}
		}
	}
	var rows [][]string
	for _, b := range benches {
		ans, err := b.engine.Query(context.Background(), anyone, []byte(encode(req)))
		var lines []string
		if err != nil {
			lines = []string{tell(err)}
			if os.Getenv("SHOWSQL") != "" {
				for _, s := range b.recorder.Texts() { lines = append(lines, s.SQL) }
				if strings.Contains(tell(err), "DATA") || true { for _, s := range b.recorder.Texts() { _, e := testdb.Open(t, b.on, b.dsn["default"]).Query(s.SQL, s.Args...); lines = append(lines, fmt.Sprint(e)) } }
			}
		} else {
			lines = strings.Split(string(ans.Text), "\n")
		}
		b.recorder.Reset()
		rows = append(rows, lines)
	}
	n := 0
	for k := 1; k < len(rows); k++ {
		for i := 0; i < max(len(rows[0]), len(rows[k])); i++ {
			a, c := "", ""
			if i < len(rows[0]) { a = rows[0][i] }
			if i < len(rows[k]) { c = rows[k][i] }
			if a != c {
				n++
				if n <= 6 {
				t.Errorf("%s\n   sqlite %s\n   %s %s", expr, a, benches[k].on.Name, c)
				}
			}
		}
	}
	if os.Getenv("SHOW") != "" { t.Logf("%s\n%s", expr, strings.Join(rows[0], "\n")) }
}
