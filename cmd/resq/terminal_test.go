package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Long work is told about on a terminal, as a bar where its measure is known, and leaves nothing behind; whatever is no
// terminal gets neither a bar nor a colour.
func TestTerminal(t *testing.T) {
	var out bytes.Buffer
	if b := newBar(&out, "reading"); b.w != nil {
		t.Error("a bar on what is no terminal")
	} else {
		b.at(1, 2, "tables")
		_, _ = b.Write([]byte("x"))
		b.close()
	}
	if got := paint(&out, red, "FAIL"); got != "FAIL" || out.Len() > 0 {
		t.Errorf("%q and %q on what is no terminal", got, out.String())
	}
	b := startBar(&out, "reading", time.Hour)
	b.at(5, 10, "tables")
	b.draw()
	if got := out.String(); got != "\r\x1b[Kreading  [############------------]  5 of 10 tables" {
		t.Errorf("%q", got)
	}
	out.Reset()
	b.at(20, 10, "tables") // more than was thought
	b.draw()
	if !strings.Contains(out.String(), "["+strings.Repeat("#", barWidth)+"]  20 of 10") {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	b.at(0, 0, "")
	_, _ = b.Write([]byte("abc"))
	b.draw()
	if !strings.HasSuffix(out.String(), "  3 bytes") {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	b.close()
	b.close()
	if out.String() != "\r\x1b[K" {
		t.Errorf("the end: %q", out.String())
	}
	quick := startBar(&out, "reading", time.Hour)
	out.Reset()
	quick.close()
	if out.Len() > 0 {
		t.Errorf("work that was quick is told about: %q", out.String())
	}
}
