package sheet

import (
	"archive/zip"
	"compress/flate"
	"io"
	"strconv"
	"unicode/utf8"
)

// Note [the workbook]
//
// A workbook is a zip of a few XML files, of which all but the sheet are constants (ECMA-376, Office Open XML). The sheet is written
// row by row as it comes, so that no more than a row is held. Texts stand in their cells as texts, never in a formula, so there is
// nothing in them to neutralise; whole numbers that a spreadsheet would not keep to the last digit are texts as well.

const (
	maxColumns = 16_384
	maxCell    = 32_767 // UTF-16 units of a text
	maxDigits  = 15     // of a whole number that spreadsheets keep

	xmlHead = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	office  = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	main    = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	opc     = "http://schemas.openxmlformats.org/package/2006/"
)

// parts are all files but the sheet.
var parts = [][2]string{
	{"[Content_Types].xml", `<Types xmlns="` + opc + `content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Default Extension="xml" ContentType="application/xml"/>` +
		`<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>` +
		`<Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/>` +
		`<Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>`},
	{"_rels/.rels", `<Relationships xmlns="` + opc + `relationships"><Relationship Id="rId1" Type="` + office + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
	{"xl/workbook.xml", `<workbook xmlns="` + main + `" xmlns:r="` + office + `"><sheets><sheet name="Rows" sheetId="1" r:id="rId1"/></sheets></workbook>`},
	{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="` + opc + `relationships"><Relationship Id="rId1" Type="` + office + `/worksheet" Target="worksheets/sheet1.xml"/>` +
		`<Relationship Id="rId2" Type="` + office + `/styles" Target="styles.xml"/></Relationships>`},
	// The format of a text cell is "@", so that one that is edited stays a text; style 2 is the bold head.
	{"xl/styles.xml", `<styleSheet xmlns="` + main + `"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>` +
		`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>` +
		`<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
		`<cellXfs count="3"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>` +
		`<xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/></cellXfs>` +
		`<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`},
}

// sheetHead keeps the names of the columns in sight.
const (
	sheetHead = xmlHead + `<worksheet xmlns="` + main + `"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`
	sheetTail = `</sheetData></worksheet>`
	tailRoom  = 4096 // of the end of the sheet and the zip's own list
)

// A book is a workbook with one sheet.
type book struct {
	out     *counted
	zip     *zip.Writer
	packer  *flate.Writer // of the sheet
	sheet   io.Writer
	l       Limits
	content int64 // of the sheet
	held    int64 // bytes of the sheet of which it is not known yet how small they become
	row     int64
	line    []byte
	cut     int
	err     error
}

// counted counts what is written.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

func newBook(w io.Writer, l Limits) *book {
	b := &book{out: &counted{w: w}, l: l}
	b.zip = zip.NewWriter(b.out)
	b.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		f, err := flate.NewWriter(w, flate.DefaultCompression)
		b.packer = f
		return f, err
	})
	for _, p := range parts {
		b.part(p[0])
		b.put([]byte(xmlHead + p[1]))
	}
	b.part("xl/worksheets/sheet1.xml")
	b.put([]byte(sheetHead))
	return b
}

func (b *book) part(name string) {
	if b.err == nil {
		b.sheet, b.err = b.zip.Create(name)
	}
}

func (b *book) put(p []byte) {
	if b.err == nil {
		_, b.err = b.sheet.Write(p)
	}
	b.content += int64(len(p))
	b.held += int64(len(p))
}

func (b *book) Header(names []string) error {
	if len(names) > maxColumns {
		return ErrColumns
	}
	b.begin()
	for i, n := range names {
		b.text(i, n, '2')
	}
	_, err := b.end()
	return err
}

