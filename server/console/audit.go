package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"resq/registry"
	"resq/schema/problem"
)

// auditShown is how many calls and lines a page shows, and auditRead how many of the newest it looks through.
const (
	auditShown = 200
	auditRead  = 5000
)

type auditData struct {
	Filter registry.CallFilter
	From   string
	To     string
	Calls  []registry.KeptCall
	Most   bool
	Lines  []registry.Entry // of writes and decisions
	Report *registry.Report
	Broken string
	Call   *registry.KeptCall
	Stages []stageTook
}

// A stageTook is what a stage of a call took, with its share as a bar.
type stageTook struct {
	Name string
	Took string
	W    int
}

// stagesOf reads the stages of a kept call.
func stagesOf(text string) []stageTook {
	var out []stageTook
	most := 1
	for _, s := range strings.Fields(text) {
		name, micros, _ := strings.Cut(s, "=")
		n, err := strconv.Atoi(micros)
		if err != nil {
			continue
		}
		most = max(most, n)
		out = append(out, stageTook{name, strconv.FormatFloat(float64(n)/1000, 'f', 3, 64) + " ms", n})
	}
	for i := range out {
		out[i].W = max(1, out[i].W*stageWidth/most)
	}
	return out
}

const stageWidth = 160

func (c *Console) audit(v *visit) error {
	q := v.r.URL.Query()
	d := auditData{From: q.Get("from"), To: q.Get("to"), Filter: registry.CallFilter{
		Who: q.Get("who"), Tool: q.Get("tool"), Resource: q.Get("resource"), Outcome: q.Get("outcome"), Limit: auditShown + 1,
	}}
	var err error
	if d.Filter.From, err = day("/from", d.From); err != nil {
		return err
	}
	if d.Filter.To, err = day("/to", d.To); err != nil {
		return err
	}
	if d.Calls, err = c.opts.Control.FindCalls(v.r.Context(), d.Filter); err != nil {
		return err
	}
	if len(d.Calls) > auditShown {
		d.Calls, d.Most = d.Calls[:auditShown], true
	}
	d.Lines, err = c.lines(v.r.Context(), func(e *registry.Entry) bool {
		return (e.Event == registry.EventApproval || e.Event == registry.EventIntent || e.Event == registry.EventOutcome) &&
			(d.Filter.Who == "" || e.Principal == d.Filter.Who || e.User == d.Filter.Who || e.Key == d.Filter.Who) &&
			(d.Filter.Tool == "" || e.Tool == d.Filter.Tool) && (d.Filter.Resource == "" || e.Resource == d.Filter.Resource) &&
			(d.Filter.From.IsZero() || !e.Time.Before(d.Filter.From)) && (d.Filter.To.IsZero() || e.Time.Before(d.Filter.To))
	})
	if err != nil {
		return err
	}
	return v.show("audit", "", "Audit", d)
}

// day reads a date of a filter, or a moment; "" is the zero time.
func day(at, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339, "2006-01-02T15:04"} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, &problem.Problem{Code: problem.InvalidArgument, At: at, Message: problem.Quote(text) + " is no time", Hint: "write it as in 2026-08-01 or 2026-08-01T09:00:00Z"}
}

// lines gives the newest lines of the audit's files that are wanted, the newest first.
func (c *Console) lines(ctx context.Context, wanted func(*registry.Entry) bool) ([]registry.Entry, error) {
	var out []registry.Entry
	err := registry.Tail(ctx, c.opts.AuditDir, auditRead, false, func(l registry.Line) error {
		if wanted(&l.Entry) {
			out = append(out, l.Entry)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &problem.Problem{Code: problem.AuditUnavailable, Message: "the files of the audit cannot be read", Err: err}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out[:min(len(out), auditShown)], nil
}

// story shows all that is kept of one call.
func (c *Console) story(v *visit) error {
	id := v.r.PathValue("request")
	list, err := c.opts.Control.FindCalls(v.r.Context(), registry.CallFilter{Request: id, Limit: 1})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return &problem.Problem{Code: problem.NotFound, Message: "no call " + problem.Quote(id) + " is kept"}
	}
	d := auditData{Call: &list[0], Stages: stagesOf(list[0].Stages)}
	if d.Lines, err = c.lines(v.r.Context(), func(e *registry.Entry) bool { return e.Request == id && id != "" }); err != nil {
		return err
	}
	return v.show("call", "", "Call", d)
}

// export hands the lines of the audit's files out as they stand there.
func (c *Console) export(v *visit) error {
	q := v.r.URL.Query()
	from, err := day("/from", q.Get("from"))
	if err != nil {
		return err
	}
	to, err := day("/to", q.Get("to"))
	if err != nil {
		return err
	}
	format, kind := registry.JSONLines, "application/x-ndjson"
	if q.Get("format") == registry.CSV {
		format, kind = registry.CSV, "text/csv; charset=utf-8"
	}
	v.asked["from"], v.asked["to"], v.asked["format"] = q.Get("from"), q.Get("to"), format
	c.record(v, v.r, c.opts.Now(), nil)
	v.w.Header().Set("Content-Type", kind)
	v.w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="audit.%s"`, format))
	if err := registry.Export(v.w, c.opts.AuditDir, from, to, format); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.log.Error("an export of the audit broke off", "error", err)
	}
	return nil
}

// verify checks the chains of the audit's files.
func (c *Console) verify(v *visit) error {
	r, err := registry.Verify(c.opts.AuditDir, c.opts.Secret, c.opts.Previous...)
	d := auditData{Report: &r}
	var broken *registry.Finding
	switch {
	case errors.As(err, &broken):
		d.Broken = strings.TrimPrefix(broken.Error(), c.opts.AuditDir+"/")
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return &problem.Problem{Code: problem.AuditUnavailable, Message: "the files of the audit cannot be read", Err: err}
	}
	for i := range r.Chains {
		r.Chains[i].Dir = strings.TrimPrefix(r.Chains[i].Dir, c.opts.AuditDir+"/")
	}
	return v.show("verify", "", "Verification", d)
}
