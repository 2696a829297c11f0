package engine_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/testdb"
)

// metadataCalls ask all that the tools can be asked of the tables of metadataTables.
func metadataCalls() (calls [][2]string) {
	for _, tool := range []string{"list_tables", "list_views"} {
		calls = append(calls, [2]string{tool, `{}`}, [2]string{tool, `{"filter":"%a%"}`})
	}
	calls = append(calls, [2]string{"list_schemas", `{}`}, [2]string{"list_tables", `{"schema":"nowhere"}`}, [2]string{"search_tables", `{"filter":"%"}`}, [2]string{"search_columns", `{"filter":"%"}`}, [2]string{"search_columns", `{"filter":"%","limit":7}`})
	for _, table := range []string{"task", "team", "person", "board", "extra", "people", "task_names", "hidden_view"} {
		for _, tool := range []string{"describe_table", "list_indexes", "get_table_constraints", "get_related_objects", "profile_table"} {
			calls = append(calls, [2]string{tool, `{"table":"` + table + `"}`})
		}
		if table != "task_names" { // a view over a table with rules, of which nothing is told but its structure
			calls = append(calls, [2]string{"profile_table", `{"table":"` + table + `","compute":true}`})
		}
		calls = append(calls, [2]string{"profile_table", `{"table":"` + table + `","columns":["cost","bonus"]}`},
			[2]string{"get_object_ddl", `{"object":"` + table + `"}`}, [2]string{"get_object_ddl", `{"object":"` + table + `","type":"view"}`})
	}
	for _, index := range []string{"task_title", "task_paid", "task_bonus", "board_salary"} {
		calls = append(calls, [2]string{"get_object_ddl", `{"object":"` + index + `","type":"index"}`})
	}
	return calls
}

// Rows, columns and tables that the caller may not see change no answer of any tool of the group (security.md 5.1). The values
// behind masks are the same in both worlds: their counts are told (D-055).
func TestMetadataTellsNothingHidden(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		more := `CREATE TABLE extra (id INT NOT NULL PRIMARY KEY, secret INT, task_id INT, FOREIGN KEY (task_id) REFERENCES task (id));
INSERT INTO extra VALUES (1, 5, 1);
CREATE TABLE resq_more (id INT PRIMARY KEY);
ALTER TABLE task ADD COLUMN bonus INT;
ALTER TABLE task ADD COLUMN boss_id INT;
CREATE INDEX task_bonus ON task (title, bonus);
CREATE UNIQUE INDEX task_boss ON task (boss_id);
CREATE INDEX board_salary ON board (salary);
INSERT INTO task (id, title, team, phone, cost, state, made_on, bonus, boss_id) VALUES (900, 'zzz', 2, '9', 100, 2, '1970-01-01', 3, 4), (901, '', NULL, NULL, NULL, NULL, NULL, 4, 5);
INSERT INTO board VALUES (2, 7, 900);
`
		if on.Name != testdb.SQLite {
			more += "ALTER TABLE task ADD CONSTRAINT task_bonus CHECK (bonus > state);\nALTER TABLE task ADD CONSTRAINT task_boss_fk FOREIGN KEY (boss_id) REFERENCES task (boss_id);\n"
		}
		catalog := strings.Replace(metadataCatalog, "masking:", "  - {code: Extra, table: extra, connection: q, key: id, roles: [boss], fields: {id: integer, secret: integer}}\nmasking:", 1)
		var answers [2][]string
		for i, rows := range []string{metadataTables, metadataTables + more} {
			rows = strings.Replace(rows, "CREATE TABLE agent_api_key (id INT PRIMARY KEY);\n", "", 1-i)
			dsn := testdb.Create(t, on, rows)
			home := homeOf(on, dsn)
			b := newBench(t, on, fstest.MapFS{"q.yaml": queryConnection(on, dsn, fmt.Sprintf("tools: [metadata], schemas: [%s]", home)), "c.yaml": {Data: []byte(catalog)}}, map[string]string{"main": dsn},
				func(o *engine.Options) { o.Control = dsn })
			for _, c := range metadataCalls() {
				// When a table was written to last is the clock's.
				answers[i] = append(answers[i], lastChange.ReplaceAllString(strings.ReplaceAll(askTool(t, b, member, c[0], c[1]), home, "S"), ""))
			}
		}
		for i, c := range metadataCalls() {
			if answers[0][i] != answers[1][i] {
				t.Errorf("%s %s\n without %s\n    with %s", c[0], c[1], answers[0][i], answers[1][i])
			}
		}
	})
}

