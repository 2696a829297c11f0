package introspect_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"resq/schema/introspect"
	"resq/testdb"
)

// A server is how the tests reach a database server and load scripts into it.
type server struct {
	driver, sqlDriver string
	address           func(database string) string // for database/sql
	dsn               func(database string) string // for a catalog
	client            func(database string) *exec.Cmd
	quote             string
}

var mysqlServer = server{
	driver: "mysql", sqlDriver: "mysql", quote: "`",
	address: func(db string) string { return "root@tcp(127.0.0.1:3306)/" + db + "?multiStatements=true" },
	dsn:     func(db string) string { return "mysql://root@127.0.0.1:3306/" + db },
	client: func(db string) *exec.Cmd {
		return exec.Command("mariadb", "-uroot", "-h127.0.0.1", "--default-character-set=utf8mb4", "--force", db)
	},
}

var postgresServer = server{
	driver: "postgres", sqlDriver: "pgx", quote: `"`,
	address: func(db string) string {
		return "postgres://postgres@127.0.0.1:5432/" + db + "?default_query_exec_mode=simple_protocol"
	},
	dsn: func(db string) string { return "postgres://postgres@127.0.0.1:5432/" + db },
	client: func(db string) *exec.Cmd {
		cmd := exec.Command("psql", "-q", "-U", "postgres", "-h", "127.0.0.1", "-d", db)
		cmd.Env = append(os.Environ(), "PGOPTIONS=-c synchronous_commit=off")
		return cmd
	},
}

// create makes a database for one test and drops it afterwards.
func (s server) create(t *testing.T, name string) (db *sql.DB, dsn string) {
	t.Helper()
	name = fmt.Sprintf("resq_introspect_%d_%s", os.Getpid(), name)
	admin, err := sql.Open(s.sqlDriver, s.address(map[string]string{"postgres": "postgres"}[s.driver]))
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.Ping(); err != nil {
		testdb.Skip(t, s.driver+" does not answer: "+err.Error())
	}
	charset := ""
	if s.driver == "mysql" {
		charset = " CHARACTER SET utf8mb4"
	}
	if _, err := admin.Exec("CREATE DATABASE " + name + charset); err != nil {
		t.Fatal(err)
	}
	db, err = sql.Open(s.sqlDriver, s.address(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		db.Close()
		if _, err := admin.Exec("DROP DATABASE " + name); err != nil {
			t.Error(err)
		}
		admin.Close()
	})
	return db, s.dsn(name)
}

func (s server) exec(t *testing.T, db *sql.DB, script string) {
	t.Helper()
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
}

// elsewhere are the lines of a script that choose a database, or reach beyond it.
var elsewhere = regexp.MustCompile("(?im)^drop (schema|database)[^;\n\"]*;.*$|^create (schema|database)[^;\n\"]*;|^use [^;\n]*;|^flush [^;\n]*;|^\\\\c [^\n]*$")

// load runs a sample script with the server's own client, into the test's database and no other.
func (s server) load(t *testing.T, db *sql.DB, dsn, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := dsn[strings.LastIndexByte(dsn, '/')+1:]
	cmd := s.client(name)
	if _, err := exec.LookPath(cmd.Path); err != nil {
		testdb.Skip(t, "no client for "+s.driver+": "+err.Error())
	}
	if s.driver == "postgres" && strings.Contains(file, "torture") {
		s.exec(t, db, `DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public; CREATE SCHEMA "Second Schema"`)
		text = regexp.MustCompile(`(?m)^DROP SCHEMA.*$`).ReplaceAll(text, nil)
	}
	text = elsewhere.ReplaceAll(text, nil)
	if s.driver == "mysql" {
		for _, own := range []string{"sakila", "northwind", "Chinook"} {
			text = regexp.MustCompile("(?i)`?\\b"+own+"\\b`?\\.").ReplaceAll(text, nil)
		}
	}
	if left := regexp.MustCompile("(?im)^[^-\n']*\\b(use +`?[a-z]+`? *;|(create|drop) +(schema|database) [^\n]*;)").Find(text); left != nil && s.driver == "mysql" {
		t.Fatalf("the script leaves the test's database: %s", left)
	}
	cmd.Stdin = bytes.NewReader(text)
	cmd.Dir = filepath.Dir(file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("%s: %v\n%.2000s", filepath.Base(file), err, out)
	}
}

// The sample databases on servers: every one must introspect completely, and its catalog load unchanged.
func TestSharedServers(t *testing.T) {
	samples := []struct {
		server server
		name   string
		path   []string
		least  int    // tables that must be found
		filled string // a table that must have rows, where the script fills it
	}{
		{mysqlServer, "torture", []string{"data", "torture", "mysql.sql"}, 10, ""},
		{mysqlServer, "sakila", []string{"data", "sakila", "mysql", "sakila-mv-schema.sql"}, 16, ""},
		{mysqlServer, "chinook", []string{"data", "chinook", "Chinook_MySql.sql"}, 11, ""},
		{mysqlServer, "northwind", []string{"data", "northwind", "mysql-mywind", "northwind.sql"}, 20, ""},
		{mysqlServer, "employees", []string{"data", "employees", "mysql", "dataset_small", "employee.sql"}, 8, "salary"},
		{postgresServer, "torture", []string{"data", "torture", "postgres.sql"}, 14, ""},
		{postgresServer, "sakila", []string{"data", "sakila", "postgres", "postgres-sakila-schema.sql"}, 21, ""},
		{postgresServer, "employees", []string{"data", "employees", "postgres", "dataset_small", "employee.sql"}, 9, "salary"},
		{postgresServer, "chinook", []string{"data", "chinook", "Chinook_PostgreSql.sql"}, 11, ""},
		{postgresServer, "northwind", []string{"data", "northwind", "postgres", "northwind.sql"}, 14, ""},
	}
	for _, x := range samples {
		t.Run(x.server.driver+"/"+x.name, func(t *testing.T) {
			file := shared(t, x.path...)[0]
			db, dsn := x.server.create(t, x.name)
			x.server.load(t, db, dsn, file)
			if x.filled != "" {
				rows := 0
				if err := db.QueryRow("SELECT COUNT(*) FROM " + x.filled).Scan(&rows); err != nil || rows == 0 {
					t.Errorf("%s has %d rows, %v", x.filled, rows, err)
				}
			}
			s, _, _ := roundTrip(t, db, x.server.driver, dsn, introspect.Options{})
			if len(s.Tables) < x.least {
				t.Errorf("%d tables, want at least %d", len(s.Tables), x.least)
			}
			for _, n := range s.Notes {
				t.Error(n)
			}
			keys := 0
			for _, table := range s.Tables {
				keys += len(table.Foreign)
			}
			t.Logf("%d tables, %d foreign keys", len(s.Tables), keys)
		})
	}
}

// read takes a snapshot of a test's own database.
func read(t *testing.T, db *sql.DB, driver string, opts introspect.Options) *introspect.Snapshot {
	t.Helper()
	s, err := introspect.Read(context.Background(), db, driver, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
