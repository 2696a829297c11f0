package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"resq/schema/problem"
)

// A Remote is another MCP server, whose tools are offered beside this one's. It is reached when a tool is first called,
// and again after it was lost. It is safe for use by several goroutines.
type Remote struct {
	o RemoteOptions

	mu     sync.Mutex
	client *client.Client // nil is not connected
}

// RemoteOptions say where a Remote is.
type RemoteOptions struct {
	URL     string            // of its Streamable HTTP endpoint
	Headers map[string]string // with every request
	Timeout time.Duration     // of one call, and of reaching the server; 10 s
	Version string            // of this program
}

// A RemoteTool is one tool of a Remote, as that tells it.
type RemoteTool struct {
	Name, Title, Description string
	Input                    []byte
	ReadOnly, Idempotent     bool
}

// maxRemote is how large an answer of another server may be, in bytes.
const maxRemote = 4 << 20

// NewRemote makes a Remote. It opens no connection yet.
func NewRemote(o RemoteOptions) *Remote {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	return &Remote{o: o}
}

// connected gives a connection to the server.
func (r *Remote) connected(ctx context.Context) (*client.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil {
		return r.client, nil
	}
	own := &http.Client{Transport: limited{http.DefaultTransport.(*http.Transport).Clone()}, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("the server sends its callers elsewhere") // which must not get the headers
	}}
	c, err := client.NewStreamableHttpClient(r.o.URL, transport.WithHTTPBasicClient(own), transport.WithHTTPHeaders(r.o.Headers), transport.WithHTTPTimeout(r.o.Timeout))
	if err != nil {
		return nil, err
	}
	if err := c.Start(context.WithoutCancel(ctx)); err != nil { // which lasts beyond this call
		return nil, errors.Join(err, c.Close())
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "resq", Version: r.o.Version}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	r.client = c
	return c, nil
}

// lose gives up a connection.
func (r *Remote) lose(c *client.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == c && c != nil {
		r.client = nil
		_ = c.Close() // it is of no use any more
	}
}

// Close ends the connection.
func (r *Remote) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == nil {
		return nil
	}
	c := r.client
	r.client = nil
	return c.Close()
}

// away says that the server cannot be asked. What went wrong is for the log alone.
func away(ctx context.Context, err error) error {
	p := &problem.Problem{Code: problem.Unavailable, Stage: problem.Database, Message: "the server that this tool is of cannot be asked", Hint: "call again later", RetryAfter: 5, Err: err}
	// The HTTP client has the same time, and either of the two clocks may be first.
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err) {
		p.Code, p.Message, p.RetryAfter = problem.Timeout, "the server that this tool is of took too long", 0
	}
	return problem.List{p}
}

// Tools asks the server for its tools. The error is a problem.List.
func (r *Remote) Tools(ctx context.Context) ([]RemoteTool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	c, err := r.connected(ctx)
	if err != nil {
		return nil, away(ctx, err)
	}
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		r.lose(c)
		return nil, away(ctx, err)
	}
	out := make([]RemoteTool, len(list.Tools))
	for i, t := range list.Tools {
		raw := []byte(t.RawInputSchema)
		if raw == nil {
			if raw, err = json.Marshal(t.InputSchema); err != nil {
				return nil, away(ctx, err)
			}
		}
		is := func(b *bool) bool { return b != nil && *b }
		out[i] = RemoteTool{Name: t.Name, Title: t.Title, Description: t.Description, Input: raw, ReadOnly: is(t.Annotations.ReadOnlyHint), Idempotent: is(t.Annotations.IdempotentHint)}
	}
	return out, nil
}

// Call calls a tool and gives its answer as JSON: what it gives as such, or {"text": …}. The call is made once, whatever
// happens to it. The error is a problem.List; what the server says of a failure of its tool is quoted.
func (r *Remote) Call(ctx context.Context, tool string, args []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	c, err := r.connected(ctx)
	if err != nil {
		return nil, away(ctx, err)
	}
	var ask mcp.CallToolRequest
	ask.Params.Name, ask.Params.Arguments = tool, json.RawMessage(args)
	res, err := c.CallTool(ctx, ask)
	if err != nil {
		r.lose(c)
		return nil, away(ctx, err)
	}
	var texts []string
	other := 0
	for _, x := range res.Content {
		if t, ok := x.(mcp.TextContent); ok {
			texts = append(texts, t.Text)
		} else {
			other++
		}
	}
	text := strings.Join(texts, "\n")
	if res.IsError {
		if r := []rune(text); len(r) > 500 {
			text = string(r[:500]) + "…"
		}
		return nil, problem.List{{Code: problem.DataError, Stage: problem.Database, Message: "the tool of another server failed, and says: " + problem.Quote(text), Hint: "compare the arguments with the tool's schema"}}
	}
	if res.StructuredContent != nil {
		raw := []byte(res.RawStructuredContent)
		if raw == nil {
			if raw, err = json.Marshal(res.StructuredContent); err != nil {
				return nil, away(ctx, err)
			}
		}
		return raw, nil
	}
	if t := strings.TrimSpace(text); strings.HasPrefix(t, "{") && json.Valid([]byte(t)) && other == 0 {
		return []byte(t), nil
	}
	answer := map[string]any{"text": text}
	if other > 0 {
		answer["notice"] = fmt.Sprintf("%d parts of the answer are no text and were left out", other)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(answer); err != nil {
		return nil, away(ctx, err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// limited bounds what an answer may hold.
type limited struct{ http.RoundTripper }

func (l limited) RoundTrip(q *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(q)
	if err == nil {
		resp.Body = &bounded{resp.Body, maxRemote}
	}
	return resp, err
}

type bounded struct {
	io.ReadCloser
	left int
}

var errRemoteLarge = fmt.Errorf("the answer is larger than %d MiB", maxRemote>>20)

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errRemoteLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
