package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// D-083: who calls is told by proxies that are named, and by nobody else.
func TestBehind(t *testing.T) {
	proxies, bad := ParseProxies([]string{"10.0.0.5", "192.168.0.0/16", "fd00::/8"})
	if bad != -1 {
		t.Fatal(bad)
	}
	for _, c := range []struct {
		from string
		hops []string
		want string
	}{
		{"203.0.113.9:5", []string{"198.51.100.1"}, "203.0.113.9:5"},
		{"10.0.0.6:5", []string{"198.51.100.1"}, "10.0.0.6:5"},
		{"10.0.0.5:5", nil, "10.0.0.5:5"},
		{"10.0.0.5:5", []string{"198.51.100.1"}, "198.51.100.1:0"},
		{"[::ffff:10.0.0.5]:5", []string{"198.51.100.1"}, "198.51.100.1:0"},
		{"10.0.0.5:5", []string{"127.0.0.1, 198.51.100.1"}, "198.51.100.1:0"},
		{"10.0.0.5:5", []string{"127.0.0.1", "198.51.100.1, 192.168.3.4"}, "198.51.100.1:0"},
		{"10.0.0.5:5", []string{"192.168.3.4"}, "192.168.3.4:0"},
		{"10.0.0.5:5", []string{"198.51.100.1, nonsense"}, "10.0.0.5:5"},
		{"10.0.0.5:5", []string{"198.51.100.1, nonsense, 192.168.3.4"}, "192.168.3.4:0"},
		{"[fd00::1]:5", []string{"2001:db8::1"}, "[2001:db8::1]:0"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.RemoteAddr = c.from
		for _, h := range c.hops {
			r.Header.Add("X-Forwarded-For", h)
		}
		got := ""
		behind(proxies, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(httptest.NewRecorder(), r)
		if got != c.want {
			t.Errorf("from %s by %q: %s, want %s", c.from, c.hops, got, c.want)
		}
	}
	for _, text := range []string{"", "proxy.example", "10.0.0.0/33", "10.0.0.5:80", "fe80::1%eth0"} {
		if _, bad := ParseProxies([]string{"10.0.0.1", text}); bad != 1 {
			t.Errorf("%q is taken", text)
		}
	}
}
