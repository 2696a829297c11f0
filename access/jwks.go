package access

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Bounds of a set of keys.
const (
	maxKeySet  = 256 << 10        // bytes
	maxKeys    = 64               // that are used
	keyTime    = 5 * time.Second  // to fetch it
	keyPause   = 10 * time.Second // between two looks for a key that is not there, or after a failure
	keyStale   = 24 * time.Hour   // for which keys are used that cannot be looked at again
	minModulus = 2048             // bits of RSA
)

// errNoKeys says that nothing can be verified: the issuer's keys were never had, or too long ago.
var errNoKeys = errors.New("the issuer's keys are not to be had")

// A keySet is the public keys of an issuer, as they were at the last look.
type keySet struct {
	opts TokenOptions
	http *http.Client

	mu    sync.Mutex
	keys  []jose.JSONWebKey
	had   time.Time // when they were read; zero is never
	tried time.Time // when they were last looked for
	bad   bool      // the last look failed

	looking chan struct{} // closed when the look that goes on is done; nil while there is none
}

// newKeySet makes one of a URL or file. A URL must be https, but on the loopback interface.
func newKeySet(opts TokenOptions) (*keySet, error) {
	s := &keySet{opts: opts, http: &http.Client{
		Timeout:       keyTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if !s.remote() {
		return s, nil
	}
	u, err := url.Parse(opts.Keys)
	if err != nil || u.Host == "" || u.Scheme != "https" && !loopback(u.Hostname()) {
		return nil, errors.New("the keys of the issuer (jwks) must be a file or an https:// URL")
	}
	return s, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (s *keySet) remote() bool {
	return strings.HasPrefix(s.opts.Keys, "https://") || strings.HasPrefix(s.opts.Keys, "http://")
}

// find gives the key of an id that fits an algorithm. A set is looked at anew when it is old, and now and then when a key is not in it: the
// issuer may have a new one. Whoever sends made-up ids cannot make this server ask more often.
func (s *keySet) find(ctx context.Context, id, algorithm string) (*jose.JSONWebKey, error) {
	s.mu.Lock()
	now := time.Now()
	key := s.among(id, algorithm)
	old := now.Sub(s.had) > s.opts.Refresh && now.Sub(s.tried) > min(keyPause, s.opts.Refresh)
	if s.looking == nil && (old || key == nil && now.Sub(s.tried) > keyPause) {
		s.tried, s.looking = now, make(chan struct{})
		go s.look(now)
	}
	looking := s.looking
	s.mu.Unlock()
	if key == nil && looking != nil { // else whoever has a key does not wait
		select {
		case <-looking:
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == nil {
		key = s.among(id, algorithm)
	}
	switch {
	case s.had.IsZero() || now.Sub(s.had) > max(keyStale, s.opts.Refresh):
		return nil, errNoKeys
	case key == nil:
		return nil, errors.New("the issuer has no such key")
	}
	return key, nil
}

// among finds a key by its id. A token without an id fits only a set of one key.
func (s *keySet) among(id, algorithm string) *jose.JSONWebKey {
	for i := range s.keys {
		k := &s.keys[i]
		if (k.KeyID == id && id != "" || id == "" && len(s.keys) == 1) && fits(k, algorithm) {
			return k
		}
	}
	return nil
}

// fits says whether a key is of the kind that an algorithm signs with, and made for it.
func fits(k *jose.JSONWebKey, algorithm string) bool {
	if k.Algorithm != "" && k.Algorithm != algorithm {
		return false
	}
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		return algorithm[0] != 'E' && key.N.BitLen() >= minModulus
	case *ecdsa.PublicKey:
		return algorithm == map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[key.Curve.Params().BitSize]
	case ed25519.PublicKey:
		return algorithm == "EdDSA"
	}
	return false // a shared key, or a private one
}

// look reads the set. What there was stays when that fails.
func (s *keySet) look(now time.Time) {
	keys, err := s.read()
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.looking)
	s.looking = nil
	if err != nil {
		if !s.bad {
			s.opts.Log.Warn("the issuer's keys cannot be read; those that were are used on", "error", err)
		}
		s.bad = true
		return
	}
	if s.bad {
		s.opts.Log.Info("the issuer's keys are read again")
	}
	s.keys, s.had, s.bad = keys, now, false
}

func (s *keySet) read() ([]jose.JSONWebKey, error) {
	raw, err := s.fetch()
	if err != nil {
		return nil, err
	}
	if len(raw) > maxKeySet {
		return nil, fmt.Errorf("they are more than %d bytes", maxKeySet)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, errors.New("they are no JSON Web Key Set")
	}
	var keys []jose.JSONWebKey
	for _, one := range set.Keys {
		var k jose.JSONWebKey
		if json.Unmarshal(one, &k) != nil || !k.Valid() || !k.IsPublic() || k.Use != "" && k.Use != "sig" {
			continue // of a kind that is not known here, or not for signatures
		}
		if keys = append(keys, k); len(keys) == maxKeys {
			break
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("there is none among them that can be used")
	}
	return keys, nil
}

func (s *keySet) fetch() ([]byte, error) {
	if !s.remote() {
		f, err := os.Open(s.opts.Keys)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, maxKeySet+1))
	}
	ctx, cancel := context.WithTimeout(context.Background(), keyTime) // the caller whose token led here may go; the keys are for all
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.opts.Keys, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxKeySet+1))
}
