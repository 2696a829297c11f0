package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"resq/schema/problem"
)

// places are the hosts and origins that may ask. A browser can be led to send a request here under a name that
// points to this machine for a moment (DNS rebinding); it cannot choose the Host and Origin it sends then.
type places struct {
	bind    netip.Addr // the address listened on; unspecified is every one
	hosts   []string   // further names, in lower case
	origins []string
}

// newPlaces makes the lists for a server that listens on an address.
func newPlaces(listen net.Addr, hosts, origins []string) places {
	var p places
	port := 0
	if tcp, ok := listen.(*net.TCPAddr); ok {
		p.bind, _ = netip.AddrFromSlice(tcp.IP)
		p.bind = p.bind.Unmap()
		port = tcp.Port
	}
	for _, h := range hosts {
		p.hosts = append(p.hosts, strings.ToLower(h))
	}
	for _, o := range origins {
		p.origins = append(p.origins, strings.ToLower(strings.TrimSuffix(o, "/")))
	}
	if port != 0 { // pages of this server itself
		for _, h := range []string{"localhost", "127.0.0.1", "[::1]"} {
			p.origins = append(p.origins, "http://"+h+":"+strconv.Itoa(port))
		}
	}
	return p
}

// check refuses a request that names a foreign host or comes from a foreign page.
func (p places) check(r *http.Request) *refusal {
	if !p.host(r.Host) {
		return &refusal{status: http.StatusForbidden, code: problem.PermissionDenied, message: "this Host is not served here"}
	}
	for _, origin := range r.Header.Values("Origin") {
		if !slices.Contains(p.origins, strings.ToLower(origin)) {
			return &refusal{status: http.StatusForbidden, code: problem.PermissionDenied, message: "this Origin may not ask here"}
		}
	}
	return nil
}

// host says whether a Host header names this server. Names are taken from a list. An address needs none, since
// an address cannot be rebound, but on a loopback listener it must be a loopback one.
func (p places) host(header string) bool {
	name := header
	if h, port, err := net.SplitHostPort(header); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
		name = h
	} else {
		name = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
	}
	name = strings.ToLower(name)
	if slices.Contains(p.hosts, name) {
		return true
	}
	if name == "localhost" {
		return !p.bind.IsValid() || p.bind.IsUnspecified() || p.bind.IsLoopback()
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	ip = ip.Unmap()
	switch {
	case ip.IsLoopback():
		return !p.bind.IsValid() || p.bind.IsUnspecified() || p.bind.IsLoopback()
	case !p.bind.IsValid() || p.bind.IsUnspecified():
		return true
	}
	return ip == p.bind
}

// Loopback says whether an address to listen on, such as 127.0.0.1:8088, can be reached from this machine only.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// BadOrigin says what is wrong with an origin of a configuration: it must be scheme://host[:port] and no more.
// It gives "" for a good one.
func BadOrigin(origin string) string {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return "must be scheme://host or scheme://host:port, as browsers send it"
	}
	return ""
}
