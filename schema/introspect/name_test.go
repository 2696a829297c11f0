package introspect

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"resq/schema"
)

func TestNaming(t *testing.T) {
	for _, x := range []struct{ name, camel, pascal, snake string }{
		{"order_item", "orderItem", "OrderItem", "order_item"},
		{"OrderItem", "orderItem", "OrderItem", "order_item"},
		{"HTTPServerURL", "httpServerUrl", "HttpServerUrl", "http_server_url"},
		{"e-mail (home)", "eMailHome", "EMailHome", "e_mail_home"},
		{"客户 信息", "客户信息", "客户信息", "客户_信息"},
		{"größe", "größe", "Größe", "größe"},
		{"50%", "50", "50", "50"},
		{"%%", "%%", "%%", "%%"},
		{"line2No", "line2No", "Line2No", "line2_no"},
	} {
		for naming, want := range map[Naming]string{Camel: x.camel, Pascal: x.pascal, Snake: x.snake, AsIs: x.name} {
			if got := naming.code(x.name, map[string]bool{}); got != want {
				t.Errorf("%s of %q is %q, want %q", naming, x.name, got, want)
			}
		}
	}
	if _, err := ParseNaming("kebab"); err == nil {
		t.Error("an unknown naming is no error")
	}
	for _, s := range []string{"", "none", "camel", "pascal", "snake"} {
		if n, err := ParseNaming(s); err != nil || string(n) != strings.TrimPrefix(s, "none") {
			t.Errorf("%q: %q %v", s, n, err)
		}
	}
}

// Codes are unique, no longer than a catalog takes, and never the engine's own.
func TestCodes(t *testing.T) {
	taken := map[string]bool{}
	long := strings.Repeat("名", 70)
	var got []string
	for _, n := range []string{"a", "a", "A", "__x", "*", long + "1", long + "2", " padded ", "padded", "___", "_", "_"} {
		got = append(got, AsIs.code(n, taken))
	}
	want := []string{"a", "a_2", "A", "_x", "x", "", "", "padded", "padded_2", "x_2", "_", "x_3"}
	for i := range got {
		switch {
		case want[i] == "":
			if utf8.RuneCountInString(got[i]) != maxCode || !strings.HasPrefix(got[i], "名名") {
				t.Errorf("long code %q", got[i])
			}
		case got[i] != want[i]:
			t.Errorf("code %d is %q, want %q", i, got[i], want[i])
		}
	}
	if got[5] == got[6] {
		t.Error("two long names have one code")
	}
}

func TestFileNames(t *testing.T) {
	taken := map[string]bool{}
	for _, x := range [][2]string{
		{"order", "order"}, {"Order", "Order-2"}, {"客户 信息", "客户_信息"}, {"a/b\\c", "a_b_c"}, {"../../etc", "_._.._etc"}, {"con", "con_"},
		{"Aux.x", "Aux.x_"}, {"COM1", "COM1_"}, {".hidden", "_hidden"}, {"😀", "_"}, {"😀😀", "_-2"}, {"", "_-3"}, {"dot.", "dot"},
	} {
		if got := fileName(x[0], taken); got != x[1] {
			t.Errorf("%q is in %q, want %q", x[0], got, x[1])
		}
	}
	if n := fileName(strings.Repeat("名", 64), taken); len(n) > 200 {
		t.Errorf("a file name of %d bytes", len(n))
	}
}

func TestTitles(t *testing.T) {
	for _, x := range [][3]string{
		{"", "", ""}, {"状态", "状态", ""}, {" 状态：0 关 1 开 ", "状态", "状态：0 关 1 开"}, {"Status, 0=off", "Status", "Status, 0=off"},
		{"Name（姓名）", "Name", "Name（姓名）"}, {"first\nsecond", "first", "first\nsecond"}, {"(only brackets)", "", "(only brackets)"},
		{strings.Repeat("x", 61), "", strings.Repeat("x", 61)}, {strings.Repeat("字", 60), strings.Repeat("字", 60), ""},
		{"bad\x1b[2J \u202Eright\u2028line", "bad[2J right line", ""},
		{"a:" + strings.Repeat("y", 3000), "a", "a:" + strings.Repeat("y", 1997) + "…"},
	} {
		if name, description := titled(x[0]); name != x[1] || description != x[2] {
			t.Errorf("%.80q gives %q, %.80q", x[0], name, description)
		}
	}
}

