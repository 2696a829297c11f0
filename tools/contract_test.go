package tools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"resq/schema"
	"resq/testdb"
)

// A page is one tool of the description that the pack follows.
type page struct{ name, text string }

func contract(t *testing.T) []page {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "shared", "spec", "business-tools.md"))
	if err != nil {
		testdb.Skip(t, "the description of the pack's tools is not there: "+err.Error())
	}
	text := string(raw)
	heads := regexp.MustCompile(`(?m)^## \d+\. ([a-z.]+)\n`).FindAllStringSubmatchIndex(text, -1)
	var out []page
	for i, m := range heads {
		end := strings.Index(text, "\n## 附录")
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		out = append(out, page{text[m[2]:m[3]], text[m[1]:end]})
	}
	if len(out) != 21 {
		t.Fatalf("%d tools are described", len(out))
	}
	return out
}

var (
	paramRow = regexp.MustCompile(`(?m)^\| (.+?) \| (\w+) \| (是|否|条件必填) \| (.*) \|$`)
	aName    = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*`)
	aDefault = regexp.MustCompile(`默认 ?([A-Za-z0-9]+)`)
	aMost    = regexp.MustCompile(`(?:上限|最大) ?(\d+)`)
	aValue   = regexp.MustCompile(`(-?\d|[A-Z]|out|in|allocation|all)[=]?([\p{Han}/]+)`)
	category = regexp.MustCompile(`分类：(\w+)`)
)

// The arguments of every tool are those of its description: names, types, which must be given, defaults, the most, how a
// text is compared, and the values of enums with their labels (B.3).
func TestContractArguments(t *testing.T) {
	p := open(t, testdb.Engines(t)[0])
	rows := 0
	for _, x := range contract(t) {
		tool, ok := p.engine.Catalog().Tool(x.name)
		if !ok {
			t.Errorf("no tool %s", x.name)
			continue
		}
		if m := category.FindStringSubmatch(x.text); m != nil && tool.Category != m[1] {
			t.Errorf("%s is of the category %s, not %s", x.name, tool.Category, m[1])
		}
		if !tool.ReadOnly || !tool.Idempotent || tool.Destructive || tool.Lang != "zh" {
			t.Errorf("%s: %+v", x.name, tool)
		}
		var input struct {
			Properties map[string]struct {
				Type    any
				Default any
			}
			Required []string
		}
		if err := json.Unmarshal(tool.Input("zh"), &input); err != nil {
			t.Fatal(err)
		}
		table := paramRow.FindAllStringSubmatch(x.text, -1)
		var told []string
		for _, m := range table {
			names, about := aName.FindAllString(m[1], -1), m[4]
			for i, name := range names {
				rows++
				told = append(told, name)
				property, ok := input.Properties[name]
				if !ok {
					t.Errorf("%s has no argument %s", x.name, name)
					continue
				}
				if required := slices.Contains(input.Required, name); required != (m[3] == "是") {
					t.Errorf("%s %s: required %t, described as %s", x.name, name, required, m[3])
				}
				if name == "page" || name == "rows" {
					continue // of every list alike, and tested there
				}
				param := tool.Param(name)
				types := map[string][]string{"number": {"integer", "number"}, "string": {"string", "date"}, "boolean": {"boolean"}}[m[2]]
				if param.Type == "enum" {
					types = map[bool][]string{true: {"enum"}}[param.Numbers() == (m[2] == "number")]
				}
				if !slices.Contains(types, param.Type) {
					t.Errorf("%s %s is of type %s (%v), described as %s", x.name, name, param.Type, property.Type, m[2])
				}
				if d := aDefault.FindStringSubmatch(about); len(names) == 1 && (d != nil || strings.Contains(about, "（默认）")) != param.HasDefault || d != nil && param.HasDefault && d[1] != param.Default && m[2] != "boolean" {
					t.Errorf("%s %s has the default %q, described: %s", x.name, name, param.Default, about)
				}
				if most := aMost.FindStringSubmatch(about); most != nil && (param.Max == nil || strconv.FormatInt(*param.Max, 10) != most[1] || !param.Clamp) {
					t.Errorf("%s %s is at most %v, described: %s", x.name, name, param.Max, about)
				}
				if strings.Contains(about, "正整数") && (param.Min == nil || *param.Min != 1) {
					t.Errorf("%s %s may be below 1, described: %s", x.name, name, about)
				}
				if m[2] == "string" && param.Type == "string" && param.Narrows() {
					if like := strings.Contains(about, "模糊"); like != (param.Match == "contains") {
						t.Errorf("%s %s is compared by %s, described: %s", x.name, name, param.Match, about)
					}
				}
				if strings.Contains(about, "含当天") && i == len(names)-1 && !param.WholeDay {
					t.Errorf("%s %s leaves out its day, described: %s", x.name, name, about)
				}
				if param.Type == "enum" && len(names) == 1 {
					contractValues(t, x.name, param, about)
				}
			}
		}
		for name := range input.Properties {
			if len(table) > 0 && !slices.Contains(told, name) {
				t.Errorf("%s has the argument %s, which is not described", x.name, name)
			}
			if len(table) == 0 && name != "page" && name != "rows" && tool.Preset.Shape == "context" {
				t.Errorf("%s has the argument %s, which is not described", x.name, name)
			}
		}
	}
	if rows < 100 {
		t.Errorf("only %d arguments are described", rows)
	}
}

// contractValues compares the values of an enum and their labels.
func contractValues(t *testing.T, tool string, p *schema.Param, about string) {
	t.Helper()
	var values []string
	for _, m := range aValue.FindAllStringSubmatch(about, -1) {
		values = append(values, m[1])
		if p.Labels == nil {
			continue
		}
		if label, _ := p.Labels.Label(m[1]); label != m[2] {
			t.Errorf("%s %s: %s is called %q, described as %q", tool, p.Name, m[1], label, m[2])
		}
	}
	if !slices.Equal(values, p.Values) {
		t.Errorf("%s %s has the values %v, described are %v in %s", tool, p.Name, p.Values, values, about)
	}
}

var (
	shownPart = regexp.MustCompile(`(?s)(\*\*出参|\*\*data 字段|- 找到：|- 返回 |- ` + "`record`" + `|- ` + "`items`" + ` 按).*`)
	apart     = regexp.MustCompile("(?s)```.*?```|（[^）]*）|固定不返回.*|详细设计.*|- 行级权限[^\n]*|`[a-z_]+_[a-z_]+`|`name:[^`]*`|`Assignment:[^`]*`")
	aField    = regexp.MustCompile(`\b[a-z][a-z_]*(?:[A-Z][A-Za-z0-9]*)*[0-9]?\b`)
)

// notFields are the words of the descriptions that name no output.
var notFields = strings.Fields("number string id data null true false boolean m1 m2 isAgent multi yyyy ss dd mm records page rows notice SN sn epoch spring application name " +
	"hardware_view district token agent_api_key token_scope modify_time tools call changes list parent_id allocation schedule_state")

// Every output that the description of a tool names is there (B.3).
func TestContractOutputs(t *testing.T) {
	p := open(t, testdb.Engines(t)[0])
	n := 0
	for _, x := range contract(t) {
		tool, _ := p.engine.Catalog().Tool(x.name)
		shown := map[string]bool{}
		var names func(list []*schema.Column)
		var read func(r *schema.Read)
		names = func(list []*schema.Column) {
			for _, c := range list {
				shown[c.Name] = true
				names(c.Columns)
				for _, part := range c.Parts {
					shown[part.Name] = true
				}
				if c.Else != nil {
					names([]*schema.Column{c.Else})
				}
			}
		}
		read = func(r *schema.Read) {
			if r == nil {
				return
			}
			names(r.Columns)
			for _, c := range r.Children {
				read(c.Read)
			}
		}
		read(tool.Preset.Read)
		for _, u := range tool.Preset.Union {
			read(u.Read)
		}
		names(tool.Preset.Outputs)
		shown[tool.Preset.Record] = true
		switch tool.Preset.Shape {
		case "list":
			shown["total"] = true
		case "count":
			shown["count"] = true
		case "found":
			shown["found"], shown["message"] = true, true
		}
		for _, f := range aField.FindAllString(apart.ReplaceAllString(shownPart.FindString(x.text), " "), -1) {
			if slices.Contains(notFields, f) || tool.Param(f) != nil {
				continue
			}
			n++
			if !shown[f] {
				t.Errorf("%s shows no %s", x.name, f)
			}
		}
	}
	if n < 250 {
		t.Errorf("only %d outputs are described", n)
	}
}
