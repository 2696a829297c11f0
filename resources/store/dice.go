package store

import "time"

// dice is a small random source of its own (splitmix64), because the rows must be the same with every version
// of Go: the examples of the documentation show them.
type dice uint64

func (d *dice) roll() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// n gives 0 … limit-1.
func (d *dice) n(limit int) int { return int(d.roll() % uint64(limit)) }

// in gives from … to.
func (d *dice) in(from, to int) int { return from + d.n(to-from+1) }

// one says yes once in n times.
func (d *dice) one(n int) bool { return d.n(n) == 0 }

// some gives 0 … limit-1, the low numbers far more often, as a few customers order most.
func (d *dice) some(limit int) int {
	return int(uint64(d.n(limit)) * uint64(d.n(limit)) / uint64(limit))
}

func pick[T any](d *dice, of []T) T { return of[d.n(len(of))] }

// weighted picks an index by weight.
func (d *dice) weighted(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	at := d.n(sum)
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// The shop's two years.
var (
	opening = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	today   = time.Date(2025, 12, 31, 18, 0, 0, 0, time.UTC)
)

// moment gives a second of the two years; more of them lie late, as the shop grows.
func (d *dice) moment() time.Time {
	span := int(today.Sub(opening) / time.Second)
	at := max(d.n(span), d.n(span))
	if d.one(4) {
		at = d.n(span)
	}
	return opening.Add(time.Duration(at) * time.Second)
}

// later gives a time after t within hours, and false when that has not come yet.
func (d *dice) later(t time.Time, hours int) (time.Time, bool) {
	t = t.Add(time.Duration(d.in(60, hours*3600)) * time.Second)
	return t, !t.After(today)
}

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04:05") }

func day(t time.Time) string { return t.Format("2006-01-02") }

// money is an amount of cents as the database keeps it: 1250 cents are 12.5.
func money(cents int) float64 { return float64(cents) / 100 }
