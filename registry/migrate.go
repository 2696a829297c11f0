package registry

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"
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

// provider sets goose up. Its lock keeps processes that start at once from making the same step twice.
func (c *Control) provider() (*goose.Provider, error) {
	files, err := fs.Sub(migrations, path.Join("migrations", c.name))
	if err != nil {
		return nil, err
	}
	var l lock.SessionLocker = &mysqlLock{}
	switch c.name {
	case inPostgres:
		if l, err = lock.NewPostgresSessionLocker(); err != nil {
			return nil, err
		}
	case inSQLite:
		l = &fileLock{path: c.file + ".migrate"}
	}
	return goose.NewProvider(gooseDialects[c.name], c.db, files, goose.WithTableName(migrationTable), goose.WithSessionLocker(l),
		goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
}

// Up brings the structure up to date and gives the steps that were made. A database that is up to date is only read.
func (c *Control) Up(ctx context.Context) ([]Migration, error) {
	p, err := c.provider()
	if err != nil {
		return nil, err
	}
	list, err := c.Status(ctx)
	if err != nil {
		return nil, err
	}
	pending := false
	for _, m := range list {
		pending = pending || !m.Applied
	}
	if !pending {
		return nil, nil
	}
	res, err := p.Up(ctx)
	return migrated(res), migrationFault(err)
}

// Down takes steps back: the last one, or with all every one. What was in their tables is lost. It gives the steps.
func (c *Control) Down(ctx context.Context, all bool) ([]Migration, error) {
	p, err := c.provider()
	if err != nil {
		return nil, err
	}
	if all {
		res, err := p.DownTo(ctx, 0)
		return migrated(res), migrationFault(err)
	}
	res, err := p.Down(ctx)
	if errors.Is(err, goose.ErrNoNextVersion) {
		return nil, nil
	}
	if err != nil {
		return nil, migrationFault(err)
	}
	return migrated([]*goose.MigrationResult{res}), nil
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

// mysqlLock is a lock of the server, which the end of the connection frees.
type mysqlLock struct{}

const mysqlLockName = "CONCAT('resq_migrations.', SUBSTRING(SHA2(DATABASE(), 256), 1, 32))"

// SessionLock is part of lock.SessionLocker.
func (*mysqlLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+mysqlLockName+", ?)", int(migrationWait.Seconds())).Scan(&got); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return errors.New("another process has been making them for a minute")
	}
	return nil
}

// SessionUnlock is part of lock.SessionLocker.
func (*mysqlLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	var freed sql.NullInt64
	return conn.QueryRowContext(ctx, "SELECT RELEASE_LOCK("+mysqlLockName+")").Scan(&freed)
}

// fileLock is a locked file beside that of SQLite, whose own locks last for a transaction.
type fileLock struct {
	path string
	held interface{ Close() error }
}

// SessionLock is part of lock.SessionLocker.
func (l *fileLock) SessionLock(ctx context.Context, _ *sql.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, migrationWait)
	defer cancel()
	for {
		f, ok, err := tryLock(l.path)
		if err != nil {
			return err
		}
		if ok {
			l.held = f
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("another process has been making them for a minute")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// SessionUnlock is part of lock.SessionLocker.
func (l *fileLock) SessionUnlock(context.Context, *sql.Conn) error { return l.held.Close() }
