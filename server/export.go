package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"resq/engine/policy"
	"resq/schema/problem"
)

const (
	exportPrefix = "resq://export/"
	exportURI    = exportPrefix + "{handle}"

	exportTime  = 15 * time.Minute // that an export can be read
	exportReads = 3
	maxExports  = 1000
	maxArgs     = 16 << 20 // bytes of all remembered requests
	exportsRun  = 4        // at once: each holds its text
	exportPage  = 1000     // rows asked for at a time
	exportRows  = 100_000
	exportBytes = 10 << 20
)

// exports are the requests whose answers were cut and can be read whole. A handle names one; it opens nothing:
// whoever reads is checked like whoever asked.
type exports struct {
	mu      sync.Mutex
	held    map[string]*export
	order   []string // oldest first
	size    int      // bytes of requests
	running int
}

type export struct {
	owner   string // principal and user
	args    []byte
	expires time.Time
	reads   int
}

// A link offers a large answer as a resource.
type link struct{ uri, name, description, handle string }

// offer remembers a request and gives the link to its whole answer.
func (x *exports) offer(who *policy.Principal, args []byte) *link {
	handle := rand.Text()
	x.hold(handle, &export{owner: who.Owner(), args: bytes.Clone(args), expires: time.Now().Add(exportTime)})
	return &link{
		uri: exportPrefix + handle, name: "rows.csv", handle: handle,
		description: "All rows of this answer as CSV; readable " + strconv.Itoa(exportReads) + " times within " + strconv.Itoa(int(exportTime/time.Minute)) + " minutes",
	}
}

// knows says whether a handle is held here.
func (x *exports) knows(handle string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.held[handle] != nil
}

// hold remembers an export, and forgets the oldest where there is no room.
func (x *exports) hold(handle string, e *export) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.held[handle] != nil {
		return
	}
	if x.held == nil {
		x.held = map[string]*export{}
	}
	for len(x.order) > 0 {
		oldest := x.held[x.order[0]]
		if len(x.order) < maxExports && x.size+len(e.args) <= maxArgs && time.Now().Before(oldest.expires) {
			break
		}
		x.size -= len(oldest.args)
		delete(x.held, x.order[0])
		x.order = x.order[1:]
	}
	x.size += len(e.args)
	x.held[handle] = e
	x.order = append(x.order, handle)
}

// take gives the arguments behind a handle, and counts. There is no difference between a handle that never was,
// one that is over, and one of somebody else.
func (x *exports) take(who *policy.Principal, handle string) ([]byte, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.held[handle]
	if e == nil || who == nil || e.owner != who.Owner() || time.Now().After(e.expires) || e.reads >= exportReads {
		return nil, false
	}
	e.reads++
	return e.args, true
}

// begin says whether one more export may run; it must end then.
func (x *exports) begin() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.running == exportsRun {
		return false
	}
	x.running++
	return true
}

func (x *exports) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.running--
}

// prepareExport runs a request that was cut once more, page by page, as the caller.
func (s *Server) prepareExport(ctx context.Context, c *caller, m *message, uri string) *refusal {
	if !s.exports.begin() {
		return m.refuse(problem.Overloaded, "other exports are running; ask again in a moment")
	}
	c.offer.done = s.exports.end
	handle := strings.TrimPrefix(uri, exportPrefix)
	s.fetch(ctx, handle)
	args, ok := s.exports.take(c.who, handle)
	if !ok {
		return m.missing("no such export, or it is over; ask again")
	}
	start := time.Now()
	asks := *c
	asks.args = args
	ctx, asks.trace = s.traced(ctx)
	d, _ := s.tool(toolQuery)
	r := &Reply{RequestID: newRequestID()}
	text, rows, complete, err := s.pages(ctx, asks, d, args) // each page is a call that is paid
	r.Rows = rows
	if err != nil {
		r.fail(problem.From(err))
		s.record(ctx, asks, d, r, err, time.Since(start))
		if rows == 0 {
			return m.refused(r.why)
		}
	} else {
		s.record(ctx, asks, d, r, nil, time.Since(start))
	}
	c.offer.uri, c.offer.text, c.offer.mime = uri, string(text), "text/csv"
	c.offer.meta = map[string]any{"resq/rows": rows, "resq/complete": complete && err == nil}
	return nil
}

// pages asks for page after page of a request until its rows, or a limit, are reached. What was found is given
// with an error too.
func (s *Server) pages(ctx context.Context, c caller, d *definition, args []byte) (text []byte, rows int, complete bool, err error) {
	request, err := parseOrdered(args)
	if err != nil {
		return nil, 0, false, internal(err) // the engine read it once
	}
	most := exportRows
	if n, ok := wholeNumber(request.get("limit")); ok {
		most = min(most, n)
	}
	limited := request.get("limit") != nil && most < exportRows
	request.set("format", scalar("csv"))
	request.remove("total")
	for {
		request.set("limit", scalar(min(exportPage, most-rows)))
		c.args = appendOrdered(nil, request)
		a, err := s.paid(ctx, c, d, "")
		if err != nil {
			return text, rows, false, err
		}
		page := a.Text
		if rows > 0 {
			page = page[csvRecord(page):]
		}
		if len(text)+len(page) > exportBytes {
			return text, rows, false, nil
		}
		text = append(text, page...)
		rows += a.Rows
		var meta struct {
			HasMore    bool   `json:"hasMore"`
			NextOffset *int64 `json:"nextOffset"`
			Cursor     string `json:"cursor"`
		}
		if err := json.Unmarshal(a.Meta, &meta); err != nil {
			return text, rows, false, internal(err)
		}
		switch {
		case !meta.HasMore:
			return text, rows, true, nil
		case rows >= most:
			return text, rows, limited, nil
		case a.Rows == 0 || meta.Cursor == "" && meta.NextOffset == nil:
			return text, rows, false, nil
		case meta.Cursor != "":
			request.remove("offset")
			request.set("cursor", scalar(meta.Cursor))
		default:
			request.remove("cursor")
			request.set("offset", scalar(*meta.NextOffset))
		}
	}
}

// wholeNumber reads a limit as clients send it.
func wholeNumber(v any) (int, bool) {
	raw, _ := v.(json.RawMessage)
	n, err := strconv.Atoi(strings.Trim(string(raw), `"`))
	return n, err == nil && n > 0
}

// csvRecord is the length of the first record of a CSV text.
func csvRecord(b []byte) int {
	quoted := false
	for i, c := range b {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\n' && !quoted:
			return i + 1
		}
	}
	return len(b)
}
