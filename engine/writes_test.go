package engine_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"resq/engine/policy"
	"resq/testdb"

	"resq/engine"
)

const (
	officeDir = "../testdata/db/office"
	writesDir = "../testdata/writes"
)

// newOffice makes the database that is written to, with its table of operations.
func newOffice(t testing.TB, on testdb.Engine, change ...func(o *engine.Options)) *bench {
	t.Helper()
	dsn := map[string]string{"main": testdb.Create(t, on, readFile(t, filepath.Join(officeDir, on.Name+".sql")))}
	b := newBench(t, on, catalogFiles(t, filepath.Join(officeDir, "catalog")), dsn, change...)
	if err := b.engine.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestWritesApart plays those stories in which nothing is created on a database that keeps no operations: they
// go as they do elsewhere.
func TestWritesApart(t *testing.T) {
	people := peopleOf(t, filepath.Join(officeDir, "principals.yaml"))
	n := 0
	for _, file := range storyFiles(t) {
		c, err := parseArchive([]byte(readFile(t, file)))
		if err != nil {
			t.Fatal(err)
		}
		text := string(c.format())
		if strings.Contains(text, "res-create --") || strings.Contains(text, "res-schema --") || strings.Contains(text, "Counter") {
			continue
		}
		n++
		t.Run(storyName(file), func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, on testdb.Engine) {
				s := newStory(t, newApart(t, on), people)
				s.play(c)
				s.judge(c.told())
			})
		})
	}
	if n < 10 {
		t.Errorf("only %d stories", n)
	}
}

// newApart is an office whose operations are in a control store, in a database of the same kind.
func newApart(t testing.TB, on testdb.Engine, change ...func(o *engine.Options)) *bench {
	t.Helper()
	dsn := map[string]string{"main": testdb.Create(t, on, readFile(t, filepath.Join(officeDir, on.Name+".sql")))}
	files := catalogFiles(t, filepath.Join(officeDir, "catalog"))
	return newBench(t, on, files, dsn, append(change, func(o *engine.Options) { o.Control = testdb.Create(t, on) })...)
}

// TestWrites plays the files of testdata/writes on every database. Each is a story in steps: `N.who.tool` is a
// call, and `N.answer` or `N.error` what it gives everywhere; `N.who.tool.granted.M` is one whose user was asked
// about the preview of step M, and so are `refused` and `silent`; `N.sql` is another writer; `N.approve` and
// `N.decline` are a person's decision on the operation of step M, written as `M by NAME`. In later steps $tokenN and
// $opN stand for the token and the operation of step N.
func TestWrites(t *testing.T) {
	people := peopleOf(t, filepath.Join(officeDir, "principals.yaml"))
	for _, file := range storyFiles(t) {
		t.Run(storyName(file), func(t *testing.T) {
			c, err := parseArchive([]byte(readFile(t, file)))
			if err != nil {
				t.Fatal(err)
			}
			told := c.told()
			if *update {
				told = nil
			}
			testdb.Each(t, func(t *testing.T, on testdb.Engine) {
				s := newStory(t, newOffice(t, on), people)
				s.play(c)
				if told == nil {
					told = s.told
				}
				s.judge(told)
			})
			if *update {
				rewriteStory(t, file, c, told)
			}
		})
	}
}

func storyFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(writesDir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".txtar" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("no case files in %s: %v", writesDir, err)
	}
	return files
}

func storyName(file string) string {
	return strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), writesDir+"/"), ".txtar")
}

// told are the answers and errors that a story holds.
func (a *archive) told() map[string]string {
	out := map[string]string{}
	for _, x := range a.sections {
		if strings.HasSuffix(x.name, ".answer") || strings.HasSuffix(x.name, ".error") {
			out[x.name] = strings.TrimSuffix(x.text, "\n")
		}
	}
	return out
}

