package introspect

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// An addition is new fields for one resource, each an entry of a mapping as text.
type addition struct {
	to    *declaration
	lines []string
}

// fields is the mapping that is added to.
func (a addition) fields() *yaml.Node { return under(a.to.node, "fields") }

// insert adds fields to resources of d. It puts them into the text, so that every other byte stays as it
// is. Should the text then not read as meant, the tree is written anew, which keeps values and comments but
// not the layout. Additions to fields that another resource shares are missed, for it would change with
// them, and so are those to a file that cannot be written anew either.
func (d *document) insert(all []addition) (next *document, missed []addition) {
	var own []addition
	for _, a := range all {
		n := direct(a.to.node, "fields")
		if n != nil && n.Kind == yaml.MappingNode && n.Anchor == "" && len(n.Content) > 0 {
			own = append(own, a)
		} else {
			missed = append(missed, a)
		}
	}
	if len(own) == 0 {
		return d, missed
	}
	if next = d.splice(own); next != nil && d.grownBy(own, next) {
		return next, missed
	}
	if next = d.rewrite(own); next != nil && d.grownBy(own, next) {
		return next, missed
	}
	return d, all
}

// splice puts the fields behind the last one of each resource. It is nil when the outcome is no YAML.
func (d *document) splice(all []addition) *document {
	lines := bytes.SplitAfter(d.data, []byte("\n"))
	end := "\n"
	if bytes.HasSuffix(lines[0], []byte("\r\n")) {
		end = "\r\n"
	}
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b addition) int { // from the end, so that the places before stay
		x, y := a.fields(), b.fields()
		return cmp.Or(y.Line-x.Line, y.Column-x.Column)
	})
	for _, a := range all {
		fields := a.fields()
		if fields.Style&yaml.FlowStyle != 0 {
			text := bytes.Join(lines, nil)
			at := flowEnd(text, offset(lines, fields.Line, fields.Column))
			if at < 0 {
				return nil
			}
			more := strings.Join(a.lines, ", ")
			if text[at-1] != ',' {
				more = ", " + more
			}
			lines = bytes.SplitAfter(slices.Concat(text[:at], []byte(more), text[at:]), []byte("\n"))
			continue
		}
		last := fields.Content[len(fields.Content)-2]
		indent := last.Column - 1
		after := lastLine(lines, last.Line, indent)
		var text []byte
		if !bytes.HasSuffix(lines[after-1], []byte("\n")) {
			text = append(text, end...)
		}
		for _, l := range a.lines {
			text = append(text, strings.Repeat(" ", indent)+l+end...)
		}
		lines = slices.Insert(lines, after, text)
	}
	next, err := parse(d.name, bytes.Join(lines, nil))
	if err != nil {
		return nil
	}
	return next
}

// offset is where in the text a place is; its column counts characters.
func offset(lines [][]byte, line, column int) int {
	at := 0
	for _, l := range lines[:line-1] {
		at += len(l)
	}
	rest := lines[line-1]
	for i := 1; i < column && len(rest) > 0; i++ {
		_, size := utf8.DecodeRune(rest)
		at, rest = at+size, rest[size:]
	}
	return at
}

// flowEnd is where the last entry ends of the mapping that opens at start with a brace, before any comment;
// -1 when it is not found.
func flowEnd(text []byte, start int) int {
	depth, last := 0, start
	var quote byte
	for i := start; i < len(text); i++ {
		c := text[i]
		first := i == start || bytes.IndexByte([]byte(" \t\r\n{[,:"), text[i-1]) >= 0 // a token may begin here
		switch {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote { // a doubled quote closes and opens again
				quote = 0
				if i+1 < len(text) && text[i+1] == c && c == '\'' {
					quote = c
					i++
				}
			}
		case first && (c == '"' || c == '\''):
			quote = c
		case first && c == '#':
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return last + 1
			}
		}
		if bytes.IndexByte([]byte(" \t\r\n"), c) < 0 && !(first && c == '#') {
			last = i
		}
	}
	return -1
}

// lastLine is the last of the lines that belong to the entry beginning in line from: those that are further
// in, and the comments that follow at once.
func lastLine(lines [][]byte, from, indent int) int {
	last := from
	for n := from + 1; n <= len(lines); n++ {
		line := lines[n-1]
		text := bytes.TrimLeft(line, " ")
		in := len(line) - len(text)
		comment := bytes.HasPrefix(text, []byte("#"))
		switch {
		case len(bytes.TrimSpace(text)) == 0:
			continue
		case in > indent && !comment, in >= indent && comment && last == n-1:
			last = n
		case comment:
			continue
		default:
			return last
		}
	}
	return last
}

// rewrite adds the fields to a copy of the tree and writes it anew; nil when that cannot be done.
func (d *document) rewrite(all []addition) *document {
	copied, err := parse(d.name, d.data)
	if err != nil {
		return nil
	}
	for _, r := range declarations([]*document{copied}) {
		for _, a := range all {
			if a.to.code != r.code {
				continue
			}
			entries, err := parse(d.name, []byte(strings.Join(a.lines, "\n")))
			if err != nil {
				return nil
			}
			fields := under(r.node, "fields")
			fields.Content = append(fields.Content, entries.root.Content...)
		}
	}
	data, err := yaml.Dump(copied.tree, yaml.WithV4Defaults(), yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false))
	if err != nil {
		return nil
	}
	next, err := parse(d.name, data)
	if err != nil {
		return nil
	}
	for _, c := range remark.FindAll(d.data, -1) {
		if !bytes.Contains(data, bytes.TrimSpace(c)) {
			return nil
		}
	}
	return next
}

// remark is what may be a comment.
var remark = regexp.MustCompile(`(?m)(^|[ \t])#.*$`)

// grownBy says whether next is d with the fields added and nothing else: the text was understood as meant.
func (d *document) grownBy(all []addition, next *document) bool {
	extra := map[string]int{}
	for _, a := range all {
		extra[a.to.code] = len(a.lines)
	}
	for _, r := range declarations([]*document{next}) {
		n, ok := extra[r.code]
		if !ok {
			continue
		}
		fields := under(r.node, "fields")
		if len(fields.Content) < 2*n {
			return false
		}
		fields.Content = fields.Content[:len(fields.Content)-2*n]
		delete(extra, r.code)
	}
	if len(extra) > 0 || !sameTree(d.root, next.root) {
		return false
	}
	whole, err := parse(next.name, next.data) // the tree was cut for the comparison
	if err != nil {
		return false
	}
	*next = *whole
	return true
}

func sameTree(a, b *yaml.Node) bool {
	if a == nil || b == nil || a.Kind != b.Kind || a.Value != b.Value || a.Anchor != b.Anchor || a.Tag != b.Tag || len(a.Content) != len(b.Content) {
		return a == b
	}
	for i := range a.Content {
		if !sameTree(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
