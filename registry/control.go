package registry

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"resq/engine"
	"resq/schema"
	"resq/schema/problem"
)

// The databases that a control database can be in.
const (
	inMySQL    = "mysql"
	inPostgres = "postgres"
	inSQLite   = "sqlite"
)

// ControlOptions are how a control database is opened.
type ControlOptions struct {
	DSN      string // sqlite:PATH, mysql://… or postgres://…
	Drivers  []engine.Driver
	Secret   []byte           // of the server; seals the keys that an admin can be shown again
	Previous [][]byte         // earlier secrets, whose seals are still opened
	Prefix   string           // of new keys; "" is DefaultPrefix
	Log      *slog.Logger     // is told of faults; nil is slog's default
	Now      func() time.Time // time.Now
}

// A Control is the control database: the keys, their scopes, the tools that there are, and the audit of calls. It is
// safe for use by several goroutines, and several processes may share one.
type Control struct {
	db     *sql.DB
	reads  *sql.DB // db, or of SQLite a connection of its own: a writer that waits for a lock must not hold up whoever calls
	name   string  // of the database system
	file   string  // of SQLite
	prefix string
	seals  []cipher.AEAD // the first seals; all of them open
	log    *slog.Logger
	now    func() time.Time
	loaded atomic.Pointer[[]Tool] // that this process told of
}

// OpenControl opens a control database, and makes the file of SQLite where there is none. It makes no tables: that is
// Up. It fails for a DSN that no driver understands, without a secret, and when the database does not answer.
func OpenControl(ctx context.Context, o ControlOptions) (*Control, error) {
	c := &Control{prefix: o.Prefix, log: o.Log, now: o.Now}
	if c.prefix == "" {
		c.prefix = DefaultPrefix
	}
	if c.log == nil {
		c.log = slog.Default()
	}
	if c.now == nil {
		c.now = time.Now
	}
	if err := CheckPrefix(c.prefix); err != nil {
		return nil, err
	}
	if len(o.Secret) < secretLength {
		return nil, fmt.Errorf("the control database needs a secret of at least %d bytes", secretLength)
	}
	for _, s := range append([][]byte{o.Secret}, o.Previous...) {
		seal, err := newSeal(s)
		if err != nil {
			return nil, err
		}
		c.seals = append(c.seals, seal)
	}
	dsn := o.DSN
	if rest, ok := strings.CutPrefix(dsn, "postgresql:"); ok {
		dsn = "postgres:" + rest
	}
	i := slices.IndexFunc(o.Drivers, func(d engine.Driver) bool { return strings.HasPrefix(dsn, d.Name()+":") })
	if i < 0 {
		return nil, errors.New("the dsn of the control database is none of sqlite:PATH, mysql://user:password@host:port/database and postgres://user:password@host:port/database")
	}
	c.name = o.Drivers[i].Name()
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		c.file = strings.TrimPrefix(path, "//")
		if err := makeFile(c.file); err != nil {
			return nil, fmt.Errorf("the control database: %w", err)
		}
	}
	db, err := o.Drivers[i].Admin(&schema.Connection{Name: "control", Driver: c.name, DSN: dsn, Write: true})
	if err != nil {
		return nil, err
	}
	c.db, c.reads = db, db
	if c.name != inSQLite { // which has one connection, because it takes one writer
		db.SetMaxOpenConns(8)
		db.SetMaxIdleConns(4)
		db.SetConnMaxIdleTime(5 * time.Minute)
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("the control database does not answer: %w", err), db.Close())
	}
	if c.name == inSQLite { // readers of other processes do not wait for a writer then
		if _, err := db.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
			return nil, errors.Join(fmt.Errorf("the control database: %w", err), db.Close())
		}
		if c.reads, err = o.Drivers[i].Admin(&schema.Connection{Name: "control", Driver: c.name, DSN: dsn, Write: true}); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return c, nil
}

// makeFile makes a file that only its owner can read, where there is none.
func makeFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// Close closes the database.
func (c *Control) Close() error {
	if c.reads == c.db {
		return c.db.Close()
	}
	return errors.Join(c.reads.Close(), c.db.Close())
}

