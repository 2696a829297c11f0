package engine

import (
	"context"
	"strings"
	"time"

	"resq/schema/problem"
)

// Consent is what became of the question whether a preview is to be applied. It comes through a client, which can
// make it up, so it is never worth more than what the caller could have sent anyway.
type Consent uint8

// What a user said.
const (
	NotAsked Consent = iota
	Granted          // worth the same call with __confirm__: true and the token, and no more
	Refused          // the preview ends for good
	Silent           // no answer: the preview stands, and is told once more
	Opened           // the page on which a person decides was opened: worth the call where one has approved by now, else as Silent
)

// byUser is the reason of a preview that its owner ended.
const byUser = "declined by the user"

// asked gives the preview that was put to the user. An answer under a token that was not made here answers
// nothing, and the call is what its arguments say.
func (w *write) asked() (op string, p *problem.Problem) {
	if w.call.Dialog && w.ask.Declined && w.ask.Token != "" && !w.ask.DryRun {
		w.call.Token, w.call.Consent = w.ask.Token, Refused
		return w.e.sign.open(w.call.Token, w.e.opts.Now())
	}
	if w.call.Consent == NotAsked || w.ask.DryRun {
		return "", nil
	}
	if op, p = w.e.sign.open(w.call.Token, w.e.opts.Now()); op == "" {
		return "", nil
	}
	return op, p
}

// answered goes on with a preview that was put to the user.
func (w *write) answered(ctx context.Context, op string) (*Answer, error) {
	if w.call.Consent == Granted {
		return w.apply(ctx, op)
	}
	ctx, cancel := context.WithTimeout(ctx, w.db.timeout)
	defer cancel()
	o, err := w.ledger.load(ctx, w.ledger.pool, op, false)
	if err != nil {
		return nil, problem.List{w.db.fault(ctx, err)}
	}
	done, err := w.admit(o)
	waits := err != nil && problem.From(err)[0].Code == problem.ApprovalRequired // which only a preview of the caller's own does
	switch {
	case waits && w.call.Consent != Refused:
		return w.recall(o), nil
	case err != nil && !waits:
		return nil, err
	case done:
		return nil, settled()
	case w.call.Consent == Refused:
		return nil, w.withdraw(ctx, op)
	case w.call.Consent == Opened && o.State == approved:
		return w.apply(ctx, op)
	}
	return w.recall(o), nil
}

// withdraw ends a live preview in the name of the caller, whose it is. The error says so: nothing is to be done.
func (w *write) withdraw(ctx context.Context, op string) error {
	done, err := w.ledger.settle(ctx, op, declined, w.who.Name, byUser)
	switch {
	case err != nil:
		return problem.List{w.db.fault(ctx, err)}
	case !done:
		return settled()
	}
	return problem.List{{Code: problem.ApprovalDenied, Stage: problem.Confirm, Message: "the user declined this change, and nothing was changed", Hint: "do not try again unless the user says so"}}
}

func settled() error {
	return problem.List{{Code: problem.Conflict, Stage: problem.Confirm, Reason: "settled", Message: "the change was settled before this answer came", Hint: "res-operation tells how"}}
}

// recall tells a live preview as it was told first, with the same token. A new one beside it would leave a call without a
// token two to choose from. When it ends is what it said, because the database wrote its own end a moment later.
func (w *write) recall(o *operation) *Answer {
	p := &Preview{Operation: o.ID, Short: shortCode(o.ID), Mode: o.Mode, Summary: w.summary(len(w.change.IDs())), Expires: time.Unix(o.Expires, 0).UTC()}
	if _, rest, ok := strings.Cut(o.Result.String, `"expires_at":"`); ok {
		said, _, _ := strings.Cut(rest, `"`)
		if at, err := time.Parse(time.RFC3339, said); err == nil {
			p.Expires = at
		}
	}
	p.Token = w.e.sign.token(o.ID, p.Expires)
	return &Answer{Text: w.told(o.Result.String, p), Rows: len(w.change.IDs()), Preview: p}
}

// told is a preview as its caller reads it, of the one that is kept without its token.
func (w *write) told(kept string, p *Preview) []byte {
	if w.call.Dialog {
		return []byte(strings.Replace(kept, keptToken+",", "", 1))
	}
	return []byte(strings.Replace(kept, keptToken, `"token":"`+p.Token+`"`, 1))
}
