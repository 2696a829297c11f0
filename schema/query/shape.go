package query

import (
	"crypto/sha256"
	"hash"
)

// MaxCursor is the longest cursor that is read, in bytes.
const MaxCursor = 8 << 10

// Shape is a hash of what decides which rows there are and in what order: everything but the window, the
// outputs and the form of the answer. A cursor belongs to one shape.
func (r *Request) Shape() [32]byte {
	h := sha256.New()
	for _, m := range r.body.members {
		switch m.key {
		case "limit", "offset", "cursor", "fields", "format", "total":
		default:
			writeText(h, m.key)
			write(h, m.val)
		}
	}
	return [32]byte(h.Sum(nil))
}

func write(h hash.Hash, v value) {
	h.Write([]byte{v.kind})
	switch v.kind {
	case 'a':
		for _, x := range v.items {
			write(h, x)
		}
	case 'o':
		for _, m := range v.members {
			writeText(h, m.key)
			write(h, m.val)
		}
	default:
		writeText(h, v.text)
	}
	h.Write([]byte{0})
}

func writeText(h hash.Hash, s string) {
	n := len(s)
	h.Write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	h.Write([]byte(s))
}
