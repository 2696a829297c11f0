package engine

import (
	"testing"
	"time"
)

// appendMoment writes what the standard library writes, for every kind of fraction and year.
func TestAppendMoment(t *testing.T) {
	for _, year := range []int{0, 1, 99, 1000, 1999, 2024, 9999, 10_000, 123_456} {
		for _, nano := range []int{0, 999, 1000, 10_000, 100_000, 123_456_789, 100_000_000, 999_999_999, 120_000_000, 50_000} {
			for _, at := range []time.Time{time.Date(year, 1, 1, 0, 0, 0, nano, time.UTC), time.Date(year, 12, 31, 23, 59, 59, nano, time.FixedZone("", 19800))} {
				if got, want := string(appendMoment(nil, at)), at.Format("2006-01-02 15:04:05.999999"); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		}
	}
}