func rewriteStory(t *testing.T, file string, c *archive, told map[string]string) {
	t.Helper()
	c.drop(func(name string) bool {
		return !strings.HasSuffix(name, ".answer") && !strings.HasSuffix(name, ".error")
	})
	var out []section
	for _, s := range c.sections {
		out = append(out, s)
		n, _, _ := strings.Cut(s.name, ".")
		for _, kind := range []string{".answer", ".error"} {
			if text, ok := told[n+kind]; ok {
				out = append(out, section{n + kind, text + "\n"})
			}
		}
	}
	c.sections = out
	if err := os.WriteFile(file, c.format(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	x, ok1 := decodeAnswer(a)
	y, ok2 := decodeAnswer(b)
	return ok1 && ok2 && encode(x) == encode(y)
}

// A story is one file being played on one database.
type story struct {
	t           *testing.T
	b           *bench
	people      map[string]*policy.Principal
	tokens, ops map[string]string // by step
	told        map[string]string
}

func newStory(t *testing.T, b *bench, people map[string]*policy.Principal) *story {
	return &story{t: t, b: b, people: people, tokens: map[string]string{}, ops: map[string]string{}, told: map[string]string{}}
}

// judge compares what was told with what is to be told.
func (s *story) judge(want map[string]string) {
	s.t.Helper()
	for _, name := range sortedNames(want) {
		if got, ok := s.told[name]; !ok || !sameJSON(got, want[name]) {
			s.t.Errorf("%s is\n%s\nwant\n%s", name, got, want[name])
		}
	}
	for _, name := range sortedNames(s.told) {
		if _, ok := want[name]; !ok {
			s.t.Errorf("the case has no section %s; the engine gives\n%s", name, s.told[name])
		}
	}
}

func (s *story) play(c *archive) {
	s.t.Helper()
	for _, x := range c.sections {
		part := strings.SplitN(x.name, ".", 3)
		if _, err := strconv.Atoi(part[0]); err != nil || len(part) < 2 {
			s.t.Fatalf("no step: %s", x.name)
		}
		switch {
		case part[1] == "answer" || part[1] == "error":
		case part[1] == "sql":
			testdb.Exec(s.t, s.b.on, s.b.dsn["main"], x.text)
		case part[1] == "approve" || part[1] == "decline":
			step, by, _ := strings.Cut(strings.TrimSpace(x.text), " by ")
			if err := s.b.engine.Settle(context.Background(), s.ops[step], part[1] == "approve", by, "not now"); err != nil {
				s.told[part[0]+".error"] = tell(err)
			}
		case len(part) == 3:
			s.call(part[0], part[1], part[2], x.text)
		default:
			s.t.Fatalf("no step: %s", x.name)
		}
	}
}

var named = regexp.MustCompile(`\$(token|op)(\d+)`)

func (s *story) call(step, who, tool, raw string) {
	s.t.Helper()
	p := s.people[who]
	if p == nil {
		s.t.Fatalf("no principal %q", who)
	}
	raw = named.ReplaceAllStringFunc(raw, func(m string) string {
		x := named.FindStringSubmatch(m)
		if x[1] == "token" {
			return s.tokens[x[2]]
		}
		return s.ops[x[2]]
	})
	tool, asked, _ := strings.Cut(tool, ".")
	said, preview, _ := strings.Cut(asked, ".")
	consent, ok := map[string]engine.Consent{"": engine.NotAsked, "granted": engine.Granted, "refused": engine.Refused, "silent": engine.Silent}[said]
	if !ok {
		s.t.Fatalf("step %s: no user is %q", step, said)
	}
	token := s.tokens[preview]
	if preview == "forged" {
		token = "rq1.forged"
	}
	var a *engine.Answer
	var err error
	switch tool {
	case "res-query":
		a, err = s.b.engine.Query(context.Background(), p, []byte(raw))
	case "res-schema":
		if a, err = s.b.engine.Describe(context.Background(), p, []byte(raw)); err == nil {
			s.told[step+".answer"] = strings.TrimSuffix(string(a.Text), "\n")
			return
		}
	default:
		a, err = s.b.engine.Write(context.Background(), p, engine.Call{Tool: tool, Args: []byte(raw), Token: token, Consent: consent})
	}
	if err != nil {
		s.told[step+".error"] = s.steady(tell(err))
		return
	}
	var x struct {
		Confirm struct {
			Token string `json:"token"`
			Op    string `json:"op_id"`
		}
		Op string `json:"op_id"`
	}
	if err := json.Unmarshal(a.Text, &x); err != nil {
		s.t.Fatalf("step %s: the answer is no JSON: %v\n%s", step, err, a.Text)
	}
	s.tokens[step] = x.Confirm.Token
	if s.ops[step] = x.Op; x.Op == "" {
		s.ops[step] = x.Confirm.Op
	}
	s.told[step+".answer"] = s.steady(string(a.Text))
}

var (
	momentText = regexp.MustCompile(`"(expires_at|until|created_at|updated_at|applied_at|deleted_at|due)":"20[0-9T :.-]*Z?"`)
	shortText  = regexp.MustCompile(`"short_code":"[A-Z0-9-]*"|short code is [A-Z0-9-]*|approves [A-Z][0-9]-[0-9][0-9]`)
)

// steady takes what differs from run to run out of an answer.
func (s *story) steady(text string) string {
	for i := 1; i < 100; i++ {
		step := strconv.Itoa(i)
		if token := s.tokens[step]; token != "" {
			text = strings.ReplaceAll(text, token, "$token"+step)
		}
		if op := s.ops[step]; op != "" {
			text = strings.ReplaceAll(text, op, "$op"+step)
		}
	}
	text = momentText.ReplaceAllStringFunc(text, func(m string) string {
		if strings.Contains(m, "2020-01-01 08:00:00") || strings.Contains(m, "2023-01-01") || strings.Contains(m, "2024-") {
			return m
		}
		return m[:strings.Index(m, `":`)] + `":"…"`
	})
	return shortText.ReplaceAllStringFunc(text, func(m string) string {
		if i := strings.Index(m, `":"`); i > 0 {
			return m[:i] + `":"…"`
		}
		return m[:strings.LastIndexByte(m, ' ')] + " …"
	})
}

// rowsOf reads a table past the engine, as one text.
func rowsOf(t testing.TB, b *bench, query string) string {
	t.Helper()
	db := testdb.Open(t, b.on, b.dsn["main"])
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		vals := make([]sql.NullString, len(cols))
		dest := make([]any, len(cols))
		for i := range vals {
			dest[i] = &vals[i]
		}
		if err := rows.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		var line []string
		for _, v := range vals {
			line = append(line, fmt.Sprintf("%v", map[bool]string{true: v.String, false: "NULL"}[v.Valid]))
		}
		out = append(out, strings.Join(line, "|"))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}
