package registry

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// The migrations are one folder for each database, of the same steps under the same numbers. MySQL commits with every
// DDL statement, so a step has one there and can be run again; the others roll a bad step back.
//
//go:embed migrations
var migrations embed.FS

// migrationTable remembers which steps were made.
const migrationTable = "resq_migrations"

// A Migration is one step of the control database's structure.
type Migration struct {
	Version int64  `json:"version"`
	Name    string `json:"name"`
	Applied bool   `json:"applied"`
}

var gooseDialects = map[string]database.Dialect{inMySQL: database.DialectMySQL, inPostgres: database.DialectPostgres, inSQLite: database.DialectSQLite3}

func (c *Control) provider() (*goose.Provider, error) {
	files, err := fs.Sub(migrations, path.Join("migrations", c.name))
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(gooseDialects[c.name], c.db, files, goose.WithTableName(migrationTable), goose.WithLogger(goose.NopLogger()),
		goose.WithDisableGlobalRegistry(true))
}

// migrate runs goose while no other process does. The library's own locks leave out the table in which it remembers
// the steps.
func (c *Control) migrate(ctx context.Context, do func(*goose.Provider) error) error {
	p, err := c.provider()
	if err != nil {
		return err
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return migrationFault(err)
	}
	defer unlock()
	// A process that died between making the table and its first row, which MySQL commits apart, left it empty.
	if there, err := c.has(ctx, migrationTable); err != nil {
		return migrationFault(err)
	} else if there {
		if _, err := c.exec(ctx, c.db, "INSERT INTO "+migrationTable+" (version_id, is_applied) SELECT 0, "+map[bool]string{true: "TRUE", false: "1"}[c.name == inPostgres]+
			" FROM (SELECT COUNT(*) AS n FROM "+migrationTable+") k WHERE k.n = 0"); err != nil {
			return migrationFault(err)
		}
	}
	return migrationFault(do(p))
}

// Up brings the structure up to date and gives the steps that were made. A database that is up to date is only read.
func (c *Control) Up(ctx context.Context) (made []Migration, err error) {
	list, err := c.Status(ctx)
	if err != nil || !slices.ContainsFunc(list, func(m Migration) bool { return !m.Applied }) {
		return nil, err
	}
	err = c.migrate(ctx, func(p *goose.Provider) error {
		res, err := p.Up(ctx)
		made = migrated(res)
		return err
	})
	return made, err
}

// Down takes steps back: the last one, or with all every one. What was in their tables is lost. It gives the steps.
func (c *Control) Down(ctx context.Context, all bool) (taken []Migration, err error) {
	err = c.migrate(ctx, func(p *goose.Provider) error {
		if all {
			res, err := p.DownTo(ctx, 0)
			taken = migrated(res)
			return err
		}
		res, err := p.Down(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		}
		if err == nil {
			taken = migrated([]*goose.MigrationResult{res})
		}
		return err
	})
	return taken, err
}

// Status gives every step and whether it was made. It changes nothing.
func (c *Control) Status(ctx context.Context) ([]Migration, error) {
	p, err := c.provider()
	if err != nil {
		return nil, err
	}
	store, err := database.NewStore(gooseDialects[c.name], migrationTable)
	if err != nil {
		return nil, err
	}
	applied := map[int64]bool{}
	there, err := c.has(ctx, migrationTable)
	if err != nil {
		return nil, migrationFault(err)
	}
	if there {
		made, err := store.ListMigrations(ctx, c.db)
		if err != nil {
			return nil, migrationFault(err)
		}
		for _, m := range made {
			applied[m.Version] = m.IsApplied
		}
	}
	var list []Migration
	for _, s := range p.ListSources() {
		list = append(list, Migration{s.Version, path.Base(s.Path), applied[s.Version]})
	}
	return list, nil
}

// has says whether a table is there.
func (c *Control) has(ctx context.Context, table string) (bool, error) {
	text := map[string]string{
		inMySQL:    "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?",
		inPostgres: "SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?",
		inSQLite:   "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?",
	}[c.name]
	var n int
	err := c.row(ctx, c.db, text, table).Scan(&n)
	return n > 0, err
}

func migrated(res []*goose.MigrationResult) []Migration {
	var list []Migration
	for _, r := range res {
		if r.Error == nil {
			list = append(list, Migration{r.Source.Version, path.Base(r.Source.Path), r.Direction == "up"})
		}
	}
	return list
}

func migrationFault(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the tables of the control database: %w", err)
}

// migrationWait is how long a process waits for another one that makes the tables.
const migrationWait = time.Minute

var errMigrating = errors.New("another process has been making them for a minute")

// The servers' own locks, which end with their connection.
const (
	mysqlLockName = "CONCAT('resq_migrations.', SUBSTRING(SHA2(DATABASE(), 256), 1, 32))"
	postgresLock  = "7165021634829041" // any number that nobody else takes
)

// lock keeps other processes from migrating until the function is called.
func (c *Control) lock(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, migrationWait)
	defer cancel()
	if c.name == inSQLite { // whose own locks last for a transaction
		return c.lockFile(ctx)
	}
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	take, free := "SELECT GET_LOCK("+mysqlLockName+", 60)", "SELECT RELEASE_LOCK("+mysqlLockName+")"
	if c.name == inPostgres {
		take, free = "SELECT CASE WHEN pg_advisory_lock("+postgresLock+") IS NULL THEN 0 ELSE 1 END", "SELECT CASE WHEN pg_advisory_unlock("+postgresLock+") THEN 1 END"
	}
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, take).Scan(&got); err != nil || got.Int64 != 1 {
		if err == nil || ctx.Err() != nil {
			err = errMigrating
		}
		return nil, errors.Join(err, conn.Close())
	}
	return func() {
		_ = conn.QueryRowContext(context.WithoutCancel(ctx), free).Scan(&got) // it ends with the connection anyhow
		_ = conn.Close()
	}, nil
}

func (c *Control) lockFile(ctx context.Context) (unlock func(), err error) {
	for {
		f, ok, err := tryLock(c.file + ".migrate")
		if err != nil {
			return nil, err
		}
		if ok {
			return func() { _ = f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			return nil, errMigrating
		case <-time.After(50 * time.Millisecond):
		}
	}
}
