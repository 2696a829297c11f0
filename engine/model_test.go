package engine_test

import (
	"fmt"
	"strings"
	"testing"
)

// The model of security.md 3.9: one confirmed write, a client that asks again while it has no answer, and two
// replicas that answer it, at the same time where the client was impatient. Every step may be the last one of a
// replica, every answer may be lost, and every commit may come without word of it. All states that can be
// reached are visited. A design is safe when in none of them the write has been executed twice, or somebody
// was told of a success that is none. The designs that look simpler are here so that the search is known to
// find what is wrong with each.

const modelAttempts = 3 // that the client makes at most

// What a replica tells, and what the row of the data holds.
const (
	toldDone    = "done"
	toldUnknown = "unknown"

	rowBefore = "before"
	rowAfter  = "after"
	rowOther  = "other" // of a writer that knows nothing of confirmations
)

// A modelState is one state of all there is. It is comparable, and so its own name.
type modelState struct {
	executed int    // how often the write was committed
	recorded int    // committed operation rows
	mark     string // in a store beside the database: "", claimed or done
	data     string
	holder   int // the replica that has the lock of the operation row, from 1; 0 is nobody
	attempts int
	third    bool // the other writer has had its turn
	told     string
	replicas [2]modelReplica
}

// A modelReplica is what one replica is about to do, and what it has not committed.
type modelReplica struct {
	at      string // "" does nothing
	wrote   bool
	records bool
}

// A move is one step to another state.
type move struct {
	what string
	to   modelState
}

// A design is how a replica handles a confirmation: the moves it can make from where it is.
type design func(s modelState, i int) []move

func (s modelState) with(i int, f func(s *modelState, r *modelReplica)) modelState {
	f(&s, &s.replicas[i])
	return s
}

// goes is a plain step of a replica to its next place.
func (s modelState) goes(i int, what, to string) move {
	return move{what, s.with(i, func(_ *modelState, r *modelReplica) { r.at = to })}
}

// rolledBack gives back what a replica has not committed.
func (s modelState) rolledBack(i int, at string) modelState {
	return s.with(i, func(s *modelState, r *modelReplica) {
		*r = modelReplica{at: at}
		if s.holder == i+1 {
			s.holder = 0
		}
	})
}

// commit makes true what the transaction of a replica did. The replica may never hear of it: then it goes on at
// unknown. And the connection may break before the database hears of the commit.
func (s modelState) commit(i int, next, unknown string) []move {
	done := s.with(i, func(s *modelState, r *modelReplica) {
		if r.wrote {
			s.executed++
		}
		if r.records {
			s.recorded++
		}
		*r = modelReplica{at: next}
		if s.holder == i+1 {
			s.holder = 0
		}
	})
	return []move{
		{"commits", done},
		{"commits and does not hear of it", done.with(i, func(_ *modelState, r *modelReplica) { r.at = unknown })},
		{"loses the connection before the commit", s.rolledBack(i, unknown)},
	}
}

// answer tells the client, or does not reach it.
func (s modelState) answer(i int, text string) []move {
	gone := s.rolledBack(i, "")
	lost := gone
	gone.told = text
	return []move{{"answers " + text, gone}, {"answers " + text + ", which is lost", lost}}
}

// transaction are the steps that the designs share: begin has been taken, what is written is committed, and the
// answer is given.
func (s modelState) transaction(i int, next, unknown string) []move {
	switch s.replicas[i].at {
	case "write":
		return []move{{"writes", s.with(i, func(_ *modelState, r *modelReplica) { r.wrote, r.at = true, "commit" })}}
	case "commit":
		return s.commit(i, next, unknown)
	case "answer":
		return s.answer(i, toldDone)
	}
	return nil
}

// tokenOnly trusts the signature of the token.
func tokenOnly(s modelState, i int) []move {
	if s.replicas[i].at == "start" {
		return []move{s.goes(i, "finds the signature right", "write")}
	}
	return s.transaction(i, "answer", "")
}

// markBefore uses the token up in a store of its own, and writes then.
func markBefore(s modelState, i int) []move {
	if s.replicas[i].at != "start" {
		return s.transaction(i, "answer", "")
	}
	if s.mark != "" {
		return []move{s.goes(i, "finds the token used", "answer")}
	}
	s.mark = "done"
	return []move{s.goes(i, "marks the token as used", "write")}
}

// markAfter writes, and uses the token up then.
func markAfter(s modelState, i int) []move {
	switch s.replicas[i].at {
	case "start":
		if s.mark != "" {
			return []move{s.goes(i, "finds the token used", "answer")}
		}
		return []move{s.goes(i, "finds the token unused", "write")}
	case "mark":
		s.mark = "done"
		return []move{s.goes(i, "marks the token as used", "answer")}
	}
	return s.transaction(i, "mark", "")
}

// checkThenInsert looks for the operation row and inserts it, without a unique key and without a lock.
func checkThenInsert(s modelState, i int) []move {
	if s.replicas[i].at != "start" {
		return s.transaction(i, "answer", "")
	}
	if s.recorded > 0 {
		return []move{s.goes(i, "finds the operation row", "answer")}
	}
	return []move{{"finds no operation row and inserts one", s.with(i, func(_ *modelState, r *modelReplica) { r.records, r.at = true, "write" })}}
}

