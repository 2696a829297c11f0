// Package issuer is the HTTP API by which a trusted program makes, lists and revokes keys.
package issuer

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"resq/registry"
	"resq/schema/problem"
)

// Path is below which the API answers.
const Path = "/api/v1/"

const (
	maxBody  = 64 << 10 // bytes of a request
	bodyTime = 10 * time.Second
	workTime = 10 * time.Second

	// Refused credentials of one address within a minute, after which further ones are told to wait for the rest of it.
	maxRefused = 10
	maxPlaces  = 10_000
)

// Options are how an API is made.
type Options struct {
	Control *registry.Control
	Admin   string // SHA-256 of the credential, in hexadecimal digits; "" closes the API until SetAdmin
	// Principal says whether the configuration has a principal of a name, which a key may take after.
	Principal func(name string) bool
	// Record is handed every request that came with the credential, and of those without it some of each address; nil is
	// nobody.
	Record func(registry.Call)
	Log    *slog.Logger
}

// An API answers the requests of an issuer.
type API struct {
	Options
	admin atomic.Pointer[[sha256.Size]byte] // nil while nobody is let in
	mux   *http.ServeMux

	mu      sync.Mutex
	minute  time.Time
	refused map[string]int // by address
}

// New makes the API. Host and Origin are looked at by whoever serves it. It fails for a sum that is none.
func New(o Options) (*API, error) {
	a := &API{Options: o, mux: http.NewServeMux(), refused: map[string]int{}}
	if err := a.SetAdmin(o.Admin); err != nil {
		return nil, err
	}
	for pattern, do := range map[string]action{
		"POST keys":                  a.createKey,
		"GET keys":                   a.listKeys,
		"GET keys/{id}":              keyAction(a.Control.Key),
		"POST keys/{id}/reveal":      a.reveal,
		"POST keys/{id}/enable":      keyAction(a.Control.EnableKey),
		"POST keys/{id}/disable":     keyAction(a.Control.DisableKey),
		"POST keys/{id}/revoke":      keyAction(a.Control.RevokeKey),
		"POST keys/{id}/rotate":      a.rotate,
		"PUT keys/{id}/scopes":       a.setScopes,
		"GET scopes":                 a.listScopes,
		"POST scopes":                a.createScope,
		"GET scopes/{code}":          a.scope,
		"PUT scopes/{code}/tools":    a.setTools,
		"POST scopes/{code}/enable":  a.enableScope(true),
		"POST scopes/{code}/disable": a.enableScope(false),
		"GET tools":                  a.listTools,
		"POST tools/{name}/enable":   a.enableTool(true),
		"POST tools/{name}/disable":  a.enableTool(false),
	} {
		method, path, _ := strings.Cut(pattern, " ")
		a.mux.HandleFunc(method+" "+Path+path, a.handle(pattern, do))
	}
	return a, nil
}

// SetAdmin takes the sum of another credential, and from then on the one before opens nothing. "" is of none: then there
// is nothing at the paths of the API. It fails for a sum that is none, and then nothing is changed.
func (a *API) SetAdmin(sum string) error {
	if sum == "" {
		a.admin.Store(nil)
		return nil
	}
	raw, err := hex.DecodeString(sum)
	if err != nil || len(raw) != sha256.Size {
		return errors.New("the sum of the admin credential is not 64 hexadecimal digits")
	}
	admin := [sha256.Size]byte(raw)
	a.admin.Store(&admin)
	return nil
}

// An ask is one request that came with the credential.
type ask struct {
	ctx  context.Context
	r    *http.Request
	body map[string]json.RawMessage
}

// An action does what a request asks for and gives what is answered. Its error is a problem.
type action func(*ask) (any, error)

// ServeHTTP is part of http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	admin := a.admin.Load()
	if admin == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if err := a.authenticate(r, admin[:]); err != nil {
		id := newID()
		if codeOf(err) == problem.Unauthenticated { // what an address sends beyond its bound is not even kept
			a.record(r, registry.Call{Request: id, Tool: "api", Outcome: "denied", Code: string(problem.Unauthenticated)})
		}
		a.fail(w, r, id, err)
		return
	}
	if _, pattern := a.mux.Handler(r); pattern == "" || path.Clean(r.URL.Path) != r.URL.Path { // the library would redirect
		id := newID()
		a.record(r, registry.Call{Request: id, Tool: "api", Outcome: "error", Code: string(problem.NotFound)})
		a.fail(w, r, id, &problem.Problem{Code: problem.NotFound, Message: "there is nothing at this path for this method; docs/keys.md lists what there is"})
		return
	}
	a.mux.ServeHTTP(w, r)
}

