package engine_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/policy"
	"resq/testdb"
)

// metadataTables have what each of the tools tells of. Where a database has a word of its own, it stands in place of a name
// in capitals.
const metadataTables = `CREATE TABLE team (id INT NOT NULL PRIMARY KEY, name VARCHAR(50) NOT NULL, UNIQUE (name));
INSERT INTO team VALUES (1, 'red'), (2, 'blue');
CREATE TABLE task (id INT NOT NULL PRIMARY KEY, title VARCHAR(50) NOT NULL, team INT, phone VARCHAR(20), cost INT, state INT DEFAULT 1, made_on DATE,
  CONSTRAINT task_state CHECK (state >= 0), CONSTRAINT task_cost CHECK (cost >= 0), CONSTRAINT task_team FOREIGN KEY (team) REFERENCES team (id) ON DELETE CASCADE);
CREATE INDEX task_title ON task (title, state DESC);
CREATE INDEX task_paid ON task (team, cost);
INSERT INTO task VALUES (1, 'paint', 1, '13800001111', 7, 1, '2024-01-05'), (2, 'clean', 1, NULL, 8, 1, '2024-03-01'), (3, 'secret', 2, '13800002222', 9, 0, '2025-01-01');
CREATE TABLE person (id INT NOT NULL PRIMARY KEY, name VARCHAR(50), code VARCHAR(20), born DATE, wage DECIMAL(10,2), task_id INT, CONSTRAINT person_task FOREIGN KEY (task_id) REFERENCES task (id));
INSERT INTO person VALUES (1, 'Ann', 'abc', '1990-02-03', 10.5, 1), (2, 'Bo', NULL, NULL, 20, 1), (3, 'Cy', 'x', '2000-02-03', NULL, NULL);
CREATE TABLE board (id INT NOT NULL PRIMARY KEY, salary INT, task_id INT, FOREIGN KEY (task_id) REFERENCES task (id));
INSERT INTO board VALUES (1, 100, 1);
CREATE VIEW task_names AS SELECT id, title FROM task;
CREATE VIEW people AS SELECT id, name FROM person;
CREATE TABLE resq_own (id INT PRIMARY KEY);
CREATE TABLE agent_api_key (id INT PRIMARY KEY);
`

const metadataCatalog = `version: 1
resources:
  - code: Task
    table: task
    connection: q
    key: id
    rows: {type: and, exprs: [{field: team, operator: "=", tokenType: principal, token: team}]}
    fields: {id: integer, title: {type: string, maxLength: 50}, team: integer, phone: {type: string, maxLength: 20, mask: last4}, cost: {type: integer, roles: [boss]}, state: integer, made_on: date}
  - {code: Board, table: board, connection: q, key: id, roles: [boss], fields: {id: integer, salary: integer, task_id: integer}}
masking: {person: {code: redact}}
annotations:
  task:
    entity: work_item
    description: What is to be done
    columns: {STATE: "1 = open, 0 = done", cost: what the boss knows}
    relations:
      - {table: team, join: {team: id}, cardinality: many-to-one}
      - {table: board, join: {id: task_id}, cardinality: one-to-many}
    filters: [{sql: "state = 1", columns: [state], reason: done ones stay}]
  person: {entity: worker, description: Who works}
`

// homeOf is the schema in which a test's tables are.
func homeOf(on testdb.Engine, dsn string) string {
	switch on.Name {
	case testdb.SQLite:
		return "main"
	case testdb.Postgres:
		if _, rest, ok := strings.Cut(dsn, "search_path="); ok {
			s, _, _ := strings.Cut(rest, "&")
			return s
		}
		return "public"
	}
	_, s, _ := strings.Cut(strings.TrimPrefix(dsn, "mysql://"), "/")
	s, _, _ = strings.Cut(s, "?")
	return s
}

func metadataBench(t testing.TB, on testdb.Engine, rows, keys string) (*bench, string) {
	dsn := testdb.Create(t, on, rows)
	home := homeOf(on, dsn)
	return newBench(t, on, fstest.MapFS{"q.yaml": queryConnection(on, dsn, fmt.Sprintf("tools: [metadata, query], schemas: [%s]%s", home, keys)), "c.yaml": {Data: []byte(metadataCatalog)}},
		map[string]string{"main": dsn}, func(o *engine.Options) { o.Control = dsn }), home
}

