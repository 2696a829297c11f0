package registry

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"resq/engine"
)

const (
	journalRoom  = 8192                   // calls that wait to be kept
	journalBatch = 100                    // … that are kept at once
	journalTime  = 200 * time.Millisecond // … and at the latest
	journalEnd   = 3 * time.Second        // to keep what is left at the end
	maxArguments = 8 << 10                // bytes of masked arguments
)

// A Call is one call of a tool as an audit keeps it.
type Call struct {
	Time       time.Time
	Request    string
	Token      int64  // number of the key; 0 is none of the control database
	Key        string // id of the key
	User       string
	Principal  string
	Tool       string // "" is one that does not exist
	Arguments  []byte // as they came; they are masked before they are kept
	Control    bool   // it changes or reads the control database, by its API or a command; its arguments are those of the API
	Outcome    string // ok, error, denied or rate_limited
	Code       string // "" is none
	Rows       int    // of the answer, or that were changed
	Took       time.Duration
	Client     string   // address
	Version    int      // of the answer's form
	Rules      []string // that decided about rows
	Bypass     string   // of row rules: who answers for it, and why; "" is none
	Statements []string // texts, of which the fingerprints are kept
	Stages     []engine.Stage
}

// A Journal keeps the calls of a server beside the calls themselves: no caller waits for it. What cannot be kept in
// time is dropped and counted. Writes are another matter: see Log.Intent.
type Journal struct {
	control *Control // nil is no database
	file    func() *Log
	known   atomic.Pointer[Known]
	log     *slog.Logger

	in      chan Call
	dropped atomic.Int64
	kept    atomic.Int64
	told    time.Time // of what was dropped
	toldN   int64

	once sync.Once
	done chan struct{}
}

// NewJournal makes a journal that keeps calls in a control database, in the files of an audit, or both; nil is none,
// and file may give nil for a while. Run does the work.
func NewJournal(c *Control, file func() *Log, log *slog.Logger) *Journal {
	return &Journal{control: c, file: file, log: log, in: make(chan Call, journalRoom), done: make(chan struct{})}
}

// Know says what may be kept of arguments. Until it is told, next to nothing is.
func (j *Journal) Know(n *Known) { j.known.Store(n) }

// Add takes a call over. It never waits.
func (j *Journal) Add(c Call) {
	select {
	case j.in <- c:
	default:
		j.dropped.Add(1)
	}
}

// Dropped is the number of calls that were not kept.
func (j *Journal) Dropped() int64 { return j.dropped.Load() }

// Run keeps calls until ctx ends, and then those that were taken over by then, for a few seconds.
func (j *Journal) Run(ctx context.Context) {
	defer j.once.Do(func() { close(j.done) })
	for {
		batch := j.gather(ctx)
		if len(batch) > 0 {
			j.keep(ctx, batch)
		}
		j.tell()
		if ctx.Err() != nil && len(batch) == 0 {
			return
		}
	}
}

// Keep keeps one call at once, of a program that ends after it. It says whether that went well.
func (j *Journal) Keep(ctx context.Context, c Call) bool {
	ended, end := context.WithCancel(ctx) // so nothing is tried again
	end()
	j.keep(ended, []Call{c})
	return j.dropped.Load() == 0
}

// gather waits for calls. At the end it gives what is there.
func (j *Journal) gather(ctx context.Context) []Call {
	var batch []Call
	var late <-chan time.Time
	for len(batch) < journalBatch {
		select {
		case c := <-j.in:
			if batch = append(batch, c); late == nil {
				t := time.NewTimer(journalTime)
				defer t.Stop()
				late = t.C
			}
			continue
		default:
		}
		if ctx.Err() != nil {
			return batch
		}
		select {
		case c := <-j.in:
			if batch = append(batch, c); late == nil {
				t := time.NewTimer(journalTime)
				defer t.Stop()
				late = t.C
			}
		case <-late:
			return batch
		case <-ctx.Done():
		}
	}
	return batch
}

