package registry

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"resq/engine"
)

// The events of an audit.
const (
	EventStart    = "start"    // the server is up
	EventStop     = "stop"     // … and ends
	EventReload   = "reload"   // the catalog or the keys were loaded again
	EventCall     = "call"     // a call of a tool, refused ones too
	EventApproval = "approval" // a person approved or declined a write
	EventIntent   = "intent"   // a write is about to be committed
	EventOutcome  = "outcome"  // what became of it

	// These the log writes itself. They are signed.
	EventOpen       = "open"       // the first line of a file
	EventCheckpoint = "checkpoint" // vouches for all lines before it
)

// Recovered is the code of an outcome that was found out after a crash.
const Recovered = "RECOVERED"

// Why a file was begun: the reason in its first line.
const (
	reasonStart = "start" // by a process that has just started
	reasonSize  = "size"  // the file before is full
	reasonFault = "fault" // the file before cannot be trusted: what stands there under numbers from this line's on is void
)

// An Entry is one line of an audit. The log itself fills Time, Chain, Seq, Prev and ArgumentsHMAC, and what stands
// behind Detail.
type Entry struct {
	Time  time.Time `json:"time"`  // UTC, by the wall clock, which may go back
	Chain string    `json:"chain"` // which chain of lines it belongs to; one process writes one
	Seq   uint64    `json:"seq"`   // 1, 2, 3 … within the chain
	Prev  string    `json:"prev"`  // SHA-256 of the line before, its line break included

	Event      string `json:"event"`
	Request    string `json:"request_id,omitempty"`
	Principal  string `json:"principal,omitempty"`
	Key        string `json:"key_id,omitempty"`
	Client     string `json:"client,omitempty"` // what the client says of itself, which nobody checks
	Tool       string `json:"tool,omitempty"`
	Resource   string `json:"resource,omitempty"`
	Connection string `json:"connection,omitempty"`
	Operation  string `json:"op_id,omitempty"`
	Code       string `json:"code,omitempty"`
	Rows       int    `json:"rows,omitempty"`
	Ms         int64  `json:"ms,omitempty"`
	Statement  string `json:"statement,omitempty"` // fingerprint
	Catalog    string `json:"catalog,omitempty"`   // hash
	// Arguments are kept as text only with Options.KeepArguments; whoever hands them over masks them first.
	Arguments     json.RawMessage `json:"args,omitempty"`
	ArgumentsHMAC string          `json:"args_hmac,omitempty"`
	Changes       json.RawMessage `json:"changes,omitempty"`
	Detail        string          `json:"detail,omitempty"`

	// Of calls.
	User    string   `json:"user_id,omitempty"`
	Outcome string   `json:"outcome,omitempty"` // ok, error, denied or rate_limited
	Address string   `json:"client_ip,omitempty"`
	Version int      `json:"schema_version,omitempty"`
	Rules   []string `json:"rules,omitempty"`  // that decided about rows
	Bypass  string   `json:"bypass,omitempty"` // of row rules: who answers for it, and why

	Lost   int    `json:"lost,omitempty"`   // entries before this one that could not be written
	Reason string `json:"reason,omitempty"` // of open: start, size or fault
	Torn   int64  `json:"torn,omitempty"`   // of open: bytes of a line that was broken off before
	Since  uint64 `json:"since,omitempty"`  // of open: number of the oldest intent without an outcome
	MAC    string `json:"mac,omitempty"`    // of open and checkpoint; always the last member
}

func entryOf(event string, r engine.Record) Entry {
	return Entry{
		Event: event, Request: r.Request, Principal: r.Principal, Key: r.Key, Tool: r.Tool, Resource: r.Resource,
		Connection: r.Connection, Operation: r.Operation, Code: r.Code, Rows: r.Rows, Statement: r.Statement,
		Catalog: r.Catalog, Changes: r.Changes,
	}
}

func (e *Entry) record() engine.Record {
	return engine.Record{
		Event: e.Event, Request: e.Request, Principal: e.Principal, Key: e.Key, Tool: e.Tool, Resource: e.Resource,
		Connection: e.Connection, Operation: e.Operation, Code: e.Code, Rows: e.Rows, Statement: e.Statement,
		Catalog: e.Catalog, Changes: e.Changes,
	}
}

// pair is what an intent and its outcome have in common.
func (e *Entry) pair() string {
	if e.Operation != "" {
		return "op " + e.Operation
	}
	return "request " + e.Request
}

func (e *Entry) signed() bool { return e.Event == EventOpen || e.Event == EventCheckpoint }

// A signer makes the codes that need the server's secret.
type signer struct{ lines, arguments []byte }

func newSigner(secret []byte) *signer {
	return &signer{lines: sum(secret, "resq-audit-lines-v1"), arguments: sum(secret, "resq-audit-arguments-v1")}
}

func sum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

const macMember = `,"mac":"`

// encode gives the line of an entry with its line break, signed where such an entry is.
func (s *signer) encode(e Entry) ([]byte, error) {
	e.MAC = ""
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, err
	}
	line := b.Bytes()
	if !e.signed() {
		return line, nil
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	mac := hex.EncodeToString(sum(s.lines, string(line)))
	return append(line[:len(line)-1], macMember+mac+"\"}\n"...), nil
}

// vouches says whether a signed line is as the holder of the secret wrote it.
func (s *signer) vouches(line []byte) bool {
	text := string(line)
	i := strings.LastIndex(text, macMember)
	if i < 0 {
		return false
	}
	mac, err := hex.DecodeString(strings.TrimSuffix(text[i+len(macMember):], "\"}\n"))
	return err == nil && hmac.Equal(mac, sum(s.lines, text[:i]+"}"))
}

// A position is the end of a chain so far.
type position struct {
	seq  uint64
	hash string
}

var beginning = position{hash: strings.Repeat("0", 2*sha256.Size)}

func (p position) next(line []byte) position {
	h := sha256.Sum256(line)
	return position{p.seq + 1, hex.EncodeToString(h[:])}
}

// decode reads a line; false is what is no line of an audit, such as one that was broken off.
func decode(line []byte) (e Entry, ok bool) {
	if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &e) != nil {
		return e, false
	}
	return e, e.Seq > 0 && len(e.Prev) == len(beginning.hash) && e.Event != ""
}