// authenticate compares the credential in constant time. Wrong ones are counted for each address, and after some it is told
// to wait; a right one always passes, so that nobody behind the same proxy can lock the issuer out.
func (a *API) authenticate(r *http.Request, admin []byte) error {
	scheme, credential, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(credential)))
	if subtle.ConstantTimeCompare(sum[:], admin) == 1 && strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	place, _, _ := net.SplitHostPort(r.RemoteAddr)
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.minute) >= time.Minute {
		a.minute = now
		clear(a.refused)
	}
	if a.refused[place] >= maxRefused {
		wait := int(time.Minute-now.Sub(a.minute))/int(time.Second) + 1
		return &problem.Problem{Code: problem.RateLimited, Message: "too many wrong credentials came from this address", RetryAfter: wait}
	}
	if len(a.refused) < maxPlaces {
		a.refused[place]++
	}
	return &problem.Problem{Code: problem.Unauthenticated, Message: "the admin credential is required: Authorization: Bearer <credential>"}
}

// handle reads a request, does it, and answers.
func (a *API) handle(name string, do action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		start, id := time.Now(), newID()
		ctx, cancel := context.WithTimeout(r.Context(), workTime)
		defer cancel()
		_ = http.NewResponseController(w).SetReadDeadline(start.Add(bodyTime)) // a writer without deadlines, as in tests, has none to set
		raw, err := read(w, r)
		q := &ask{ctx: ctx, r: r}
		if err == nil {
			q.body, err = members(raw)
		}
		var out any
		if err == nil {
			out, err = do(q)
		}
		call := registry.Call{Request: id, Principal: "issuer", Tool: "api " + name, Arguments: q.arguments(raw), Outcome: "ok", Took: time.Since(start)}
		call.Token, _ = q.id()
		if err != nil {
			call.Outcome, call.Code = "error", string(codeOf(err))
			a.fail(w, r, id, err)
		} else {
			switch k := out.(type) {
			case *issued: // of a rotation the new one; the old one is in the arguments
				call.Token, call.Key = k.ID, k.KeyID
			case *registry.Key:
				call.Token, call.Key = k.ID, k.KeyID
			}
			write(w, http.StatusOK, out)
		}
		a.Log.Info("issuer", "action", name, "outcome", call.Outcome, "request_id", id, "ms", call.Took.Milliseconds())
		a.record(r, call)
	}
}

// record hands over what was asked for.
func (a *API) record(r *http.Request, c registry.Call) {
	if a.Record == nil {
		return
	}
	c.Time, c.Control = time.Now(), true
	c.Client, _, _ = net.SplitHostPort(r.RemoteAddr)
	a.Record(c)
}

// arguments are those of a request as they are recorded: what its path and its query name, and its body.
func (q *ask) arguments(raw []byte) []byte {
	out := map[string]any{}
	for _, name := range []string{"id", "code", "name"} {
		if text := q.r.PathValue(name); text != "" {
			out[name] = text
		}
	}
	if _, err := q.id(); err != nil && out["id"] != nil {
		out["id"] = "***" // it may be a key itself
	}
	for _, name := range []string{"user_id", "after", "limit"} {
		if text := q.r.URL.Query().Get(name); text != "" && q.r.Method == http.MethodGet {
			out[name] = text
		}
	}
	if len(bytes.TrimSpace(raw)) > 0 {
		body, err := members(raw)
		if err != nil {
			out["body"] = "***"
		}
		for name, value := range body {
			if slices.Contains(recorded, name) {
				if out[name] != nil { // the path has it already
					name = "body." + name
				}
				out[name] = value
			} else {
				out["***"] = "***"
			}
		}
	}
	text, _ := json.Marshal(out) // texts, and JSON that was read
	return text
}

// recorded are the members of bodies that are recorded. Any other may hold anything, a key among it.
var recorded = []string{"name", "user_id", "principal", "scopes", "expire_time", "grace_seconds", "scope_code", "scope_name", "tools", "later"}

func read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Method == http.MethodGet {
		return nil, nil
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, &problem.Problem{Code: problem.InvalidArgument, Message: "the body must not be compressed"}
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &problem.Problem{Code: problem.LimitExceeded, Message: fmt.Sprintf("the request is larger than %d bytes", maxBody)}
	case err != nil:
		return nil, &problem.Problem{Code: problem.InvalidArgument, Message: "the request ended early"}
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); len(raw) > 0 && (err != nil || t != "application/json") {
		return nil, &problem.Problem{Code: problem.InvalidArgument, Message: "the content type must be application/json"}
	}
	return raw, nil
}

