package access

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"resq/engine/policy"
	"resq/schema/problem"
)

// An issuer signs tokens and shows its keys.
type issuer struct {
	t     *testing.T
	rsa   *rsa.PrivateKey
	ec    *ecdsa.PrivateKey
	ed    ed25519.PrivateKey
	now   time.Time
	asked atomic.Int64
	set   atomic.Pointer[[]byte] // what it shows; nil is a fault
	url   string
}

const issuerName, audience = "https://login.test", "https://resq.test/mcp"

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t, now: time.Now()}
	var err error
	if i.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	if i.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	if _, i.ed, err = ed25519.GenerateKey(rand.Reader); err != nil {
		t.Fatal(err)
	}
	i.show(i.public("rsa", &i.rsa.PublicKey), i.public("ec", &i.ec.PublicKey), i.public("ed", i.ed.Public()))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.asked.Add(1)
		b := i.set.Load()
		if b == nil {
			http.Error(w, "down", http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(*b)
	}))
	t.Cleanup(s.Close)
	i.url = s.URL
	return i
}

func (i *issuer) public(id string, key any) jose.JSONWebKey {
	return jose.JSONWebKey{Key: key, KeyID: id, Use: "sig"}
}

func (i *issuer) show(keys ...jose.JSONWebKey) {
	b, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	if err != nil {
		i.t.Fatal(err)
	}
	i.set.Store(&b)
}

func (i *issuer) claims(change func(map[string]any)) map[string]any {
	c := map[string]any{"iss": issuerName, "aud": audience, "sub": "u-1", "exp": i.now.Add(time.Hour).Unix(), "iat": i.now.Unix(), "scope": "read write"}
	if change != nil {
		change(c)
	}
	return c
}

func (i *issuer) sign(alg jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	return i.typed("at+jwt", alg, key, id, claims)
}

func (i *issuer) typed(typ jose.ContentType, alg jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	i.t.Helper()
	opts := &jose.SignerOptions{}
	if typ != "" {
		opts = opts.WithType(typ)
	}
	if id != "" {
		opts = opts.WithHeader("kid", id)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, opts)
	if err != nil {
		i.t.Fatal(err)
	}
	text, err := jwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

func (i *issuer) good() string { return i.sign(jose.RS256, i.rsa, "rsa", i.claims(nil)) }

func (i *issuer) tokens(change func(*TokenOptions)) *Tokens {
	i.t.Helper()
	o := TokenOptions{Issuer: issuerName, Audience: []string{audience}, Keys: i.url, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return i.now }}
	if change != nil {
		change(&o)
	}
	t, err := NewTokens(o)
	if err != nil {
		i.t.Fatal(err)
	}
	return t
}

