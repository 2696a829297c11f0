package main

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"resq/engine/policy"
	"resq/schema/problem"
)

func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestConfig(t *testing.T) {
	c, err := parseConfig(filepath.Join("etc", "resq.yaml"), []byte(`
listen: 0.0.0.0:${PORT}
catalog: [catalog, /abs/one.yaml]
packs: store
principal: alice
state: var
lang: zh
hosts: [db.example]
proxies: [10.0.0.5, 10.1.0.0/16]
origins: ["https://console.example"]
maxBytes: 50000
timeout: 7s
budgets: {callsPerMinute: 300, rowsPerHour: none, statements: 3}
redis: "redis://${REDIS}/1"
traces: {endpoint: "http://127.0.0.1:4318/v1/traces", ratio: 0.25, headers: {Authorization: "${REDIS}"}}
jwt:
  issuer: https://login.example
  audience: [https://resq.example/mcp]
  jwks: keys.json
  algorithms: [ES256]
  skew: 5s
  refresh: 1m
  budget: {callsPerMinute: 50}
  scopes: {"resq.all": [read, write, delete], "resq.read": read}
  claims: {name: email, user: uid, scopes: scp, roles: groups, attributes: {dept_id: dept}, funcs: {UserID: uid}}
limits: {maxRows: 5000, list: 20, orderBy: 3, walkRows: 7}
principals:
  alice:
    attributes: {dept_id: 10, active: true, price: 1.50, regions: [1, east], empty: ""}
    funcs: {UserID: 7, UserRolesUuid: [a, b]}
    user: 7
    roles: [sales, admin]
    scopes: [read, write]
    budget: {callsPerMinute: 100}
    keys: ["${ALICE_KEY}", "$${literal}-sixteen", {key: "${NONE:-fallback-key-0001}", budget: {statements: 1}}]
  bob: {}
  carol:
`), environment("PORT", "8088", "ALICE_KEY", "alice-secret-key-1", "REDIS", "cache:6379"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "0.0.0.0:8088" || c.Principal != "alice" || c.Lang != "zh" || c.MaxBytes != 50000 || c.Timeout != 7*time.Second || c.State != filepath.Join("etc", "var") {
		t.Errorf("%+v", c)
	}
	if len(c.Proxies) != 2 || c.Proxies[0].String() != "10.0.0.5/32" || c.Proxies[1].String() != "10.1.0.0/16" {
		t.Errorf("proxies %v", c.Proxies)
	}
	if !reflect.DeepEqual(c.Catalog, []string{filepath.Join("etc", "catalog"), "/abs/one.yaml"}) || !reflect.DeepEqual(c.Packs, []string{"store"}) {
		t.Errorf("catalog %v, packs %v", c.Catalog, c.Packs)
	}
	if l := c.Limits; l.MaxRows != 5000 || l.List != 20 || l.OrderBy != 3 || l.WalkRows != 7 || l.DefaultRows != 30 {
		t.Errorf("%+v", l)
	}
	if (c.Budget != policy.Budget{CallsPerMinute: 300, RowsPerHour: -1, Statements: 3}) || c.Redis != "redis://cache:6379/1" {
		t.Errorf("%+v %s", c.Budget, c.Redis)
	}
	for key, want := range map[string]policy.Budget{"alice-secret-key-1": {CallsPerMinute: 100}, "fallback-key-0001": {CallsPerMinute: 100, Statements: 1}} {
		if who, ok := c.Keys.Find(key); !ok || who.Budget != want {
			t.Errorf("%s: %+v", key, who)
		}
	}
	if j := c.JWT; j.Issuer != "https://login.example" || j.Keys != filepath.Join("etc", "keys.json") || j.Skew != 5*time.Second || j.Refresh != time.Minute || j.Algorithms[0] != "ES256" ||
		j.Budget.CallsPerMinute != 50 || len(j.Claims.Verbs["resq.all"]) != 3 || j.Claims.User != "uid" || j.Claims.Roles != "groups" || j.Claims.Attributes["dept_id"] != "dept" || j.Claims.Funcs["UserID"] != "uid" {
		t.Errorf("%+v", j)
	}
	if res := c.resource(); res.URL != "https://resq.example/mcp" || !reflect.DeepEqual(res.Scopes, []string{"resq.all", "resq.read"}) || res.Issuers[0] != "https://login.example" {
		t.Errorf("%+v", res)
	}
	if x := c.Traces; x.Endpoint != "http://127.0.0.1:4318/v1/traces" || x.Ratio != 0.25 || x.Headers["Authorization"] != "cache:6379" {
		t.Errorf("%+v", x)
	}
	a := c.Principals["alice"]
	want := map[string]policy.Value{
		"dept_id": policy.One("10"), "active": policy.One("true"), "price": policy.One("1.50"), "empty": policy.One(""),
		"regions": {Texts: []string{"1", "east"}, List: true},
	}
	if !reflect.DeepEqual(a.Attributes, want) {
		t.Errorf("%+v", a.Attributes)
	}
	if !reflect.DeepEqual(a.Funcs["UserRolesUuid"], policy.Value{Texts: []string{"a", "b"}, List: true}) || a.Funcs["UserID"].Texts[0] != "7" {
		t.Errorf("%+v", a.Funcs)
	}
	if a.User != "7" || !reflect.DeepEqual(a.Roles, []string{"sales", "admin"}) || !reflect.DeepEqual(a.Scopes, []string{"read", "write"}) {
		t.Errorf("user %q, roles %v, scopes %v", a.User, a.Roles, a.Scopes)
	}
	for _, key := range []string{"alice-secret-key-1", "${literal}-sixteen", "fallback-key-0001"} {
		if who, ok := c.Keys.Find(key); !ok || who.Name != "alice" || who.Roles[0] != "sales" {
			t.Errorf("%s: %v", key, who)
		}
	}
	if c.Principals["bob"] == nil || c.Principals["carol"] == nil || c.Keys.Len() != 3 {
		t.Errorf("%v, %d keys", c.Principals, c.Keys.Len())
	}
	if c, err := parseConfig("x", nil, environment()); err != nil || c.Limits.MaxRows != 1000 {
		t.Errorf("an empty file: %+v, %v", c, err)
	}
}

// Every mistake is told at once, with its place, and no secret is repeated.
func TestConfigMistakes(t *testing.T) {
	for text, want := range map[string][]string{
		"listn: x\nlimits:\n  maxRow: 5\n":          {`c:1:1: there is no key "listn" here · nearest: listen`, `c:3:3: there is no key "maxRow" here · nearest: maxRows`},
		"listen: a\nlisten: b\n":                    {`c:2:1: the key "listen" stands twice`},
		"- a\n":                                     {`c:1:1: this must be a mapping`},
		"listen: [a]\n":                             {`c:1:9: this must be one value`},
		"listen:\n":                                 {`c:1:8: this must be one value`},
		"listen: ${PORT}\n":                         {`c:1:9: the environment variable "PORT" is not set`},
		"listen: ${PORT\n":                          {`c:1:9: "${" without an end`},
		"timeout: 5\nmaxBytes: -1\n":                {`c:1:10: "5" is not a duration`, `c:2:11: "-1" is not a whole number`},
		"limits: {maxRows: many}\n":                 {`c:1:19: "many" is not a whole number`},
		"budgets: {callsPerMinute: 0, rows: 1}\n":   {`c:1:27: "0" is not a whole number`, `c:1:30: there is no key "rows" here · nearest: rowsPerHour`},
		"principals: {bob: {budget: {redis: x}}}\n": {`c:1:29: there is no key "redis" here`},
		"jwt: {issuer: a, audience: b, jwks: c, algorithms: [HS256]}\n": {`c:1:53: "HS256" is not possible here`},
		"jwt: {issuer: a, jwks: c}\n":                                   {`c:1:6: the audience is missing`},
		"jwt: {audience: a, jwks: c}\n":                                 {`c:1:6: the issuer is missing`},
		"jwt: {issuer: a, audience: b}\n":                               {`c:1:6: the keys of the issuer`},
		"traces: {ratio: 2, endpoint: \"a\"}\n":                         {`c:1:17: "2" is not a share`, `c:1:30: "a" is no URL of a collector`},
		"traces: {ratio: 1}\n":                                          {`c:1:9: traces go to an endpoint or to a file`},
		"lang: fr\n":                                                    {`c:1:7: "fr" is not possible here · one of: en, zh`},
		"proxies: [10.0.0.1, front.example]\n":                          {`c:1:21: this is neither an address nor a network`},
		"origins: [console.example]\n":                                  {`c:1:11: the origin "console.example" must be`},
		"principal: bo\nprincipals: {bob: {}}\n":                        {`c:1:12: no principal "bo" is declared`},
		"principals: {bob: {scopes: [raed]}}\n":                         {`c:1:29: "raed" is not possible here · nearest: read`},
		"principals: {bob: {funcs: {UserId: 1}}}\n":                     {`c:1:28: there is no key "UserId" here · nearest: UserID`},
		"principals: {bob: {keys: [tiny-secret]}}\n":                    {`c:1:27: a key of bob is shorter than 16 characters`},
		"principals: {bob: {keys: [a-long-secret-key]}, eve: {keys: [a-long-secret-key]}}\n": {`c:1:61: a key of eve is also a key of bob`},
		"listen: \"a\n": {`c:2:1: YAML syntax`},
		"a: 1\n b: 2\n": {`c:2:3: YAML syntax`},
	} {
		_, err := parseConfig("c", []byte(text), environment())
		var l problem.List
		if !errors.As(err, &l) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q:\n%v\nlacks %s", text, err, w)
			}
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("a secret in %v", err)
		}
	}
}
