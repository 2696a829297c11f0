// Package proxy passes TCP connections on for tests, and does to them what networks do: it is slow, cuts, resets,
// swallows, and closes one half.
package proxy

import (
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// A Proxy stands in front of one server. Its faults act on the connections that there are and on those to come,
// until Heal.
type Proxy struct {
	l  net.Listener
	to string

	mu      sync.Mutex
	links   map[*link]bool
	latency time.Duration
	hole    bool           // bytes vanish in both directions, and connections stay
	deaf    bool           // bytes to the client vanish
	left    int            // bytes to the client before all is reset; below 0 there is no such bound
	trigger func(b []byte) // sees what clients send before it is passed on
}

// A link is one connection, and the one behind it.
type link struct{ client, server *net.TCPConn }

// New makes a proxy in front of an address. It ends, and every connection with it, with the test.
func New(t testing.TB, to string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{l: l, to: to, links: map[*link]bool{}, left: -1}
	var all sync.WaitGroup
	all.Go(func() { p.accept(&all) })
	t.Cleanup(func() {
		l.Close()
		p.Reset()
		all.Wait()
	})
	return p
}

// Front makes a proxy in front of the server of a DSN, and gives the DSN that leads through it, in the clear, so that
// OnSend sees what is sent.
func Front(t testing.TB, dsn string) (*Proxy, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	p := New(t, u.Host)
	u.Host = p.Addr()
	if u.Scheme == "postgres" {
		u.RawQuery = "sslmode=disable"
	}
	return p, u.String()
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.l.Addr().String() }

// Latency makes every piece wait, in both directions.
func (p *Proxy) Latency(d time.Duration) { p.set(func() { p.latency = d }) }

// BlackHole keeps connections open, takes new ones, and passes nothing on.
func (p *Proxy) BlackHole() { p.set(func() { p.hole = true }) }

// Deafen passes on what clients send, and nothing of what the server says.
func (p *Proxy) Deafen() { p.set(func() { p.deaf = true }) }

// CutAfter resets every connection once clients were sent n more bytes in all.
func (p *Proxy) CutAfter(n int) { p.set(func() { p.left = n }) }

// OnSend lets f see each piece that a client sends, before it is passed on. A fault that f sets is in force for the
// answer.
func (p *Proxy) OnSend(f func(b []byte)) { p.set(func() { p.trigger = f }) }

// Heal ends every fault. Connections that a fault has ended stay so.
func (p *Proxy) Heal() {
	p.set(func() { p.latency, p.hole, p.deaf, p.left, p.trigger = 0, false, false, -1, nil })
}

// Reset ends every connection at once, as a host that has lost its state does.
func (p *Proxy) Reset() {
	for _, k := range p.all() {
		k.reset()
	}
}

// HalfClose tells every client that the server will say no more, and goes on passing to the server what clients send.
func (p *Proxy) HalfClose() {
	for _, k := range p.all() {
		_ = k.client.CloseWrite()
	}
}

// Links is how many connections there are.
func (p *Proxy) Links() int { return len(p.all()) }

func (p *Proxy) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *Proxy) all() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []*link
	for k := range p.links {
		list = append(list, k)
	}
	return list
}

func (k *link) reset() {
	for _, c := range []*net.TCPConn{k.client, k.server} {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
}

func (p *Proxy) accept(all *sync.WaitGroup) {
	for {
		c, err := p.l.Accept()
		if err != nil {
			return
		}
		client := c.(*net.TCPConn)
		s, err := net.DialTimeout("tcp", p.to, 5*time.Second)
		if err != nil { // whoever calls learns of it as of a server that is down
			_ = client.SetLinger(0)
			_ = client.Close()
			continue
		}
		k := &link{client, s.(*net.TCPConn)}
		p.set(func() { p.links[k] = true })
		all.Go(func() {
			defer p.set(func() { delete(p.links, k) })
			var both sync.WaitGroup
			both.Go(func() { p.pass(k, k.client, k.server, false) })
			both.Go(func() { p.pass(k, k.server, k.client, true) })
			both.Wait()
			_, _ = k.client.Close(), k.server.Close()
		})
	}
}

// pass takes bytes from one side to the other. down is towards the client.
func (p *Proxy) pass(k *link, from, to *net.TCPConn, down bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !p.piece(k, to, buf[:n], down) {
			return
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				k.reset()
			}
			_ = to.CloseWrite()
			return
		}
	}
}

// piece passes on one piece as the faults of the moment let it. It says false when the connection is over.
func (p *Proxy) piece(k *link, to *net.TCPConn, b []byte, down bool) bool {
	p.mu.Lock()
	trigger := p.trigger
	p.mu.Unlock()
	if !down && trigger != nil {
		trigger(b)
	}
	p.mu.Lock()
	latency, drop, cut := p.latency, p.hole || p.deaf && down, false
	if down && p.left >= 0 && !drop {
		if cut = len(b) >= p.left; cut {
			b = b[:p.left]
		}
		p.left -= len(b)
	}
	p.mu.Unlock()
	time.Sleep(latency)
	if drop {
		return true
	}
	if _, err := to.Write(b); err != nil && !down {
		return false // a client that has only closed its half may still be sending
	}
	if cut {
		k.reset()
		return false
	}
	return true
}