// What a database keeps of a table is told once it was analysed, to who sees every row; never values.
func TestStoredStatistics(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		var rows strings.Builder
		rows.WriteString(metadataTables)
		for i := range 100 {
			fmt.Fprintf(&rows, "INSERT INTO team VALUES (%d, 'n%d');\n", 10+i, i)
		}
		rows.WriteString("CREATE INDEX person_name ON person (name);\nDELETE FROM person;\n")
		for i := range 60 {
			fmt.Fprintf(&rows, "INSERT INTO person VALUES (%d, 'p%d', 'c%d', NULL, %d, NULL);\n", i, i%6, i, i%3)
		}
		switch on.Name {
		case testdb.MySQL:
			rows.WriteString("ANALYZE TABLE person PERSISTENT FOR ALL;\nANALYZE TABLE task PERSISTENT FOR ALL;\n")
		default:
			rows.WriteString("ANALYZE;\n")
		}
		b, home := metadataBench(t, on, rows.String(), "")
		got := alike(askTool(t, b, member, "profile_table", `{"table":"person","columns":["id","name","code"]}`), home)
		for _, want := range []string{`"mode":"stored","source":"stored","rows":60`, `{"name":"id","type":"integer","distinct":60`, `{"name":"name","type":"string","distinct":6`, `"masked":["code"]`} {
			if !strings.Contains(got, want) {
				t.Errorf("got %s\nwant %s", got, want)
			}
		}
		if strings.Contains(got, `"min"`) || strings.Contains(got, "c1") {
			t.Errorf("values: %s", got)
		}
		if got := alike(askTool(t, b, member, "profile_table", `{"table":"task"}`), home); !strings.Contains(got, `"source":"none","rows":null,"columns":[{"name":"id","type":"integer"},`) {
			t.Errorf("of a table with rules: %s", got)
		}
	})
}

