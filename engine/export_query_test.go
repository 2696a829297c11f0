package engine_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/policy"
	"resq/testdb"
)

// exported calls export_query and gives its answer and its file, or the error as askTool has it.
func exported(t *testing.T, b *bench, who *policy.Principal, args string) (answer string, a *engine.Answer, file []byte) {
	t.Helper()
	if counted := askTool(t, b, who, "export_query", args); !strings.HasPrefix(counted, "{") {
		return counted, nil, nil
	} else if a, err := b.engine.CallTool(t.Context(), who, engine.Call{Tool: "export_query", Args: []byte(args)}); err != nil || a.Rows != 0 {
		t.Errorf("%s: rows that nobody got are %d, %v", args, a.Rows, err)
	} else {
		answer = counted
	}
	var buf bytes.Buffer
	a, err := b.engine.CallTool(t.Context(), who, engine.Call{Tool: "export_query", Args: []byte(args), File: &buf})
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	if string(a.Text) != answer {
		t.Errorf("%s: counted %s, made %s", args, answer, a.Text)
	}
	if want := fmt.Sprintf(`"bytes":%d`, buf.Len()); !strings.Contains(answer, want) {
		t.Errorf("%s: %s, and the file has %s", args, answer, want)
	}
	return answer, a, buf.Bytes()
}

var fileSize = regexp.MustCompile(`"bytes":\d+`)

// A file holds what execute_query would show whoever asks, under the same checks, rules and masks (D-086, D-057).
func TestExportQuery(t *testing.T) {
	head := &policy.Principal{Name: "head", Key: "h", Roles: []string{"boss"}, Attributes: map[string]policy.Value{"team": policy.One("2")}}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		dsn := testdb.Create(t, on, queryTables+`CREATE TABLE remark (id INT PRIMARY KEY, body VARCHAR(50), n INT);
INSERT INTO remark VALUES (1, '=1+1', -2), (2, 'a,"b"', NULL), (3, '中文', 0), (4, '-x', 7);
`)
		b := queryBenchOn(t, on, dsn, "tools: [query, export]")
		for _, c := range []struct {
			who              *policy.Principal
			args, want, file string
		}{
			{member, `{"sql":"SELECT id, title, phone FROM task ORDER BY id"}`, `{"success":true,"filename":"query.csv","format":"csv","rowCount":2,"bytes":N,"truncated":false}`, "id,title,phone\n1,paint,*******1111\n2,clean,\n"},
			{head, `{"sql":"SELECT id, cost FROM task","filename":"costs"}`, `{"success":true,"filename":"costs.csv","format":"csv","rowCount":1,"bytes":N,"truncated":false}`, "id,cost\n3,9\n"},
			{member, `{"sql":"SELECT * FROM task ORDER BY id","maxRows":1,"filename":"x.CSV"}`, `{"success":true,"filename":"x.CSV","format":"csv","rowCount":1,"bytes":N,"truncated":true,"warnings":["there are more than 1 rows; narrow the statement"]}`, "id,title,team,phone\n1,paint,1,*******1111\n"},
			{member, `{"sql":"SELECT name, code, big FROM person WHERE id = ?","params":[1]}`, `{"success":true,"filename":"query.csv","format":"csv","rowCount":1,"bytes":N,"truncated":false}`, "name,code,big\nAnn,****,9007199254740993\n"},
			{member, `{"sql":"SELECT body, n FROM remark ORDER BY id"}`, `{"success":true,"filename":"query.csv","format":"csv","rowCount":4,"bytes":N,"truncated":false}`, "body,n\n'=1+1,-2\n\"a,\"\"b\"\"\",\n中文,0\n'-x,7\n"},
			{member, `{"sql":"SELECT id FROM remark WHERE id > 99","format":"csv"}`, `{"success":true,"filename":"query.csv","format":"csv","rowCount":0,"bytes":N,"truncated":false}`, "id\n"},
		} {
			answer, a, file := exported(t, b, c.who, c.args)
			if got := fileSize.ReplaceAllString(answer, `"bytes":N`); got != c.want || string(file) != "\ufeff"+c.file {
				t.Errorf("%s\n got %s %q\nwant %s %q", c.args, got, file, c.want, c.file)
			} else if a.File.Type != "text/csv" || a.File.Complete == strings.Contains(got, `"truncated":true`) || a.Rows != a.File.Rows {
				t.Errorf("%s: %+v", c.args, a.File)
			}
		}
		for args, want := range map[string]string{
			`{"sql":"DELETE FROM task"}`:                                       `SQL_NOT_READ_ONLY /sql:1:1`,
			`{"sql":"SELECT salary FROM board"}`:                               `SQL_TABLE_NOT_ALLOWED /sql:1:20`,
			`{"sql":"SELECT id FROM person WHERE code = 'abc'"}`:               `SQL_MASKED_COLUMN /sql:1:29`,
			`{"sql":"SELECT id FROM task WHERE id = ?"}`:                       `SQL_PARAM /params`,
			`{"sql":"SELECT upper(id, id, id) AS u FROM person"}`:              `SQL_SYNTAX /sql: the database does not take the statement`,
			`{"sql":"SELECT 1","format":"pdf"}`:                                `INVALID_ARGUMENT /format: there is no format "pdf" · one of: csv, xlsx`,
			`{"sql":"SELECT 1","filename":"../x"}`:                             `INVALID_ARGUMENT /filename`,
			`{"sql":"SELECT 1","filename":"a\u202ecsv.exe"}`:                   `INVALID_ARGUMENT /filename`,
			`{"sql":"SELECT 1","filename":"` + strings.Repeat("a", 101) + `"}`: `INVALID_ARGUMENT /filename`,
			`{"sql":"SELECT 1","maxRows":0}`:                                   `INVALID_ARGUMENT /maxRows: expected a whole number of at least 1 · at most 100000`,
			`{"sql":"SELECT 1","limit":1}`:                                     `INVALID_ARGUMENT /limit`,
			`{}`:                                                               `INVALID_ARGUMENT /sql`,
		} {
			if got, _, _ := exported(t, b, member, args); !strings.HasPrefix(got, want) {
				t.Errorf("%s\n got %s\nwant %s", args, got, want)
			}
		}
		answer, a, file := exported(t, b, member, `{"sql":"SELECT id, body, n FROM remark ORDER BY id","format":"xlsx","filename":"remarks"}`)
		if got := fileSize.ReplaceAllString(answer, `"bytes":N`); got != `{"success":true,"filename":"remarks.xlsx","format":"xlsx","rowCount":4,"bytes":N,"truncated":false}` || a.File.Type != "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" {
			t.Errorf("%s %s", got, a.File.Type)
		}
		sheet := sheetOf(t, file)
		for _, want := range []string{`<c r="B2" s="1" t="inlineStr"><is><t xml:space="preserve">=1+1</t></is></c><c r="C2"><v>-2</v></c>`, `<c r="A5"><v>4</v></c>`} {
			if !strings.Contains(sheet, want) {
				t.Errorf("no %s in %s", want, sheet)
			}
		}
		// The statement is one of execute_query's, so that a mask cannot be got rid of by the form either.
		if _, _, file := exported(t, b, member, `{"sql":"SELECT phone FROM task ORDER BY id","format":"xlsx"}`); strings.Contains(sheetOf(t, file), "1380000") || !strings.Contains(sheetOf(t, file), "*******1111") {
			t.Error("the workbook tells what is masked")
		}
	})
}

