package sheet

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
)

func write(t *testing.T, form string, l Limits, names []string, rows [][]string) (out []byte, written int, w Writer) {
	t.Helper()
	var b bytes.Buffer
	w = New(form, &b, l)
	if err := w.Header(names); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		cells := make([][]byte, len(r))
		for i, c := range r {
			cells[i] = []byte(c)
		}
		ok, err := w.Row(cells)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		written++
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), written, w
}

var plenty = Limits{Bytes: 10 << 20, Content: 100 << 20}

// A text that a spreadsheet would calculate is kept from it; numbers, whatever their sign, and all other texts are as they are.
func TestFormulas(t *testing.T) {
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", "+1+2": "'+1+2", "-2+3+cmd|' /C calc'!A0": "'-2+3+cmd|' /C calc'!A0", "-": "'-",
		"\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1", "＝1": "'＝1", "－a": "'－a",
		"=HYPERLINK(\"http://x\",\"y\")": "'=HYPERLINK(\"http://x\",\"y\")", "=1,2": "'=1,2",
		"-5": "-5", "+5": "+5", "-5.25": "-5.25", "+8613800001111": "+8613800001111", "-1e+22": "-1e+22", "-1e5-A1": "'-1e5-A1", "-.5": "'-.5",
		"a=1": "a=1", "a-b": "a-b", " =1": " =1", "": "", "'=1": "'=1", "-1,000": "'-1,000",
	} {
		cell := fmt.Sprintf("%q", text)
		if text == "\t=1" || text == "\r=1" || text == "\n=1" {
			cell = strings.NewReplacer("\t", `\t`, "\r", `\r`, "\n", `\n`).Replace(`"` + text + `"`)
		}
		out, _, _ := write(t, CSV, plenty, []string{"a", "b"}, [][]string{{"1", cell}, {cell, "1"}})
		got, err := csv.NewReader(strings.NewReader(strings.ReplaceAll(strings.TrimPrefix(string(out), mark), "\r", "␍"))).ReadAll()
		if err != nil || got[1][1] != strings.ReplaceAll(want, "\r", "␍") || got[2][0] != got[1][1] {
			t.Errorf("%q: %v %q", text, err, got)
		}
		plain := "a,b\n1," + quoted(text) + "\n" + quoted(text) + ",1\n"
		if g := Guarded([]byte(plain)); !bytes.Equal(g, []byte(mark+"a,b\n1,"+quoted(want)+"\n"+quoted(want)+",1\n")) {
			t.Errorf("%q: guarded %q", text, g)
		}
	}
	if got := string(Guarded([]byte("a\n\"x\"\"\",\"\"\"=1\"\n=2,3"))); got != mark+"a\n\"x\"\"\",\"\"\"=1\"\n'=2,3" {
		t.Errorf("%q", got)
	}
	if got := string(Guarded(nil)); got != mark {
		t.Errorf("%q", got)
	}
	out, _, _ := write(t, CSV, plenty, []string{"=x", "b"}, nil)
	if string(out) != mark+"'=x,b\n" {
		t.Errorf("a name of a column: %q", out)
	}
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// NULL and the empty text differ, and documents, numbers and booleans are as answers show them.
func TestCSV(t *testing.T) {
	out, n, _ := write(t, CSV, plenty, []string{"a", "b"}, [][]string{{"null", `""`}, {`{"x": 1}`, "true"}, {"1.50", `"9007199254740993"`}, {`"\"q\", é 中\n"`, `" pad "`}})
	want := mark + "a,b\n,\"\"\n\"{\"\"x\"\": 1}\",true\n1.50,9007199254740993\n\"\"\"q\"\", é 中\n\",\" pad \"\n"
	if string(out) != want || n != 4 {
		t.Errorf("%q", out)
	}
	if _, n, _ := write(t, CSV, Limits{Bytes: 20}, []string{"a"}, [][]string{{`"12345"`}, {`"12345"`}, {`"12345"`}}); n != 2 {
		t.Errorf("%d rows fit into twenty bytes", n)
	}
}

// A cell of a sheet, as a reader finds it.
type xmlSheet struct {
	Rows []struct {
		Number string `xml:"r,attr"`
		Cells  []struct {
			Place string `xml:"r,attr"`
			Type  string `xml:"t,attr"`
			Style string `xml:"s,attr"`
			Value string `xml:"v"`
			Text  string `xml:"is>t"`
			Calc  string `xml:"f"`
		} `xml:"c"`
	} `xml:"sheetData>row"`
}

