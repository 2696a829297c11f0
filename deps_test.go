// Package resq_test holds the rules of the whole tree.
package resq_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers is the import order of the house, from the ground up: what a package may import of this module. It is
// a statement of policy. A change that needs another line here is a change of the design and is argued as one.
var layers = []struct {
	name string
	may  []string
}{
	{"schema/problem", nil},
	{"schema/sqltext", []string{"schema/problem"}},
	{"schema/query", []string{"schema/problem", "schema/sqltext"}},
	{"schema", []string{"schema/problem", "schema/sqltext", "schema/query"}},
	{"schema/introspect", []string{"schema", "schema/problem"}},
	{"engine/funcs", []string{"schema", "schema/problem", "schema/query"}},
	{"engine/policy", []string{"schema", "schema/problem", "schema/query"}},
	{"engine/plan", []string{"schema", "schema/problem", "schema/query", "engine/funcs", "engine/policy"}},
	{"engine/sqlgen", []string{"schema", "schema/problem", "schema/sqltext", "schema/query", "engine/funcs", "engine/plan"}},
	{"engine/dialect/prepared", nil},
	{"engine/dialect/texts", nil},
	{"engine/dialect/mysql", []string{"engine/dialect/prepared", "engine/dialect/texts", "schema", "schema/problem", "schema/query", "engine/funcs", "engine/plan", "engine/sqlgen"}},
	{"engine/dialect/postgres", []string{"engine/dialect/texts", "schema", "schema/problem", "schema/query", "engine/funcs", "engine/plan", "engine/sqlgen"}},
	{"engine/dialect/sqlite", []string{"engine/dialect/prepared", "engine/dialect/texts", "schema", "schema/problem", "schema/query", "engine/funcs", "engine/plan", "engine/sqlgen"}},
	{"engine/sheet", nil},
	// The engine is handed its dialects and what reads a Redis; one that it knew by name could not be left out or added from outside.
	{"engine", []string{"schema", "schema/problem", "schema/sqltext", "schema/query", "engine/funcs", "engine/policy", "engine/plan", "engine/sqlgen", "engine/sheet"}},
	{"engine/kv", []string{"schema", "engine"}},
	{"telemetry", []string{"schema/problem"}},
	{"access", []string{"schema/problem", "engine/policy"}},
	{"registry", []string{"schema", "schema/problem", "schema/query", "engine", "engine/funcs", "engine/policy"}},
	// Another program's way to the keys: it asks for a credential of its own, and knows nothing of tools.
	{"registry/issuer", []string{"schema/problem", "registry"}},
	{"server", []string{"schema/problem", "engine", "engine/policy", "engine/sheet", "access"}},
	// The admin's pages show the catalog and what the control database holds; callers over MCP never reach them.
	{"server/console", []string{"schema", "schema/problem", "schema/query", "engine", "engine/policy", "registry"}},
	{"resources/erp", nil},
	{"resources/store", nil},
	{"resources/xiaoqu", nil},
	{"resources", []string{"resources/erp", "resources/store", "resources/xiaoqu"}},
	{"tools", nil},
	{"cmd/resq", []string{"schema", "schema/introspect", "schema/problem", "schema/query", "engine", "engine/policy", "engine/dialect/mysql", "engine/dialect/postgres", "engine/dialect/sqlite", "engine/kv", "telemetry", "access", "registry", "registry/issuer", "server", "server/console", "resources", "tools"}},
	// The soak test drives the program from outside; the rows of the shop are the same ones.
	{"bench/soak", []string{"resources/store"}},
}

// forTests are packages that only tests import; they may import anything of the module.
var forTests = []string{"testdb", "testdb/proxy", "attack", "faults"}

