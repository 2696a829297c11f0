package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"sync"

	mcpgo "github.com/mark3labs/mcp-go/server"

	"resq/engine/policy"
)

// sessions makes and checks session ids. An id carries a MAC over its owner's name, so no state decides whose
// session it is and replicas with one secret agree; only ended sessions are remembered.
type sessions struct {
	secret []byte

	mu    sync.Mutex
	ended map[string]bool
	order []string // of ended, oldest first
}

// maxEnded bounds the memory of ended sessions. An id that is forgotten is valid again, for its owner only.
const maxEnded = 10_000

var errSession = errors.New("unknown session")

func newSessions(secret []byte) *sessions {
	return &sessions{secret: secret, ended: map[string]bool{}}
}

func (s *sessions) mac(nonce, owner string) string {
	h := hmac.New(sha256.New, s.secret)
	h.Write([]byte("session\x00" + nonce + "\x00" + owner))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:20])
}

// make gives a new id to its owner.
func (s *sessions) make(owner string) string {
	nonce := rand.Text()
	return nonce + "." + s.mac(nonce, owner)
}

// valid says whether id is a session of owner that has not ended.
func (s *sessions) valid(id, owner string) bool {
	nonce, mac, ok := strings.Cut(id, ".")
	if !ok || subtle.ConstantTimeCompare([]byte(mac), []byte(s.mac(nonce, owner))) != 1 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.ended[id]
}

// end remembers that a session is over.
func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended[id] {
		return
	}
	if len(s.order) == maxEnded {
		delete(s.ended, s.order[0])
		s.order = s.order[1:]
	}
	s.ended[id] = true
	s.order = append(s.order, id)
}

// ResolveSessionIdManager binds the ids of one request to its principal. The library asks without a request
// when it forgets idle sessions.
func (s *sessions) ResolveSessionIdManager(r *http.Request) mcpgo.SessionIdManager {
	if r == nil {
		return ownSessions{sessions: s}
	}
	return ownSessions{s, callerOf(r.Context()).who}
}

// ownSessions are the sessions as one principal may use them.
type ownSessions struct {
	*sessions
	who *policy.Principal
}

func (o ownSessions) Generate() string {
	if o.who == nil {
		return rand.Text() // belongs to nobody, so it is never valid
	}
	return o.make(o.who.Name)
}

// Validate takes a request without a session as well: everything but notifications works without one.
func (o ownSessions) Validate(id string) (bool, error) {
	if id == "" || o.who != nil && o.valid(id, o.who.Name) {
		return false, nil
	}
	return false, errSession
}

// Terminate ends a session for its owner. The library's own clean-up of idle sessions frees memory and ends
// none, so a client that was silent for an hour need not start again.
func (o ownSessions) Terminate(id string) (bool, error) {
	if o.who != nil {
		o.end(id)
	}
	return false, nil
}
