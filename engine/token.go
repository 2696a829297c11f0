package engine

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"resq/schema/problem"
)

// A signer makes and checks confirm tokens, and seals before-images. A token is a handle with a MAC and no
// right by itself: what decides stands in the operation row (security.md 3.5).
type signer struct{ keys []signingKey } // the first signs; the others, of earlier secrets, still verify

type signingKey struct {
	kid  string
	mac  []byte
	aead cipher.AEAD
}

func newSigner(secrets [][]byte) (*signer, error) {
	s := &signer{}
	for _, secret := range secrets {
		k := signingKey{mac: derive(secret, "resq-confirm-v1")}
		id := sha256.Sum256(k.mac)
		k.kid = hex.EncodeToString(id[:4])
		block, err := aes.NewCipher(derive(secret, "resq-undo-v1"))
		if err != nil {
			return nil, err
		}
		if k.aead, err = cipher.NewGCM(block); err != nil {
			return nil, err
		}
		s.keys = append(s.keys, k)
	}
	return s, nil
}

func derive(secret []byte, use string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(use))
	return h.Sum(nil)
}

const (
	tokenForm = "rq1."
	// skew is how far the clock that a program counts on from the database's may be off. The database's own decides;
	// the other only saves it the question about tokens that are long gone.
	skew = 150 * time.Second
)

// newID makes the id of an operation: 128 random bits.
func newID() (string, error) {
	var b [16]byte
	_, err := rand.Read(b[:])
	return hex.EncodeToString(b[:]), err
}

// token makes the token of an operation that ends at exp.
func (s *signer) token(op string, exp time.Time) string {
	k := s.keys[0]
	body := make([]byte, 24)
	_, _ = hex.Decode(body, []byte(op)) // newID made it
	binary.BigEndian.PutUint64(body[16:], uint64(exp.Unix()))
	enc := base64.RawURLEncoding
	return tokenForm + k.kid + "." + enc.EncodeToString(body) + "." + enc.EncodeToString(k.sign(body))
}

func (k signingKey) sign(body []byte) []byte {
	h := hmac.New(sha256.New, k.mac)
	h.Write([]byte("resq-tok-v1" + k.kid))
	h.Write(body)
	return h.Sum(nil)
}

// open gives the operation of a token. It is checked as far as it can be without the database, so that a
// forged one costs no query and ends nothing.
func (s *signer) open(token string, now time.Time) (op string, p *problem.Problem) {
	invalid := &problem.Problem{Code: problem.ConfirmInvalid, Stage: problem.Confirm, At: "/__confirm_token__", Message: "the token is not one of a preview",
		Hint: "send the token of the preview as it is, or leave __confirm__ out for a new preview"}
	text := strings.TrimSpace(token)
	text = strings.TrimSuffix(text, ".")
	text = strings.Trim(text, " `\"'")
	text = strings.TrimSuffix(text, ".")
	rest, ok := strings.CutPrefix(text, tokenForm)
	kid, rest, ok1 := strings.Cut(rest, ".")
	data, mac, ok2 := strings.Cut(rest, ".")
	enc := base64.RawURLEncoding.Strict()
	body, err := enc.DecodeString(data)
	sum, err2 := enc.DecodeString(mac)
	if !ok || !ok1 || !ok2 || err != nil || err2 != nil || len(body) != 24 || len(sum) != sha256.Size {
		return "", invalid
	}
	for _, k := range s.keys {
		if k.kid == kid && hmac.Equal(sum, k.sign(body)) {
			if now.Unix() > int64(binary.BigEndian.Uint64(body[16:]))+int64(skew/time.Second) {
				return hex.EncodeToString(body[:16]), expired()
			}
			return hex.EncodeToString(body[:16]), nil
		}
	}
	return "", invalid
}

func expired() *problem.Problem {
	return &problem.Problem{Code: problem.ConfirmExpired, Stage: problem.Confirm, Message: "the preview has expired and nothing was changed",
		Hint: "call again without __confirm__ for a new preview"}
}

// seal locks a before-image to its operation.
func (s *signer) seal(op string, plain []byte) ([]byte, error) {
	k := s.keys[0]
	nonce := make([]byte, k.aead.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return k.aead.Seal(append([]byte(k.kid), nonce...), nonce, plain, []byte(op)), nil
}

var errSealed = errors.New("the before-image was sealed with a secret that is no longer here")

// unseal opens a before-image.
func (s *signer) unseal(op string, b []byte) ([]byte, error) {
	for _, k := range s.keys {
		n := len(k.kid) + k.aead.NonceSize()
		if len(b) > n && string(b[:len(k.kid)]) == k.kid {
			return k.aead.Open(nil, b[len(k.kid):n], b[n:], []byte(op))
		}
	}
	return nil, errSealed
}

// shortCode is what a person compares: the same on the requester's screen and the approver's.
func shortCode(op string) string {
	sum := sha256.Sum256([]byte("resq-short-v1" + op))
	const letters = "ABCDEFGHJKLMNPQRSTUVWXYZ"
	return string([]byte{letters[int(sum[0])%len(letters)], '0' + sum[1]%10, '-', '0' + sum[2]%10, '0' + sum[3]%10})
}
