package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// echo answers every byte with itself, and counts those it got.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// say sends a text and gives what comes back within a while.
func say(t *testing.T, c net.Conn, text string, within time.Duration) (string, error) {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		return "", err
	}
	b := make([]byte, len(text))
	_ = c.SetReadDeadline(time.Now().Add(within))
	n, err := io.ReadFull(c, b)
	return string(b[:n]), err
}

const soon = 300 * time.Millisecond

// Each fault does what its name says, and nothing is left of it after Heal.
func TestFaults(t *testing.T) {
	p := New(t, echo(t))
	c := dial(t, p)
	if got, err := say(t, c, "hello", soon); got != "hello" {
		t.Fatalf("%q, %v", got, err)
	}

	p.Latency(50 * time.Millisecond)
	start := time.Now()
	if got, err := say(t, c, "slow", 5*soon); got != "slow" || time.Since(start) < 100*time.Millisecond {
		t.Errorf("latency: %q, %v after %v", got, err, time.Since(start))
	}
	p.Heal()

	p.BlackHole()
	if got, err := say(t, c, "gone", soon); got != "" || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("black hole: %q, %v", got, err)
	}
	p.Heal()
	if got, err := say(t, c, "back", soon); got != "back" {
		t.Errorf("after the black hole: %q, %v", got, err)
	}

	seen := make(chan string, 1)
	p.OnSend(func(b []byte) {
		seen <- string(b)
		p.Deafen()
	})
	if got, err := say(t, c, "heard", soon); got != "" || err == nil {
		t.Errorf("deaf: %q, %v", got, err)
	}
	if got := <-seen; got != "heard" {
		t.Errorf("the trigger saw %q", got)
	}
	p.Heal()

	c = dial(t, p)
	p.CutAfter(3)
	if got, err := say(t, c, "abcdef", soon); len(got) > 3 || err == nil {
		t.Errorf("cut after three bytes: %q, %v", got, err)
	}
	p.Heal()

	c = dial(t, p)
	if _, err := say(t, c, "x", soon); err != nil {
		t.Fatal(err)
	}
	p.HalfClose()
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("half closed: %v", err)
	}
	if _, err := c.Write([]byte("y")); err != nil {
		t.Errorf("half closed, the other half: %v", err)
	}

	c = dial(t, p)
	if _, err := say(t, c, "x", soon); err != nil {
		t.Fatal(err)
	}
	p.Reset()
	_ = c.SetReadDeadline(time.Now().Add(soon))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reset: %v", err)
	}
	if p.Links() > 0 {
		time.Sleep(soon)
	}
	if n := p.Links(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}
