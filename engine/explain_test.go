package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"resq/engine"
	"resq/engine/policy"
	"resq/testdb"
)

// What decides for a principal is told: the case, the sets with their sizes, what is masked and hidden, and the SQL; and of
// the arguments' values only what may be told.
func TestReport(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		b := newAgents(t, on)
		report := func(user int, tool, raw string, values bool) (*engine.Report, string) {
			t.Helper()
			r, err := b.engine.Report(context.Background(), userOf(user), tool, []byte(raw), values)
			if err != nil {
				t.Fatal(err)
			}
			return r, r.Text([]string{"res-query"}, values)
		}
		b.recorder.Reset()
		_, text := report(2, "res-query", every("Site"), false)
		contains(t, text, "user: 2\n", "tools: res-query\n", "rows of Site: rule by_agent, case 3, condition; set agents: 4 of at most 1000000; set auth_props: 1 of at most 10000\n", "\n-- m1\nSELECT ", ": integer\n")
		if strings.Contains(text, " = ") && strings.Contains(text, "integer = ") {
			t.Errorf("values are shown: %s", text)
		}
		for _, s := range b.recorder.Texts() {
			if strings.Contains(s.SQL, "site") {
				t.Errorf("the request ran: %s", s.SQL)
			}
		}
		_, text = report(2, "res-query", every("Site"), true)
		contains(t, text, "integer = 10\n", "agentId=10", "UserRolesUuid=r-1,r-2")
		// Attributes are the same texts on every database, whatever its own types are.
		_, text = report(1, "", "", true)
		contains(t, text, "UserRolesUuid=r-1 UserUuid=u-head agentId=100 isagent=0 limit=10.50 saleFlag=false userId=1\n")
		_, text = report(1, "res-query", every("Site"), false)
		contains(t, text, "rows of Site: rule by_agent, case 2, all\n")
		_, text = report(3, "res-query", every("Watch"), false)
		contains(t, text, "refused: DATA_INTEGRITY_ERROR", "rows of Watch: condition; set both_sides: a set of the row rules holds more values than its bound of 5\n")
		_, text = report(4, "res-query", every("Site"), false)
		contains(t, text, "set agents: an attribute is missing, so no row")
		r, text := report(99, "", "", false)
		contains(t, text, "user is: not there", "rows of Site: rule by_agent, no case, none\n")
		if !r.Nobody || len(r.Attributes) != 0 {
			t.Errorf("%+v", r)
		}
		_, text = report(2, "res-update", `{"resource":"Site","ids":[1],"data":{"name":"x"}}`, false)
		contains(t, text, "rows of Site: rule by_agent, case 3", "SELECT ")
		if _, err := b.engine.Report(context.Background(), userOf(2), "res-undo", nil, false); err == nil {
			t.Error("a tool without requests was explained")
		}
	})
}

const maskedCatalog = `
version: 1
sets:
  mine: {bound: 100000, query: {resource: Contact, fields: [{code: id}], conditions: {type: and, exprs: [{field: phone, operator: "=", tokenType: principal, token: phone}]}}}
resources:
  - code: Contact
    connection: main
    table: contact
    fields: {id: integer, owner: integer, phone: {type: string, mask: last4}, salary: {type: integer, roles: [payroll]}}
    rows: {type: or, exprs: [{field: phone, operator: "=", tokenType: principal, token: phone}, {field: owner, operator: "=", tokenType: principal, token: owner}]}
  - {code: Call, connection: main, table: call_, fields: {id: integer, contact: integer}, rows: {type: and, exprs: [{field: contact, operator: IN, tokenType: query, query: {resource: Contact, fields: [{code: id}]}}]}}
`

// The value that a rule compares a masked field with is shown to nobody.
func TestReportMasks(t *testing.T) {
	testdb.Each(t, func(t *testing.T, on testdb.Engine) {
		dsn := testdb.Create(t, on, "CREATE TABLE contact (id INTEGER PRIMARY KEY, owner INTEGER, phone VARCHAR(20), salary INTEGER);\nCREATE TABLE call_ (id INTEGER PRIMARY KEY, contact INTEGER);")
		b := newBench(t, on, fstest.MapFS{"catalog.yaml": {Data: []byte(maskedCatalog)}}, map[string]string{"main": dsn})
		who := &policy.Principal{Name: "p", Scopes: []string{"read"}, Attributes: map[string]policy.Value{"phone": policy.One("13800005678"), "owner": policy.One("77")}}
		for _, resource := range []string{"Contact", "Call"} {
			r, err := b.engine.Report(context.Background(), who, "res-query", []byte(`{"resource":"`+resource+`","fields":[{"code":"id"}]}`), true)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range r.Statements {
				shown := fmt.Sprint(s.Args)
				if strings.Contains(shown, "13800005678") || !strings.Contains(shown, "77") || !strings.Contains(s.SQL, "phone") {
					t.Errorf("%s: arguments %s of %s", resource, shown, s.SQL)
				}
			}
			if resource == "Contact" && (fmt.Sprint(r.Masked) != "[Contact.phone]" || fmt.Sprint(r.Hidden) != "[Contact.salary]") {
				t.Errorf("masked %v, hidden %v", r.Masked, r.Hidden)
			}
		}
	})
}