var chief = &policy.Principal{Name: "head", Key: "h", Roles: []string{"boss"}, Attributes: map[string]policy.Value{"team": policy.One("2")}}

// What the tools of the group metadata tell is one on all databases, with notes where they are, and without what the caller
// may not see (D.7, D-042, D-055, D-070, D-071).
func TestMetadataTools(t *testing.T) {
	const (
		end  = `,"limitApplied":1000,"truncated":false}`
		task = `{"schema":"S","table":"task","kind":"table","entity":"work_item","business_description":"What is to be done","resources":["Task"]}`
		team = `{"schema":"S","table":"team","kind":"table"}`
		unit = `{"name":"id","type":"integer","nullable":false},{"name":"title","type":"string","nullable":false},{"name":"team","type":"integer","nullable":true},{"name":"phone","type":"string","mask":"last4","nullable":true},`
		rest = `{"name":"state","type":"integer","business_description":"1 = open, 0 = done","nullable":true,"default":"1"},{"name":"made_on","type":"date","nullable":true}],"primary_key":["id"],"relations":[{"table":"team","join":{"team":"id"},"cardinality":"many-to-one"}`
		said = `{"success":true,"schema":"S","table":"task","kind":"table","entity":"work_item","business_description":"What is to be done","resources":["Task"],"columns":[`
		none = `"warnings":["row rules hold on this table, so that what the database keeps of all of its rows is not told; compute counts those that are there"]`
		skip = `"warnings":["the rows of task usually need the condition state = 1: done ones stay"],"skippedFilters":[{"table":"task","sql":"state = 1","reason":"done ones stay"}]`
	)
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b, home := metadataBench(t, on, metadataTables, "")
		for _, c := range []struct {
			who              *policy.Principal
			tool, args, want string
		}{
			{member, "list_schemas", `{}`, `{"success":true,"data":[{"schema":"S","default":true,"tables":3,"views":2}],"rowCount":1` + end},
			{chief, "list_schemas", `{}`, `{"success":true,"data":[{"schema":"S","default":true,"tables":4,"views":2}],"rowCount":1` + end},
			{member, "list_schemas", `{"filter":"no*such"}`, `{"success":true,"data":[],"rowCount":0` + end},
			{member, "list_tables", `{"filter":"T%"}`, `{"success":true,"data":[` + task + `,` + team + `],"rowCount":2` + end},
			{chief, "list_tables", `{"filter":"oar"}`, `{"success":true,"data":[{"schema":"S","table":"board","kind":"table","resources":["Board"]}],"rowCount":1` + end},
			{member, "list_tables", `{"filter":"oar"}`, `{"success":true,"data":[],"rowCount":0` + end},
			{member, "list_views", `{}`, `{"success":true,"data":[{"schema":"S","table":"people","kind":"view"},{"schema":"S","table":"task_names","kind":"view"}],"rowCount":2` + end},
			{member, "search_tables", `{"filter":"t*","limit":1}`, `{"success":true,"data":[` + task + `],"rowCount":1,"limitApplied":1,"truncated":true,"warnings":["there are more than 1 entries; narrow the arguments"]}`},
			{member, "search_tables", `{"filter":"e%","include_system":true}`, `{"success":true,"data":[],"rowCount":0` + end},
			{member, "search_columns", `{"filter":"CO_"}`, `{"success":true,"data":[],"rowCount":0` + end},
			{member, "search_columns", `{"filter":"co%"}`, `{"success":true,"data":[{"schema":"S","table":"person","kind":"table","column":"code","type":"string","mask":"redact"}],"rowCount":1` + end},
			{chief, "search_columns", `{"filter":"cost"}`, `{"success":true,"data":[{"schema":"S","table":"task","kind":"table","column":"cost","type":"integer","business_description":"what the boss knows"}],"rowCount":1` + end},
			{member, "describe_table", `{"table":"TASK"}`, said + unit + rest + `]}`},
			{chief, "describe_table", `{"table":"task"}`, said + unit + `{"name":"cost","type":"integer","business_description":"what the boss knows","nullable":true},` + rest + `,{"table":"board","join":{"id":"task_id"},"cardinality":"one-to-many"}]}`},
			{member, "describe_table", `{"table":"people"}`, `{"success":true,"schema":"S","table":"people","kind":"view","columns":[{"name":"id","type":"integer","nullable":true},{"name":"name","type":"string","nullable":true}],"primary_key":[]}`},
			{member, "list_indexes", `{"table":"task"}`, `{"success":true,"data":[{"index":"PK","unique":true,"primary":true,"columns":[{"column":"id"}]},{"index":"task_title","unique":false,"primary":false,"columns":[{"column":"title"},{"column":"state","descending":true}]}],"rowCount":2` + end},
			{member, "get_table_constraints", `{"table":"task"}`, `{"success":true,"data":[{"type":"primary key","columns":["id"]},{"type":"foreign key","columns":["team"],"referenced_schema":"S","referenced_table":"team","referenced_columns":["id"],"on_delete":"CASCADE"},{"type":"check","name":"task_state","condition":"state >= 0"}],"rowCount":3` + end},
			{member, "get_related_objects", `{"table":"task"}`, `{"success":true,"data":[{"relation":"refers to","type":"table","schema":"S","name":"team","columns":["team"],"other_columns":["id"]},{"relation":"referred to by","type":"table","schema":"S","name":"person","columns":["id"],"other_columns":["task_id"]},` +
				`{"relation":"read by","type":"view","schema":"S","name":"task_names"},{"relation":"index of","type":"index","schema":"S","name":"task_title"}],"rowCount":4` + end},
			{member, "profile_table", `{"table":"task"}`, `{"success":true,"schema":"S","table":"task","kind":"table","mode":"stored","source":"none","rows":null,"columns":[{"name":"id","type":"integer"},{"name":"title","type":"string"},{"name":"team","type":"integer"},{"name":"phone","type":"string"},{"name":"state","type":"integer"},{"name":"made_on","type":"date"}],"truncated":false,"masked":["phone"],` + none + `}`},
			{member, "profile_table", `{"table":"task","compute":true,"columns":["phone","TITLE","made_on"]}`, `{"success":true,"schema":"S","table":"task","kind":"table","mode":"computed","source":"computed","rows":2,"columns":[{"name":"phone","type":"string","distinct":1,"nulls":1},{"name":"title","type":"string","distinct":2,"nulls":0,"min":"clean","max":"paint"},{"name":"made_on","type":"date","distinct":2,"nulls":0,"min":"2024-01-05","max":"2024-03-01"}],"truncated":false,"masked":["phone"],` + skip + `}`},
			{member, "profile_table", `{"table":"person","compute":true}`, `{"success":true,"schema":"S","table":"person","kind":"table","mode":"computed","source":"computed","rows":3,"columns":[{"name":"id","type":"integer","distinct":3,"nulls":0,"min":1,"max":3},{"name":"name","type":"string","distinct":3,"nulls":0,"min":"Ann","max":"Cy"},{"name":"code","type":"string","distinct":2,"nulls":1},` +
				`{"name":"born","type":"date","distinct":2,"nulls":1,"min":"1990-02-03","max":"2000-02-03"},{"name":"wage","type":"decimal(10,2)","distinct":2,"nulls":1,"min":10.50,"max":20.00},{"name":"task_id","type":"integer","distinct":1,"nulls":1,"min":1,"max":1}],"truncated":false,"masked":["code"]}`},

			{member, "get_business_context", `{"table":"task"}`, `{"success":true,"data":[{"table":"task","entity":"work_item","description":"What is to be done","columns":{"STATE":"1 = open, 0 = done"},"relations":[{"table":"team","join":{"team":"id"},"cardinality":"many-to-one"}],` +
				`"filters":[{"sql":"state = 1","columns":["state"],"reason":"done ones stay"}]}],"rowCount":1}`},

			{member, "describe_table", `{}`, `INVALID_ARGUMENT /table: missing table`},
			{member, "describe_table", `{"table":"board"}`, `SQL_TABLE_NOT_ALLOWED /table: there is no table "board" here`},
			{member, "describe_table", `{"table":"resq_own"}`, `SQL_TABLE_NOT_ALLOWED /table: there is no table "resq_own" here`},
			{member, "list_indexes", `{"table":"agent_api_key"}`, `SQL_TABLE_NOT_ALLOWED /table: there is no table "agent_api_key" here`},
			{member, "list_tables", `{"schema":"information_schema"}`, `INVALID_ARGUMENT /schema: there is no schema "information_schema" here · list_schemas has those that there are`},
			{member, "list_tables", `{"schema":"nowhere"}`, `INVALID_ARGUMENT /schema: there is no schema "nowhere" here · list_schemas has those that there are`},
			{member, "list_tables", `{"nothing":1}`, `INVALID_ARGUMENT /nothing`},
			{member, "search_columns", `{}`, `INVALID_ARGUMENT /filter: missing filter`},
			{member, "search_columns", `{"filter":"a","limit":0}`, `INVALID_ARGUMENT /limit`},
			{member, "get_object_ddl", `{"object":"task","type":"view"}`, `INVALID_ARGUMENT /type: "task" is a table · table`},
			{member, "get_object_ddl", `{"object":"task_paid","type":"index"}`, `SQL_TABLE_NOT_ALLOWED /object: there is no index "task_paid" here`},
			{member, "profile_table", `{"table":"task","columns":["id","cost"]}`, `UNKNOWN_FIELD /columns/1: there is no column "cost" here`},
			{member, "profile_table", `{"table":"board","compute":true}`, `SQL_TABLE_NOT_ALLOWED /table: there is no table "board" here`},
		} {
			got := alike(askTool(t, b, c.who, c.tool, c.args), home)
			if got != c.want && (c.want[0] == '{' || !strings.HasPrefix(got, c.want)) {
				t.Errorf("%s %s as %s\n got %s\nwant %s", c.tool, c.args, c.who.Name, got, c.want)
			}
		}
		for _, c := range []struct{ args, want string }{
			{`{"object":"task"}`, `CREATE TABLE S.task (\n  id N NOT NULL,\n  title C(50) NOT NULL,\n  team N,\n  phone C(20),\n  state N DEFAULT 1,\n  made_on date,\n  PRIMARY KEY (id),\n  FOREIGN KEY (team) REFERENCES S.team (id) ON DELETE CASCADE,\n  CONSTRAINT task_state CHECK (state >= 0)\n)"}`},
			{`{"object":"TASK_TITLE","type":"index"}`, `CREATE INDEX task_title ON S.task (title, state DESC)"}`},
			{`{"object":"people","type":"view"}`, `CREATE VIEW S.people AS `},
		} {
			got := askTool(t, b, member, "get_object_ddl", c.args)
			for _, x := range [][2]string{{"`", ""}, {`\"`, ""}, {" " + home + ".", " S."}, {" ON task", " ON S.task"}, {"((state >= 0))", "(state >= 0)"}, {" int(11)", " N"}, {" integer", " N"}, {" int", " N"}, {"character varying", "C"}, {"varchar", "C"}, {"CONSTRAINT task_team ", ""}} {
				got = strings.ReplaceAll(got, x[0], x[1])
			}
			if !strings.Contains(got, `"ddl":"`+c.want) {
				t.Errorf("get_object_ddl %s\n got %s\nwant %s", c.args, got, c.want)
			}
		}
	})
}

var ownWords = regexp.MustCompile(`,"database_type":"[^"]*"|"name":"task_team",|"name":"person_task",`)

// alike takes the words of one database alone out of an answer: the names of schemas, types and keys.
func alike(answer, home string) string {
	s := ownWords.ReplaceAllString(strings.ReplaceAll(strings.ReplaceAll(answer, "\n", ""), `"`+home+`"`, `"S"`), "")
	return strings.NewReplacer(`"sqlite_autoindex_task_1"`, `"PK"`, `"PRIMARY"`, `"PK"`, `"task_pkey"`, `"PK"`, "`", "", `"(state >= 0)"`, `"state >= 0"`).Replace(s)
}
