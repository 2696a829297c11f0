package engine_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"resq/engine"
	"resq/schema/introspect"
	"resq/testdb"
)

// samples are the public databases that the statements of testdata/statements ask, as SQLite files beside the repository.
var samples = []struct{ name, path string }{
	{"sakila", "data/sakila/sqlite/sakila.sqlite"},
	{"chinook", "data/chinook/Chinook_Sqlite.sqlite"},
	{"northwind", "data/northwind/sqlite/northwind.sqlite"},
	{"world", "eval/spider/db/world_1.sqlite"},
}

// Statements as people write them over well-known databases are taken by SQL tools and answered as the database answers
// them: both where nothing is said of the tables, and where resources declare them, so that a sub-select stands in their
// place (D-016, D-018, D-060 to D-064).
func TestRealStatements(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		all, ran := 0, 0
		for _, s := range samples {
			t.Run(s.name, func(t *testing.T) {
				path := filepath.Join("..", "..", "shared", s.path)
				if _, err := os.Stat(path); err != nil {
					testdb.Skip(t, "the sample databases are not beside the repository")
				}
				dsn := copySample(t, on, path)
				statements := sampleStatements(t, on.Name, s.name)
				all, ran = all+len(statements), ran+1
				tools := sampleTools(t, statements)
				resources := sampleResources(t, on, dsn)
				resources["tools.yaml"] = &fstest.MapFile{Data: tools}
				big := func(o *engine.Options) { o.MaxBytes = 32 << 20 }
				bare := newBench(t, on, fstest.MapFS{"tools.yaml": {Data: tools}}, map[string]string{"main": dsn}, big)
				covered := newBench(t, on, resources, map[string]string{"main": dsn}, big)
				db := testdb.Open(t, on, dsn)
				for i, text := range statements {
					want := rawRows(t, db, text)
					for kind, b := range map[string]*bench{"bare": bare, "covered": covered} {
						got := askTool(t, b, member, fmt.Sprintf("t_%03d", i), "{}")
						if wrong := differs(text, got, want); wrong != "" {
							t.Errorf("%s: %s\n%s", kind, wrong, text)
						}
					}
				}
			})
		}
		t.Logf("%d statements", all)
		if all < 300 && ran == len(samples) {
			t.Errorf("%d statements, want 300 at least", all)
		}
	})
}