// uniqueRow is what this package does (Note [the operation row]): whoever has the row's lock or its key inside the
// data's own transaction goes on, everybody else waits and finds what became of it. After a commit without word
// the same transaction begins again.
func uniqueRow(s modelState, i int) []move {
	if s.replicas[i].at != "start" {
		return s.transaction(i, "answer", "start")
	}
	switch {
	case s.holder != 0:
		return nil // it waits for the lock
	case s.recorded > 0:
		return []move{s.goes(i, "finds the operation applied", "answer")}
	}
	s.holder = i + 1
	return []move{{"locks the operation row", s.with(i, func(_ *modelState, r *modelReplica) { r.records, r.at = true, "write" })}}
}

// compareAndSet keeps the operation in a store beside the database (security.md 3.8). The write itself asks for
// the row as it was, and a claim that was left open is settled by what the row is now.
func compareAndSet(s modelState, i int) []move {
	switch s.replicas[i].at {
	case "start":
		switch s.mark {
		case "done":
			return []move{s.goes(i, "finds the operation done", "answer")}
		case "claimed":
			return []move{s.goes(i, "finds the operation claimed", "look")}
		}
		s.mark = "claimed"
		return []move{s.goes(i, "claims the operation", "set")}
	case "look":
		switch s.data {
		case rowAfter:
			return []move{s.goes(i, "finds the row as it is to be", "close")}
		case rowBefore:
			return []move{s.goes(i, "finds the row as it was", "set")}
		}
		return []move{s.goes(i, "finds the row as neither", "neither")}
	case "set": // one statement that commits by itself
		if s.data != rowBefore {
			return []move{s.goes(i, "matches no row", "look")}
		}
		s.data = rowAfter
		s.executed++
		return []move{s.goes(i, "changes the row", "close"), s.goes(i, "changes the row and does not hear of it", "look")}
	case "close":
		s.mark = "done"
		return []move{s.goes(i, "closes the operation", "answer")}
	case "neither":
		return s.answer(i, toldUnknown)
	}
	return s.transaction(i, "answer", "")
}

// moves are all that can happen in a state.
func (s modelState) moves(d design, third bool) []move {
	var out []move
	for i, r := range s.replicas {
		name := string(rune('A' + i))
		if r.at == "" {
			if s.told == "" && s.attempts > 0 {
				s := s.with(i, func(s *modelState, r *modelReplica) { s.attempts--; r.at = "start" })
				out = append(out, move{"the client asks " + name, s})
			}
			continue
		}
		for _, m := range d(s, i) {
			out = append(out, move{name + " " + m.what, m.to})
		}
		out = append(out, move{name + " crashes", s.rolledBack(i, "")})
	}
	if third && !s.third {
		s.third, s.data = true, rowOther
		out = append(out, move{"another writer changes the row", s})
	}
	return out
}

// wrong says what must not be in a state.
func (s modelState) wrong() string {
	switch {
	case s.executed > 1:
		return "executed twice"
	case s.told == toldDone && s.executed == 0:
		return "told done, and nothing was executed"
	}
	return ""
}

// explore visits every state that a design can reach, the nearest first. It gives their number, and how the
// first wrong one was reached.
func explore(d design, third bool) (states int, trace []string) {
	type from struct {
		state modelState
		what  string
	}
	first := modelState{data: rowBefore, attempts: modelAttempts}
	seen := map[modelState]from{first: {}}
	describe := func(s modelState, end string) []string {
		trace := []string{end}
		for s != first {
			trace = append([]string{seen[s].what}, trace...)
			s = seen[s].state
		}
		return trace
	}
	for queue := []modelState{first}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if why := s.wrong(); why != "" && trace == nil {
			trace = describe(s, why)
		}
		moves := s.moves(d, third)
		for _, m := range moves {
			if _, ok := seen[m.to]; !ok {
				seen[m.to] = from{s, m.what}
				queue = append(queue, m.to)
			}
		}
		if len(moves) == 0 && (s.replicas != [2]modelReplica{} || s.holder != 0) && trace == nil {
			trace = describe(s, "nothing goes on")
		}
	}
	return len(seen), trace
}

// TestModel is the proof that one row inside the data's transaction is enough, and that nothing simpler is.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		name  string
		d     design
		third bool // another writer changes the row once
		wrong string
	}{
		{"signed token only", tokenOnly, false, "executed twice"},
		{"single-use mark before the transaction", markBefore, false, "told done, and nothing was executed"},
		{"single-use mark after the transaction", markAfter, false, "executed twice"},
		{"operation row, looked for and inserted without a unique key", checkThenInsert, false, "executed twice"},
		{"unique operation row inside the data transaction", uniqueRow, false, ""},
		{"control store, before-image compared and set", compareAndSet, false, ""},
		{"control store, with another writer", compareAndSet, true, ""},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			states, trace := explore(c.d, c.third)
			verdict := "SAFE"
			if trace != nil {
				verdict = "UNSAFE: " + trace[len(trace)-1]
			}
			t.Logf("%s: %d states, %s", c.name, states, verdict)
			for i, step := range trace {
				t.Logf("%4d  %s", i+1, step)
			}
			switch {
			case c.wrong == "" && trace != nil:
				t.Error("the design is unsafe")
			case c.wrong != "" && trace == nil:
				t.Error("the search does not see that this design is unsafe")
			case c.wrong != "" && trace[len(trace)-1] != c.wrong:
				t.Errorf("the search finds %q, not %q", trace[len(trace)-1], c.wrong)
			}
			if states < 30 {
				t.Error(fmt.Sprint("only ", states, " states: the search has not gone far"))
			}
		})
	}
}
