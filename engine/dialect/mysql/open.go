package mysql

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"resq/engine/dialect/prepared"
	"resq/engine/sqlgen"
	"resq/schema"
	"resq/schema/problem"

	"github.com/go-sql-driver/mysql"
)

// config reads mysql://user:password@host:port/database?socket=/path&tls=true.
func config(dsn string) (*mysql.Config, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "mysql" {
		return nil, errors.New("the dsn of a mysql connection is mysql://user:password@host:port/database")
	}
	c := mysql.NewConfig()
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.DBName = strings.TrimPrefix(u.Path, "/")
	c.Net, c.Addr = "tcp", u.Host
	if u.Port() == "" {
		c.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	for k, v := range u.Query() {
		switch k {
		case "socket":
			c.Net, c.Addr = "unix", v[0]
		case "tls":
			c.TLSConfig = v[0]
		default:
			return nil, errors.New("the dsn of a mysql connection takes the parameters socket and tls, not " + k)
		}
	}
	// Dates stay texts: as times, zero and partial dates would become others without an error.
	c.ParseTime, c.Loc = false, time.UTC
	c.ClientFoundRows = true
	c.MultiStatements, c.InterpolateParams, c.AllowAllFiles = false, false, false
	c.Timeout = 5 * time.Second
	// What is longer is sent in pieces: servers take packets of different lengths, and this is the least that any takes.
	c.MaxAllowedPacket = 4 << 20
	c.Logger = &mysql.NopLogger{}
	return c, nil
}

// Connector opens connections for reading: every transaction on them is read-only, statements end after
// the timeout on the server too, and a cancelled statement is killed there, which the driver does not do.
func (Dialect) Connector(c *schema.Connection, timeout time.Duration) (driver.Connector, error) {
	cfg, err := config(c.DSN)
	if err != nil {
		return nil, err
	}
	cfg.ReadTimeout = silence(timeout)
	in, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, errors.New("the dsn of connection " + c.Name + " is not understood")
	}
	return &connector{Connector: in, timeout: timeout}, nil
}

// silence is how long the server may say nothing while it is asked something. No statement takes longer than
// timeout; the driver waits for the answer to COMMIT and ROLLBACK under no context, and would for ever when the
// network has gone.
func silence(timeout time.Duration) time.Duration { return timeout + time.Second }

// Inspect opens the database for reading its schema.
func (Dialect) Inspect(c *schema.Connection) (*sql.DB, error) {
	cfg, err := config(c.DSN)
	if err != nil {
		return nil, err
	}
	in, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, errors.New("the dsn of connection " + c.Name + " is not understood")
	}
	return sql.OpenDB(in), nil
}

type connector struct {
	driver.Connector
	timeout time.Duration
	write   bool
}

// Connect opens one connection and settles its session.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	raw, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	in := raw.(inner)
	n := &conn{inner: in, from: c.Connector, stmts: prepared.New(in, lasting)}
	if err := n.session(ctx, c.timeout, c.write); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return n, nil
}

// lasting says whether a statement may run more than once. A recursive one may not: MariaDB 10.11 ends, and
// everybody's connections with it, where such a statement runs again after its tables were closed.
func lasting(text string) bool {
	return !strings.Contains(text, "WITH ") && !strings.Contains(strings.ToUpper(text), "WITH ")
}

func (c *conn) session(ctx context.Context, timeout time.Duration, write bool) error {
	rows, err := c.inner.QueryContext(ctx, "SELECT CONNECTION_ID(), VERSION()", nil)
	if err != nil {
		return err
	}
	vals := make([]driver.Value, 2)
	err = rows.Next(vals)
	if err := errors.Join(err, rows.Close()); err != nil {
		return err
	}
	c.id = text(vals[0])
	// How deep a recursion goes is what its statement says, and the time bounds it: MariaDB would end it without a word.
	limit := fmt.Sprintf("max_execution_time = %d, cte_max_recursion_depth = 4294967295", timeout.Milliseconds())
	if strings.Contains(text(vals[1]), "MariaDB") {
		// The cache of sub-queries takes texts for the same that the collation takes for the same, also where
		// the sub-query tells them apart. EXISTS that was turned into IN has lost rows under NOT.
		limit = fmt.Sprintf("max_statement_time = %.3f, max_recursive_iterations = 4294967295, optimizer_switch = 'subquery_cache=off,exists_to_in=off'", timeout.Seconds())
	}
	// Calculated texts compare as they are. Functions of JSON give this collation too, and one kind of binary
	// collation does not meet another.
	access := []string{"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"}
	if write {
		access = writing(timeout)
	}
	for _, s := range append([]string{
		"SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', group_concat_max_len = 65536, collation_connection = utf8mb4_bin, " + limit,
	}, access...) {
		if _, err := c.inner.ExecContext(ctx, s, nil); err != nil {
			return err
		}
	}
	return nil
}

