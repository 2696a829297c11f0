package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"resq/engine/policy"
	"resq/schema/problem"
)

// MaxToken is the longest token that is looked at, in bytes.
const MaxToken = 8 << 10

// Algorithms are those by which tokens can be signed: all of them with a pair of keys, of which this server has the public one. One with
// a shared key would let whoever reads the public one sign, and "none" everybody.
func Algorithms() []string {
	return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
}

// TokenOptions say whose tokens are taken, and what is read from them.
type TokenOptions struct {
	Issuer     string // the claim iss, to the letter
	Audience   []string
	Keys       string        // URL or file of the issuer's keys (JWKS)
	Algorithms []string      // of Algorithms; RS256, ES256 and EdDSA when there are none
	Skew       time.Duration // by which clocks may differ; 0 is 30 s
	Refresh    time.Duration // between two looks at the keys; 0 is 10 min
	Claims     Claims
	// Open gives the tools that scopes of the control database open together, those that Claims.Tools names. Its error is a
	// problem. It must be set before a token is looked at, where Claims.Tools is.
	Open   func(ctx context.Context, scopes []string) (tools []string, err error)
	Budget policy.Budget // of each owner of a token
	Log    *slog.Logger  // nil is slog's default
	Now    func() time.Time
}

// Claims name the claims of a token from which a principal is made. A dot leads into an object, where no claim has that name. An attribute
// whose claim is missing is missing, so that the rules which need it deny.
type Claims struct {
	Name   string // of the principal; "" is sub
	User   string // its user's id, for the catalog's principal query; "" is none
	Scopes string // a list, or a text of words; "" is scope, and without Verbs none where Tools is
	// Tools names scopes of the control database, a list or a text of words: the token may call their tools and no others, as a
	// key with these scopes may. Without the claim it may call none. "" is none: then every tool that its verbs allow is the token's.
	Tools string
	Roles string // "" is none
	// Verbs are what a scope of a token is worth here: read, write, delete. A scope that is not named is worth nothing; nil takes those
	// three under their own names.
	Verbs      map[string][]string
	Attributes map[string]string // attribute → claim
	Funcs      map[string]string // UserID, UserUuid, UserRolesUuid, UserPlatform, UserSaaS → claim
}

// Tokens are the tokens (JWT) of one issuer that open this server.
type Tokens struct {
	opts  TokenOptions
	keys  *keySet
	allow []jose.SignatureAlgorithm
}

// noVerb is the scope of a principal whose token allows nothing: one without any scope may read.
const noVerb = "none"

