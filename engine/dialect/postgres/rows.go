package postgres

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"resq/engine/sqlgen"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// A connector opens connections that read rows by themselves.
type connector struct{ driver.Connector }

// Connect opens one connection.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	raw, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	in, ok := raw.(*stdlib.Conn)
	if !ok {
		return nil, errors.Join(errors.New("the postgres driver is not the one this was written for"), raw.Close())
	}
	return &conn{Conn: in, names: map[uint32]string{}}, nil
}

// A conn is the driver's, with rows that can be lent: the driver's own allocate every value.
type conn struct {
	*stdlib.Conn
	names map[uint32]string // of types, as the driver tells them
	kinds []kind            // of the columns of the rows that are being read
	cells []cell            // and their values
}

// formats are those in which the driver asks for values: what is short in binary, and everything else as text.
var formats = pgx.QueryResultFormatsByOID{
	pgtype.BoolOID: 1, pgtype.ByteaOID: 1, pgtype.CIDOID: 1, pgtype.DateOID: 1, pgtype.Float4OID: 1, pgtype.Float8OID: 1, pgtype.Int2OID: 1,
	pgtype.Int4OID: 1, pgtype.Int8OID: 1, pgtype.OIDOID: 1, pgtype.TimestampOID: 1, pgtype.TimestamptzOID: 1, pgtype.XIDOID: 1,
}

// QueryContext runs a statement, which the driver prepares once for the connection.
func (c *conn) QueryContext(ctx context.Context, query string, named []driver.NamedValue) (driver.Rows, error) {
	in := c.Conn.Conn()
	if in.IsClosed() {
		return nil, driver.ErrBadConn
	}
	args := make([]any, 1+len(named))
	args[0] = formats
	for i := range named {
		args[i+1] = named[i].Value
	}
	r, err := in.Query(ctx, query, args...)
	if err != nil {
		if pgconn.SafeToRetry(err) {
			return nil, driver.ErrBadConn
		}
		return nil, err
	}
	// What is wrong with a statement is only told with its first row, and that is when its columns are known.
	more := r.Next()
	if err := r.Err(); err != nil {
		r.Close()
		return nil, err
	}
	fields := r.FieldDescriptions()
	c.kinds = slices.Grow(c.kinds[:0], len(fields))[:len(fields)]
	c.cells = slices.Grow(c.cells[:0], len(fields))[:len(fields)]
	for i := range fields {
		c.kinds[i] = kindOf(&fields[i])
	}
	return &rows{conn: c, in: r, ahead: true, more: more}, nil
}

// A kind is how a value is read.
type kind uint8

const (
	textKind kind = iota
	boolKind
	int2Kind
	int4Kind
	int8Kind
	uintKind
	float4Kind
	float8Kind
	dateKind
	momentKind
	zonedKind
	bytesKind
)

var kinds = map[uint32]kind{
	pgtype.BoolOID: boolKind, pgtype.Int2OID: int2Kind, pgtype.Int4OID: int4Kind, pgtype.Int8OID: int8Kind, pgtype.OIDOID: uintKind, pgtype.CIDOID: uintKind,
	pgtype.XIDOID: uintKind, pgtype.Float4OID: float4Kind, pgtype.Float8OID: float8Kind, pgtype.DateOID: dateKind, pgtype.TimestampOID: momentKind,
	pgtype.TimestamptzOID: zonedKind, pgtype.ByteaOID: bytesKind, pgtype.JSONOID: bytesKind, pgtype.JSONBOID: bytesKind, pgtype.XMLOID: bytesKind,
}

func kindOf(f *pgconn.FieldDescription) kind { return kinds[f.DataTypeOID] }

// A cell is room for one value that is lent.
type cell struct {
	n    int64
	f    float64
	t    time.Time
	text sqlgen.Loan
}

// rows read what the database sends, value by value.
type rows struct {
	conn  *conn
	in    pgx.Rows
	ahead bool // the first row was read already
	more  bool // and it is there
}