// sampleStatements reads the statements that every dialect knows, and those of one.
func sampleStatements(t *testing.T, on, sample string) []string {
	t.Helper()
	var out []string
	for _, dir := range []string{"all", on} {
		text := readFile(t, filepath.Join("testdata", "statements", dir, sample+".sql"))
		if dir == "all" && on == testdb.MySQL {
			text = strings.ReplaceAll(text, `"`, "`")
		}
		for s := range strings.SplitSeq(text, ";\n") {
			if s = strings.TrimSpace(regexp.MustCompile(`(?m)^--.*\n?`).ReplaceAllString(s, "")); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

func sampleTools(t *testing.T, statements []string) []byte {
	t.Helper()
	type tool struct {
		Name        string `json:"name"`
		Title       string `json:"title"`
		Description string `json:"description"`
		MaxRows     int    `json:"maxRows"`
		SQL         string `json:"sql"`
	}
	var list []tool
	for i, s := range statements {
		list = append(list, tool{fmt.Sprintf("t_%03d", i), "Statement", "One of many.", 10_000, s})
	}
	b, err := json.Marshal(map[string]any{"version": 1, "tools": list})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sampleResources are resources for all tables of a database, without its connections.
func sampleResources(t *testing.T, on testdb.Engine, dsn string) fstest.MapFS {
	t.Helper()
	s, err := introspect.Read(t.Context(), testdb.Open(t, on, dsn), on.Name, introspect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := introspect.Write(s, introspect.WriteOptions{Connection: "main", DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, f := range r.Files {
		if f.Name != "connections.yaml" {
			files[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	return files
}

// copySample makes a database of a sample on one engine.
func copySample(t *testing.T, on testdb.Engine, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sample.sqlite")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if on.Name == testdb.SQLite {
		return "sqlite:" + file
	}
	from := testdb.Open(t, testdb.Engine{Name: testdb.SQLite}, "sqlite:"+file)
	dsn := testdb.Create(t, on)
	for _, table := range textsIn(t, from, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name") {
		copyTable(t, on, from, dsn, table)
	}
	return dsn
}

func textsIn(t *testing.T, db *sql.DB, text string) []string {
	t.Helper()
	var out []string
	for _, r := range rawRows(t, db, text) {
		out = append(out, r[0].(string))
	}
	return out
}

// copyTable writes a table with names in small letters and types that its values fit.
func copyTable(t *testing.T, on testdb.Engine, from *sql.DB, dsn, table string) {
	t.Helper()
	rows, err := from.QueryContext(t.Context(), `SELECT * FROM "`+table+`"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	quote := func(s string) string {
		if on.Name == testdb.MySQL {
			return "`" + s + "`"
		}
		return `"` + s + `"`
	}
	name := strings.ToLower(table)
	if strings.Contains(table, " ") {
		name = table
	}
	var columns []string
	for _, c := range types {
		n := strings.ToLower(c.Name())
		columns = append(columns, quote(n)+" "+sampleType(on.Name, c.DatabaseTypeName()))
		if on.Name == testdb.MySQL && strings.HasSuffix(n, "id") && sampleType(on.Name, c.DatabaseTypeName()) == "BIGINT" {
			columns = append(columns, "KEY ("+quote(n)+")") // it would join by comparing every row with every other
		}
	}
	scripts := []string{"CREATE TABLE " + quote(name) + " (" + strings.Join(columns, ", ") + ")"}
	var b strings.Builder
	n := 0
	for rows.Next() {
		vals, into := make([]any, len(types)), make([]any, len(types))
		for i := range vals {
			into[i] = &vals[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		if b.Len() == 0 {
			b.WriteString("INSERT INTO " + quote(name) + " VALUES ")
		} else {
			b.WriteString(", ")
		}
		for i, v := range vals {
			b.WriteString(map[bool]string{true: "(", false: ", "}[i == 0] + sampleValue(on.Name, v))
		}
		b.WriteString(")")
		if n++; n%1000 == 0 {
			scripts = append(scripts, b.String())
			b.Reset()
		}
	}
	if b.Len() > 0 {
		scripts = append(scripts, b.String())
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	testdb.Exec(t, on, dsn, scripts...)
}

func sampleType(on, declared string) string {
	d := strings.ToUpper(declared)
	switch {
	case strings.Contains(d, "INT"), strings.HasPrefix(d, "YEAR"):
		return "BIGINT"
	case strings.HasPrefix(d, "DECIMAL"), strings.HasPrefix(d, "NUMERIC"):
		return "NUMERIC(12, 2)"
	case strings.HasPrefix(d, "FLOAT"), strings.HasPrefix(d, "REAL"):
		return map[string]string{testdb.MySQL: "DOUBLE", testdb.Postgres: "DOUBLE PRECISION"}[on]
	case strings.HasPrefix(d, "DATE"), strings.HasPrefix(d, "TIME"):
		return map[string]string{testdb.MySQL: "DATETIME", testdb.Postgres: "TIMESTAMP"}[on]
	}
	return "TEXT"
}

func sampleValue(on string, v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		return "NULL" // pictures
	case time.Time:
		return "'" + v.UTC().Format("2006-01-02 15:04:05") + "'"
	case string:
		if strings.HasPrefix(v, "\xff\xd8") || strings.ContainsRune(v, 0) {
			return "NULL"
		}
		s := strings.ReplaceAll(v, "'", "''")
		if on == testdb.MySQL {
			s = strings.ReplaceAll(s, `\`, `\\`)
		}
		return "'" + s + "'"
	}
	return fmt.Sprint(v)
}

// rawRows asks the database without the engine: texts for what is not a number or NULL.
func rawRows(t *testing.T, db *sql.DB, text string) [][]any {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text)
	if err != nil {
		t.Errorf("the database does not take it: %v\n%s", err, text)
		return nil
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	out := [][]any{}
	for rows.Next() {
		vals, into := make([]any, len(names)), make([]any, len(names))
		for i := range vals {
			into[i] = &vals[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, v := range vals {
			switch v := v.(type) {
			case []byte:
				vals[i] = string(v)
			case time.Time:
				vals[i] = v.UTC().Format("2006-01-02 15:04:05.999999")
			}
		}
		out = append(out, vals)
	}
	if err := rows.Err(); err != nil {
		t.Errorf("the database does not take it: %v\n%s", err, text)
		return nil
	}
	return out
}

// ordered are statements that say in which order their rows come.
var ordered = regexp.MustCompile(`(?is)\bORDER\s+BY\s[^()]*(\([^()]*\)[^()]*)*$`)

// differs says how the answer of a tool is another one than the database's rows; "" is not at all.
func differs(text, answer string, want [][]any) string {
	if !strings.HasPrefix(answer, "{") {
		return answer
	}
	var a struct {
		Data      []json.RawMessage
		Truncated bool
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil || a.Truncated {
		return fmt.Sprintf("%v, truncated: %v", err, a.Truncated)
	}
	if len(a.Data) != len(want) {
		return fmt.Sprintf("%d rows, and %d of the database", len(a.Data), len(want))
	}
	var got [][]any
	for _, r := range a.Data {
		got = append(got, valuesIn(r))
	}
	if !ordered.MatchString(text) {
		by := func(a, b []any) int { return strings.Compare(plainRow(a), plainRow(b)) }
		slices.SortFunc(got, by)
		want = slices.Clone(want)
		slices.SortFunc(want, by)
	}
	for i := range got {
		if len(got[i]) != len(want[i]) {
			return fmt.Sprintf("row %d has %d values, and %d of the database", i, len(got[i]), len(want[i]))
		}
		for j := range got[i] {
			if !equals(got[i][j], want[i][j]) {
				return fmt.Sprintf("row %d has %v, and %v of the database\n%v\n%v", i, got[i][j], want[i][j], got[i], want[i])
			}
		}
	}
	return ""
}

// valuesIn are the values of an object, in its order.
func valuesIn(object []byte) []any {
	d := json.NewDecoder(strings.NewReader(string(object)))
	d.UseNumber()
	d.Token()
	out := []any{}
	for d.More() {
		d.Token()
		var v any
		if err := d.Decode(&v); err != nil {
			panic(err)
		}
		out = append(out, v)
	}
	return out
}

func plainRow(r []any) string {
	var s []string
	for _, v := range r {
		s = append(s, plainValue(v))
	}
	return strings.Join(s, "\x00")
}

func plainValue(v any) string {
	switch x := v.(type) {
	case nil:
		return "NULL"
	case json.Number:
		return plainValue(string(x))
	case string:
		if n, err := strconv.ParseFloat(x, 64); err == nil {
			return strconv.FormatFloat(n, 'g', 9, 64)
		}
		return strings.TrimSuffix(strings.Replace(x, "T", " ", 1), "Z")
	case float64, int64:
		return plainValue(fmt.Sprint(x))
	case bool:
		return fmt.Sprint(x)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

var moment = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d`)

// equals compares a value of an answer with the database's: whole numbers digit by digit, others to nine.
func equals(got, want any) bool {
	switch g := got.(type) {
	case nil:
		return want == nil
	case bool:
		return want == g
	case json.Number:
		if g.String() == fmt.Sprint(want) {
			return true
		}
		if _, whole := want.(int64); whole {
			return false
		}
		x, err := g.Float64()
		y, err2 := strconv.ParseFloat(fmt.Sprint(want), 64)
		near := 1e-9 * math.Max(1, math.Abs(y))
		if text := fmt.Sprint(want); strings.Contains(text, ".") { // as many digits as the database writes
			near = max(near, 0.51*math.Pow10(strings.Index(text, ".")+1-len(text)))
		}
		return err == nil && err2 == nil && math.Abs(x-y) <= near
	case string:
		w, ok := want.(string)
		if ok && moment.MatchString(g) {
			return plainValue(g) == strings.TrimSuffix(w, "Z") || plainValue(g) == plainValue(w)
		}
		// A date is shown without the midnight that one driver adds.
		return ok && (g == w || strings.TrimSuffix(w, " 00:00:00") == g)
	}
	w, ok := want.(string)
	if !ok {
		return false
	}
	d := json.NewDecoder(strings.NewReader(w))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return false
	}
	return plainValue(v) == plainValue(got)
}
