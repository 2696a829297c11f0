package server

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"resq/engine/policy"
	"resq/testdb"
)

// An attackCase is one line of the attack corpus that is sent as an HTTP request.
type attackCase struct {
	ID, Category, Tool string
	Expect, Code       string
	Arguments          json.RawMessage
	Headers            map[string]string
}

type attackRequest struct {
	Method, Path string
	Headers      map[string]string
	Body         map[string]json.RawMessage
}

// elsewhere are the cases with HTTP parts that do not run here, with the reason.
var elsewhere = map[string]string{
	"PRE-025": "a preset tool, which this server does not have: attack, TestCorpusPresetsFront",
}

// earlier are the cases that net/http refuses before any handler sees them, with another status than the corpus
// has.
var earlier = map[string]string{"TRN-008": "400"} // a Host that is malformed

// corpus gives the cases that concern the transport. Those that send an answer of a user with a write are tried with
// databases, by the attack tests.
func corpus(t *testing.T) []attackCase {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "shared", "corpus", "attack.jsonl"))
	if err != nil {
		testdb.Skip(t, "the attack corpus is not there: "+err.Error())
	}
	defer f.Close()
	var cases []attackCase
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var c attackCase
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Tool == "http" || c.Category == "transport" || c.Headers != nil {
			cases = append(cases, c)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

// TRN: every transport case of the attack corpus over a real connection to the real handler.
func TestTransportCorpus(t *testing.T) {
	cases := corpus(t)
	f := newFake()
	s := newServer(t, f, Options{Authenticate: func(_ context.Context, key string) (*policy.Principal, error) {
		return map[string]*policy.Principal{"alice-key-of-the-corpus": alice, "bob-key-of-the-corpus": bob}[key], nil
	}})
	s.bodyTime = time.Second
	url := serveHTTP(t, s)
	addr := strings.TrimPrefix(url, "http://")
	_, port, _ := net.SplitHostPort(addr)
	bobs := exchange{body: initBody}.with("Authorization", "Bearer bob-key-of-the-corpus").do(t, url).header.Get("Mcp-Session-Id")
	if bobs == "" {
		t.Fatal("bob has no session")
	}
	fill := strings.NewReplacer("${ALICE}", "alice-key-of-the-corpus", "${ALICE_REVOKED}", "revoked-key-of-the-corpus", "${BOB_SESSION}", bobs, ":8088", ":"+port).Replace
	var ran []string
	for _, c := range cases {
		if why, not := elsewhere[c.ID]; not {
			t.Logf("not run: %s: %s", c.ID, why)
			continue
		}
		ran = append(ran, c.ID)
		t.Run(c.ID, func(t *testing.T) {
			if c.Tool != "http" {
				t.Fatal("a case of a kind that is not known here: give it a way to run, or a reason not to")
			}
			f.mu.Lock()
			f.who = nil
			f.mu.Unlock()
			a := c.send(t, addr, fill)
			who, _ := f.last()
			switch {
			case c.Expect == "bound":
				if r := decode(t, a.body); a.status != 200 || r.Result.IsError || len(r.Result.Content) == 0 || who != alice {
					t.Errorf("%d %s, asked as %v", a.status, a.body, who)
				}
			case strings.HasPrefix(c.Code, "HTTP_"):
				want := strings.TrimPrefix(c.Code, "HTTP_")
				if sooner, ok := earlier[c.ID]; ok {
					want = sooner
				}
				if fmt.Sprint(a.status) != want || who != nil {
					t.Errorf("%d %s, want %s; asked as %v", a.status, a.body, want, who)
				}
			default:
				if a.status != http.StatusUnauthorized || !strings.Contains(a.body, `"code":"`+c.Code+`"`) || who != nil {
					t.Errorf("%d %s, want %s; asked as %v", a.status, a.body, c.Code, who)
				}
			}
			if strings.Contains(a.body, "of-the-corpus") {
				t.Errorf("a key is told: %s", a.body)
			}
		})
	}
	for id := range elsewhere {
		if !slices.ContainsFunc(cases, func(c attackCase) bool { return c.ID == id }) {
			t.Errorf("%s is not in the corpus", id)
		}
	}
	if len(ran) < 22 {
		t.Errorf("%d cases ran: %v", len(ran), ran)
	}
}

// send writes the request byte by byte, because no client library sends some of them.
func (c attackCase) send(t *testing.T, addr string, fill func(string) string) answer {
	t.Helper()
	var r attackRequest
	if err := json.Unmarshal(c.Arguments, &r); err != nil {
		t.Fatal(err)
	}
	body, size, pace, header := r.body(t) // before the clock runs, for a bomb takes its time to make
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\n", r.Method, fill(r.Path))
	for k, v := range r.Headers {
		fmt.Fprintf(&head, "%s: %s\r\n", k, fill(v))
	}
	fmt.Fprintf(&head, "%sContent-Length: %d\r\nConnection: close\r\n\r\n", header, size)
	if _, err := conn.Write(head.Bytes()); err != nil {
		t.Fatal(err)
	}
	go func() { // the server may answer before it has read everything, or anything
		b := make([]byte, 32<<10)
		if pace > 0 {
			b = b[:1]
		}
		for {
			n, err := body.Read(b)
			if n > 0 {
				if _, err := conn.Write(b[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
			time.Sleep(pace)
		}
	}()
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: r.Method})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// body gives what follows the head: the bytes, how many, and the time between two; and a header that they need.
func (r attackRequest) body(t *testing.T) (b io.Reader, size int64, pace time.Duration, header string) {
	t.Helper()
	whole := func(b []byte) (io.Reader, int64, time.Duration, string) {
		return bytes.NewReader(b), int64(len(b)), 0, ""
	}
	text := func(raw json.RawMessage) (s string) {
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	for macro, raw := range r.Body {
		switch macro {
		case "$call":
			var parts []json.RawMessage
			if err := json.Unmarshal(raw, &parts); err != nil || len(parts) != 2 {
				t.Fatal(err)
			}
			return whole([]byte(modern("tools/call", text(parts[0]), string(parts[1])).body))
		case "$rawbody":
			return whole([]byte(text(raw)))
		case "$raw_hex":
			b, err := hex.DecodeString(text(raw))
			if err != nil {
				t.Fatal(err)
			}
			return whole(b)
		case "$size":
			if err := json.Unmarshal(raw, &size); err != nil {
				t.Fatal(err)
			}
			return io.LimitReader(spaces{}, size), size, 0, ""
		case "$slow":
			var slow struct {
				Rate  int64 `json:"bytes_per_second"`
				Total int64 `json:"total"`
			}
			if err := json.Unmarshal(raw, &slow); err != nil {
				t.Fatal(err)
			}
			return io.LimitReader(spaces{}, slow.Total), slow.Total, time.Second / time.Duration(slow.Rate), ""
		case "$gzipbomb":
			var n int64
			if err := json.Unmarshal(raw, &n); err != nil {
				t.Fatal(err)
			}
			var small bytes.Buffer
			w := gzip.NewWriter(&small)
			_, _ = io.CopyN(w, spaces{}, n)
			_ = w.Close()
			return &small, int64(small.Len()), 0, "Content-Encoding: gzip\r\n"
		default:
			t.Fatalf("the macro %s is not known here", macro)
		}
	}
	return bytes.NewReader(nil), 0, 0, ""
}

type spaces struct{}

func (spaces) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}
