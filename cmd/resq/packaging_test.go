package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// source of the repository, from this package.
const root = "../.."

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// first gives the part of a text that the group of a pattern matches.
func first(t *testing.T, s, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(s)
	if m == nil {
		t.Fatalf("nothing matches %s", pattern)
	}
	return m[1]
}

// understood says whether a command line is one of this program.
func understood(t *testing.T, args []string) {
	t.Helper()
	if code, _, errOut := resq(t, "", append(slices.Clone(args), "--help")...); code != 0 {
		t.Errorf("resq %q: %s", args, errOut)
	}
}

// The image copies what make build makes, from a Go that go.mod asks for, into a stage without a shell and
// without root, and its command line is one of this program.
func TestDockerfile(t *testing.T) {
	file := text(t, "packaging/Dockerfile")
	stages := regexp.MustCompile(`(?m)^FROM `).Split(file, -1)
	if len(stages) != 3 {
		t.Fatalf("%d stages", len(stages)-1)
	}
	build, final := stages[1], stages[2]
	if want := first(t, text(t, "go.mod"), `(?m)^go (\d+\.\d+)`); first(t, build, `^golang:(\d+\.\d+)`) != want {
		t.Errorf("the Go of the image is not %s", want)
	}
	made := first(t, text(t, "Makefile"), `go build .*-o (\S+) ./cmd/resq`)
	dir := first(t, build, `(?m)^WORKDIR (\S+)`)
	if !regexp.MustCompile(`(?m)^RUN make build\b`).MatchString(build) || !strings.Contains(text(t, "Makefile"), "CGO_ENABLED=0") {
		t.Error("the image does not build as make build does, or not a static binary")
	}
	if from := first(t, final, `(?m)^COPY --from=build (\S+) `); from != dir+"/"+made {
		t.Errorf("it copies %s, and make build makes %s", from, dir+"/"+made)
	}
	to := first(t, final, `(?m)^COPY --from=build \S+ (\S+)`)
	if entry := first(t, final, `(?m)^ENTRYPOINT \["([^"]+)"\]`); entry != to {
		t.Errorf("it starts %s, and the binary is %s", entry, to)
	}
	if !strings.HasPrefix(final, "gcr.io/distroless/static") || !strings.Contains(final, "\nUSER nonroot") || regexp.MustCompile(`(?m)^(RUN|ADD|SHELL)\b`).MatchString(final) {
		t.Error("the last stage is not a bare one for a user without rights")
	}
	understood(t, regexp.MustCompile(`[^",\s\[\]]+`).FindAllString(first(t, final, `(?m)^CMD (\[.*\])`), -1))
	for _, l := range strings.Split(text(t, "packaging/Dockerfile.dockerignore"), "\n") {
		for _, needed := range []string{"cmd", "engine", "schema", "server", "resources", "access", "go.mod", "Makefile"} {
			if l == needed {
				t.Errorf("the build needs %s, which is left out of its context", needed)
			}
		}
	}
}

// The unit runs a command line of this program as a user without rights, reloads by the signal that this program
// knows, and shuts what it does not need.
func TestUnit(t *testing.T) {
	unit := text(t, "packaging/resq.service")
	understood(t, strings.Fields(first(t, unit, `(?m)^ExecStart=/usr/bin/resq (.*)$`)))
	for _, want := range []string{
		"User=resq", "ExecReload=/bin/kill -HUP $MAINPID", "NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes",
		"PrivateDevices=yes", "CapabilityBoundingSet=", "SystemCallFilter=@system-service", "MemoryDenyWriteExecute=yes", "StateDirectory=resq", "RestrictNamespaces=yes",
	} {
		if !slices.Contains(strings.Split(unit, "\n"), want) {
			t.Errorf("the unit lacks %s", want)
		}
	}
}

var fence = regexp.MustCompile("(?s)```(\\w*)\n(.*?)```")

// The configuration that docs/operation.md shows loads, and its flags are those of serve.
func TestOperationPage(t *testing.T) {
	page := text(t, "docs/operation.md")
	seen := 0
	for _, m := range fence.FindAllStringSubmatch(page, -1) {
		if m[1] != "yaml" {
			continue
		}
		seen++
		c, err := parseConfig("/etc/resq/resq.yaml", []byte(m[2]), environment("ALICE_KEY", "alice-key-0123456789", "REPORTS_KEY", "reports-key-01234567", "REPORTS_KEY_NEW", "reports-key-76543210"))
		if err != nil || c.Keys.Len() != 3 || c.Catalog[0] != "/etc/resq/catalog" || c.Limits.MaxRows != 1000 || c.State != "/var/lib/resq" || c.Principals["reports"].Scopes[0] != "read" || c.Budget.CallsPerMinute != 1000 {
			t.Errorf("%+v %v", c, err)
		}
	}
	if seen != 1 {
		t.Errorf("%d configurations were found", seen)
	}
	flags := serveCommand().Flags()
	for _, m := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)").FindAllStringSubmatch(page, -1) {
		if flags.Lookup(m[1]) == nil {
			t.Errorf("serve has no flag --%s", m[1])
		}
	}
	settings, _, _ := strings.Cut(page, "\n## State") // further tables are of other things
	known := 0
	for _, m := range regexp.MustCompile("(?m)^\\| [^|]*\\| `([a-z][A-Za-z]*)[`:]").FindAllStringSubmatch(settings, -1) {
		if _, err := parseConfig("c", []byte(m[1]+":\n"), environment()); err != nil && strings.Contains(err.Error(), "there is no key") {
			t.Errorf("the configuration has no key %s", m[1])
		}
		known++
	}
	if known < 11 {
		t.Errorf("only %d keys of the table were found", known)
	}
}