// Columns are the names of the columns.
func (r *rows) Columns() []string {
	fields := r.in.FieldDescriptions()
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
	}
	return names
}

// ColumnTypeDatabaseTypeName is the type as the driver names it.
func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	oid := r.in.FieldDescriptions()[i].DataTypeOID
	name, ok := r.conn.names[oid]
	if !ok {
		if t, known := r.conn.Conn.Conn().TypeMap().TypeForOID(oid); known {
			name = strings.ToUpper(t.Name)
		} else {
			name = strconv.FormatUint(uint64(oid), 10)
		}
		r.conn.names[oid] = name
	}
	return name
}

// ColumnTypeScanType is nothing in particular.
func (r *rows) ColumnTypeScanType(int) reflect.Type { return reflect.TypeFor[any]() }

// Close ends the rows.
func (r *rows) Close() error {
	r.in.Close()
	return r.in.Err()
}

// Next gives values of their own.
func (r *rows) Next(dest []driver.Value) error {
	if err := r.Lend(dest); err != nil {
		return err
	}
	for i, v := range dest {
		if b, ok := v.([]byte); ok {
			dest[i] = slices.Clone(b)
		} else {
			dest[i] = sqlgen.Owned(v)
		}
	}
	return nil
}

var errWidth = errors.New("postgres: a value has another width than its type")

// Lend gives values that are good until the next row is read.
func (r *rows) Lend(dest []driver.Value) error {
	if r.ahead {
		r.ahead = false
	} else {
		r.more = r.in.Next()
	}
	if !r.more {
		if err := r.in.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	for i, raw := range r.in.RawValues() {
		if raw == nil {
			dest[i] = nil
			continue
		}
		c := &r.conn.cells[i]
		k := r.conn.kinds[i]
		if w := widths[k]; w != 0 && len(raw) != w {
			return errWidth
		}
		switch k {
		case boolKind:
			dest[i] = raw[0] == 1
		case int2Kind:
			c.n = int64(int16(binary.BigEndian.Uint16(raw)))
			dest[i] = &c.n
		case int4Kind:
			c.n = int64(int32(binary.BigEndian.Uint32(raw)))
			dest[i] = &c.n
		case int8Kind:
			c.n = int64(binary.BigEndian.Uint64(raw))
			dest[i] = &c.n
		case uintKind:
			c.n = int64(binary.BigEndian.Uint32(raw))
			dest[i] = &c.n
		case float4Kind:
			c.f = float64(math.Float32frombits(binary.BigEndian.Uint32(raw)))
			dest[i] = &c.f
		case float8Kind:
			c.f = math.Float64frombits(binary.BigEndian.Uint64(raw))
			dest[i] = &c.f
		case dateKind:
			dest[i] = c.date(int32(binary.BigEndian.Uint32(raw)))
		case momentKind, zonedKind:
			dest[i] = c.moment(int64(binary.BigEndian.Uint64(raw)))
		case bytesKind:
			dest[i] = raw
		default:
			c.text = raw
			dest[i] = &c.text
		}
	}
	return nil
}

// widths are how long values of a kind are; 0 is any.
var widths = [...]int{boolKind: 1, int2Kind: 2, int4Kind: 4, int8Kind: 8, uintKind: 4, float4Kind: 4, float8Kind: 8, dateKind: 4, momentKind: 8, zonedKind: 8, bytesKind: 0}

// y2k is where PostgreSQL counts from.
var y2k = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	forever = "infinity"
	always  = "-infinity"
)

func (c *cell) date(days int32) driver.Value {
	switch days {
	case math.MaxInt32:
		return forever
	case math.MinInt32:
		return always
	}
	c.t = time.Date(2000, 1, 1+int(days), 0, 0, 0, 0, time.UTC)
	return &c.t
}

func (c *cell) moment(micros int64) driver.Value {
	switch micros {
	case math.MaxInt64:
		return forever
	case math.MinInt64:
		return always
	}
	c.t = time.Unix(y2k.Unix()+micros/1e6, micros%1e6*1000).UTC()
	return &c.t
}