// The default is the plain value, or nothing where the database computes it.
func TestLiterals(t *testing.T) {
	for _, x := range []struct {
		text string
		kind schema.Kind
		want string
	}{
		{"0", schema.Integer, "0"}, {"'7'", schema.Integer, "7"}, {"(-5)", schema.Integer, "-5"}, {"+5", schema.Integer, "5"}, {"b'101'", schema.Integer, "5"},
		{"'-1'::integer", schema.Integer, "-1"}, {"nextval('a_id_seq'::regclass)", schema.Integer, ""}, {"1 + 2", schema.Integer, ""}, {"TRUE", schema.Integer, "1"},
		{"1.5", schema.Integer, ""}, {"1.50", schema.Decimal, "1.50"}, {"'1.50'::numeric(5,2)", schema.Decimal, "1.50"}, {"'NaN'::numeric", schema.Decimal, ""}, {"1e3", schema.Number, "1e3"},
		{"'it''s'", schema.String, "it's"}, {"'abc'::character varying", schema.String, "abc"}, {`'ok'::"Odd S"."Mood x"`, schema.Enum, "ok"}, {`"dq"`, schema.Text, "dq"},
		{"'a'||'b'", schema.Text, ""}, {"''", schema.Text, ""}, {"NULL", schema.Text, ""}, {"NULL::text", schema.Text, ""}, {"", schema.Text, ""}, {"12", schema.Text, "12"},
		{"CURRENT_TIMESTAMP", schema.DateTime, ""}, {"'now'::timestamp", schema.DateTime, ""}, {"'2024-01-01 00:00:00'::timestamp without time zone", schema.DateTime, "2024-01-01 00:00:00"},
		{"true", schema.Bool, "true"}, {"'t'", schema.Bool, "true"}, {"b'0'", schema.Bool, "false"}, {"1", schema.Bool, "true"}, {"'perhaps'", schema.Bool, ""},
		{"'{}'::jsonb", schema.JSON, ""}, {"'abc'", schema.Binary, ""}, {"upper('x')", schema.String, ""}, {"(1)+(2)", schema.Integer, ""}, {"'x'::text || 'y'::text", schema.Text, ""},
	} {
		if got := literal(x.text, x.kind); got != x.want {
			t.Errorf("%s as %s is %q, want %q", x.text, x.kind, got, x.want)
		}
	}
}

