// Package problem is the one shape in which this system says what is wrong.
package problem

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Code names a kind of problem. Codes are stable: clients and tests match on them (security.md 1.4).
type Code string

// The codes of the contract, and those this system adds to it.
const (
	Unauthenticated    Code = "UNAUTHENTICATED"
	PermissionDenied   Code = "PERMISSION_DENIED"
	NotFound           Code = "NOT_FOUND_OR_FORBIDDEN"
	RateLimited        Code = "RATE_LIMITED"
	Unavailable        Code = "UPSTREAM_UNAVAILABLE"
	SyncCursorExpired  Code = "SYNC_CURSOR_EXPIRED" // reserved
	VersionUnsupported Code = "SCHEMA_VERSION_UNSUPPORTED"
	DataIntegrity      Code = "DATA_INTEGRITY_ERROR"
	InvalidArgument    Code = "INVALID_ARGUMENT"
	UnknownTool        Code = "UNKNOWN_TOOL"
	UnknownResource    Code = "UNKNOWN_RESOURCE"
	UnknownField       Code = "UNKNOWN_FIELD"
	AmbiguousField     Code = "AMBIGUOUS_FIELD"
	MaskedField        Code = "MASKED_FIELD"
	ExprSyntax         Code = "EXPR_SYNTAX"
	ExprNotAllowed     Code = "EXPR_NOT_ALLOWED"
	FunctionNotAllowed Code = "EXPR_FUNCTION_NOT_ALLOWED"
	LimitExceeded      Code = "LIMIT_EXCEEDED"
	PolicyViolation    Code = "POLICY_VIOLATION"
	DataError          Code = "DATA_ERROR"
	Timeout            Code = "TIMEOUT"
	Overloaded         Code = "OVERLOADED"
	Cancelled          Code = "CANCELLED" // the caller went away
	ConfigInvalid      Code = "CONFIG_INVALID"
	ConfirmRequired    Code = "CONFIRM_REQUIRED" // of an answer that is no error
	ConfirmInvalid     Code = "CONFIRM_INVALID"
	ConfirmExpired     Code = "CONFIRM_EXPIRED"
	ConfirmMismatch    Code = "CONFIRM_MISMATCH"
	Conflict           Code = "CONFLICT"
	ApprovalRequired   Code = "APPROVAL_REQUIRED"
	ApprovalDenied     Code = "APPROVAL_DENIED"
	OutcomeUnknown     Code = "OUTCOME_UNKNOWN"
	AuditUnavailable   Code = "AUDIT_UNAVAILABLE"
	ValidationFailed   Code = "VALIDATION_FAILED" // a validation of the resource stops the change

	// Of SQL tools: when their files are loaded, and of the SQL that a client may send.
	SQLSyntax             Code = "SQL_SYNTAX"
	SQLNotReadOnly        Code = "SQL_NOT_READ_ONLY"
	SQLFunctionNotAllowed Code = "SQL_FUNCTION_NOT_ALLOWED"
	SQLTableNotAllowed    Code = "SQL_TABLE_NOT_ALLOWED"
	SQLMaskedColumn       Code = "SQL_MASKED_COLUMN"
	SQLRowPolicy          Code = "SQL_ROW_POLICY"
	SQLParam              Code = "SQL_PARAM"
	ToolName              Code = "TOOL_NAME"
	ToolText              Code = "TOOL_TEXT"
)

// A Stage is how far a request got before the problem was seen. Problems are told in the order of their
// stages, so that one input has one code whatever order the checks happen to run in.
type Stage uint8

// The stages, in the order of security.md 1.4.
const (
	Raw Stage = iota
	Shape
	Limits
	Resources
	Fields
	Syntax
	Constructs
	Names // of fields inside expressions
	Masks
	Semantics
	Policy
	Confirm
	Database
)

// A Problem is one mistake, told to the person or model that can mend it.
type Problem struct {
	Code    Code
	Stage   Stage
	At      string // JSON Pointer in a request; file:line:column in a catalog
	Message string // what is wrong, one sentence of fact
	Hint    string // what to send instead
	Reason  string // one word that tells problems of one code apart; "" is none
	// RetryAfter is in seconds; 0 where trying again does not help.
	RetryAfter int
	// Details are JSON that says more to a program; nil is none.
	Details []byte
	// Err is the cause for the log. It never reaches a caller.
	Err error
}

func (p *Problem) Error() string {
	s := p.Message
	if p.At != "" {
		s = p.At + ": " + s
	}
	if p.Hint != "" {
		s += " · " + p.Hint
	}
	return s
}

// Unwrap gives the cause, for the log.
func (p *Problem) Unwrap() error { return p.Err }

// A List is every problem found in one pass. A nil List is no error.
type List []*Problem

func (l List) Error() string {
	s := make([]string, len(l))
	for i, p := range l {
		s[i] = p.Error()
	}
	return strings.Join(s, "\n")
}

// Err returns l in the order of its stages as an error, or nil when l is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	slices.SortStableFunc(l, func(a, b *Problem) int { return int(a.Stage) - int(b.Stage) })
	return l
}

// Worst is the earliest stage in l, and false when l is empty.
func (l List) Worst() (Stage, bool) {
	if len(l) == 0 {
		return 0, false
	}
	s := l[0].Stage
	for _, p := range l {
		s = min(s, p.Stage)
	}
	return s, true
}

// From gives the problems in err. Anything that is not one becomes a DataIntegrity problem whose message
// gives nothing away.
func From(err error) List {
	if err == nil {
		return nil
	}
	var l List
	if errors.As(err, &l) {
		return l
	}
	var p *Problem
	if errors.As(err, &p) {
		return List{p}
	}
	return List{{Code: DataIntegrity, Stage: Database, Message: "internal error", Err: err}}
}

// Quote shows a caller's own text inside a message: at most 64 characters, with control and invisible
// characters escaped, so that it can neither flood nor forge a log line or an answer.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	n := 0
	for _, r := range s {
		if n == 64 {
			b.WriteString("…")
			break
		}
		n++
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == utf8.RuneError || r < 0x20 || r == 0x7f || !visible(r):
			b.WriteString(`\u{`)
			b.WriteString(hex(r))
			b.WriteByte('}')
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
