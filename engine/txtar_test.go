package engine_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// An archive is a case file: a comment, then named sections, each after a line `-- name --`.
type archive struct {
	comment  string
	sections []section
}

type section struct{ name, text string }

var sectionLine = regexp.MustCompile(`^-- (\S+) --$`)

func parseArchive(data []byte) (*archive, error) {
	a := &archive{}
	text := &a.comment
	for line := range strings.Lines(string(data)) {
		m := sectionLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			*text += line
			continue
		}
		if _, ok := a.section(m[1]); ok {
			return nil, fmt.Errorf("section %q stands twice", m[1])
		}
		a.sections = append(a.sections, section{name: m[1]})
		text = &a.sections[len(a.sections)-1].text
	}
	return a, nil
}

// section gives the text of a section without its last line break.
func (a *archive) section(name string) (string, bool) {
	for _, s := range a.sections {
		if s.name == name {
			return strings.TrimSuffix(s.text, "\n"), true
		}
	}
	return "", false
}

// set puts text into the section, adding it at the end if need be. In the file a line break follows it.
func (a *archive) set(name, text string) {
	if text != "" {
		text += "\n"
	}
	for i := range a.sections {
		if a.sections[i].name == name {
			a.sections[i].text = text
			return
		}
	}
	a.sections = append(a.sections, section{name, text})
}

// drop takes away every section that keep does not want.
func (a *archive) drop(keep func(name string) bool) {
	var kept []section
	for _, s := range a.sections {
		if keep(s.name) {
			kept = append(kept, s)
		}
	}
	a.sections = kept
}

func (a *archive) format() []byte {
	var b bytes.Buffer
	b.WriteString(strings.TrimRight(a.comment, "\n") + "\n")
	for _, s := range a.sections {
		fmt.Fprintf(&b, "-- %s --\n%s", s.name, s.text)
		if s.text != "" && !strings.HasSuffix(s.text, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}
