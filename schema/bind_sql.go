package schema

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"resq/schema/problem"
	"resq/schema/sqltext"
)

var (
	snakeName  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	paramName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	columnName = regexp.MustCompile(`^[A-Za-z_@#$\x{80}-\x{10ffff}][A-Za-z0-9_@#$\x{80}-\x{10ffff}]{0,127}$`)
)

// orders are texts that speak to the model rather than of the tool: a description is a prompt (A1).
var orders = regexp.MustCompile(`(?i)<\s*/?\s*(important|system|instructions?|assistant|user)\s*>|\b(ignore|disregard|forget)\b.{0,40}\b(other|previous|prior|above|all|earlier)\b|\b(call|use|invoke|run)\s+[a-z_.-]+\s+(first|before|instead)\b|\b(always|must)\s+(call|invoke)\b|\bdo not (tell|mention|show)\b|\bsystem prompt\b`)

// foreignConnections are the connections that take SQL.
func (l *loader) foreignConnections() []*Connection {
	var list []*Connection
	for _, c := range l.cat.Connections {
		if _, ok := sqltext.DialectOf(c.Driver); ok || c.Driver == "" {
			list = append(list, c)
		}
	}
	return list
}

// sqlTool makes a SQL tool of its declaration.
func (l *loader) sqlTool(f *file, d *sqlDecl) *Tool {
	t := &Tool{
		Name: d.name.text, Title: Words{En: strings.TrimSpace(d.title.text)}, Description: Words{En: strings.TrimSpace(d.description.text)},
		Kind: "sql", Lang: "en", At: f.pos(d.name.at), ReadOnly: true, Idempotent: true, SQL: &SQL{Text: d.sql.text, MaxRows: d.maxRows.n, Kinds: map[*Param]string{}},
	}
	l.toolText(f, d.title, "title", wordRule{min: 1, max: 200, line: true})
	l.toolText(f, d.description, "description", wordRule{min: 1, max: 4000})
	if d.toolset.given() {
		if !snakeName.MatchString(d.toolset.text) {
			f.tell(d.toolset.at, "snake_case, such as sales", "%s is no name of a toolset", problem.Quote(d.toolset.text))
		}
		t.Toolsets = []string{d.toolset.text}
	}
	for i := range d.params {
		l.sqlParam(f, &d.params[i], t)
	}
	l.rowPolicy(f, d, t)
	l.system(f, d, t)
	l.statement(f, d, t)
	t.input = map[string][]byte{"en": inputSchema(t, "en"), "zh": inputSchema(t, "zh")}
	t.output = []byte(sqlAnswer)
	return t
}

// sqlAnswer is the JSON Schema of what a SQL tool answers.
const sqlAnswer = `{"type":"object","properties":{"success":{"type":"boolean"},"data":{"type":"array","items":{"type":"object"}},"rowCount":{"type":"integer"},` +
	`"limitApplied":{"type":"integer"},"truncated":{"type":"boolean"},"warnings":{"type":"array","items":{"type":"string"}},` +
	`"skippedFilters":{"type":"array","items":{"type":"object","properties":{"table":{"type":"string"},"sql":{"type":"string"},"reason":{"type":"string"}},"required":["table","sql"]}}},` +
	`"required":["success","data","rowCount","limitApplied","truncated"]}`

// toolText refuses texts that could hide something from the person who reads them, or that give orders to a model.
func (l *loader) toolText(f *file, w word, key string, rule wordRule) {
	if !w.given() {
		return
	}
	for _, r := range w.text {
		if hiddenRune(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Cf, r) || r == 0xfeff || r >= 0xe0000 && r <= 0xe007f {
			f.tellAs(problem.ToolText, w.at, "plain text", "%q holds a character that is not seen", key)
			return
		}
	}
	if wrong, hint := rule.check(w.text); wrong != "" {
		f.tellAs(problem.ToolText, w.at, hint, "%q %s", key, wrong)
		return
	}
	if orders.MatchString(w.text) && !l.opts.Instructions {
		f.tellAs(problem.ToolText, w.at, "say what the tool returns; --allow-instructions admits it all the same", "%q reads like an order to the model", key)
	}
}

