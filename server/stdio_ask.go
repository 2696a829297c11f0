package server

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxQuestions is how many questions a pair of streams has open at once. Each holds a call, and calls that wait
// must not keep the answers from being read.
const maxQuestions = 8

var errUnanswered = errors.New("no answer")

// A talker is the session of a pair of streams as a client can be asked in it.
type talker struct {
	*localSession
	l *stdio

	askMu sync.Mutex
	can   abilities // of the client
	last  int
	open  map[string]chan *mcp.ElicitationResult // by the id of the question
}

// greets takes what the client of an initialize can do.
func (t *talker) greets(m *message) {
	t.askMu.Lock()
	defer t.askMu.Unlock()
	t.can = abilitiesOf(m.capabilities())
}

func (t *talker) able() abilities {
	t.askMu.Lock()
	defer t.askMu.Unlock()
	return t.can
}

// RequestElicitation asks the client, and waits for its answer until ctx or the input ends. The client hears when
// nobody waits any more.
func (t *talker) RequestElicitation(ctx context.Context, req mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	id, answer, ok := t.expect()
	if !ok {
		return nil, errUnanswered
	}
	defer t.forget(id)
	t.l.write(mcp.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Request: mcp.Request{Method: string(mcp.MethodElicitationCreate)}, Params: req.Params})
	select {
	case r := <-answer:
		if r == nil {
			return nil, errUnanswered
		}
		return r, nil
	case <-ctx.Done():
		t.l.write([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + strconv.Itoa(id) + `}}` + "\n"))
	case <-t.l.open.Done():
	}
	return nil, errUnanswered
}

func (t *talker) expect() (int, chan *mcp.ElicitationResult, bool) {
	t.askMu.Lock()
	defer t.askMu.Unlock()
	if len(t.open) >= maxQuestions {
		return 0, nil, false
	}
	t.last++
	answer := make(chan *mcp.ElicitationResult, 1)
	t.open[strconv.Itoa(t.last)] = answer
	return t.last, answer, true
}

func (t *talker) forget(id int) {
	t.askMu.Lock()
	defer t.askMu.Unlock()
	delete(t.open, strconv.Itoa(id))
}

// hears takes a client's answer to its question. One to a question that is not open any more is dropped.
func (t *talker) hears(m *message) {
	t.askMu.Lock()
	defer t.askMu.Unlock()
	answer, ok := t.open[idOf(m.id)]
	if !ok {
		return
	}
	delete(t.open, idOf(m.id))
	var response struct{ Result *mcp.ElicitationResult }
	if json.Unmarshal(m.rest, &response) != nil {
		response.Result = nil
	}
	answer <- response.Result
}
