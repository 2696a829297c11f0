package funcs_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"resq/engine/funcs"
)

var update = flag.Bool("update", false, "write docs/functions.md from the table")

const reference = "../../docs/functions.md"

// TestDocs holds docs/functions.md to the table: a row that is added, renamed or changed shows there.
func TestDocs(t *testing.T) {
	want := page()
	if *update {
		if err := os.WriteFile(reference, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(reference)
	if err != nil || string(got) != want {
		t.Errorf("docs/functions.md is stale (%v): go test ./engine/funcs -run Docs -update", err)
	}
}

// TestEveryRowIsTold says that no row a caller can name is without its line in the reference.
func TestEveryRowIsTold(t *testing.T) {
	told := map[string]bool{}
	for _, f := range funcs.All() {
		told[f.Name] = true
	}
	for _, n := range funcs.Names() {
		f, ok := funcs.Lookup(n)
		if !ok || !told[f.Name] {
			t.Errorf("%s has no Doc", n)
		}
	}
}

const head = `# Functions

Generated from the table in engine/funcs by ` + "`go test ./engine/funcs -run Docs -update`" + `; not written by hand.

These are all functions of the expression language. They mean the same on SQLite, MySQL, MariaDB and PostgreSQL; what they
share is in [semantics.md](semantics.md). Names are read in any case. "Field" marks those that may be a condition's
` + "`fieldSqlFunc`" + `, with the field as the first argument and literals in ` + "`fieldSqlFuncParam`" + `.
Arguments: a *value* is taken as it is, a *text* or *number* is converted, a *moment* is a date, a datetime or a text that is
one; **n** is a plain whole number, **'t'** a plain string; brackets mark what may be left out, … what may be repeated.
A result *as x* has the type of its argument, a *shared* one the type that all arguments have in common.
`

func page() string {
	var b strings.Builder
	b.WriteString(head)
	sections := []struct {
		title string
		has   func(*funcs.Func) bool
	}{
		{"Aggregates", func(f *funcs.Func) bool { return f.Class == funcs.Aggregate }},
		{"Window functions", func(f *funcs.Func) bool { return f.Class == funcs.Window }},
	}
	table(&b, "Functions of one row", func(f *funcs.Func) bool { return f.Class == funcs.Scalar })
	b.WriteString("\n## Special forms\n\nDates, times and other forms as the three databases spell them.\n\n| name | arguments | result | field | what it gives |\n|---|---|---|---|---|\n")
	for _, s := range funcs.Spellings {
		line(&b, s.Name, s.Args, s.Result, s.Leaf, s.Doc)
	}
	for _, s := range sections {
		table(&b, s.title, s.has)
	}
	return b.String()
}

func table(b *strings.Builder, title string, has func(*funcs.Func) bool) {
	fmt.Fprintf(b, "\n## %s\n\n", title)
	switch title {
	case "Aggregates":
		b.WriteString("In fields, having and orderBy. All but the string aggregate also take `OVER (PARTITION BY … ORDER BY … ROWS …)`. In having `fieldSqlFunc` may name one.\n\n")
	case "Window functions":
		b.WriteString("Only with `OVER (… ORDER BY …)`, in fields and orderBy.\n\n")
	}
	b.WriteString("| names | arguments | result | field | what it gives |\n|---|---|---|---|---|\n")
	for _, f := range funcs.All() {
		if has(f) {
			line(b, strings.Join(append([]string{f.Name}, strings.Fields(f.Aliases)...), ", "), arguments(f), results[f.Result], f.Leaf, f.Doc)
		}
	}
}

func line(b *strings.Builder, names, args, result string, leaf bool, doc string) {
	mark := ""
	if leaf {
		mark = "yes"
	}
	escape := strings.NewReplacer("|", `\|`)
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", names, escape.Replace(args), result, mark, escape.Replace(doc))
}

var results = map[funcs.Result]string{funcs.Integer: "integer", funcs.Number: "number", funcs.String: "text", funcs.Date: "date", funcs.DateTime: "datetime",
	funcs.Time: "time", funcs.Boolean: "boolean", funcs.Same: "as x", funcs.Shared: "shared", funcs.SumOf: "as x", funcs.RoundOf: "as x"}

var kinds = map[funcs.Kind]string{funcs.Any: "value", funcs.Text: "text", funcs.Num: "number", funcs.Moment: "moment", funcs.Day: "moment", funcs.Clock: "moment or time", funcs.SameType: "value"}

func arguments(f *funcs.Func) string {
	var out []string
	for i, a := range f.Args {
		s := kinds[a.Kind]
		switch a.Kind {
		case funcs.LitInt:
			s = fmt.Sprintf("**n** (%d to %d)", a.Min, a.Max)
		case funcs.LitText:
			s = fmt.Sprintf("**'t'** (up to %d characters)", a.Max)
			if a.Min > 0 {
				s = fmt.Sprintf("**'t'** (%d to %d characters)", a.Min, a.Max)
			}
		}
		if f.Variadic && i == len(f.Args)-1 {
			s += ", …"
		}
		if i >= len(f.Args)-f.Optional {
			s = "[" + s + "]"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}
