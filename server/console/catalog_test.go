package console

import (
	"slices"
	"testing"
	"testing/fstest"

	"resq/resources"
	"resq/schema"
)

func packCatalog(t *testing.T, name string) *schema.Catalog {
	t.Helper()
	pack, ok := resources.Find(name)
	if !ok {
		t.Fatalf("no pack %s", name)
	}
	cat, err := schema.LoadFS(pack.Files, schema.LoadOptions{Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// A row rule in words says each case in its order, with the columns of the resource in place of the rule's arguments.
func TestRulesInWords(t *testing.T) {
	cat, err := schema.LoadFS(fstest.MapFS{"main.yaml": {Data: []byte(`version: 1
connections: {main: {driver: sqlite, dsn: "sqlite:x"}}
rules:
  own:
    args: [owner]
    cases:
      - roles: [boss, auditor]
        rows: all
      - when: {type: and, exprs: [{field: gone, operator: "=", token: 1}]}
        rows: none
      - rows: {type: or, exprs: [{field: $owner, operator: "=", tokenType: principal, token: id}, {field: $owner, operator: IS NULL}]}
resources:
  - {code: Note, table: note, connection: main, key: id, fields: {id: integer, owner_id: integer}, rows: {rule: own, args: {owner: owner_id}}}
  - {code: Free, table: note, connection: main, key: id, fields: {id: integer}}
`)}}, schema.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := cat.Resource("Note")
	for lang, want := range map[string][]string{
		"en": {"whoever has the role boss or auditor sees all rows", "everybody, if gone = 1, sees no row", "everybody sees the rows where owner_id = the caller's id or owner_id IS NULL", "nobody else sees a row"},
		"zh": {"具有角色 boss 或 auditor 者 可见全部行", "所有人（若 gone = 1） 不可见任何行", "所有人 可见满足 owner_id = 调用者的 id 或 owner_id IS NULL 的行", "其他人不可见任何行"},
	} {
		if got := rulesOf(r.Rows, lang); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", lang, got, want)
		}
	}
	free, _ := cat.Resource("Free")
	if got := rulesOf(free.Rows, "en"); got != nil {
		t.Errorf("a resource without a rule: %q", got)
	}
}

// A picture has every resource once, within its frame and on no other, and a line for each relation between two of them.
func TestDiagram(t *testing.T) {
	for _, name := range []string{"store", "xiaoqu", "erp"} {
		cat := packCatalog(t, name)
		d := diagramOf(cat.Resources)
		if len(d.Boxes) != len(cat.Resources) {
			t.Errorf("%s: %d boxes for %d resources", name, len(d.Boxes), len(cat.Resources))
		}
		for i, a := range d.Boxes {
			if a.X < 0 || a.Y < 0 || a.X+a.W > d.Width || a.Y+a.H > d.Height {
				t.Errorf("%s: %s stands out", name, a.Code)
			}
			for _, b := range d.Boxes[:i] {
				if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
					t.Errorf("%s: %s stands on %s", name, a.Code, b.Code)
				}
			}
		}
		lines := 0
		for _, r := range cat.Resources {
			for _, x := range r.Relations {
				if x.To != r {
					lines++
				}
			}
		}
		if len(d.Lines) != lines {
			t.Errorf("%s: %d lines for %d relations", name, len(d.Lines), lines)
		}
	}
}