// MySQL writes bare values, MariaDB writes SQL; both mean the same.
func TestMySQLDefaults(t *testing.T) {
	for _, x := range []struct {
		maria       bool
		text, extra string
		kind        schema.Kind
		want        string
		filled      bool
	}{
		{true, "'it\\'s \\\\ x'", "", schema.Text, `it's \ x`, true}, {false, `it's \ x`, "", schema.Text, `it's \ x`, true},
		{true, "NULL", "", schema.Text, "", false}, {false, "NULL", "", schema.Text, "NULL", true},
		{true, "current_timestamp()", "", schema.DateTime, "", true}, {false, "CURRENT_TIMESTAMP", "DEFAULT_GENERATED", schema.DateTime, "", true},
		{false, "CURRENT_TIMESTAMP(6)", "", schema.DateTime, "", true}, {false, "2024-01-01 00:00:00", "", schema.DateTime, "2024-01-01 00:00:00", true},
		{false, "b'101'", "", schema.Integer, "5", true}, {false, "(1 + 2)", "DEFAULT_GENERATED", schema.Integer, "", true}, {false, "7", "", schema.Integer, "7", true},
		{true, "'a' + `x`", "", schema.Text, "", true},
	} {
		c := &Column{Type: schema.Type{Kind: x.kind}}
		m := &mysqlSchema{maria: x.maria}
		m.fill(c, sql.NullString{String: x.text, Valid: true}, strings.ToLower(x.extra))
		if c.Default != x.want || c.Filled != x.filled {
			t.Errorf("%s (MariaDB %v) is %q, filled %v", x.text, x.maria, c.Default, c.Filled)
		}
	}
	got := listMySQL(`enum('a','b,c','d''e','','x\\y','n\nl',')','中')`)
	if want := []string{"a", "b,c", "d'e", "", `x\y`, "n\nl", ")", "中"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// No password reaches a file.
func TestRedact(t *testing.T) {
	for _, x := range []struct{ driver, dsn, want, variable string }{
		{"sqlite", "sqlite:/tmp/a b.sqlite", "sqlite:/tmp/a b.sqlite", ""},
		{"sqlite", "sqlite:/tmp/${x}", "sqlite:/tmp/$${x}", ""},
		{"mysql", "mysql://root@127.0.0.1:3306/shop", "mysql://root@127.0.0.1:3306/shop", ""},
		{"mysql", "mysql://app:p%40ss@db:3306/shop?socket=/run/x", "mysql://app:${RESQ_MAIN_DB_PASSWORD}@db:3306/shop?socket=/run/x", "RESQ_MAIN_DB_PASSWORD"},
		{"mysql", "mysql://app:p@ss@db/shop", "mysql://app:${RESQ_MAIN_DB_PASSWORD}@db/shop", "RESQ_MAIN_DB_PASSWORD"},
		{"postgres", "postgres://app:@db/shop", "postgres://app:@db/shop", ""},
		{"postgres", "postgres://app@db/shop?sslmode=require&password=secret", "postgres://app@db/shop?sslmode=require&password=${RESQ_MAIN_DB_PASSWORD}", "RESQ_MAIN_DB_PASSWORD"},
		{"postgres", "postgres://app:one@db/shop?sslpassword=two", "${RESQ_MAIN_DB_DSN}", "RESQ_MAIN_DB_DSN"},
		{"postgres", "host=db password=secret", "${RESQ_MAIN_DB_DSN}", "RESQ_MAIN_DB_DSN"},
		{"mysql", "app:secret@tcp(db)/shop", "${RESQ_MAIN_DB_DSN}", "RESQ_MAIN_DB_DSN"},
		{"mysql", "mysql://app:se/cret@db/shop", "${RESQ_MAIN_DB_DSN}", "RESQ_MAIN_DB_DSN"},
		{"mysql", "mysql://app:12/34@db/shop", "${RESQ_MAIN_DB_DSN}", "RESQ_MAIN_DB_DSN"},
		{"mysql", "mysql://app:12?34@db/shop", "${RESQ_MAIN_DB_DSN}", "RESQ_MAIN_DB_DSN"},
		{"postgres", "", "${RESQ_MAIN_DB_DSN}", "RESQ_MAIN_DB_DSN"},
	} {
		text, variable := redact(x.driver, x.dsn, "main-db")
		if text != x.want || variable != x.variable {
			t.Errorf("%s is written as %s (%s), want %s (%s)", x.dsn, text, variable, x.want, x.variable)
		}
	}
}

// Every text reads back as itself, as a key and as a value, in a block and between braces.
func FuzzScalar(f *testing.F) {
	for _, s := range []string{"", "a", "yes", "NO", "~", "null", "0x1f", "1e3", "12:30", "2024-01-01", "- a", "a: b", "a #b", "#", "@x", "`x`", "50%", "%", "a,b", "{a}", "[a]", "!t", "&a", "*a", "<<", "=", "?",
		"|", ">", "'", `"`, `\`, "a\nb", "\t", " a", "a ", "a\u2028b", "\ufeff", "😀", "客户 信息", "é", "\x00", "_1", "a-", "a.b", "...", "---", ".inf", "true ", "e\u0301", "\U000e0041", "\u0085"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		w := scalar(s)
		text := w + ": " + w + "\n\"flow\": {" + w + ": " + w + ", \"l\": [" + w + ", " + w + "]}\n"
		if s == "flow" {
			return
		}
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(text), &n); err != nil {
			t.Fatalf("%q is written as %s: %v", s, w, err)
		}
		m := n.Content[0].Content
		in := m[3].Content
		got := []*yaml.Node{m[0], m[1], in[0], in[1], in[3].Content[0], in[3].Content[1]}
		for _, g := range got {
			if g.Value != s || g.ShortTag() != "!!str" {
				t.Fatalf("%q is written as %s and read as %q %s", s, w, g.Value, g.ShortTag())
			}
		}
	})
}