// members reads a JSON object strictly: no key twice, nothing behind it. No body is an empty one.
func members(raw []byte) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) == 0 {
		return out, nil
	}
	bad := &problem.Problem{Code: problem.InvalidArgument, Message: "the body is not a JSON object"}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, bad
	}
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		var value json.RawMessage
		if err != nil || !ok || dec.Decode(&value) != nil {
			return nil, bad
		}
		if _, twice := out[name]; twice {
			return nil, &problem.Problem{Code: problem.InvalidArgument, At: "/" + name, Message: "this member stands twice"}
		}
		out[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, bad
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, bad
	}
	return out, nil
}

// take reads members of the body; one that is not among them is refused.
func (q *ask) take(into map[string]any) error {
	var names []string
	for name := range into {
		names = append(names, name)
	}
	slices.Sort(names)
	for name, raw := range q.body {
		to, ok := into[name]
		if !ok {
			return &problem.Problem{Code: problem.InvalidArgument, At: "/" + name, Message: "there is no such member here", Hint: problem.OneOf(name, names)}
		}
		if json.Unmarshal(raw, to) != nil {
			return &problem.Problem{Code: problem.InvalidArgument, At: "/" + name, Message: "this is of another type than it must be"}
		}
	}
	return nil
}

// A userID may come as a text or a number.
type userID string

// UnmarshalJSON is part of json.Unmarshaler.
func (u *userID) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] != '"' {
		var n *int64
		err := json.Unmarshal(raw, &n)
		if err == nil && n != nil {
			*u = userID(strconv.FormatInt(*n, 10))
		}
		return err
	}
	return json.Unmarshal(raw, (*string)(u))
}

// issued is a key with the key itself.
type issued struct {
	Plain string `json:"key"`
	*registry.Key
}

func (a *API) createKey(q *ask) (any, error) {
	var n registry.NewKey
	var user userID
	var expires *time.Time
	if err := q.take(map[string]any{"name": &n.Name, "user_id": &user, "principal": &n.Principal, "scopes": &n.Scopes, "expire_time": &expires}); err != nil {
		return nil, err
	}
	n.User = string(user)
	if expires != nil {
		n.Expires = *expires
	}
	if n.Principal != "" && (a.Principal == nil || !a.Principal(n.Principal)) {
		return nil, &problem.Problem{Code: problem.InvalidArgument, At: "/principal", Message: "no principal " + problem.Quote(n.Principal) + " is configured"}
	}
	k, plain, err := a.Control.CreateKey(q.ctx, n)
	if err != nil {
		return nil, err
	}
	return &issued{plain, k}, nil
}

func (a *API) listKeys(q *ask) (any, error) {
	f := registry.KeyFilter{}
	for name, values := range q.r.URL.Query() {
		var err error
		switch name {
		case "user_id":
			f.User = values[0]
		case "after":
			f.After, err = strconv.ParseInt(values[0], 10, 64)
		case "limit":
			f.Limit, err = strconv.Atoi(values[0])
		default:
			err = errors.New("unknown")
		}
		if err != nil {
			return nil, &problem.Problem{Code: problem.InvalidArgument, Message: "the query takes user_id, and the numbers after and limit"}
		}
	}
	list, err := a.Control.Keys(q.ctx, f)
	return map[string]any{"keys": list}, err
}

func (q *ask) id() (int64, error) {
	id, err := strconv.ParseInt(q.r.PathValue("id"), 10, 64)
	if err != nil || id < 1 { // it may be a key itself, so it is not repeated
		return 0, &problem.Problem{Code: problem.InvalidArgument, Message: "a key is named by its number"}
	}
	return id, nil
}

func keyAction(do func(context.Context, int64) (*registry.Key, error)) action {
	return func(q *ask) (any, error) {
		id, err := q.id()
		if err == nil {
			err = q.take(nil)
		}
		if err != nil {
			return nil, err
		}
		return do(q.ctx, id)
	}
}

func (a *API) reveal(q *ask) (any, error) {
	id, err := q.id()
	if err == nil {
		err = q.take(nil)
	}
	if err != nil {
		return nil, err
	}
	k, err := a.Control.Key(q.ctx, id)
	if err != nil {
		return nil, err
	}
	plain, err := a.Control.Reveal(q.ctx, id)
	if err != nil {
		return nil, err
	}
	return &issued{plain, k}, nil
}

func (a *API) rotate(q *ask) (any, error) {
	id, err := q.id()
	if err != nil {
		return nil, err
	}
	grace := 0
	if err := q.take(map[string]any{"grace_seconds": &grace}); err != nil {
		return nil, err
	}
	if grace < 0 || grace > 366*24*3600 {
		return nil, &problem.Problem{Code: problem.InvalidArgument, At: "/grace_seconds", Message: "this is not between 0 and a year"}
	}
	k, plain, err := a.Control.RotateKey(q.ctx, id, time.Duration(grace)*time.Second)
	if err != nil {
		return nil, err
	}
	return &issued{plain, k}, nil
}