// Suspicious says what is wrong with a description that others wrote: it hides something from whoever reads it, or gives
// orders to a model; "" is nothing.
func Suspicious(text string) string {
	for _, r := range text {
		if hiddenRune(r) && r != '\n' && r != '\t' && r != '\r' || unicode.Is(unicode.Cf, r) || r >= 0xe0000 && r <= 0xe007f {
			return "holds a character that is not seen"
		}
	}
	if orders.MatchString(text) {
		return "reads like an order to the model"
	}
	return ""
}

func (l *loader) sqlParam(f *file, d *sqlParamDecl, t *Tool) {
	bad := func(at place, hint, format string, args ...any) {
		f.tellAs(problem.SQLParam, at, hint, format, args...)
	}
	name := problem.Quote(d.name.text)
	if !paramName.MatchString(d.name.text) {
		bad(d.name.at, "letters, digits and _", "%s is no name of a parameter", name)
	}
	x := &Param{Name: d.name.text, Description: Words{En: strings.TrimSpace(d.description.text)}, Type: d.typ.text, Default: d.deft.text, HasDefault: d.deft.given(),
		MaxLength: d.maxLength.n, Values: textsOf(d.enum), At: f.pos(d.name.at)}
	x.Required = !x.HasDefault && !(d.required.at.given() && !d.required.on)
	l.toolText(f, d.description, "description", wordRule{max: 4000})
	kind := x.Type
	switch x.Type {
	case "string", "integer", "number", "boolean", "date", "enum":
	case "":
		return // told by the grammar
	default:
		bad(d.typ.at, "one of: string, integer, number, boolean, date, enum", "%s is no type of a parameter", problem.Quote(x.Type))
		return
	}
	if d.listed {
		switch {
		case x.Type != "string" && x.Type != "enum" && x.Type != "integer":
			bad(d.at, "", "enum is for strings, and %s is of type %s", name, x.Type)
		case len(x.Values) == 0:
			bad(d.at, "enum: [a, b]", "the enum %s has no values", name)
		}
		x.Type = "enum"
	} else if x.Type == "enum" {
		bad(d.at, "enum: [a, b]", "the enum %s has no values", name)
	}
	if kind == "enum" {
		kind = "string"
	}
	if kind == "integer" {
		for i, v := range x.Values {
			if _, err := strconv.ParseInt(v, 10, 64); err != nil {
				bad(d.enum[i].at, "", "%s is no whole number", problem.Quote(v))
			}
		}
	}
	if x.MaxLength > 0 && kind != "string" {
		bad(d.maxLength.at, "", "maxLength is for strings, and %s is of type %s", name, kind)
	}
	if x.HasDefault {
		wrong := x.Check(x.Default)
		if wrong == "" && kind == "string" && x.MaxLength > 0 && len([]rune(x.Default)) > x.MaxLength {
			wrong = "has more than " + strconv.Itoa(x.MaxLength) + " characters"
		}
		if wrong != "" {
			bad(d.deft.at, "", "the default of %s %s", name, wrong)
		}
	}
	t.SQL.Kinds[x] = kind
	t.Params = append(t.Params, x)
}

func (l *loader) rowPolicy(f *file, d *sqlDecl, t *Tool) {
	switch d.policy.text {
	case "", "apply":
		if d.policy.given() && d.policy.text == "" {
			f.tellAs(problem.SQLRowPolicy, d.policy.at, "apply or bypass", "\"row_policy\" must not be empty")
		}
		if d.bypass.at.given() {
			f.tellAs(problem.SQLRowPolicy, d.bypass.at, "row_policy: bypass", "bypass says why rules are bypassed, and they are applied")
		}
	case "bypass":
		if !d.bypass.at.given() || len(d.bypass.principals) == 0 {
			f.tellAs(problem.SQLRowPolicy, d.policy.at, "bypass: {reason: …, owner: …, principals: […]}", "a tool that bypasses row rules says why, who answers for it, and for whom")
			return
		}
		t.SQL.Bypass = &Bypass{Reason: d.bypass.reason.text, Owner: d.bypass.owner.text, Principals: textsOf(d.bypass.principals)}
	default:
		f.tellAs(problem.SQLRowPolicy, d.policy.at, "apply or bypass", "%s is no row policy", problem.Quote(d.policy.text))
	}
}

