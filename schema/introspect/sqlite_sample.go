package introspect

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"resq/schema"
)

// sampleRows and sampleTime bound what is read of a table or view whose columns declare no type.
const (
	sampleRows = "100"
	sampleTime = 2 * time.Second
)

// sample gives a type to columns that declare none, from the storage classes of up to a hundred rows. A
// view's computed columns are of this sort, and comparing a sum as text would be wrong.
func (s *Snapshot) sample(ctx context.Context, c *sql.Conn, t *sqliteTable) error {
	var loose []*Column
	var kinds []string
	for _, col := range t.Columns {
		if t.View && !col.Loose {
			switch strings.ToUpper(col.Database) {
			case "NUM", "BLOB", "ANY": // what SQLite says of an expression of no one type
				col.Loose = true
			}
		}
		if col.Loose {
			loose = append(loose, col)
			kinds = append(kinds, "typeof("+s.quote(col.Name)+")")
		}
	}
	if len(loose) == 0 {
		return nil
	}
	seen := make([]map[string]bool, len(loose))
	for i := range seen {
		seen[i] = map[string]bool{}
	}
	short, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	text := "SELECT " + strings.Join(kinds, ", ") + " FROM " + s.quote(t.Schema) + "." + s.quote(t.Name) + " LIMIT " + sampleRows
	err := query(short, c, text, nil, func(row *sql.Rows) error {
		classes := make([]string, len(loose))
		at := make([]any, len(loose))
		for i := range classes {
			at[i] = &classes[i]
		}
		if err := row.Scan(at...); err != nil {
			return err
		}
		for i, class := range classes {
			seen[i][class] = true
		}
		return nil
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.note("the types of %s are guesses: its rows could not be read (%v)", s.title(t.Table), err)
	}
	for i, col := range loose {
		col.Type = schema.Type{Kind: sampled(seen[i], col.Database)}
	}
	return nil
}

// sampled is the kind that holds every storage class seen; without any, the one the declared type hints at.
func sampled(seen map[string]bool, declared string) schema.Kind {
	integer, real, text, blob := seen["integer"], seen["real"], seen["text"], seen["blob"]
	switch {
	case text, blob && (integer || real):
		return schema.Text
	case blob:
		return schema.Binary
	case real:
		return schema.Number
	case integer:
		return schema.Integer
	case strings.EqualFold(declared, "NUM"):
		return schema.Number
	case strings.EqualFold(declared, "BLOB"):
		return schema.Binary
	}
	return schema.Text
}