func (a *API) setScopes(q *ask) (any, error) {
	id, err := q.id()
	if err != nil {
		return nil, err
	}
	codes, err := q.list("scopes")
	if err != nil {
		return nil, err
	}
	return a.Control.SetKeyScopes(q.ctx, id, codes)
}

// list reads a list of texts that must be there: a forgotten one would take everything away.
func (q *ask) list(name string) (list []string, err error) {
	if err := q.take(map[string]any{name: &list}); err != nil {
		return nil, err
	}
	if list == nil {
		return nil, lacks(name)
	}
	return list, nil
}

func lacks(name string) error {
	return &problem.Problem{Code: problem.InvalidArgument, At: "/" + name, Message: "this list is missing"}
}

func (a *API) listScopes(q *ask) (any, error) {
	list, err := a.Control.Scopes(q.ctx)
	return map[string]any{"scopes": list}, err
}

func (a *API) createScope(q *ask) (any, error) {
	var code, name string
	var tools []string
	later := false
	if err := q.take(map[string]any{"scope_code": &code, "scope_name": &name, "tools": &tools, "later": &later}); err != nil {
		return nil, err
	}
	if err := a.checkTools(q, tools, later); err != nil {
		return nil, err
	}
	return a.Control.CreateScope(q.ctx, code, name, tools...)
}

func (a *API) scope(q *ask) (any, error) { return a.Control.Scope(q.ctx, q.r.PathValue("code")) }

func (a *API) setTools(q *ask) (any, error) {
	var tools []string
	later := false
	if err := q.take(map[string]any{"tools": &tools, "later": &later}); err != nil {
		return nil, err
	}
	if tools == nil {
		return nil, lacks("tools")
	}
	if err := a.checkTools(q, tools, later); err != nil {
		return nil, err
	}
	return a.Control.SetTools(q.ctx, q.r.PathValue("code"), tools)
}

// checkTools refuses tools that no server has loaded, where the request does not say that they come later.
func (a *API) checkTools(q *ask, tools []string, later bool) error {
	if later {
		return nil
	}
	err := a.Control.CheckTools(q.ctx, tools)
	var p *problem.Problem
	if errors.As(err, &p) && p.Code == problem.InvalidArgument {
		p.Hint = strings.TrimPrefix(p.Hint+"; \"later\": true takes tools that come later", "; ")
	}
	return err
}

func (a *API) enableScope(on bool) action {
	return func(q *ask) (any, error) { return a.Control.EnableScope(q.ctx, q.r.PathValue("code"), on) }
}

func (a *API) listTools(q *ask) (any, error) {
	list, err := a.Control.Tools(q.ctx)
	return map[string]any{"tools": list}, err
}

func (a *API) enableTool(on bool) action {
	return func(q *ask) (any, error) { return a.Control.EnableTool(q.ctx, q.r.PathValue("name"), on) }
}

func codeOf(err error) problem.Code {
	var p *problem.Problem
	if errors.As(err, &p) {
		return p.Code
	}
	return problem.DataIntegrity
}

var statuses = map[problem.Code]int{
	problem.InvalidArgument: http.StatusBadRequest, problem.NotFound: http.StatusNotFound, problem.Conflict: http.StatusConflict, problem.DataError: http.StatusConflict,
	problem.Unauthenticated: http.StatusUnauthorized, problem.RateLimited: http.StatusTooManyRequests, problem.Unavailable: http.StatusServiceUnavailable,
	problem.LimitExceeded: http.StatusRequestEntityTooLarge,
}

// fail answers with an error, in the form of those of tool calls. What a database says goes into the log alone.
func (a *API) fail(w http.ResponseWriter, r *http.Request, id string, err error) {
	var p *problem.Problem
	if !errors.As(err, &p) {
		p = &problem.Problem{Code: problem.DataIntegrity, Message: "internal error", Err: err}
	}
	if p.Err != nil {
		a.Log.Error("issuer", "request_id", id, "cause", p.Err.Error())
	}
	status, ok := statuses[p.Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
		a.Log.Info("refused", "code", p.Code, "status", status, "request_id", id, "path", Path)
	}
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	type fault struct {
		Code       problem.Code `json:"code"`
		Message    string       `json:"message"`
		At         string       `json:"at,omitempty"`
		Hint       string       `json:"hint,omitempty"`
		RetryAfter int          `json:"retry_after,omitempty"`
		Request    string       `json:"request_id"`
	}
	write(w, status, map[string]fault{"error": {p.Code, p.Message, p.At, p.Hint, p.RetryAfter, id}})
}

func write(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // texts, numbers and times always encode
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// newID makes the random UUID that names a request in the answer and in the log.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
