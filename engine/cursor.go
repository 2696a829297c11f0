package engine

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	"resq/engine/policy"
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
	return append(shape[:], who.Name...)
}

// close seals the sort keys of the last row of a page.
func (s *sealer) close(who *policy.Principal, r *query.Request, keys []*string) (string, error) {
	plain, err := json.Marshal(keys)
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
func (s *sealer) open(who *policy.Principal, r *query.Request) ([]*string, error) {
	if r.Cursor == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimSpace(r.Cursor))
	n := s.aead.NonceSize()
	if err == nil && len(raw) > n {
		if plain, err := s.aead.Open(nil, raw[:n], raw[n:], about(who, r)); err == nil {
			var keys []*string
			if json.Unmarshal(plain, &keys) == nil {
				return keys, nil
			}
		}
	}
	return nil, problem.List{{Code: problem.InvalidArgument, Stage: problem.Semantics, At: "/cursor", Message: "the cursor is not of this request",
		Hint: "send it with the very request it came with but for limit, fields and format, or begin again without one"}}
}
