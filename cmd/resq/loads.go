package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"resq/schema"
	"resq/schema/introspect"
	"resq/server/console"
)

// loadsKept is how many loads of the catalog the console can be shown.
const loadsKept = 20

// A history is the last loads of the catalog. The zero value is none.
type history struct {
	mu   sync.Mutex
	list []console.Load // the newest last
}

func (h *history) add(l console.Load) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, l)
	h.list = h.list[max(0, len(h.list)-loadsKept):]
}

// newest gives the loads, the newest first.
func (h *history) newest() []console.Load {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := slices.Clone(h.list)
	slices.Reverse(out)
	return out
}

func loaded(start time.Time, cat *schema.Catalog) console.Load {
	return console.Load{Time: start, Took: time.Since(start), Hash: cat.Hash, Resources: len(cat.Resources), Tools: len(cat.Tools)}
}

// driftOf says where a catalog and its databases differ, as the console shows it. What a database answers is for its operator
// alone, so of one that cannot be read it says only that.
func driftOf(ctx context.Context, cat *schema.Catalog) (out []console.Drift) {
	for _, conn := range cat.Connections {
		s, err := structure(ctx, cat, conn)
		if err != nil {
			out = append(out, console.Drift{Connection: conn.Name, Text: "its structure cannot be read; resq doctor tells why"})
			continue
		}
		for _, d := range introspect.Compare(cat, conn, s) {
			at := ""
			if d.At.File != "" {
				at = d.At.File + ":" + strconv.Itoa(d.At.Line)
			}
			out = append(out, console.Drift{Connection: conn.Name, At: at, Text: d.Text, Warning: d.Warning})
		}
	}
	return out
}

func structure(ctx context.Context, cat *schema.Catalog, conn *schema.Connection) (*introspect.Snapshot, error) {
	d, ok := dialectOf(conn.Driver)
	if !ok {
		return nil, errors.New("there is no driver of this name")
	}
	db, err := d.Inspect(conn)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return introspect.Read(ctx, db, conn.Driver, introspect.Scope(cat, conn))
}