func encoded(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// A token opens the server when the issuer signed it, with a key and an algorithm that are taken, for this server, and now. Each of the
// others is one that a server was once fooled by.
func TestTokens(t *testing.T) {
	i := newIssuer(t)
	known := i.tokens(nil)
	der, err := x509.MarshalPKIXPublicKey(&i.rsa.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	publicJSON, _ := json.Marshal(i.public("rsa", &i.rsa.PublicKey))
	other, _ := rsa.GenerateKey(rand.Reader, 2048)
	good := i.good()
	part := strings.Split(good, ".")
	body, _ := json.Marshal(i.claims(nil))
	with := func(change func(map[string]any)) string { return i.sign(jose.RS256, i.rsa, "rsa", i.claims(change)) }
	set := func(name string, value any) string { return with(func(c map[string]any) { c[name] = value }) }
	for _, c := range []struct {
		about, token string
		opens        bool
	}{
		{"RS256", good, true},
		{"ES256", i.sign(jose.ES256, i.ec, "ec", i.claims(nil)), true},
		{"EdDSA", i.sign(jose.EdDSA, i.ed, "ed", i.claims(nil)), true},
		{"without a type", i.typed("", jose.RS256, i.rsa, "rsa", i.claims(nil)), true},
		{"a JWT that says no more", i.typed("JWT", jose.RS256, i.rsa, "rsa", i.claims(nil)), true},
		{"the media type in full", i.typed("application/AT+JWT", jose.RS256, i.rsa, "rsa", i.claims(nil)), true},
		{"a token of a logout", i.typed("logout+jwt", jose.RS256, i.rsa, "rsa", i.claims(nil)), false},
		{"several audiences", set("aud", []string{"other", audience}), true},
		{"ended a moment ago, by clocks that differ", set("exp", i.now.Add(-20*time.Second).Unix()), true},
		{"an algorithm that is not taken", i.sign(jose.PS256, i.rsa, "rsa", i.claims(nil)), false},
		{"another issuer", set("iss", "https://evil.test"), false},
		{"an issuer that begins alike", set("iss", issuerName+"/"), false},
		{"no issuer", with(func(c map[string]any) { delete(c, "iss") }), false},
		{"another audience", set("aud", "https://other.test"), false},
		{"no audience", with(func(c map[string]any) { delete(c, "aud") }), false},
		{"ended", set("exp", i.now.Add(-time.Minute).Unix()), false},
		{"without end", with(func(c map[string]any) { delete(c, "exp") }), false},
		{"not yet valid", set("nbf", i.now.Add(time.Minute).Unix()), false},
		{"made in the future", set("iat", i.now.Add(time.Hour).Unix()), false},
		{"no subject", with(func(c map[string]any) { delete(c, "sub") }), false},
		{"no algorithm", encoded(`{"alg":"none","kid":"rsa"}`) + "." + part[1] + ".", false},
		{"no algorithm, written otherwise", encoded(`{"alg":"nOnE","kid":"rsa"}`) + "." + part[1] + "." + part[2], false},
		{"HS256 with the public key as PEM", i.sign(jose.HS256, publicPEM, "rsa", i.claims(nil)), false},
		{"HS256 with the public key as DER", i.sign(jose.HS256, der, "rsa", i.claims(nil)), false},
		{"HS256 with the public key as JWK", i.sign(jose.HS256, publicJSON, "rsa", i.claims(nil)), false},
		{"another key under the same id", i.sign(jose.RS256, other, "rsa", i.claims(nil)), false},
		{"the id of a key of another kind", i.sign(jose.RS256, i.rsa, "ec", i.claims(nil)), false},
		{"an unknown id", i.sign(jose.RS256, i.rsa, "nobody", i.claims(nil)), false},
		{"no id, among several keys", i.sign(jose.RS256, i.rsa, "", i.claims(nil)), false},
		{"a key that the token brings itself", embedded(t, i, other), false},
		{"changed claims", part[0] + "." + encoded(strings.Replace(string(body), "u-1", "u-2", 1)) + "." + part[2], false},
		{"a signature cut off", part[0] + "." + part[1] + ".", false},
		{"too long", set("more", strings.Repeat("x", MaxToken)), false},
		{"rubbish", "ey.a.b", false},
		{"nothing", "", false},
	} {
		who, err := known.Find(t.Context(), c.token)
		if err != nil || (who != nil) != c.opens {
			t.Errorf("%s: %+v %v", c.about, who, err)
		}
	}
	if n := i.asked.Load(); n > 2 {
		t.Errorf("the keys were asked for %d times", n)
	}
}

// embedded is a token that says by which key it is to be verified.
func embedded(t *testing.T, i *issuer, key *rsa.PrivateKey) string {
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, &jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(s).Claims(i.claims(nil)).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Claims become a principal: verbs by scope, roles, attributes and func tokens; what is missing is missing.
func TestTokenClaims(t *testing.T) {
	i := newIssuer(t)
	known := i.tokens(func(o *TokenOptions) {
		o.Budget = policy.Budget{CallsPerMinute: 7}
		o.Claims = Claims{
			Name: "email", User: "uid", Scopes: "scp", Roles: "realm_access.roles",
			Verbs:      map[string][]string{"resq.read": {"read"}, "resq.all": {"read", "write", "delete"}},
			Attributes: map[string]string{"dept_id": "dept", "regions": "regions", "active": "active", "org": "https://x/org", "bad": "object", "none": "none"},
			Funcs:      map[string]string{"UserID": "uid", "UserRolesUuid": "realm_access.roles"},
		}
	})
	who, err := known.Find(t.Context(), i.sign(jose.RS256, i.rsa, "rsa", i.claims(func(c map[string]any) {
		c["email"], c["uid"], c["scp"] = "ann@x.test", json.Number("9007199254740993"), []string{"resq.read", "openid"}
		c["realm_access"] = map[string]any{"roles": []string{"sales", "admin"}}
		c["dept"], c["regions"], c["active"], c["https://x/org"], c["object"] = 10, []any{"east", 2}, true, "o.1", map[string]any{"a": 1}
	})))
	if err != nil || who == nil {
		t.Fatal(who, err)
	}
	roles := policy.Value{List: true, Texts: []string{"sales", "admin"}}
	want := &policy.Principal{
		Name: "jwt:ann@x.test", Key: who.Key, User: "9007199254740993", Roles: roles.Texts, Scopes: []string{"read"}, Budget: policy.Budget{CallsPerMinute: 7},
		Attributes: map[string]policy.Value{"dept_id": policy.One("10"), "regions": {List: true, Texts: []string{"east", "2"}}, "active": policy.One("true"), "org": policy.One("o.1")},
		Funcs:      map[string]policy.Value{"UserID": policy.One("9007199254740993"), "UserRolesUuid": roles},
	}
	if !reflect.DeepEqual(who, want) || len(who.Key) != 15 {
		t.Errorf("%+v\nwant %+v", who, want)
	}
	for about, change := range map[string]func(map[string]any){
		"no user": func(c map[string]any) { c["email"] = "a" }, "a list for a user": func(c map[string]any) { c["email"], c["uid"] = "a", []int{1} }, "no name": func(c map[string]any) { c["uid"] = 1 },
	} {
		if who, _ := known.Find(t.Context(), i.sign(jose.RS256, i.rsa, "rsa", i.claims(change))); who != nil {
			t.Errorf("%s: %+v", about, who)
		}
	}
	plain := i.tokens(nil)
	for scope, verbs := range map[string][]string{"read write": {"read", "write"}, "delete openid": {"delete"}, "": {noVerb}, "admin": {noVerb}} {
		who, _ := plain.Find(t.Context(), i.sign(jose.RS256, i.rsa, "rsa", i.claims(func(c map[string]any) { c["scope"] = scope })))
		if who == nil || !reflect.DeepEqual(who.Scopes, verbs) {
			t.Errorf("scope %q: %+v", scope, who)
		}
	}
	// A fresh token of the same subject is the same key; another subject is another.
	a, _ := plain.Find(t.Context(), i.good())
	b, _ := plain.Find(t.Context(), i.sign(jose.ES256, i.ec, "ec", i.claims(func(c map[string]any) { c["exp"] = i.now.Add(2 * time.Hour).Unix() })))
	c, _ := plain.Find(t.Context(), i.sign(jose.RS256, i.rsa, "rsa", i.claims(func(c map[string]any) { c["sub"] = "u-2" })))
	if a.Key != b.Key || a.Key == c.Key {
		t.Errorf("%s %s %s", a.Key, b.Key, c.Key)
	}
}

// Keys are rotated: a new one is found when its first token comes, one that was taken away ends with the next look, and made-up ids do
// not make this server ask again and again.
func TestTokenKeysRotate(t *testing.T) {
	i := newIssuer(t)
	known := i.tokens(nil)
	find := func(token string) *policy.Principal {
		t.Helper()
		who, err := known.Find(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		return who
	}
	next, _ := rsa.GenerateKey(rand.Reader, 2048)
	fresh := i.sign(jose.RS256, next, "next", i.claims(nil))
	if find(i.good()) == nil || find(fresh) != nil {
		t.Fatal("before the rotation")
	}
	i.show(i.public("next", &next.PublicKey))
	asked := i.asked.Load()
	for n := range 50 {
		find(i.sign(jose.ES256, i.ec, fmt.Sprint("made up ", n), i.claims(nil)))
	}
	if i.asked.Load() > asked+1 {
		t.Errorf("asked %d times more", i.asked.Load()-asked)
	}
	known.keys.mu.Lock()
	known.keys.tried = time.Now().Add(-keyPause - time.Second)
	known.keys.mu.Unlock()
	if find(fresh) == nil {
		t.Error("the new key is not found")
	}
	if find(i.good()) != nil {
		t.Error("the old key still opens")
	}
}

// An issuer that is down costs nothing while its keys are known; before, tokens are told that they cannot be checked, which is no 401.
func TestTokenKeysDown(t *testing.T) {
	i := newIssuer(t)
	set := i.set.Load()
	for about, shown := range map[string]*[]byte{"down": nil, "no JSON": bytesOf("<html>"), "no keys": bytesOf(`{"keys":[]}`), "shared keys alone": bytesOf(`{"keys":[{"kty":"oct","kid":"rsa","k":"c2VjcmV0"}]}`),
		"too large": bytesOf(`{"keys":[` + strings.Repeat(" ", maxKeySet) + `]}`)} {
		i.set.Store(shown)
		who, err := i.tokens(nil).Find(t.Context(), i.good())
		if p := problem.From(err); who != nil || len(p) == 0 || p[0].Code != problem.Unavailable || strings.Contains(p[0].Message, "127.0.0.1") {
			t.Errorf("%s: %+v %v", about, who, err)
		}
	}
	i.set.Store(set)
	known := i.tokens(func(o *TokenOptions) { o.Refresh = time.Nanosecond })
	if who, err := known.Find(t.Context(), i.good()); who == nil || err != nil {
		t.Fatal(who, err)
	}
	i.set.Store(nil)
	for range 20 {
		if who, err := known.Find(t.Context(), i.good()); who == nil || err != nil {
			t.Fatalf("while it is down: %+v %v", who, err)
		}
		time.Sleep(time.Millisecond)
	}
	known.keys.mu.Lock()
	known.keys.had = time.Now().Add(-keyStale - time.Hour)
	known.keys.mu.Unlock()
	if who, err := known.Find(t.Context(), i.good()); who != nil || err == nil {
		t.Errorf("keys of yesterday: %+v", who)
	}
}

func bytesOf(s string) *[]byte { b := []byte(s); return &b }

// Keys may be in a file, and small ones are none.
func TestTokenKeysFile(t *testing.T) {
	i := newIssuer(t)
	path := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(path, *i.set.Load(), 0o600); err != nil {
		t.Fatal(err)
	}
	if who, err := i.tokens(func(o *TokenOptions) { o.Keys = path }).Find(t.Context(), i.good()); who == nil || err != nil {
		t.Errorf("%+v %v", who, err)
	}
	for alg, key := range map[string]crypto.PublicKey{"RS256": i.rsa.Public(), "ES256": i.ec.Public(), "EdDSA": i.ed.Public()} {
		for _, other := range []string{"RS256", "ES256", "EdDSA", "ES384"} {
			if fits(&jose.JSONWebKey{Key: key}, other) != (alg == other) {
				t.Errorf("a key of %s for %s", alg, other)
			}
		}
	}
	t.Setenv("GODEBUG", "rsa1024min=0")
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	if fits(&jose.JSONWebKey{Key: &small.PublicKey}, "RS256") {
		t.Error("1024 bits are enough")
	}
}

// Options that would let anybody in are refused.
func TestTokenOptions(t *testing.T) {
	good := TokenOptions{Issuer: issuerName, Audience: []string{audience}, Keys: "https://login.test/keys"}
	for about, change := range map[string]func(*TokenOptions){
		"no issuer": func(o *TokenOptions) { o.Issuer = "" }, "no audience": func(o *TokenOptions) { o.Audience = nil }, "no keys": func(o *TokenOptions) { o.Keys = "" },
		"plain http": func(o *TokenOptions) { o.Keys = "http://login.test/keys" }, "HS256": func(o *TokenOptions) { o.Algorithms = []string{"HS256"} }, "none": func(o *TokenOptions) { o.Algorithms = []string{"none"} },
	} {
		o := good
		change(&o)
		if _, err := NewTokens(o); err == nil {
			t.Errorf("%s is taken", about)
		}
	}
	if _, err := NewTokens(good); err != nil {
		t.Error(err)
	}
}

// E-10, B-003: a claim names scopes of the control database, and the token may call their tools and no others. One without
// the claim, or whose scopes open nothing, may call none; verbs that it was given beside hold as well.
func TestTokensOpenTools(t *testing.T) {
	i := newIssuer(t)
	var down error
	open := func(_ context.Context, scopes []string) (tools []string, err error) {
		for _, s := range scopes {
			switch s {
			case "reading":
				tools = append(tools, "res-query", "res-schema")
			case "writing":
				tools = append(tools, "res-create", "res-delete")
			}
		}
		return tools, down
	}
	for _, c := range []struct {
		about        string
		claims       Claims
		change       func(map[string]any)
		tools, verbs []string
	}{
		{"one scope", Claims{Tools: "groups"}, func(m map[string]any) { m["groups"] = "reading" }, []string{"res_query", "res_schema"}, []string{"read"}},
		{"two, in a list, and one that there is not", Claims{Tools: "groups"}, func(m map[string]any) { m["groups"] = []string{"reading", "writing", "nosuch"} },
			[]string{"res_create", "res_delete", "res_query", "res_schema"}, []string{"delete", "read", "write"}},
		{"two words, in an object", Claims{Tools: "app.groups"}, func(m map[string]any) { m["app"] = map[string]any{"groups": "writing reading"} },
			[]string{"res_create", "res_delete", "res_query", "res_schema"}, []string{"delete", "read", "write"}},
		{"none that there is", Claims{Tools: "groups"}, func(m map[string]any) { m["groups"] = "nosuch" }, nil, []string{"read"}},
		{"no claim", Claims{Tools: "groups"}, nil, nil, []string{"read"}},
		{"a claim that is no text", Claims{Tools: "groups"}, func(m map[string]any) { m["groups"] = map[string]any{"reading": true} }, nil, []string{"read"}},
		{"verbs hold as well", Claims{Tools: "groups", Scopes: "scope"}, func(m map[string]any) { m["groups"], m["scope"] = "reading writing", "read delete openid" },
			[]string{"res_create", "res_delete", "res_query", "res_schema"}, []string{"delete", "read"}},
		{"verbs that are mapped", Claims{Tools: "groups", Verbs: map[string][]string{"all": {"read", "write", "delete"}}}, func(m map[string]any) { m["groups"], m["scope"] = "reading", "all" },
			[]string{"res_query", "res_schema"}, []string{"read"}},
		{"no verb", Claims{Tools: "groups", Scopes: "scope"}, func(m map[string]any) { m["groups"], m["scope"] = "reading", "openid" }, []string{"res_query", "res_schema"}, []string{noVerb}},
	} {
		tokens, err := NewTokens(TokenOptions{Issuer: issuerName, Audience: []string{audience}, Keys: i.url, Claims: c.claims, Open: open})
		if err != nil {
			t.Fatal(err)
		}
		who, err := tokens.Find(t.Context(), i.sign(jose.ES256, i.ec, "ec", i.claims(c.change)))
		if err != nil || who == nil {
			t.Fatalf("%s: %v %v", c.about, who, err)
		}
		if got := slices.Sorted(maps.Keys(who.Tools)); who.Tools == nil || !slices.Equal(got, c.tools) || !slices.Equal(who.Scopes, c.verbs) {
			t.Errorf("%s: %v %v, want %v %v", c.about, got, who.Scopes, c.tools, c.verbs)
		}
		down = &problem.Problem{Code: problem.Unavailable, Message: "down"}
		if who, err := tokens.Find(t.Context(), i.sign(jose.ES256, i.ec, "ec", i.claims(c.change))); who != nil || err == nil || problem.From(err)[0].Code != problem.Unavailable {
			t.Errorf("%s: while the scopes cannot be looked up: %v %v", c.about, who, err)
		}
		down = nil
	}
}