func open(t *testing.T, file []byte) (s xmlSheet) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		var any struct {
			XMLName xml.Name
		}
		if err := xml.Unmarshal(b, &any); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if f.Name == "xl/worksheets/sheet1.xml" {
			if err := xml.Unmarshal(b, &s); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// Numbers are numbers as far as a spreadsheet keeps them, booleans are booleans, everything else is a text, and nothing is a formula.
func TestWorkbook(t *testing.T) {
	out, n, w := write(t, XLSX, plenty, []string{"a", "=b", "c"}, [][]string{
		{"1", "-2.50", "null"}, {"true", "false", `""`}, {`"=1+1"`, `"a&<b>\u0001_x0041_ é中\r\n\t"`, "123456789012345"},
		{"1234567890123456", "0.30000000000000004", "1e+22"}, {`{"k":"v"}`, `"` + strings.Repeat("x", maxCell+1) + `"`, `"😀"`},
	})
	if n != 5 || w.Shortened() != 1 {
		t.Errorf("%d rows, %d texts cut", n, w.Shortened())
	}
	var got [][]string
	for i, r := range open(t, out).Rows {
		if r.Number != fmt.Sprint(i+1) {
			t.Errorf("row %d says that it is %s", i+1, r.Number)
		}
		var row []string
		for _, c := range r.Cells {
			if c.Calc != "" {
				t.Errorf("a formula: %q", c.Calc)
			}
			if len(c.Text) > 100 {
				c.Text = fmt.Sprint(len(c.Text))
			}
			row = append(row, c.Place+" "+c.Type+" "+c.Style+" "+c.Value+c.Text)
		}
		got = append(got, row)
	}
	want := [][]string{
		{"A1 inlineStr 2 a", "B1 inlineStr 2 =b", "C1 inlineStr 2 c"},
		{"A2   1", "B2   -2.50"},
		{"A3 b  1", "B3 b  0", "C3 inlineStr 1 "},
		{"A4 inlineStr 1 =1+1", "B4 inlineStr 1 a&<b>_x0001__x005F_x0041_ é中_x000D_\n\t", "C4   123456789012345"},
		{"A5 inlineStr 1 1234567890123456", "B5   0.30000000000000004", "C5   1e+22"},
		{`A6 inlineStr 1 {"k":"v"}`, "B6 inlineStr 1 32767", "C6 inlineStr 1 😀"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	for i, name := range map[int]string{0: "A", 25: "Z", 26: "AA", 701: "ZZ", 702: "AAA", 16_383: "XFD"} {
		if got := string(column(nil, i)); got != name {
			t.Errorf("column %d is %s", i, got)
		}
	}
	if err := New(XLSX, io.Discard, plenty).Header(make([]string, maxColumns+1)); err != ErrColumns {
		t.Errorf("too many columns: %v", err)
	}
}

// A file never becomes larger than it may, and what it holds is whole.
func TestLimits(t *testing.T) {
	var same, mixed [][]string
	seed := uint64(1)
	for range 4000 {
		b := make([]byte, 100)
		for i := range b {
			seed = seed*6364136223846793005 + 1442695040888963407
			b[i] = 'a' + byte(seed>>59)%26
		}
		mixed = append(mixed, []string{`"` + string(b) + `"`})
		same = append(same, []string{`"` + strings.Repeat("y", 100) + `"`})
	}
	for _, c := range []struct {
		rows        [][]string
		l           Limits
		least, most int
	}{
		{mixed, Limits{Bytes: 100_000, Content: 10 << 20}, 1000, 2000},
		{same, Limits{Bytes: 100_000, Content: 10 << 20}, 4000, 4000},
		{same, Limits{Bytes: 100_000, Content: 100_000}, 500, 700},
	} {
		out, n, _ := write(t, XLSX, c.l, []string{"a"}, c.rows)
		if int64(len(out)) > c.l.Bytes || n < c.least || n > c.most {
			t.Errorf("%+v: %d bytes with %d rows", c.l, len(out), n)
		}
		if got := len(open(t, out).Rows); got != n+1 {
			t.Errorf("%d rows of %d", got, n+1)
		}
	}
}
