package engine

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"resq/engine/policy"
	"resq/engine/sqlgen"
	"resq/schema/problem"
	"resq/schema/query"
)

// A sealer seals cursors: they hold values of a row, and belong to one request.
type sealer struct{ aead cipher.AEAD }

func newSealer(secret []byte) (*sealer, error) {
	key := sha256.Sum256(append([]byte("resq-cursor-v1\x00"), secret...))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &sealer{aead}, err
}

// about is what a cursor is bound to: who asked, and for which rows in which order.
func about(who *policy.Principal, r *query.Request) []byte {
	shape := r.Shape()
	return append(shape[:], who.Owner()...)
}

// close seals the number of rows so far and the sort keys of the last of them.
func (s *sealer) close(who *policy.Principal, r *query.Request, keys []any) (string, error) {
	texts := make([]string, len(keys))
	for i, k := range keys {
		tag, text := packed(k)
		texts[i] = string(tag) + text
	}
	plain, err := json.Marshal(texts)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, s.aead.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, plain, about(who, r))), nil
}

// open reads the cursor of a request, if it has one.
func (s *sealer) open(who *policy.Principal, r *query.Request) ([]any, error) {
	if r.Cursor == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimSpace(r.Cursor))
	n := s.aead.NonceSize()
	if err == nil && len(raw) > n {
		if plain, err := s.aead.Open(nil, raw[:n], raw[n:], about(who, r)); err == nil {
			if keys, ok := unsealed(plain); ok {
				return keys, nil
			}
		}
	}
	return nil, problem.List{{Code: problem.InvalidArgument, Stage: problem.Semantics, At: "/cursor", Message: "the cursor is not of this request",
		Hint: "send it with the very request it came with but for limit, fields and format, or begin again without one"}}
}

func unsealed(plain []byte) ([]any, bool) {
	var texts []string
	if json.Unmarshal(plain, &texts) != nil {
		return nil, false
	}
	keys := make([]any, len(texts))
	for i, t := range texts {
		if t == "" {
			return nil, false
		}
		v, ok := unpacked(t[0], t[1:])
		if !ok {
			return nil, false
		}
		keys[i] = v
	}
	return keys, true
}

// cursor is one for the rows behind the first n, or nothing where there is none.
func (s *shaper) cursor(n int64) (string, error) {
	keys, ok := s.keys()
	if !ok || len(keys) == 0 {
		return "", nil
	}
	c, err := s.e.seal.close(s.who, s.r, append([]any{n}, keys...))
	if len(c) > query.MaxCursor {
		c = ""
	}
	return c, err
}

// keys are the sort keys of the last row. It says false where one of them, given back, would not be compared as the
// database sorted it: a cursor that may skip or repeat rows is worse than none.
func (s *shaper) keys() ([]any, bool) {
	out := make([]any, len(s.last))
	for i := range s.last {
		v := sqlgen.Owned(s.last[i].v)
		c := &s.cols[s.p.Page().Keys[i]]
		switch x := v.(type) {
		case []byte:
			v = string(x)
		case float32:
			v = float64(x)
		case time.Time:
			v = string(c.moment(nil, x))
		case nil, int64, uint64, float64, bool, string:
		default:
			return nil, false
		}
		if t, ok := v.(string); ok && (!utf8.ValidString(t) || strings.IndexByte(t, 0) >= 0) {
			return nil, false
		}
		if v != nil {
			var ok bool
			if v, ok = s.key(c.dbType, c.field != nil, v); !ok {
				return nil, false
			}
		}
		out[i] = v
	}
	return out, true
}
