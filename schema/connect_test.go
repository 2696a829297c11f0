package schema

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func environment(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

// ${NAME} and ${NAME:-text} are the variables of the environment, "$${" is "${".
func TestExpand(t *testing.T) {
	env := environment(map[string]string{"USER": "shop", "EMPTY": "", "_P1": "s3$cret"})
	for dsn, want := range map[string]string{
		"mysql://${USER}@h/db":                      "mysql://shop@h/db",
		"mysql://${USER}:${_P1}@h/${DB:-main}":      "mysql://shop:s3$cret@h/main",
		"mysql://${EMPTY}${USER}@h/${EMPTY:-other}": "mysql://shop@h/other",
		"mysql://u:a$b$@h/${NONE:-}":                "mysql://u:a$b$@h/",
		"sqlite:$${USER}/${X:-a:-b}":                "sqlite:${USER}/a:-b",
	} {
		c, err := LoadFS(fstest.MapFS{"c.yaml": {Data: []byte("version: 1\nconnections: {default: {dsn: '" + dsn + "'}}\n")}}, LoadOptions{Getenv: env})
		if err != nil {
			t.Errorf("%s: %v", dsn, err)
		} else if got := c.Connections[0].DSN; got != want {
			t.Errorf("%s is %s, want %s", dsn, got, want)
		}
	}
}

// The environment is the process's own when nothing else is given.
func TestExpandFromProcess(t *testing.T) {
	t.Setenv("RESQ_TEST_DSN", "sqlite:from-process.db")
	c := loaded(t, "version: 1\nconnections: {default: {dsn: '${RESQ_TEST_DSN}'}}\n")
	if c.Connections[0].DSN != "sqlite:from-process.db" {
		t.Errorf("DSN %q", c.Connections[0].DSN)
	}
}

// A DSN of the options takes the place of the declared one, with its driver, and makes connections that no file has.
func TestDSNOption(t *testing.T) {
	fsys := fstest.MapFS{"c.yaml": {Data: []byte("version: 1\nconnections: {default: {driver: mysql, dsn: '${UNSET}', mode: write}}\nresources: [{code: A, fields: {id: integer}}]\n")}}
	c, err := LoadFS(fsys, LoadOptions{Getenv: environment(nil), DSN: map[string]string{"default": "postgres://u@h/db", "other": "sqlite:x", "another": "mysql://h/x"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range c.Connections {
		got = append(got, x.Name+" "+x.Driver+" "+x.DSN)
	}
	if s := strings.Join(got, "; "); s != "default postgres postgres://u@h/db; another mysql mysql://h/x; other sqlite sqlite:x" {
		t.Errorf("connections %s", s)
	}
	if !c.Connections[0].Write || c.Connections[1].Write || c.Resources[0].Connection != c.Connections[0] {
		t.Error("an option changes more than the DSN, or what it adds may write")
	}
}

// A dsnFile is read beside the file that names it, without the end of its line.
func TestDSNFile(t *testing.T) {
	dir := write(t, map[string]string{
		"catalog/a.yaml":      "version: 1\nconnections: {default: {dsnFile: secrets/dsn}}\n",
		"catalog/secrets/dsn": "postgres://u:pa$$word@h/db\r\n",
	})
	c, err := Load([]string{filepath.Join(dir, "catalog")}, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if x := c.Connections[0]; x.DSN != "postgres://u:pa$$word@h/db" || x.Driver != "postgres" {
		t.Errorf("connection %s %s", x.Driver, x.DSN)
	}
	absolute := "version: 1\nconnections: {default: {dsnFile: '" + filepath.Join(dir, "catalog/secrets/dsn") + "'}}\n"
	if c := loaded(t, absolute); c.Connections[0].Driver != "postgres" {
		t.Errorf("an absolute dsnFile: %+v", c.Connections[0])
	}
	_, err = LoadFS(fstest.MapFS{"a.yaml": {Data: []byte("version: 1\nconnections: {default: {dsnFile: secret}}\n")}}, LoadOptions{})
	if err == nil || !strings.Contains(err.Error(), "absolute path") {
		t.Errorf("a relative dsnFile of an embedded catalog: %v", err)
	}
}

// Offline, files are checked where their secrets are not; no DSN is kept.
func TestOffline(t *testing.T) {
	text := `
version: 1
connections:
  default: {dsn: "${RESQ_TEST_UNSET}"}
  file: {dsnFile: /no/such/file}
  plain: {dsn: "mysql://u:${RESQ_TEST_UNSET}@h/db"}
resources:
  - {code: A, fields: {id: integer}}
  - {code: B, connection: nowhere, fields: {id: integer}}
`
	_, err := LoadFS(fstest.MapFS{"c.yaml": {Data: []byte(text)}}, LoadOptions{Offline: true, Getenv: environment(nil)})
	if err == nil || err.Error() != `c.yaml:9:27: no connection "nowhere" · one of: default, file, plain` {
		t.Fatalf("offline: %v", err)
	}
	c, err := LoadFS(fstest.MapFS{"c.yaml": {Data: []byte(strings.Replace(text, "nowhere", "plain", 1))}}, LoadOptions{Offline: true, Getenv: environment(nil)})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range c.Connections {
		if x.DSN != "" || x.Name == "plain" && x.Driver != "mysql" {
			t.Errorf("connection %+v", x)
		}
	}
}

// UTC is the default zone and is kept as no zone.
func TestZone(t *testing.T) {
	c := loaded(t, "version: 1\nconnections: {default: {dsn: 'sqlite:a', zone: UTC}, b: {dsn: 'sqlite:b', zone: Europe/Berlin}}\n")
	if c.Connections[0].Zone != "" || c.Connections[1].Zone != "Europe/Berlin" {
		t.Errorf("zones %q, %q", c.Connections[0].Zone, c.Connections[1].Zone)
	}
}
