package server

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ParseProxies reads addresses and networks, such as 10.0.0.5 or 10.0.0.0/8. The int is the first that is neither, -1 none.
func ParseProxies(texts []string) ([]netip.Prefix, int) {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		p, err := netip.ParsePrefix(text)
		if a, e := netip.ParseAddr(text); err != nil && e == nil && a.Zone() == "" {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			return nil, i
		}
		list[i] = p.Masked()
	}
	return list, -1
}

// behind names as a request's remote address that of the client, where proxies passed it on: the last address in X-Forwarded-For that
// is not one of theirs. What stands in front of that the client may have written itself, so it counts for nothing; nor does the header
// of anybody else.
func behind(proxies []netip.Prefix, next http.Handler) http.Handler {
	if len(proxies) == 0 {
		return next
	}
	ours := func(a netip.Addr) bool {
		a = a.Unmap()
		return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && ours(from.Addr()) {
			hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
			for _, hop := range slices.Backward(hops) {
				a, err := netip.ParseAddr(strings.TrimSpace(hop))
				if err != nil {
					break
				}
				r.RemoteAddr = net.JoinHostPort(a.Unmap().String(), "0")
				if !ours(a) {
					break
				}
			}
		}
		next.ServeHTTP(w, r)
	})
}
