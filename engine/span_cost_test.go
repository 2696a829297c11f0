package engine

import "testing"

// BenchmarkUntraced is what the stages of a call cost where nobody traces: nothing that could be measured in a call.
func BenchmarkUntraced(b *testing.B) {
	e := &Engine{}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		for _, name := range []string{"decode", "plan", "render", "wait", "execute", "shape"} {
			e.stage(ctx, name)(nil)
		}
	}
}

// … and it takes no memory.
func TestUntraced(t *testing.T) {
	e := &Engine{}
	if n := testing.AllocsPerRun(100, func() { e.stage(t.Context(), "plan")(nil) }); n > 0 {
		t.Errorf("a stage that is not traced takes %.0f pieces of memory", n)
	}
}
