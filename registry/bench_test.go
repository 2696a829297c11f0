package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"resq/engine"
)

// What an intent costs, as a ratio to a bare write and fsync of the same line by the same number of callers one
// after the other, in the same run and to the same disk.
func BenchmarkIntent(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			dir := b.TempDir()
			o := quiet()
			d := &faultyDisk{}
			o.disk = d
			l, err := Open(filepath.Join(dir, "audit"), o)
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			r := engine.Record{Operation: "0123456789abcdef", Principal: "alice", Key: "5f1c0a9be3d2", Tool: "res-update", Resource: "Order",
				Connection: "main", Rows: 1, Changes: []byte(`{"id":1,"before":{"amount":"1.00"},"after":{"amount":"2.00"}}`)}
			line, err := newSigner(secret).encode(entryOf(EventIntent, r))
			if err != nil {
				b.Fatal(err)
			}
			bare, err := os.OpenFile(filepath.Join(dir, "bare"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			if err != nil {
				b.Fatal(err)
			}
			defer bare.Close()
			var ours, theirs time.Duration
			intents := 0
			for b.Loop() {
				// Rounds of 64 take turns, so that both see the same moods of the disk.
				const round = 64
				start := time.Now()
				for range round {
					if _, err := bare.Write(line); err != nil {
						b.Fatal(err)
					}
					if err := bare.Sync(); err != nil {
						b.Fatal(err)
					}
				}
				theirs += time.Since(start)
				start = time.Now()
				var left atomic.Int64
				left.Store(round)
				var all sync.WaitGroup
				for range callers {
					all.Go(func() {
						for left.Add(-1) >= 0 {
							if err := l.Intent(r); err != nil {
								b.Error(err)
							}
						}
					})
				}
				all.Wait()
				ours += time.Since(start)
				intents += round
			}
			b.ReportMetric(float64(ours)/float64(theirs), "x-bare")
			b.ReportMetric(float64(ours.Microseconds())/float64(intents), "us/intent")
			b.ReportMetric(float64(intents)/float64(d.syncs.Load()), "intents/fsync")
			b.ReportMetric(0, "ns/op")
		})
	}
}
