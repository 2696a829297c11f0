package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/server"

	"resq/engine/policy"
)

// sessions makes and checks session ids. An id carries when it was made and a MAC over that and its owner, a
// principal and its user, so no state decides whose session it is, and replicas with one secret agree. What is remembered, within
// bounds, is which sessions have ended and when each was last used.
type sessions struct {
	secret []byte
	idle   time.Duration // after which a session is over
	// spread says that other replicas are asked in the same sessions. None of them knows when a session was last used, so it is
	// over at an age, and not after a silence.
	spread bool

	mu    sync.Mutex
	used  map[string]use
	ended map[string]bool
	order []string // of ended, oldest first
}

// A use is when a session was last heard of. One with open streams is in use for as long as they are.
type use struct {
	last    time.Time
	streams int
	able    abilities // of its client: those that take a question
	told    *sight    // nil when nobody asked yet
}

// Bounds of what is remembered. An ended session that is forgotten is valid again, for its owner only, until it
// is too old; of one whose use is forgotten only its age is known, and its user is not asked.
const (
	maxEnded = 10_000
	maxUsed  = 100_000
	maxAge   = 24 * time.Hour // of a session that is spread over replicas
)

var errSession = errors.New("unknown session")

func newSessions(secret []byte, idle time.Duration) *sessions {
	return &sessions{secret: secret, idle: idle, used: map[string]use{}, ended: map[string]bool{}}
}

func (s *sessions) mac(nonce, made, owner string) string {
	h := hmac.New(sha256.New, s.secret)
	h.Write([]byte("session\x00" + nonce + "\x00" + made + "\x00" + owner))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:20])
}

// make gives a new id to its owner.
func (s *sessions) make(owner string) string { return s.madeAt(owner, time.Now()) }

func (s *sessions) madeAt(owner string, at time.Time) string {
	return s.marked(owner, strconv.FormatInt(at.UnixMilli(), 36))
}

func (s *sessions) marked(owner, made string) string {
	nonce := rand.Text()
	return nonce + "." + made + "." + s.mac(nonce, made, owner)
}

// valid says whether id is a session of owner that has not ended, and counts as a use of it.
func (s *sessions) valid(id, owner string) bool {
	nonce, rest, _ := strings.Cut(id, ".")
	made, mac, ok := strings.Cut(rest, ".")
	if !ok || subtle.ConstantTimeCompare([]byte(mac), []byte(s.mac(nonce, made, owner))) != 1 {
		return false
	}
	since, err := strconv.ParseInt(strings.TrimSuffix(made, appsMark), 36, 64)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	u, known := s.used[id]
	if !known {
		u.last = time.UnixMilli(since)
	}
	over := u.streams == 0 && now.Sub(u.last) > s.idle
	if s.spread {
		over = now.Sub(time.UnixMilli(since)) > maxAge
	}
	if s.ended[id] || over {
		delete(s.used, id)
		return false
	}
	if !known {
		s.room(now)
	}
	u.last = now
	s.used[id] = u
	return true
}

// room keeps the uses within their bound: first those of sessions that are over go, then any.
func (s *sessions) room(now time.Time) {
	if len(s.used) < maxUsed {
		return
	}
	for id, u := range s.used {
		if u.streams == 0 && now.Sub(u.last) > s.idle {
			delete(s.used, id)
		}
	}
	for id, u := range s.used {
		if len(s.used) < maxUsed*9/10 { // so that not every new session has to look through all
			return
		}
		if u.streams == 0 {
			delete(s.used, id)
		}
	}
}

// appsMark is in the id of a session whose client shows pages beside answers, so that every replica knows. Whatever changes
// it makes the id nobody's.
const appsMark = "-ui"

// appsIn says whether the client of a valid session shows pages beside answers.
func appsIn(id string) bool {
	_, rest, _ := strings.Cut(id, ".")
	made, _, _ := strings.Cut(rest, ".")
	return strings.HasSuffix(made, appsMark)
}

// begin remembers what the client of a new session can be asked.
func (s *sessions) begin(id string, a abilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.room(now)
	s.used[id] = use{last: now, able: a}
}

// able says what the client of a session can be asked.
func (s *sessions) able(id string) abilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used[id].able
}

// hold keeps a session from being idle until the function is called.
func (s *sessions) hold(id string) func() {
	count := func(n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.ended[id] {
			u := s.used[id]
			u.last, u.streams = time.Now(), u.streams+n
			s.used[id] = u
		}
	}
	count(1)
	return func() { count(-1) }
}

// news says whether a session has to be told that something changed, and takes it as told. A session with an open
// stream hears it there, and one that is new knows nothing older. What its caller sees by now is asked only after a change.
func (s *sessions) news(id string, swaps, shifts int64, sees func(swaps, shifts int64) sight) bool {
	s.mu.Lock()
	u, known := s.used[id]
	s.mu.Unlock()
	if !known || u.told != nil && u.told.swaps >= swaps && u.told.shifts >= shifts {
		return false
	}
	now := sees(swaps, shifts)
	s.mu.Lock()
	defer s.mu.Unlock()
	if u, known = s.used[id]; !known {
		return false
	}
	before := u.told
	if before != nil && before.swaps >= swaps && before.shifts >= shifts {
		return false // another call of the session told it just now
	}
	u.told = &now
	s.used[id] = u
	return before != nil && u.streams == 0 && (before.swaps != now.swaps || before.missed(now))
}

// end remembers that a session is over.
func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.used, id)
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

// ResolveSessionIdManager binds the ids of one request to its caller. The library asks without a request
// when it forgets idle sessions.
func (s *sessions) ResolveSessionIdManager(r *http.Request) mcpgo.SessionIdManager {
	if r == nil {
		return ownSessions{sessions: s}
	}
	c := callerOf(r.Context())
	return ownSessions{s, c.who, c.able}
}

// ownSessions are the sessions as one caller may use them.
type ownSessions struct {
	*sessions
	who *policy.Principal
	can abilities // of the client of a new one
}

func (o ownSessions) Generate() string {
	if o.who == nil {
		return rand.Text() // belongs to nobody, so it is never valid
	}
	made := strconv.FormatInt(time.Now().UnixMilli(), 36)
	if o.can.apps {
		made += appsMark
	}
	id := o.marked(o.who.Owner(), made)
	if o.can.forms || o.can.pages {
		o.begin(id, o.can)
	}
	return id
}

// Validate takes a request without a session as well: everything but notifications works without one.
func (o ownSessions) Validate(id string) (bool, error) {
	if id == "" || o.who != nil && o.valid(id, o.who.Owner()) {
		return false, nil
	}
	return false, errSession
}

// Terminate ends a session for its owner. The library's own clean-up of what it holds for idle sessions ends
// none: it does not know of the calls that took the direct way.
func (o ownSessions) Terminate(id string) (bool, error) {
	if o.who != nil {
		o.end(id)
	}
	return false, nil
}
