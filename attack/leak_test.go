package attack_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"resq/schema/problem"
	"resq/testdb"
)

// ownText matches what only SQL, a driver or a database says.
var ownText = regexp.MustCompile(`(?i)\bSELECT\b.*\bFROM\b|\bSQLSTATE\b|syntax error at or near|near ".*": syntax|SQL logic error|Error \d{4} \(|pq: |pgx|go-sql-driver|modernc|no such column|unknown column|t_user|t_dept|t_order|t_hidden|HiddenResource`)

// sealed matches a cursor.
var sealed = regexp.MustCompile(`"cursor":"[A-Za-z0-9_-]+"`)

// noLeak fails when what the caller sees holds SQL, a table's name, text of a database, or a value that the
// principal may not see. What the caller sent may come back to it, as it was or quoted.
func noLeak(t *testing.T, l *line, args *value, said string) {
	t.Helper()
	sent := args.bytes()
	said = sealed.ReplaceAllString(said, "") // its letters may spell anything
	args.walk(nil, func(_ []string, v *value) { said = strings.ReplaceAll(said, problem.Quote(v.text()), "what was sent") })
	for _, m := range ownText.FindAllString(said, -1) {
		if l.Tool == "res-schema" && strings.HasPrefix(m, "t_") && m != "t_hidden" {
			continue // it names the tables of the resources that it shows
		}
		if !bytes.Contains(bytes.ToLower(sent), bytes.ToLower([]byte(m))) {
			t.Errorf("the caller sees %q in:\n%.600s", m, said)
		}
	}
	for _, secret := range secrets[l.As] {
		if strings.Contains(said, secret) && !bytes.Contains(sent, []byte(secret)) {
			t.Errorf("the caller sees %q in:\n%.600s", secret, said)
		}
	}
}

// Values of the fixture that a principal must never see: masked ones, and those of invisible rows.
var (
	masked = []string{
		"alice@corp", "bob@corp", "carol@corp", "dave@corp", "eve@corp", "obrien@corp", "pct@corp", "ctrl@corp", "zed@corp",
		"13800005678", "13900001234", "13700009999", "13600008888", "15000000000", "16000000001", "17000000002", "18000000000",
	}
	ofDept20 = []string{"Carol Wu", "Dave Ma", "9999.99", "5000.00", "2024-03-12", "2024-03-31 23:30", "2024-02-07", "2024-02-08"}
	ofDept10 = []string{"Alice Zhang", "Bob Li", "250.50", "75.25", "2024-01-10", "2024-02-11"}
	ofNobody = []string{"Zed Hidden", "2024-05-05", "42.00", "2024-02-10"}
	secrets  = map[string][]string{
		"alice":        slices.Concat(masked, ofDept20, ofNobody),
		"readonly_key": slices.Concat(masked, ofDept20, ofNobody),
		"bob":          slices.Concat(masked, ofDept10, ofNobody),
		"root":         masked,
		"dave_no_dept": slices.Concat(masked, ofDept20, ofDept10, ofNobody),
	}
)

// textsAreOurs fails when a value that the caller sent stands in the text of a statement instead of among its
// arguments. Names of the catalog are chosen there, not copied, and may stand in a text; so may whole numbers,
// which the renderer prints itself.
func textsAreOurs(t *testing.T, args *value, ran []testdb.Statement) {
	t.Helper()
	args.walk(nil, func(path []string, v *value) {
		s := v.text()
		if len(s) < 3 || ordinary(s) {
			return
		}
		for _, st := range ran {
			if strings.Contains(st.SQL, s) {
				t.Errorf("the caller's %q (%s) stands in the text of a statement:\n%s", s, strings.Join(path, "."), st.SQL)
			}
		}
	})
}

// vocabulary holds the words of requests that are names of the catalog or words of SQL.
var vocabulary = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`id name email phone status dept_id created_at parent_id user_id amount Dept User Order
		and or not asc desc inner left right cross like in is null select count sum date round upper substring regexp between
		exists string func field type`) {
		vocabulary[strings.ToUpper(w)] = true
	}
}

var word = regexp.MustCompile(`\pL[\pL\d_]*`)

// ordinary says whether s, such as IS NULL or COUNT(*), is made of such words and brackets alone. A text like
// that may be in a statement because the renderer writes the same; TestCorpusTaint looks at those too, with
// marks in their place.
func ordinary(s string) bool {
	for _, w := range word.FindAllString(s, -1) {
		if !vocabulary[strings.ToUpper(w)] {
			return false
		}
	}
	return strings.Trim(word.ReplaceAllString(s, ""), " ()*.") == ""
}