// Routines are told with their parameters; one whose values are rows of a table that the caller does not see is not there.
func TestRoutines(t *testing.T) {
	for _, on := range testdb.Engines(t) {
		if on.Name == testdb.SQLite {
			continue // has none
		}
		t.Run(on.Name, func(t *testing.T) {
			more := "CREATE FUNCTION twice (n INT) RETURNS INT DETERMINISTIC RETURN n * 2;\nCREATE PROCEDURE clean_up (IN since DATE, OUT removed INT) SET removed = 0;\nCREATE FUNCTION resq_inner () RETURNS INT DETERMINISTIC RETURN 1;\n"
			if on.Name == testdb.Postgres {
				more = "CREATE FUNCTION twice (n integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT n * 2';\nCREATE PROCEDURE clean_up (IN since date, OUT removed integer) LANGUAGE sql AS 'SELECT 0';\n" +
					"CREATE FUNCTION resq_inner () RETURNS integer LANGUAGE sql AS 'SELECT 1';\nCREATE FUNCTION pay () RETURNS SETOF board LANGUAGE sql AS 'SELECT * FROM board';\nCREATE FUNCTION crew (t team[]) RETURNS integer LANGUAGE sql AS 'SELECT 1';\n"
			}
			b, home := metadataBench(t, on, metadataTables+more, ", functions: [twice]")
			word := func(s string) string {
				s = alike(s, home)
				for _, x := range [][2]string{{"int(11)", "integer"}} {
					s = strings.ReplaceAll(s, x[0], x[1])
				}
				return specificName.ReplaceAllString(s, "")
			}
			const (
				end   = `,"limitApplied":1000,"truncated":false}`
				twice = `{"schema":"S","routine":"twice","type":"function","returns":"integer","callable":true`
				clean = `{"schema":"S","routine":"clean_up","type":"procedure"`
			)
			for _, c := range []struct{ tool, args, want string }{
				{"list_routines", `{"filter":"t*e"}`, `{"success":true,"data":[` + twice + `}],"rowCount":1` + end},
				{"list_routines", `{"type":"procedure"}`, `{"success":true,"data":[` + clean + `}],"rowCount":1` + end},
				{"list_routines", `{"filter":"resq"}`, `{"success":true,"data":[],"rowCount":0` + end},
				{"list_routines", `{"filter":"pay"}`, `{"success":true,"data":[],"rowCount":0` + end},
				{"describe_routine", `{"name":"TWICE"}`, `{"success":true,"data":[` + twice + `,"parameters":[{"name":"n","mode":"IN","type":"integer"}]}],"rowCount":1` + end},
				{"describe_routine", `{"name":"clean_up"}`, `{"success":true,"data":[` + clean + `,"parameters":[{"name":"since","mode":"IN","type":"date"},{"name":"removed","mode":"OUT","type":"integer"}]}],"rowCount":1` + end},
				{"describe_routine", `{"name":"pay"}`, `INVALID_ARGUMENT /name: there is no routine "pay" here`},
				{"describe_routine", `{"name":"twice","specific_name":"other"}`, `INVALID_ARGUMENT /specific_name: there is no such one of "twice"`},
			} {
				if got := word(askTool(t, b, member, c.tool, c.args)); got != c.want && (c.want[0] == '{' || !strings.HasPrefix(got, c.want)) {
					t.Errorf("%s %s\n got %s\nwant %s", c.tool, c.args, got, c.want)
				}
			}
			if on.Name == testdb.Postgres {
				if got := word(askTool(t, b, chief, "list_routines", `{"filter":"pay"}`)); !strings.Contains(got, `"returns":"setof board"`) && !strings.Contains(got, `"returns":"SETOF board"`) {
					t.Errorf("as chief: %s", got)
				}
				if got := word(askTool(t, b, member, "list_routines", `{"filter":"crew"}`)); !strings.Contains(got, `"routine":"crew"`) {
					t.Errorf("of rows that are seen: %s", got)
				}
			}
		})
	}
}