func (b *book) Row(cells [][]byte) (bool, error) {
	cut := b.cut
	b.begin()
	for i, c := range cells {
		switch {
		case len(c) == 0 || string(c) == "null":
		case string(c) == "true" || string(c) == "false":
			b.open(i)
			b.line = append(b.line, ` t="b"><v>0</v></c>`...)
			if c[0] == 't' {
				b.line[len(b.line)-len("0</v></c>")] = '1'
			}
		case (c[0] == '-' || c[0] >= '0' && c[0] <= '9') && kept(c):
			b.open(i)
			b.line = append(append(append(b.line, `><v>`...), c...), `</v></c>`...)
		default:
			if s, ok := TextOf(c); ok {
				b.text(i, s, '1')
			}
		}
	}
	ok, err := b.end()
	if !ok {
		b.cut = cut
		b.row--
	}
	return ok, err
}

func (b *book) begin() {
	b.row++
	b.line = strconv.AppendInt(append(b.line[:0], `<row r="`...), b.row, 10)
	b.line = append(b.line, `">`...)
}

// end writes the row where there is room for it. How small a row becomes is known once it is packed; until then it counts as
// large as it is.
func (b *book) end() (bool, error) {
	b.line = append(b.line, `</row>`...)
	n := int64(len(b.line))
	if b.content+n > b.l.Content {
		return false, b.err
	}
	if b.out.n+b.held+n+tailRoom > b.l.Bytes {
		b.flush()
		if b.out.n+n+tailRoom > b.l.Bytes {
			return false, b.err
		}
	}
	b.put(b.line)
	return true, b.err
}

func (b *book) flush() {
	if b.err == nil {
		b.err = b.packer.Flush()
	}
	if b.err == nil {
		b.err = b.zip.Flush()
	}
	b.held = 0
}

// open begins a cell.
func (b *book) open(i int) {
	b.line = append(b.line, `<c r="`...)
	b.line = column(b.line, i)
	b.line = strconv.AppendInt(b.line, b.row, 10)
	b.line = append(b.line, '"')
}

// column is the name of a column: A to Z, AA and so on.
func column(b []byte, i int) []byte {
	if i >= 26 {
		b = column(b, i/26-1)
	}
	return append(b, byte('A'+i%26))
}

// text writes a text cell. What XML has no way to say is written as the form has it, _xHHHH_, and so is a text that would be
// taken for that.
func (b *book) text(i int, s string, style byte) {
	b.open(i)
	b.line = append(append(append(b.line, ` s="`...), style), `" t="inlineStr"><is><t xml:space="preserve">`...)
	units := 0
	for at, r := range s {
		units++
		if r > 0xffff {
			units++
		}
		if units > maxCell {
			b.cut++
			break
		}
		switch {
		case r == '&':
			b.line = append(b.line, "&amp;"...)
		case r == '<':
			b.line = append(b.line, "&lt;"...)
		case r == '>':
			b.line = append(b.line, "&gt;"...)
		case r == '_' && escaped(s[at:]):
			b.line = append(b.line, "_x005F_"...)
		case r < ' ' && r != '\n' && r != '\t', r == 0xfffe, r == 0xffff:
			b.line = append(b.line, '_', 'x', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15], '_')
		default:
			b.line = utf8.AppendRune(b.line, r)
		}
	}
	b.line = append(b.line, `</t></is></c>`...)
}

const hex = "0123456789ABCDEF"

// escaped says whether a text begins as _xHHHH_.
func escaped(s string) bool {
	if len(s) < 7 || s[1] != 'x' || s[6] != '_' {
		return false
	}
	for _, c := range []byte(s[2:6]) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return false
		}
	}
	return true
}

// kept says whether a spreadsheet keeps a JSON number to its last digit: a whole one may be a key, whose digits all matter.
func kept(c []byte) bool {
	n := 0
	for _, d := range c {
		switch {
		case d == '.' || d == 'e' || d == 'E':
			return true
		case d >= '0' && d <= '9':
			n++
		}
	}
	return n <= maxDigits
}

func (b *book) Close() error {
	b.put([]byte(sheetTail))
	if b.err != nil {
		return b.err
	}
	return b.zip.Close()
}

func (b *book) Shortened() int { return b.cut }