func newSeal(secret []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "resq-key-cipher-v1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

const sealForm = "v1."

// seal encrypts a text, bound to what it belongs to.
func (c *Control) seal(text, to string) string {
	nonce := make([]byte, c.seals[0].NonceSize())
	_, _ = rand.Read(nonce) // never fails: crypto/rand ends the program instead
	return sealForm + base64.RawURLEncoding.EncodeToString(c.seals[0].Seal(nonce, nonce, []byte(text), []byte(to)))
}

var errSealed = errors.New("it was sealed with a secret that is neither the server's nor one of its earlier ones")

func (c *Control) unseal(sealed, to string) (string, error) {
	text, ok := strings.CutPrefix(sealed, sealForm)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil {
		return "", errSealed
	}
	for _, s := range c.seals {
		if len(raw) < s.NonceSize() {
			break
		}
		if out, err := s.Open(nil, raw[:s.NonceSize()], raw[s.NonceSize():], []byte(to)); err == nil {
			return string(out), nil
		}
	}
	return "", errSealed
}

// bind writes the placeholders of a statement as the database has them. The statements of this package hold no
// question mark but placeholders.
func (c *Control) bind(text string) string {
	if c.name != inPostgres {
		return text
	}
	var b strings.Builder
	n := 0
	for i := range len(text) {
		if text[i] != '?' {
			b.WriteByte(text[i])
			continue
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// A runner is a pool or a transaction.
type runner interface {
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
}

func (c *Control) exec(ctx context.Context, r runner, text string, args ...any) (int64, error) {
	res, err := r.ExecContext(ctx, c.bind(text), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (c *Control) rows(ctx context.Context, r runner, text string, args ...any) (*sql.Rows, error) {
	return r.QueryContext(ctx, c.bind(text), args...)
}

func (c *Control) row(ctx context.Context, r runner, text string, args ...any) *sql.Row {
	return r.QueryRowContext(ctx, c.bind(text), args...)
}

// insert gives the id of a new row.
func (c *Control) insert(ctx context.Context, r runner, text string, args ...any) (id int64, err error) {
	if c.name == inPostgres {
		err = c.row(ctx, r, text+" RETURNING id", args...).Scan(&id)
		return id, err
	}
	res, err := r.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// change makes a change that every process which shares the database notices: the version is counted up with it,
// first, so that changes come one after another.
func (c *Control) change(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return c.fault(err)
	}
	defer tx.Rollback() // of no effect after a commit
	if _, err := c.exec(ctx, tx, "UPDATE resq_control SET version = version + 1 WHERE id = 1"); err != nil {
		return c.fault(err)
	}
	if err := do(tx); err != nil {
		return c.fault(err)
	}
	return c.fault(tx.Commit())
}

// fault hides an error of the database behind a problem; problems stay what they are.
func (c *Control) fault(err error) error {
	var p *problem.Problem
	if err == nil || errors.As(err, &p) {
		return err
	}
	return &problem.Problem{Code: problem.Unavailable, Stage: problem.Database, Message: "the control database does not answer", RetryAfter: 2, Err: err}
}

// momentForm is how moments stand in the database: in UTC, to the microsecond.
const momentForm = "2006-01-02 15:04:05.000000"

// A moment reads and writes a point in time of the control database. The zero time is NULL.
type moment struct{ time.Time }

// Value is part of driver.Valuer.
func (m moment) Value() (driver.Value, error) {
	if m.IsZero() {
		return nil, nil
	}
	return m.UTC().Format(momentForm), nil
}

// Scan is part of sql.Scanner.
func (m *moment) Scan(v any) error {
	var text string
	switch x := v.(type) {
	case nil:
		m.Time = time.Time{}
		return nil
	case time.Time:
		m.Time = x.UTC()
		return nil
	case []byte:
		text = string(x)
	case string:
		text = x
	default:
		return fmt.Errorf("a moment of the control database is a %T", v)
	}
	t, err := time.ParseInLocation("2006-01-02 15:04:05.999999", strings.TrimSuffix(strings.Replace(text, "T", " ", 1), "Z"), time.UTC)
	m.Time = t
	return err
}

// nullable is NULL for an empty text.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// marks are n placeholders.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }
