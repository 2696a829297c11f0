package main

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/alicebob/miniredis/v2"

	"resq/engine"
	"resq/engine/dialect/sqlite"
	"resq/engine/kv"
	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
)

const toolsFile = "../../docs/tools.md"

var (
	toolsSQL      = regexp.MustCompile("(?s)```sql\n-- ([a-z]+)\\.db\n(.*?)```")
	toolsExamples = regexp.MustCompile("(?s)```yaml\n# ([a-z]+\\.yaml)\n(.*?)```\n\n```text\n(> .*?)```\n")
)

// Every example of docs/tools.md is called as the page shows it, on the rows that the page shows, and answers what it shows.
func TestToolsDocs(t *testing.T) {
	raw, err := os.ReadFile(toolsFile)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	redis := miniredis.RunT(t)
	if err := redis.Set("watchers:1", "3"); err != nil {
		t.Fatal(err)
	}
	dsn := map[string]string{"cache": "redis://" + redis.Addr() + "/0"}
	for _, m := range toolsSQL.FindAllStringSubmatch(text, -1) {
		path := filepath.Join(t.TempDir(), m[1]+".db")
		db, err := sqlite.OpenWrite(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(m[2]); err != nil {
			t.Fatalf("%s.db: %v", m[1], err)
		}
		db.Close()
		dsn[map[string]string{"tasks": "main", "people": "people"}[m[1]]] = "sqlite:" + path
	}
	if len(dsn) != 3 {
		t.Fatalf("the page shows the rows of %v", slices.Sorted(maps.Keys(dsn)))
	}
	who := &policy.Principal{Name: "reader", Attributes: map[string]policy.Value{"userId": policy.One("1")}}
	var out strings.Builder
	at, calls := 0, 0
	files := map[string]bool{}
	for _, m := range toolsExamples.FindAllStringSubmatchIndex(text, -1) {
		name, yaml, shown := text[m[2]:m[3]], text[m[4]:m[5]], text[m[6]:m[7]]
		files[name] = true
		mine := maps.Clone(dsn)
		for c := range mine {
			if !strings.Contains(yaml, c+": {") {
				delete(mine, c)
			}
		}
		cat, err := schema.LoadFS(fstest.MapFS{name: {Data: []byte(yaml)}}, schema.LoadOptions{DSN: mine})
		if err != nil {
			t.Fatal(err)
		}
		e, err := engine.New(cat, engine.Options{Drivers: []engine.Driver{sqlite.New()}, Values: kv.Open, Timeout: 30 * time.Second, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Cleanup(func() { e.Close() })
		var answers strings.Builder
		for line := range strings.SplitSeq(shown, "\n") {
			call, is := strings.CutPrefix(line, "> ")
			if !is {
				continue
			}
			calls++
			tool, args, _ := strings.Cut(call, " ")
			a, err := e.CallTool(t.Context(), who, engine.Call{Tool: tool, Args: []byte(args)})
			said := ""
			if err != nil {
				p := problem.From(err)[0]
				said = fmt.Sprintf("%s %s: %s · %s", p.Code, p.At, p.Message, p.Hint)
			} else {
				said = string(a.Text)
			}
			answers.WriteString("> " + call + "\n" + said + "\n")
		}
		if got := answers.String(); got != shown && !*update {
			t.Errorf("tools.md shows under %s\n%s\nand the engine says\n%s", name, shown, got)
		}
		out.WriteString(text[at:m[6]] + answers.String())
		at = m[7]
	}
	all := regexp.MustCompile(`(?m)^# ([a-z]+\.yaml)$`).FindAllStringSubmatch(text, -1)
	if len(files) != len(all) || calls < 10 {
		t.Errorf("%d of %d files of the page are called, %d times", len(files), len(all), calls)
	}
	if *update {
		if err := os.WriteFile(toolsFile, []byte(out.String()+text[at:]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