// keep writes a batch. A database that does not answer is tried again for as long as there is room for more calls.
func (j *Journal) keep(ctx context.Context, batch []Call) {
	known := j.known.Load()
	for i := range batch {
		c := &batch[i]
		if c.Control {
			c.Arguments = Mask(c.Arguments)
		} else {
			c.Arguments = known.Keep(c.Tool, c.Arguments)
		}
		if len(c.Arguments) > maxArguments {
			c.Arguments, _ = json.Marshal(strings.ToValidUTF8(string(c.Arguments[:maxArguments/2]), "") + "…") // a text always encodes
		}
		for k, text := range c.Statements {
			c.Statements[k] = engine.Fingerprint(text)
		}
		slices.Sort(c.Statements)
		c.User, c.Principal = cut(MaskText(c.User), maxUser), cut(MaskText(c.Principal), maxName)
		if c.Tool == "" {
			c.Tool = "unknown"
		}
	}
	kept := true
	if j.file != nil {
		if f := j.file(); f != nil {
			for i := range batch {
				if err := f.Note(batch[i].entry()); err != nil {
					kept = false
					j.log.Error("a call is missing in the audit's files", "error", err)
					break
				}
			}
		} else {
			kept = false
		}
	}
	if j.control != nil && !j.insert(ctx, batch) {
		kept = false
	}
	if kept {
		j.kept.Add(int64(len(batch)))
	} else {
		j.dropped.Add(int64(len(batch)))
	}
}

func (j *Journal) insert(ctx context.Context, batch []Call) bool {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), journalEnd)
		err := j.control.keepCalls(try, batch)
		cancel()
		if err == nil {
			return true
		}
		if ctx.Err() != nil || len(j.in) > journalRoom/2 {
			j.log.Error("calls are missing in the audit of the control database", "calls", len(batch), "error", err)
			return false
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// tell says once a minute at most that calls were dropped.
func (j *Journal) tell() {
	if n := j.dropped.Load(); n > j.toldN && time.Since(j.told) > time.Minute {
		j.log.Error("calls were not kept in the audit", "dropped", n-j.toldN)
		j.toldN, j.told = n, time.Now()
	}
}

// entry is a call as a line of an audit's files.
func (c *Call) entry() Entry {
	code := c.Code
	if code == "" {
		code = "OK"
	}
	e := Entry{
		Event: EventCall, Request: c.Request, Principal: c.Principal, Key: c.Key, Tool: c.Tool, Code: code, Rows: c.Rows, Ms: c.Took.Milliseconds(),
		Statement: strings.Join(c.Statements, " "), Arguments: c.Arguments, User: c.User, Outcome: c.Outcome, Address: c.Client, Version: c.Version, Rules: c.Rules, Bypass: c.Bypass,
	}
	return e
}

const callColumns = "INSERT INTO mcp_audit_log (request_id, token_id, user_id, principal, key_id, tool_name, args_masked, outcome, error_code, row_count, duration_ms, client_ip, schema_version, rules, bypass, sql_hash, stages, create_time) VALUES "

// keepCalls writes calls in one statement: all of them, or none.
func (c *Control) keepCalls(ctx context.Context, calls []Call) error {
	var args []any
	for i := range calls {
		k := &calls[i]
		var token any
		if k.Token != 0 {
			token = k.Token
		}
		args = append(args, k.Request, token, nullable(k.User), nullable(k.Principal), nullable(k.Key), cut(k.Tool, 64), string(k.Arguments), k.Outcome, nullable(k.Code),
			k.Rows, k.Took.Milliseconds(), nullable(k.Client), k.Version, nullable(strings.Join(k.Rules, " ")), nullable(k.Bypass), nullable(strings.Join(k.Statements, " ")), nullable(stagesText(k.Stages)), moment{k.Time})
	}
	_, err := c.exec(ctx, c.db, callColumns+strings.TrimSuffix(strings.Repeat("("+marks(18)+"),", len(calls)), ","), args...)
	return err
}

// A KeptCall is a call as it stands in the control database.
type KeptCall struct {
	ID        int64     `json:"id"`
	Time      time.Time `json:"create_time"`
	Request   string    `json:"request_id"`
	Token     int64     `json:"token_id,omitempty"`
	User      string    `json:"user_id,omitempty"`
	Principal string    `json:"principal,omitempty"`
	Key       string    `json:"key_id,omitempty"`
	Tool      string    `json:"tool_name"`
	Arguments string    `json:"args_masked,omitempty"`
	Outcome   string    `json:"outcome"`
	Code      string    `json:"error_code,omitempty"`
	Rows      int64     `json:"row_count"`
	Ms        int64     `json:"duration_ms"`
	Client    string    `json:"client_ip,omitempty"`
	Version   int       `json:"schema_version"`
	Rules     string    `json:"rules,omitempty"`
	Bypass    string    `json:"bypass,omitempty"`
	SQL       string    `json:"sql_hash,omitempty"`
	Stages    string    `json:"stages,omitempty"` // their names, each with its microseconds: "decode=12 plan=40"
}

// stagesText is the form in which the stages of a call are kept.
func stagesText(list []engine.Stage) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s.Name)
		b.WriteByte('=')
		b.WriteString(strconv.FormatInt(s.Took.Microseconds(), 10))
	}
	return b.String()
}

