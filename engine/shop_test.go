package engine_test

import (
	"database/sql/driver"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.yaml.in/yaml/v4"

	"resq/engine"
	"resq/engine/dialect/mysql"
	"resq/engine/dialect/postgres"
	"resq/engine/dialect/sqlite"
	"resq/engine/policy"
	"resq/schema"
	"resq/testdb"
)

// now is the clock of every engine under test.
var now = time.Date(2024, 6, 15, 12, 0, 0, 0, time.UTC)

// A recorded driver is the real dialect whose connections tell the recorder what they are asked to do.
type recorded struct {
	engine.Driver
	recorder *testdb.Recorder
}

// Connector opens the dialect's own connector and listens to it.
func (d recorded) Connector(c *schema.Connection, timeout time.Duration) (driver.Connector, error) {
	inner, err := d.Driver.Connector(c, timeout)
	if err != nil {
		return nil, err
	}
	return d.recorder.Connector(inner), nil
}

// Writer is Connector for writing.
func (d recorded) Writer(c *schema.Connection, timeout time.Duration) (driver.Connector, error) {
	inner, err := d.Driver.Writer(c, timeout)
	if err != nil {
		return nil, err
	}
	return d.recorder.Connector(inner), nil
}

// A bench is an engine over one database system, and what is needed to look behind it.
type bench struct {
	engine   *engine.Engine
	catalog  *schema.Catalog
	recorder *testdb.Recorder
	on       testdb.Engine
	dsn      map[string]string // connection → DSN
	opts     engine.Options
}

// again is the bench after its process died: another engine on the same databases.
func (b *bench) again(t testing.TB) *bench {
	t.Helper()
	n := *b
	var err error
	if n.engine, err = engine.New(b.catalog, b.opts); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.engine.Close() })
	return &n
}

// newBench loads the catalog files and opens an engine on the databases of dsn, by connection name.
func newBench(t testing.TB, on testdb.Engine, files fstest.MapFS, dsn map[string]string, change ...func(o *engine.Options)) *bench {
	t.Helper()
	b := &bench{recorder: &testdb.Recorder{}, on: on, dsn: dsn}
	opts := engine.Options{
		Now:     func() time.Time { return now },
		Secret:  []byte("a secret of the tests, 32 bytes."),
		Timeout: 30 * time.Second, // for a loaded machine; what is tested here is not the time-out
		Log:     slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&opts)
	}
	files["connections.yaml"] = &fstest.MapFile{Data: connections(dsn, opts.Control != "")}
	var err error
	if b.catalog, err = schema.LoadFS(files, schema.LoadOptions{}); err != nil {
		t.Fatalf("catalog:\n%v", err)
	}
	opts.Drivers = []engine.Driver{recorded{sqlite.New(), b.recorder}, recorded{mysql.New(), b.recorder}, recorded{postgres.New(), b.recorder}}
	b.opts = opts
	b.engine, err = engine.New(b.catalog, opts)
	if err != nil {
		t.Fatalf("engine on %s: %v", on.Name, err)
	}
	t.Cleanup(func() { b.engine.Close() })
	return b
}

// connections writes the part of a catalog that the tests decide: where the databases are.
func connections(dsn map[string]string, apart bool) []byte {
	var s strings.Builder
	s.WriteString("version: 1\nconnections:\n")
	for name, d := range dsn {
		driver, _, _ := strings.Cut(d, ":")
		fmt.Fprintf(&s, "  %s: {driver: %s, dsn: %q, mode: write, operations: %s}\n", name, driver, d, map[bool]string{true: "control", false: "database"}[apart])
	}
	return []byte(s.String())
}

const shopDir = "../testdata/db/shop"

// newShop makes the databases of the shop on one database system and opens an engine on them.
func newShop(t testing.TB, on testdb.Engine) *bench {
	t.Helper()
	dsn := map[string]string{
		"main": testdb.Create(t, on, readFile(t, filepath.Join(shopDir, on.Name+".sql"))),
		"side": testdb.Create(t, on, readFile(t, filepath.Join(shopDir, on.Name+".side.sql"))),
	}
	return newBench(t, on, catalogFiles(t, filepath.Join(shopDir, "catalog")), dsn)
}

func catalogFiles(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path] = &fstest.MapFile{Data: []byte(readFile(t, filepath.Join(dir, path)))}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// principals reads who may ask in the case files.
func principals(t testing.TB) map[string]*policy.Principal {
	t.Helper()
	return peopleOf(t, filepath.Join(shopDir, "principals.yaml"))
}

func peopleOf(t testing.TB, file string) map[string]*policy.Principal {
	t.Helper()
	var all map[string]struct {
		Roles      []string
		Scopes     []string
		Attributes map[string]string
		Funcs      map[string]any
	}
	if err := yaml.Unmarshal([]byte(readFile(t, file)), &all); err != nil {
		t.Fatal(err)
	}
	people := map[string]*policy.Principal{}
	for name, p := range all {
		who := &policy.Principal{
			Name: name, Key: name + "-key", Roles: p.Roles, Scopes: p.Scopes,
			Attributes: map[string]policy.Value{}, Funcs: map[string]policy.Value{},
		}
		if who.Scopes == nil {
			who.Scopes = []string{"read", "write", "delete"}
		}
		for k, v := range p.Attributes {
			who.Attributes[k] = policy.One(v)
		}
		for k, v := range p.Funcs {
			switch v := v.(type) {
			case string:
				who.Funcs[k] = policy.One(v)
			case []any:
				list := policy.Value{List: true}
				for _, x := range v {
					list.Texts = append(list.Texts, x.(string))
				}
				who.Funcs[k] = list
			default:
				t.Fatalf("principals.yaml: %s: %s is neither a text nor a list", name, k)
			}
		}
		people[name] = who
	}
	return people
}
