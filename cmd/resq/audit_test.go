package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"resq/engine"
	"resq/registry"
)

// audited makes a state directory with an audit of one write and one read, and gives it and the audit's one file.
func audited(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	l := openAudit(t, dir)
	r := engine.Record{Operation: "op-1", Principal: "alice", Tool: "res-update", Resource: "Order", Rows: 2, Changes: []byte(`{"ids":["7","8"]}`)}
	if err := l.Intent(r); err != nil {
		t.Fatal(err)
	}
	if err := l.Outcome(engine.Record{Operation: "op-1", Principal: "alice", Tool: "res-update", Resource: "Order", Rows: 2, Code: "OK"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Note(registry.Entry{Event: registry.EventCall, Principal: "bob", Tool: "res-query", Code: "OK", Detail: "\x1b[2J"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "audit", "*", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	return dir, files[0]
}

func openAudit(t *testing.T, dir string) *registry.Log {
	t.Helper()
	secret, err := (&config{State: dir}).secret()
	if err != nil {
		t.Fatal(err)
	}
	l, err := registry.Open(filepath.Join(dir, "audit"), registry.Options{Secret: secret, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAuditUsage(t *testing.T) {
	dir, _ := audited(t)
	empty := t.TempDir()
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"audit", 0, "verify"},
		{"audit nosuch", 2, `unknown command "nosuch"`},
		{"audit tail --state " + empty, 2, "there is no audit in " + empty + "/audit; name the server's state directory with --state"},
		{"audit tail --format xml --state " + dir, 2, `--format "xml" is not known; it is one of table, json, yaml`},
		{"audit tail --lines -1 --state " + dir, 2, "--lines must not be below zero"},
		{"audit verify --state " + empty, 2, "no secret in the configuration and none in " + empty},
		{"audit verify --links-only --state " + empty, 2, "there is no audit in"},
		{"audit verify --links-only --state " + dir, 0, "signatures not checked"},
		{"audit export --from yesterday --state " + dir, 2, `--from "yesterday" is no time; write it like 2026-08-01`},
		{"audit export --format xml --state " + dir, 2, `--format "xml" is not known; it is one of jsonl, csv`},
		{"audit export --config /nonexistent.yaml", 2, "cannot be read"},
	} {
		code, out, errOut := resq(t, "", strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+errOut, c.want) {
			t.Errorf("resq %s: exit %d, want %d\n%s%s\nlacks %q", c.args, code, c.code, out, errOut, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(empty, "secret")); err == nil {
		t.Error("reading an audit made a secret")
	}
}

func TestAuditTail(t *testing.T) {
	dir, file := audited(t)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(raw, []byte("\n"))

	code, out, errOut := resq(t, "", "audit", "tail", "--state", dir)
	if code != 0 || strings.Contains(out, "\x1b") || !strings.Contains(out, `"\u{1b}[2J"`) {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	for i, want := range []string{
		`^TIME +SEQ +EVENT +PRINCIPAL +TOOL +RESOURCE +CODE +ROWS +ID AND MORE$`,
		`^\d{4}-\S+Z +1 +open +0 +start$`,
		`^\S+Z +2 +intent +alice +res-update +Order +2 +op-1$`,
		`^\S+Z +3 +outcome +alice +res-update +Order +OK +2 +op-1$`,
		`^\S+Z +4 +call +bob +res-query +OK +0`,
		`^\S+Z +5 +checkpoint +0$`,
	} {
		if got := strings.Split(out, "\n"); !regexp.MustCompile(want).MatchString(got[i]) {
			t.Errorf("line %d is %q, want %s", i, got[i], want)
		}
	}
	if _, out, _ = resq(t, "", "audit", "tail", "--state", dir, "-n", "2", "--format", "json"); out != string(lines[3])+string(lines[4]) {
		t.Errorf("json: %s", out)
	}
	_, out, _ = resq(t, "", "audit", "tail", "--state", dir, "-n", "4", "--format", "yaml")
	for _, want := range []string{"- time: ", "\n  event: intent\n", "\n  changes:\n    ids:\n", "\n  rows: 2\n", `"7"`, "\n- time: "} {
		if !strings.Contains(out, want) {
			t.Errorf("yaml lacks %q:\n%s", want, out)
		}
	}
}

// With --follow the lines of a server that runs appear as they are written, until the program is told to end.
func TestAuditFollow(t *testing.T) {
	dir, _ := audited(t)
	p := start(t, "audit", "tail", "--state", dir, "--follow", "-n", "1")
	p.until("checkpoint")
	l := openAudit(t, dir)
	defer l.Close()
	for i := range 3 {
		if err := l.Note(registry.Entry{Event: registry.EventReload, Detail: fmt.Sprintf("the catalog, time %d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	p.until("the catalog, time 2")
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(); code != 0 {
		t.Errorf("exit %d: %s", code, p.errors())
	}
}

func TestAuditVerify(t *testing.T) {
	dir, file := audited(t)
	code, out, errOut := resq(t, "", "audit", "verify", "--state", dir)
	if want := regexp.MustCompile(`^ok    \S+: lines 1 to 5 in 1 file, signed up to 5, the last is [0-9a-f]{64}\n$`); code != 0 || !want.MatchString(out) {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(raw, []byte(`"rows":2`), []byte(`"rows":1`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut = resq(t, "", "audit", "verify", "--state", dir)
	if code != 1 || out != "" || !strings.HasPrefix(errOut, "FAIL  "+file+":2: the line is not the one that its successor") {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	// Cut within its last line it is what a crash leaves.
	if err := os.WriteFile(file, raw[:len(raw)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut = resq(t, "", "audit", "verify", "--state", dir)
	if code != 0 || !strings.Contains(out, "note  "+file+":5: the last line is not whole") || !strings.Contains(out, "signed up to 1,") {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	// A secret of the configuration is not the one of the state directory.
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	conf := write(t, dir, "resq.yaml", "state: .\nsecret: another-secret-of-a-good-length-0\n")
	code, _, errOut = resq(t, "", "audit", "verify", "--config", conf)
	if code != 1 || !strings.Contains(errOut, file+":1: the signature does not fit") {
		t.Errorf("exit %d\n%s", code, errOut)
	}
}

func TestAuditExport(t *testing.T) {
	dir, file := audited(t)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := resq(t, "", "audit", "export", "--state", dir, "--from", "2020-01-01"); code != 0 || out != string(raw) {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	if code, out, _ := resq(t, "", "audit", "export", "--state", dir, "--to", "2020-01-01T00:00:00+02:00"); code != 0 || out != "" {
		t.Errorf("exit %d\n%s", code, out)
	}
	code, out, _ := resq(t, "", "audit", "export", "--state", dir, "--format", "csv")
	if code != 0 || !strings.HasPrefix(out, "time,chain,seq,event,") || strings.Count(out, "\n") != 6 || !strings.Contains(out, `"{""ids"":[""7"",""8""]}"`) {
		t.Errorf("exit %d\n%s", code, out)
	}
}