// Calls lists the newest calls, the newest first: of one key, or with token 0 of all. The error is a problem.
func (c *Control) Calls(ctx context.Context, token int64, limit int) ([]KeptCall, error) {
	return c.FindCalls(ctx, CallFilter{Token: token, Limit: limit})
}

// A CallFilter says which calls are wanted; the zero value of a member is any.
type CallFilter struct {
	Token    int64
	Who      string // principal, id of a user, or id of a key
	Tool     string
	Resource string // that the arguments name
	Outcome  string
	Request  string
	From, To time.Time // from the first to before the second
	Limit    int
}

// where is the filter as a condition.
func (f *CallFilter) where() (text string, args []any) {
	var all []string
	add := func(wanted bool, cond string, values ...any) {
		if wanted {
			all, args = append(all, cond), append(args, values...)
		}
	}
	add(f.Token != 0, "token_id = ?", f.Token)
	add(f.Who != "", "(principal = ? OR user_id = ? OR key_id = ?)", f.Who, f.Who, f.Who)
	add(f.Tool != "", "tool_name = ?", f.Tool)
	name, _ := json.Marshal(f.Resource) // a text always encodes
	add(f.Resource != "", "args_masked LIKE ? ESCAPE '!'", "%"+strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(string(name))+"%")
	add(f.Outcome != "", "outcome = ?", f.Outcome)
	add(f.Request != "", "request_id = ?", f.Request)
	add(!f.From.IsZero(), "create_time >= ?", moment{f.From})
	add(!f.To.IsZero(), "create_time < ?", moment{f.To})
	if len(all) > 0 {
		text = " WHERE " + strings.Join(all, " AND ")
	}
	return text, args
}

// FindCalls lists the newest calls that a filter lets through, the newest first. The error is a problem.
func (c *Control) FindCalls(ctx context.Context, f CallFilter) ([]KeptCall, error) {
	where, args := f.where()
	rows, err := c.rows(ctx, c.reads, "SELECT id, create_time, request_id, COALESCE(token_id, 0), COALESCE(user_id, ''), COALESCE(principal, ''), COALESCE(key_id, ''), tool_name, COALESCE(args_masked, ''), outcome, COALESCE(error_code, ''), row_count, duration_ms, COALESCE(client_ip, ''), COALESCE(schema_version, 0), COALESCE(rules, ''), COALESCE(bypass, ''), COALESCE(sql_hash, ''), COALESCE(stages, '') FROM mcp_audit_log"+where+" ORDER BY id DESC LIMIT ?",
		append(args, f.Limit)...)
	if err != nil {
		return nil, c.fault(err)
	}
	defer rows.Close()
	list := []KeptCall{}
	for rows.Next() {
		var k KeptCall
		var at moment
		if err := rows.Scan(&k.ID, &at, &k.Request, &k.Token, &k.User, &k.Principal, &k.Key, &k.Tool, &k.Arguments, &k.Outcome, &k.Code, &k.Rows, &k.Ms, &k.Client, &k.Version, &k.Rules, &k.Bypass, &k.SQL, &k.Stages); err != nil {
			return nil, c.fault(err)
		}
		k.Time = at.Time
		list = append(list, k)
	}
	return list, c.fault(rows.Err())
}

// ForgetCalls deletes the calls of before a moment, some thousands at a time, and gives their number.
func (c *Control) ForgetCalls(ctx context.Context, before time.Time) (n int64, err error) {
	for {
		last := int64(0)
		if err := c.row(ctx, c.db, "SELECT COALESCE(MAX(id), 0) FROM (SELECT id FROM mcp_audit_log WHERE create_time < ? ORDER BY id LIMIT 5000) k", moment{before}).Scan(&last); err != nil {
			return n, c.fault(err)
		}
		if last == 0 {
			return n, nil
		}
		some, err := c.exec(ctx, c.db, "DELETE FROM mcp_audit_log WHERE id <= ? AND create_time < ?", last, moment{before})
		if n += some; err != nil || some == 0 {
			return n, c.fault(err)
		}
	}
}