func text(v driver.Value) string {
	switch x := v.(type) {
	case []byte:
		return string(x)
	case string:
		return x
	}
	return fmt.Sprint(v)
}

// Decode turns what the driver hands over into what is meant: bits are a number, a SET is a list. A
// calculated zero has no sign, a calculated moment only the digits of a fraction that it has.
func (Dialect) Decode(dbType string, f *schema.Field) func(any) any {
	switch {
	case f != nil && f.Zone:
		return bytewise(func(b []byte) []byte {
			if len(b) < len("2006-01-02 15:04:05") || bytes.HasPrefix(b, []byte("0000-")) { // the zero date is none
				return b
			}
			out := append([]byte(nil), b...)
			out[10] = 'T'
			if len(out) == 19 {
				out = append(out, '.')
			}
			for len(out) < 26 {
				out = append(out, '0')
			}
			return append(out, 'Z')
		})
	case f == nil && dbType == "DECIMAL":
		return bytewise(func(b []byte) []byte {
			if len(b) > 0 && b[0] == '-' && len(bytes.Trim(b, "-0.")) == 0 {
				return b[1:]
			}
			return b
		})
	case f == nil && (dbType == "DATETIME" || dbType == "TIMESTAMP" || dbType == "TIME"):
		return bytewise(func(b []byte) []byte {
			if bytes.IndexByte(b, '.') < 0 {
				return b
			}
			return bytes.TrimSuffix(bytes.TrimRight(b, "0"), []byte("."))
		})
	case dbType == "BIT":
		return func(v any) any {
			b, ok := v.([]byte)
			if !ok || len(b) > 8 {
				return v
			}
			var n uint64
			for _, x := range b {
				n = n<<8 | uint64(x)
			}
			return n
		}
	case f != nil && f.Array:
		return func(v any) any {
			b, ok := v.([]byte)
			if !ok {
				return v
			}
			list := []string{}
			if len(b) > 0 {
				list = strings.Split(string(b), ",")
			}
			out, err := json.Marshal(list)
			if err != nil {
				return v
			}
			return sqlgen.JSON(out)
		}
	}
	return nil
}

func bytewise(f func([]byte) []byte) func(any) any {
	return func(v any) any {
		if b, ok := v.([]byte); ok {
			return f(b)
		}
		return v
	}
}

// Key leaves out what is sorted by its place in a list and compared as a text; what a FLOAT has no room for but was
// calculated with; the digits of a decimal behind those that an argument keeps; and texts of which max_sort_length
// lets only the beginning be sorted by.
func (Dialect) Key(dbType string, column bool, v any) (any, bool) {
	s, _ := v.(string)
	switch dbType {
	case "ENUM", "SET", "GEOMETRY":
		return nil, false
	case "FLOAT":
		return v, column
	case "DECIMAL":
		whole, frac, _ := strings.Cut(s, ".")
		return v, len(strings.TrimPrefix(whole, "-"))+len(frac) <= 65 && (len(frac) < 30 || len(frac) == 30 && column)
	}
	return v, utf8.RuneCountInString(s) <= 255
}

// Classify names an error without telling its text.
func (Dialect) Classify(err error) problem.Code {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return problem.Unavailable
	}
	switch n := e.Number; {
	case n == 3024, n == 1969, n == 1317, n == 1028:
		return problem.Timeout
	case n == 1690, n == 1365, n == 1292, n == 1139, n == 1242, n == 1264, n == 1406, n >= 3140 && n <= 3157, n >= 4035 && n <= 4044, n == 3686, n == 3692:
		return problem.DataError
	case n == 1040, n == 1053, n == 1129, n == 1203, n == 1205, n == 1213, n == 1226, n == 1044, n == 1045, n == 1049:
		return problem.Unavailable
	}
	return problem.DataIntegrity
}