// statement reads the statement for the connection on which it runs by default. Where no connection is known yet, a
// dialect must be found that it is written in.
func (l *loader) statement(f *file, d *sqlDecl, t *Tool) {
	if d.node == nil || !d.sql.given() {
		return
	}
	conn := t.SQL.Default
	if conn == nil && (d.system.given() || len(d.slots) > 0) && len(l.foreignConnections()) > 0 {
		return // told
	}
	if conn == nil && !l.opts.Offline {
		f.tell(d.at, "declare one under connections", "the tool %s has no connection to run on", problem.Quote(t.Name))
		return
	}
	if conn == nil {
		conn = &Connection{Schemas: l.opts.Schemas}
	}
	dialects := []sqltext.Dialect{sqltext.Postgres, sqltext.MySQL, sqltext.SQLite}
	if one, ok := sqltext.DialectOf(conn.Driver); ok {
		dialects = []sqltext.Dialect{one}
	}
	var st *Statement
	var first error
	for _, x := range dialects {
		s, err := l.cat.foreign(conn, x, t.SQL.Text)
		if err == nil {
			st = s
			break
		}
		if first == nil {
			first = err
		}
	}
	if st == nil {
		for _, p := range problem.From(first) {
			f.tellAs(p.Code, f.inside(d.node, p.At), p.Hint, "%s", p.Message)
		}
		return
	}
	used := map[string]bool{}
	for _, p := range st.Params {
		if used[p.Name] = true; t.Param(p.Name) == nil {
			f.tellAs(problem.SQLParam, f.inside(d.node, st.At(p.Tok)), "declare it under parameters", "the parameter %s is not declared", problem.Quote(p.Name))
		}
	}
	for _, p := range d.params {
		if !used[p.name.text] {
			f.tellAs(problem.SQLParam, p.name.at, "write :"+p.name.text+" where its value belongs, outside of quotes and comments", "the parameter %s does not stand in the statement", problem.Quote(p.name.text))
		}
	}
}

// inside gives the place in the file of a line and column of a text that is the value of n.
func (f *file) inside(n *yaml.Node, at string) place {
	n = deref(n)
	l, c, _ := strings.Cut(at, ":")
	line, _ := strconv.Atoi(l)
	col, _ := strconv.Atoi(c)
	lines := strings.Split(string(f.data), "\n")
	text := strings.Split(n.Value, "\n")
	if line < 1 || line > len(text) {
		return placeOf(n)
	}
	row := n.Line
	if n.Style&yaml.LiteralStyle != 0 {
		row += line
	} else if line > 1 {
		return placeOf(n)
	}
	if row > len(lines) {
		return placeOf(n)
	}
	if i := strings.Index(lines[row-1], text[line-1]); i >= 0 && text[line-1] != "" {
		return place{int32(row), int32(len([]rune(lines[row-1][:i])) + col)}
	}
	return place{int32(row), int32(max(1, n.Column))}
}

// refuseNothing refuses a file that declares nothing (D-003).
func (l *loader) refuseNothing() {
	for _, f := range l.files {
		d := &f.decl
		if f.broken || !d.version.at.given() || len(f.found) > 0 {
			continue
		}
		if d.connections == nil && d.resources == nil && d.rules == nil && d.sets == nil && d.owners == nil && d.texts == nil && d.tools == nil && d.notes == nil && d.masks == nil && !d.instructions.given() {
			f.tell(d.version.at, "one of: "+strings.Join(fileTable.names()[1:], ", "), "the file declares nothing")
		}
	}
}
