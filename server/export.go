package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"resq/engine"
	"resq/engine/policy"
	"resq/engine/sheet"
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

const exportsBusy = "other exports are running; ask again in a moment"

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
	tool    string // that answers it
	args    []byte
	expires time.Time
	reads   int
}

// A link offers a large answer as a resource.
type link struct {
	uri, name, description, mime string
	expires                      time.Time
}

// offer remembers a request and gives the link to its whole answer: of res-query all its rows, of another tool the file that it makes.
func (s *Server) offer(ctx context.Context, c caller, tool string, f *engine.File) *link {
	x := &export{owner: c.who.Owner(), tool: tool, args: bytes.Clone(unwrapped(c.args)), expires: time.Now().Add(exportTime)}
	handle := rand.Text()
	s.exports.hold(handle, x)
	s.share(ctx, handle, x)
	often := "; readable " + strconv.Itoa(exportReads) + " times within " + strconv.Itoa(int(exportTime/time.Minute)) + " minutes"
	l := &link{uri: exportPrefix + handle, name: "rows.csv", mime: sheet.TypeOf(sheet.CSV), description: "All rows of this answer as CSV" + often, expires: x.expires}
	if f != nil {
		l.name, l.mime, l.description = f.Name, f.Type, "The file"+often
	}
	return l
}

// placed is the answer of a tool that made a file, with where it is.
func (l *link) placed(text []byte) []byte {
	b := bytes.TrimSuffix(text, []byte{'}'})
	b = appendString(append(b, `,"uri":`...), l.uri)
	b = appendString(append(b, `,"expiresAt":`...), l.expires.UTC().Format(time.RFC3339))
	return append(b, '}')
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

// take gives what is behind a handle, and counts. There is no difference between a handle that never was,
// one that is over, and one of somebody else.
func (x *exports) take(who *policy.Principal, handle string) (*export, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.held[handle]
	if e == nil || who == nil || e.owner != who.Owner() || time.Now().After(e.expires) || e.reads >= exportReads {
		return nil, false
	}
	e.reads++
	return e, true
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
		return m.refuse(problem.Overloaded, exportsBusy)
	}
	c.offer.done = s.exports.end
	handle := strings.TrimPrefix(uri, exportPrefix)
	s.fetch(ctx, handle)
	x, ok := s.exports.take(c.who, handle)
	var d *definition
	if ok {
		d, ok = s.toolFor(*c, x.tool)
	}
	if !ok {
		return m.missing("no such export, or it is over; ask again")
	}
	start := time.Now()
	asks := *c
	asks.args = x.args
	ctx, asks.trace = s.traced(ctx)
	r := &Reply{RequestID: newRequestID()}
	f, text, err := s.made(ctx, asks, d, r.RequestID)
	r.Rows = f.Rows
	if err != nil {
		r.fail(problem.From(err))
		s.record(ctx, asks, d, r, err, time.Since(start))
		if f.Rows == 0 {
			return m.refused(r.why)
		}
	} else {
		s.record(ctx, asks, d, r, nil, time.Since(start))
	}
	c.offer.uri, c.offer.mime = uri, f.Type
	c.offer.meta = map[string]any{"resq/rows": f.Rows, "resq/complete": f.Complete && err == nil}
	if f.Type == sheet.TypeOf(sheet.CSV) {
		c.offer.text = string(text)
	} else {
		c.offer.blob = text
	}
	return nil
}

// made makes the file of an export as the caller, at the caller's cost. Of res-query, what was found is given with an error too.
func (s *Server) made(ctx context.Context, c caller, d *definition, request string) (engine.File, []byte, error) {
	if !d.file {
		text, rows, complete, err := s.pages(ctx, c, d, c.args) // each page is a call that is paid
		return engine.File{Type: sheet.TypeOf(sheet.CSV), Rows: rows, Complete: complete}, sheet.Guarded(text), err
	}
	c.file = &bytes.Buffer{}
	a, err := s.paid(ctx, c, d, request)
	if err != nil {
		return engine.File{}, nil, err
	}
	if a.File == nil {
		return engine.File{}, nil, internal(fmt.Errorf("%s made no file", d.Name))
	}
	return *a.File, c.file.Bytes(), nil
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