// libraries are the outside libraries, each with the packages that may import it, and those whose tests may.
// A library of weight has one importer, so that a switch to another touches one place.
var libraries = []struct {
	name      string
	importers []string
	tests     []string
}{
	{"go.yaml.in/yaml/v4", []string{"schema", "schema/introspect", "cmd/resq"}, []string{"engine", "attack"}},
	{"github.com/mozillazg/go-pinyin", []string{"schema"}, nil},
	// The verdict of a validation is calculated by a language that operators know from elsewhere, that ends, and that can
	// neither read nor write anything: an expression of requests has no lists and no objects to calculate with.
	{"cel.dev/cel-go", []string{"schema"}, nil},
	{"github.com/santhosh-tekuri/jsonschema/v5", nil, []string{"schema", "server"}},
	{"github.com/Masterminds/squirrel", []string{"engine/sqlgen"}, nil},
	{"github.com/jmoiron/sqlx", []string{"engine"}, nil},
	{"github.com/go-sql-driver/mysql", []string{"engine/dialect/mysql", "testdb"}, []string{"schema/introspect"}},
	{"github.com/jackc/pgx/v5", []string{"engine/dialect/postgres", "testdb"}, []string{"schema/introspect"}},
	{"modernc.org/sqlite", []string{"engine/dialect/sqlite", "testdb"}, []string{"schema/introspect"}},
	{"github.com/mark3labs/mcp-go", []string{"server"}, nil},
	// Steps of a structure that are made once, in order, and can be taken back, on three databases.
	{"github.com/pressly/goose/v3", []string{"registry"}, nil},
	{"github.com/prometheus/client_golang", []string{"server"}, nil},
	// What replicas count together. Its scripts are ours: the well-known limiter on top of it, redis_rate, lets buckets fill up
	// while they are spent, so that the call after the last one of a minute passes.
	{"github.com/redis/go-redis/v9", []string{"access", "engine/kv"}, []string{"tools"}}, // engine/kv reads the values that tools look up
	// A Redis inside the program, for a demonstration that needs no server, and for tests.
	{"github.com/alicebob/miniredis/v2", []string{"cmd/resq"}, []string{"access", "tools", "engine/kv"}},
	{"go.opentelemetry.io/otel", []string{"telemetry"}, nil},
	// Signatures of tokens and sets of keys: nothing to write oneself.
	{"github.com/go-jose/go-jose/v4", []string{"access"}, nil},
	// Whether a history of many clients is one that a single process could have made takes a search that is known to be
	// right; only tests use it.
	{"github.com/anishathalye/porcupine", nil, []string{"faults"}},
	// The sums of admins' passwords: argon2id is in no other library of Go's own people.
	{"golang.org/x/crypto", []string{"registry"}, nil},
	{"github.com/spf13/cobra", []string{"cmd/resq"}, nil},
	{"github.com/fsnotify/fsnotify", []string{"cmd/resq"}, nil},
}

// An edge is one import of one file.
type edge struct {
	file, from, to string
	test           bool
}

// imports reads the import lines of every Go file of the module.
func imports(t *testing.T) (edges []edge, packages []string) {
	t.Helper()
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(file, "go.mod"))
			if file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin" || nested == nil) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		from := path.Dir(filepath.ToSlash(file))
		seen[from] = true
		for _, i := range f.Imports {
			to, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			edges = append(edges, edge{file, from, to, strings.HasSuffix(file, "_test.go")})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(seen, ".") // this file
	return edges, slices.Sorted(maps.Keys(seen))
}

func TestImportOrder(t *testing.T) {
	may := map[string][]string{}
	var below []string
	for _, l := range layers {
		for _, p := range l.may {
			if !slices.Contains(below, p) {
				t.Errorf("the table lets %s import %s, which is not below it", l.name, p)
			}
		}
		if _, twice := may[l.name]; twice {
			t.Errorf("%s stands twice in the table", l.name)
		}
		may[l.name] = l.may
		below = append(below, l.name)
	}
	edges, packages := imports(t)
	for _, p := range packages {
		if _, ok := may[p]; !ok && !slices.Contains(forTests, p) {
			t.Errorf("%s is not in the table: say what it may import", p)
		}
	}
	for _, e := range edges {
		to, own := strings.CutPrefix(e.to, "resq/")
		if !own || e.test || slices.Contains(forTests, e.from) {
			continue
		}
		if !slices.Contains(may[e.from], to) {
			t.Errorf("%s: %s may not import %s", e.file, e.from, to)
		}
	}
}

func TestLibraries(t *testing.T) {
	edges, _ := imports(t)
	for _, e := range edges {
		if e.to == "resq" || strings.HasPrefix(e.to, "resq/") || !strings.Contains(strings.Split(e.to, "/")[0], ".") {
			continue // ours, or the standard library's
		}
		allowed, known := false, false
		for _, l := range libraries {
			if e.to == l.name || strings.HasPrefix(e.to, l.name+"/") {
				known = true
				allowed = slices.Contains(l.importers, e.from) || e.test && slices.Contains(l.tests, e.from)
			}
		}
		switch {
		case !known:
			t.Errorf("%s imports %s, which is not in the table: a new library needs a reason", e.file, e.to)
		case !allowed:
			t.Errorf("%s: %s may not import %s", e.file, e.from, e.to)
		}
	}
}

// Tests may look anywhere but up at the program: what only the program can do is tested there.
func TestNobodyImportsTheProgram(t *testing.T) {
	edges, _ := imports(t)
	for _, e := range edges {
		if strings.HasPrefix(e.to, "resq/cmd/") {
			t.Errorf("%s imports %s", e.file, e.to)
		}
	}
}