// NewTokens makes Tokens. The keys are looked for when the first token comes. It fails for options that would let anybody in.
func NewTokens(opts TokenOptions) (*Tokens, error) {
	switch {
	case opts.Issuer == "":
		return nil, errors.New("the issuer is missing")
	case len(opts.Audience) == 0 || slices.Contains(opts.Audience, ""):
		return nil, errors.New("the audience is missing: without it a token for another server would open this one")
	case opts.Keys == "":
		return nil, errors.New("the keys of the issuer (jwks) are missing")
	}
	if len(opts.Algorithms) == 0 {
		opts.Algorithms = []string{"RS256", "ES256", "EdDSA"}
	}
	t := &Tokens{}
	for _, a := range opts.Algorithms {
		if !slices.Contains(Algorithms(), a) {
			return nil, fmt.Errorf("the algorithm %s is not taken; one of: %s", problem.Quote(a), strings.Join(Algorithms(), ", "))
		}
		t.allow = append(t.allow, jose.SignatureAlgorithm(a))
	}
	if opts.Skew == 0 {
		opts.Skew = 30 * time.Second
	}
	if opts.Refresh == 0 {
		opts.Refresh = 10 * time.Minute
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Claims.Name == "" {
		opts.Claims.Name = "sub"
	}
	if opts.Claims.Scopes == "" && (opts.Claims.Tools == "" || opts.Claims.Verbs != nil) {
		opts.Claims.Scopes = "scope"
	}
	var err error
	t.opts = opts
	t.keys, err = newKeySet(opts)
	return t, err
}

// IsToken says whether a key that came with a request has the form of a token. Keys of this server have no dots.
func IsToken(key string) bool { return strings.Count(key, ".") == 2 && strings.HasPrefix(key, "ey") }

// Find gives the principal that a token makes. Nil is a token that opens nothing; why stands in the log and is told to nobody. The error is
// a problem: the issuer's keys are not to be had.
func (t *Tokens) Find(ctx context.Context, token string) (*policy.Principal, error) {
	who, err := t.verify(ctx, token)
	var closed *unopened
	switch {
	case err == nil:
		return who, nil
	case errors.As(err, &closed):
		return nil, closed.why
	case errors.Is(err, errNoKeys):
		return nil, problem.List{{Code: problem.Unavailable, Stage: problem.Raw, Message: "tokens cannot be checked at the moment", Hint: "call again later", RetryAfter: 5, Err: err}}
	}
	t.opts.Log.InfoContext(ctx, "a token was refused", "why", err.Error())
	return nil, nil
}

func (t *Tokens) verify(ctx context.Context, token string) (*policy.Principal, error) {
	if len(token) > MaxToken {
		return nil, errors.New("it is too long")
	}
	parsed, err := jwt.ParseSigned(token, t.allow)
	if err != nil || len(parsed.Headers) != 1 {
		return nil, errors.New("it is not signed by an algorithm that is taken here")
	}
	head := parsed.Headers[0]
	if kind, named := head.ExtraHeaders[jose.HeaderType]; named && !accessType(kind) {
		return nil, errors.New("its type (typ) is not that of an access token")
	}
	key, err := t.keys.find(ctx, head.KeyID, head.Algorithm)
	if err != nil {
		return nil, err
	}
	var raw json.RawMessage
	var std jwt.Claims
	if err := parsed.Claims(key, &raw, &std); err != nil {
		return nil, errors.New("its signature is wrong")
	}
	if std.Expiry == nil {
		return nil, errors.New("it has no end (exp)")
	}
	if err := std.ValidateWithLeeway(jwt.Expected{Issuer: t.opts.Issuer, AnyAudience: t.opts.Audience, Time: t.opts.Now()}, t.opts.Skew); err != nil {
		return nil, err
	}
	if std.Subject == "" {
		return nil, errors.New("it has no subject (sub)")
	}
	claims := map[string]any{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // an id beyond 2^53 is another one as a float
	if err := dec.Decode(&claims); err != nil {
		return nil, errors.New("its claims are no object")
	}
	return t.principal(ctx, std, claims)
}

// accessType says whether a typ is of access tokens (RFC 9068) or says nothing of what the token is for. The same issuer signs other
// tokens with the same keys: those of a logout, for instance.
func accessType(kind any) bool {
	text, _ := kind.(string)
	switch strings.TrimPrefix(strings.ToLower(text), "application/") {
	case "at+jwt", "jwt":
		return true
	}
	return false
}

// unopened says that the scopes of a token cannot be looked up now.
type unopened struct{ why error }

func (u *unopened) Error() string { return u.why.Error() }

// principal makes that of claims. Every token of one subject is one key, so that a fresh one goes on with what the last began.
func (t *Tokens) principal(ctx context.Context, std jwt.Claims, claims map[string]any) (*policy.Principal, error) {
	c := t.opts.Claims
	name, ok := claim(claims, c.Name)
	if !ok || name.List || name.Texts[0] == "" {
		return nil, fmt.Errorf("it has no claim %s", c.Name)
	}
	id := sha256.Sum256([]byte(std.Issuer + "\x00" + std.Subject))
	p := &policy.Principal{
		Name: "jwt:" + name.Texts[0], Key: "jwt" + hex.EncodeToString(id[:6]), Budget: t.opts.Budget,
		Attributes: map[string]policy.Value{}, Funcs: map[string]policy.Value{},
	}
	if c.User != "" {
		user, ok := claim(claims, c.User)
		if !ok || user.List || user.Texts[0] == "" {
			return nil, fmt.Errorf("it has no claim %s", c.User)
		}
		p.User = user.Texts[0]
	}
	if c.Roles != "" {
		roles, _ := claim(claims, c.Roles)
		p.Roles = roles.Texts
	}
	granted := map[string]bool{}
	for _, word := range words(claims, c.Scopes) {
		verbs := c.Verbs[word]
		if c.Verbs == nil && slices.Contains([]string{"read", "write", "delete"}, word) {
			verbs = []string{word}
		}
		for _, v := range verbs {
			granted[v] = true
		}
	}
	if c.Tools != "" {
		tools, err := t.opts.Open(ctx, words(claims, c.Tools))
		if err != nil {
			return nil, &unopened{err}
		}
		p.Tools = map[string]bool{}
		for _, tool := range tools {
			p.Tools[policy.ToolKey(tool)] = true
		}
		need := Verbs(tools)
		if c.Scopes == "" {
			for _, v := range need {
				granted[v] = true
			}
		}
		maps.DeleteFunc(granted, func(v string, _ bool) bool { return !slices.Contains(need, v) })
	}
	if p.Scopes = slices.Sorted(maps.Keys(granted)); len(p.Scopes) == 0 {
		p.Scopes = []string{noVerb}
	}
	for into, from := range map[*map[string]policy.Value]map[string]string{&p.Attributes: c.Attributes, &p.Funcs: c.Funcs} {
		for attribute, name := range from {
			if v, ok := claim(claims, name); ok {
				(*into)[attribute] = v
			}
		}
	}
	return p, nil
}

// words are those of a claim that is a list of texts, or a text.
func words(claims map[string]any, name string) (list []string) {
	if name == "" {
		return nil
	}
	v, _ := claim(claims, name)
	for _, text := range v.Texts {
		list = append(list, strings.Fields(text)...)
	}
	return list
}

// claim gives a claim as a value: texts, numbers and booleans, or a list of them. Anything else is as good as missing.
func claim(claims map[string]any, name string) (policy.Value, bool) {
	v, ok := claims[name]
	if !ok {
		head, rest, dotted := strings.Cut(name, ".")
		if in, object := claims[head].(map[string]any); dotted && object {
			return claim(in, rest)
		}
		return policy.Value{}, false
	}
	if list, ok := v.([]any); ok {
		out := policy.Value{List: true, Texts: []string{}}
		for _, item := range list {
			s, ok := scalarText(item)
			if !ok {
				return policy.Value{}, false
			}
			out.Texts = append(out.Texts, s)
		}
		return out, true
	}
	s, ok := scalarText(v)
	return policy.One(s), ok
}

func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return fmt.Sprint(v), true
	}
	return "", false
}
