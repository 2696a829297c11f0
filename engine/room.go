package engine

import "sync"

// A Room is memory that answers are written in, one after the other. The zero Room is ready, and safe for concurrent use.
type Room struct{ pool sync.Pool }

// roomBytes is the most that is kept: the memory of a rare large answer is not held for ever.
const roomBytes = 1 << 20

// Take gives an empty slice with room for size bytes.
func (r *Room) Take(size int) []byte {
	if b, ok := r.pool.Get().(*[]byte); ok && cap(*b) >= size {
		return (*b)[:0]
	}
	return make([]byte, 0, size)
}

// Give takes a slice back, of which nobody may hold a part any more.
func (r *Room) Give(b []byte) {
	if cap(b) <= roomBytes {
		r.pool.Put(&b)
	}
}

// bodies is where answers of rows are written.
var bodies Room

// Release says that nobody reads the answer any more. An answer that is never released is the collector's.
func (a *Answer) Release() {
	if a.pooled {
		a.pooled = false
		bodies.Give(a.Text)
		a.Text = nil
	}
}
