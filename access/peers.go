package access

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Peers lets the replicas of one server reach each other through a Redis: what one sends every one receives, and what one
// keeps any can fetch. All of it is sealed with the secret that they share, so whoever else can reach that Redis reads nothing
// and adds nothing. What is lost on the way, as all is while Redis does not answer, decides nothing.
type Peers struct {
	redis  *redis.Client
	seal   cipher.AEAD
	prefix string
	log    *slog.Logger
	down   atomic.Bool
}

// How long Redis may take: to pass a message on, for which no call waits, and to keep or give a value, for which one does.
const (
	sendTime = 2 * time.Second
	keepTime = 500 * time.Millisecond
)

// NewPeers makes Peers of a Redis URL and the secret of all replicas. The error is about the URL and does not repeat it.
func NewPeers(url string, secret []byte, log *slog.Logger) (*Peers, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, errRedisURL
	}
	o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, -1, 1
	o.DialTimeout = sendTime
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	redis.SetLogger(&logging.VoidLogger{})
	key := hmac.New(sha256.New, secret)
	key.Write([]byte("resq-peers-v1"))
	block, err := aes.NewCipher(key.Sum(nil))
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &Peers{redis: redis.NewClient(o), seal: seal, prefix: "resq", log: log}, nil
}

// Close ends the connections.
func (p *Peers) Close() error { return p.redis.Close() }

func (p *Peers) sealed(text []byte, about string) []byte {
	nonce := make([]byte, p.seal.NonceSize())
	_, _ = rand.Read(nonce) // never fails: crypto/rand ends the program instead
	return p.seal.Seal(nonce, nonce, text, []byte(about))
}

func (p *Peers) opened(b []byte, about string) ([]byte, error) {
	n := p.seal.NonceSize()
	if len(b) < n {
		return nil, errors.New("too short")
	}
	return p.seal.Open(nil, b[:n], b[n:], []byte(about))
}

func (p *Peers) channel() string { return p.prefix + ":peers" }

// Send tells every replica something, this one included.
func (p *Peers) Send(ctx context.Context, message []byte) error {
	return p.ask(ctx, sendTime, func(ctx context.Context) error {
		return p.redis.Publish(ctx, p.channel(), p.sealed(message, p.channel())).Err()
	})
}

// Receive hands every message to f, one after the other, until ctx ends. What was not sealed with the secret is left out.
func (p *Peers) Receive(ctx context.Context, f func(message []byte)) {
	sub := p.redis.Subscribe(ctx, p.channel())
	defer sub.Close()
	in := sub.Channel() // connects again by itself
	for {
		select {
		case <-ctx.Done():
			return
		case m, open := <-in:
			if !open {
				return
			}
			if text, err := p.opened([]byte(m.Payload), p.channel()); err == nil {
				f(text)
			}
		}
	}
}

// Keep makes a value known under a name to every replica for a while.
func (p *Peers) Keep(ctx context.Context, name string, value []byte, during time.Duration) error {
	key := p.prefix + ":kept:" + name
	return p.ask(ctx, keepTime, func(ctx context.Context) error {
		return p.redis.Set(ctx, key, p.sealed(value, key), during).Err()
	})
}

// Fetch gives what was kept under a name, and false when there is nothing, or nothing to be had.
func (p *Peers) Fetch(ctx context.Context, name string) (value []byte, ok bool) {
	key := p.prefix + ":kept:" + name
	err := p.ask(ctx, keepTime, func(ctx context.Context) error {
		b, err := p.redis.Get(ctx, key).Bytes()
		if errors.Is(err, redis.Nil) {
			return nil
		}
		if err != nil {
			return err
		}
		if value, err = p.opened(b, key); err != nil {
			value = nil
		}
		return nil
	})
	return value, err == nil && value != nil
}

// ask asks Redis and leaves one line in the log when it begins or ends not to answer.
func (p *Peers) ask(ctx context.Context, within time.Duration, question func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	err := question(ctx)
	switch {
	case err != nil && p.down.CompareAndSwap(false, true):
		p.log.Warn("Redis does not answer; what clients send to one replica does not reach the others", "error", err)
	case err == nil && p.down.Load() && p.down.CompareAndSwap(true, false):
		p.log.Info("Redis answers again; the replicas reach each other")
	}
	return err
}
