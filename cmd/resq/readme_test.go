package main

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"resq/schema/problem"
)

var update = flag.Bool("update", false, "rewrite the answers in the README with those that the program gives")

const readmeFile = "../../README.md"

// A block is one fenced example of the README.
type block struct {
	kind string
	line int
	body string
}

// readme gives the fenced blocks of the README, without the indentation of lists.
func readme(t *testing.T) []block {
	t.Helper()
	raw, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	var open *block
	indent := ""
	for i, l := range strings.Split(string(raw), "\n") {
		trimmed := strings.TrimLeft(l, " ")
		switch {
		case open == nil && strings.HasPrefix(trimmed, "```"):
			indent = l[:len(l)-len(trimmed)]
			open = &block{kind: strings.TrimPrefix(trimmed, "```"), line: i + 1}
		case open != nil && trimmed == "```":
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.body += strings.TrimPrefix(l, indent) + "\n"
		}
	}
	return blocks
}

var (
	command  = regexp.MustCompile(`^\$ bin/resq (.*)\n`)
	word     = regexp.MustCompile(`'[^']*'|\S+`)
	volatile = regexp.MustCompile(`"(cursor|request_id|token|op_id|short_code|expires_at|until)":"[^"]*"`)
	handles  = regexp.MustCompile(`"(token|op_id)":"([^"]*)"`)
)

// The answers that the README shows are those that the program gives.
func TestReadmeCalls(t *testing.T) {
	demo(t)
	n := 0
	given := map[string]string{} // what an answer gave for the next commands
	for _, b := range readme(t) {
		m := command.FindStringSubmatch(b.body)
		if m == nil {
			continue
		}
		n++
		var args []string
		for _, w := range word.FindAllString(m[1], -1) {
			args = append(args, strings.NewReplacer("$TOKEN", given["token"], "$OPERATION", given["op_id"]).Replace(strings.Trim(w, "'")))
		}
		_, out, errOut := resq(t, "", append(args, "--state", state)...)
		for _, m := range handles.FindAllStringSubmatch(out, -1) {
			given[m[1]] = m[2]
		}
		got := strings.TrimSpace(volatile.ReplaceAllString(out+errOut, `"$1":"…"`))
		want := strings.TrimSpace(strings.TrimPrefix(b.body, m[0]))
		if got != want && *update {
			rewrite(t, m[0]+want, m[0]+got+"\n")
		} else if got != want {
			t.Errorf("README.md:%d shows\n%s\nand the program says\n%s", b.line, want, got)
		}
	}
	if n < 5 {
		t.Errorf("only %d examples were found", n)
	}
}

func rewrite(t *testing.T, old, answer string) {
	t.Helper()
	raw, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(readmeFile, []byte(strings.Replace(string(raw), old, answer, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The files that the README shows are valid.
func TestReadmeFiles(t *testing.T) {
	dir := t.TempDir()
	seen := 0
	for _, b := range readme(t) {
		if b.kind != "yaml" {
			continue
		}
		name := strings.TrimPrefix(strings.SplitN(b.body, "\n", 2)[0], "# ")
		path := write(t, dir, name, b.body)
		seen++
		if name == "resq.yaml" {
			c, err := parseConfig(path, []byte(b.body), environment("ALICE_KEY", "alice-key-0123456789", "ROOT_KEY", "root-key-0123456789"))
			if err != nil || c.Keys.Len() != 2 || c.Limits.MaxRows != 5000 {
				t.Errorf("README.md:%d: %v", b.line, err)
			}
			continue
		}
		if code, _, errOut := resq(t, "", "validate", path); code != 0 {
			t.Errorf("README.md:%d: exit %d\n%s", b.line, code, errOut)
		}
	}
	if seen != 2 {
		t.Errorf("%d files were found", seen)
	}
}

// What tell prints is what people and scripts read: one problem a line, with its place first.
func TestTell(t *testing.T) {
	var b strings.Builder
	tell(&b, problem.List{{At: "a.yaml:1:2", Message: "no field", Hint: "nearest: x"}, {Message: "general"}})
	if got := b.String(); got != "a.yaml:1:2: no field · nearest: x\nresq: general\n" {
		t.Errorf("%q", got)
	}
}