func sheetOf(t *testing.T, file []byte) string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := z.Open("xl/worksheets/sheet1.xml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A file ends where it would become too large, or after 100,000 rows, and says so.
func TestExportQueryLimits(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		dsn := testdb.Create(t, on, queryTables+`CREATE TABLE wide (id INT PRIMARY KEY, body VARCHAR(4000));
CREATE TABLE ten (id INT PRIMARY KEY);
INSERT INTO ten VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
INSERT INTO wide VALUES (1, '`+strings.Repeat("abcdefghij", 400)+`');
`)
		b := queryBenchOn(t, on, dsn, "tools: [query, export]")
		for args, want := range map[string]string{
			`{"sql":"SELECT a.id FROM ten a, ten b, ten c, ten d, ten e, ten f"}`:         `"rowCount":100000,"bytes":N,"truncated":true,"warnings":["there are more than 100000 rows; narrow the statement"]}`,
			`{"sql":"SELECT a.id FROM ten a, ten b, ten c, ten d, ten e"}`:                `"rowCount":100000,"bytes":N,"truncated":false}`,
			`{"sql":"SELECT body FROM wide, ten a, ten b, ten c, ten d, ten e"}`:          `"rowCount":2620,"bytes":N,"truncated":true,"warnings":["the file was cut at 2620 rows because it would be too large; narrow the statement"]}`,
			`{"sql":"SELECT body FROM wide, ten a, ten b, ten c, ten d","format":"xlsx"}`: `"rowCount":10000,"bytes":N,"truncated":false}`,
		} {
			a, err := b.engine.CallTool(t.Context(), member, engine.Call{Tool: "export_query", Args: []byte(args)})
			if err != nil {
				t.Fatalf("%s: %v", args, err)
			}
			if got := fileSize.ReplaceAllString(string(a.Text), `"bytes":N`); !strings.HasSuffix(got, want) {
				t.Errorf("%s\n got %s\nwant … %s", args, got, want)
			}
		}
	})
}

// A fault of rows that are not seen is none, and the file of the run without them has nothing of the one that failed.
func TestExportQueryFence(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		dsn := testdb.Create(t, on, queryTables)
		// A rule that takes longer than the statement's own condition is tried behind it.
		b := newBench(t, on, fstest.MapFS{"q.yaml": queryConnection(on, dsn, "tools: [query, export]"), "c.yaml": {Data: []byte(`version: 1
resources:
  - code: Task
    table: task
    connection: q
    key: id
    rows: {type: or, exprs: [` + strings.Repeat(`{field: title, operator: REGEXP, token: "never"}, `, 8) + `{field: team, operator: "=", tokenType: principal, token: team}]}
    fields: {id: integer, title: {type: string, maxLength: 50}, team: integer, cost: integer}
`)}}, map[string]string{"main": dsn})
		if _, _, file := exported(t, b, member, `{"sql":"SELECT id FROM task WHERE cost + 2147483639 > 0"}`); string(file) != "\ufeffid\n1\n2\n" && string(file) != "\ufeffid\n2\n1\n" {
			t.Errorf("%q", file)
		}
	})
}

// The tool is there where a connection has it, and nowhere else.
func TestExportQueryIsOffByDefault(t *testing.T) {
	on := testdb.Engines(t)[0]
	b := queryBench(t, on, "")
	if got := askTool(t, b, member, "export_query", `{"sql":"SELECT 1"}`); !strings.HasPrefix(got, "UNKNOWN_TOOL") {
		t.Errorf("%s", got)
	}
	for _, c := range b.engine.Tools("en") {
		if c.Name == "export_query" || c.File {
			t.Errorf("%s is listed", c.Name)
		}
	}
}
