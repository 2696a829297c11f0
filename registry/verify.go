package registry

import (
	"fmt"
	"slices"
	"time"
)

// A Report is what Verify found in an audit.
type Report struct{ Chains []ChainReport }

// A ChainReport is what Verify found in one chain.
type ChainReport struct {
	Dir         string
	Files       int
	Lines       int
	First, Last uint64 // numbers of the first and the last line
	Head        string // SHA-256 of the last line; noted elsewhere, it shows later that nothing was cut off
	Signed      uint64 // number of the last line that a signature vouches for
	Notes       []Finding
	Break       *Finding // nil when the chain is whole
}

// A Finding is something about one line.
type Finding struct {
	File string
	Line int
	Text string
}

// Error says where and what, for a Finding that is a Break.
func (f *Finding) Error() string { return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Text) }

// Verify reads a whole audit and checks that every line is the one that was written, that none is missing between
// others, and with a secret that the signatures are the server's. The error is the first break as a *Finding, or
// that of a file that cannot be read; the report has what was found all the same. What a crash leaves, and a clock
// that went back, are notes. Lines cut off at the end, and whole files taken away at the beginning, cannot be
// known from the rest: the report says where each chain begins and ends. Lines from before the secret was changed are
// signed with an earlier one.
func Verify(dir string, secret []byte, earlier ...[]byte) (Report, error) {
	var r Report
	chains, err := openChains(dir)
	if err != nil {
		return r, err
	}
	var first error
	for _, c := range chains {
		v := verifier{ChainReport: ChainReport{Dir: c}}
		if len(secret) > 0 {
			for _, s := range append([][]byte{secret}, earlier...) {
				v.sign = append(v.sign, newSigner(s))
			}
		}
		err := v.chain()
		if v.Break != nil {
			err = v.Break
		}
		if first == nil {
			first = err
		}
		r.Chains = append(r.Chains, v.ChainReport)
	}
	return r, first
}

// A verifier walks along one chain.
type verifier struct {
	ChainReport
	sign []*signer // one of whom signed; none: signatures are not checked

	last     Line // the one before; none when its number is 0
	at       position
	unsigned int
	since    time.Time // of the first unsigned line

	torn     *Line // the first line since last that is none
	tornSize int64
	void     *Line // the first void line since last
	voids    int
}

func (v *verifier) note(l *Line, format string, args ...any) {
	v.Notes = append(v.Notes, Finding{l.File, l.No, fmt.Sprintf(format, args...)})
}

// broken ends the walk.
func (v *verifier) broken(l *Line, format string, args ...any) bool {
	v.Break = &Finding{l.File, l.No, fmt.Sprintf(format, args...)}
	return false
}

func (v *verifier) chain() error {
	files, err := chainFiles(v.Dir)
	if err != nil {
		return err
	}
	v.Files = len(files)
	for l, err := range linesOf(files) {
		if err != nil {
			return err
		}
		if !v.line(&l) {
			return nil
		}
	}
	if v.torn != nil {
		v.note(v.torn, "the last line is not whole: a crash broke it off, or it is just being written")
	}
	if v.unsigned > 0 {
		v.note(&v.last, "the last %d lines are not signed yet", v.unsigned)
	}
	return nil
}

// line checks one line; false ends the walk.
func (v *verifier) line(l *Line) bool {
	if !l.whole {
		if v.torn == nil {
			v.torn = l
		}
		v.tornSize += int64(len(l.Raw))
		return true
	}
	if l.void {
		if v.void == nil {
			v.void = l
		}
		v.voids++
		return true
	}
	if v.torn != nil && v.torn.File == l.File {
		return v.broken(v.torn, "this line is no entry, and others follow: it was changed")
	}
	e := &l.Entry
	switch {
	case l.No == 1 && e.Event != EventOpen:
		return v.broken(l, "the file does not begin with the line that opens it: lines before it are missing")
	case e.signed() && v.sign != nil && !slices.ContainsFunc(v.sign, func(s *signer) bool { return s.vouches(l.Raw) }):
		return v.broken(l, "the signature does not fit: the line was changed or forged, or the server had another secret")
	}
	if !v.link(l) || e.Event == EventOpen && !v.opening(l) {
		return false
	}
	v.count(l)
	return v.Break == nil
}

// link checks that a line follows the one before.
func (v *verifier) link(l *Line) bool {
	e := &l.Entry
	switch {
	case v.last.Entry.Seq == 0 && e.Seq == 1:
		if e.Prev != beginning.hash {
			return v.broken(l, "the first line names one before it: it was changed")
		}
	case v.last.Entry.Seq == 0:
		v.note(l, "the chain begins with line %d: the files before are not here", e.Seq)
	case e.Seq > v.at.seq+1:
		return v.broken(l, "the lines %d to %d before this one are missing", v.at.seq+1, e.Seq-1)
	case e.Seq <= v.at.seq:
		return v.broken(l, "the number %d comes again after %d: a line was inserted or moved", e.Seq, v.at.seq)
	case e.Prev != v.at.hash:
		return v.broken(&v.last, "the line is not the one that its successor, %s:%d, was written after: one of the two was changed", l.File, l.No)
	}
	if back := v.last.Entry.Time.Sub(e.Time); back > 0 {
		v.note(l, "the clock went back by %v", back)
	}
	return true
}

// opening checks what the first line of a file says of the end of the file before.
func (v *verifier) opening(l *Line) bool {
	e := &l.Entry
	switch {
	case e.Reason == reasonFault:
		if v.voids > 0 {
			v.note(v.void, "%d lines from here on do not count: the file failed, and %s:%d goes on", v.voids, l.File, l.No)
		}
	case v.void != nil:
		return v.broken(v.void, "the line is not followed by the next file, %s: it was added", l.File)
	case v.tornSize != e.Torn && v.last.Entry.Seq > 0:
		at := v.torn
		if at == nil {
			at = l
		}
		return v.broken(at, "%d bytes stand behind the last whole line, and the next file, %s, was begun after %d", v.tornSize, l.File, e.Torn)
	case v.torn != nil:
		v.note(v.torn, "%d bytes of a line that a crash broke off", v.tornSize)
	}
	if v.unsigned > 0 && e.Reason == reasonStart {
		v.note(&v.last, "the last %d lines before the process ended were never signed", v.unsigned)
	}
	v.torn, v.tornSize, v.void, v.voids = nil, 0, nil, 0
	return true
}

// count takes a line into the report, and checks that signatures come often enough.
func (v *verifier) count(l *Line) {
	e := &l.Entry
	switch {
	case e.signed():
		v.unsigned, v.Signed = 0, e.Seq
	case v.unsigned == 0:
		v.unsigned, v.since = 1, e.Time
	case v.unsigned == signLines:
		v.broken(l, "a checkpoint is missing: %d lines before this one are not signed", v.unsigned)
		return
	case e.Time.Sub(v.since) > signTime:
		v.broken(l, "a checkpoint is missing: no line is signed since %s", v.since.Format(time.RFC3339))
		return
	default:
		v.unsigned++
	}
	if v.Lines++; v.Lines == 1 {
		v.First = e.Seq
	}
	if e.Lost > 0 {
		v.note(l, "%d entries before this one could not be written", e.Lost)
	}
	v.at = position{e.Seq - 1, ""}.next(l.Raw)
	v.Last, v.Head, v.last = e.Seq, v.at.hash, *l
}
