package main

import (
	"strings"
	"testing"
)

// One run of validate tells everything that is wrong with a row rule: what cannot be read, what is not there, and what
// does not fit, each in comparisons of their own.
func TestValidateRules(t *testing.T) {
	file := write(t, t.TempDir(), "c.yaml", `version: 1
connections: {default: {dsn: "sqlite:x.db"}}
rules:
  shared: {args: [owner], cases: [{rows: {type: and, exprs: [{field: $owner, operator: "==", token: 1}, {field: $owner, operator: "=", token: one}]}}]}
resources:
  - code: B
    key: id
    fields: {id: integer, n: integer}
    rows:
      type: and
      exprs:
        - {field: idd, operator: "=", token: "1"}
        - {field: id, operator: LIKES, token: "1"}
        - {field: id, operator: "=", token: abc}
      children: [{type: or, exprs: [{field: n, operator: ">", token: many}, {field: nn, operator: "=", token: "1"}]}]
  - {code: C, key: id, fields: {id: integer}, rows: {rule: shared, args: {owner: id}}}
  - {code: D, key: id, fields: {id: integer}, rows: {type: and, exprs: [{field: id, operator: LIKES, token: "1"}]}}
`)
	code, out, errOut := resq(t, "", "validate", file)
	if code != 1 {
		t.Errorf("exit %d\n%s", code, out)
	}
	for _, want := range []string{
		`4:88: "==" is no operator`, `no field "idd" on "B"`, `13:33: "LIKES" is no operator`, `"abc" is no value for a field of type integer`, `"many" is no value for a field of type integer`,
		`no field "nn" on "B"`, `"one" is no value for a field of type integer`, `17:95: "LIKES" is no operator`,
	} {
		if strings.Count(errOut, want) != 1 {
			t.Errorf("%q is not told once in\n%s", want, errOut)
		}
	}
	if n := strings.Count(errOut, "FAIL"); n != 8 {
		t.Errorf("%d problems:\n%s", n, errOut)
	}
}