// Indexes, computed columns and checks of every form are understood (SQLite keeps them as text alone), in the words of the
// database.
func TestMetadataForms(t *testing.T) {
	forms := map[string]string{
		testdb.SQLite: "CREATE TABLE form (id INTEGER PRIMARY KEY, \"odd name\" TEXT DEFAULT 'a, b)', n INT CHECK (n > 0 AND n <> 7) /* ) */, twice INT GENERATED ALWAYS AS (n * 2) VIRTUAL, -- check (x)\n CONSTRAINT \"its\" CHECK (\"odd name\" <> ')'));\n" +
			"CREATE UNIQUE INDEX form_low ON form (lower(\"odd name\"), n DESC) WHERE n > 1;\nCREATE TRIGGER form_made AFTER UPDATE OF n ON form BEGIN SELECT 1; END;\n",
		testdb.MySQL: "CREATE TABLE form (id INT AUTO_INCREMENT PRIMARY KEY, `odd name` VARCHAR(20) DEFAULT 'a, b)', n INT CHECK (n > 0 AND n <> 7), twice INT GENERATED ALWAYS AS (n * 2) VIRTUAL, CONSTRAINT its CHECK (`odd name` <> ')'));\n" +
			"CREATE UNIQUE INDEX form_low ON form (`odd name`(5), n DESC);\nCREATE TRIGGER form_made AFTER UPDATE ON form FOR EACH ROW SET @x = 1;\n",
		testdb.Postgres: "CREATE TABLE form (id SERIAL PRIMARY KEY, \"odd name\" VARCHAR(20) DEFAULT 'a, b)', n INT CHECK (n > 0 AND n <> 7), twice INT GENERATED ALWAYS AS (n * 2) STORED, CONSTRAINT its CHECK (\"odd name\" <> ')'));\n" +
			"CREATE UNIQUE INDEX form_low ON form (lower(\"odd name\"), n DESC) INCLUDE (twice) WHERE n > 1;\nCREATE FUNCTION form_f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';\nCREATE TRIGGER form_made AFTER UPDATE ON form FOR EACH ROW EXECUTE FUNCTION form_f();\n",
	}
	index := map[string]string{
		testdb.SQLite:   `{"index":"form_low","unique":true,"primary":false,"columns":[{"expression":"lower(\"odd name\")"},{"column":"n","descending":true}],"where":"n > 1"}`,
		testdb.MySQL:    `{"index":"form_low","unique":true,"primary":false,"columns":[{"column":"odd name","length":5},{"column":"n","descending":true}]}`,
		testdb.Postgres: `{"index":"form_low","unique":true,"primary":false,"columns":[{"expression":"lower(\"odd name\"::text)"},{"column":"n","descending":true}],"included":["twice"],"where":"(n > 1)"}`,
	}
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b, home := metadataBench(t, on, metadataTables+forms[on.Name], "")
		for _, c := range []struct {
			tool, args string
			want       []string
		}{
			{"describe_table", `{"table":"form"}`, []string{`{"name":"id","type":"integer","nullable":false,"counted":true}`, `"default":"'a, b)'`, `{"name":"twice","type":"integer","nullable":true,"computed":true}`, `"primary_key":["id"]`}},
			{"list_indexes", `{"table":"form"}`, []string{index[on.Name]}},
			{"get_related_objects", `{"table":"form"}`, []string{`{"relation":"trigger of","type":"trigger","schema":"S","name":"form_made","timing":"AFTER","events":["UPDATE"]}`}},
			{"get_table_constraints", `{"table":"form"}`, []string{`"type":"check","name":"its","condition":"`, `n > 0`, `n <> 7`}},
			{"get_object_ddl", `{"object":"form"}`, []string{"GENERATED ALWAYS AS (", "DEFAULT 'a, b)'"}},
		} {
			got := alike(askTool(t, b, member, c.tool, c.args), home)
			for _, w := range c.want {
				if !strings.Contains(got, w) {
					t.Errorf("%s\n got %s\nwant %s", c.tool, got, w)
				}
			}
		}
		if got := askTool(t, b, member, "get_table_constraints", `{"table":"form"}`); strings.Count(got, `"check"`) != 2 || strings.Contains(got, `"unique"`) {
			t.Errorf("%s", got)
		}
		// What is made of the parts is taken by the database again.
		ddl := made(t, askTool(t, b, member, "get_object_ddl", `{"object":"form"}`))
		index := made(t, askTool(t, b, member, "get_object_ddl", `{"object":"form_low","type":"index"}`))
		dsn := testdb.Create(t, on)
		ddl, index = strings.ReplaceAll(ddl, home, homeOf(on, dsn)), strings.ReplaceAll(index, home, homeOf(on, dsn))
		testdb.Exec(t, on, dsn, ddl+";\n", index+";\n")
	})
}

var lastChange = regexp.MustCompile(`,"last_change":"[^"]*"`)

var specificName = regexp.MustCompile(`"specific_name":"[^"]*",`)

// made is the statement that an answer of get_object_ddl has.
func made(t *testing.T, answer string) string {
	x, ok := decodeAnswer(answer)
	text, is := x["ddl"].(string)
	if !ok || !is {
		t.Fatal(answer)
	}
	return text
}
