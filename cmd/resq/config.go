package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"

	"resq/access"
	"resq/engine"
	"resq/engine/policy"
	"resq/registry"
	"resq/schema/problem"
	"resq/schema/query"
	"resq/server"
	"resq/telemetry"
)

// A config is what a configuration file says. The zero value is a server on the loopback interface for one
// local principal.
type config struct {
	Listen     string
	Catalog    []string // paths, already relative to the working directory
	Packs      []string
	Principal  string // who asks over stdio, and over HTTP when no principal has a key
	Principals map[string]*policy.Principal
	Keys       access.Keys
	Hosts      []string
	Origins    []string
	Proxies    []netip.Prefix
	Limits     query.Limits
	MaxBytes   int
	Timeout    time.Duration
	State      string
	Secret     string   // seals cursors, session ids, confirm tokens and before-images; replicas share it
	Previous   [][]byte // earlier secrets
	Writes     engine.WriteLimits
	Budget     policy.Budget        // of keys that have none of their own
	JWT        *access.TokenOptions // tokens that open the server beside keys; nil is none
	Resource   string               // the server as clients of tokens write it
	Traces     *telemetry.Options   // nil is none
	Redis      string               // through which replicas share budgets and reach each other
	Lang       string
	Control    controlConfig
	Tools      selector
	Audit      auditConfig
	Custom     custom
}

// loadConfig reads a configuration file. The error is a problem.List of everything that is wrong with it, each
// with file:line:column.
func loadConfig(path string) (*config, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, &problem.Problem{Code: problem.ConfigInvalid, Message: "the configuration file cannot be read: " + err.Error()}
	}
	return parseConfig(path, raw, os.LookupEnv)
}

func parseConfig(path string, raw []byte, env func(string) (string, bool)) (*config, error) {
	c := &config{Limits: query.Defaults(), Principals: map[string]*policy.Principal{}}
	r := &configReader{path: path, env: env}
	var root yaml.Node
	if err := yaml.Load(raw, &root); err != nil && len(bytes.TrimSpace(raw)) > 0 {
		r.syntax(err)
		return nil, r.problems.Err()
	}
	if len(root.Content) > 0 {
		r.file(root.Content[0], c)
	}
	if c.Principal != "" && c.Principals[c.Principal] == nil && len(r.problems) == 0 {
		r.tell(r.principalAt, problem.OneOf(c.Principal, r.names), "no principal %s is declared", problem.Quote(c.Principal))
	}
	if err := r.problems.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// A configReader reads a YAML tree strictly and remembers every mistake.
type configReader struct {
	path        string
	env         func(string) (string, bool)
	problems    problem.List
	names       []string // of principals
	principalAt *yaml.Node
}

func (r *configReader) tell(n *yaml.Node, hint, format string, args ...any) {
	r.problems = append(r.problems, &problem.Problem{
		Code: problem.ConfigInvalid, At: fmt.Sprintf("%s:%d:%d", r.path, n.Line, n.Column),
		Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

func (r *configReader) syntax(err error) {
	at := &yaml.Node{Line: 1, Column: 1}
	text := "the file is not YAML"
	var le *yaml.LoadError
	if errors.As(err, &le) {
		at = &yaml.Node{Line: max(le.Mark.Line, 1), Column: max(le.Mark.Column, 1)}
		text = "YAML syntax: " + le.Message
	}
	r.tell(at, "", "%s", text)
}

func (r *configReader) file(n *yaml.Node, c *config) {
	r.mapping(n, keys{
		"listen":     func(n *yaml.Node) { c.Listen = r.text(n) },
		"catalog":    func(n *yaml.Node) { c.Catalog = r.paths(n) },
		"packs":      func(n *yaml.Node) { c.Packs = r.texts(n) },
		"principal":  func(n *yaml.Node) { c.Principal, r.principalAt = r.text(n), n },
		"principals": func(n *yaml.Node) { r.principals(n, c) },
		"hosts":      func(n *yaml.Node) { c.Hosts = r.texts(n) },
		"origins":    func(n *yaml.Node) { c.Origins = r.origins(n) },
		"proxies": func(n *yaml.Node) {
			list, bad := server.ParseProxies(r.texts(n))
			if bad >= 0 {
				r.tell(r.items(n)[bad], "such as 10.0.0.5 or 10.0.0.0/8", "this is neither an address nor a network")
			}
			c.Proxies = list
		},
		"limits":   func(n *yaml.Node) { r.limits(n, &c.Limits) },
		"maxBytes": func(n *yaml.Node) { c.MaxBytes = int(r.count(n)) },
		"timeout":  func(n *yaml.Node) { c.Timeout = r.duration(n) },
		"secret": func(n *yaml.Node) {
			if c.Secret = r.text(n); len(c.Secret) < secretLength {
				r.tell(n, "such as: openssl rand -hex 32", "the secret is shorter than %d characters", secretLength)
			}
		},
		"previousSecrets": func(n *yaml.Node) {
			for _, item := range r.items(n) {
				c.Previous = append(c.Previous, []byte(r.text(item)))
			}
		},
		"traces": func(n *yaml.Node) { r.traces(n, c) },
		"jwt":    func(n *yaml.Node) { r.jwt(n, c) },
		"redis":  func(n *yaml.Node) { c.Redis = r.text(n) },
		"budgets": func(n *yaml.Node) {
			r.budget(n, &c.Budget)
		},
		"writes":  func(n *yaml.Node) { r.writes(n, &c.Writes) },
		"control": func(n *yaml.Node) { r.control(n, &c.Control) },
		"keys":    func(n *yaml.Node) { r.keyring(n, &c.Control) },
		"audit": func(n *yaml.Node) {
			r.mapping(n, keys{
				"calls": func(n *yaml.Node) {
					c.Audit.Calls = []string{}
					for _, item := range r.items(n) {
						c.Audit.Calls = append(c.Audit.Calls, r.oneOf(item, []string{callsInControl, callsInFiles}))
					}
				},
				"arguments": func(n *yaml.Node) { c.Audit.Arguments = r.oneOf(n, []string{"text", "hmac"}) == "text" },
				"keep":      func(n *yaml.Node) { c.Audit.Keep = r.days(n) },
			})
		},
		"tools": func(n *yaml.Node) {
			r.mapping(n, keys{
				"enabled": func(n *yaml.Node) {
					if c.Tools.Enabled = r.texts(n); len(c.Tools.Enabled) == 0 {
						r.tell(n, "name tools and toolset:NAME, or leave enabled out to offer every tool", "an empty list would offer every tool")
					}
				},
				"disabled": func(n *yaml.Node) { c.Tools.Disabled = r.texts(n) },
			})
		},
		"state": func(n *yaml.Node) { c.State = r.beside(r.text(n)) },
		"lang":  func(n *yaml.Node) { c.Lang = r.oneOf(n, server.Languages()) },
	})
}

// keys are the keys of a mapping, each with what reads its value.
type keys map[string]func(*yaml.Node)

// pairs walks a mapping, refusing keys that stand twice.
func (r *configReader) pairs(n *yaml.Node, each func(key string, at, value *yaml.Node)) {
	n = follow(n)
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.tell(n, "", "this must be a mapping of keys to values")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode {
			r.tell(k, "", "a key must be one word")
			continue
		}
		if seen[k.Value] {
			r.tell(k, "keep one of them", "the key %s stands twice", problem.Quote(k.Value))
			continue
		}
		seen[k.Value] = true
		each(k.Value, k, n.Content[i+1])
	}
}

func (r *configReader) mapping(n *yaml.Node, known keys) {
	r.pairs(n, func(key string, at, value *yaml.Node) {
		read, ok := known[key]
		if !ok {
			names := make([]string, 0, len(known))
			for name := range known {
				names = append(names, name)
			}
			slices.Sort(names)
			r.tell(at, problem.OneOf(key, names), "there is no key %s here", problem.Quote(key))
			return
		}
		read(value)
	})
}

func (r *configReader) principals(n *yaml.Node, c *config) {
	r.pairs(n, func(name string, at, value *yaml.Node) {
		p := &policy.Principal{Name: name, Attributes: map[string]policy.Value{}, Funcs: map[string]policy.Value{}}
		var keyNodes []*yaml.Node
		r.mapping(value, keys{
			"attributes": func(n *yaml.Node) { r.values(n, p.Attributes) },
			"funcs":      func(n *yaml.Node) { r.funcs(n, p.Funcs) },
			"roles":      func(n *yaml.Node) { p.Roles = r.texts(n) },
			"user":       func(n *yaml.Node) { p.User = r.text(n) },
			"scopes": func(n *yaml.Node) {
				for _, item := range r.items(n) {
					p.Scopes = append(p.Scopes, r.oneOf(item, []string{"read", "write", "delete", "admin"}))
				}
			},
			"budget": func(n *yaml.Node) { r.budget(n, &p.Budget) },
			"keys":   func(n *yaml.Node) { keyNodes = r.items(n) },
		})
		if why := reserved(name); why != "" {
			r.tell(at, "", "%s", why)
		}
		c.Principals[name] = p
		r.names = append(r.names, name)
		for _, k := range keyNodes {
			owner := *p
			if err := c.Keys.Add(r.key(k, &owner), &owner); err != nil {
				r.tell(k, "", "%s", err)
			}
		}
	})
}

// key reads a key: the text alone, or with a budget of its own.
func (r *configReader) key(n *yaml.Node, owner *policy.Principal) string {
	if n = follow(n); n.Kind != yaml.MappingNode {
		return r.text(n)
	}
	key := ""
	r.mapping(n, keys{
		"key":    func(n *yaml.Node) { key = r.text(n) },
		"budget": func(n *yaml.Node) { r.budget(n, &owner.Budget) },
	})
	return key
}

// traces reads where traces go.
func (r *configReader) traces(n *yaml.Node, c *config) {
	o := &telemetry.Options{Headers: map[string]string{}}
	r.mapping(n, keys{
		"endpoint": func(n *yaml.Node) {
			o.Endpoint = r.text(n)
			if u, err := url.Parse(o.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				r.tell(n, "such as http://127.0.0.1:4318/v1/traces", "%s is no URL of a collector", problem.Quote(o.Endpoint))
			}
		},
		"headers": func(n *yaml.Node) {
			r.pairs(n, func(name string, _, value *yaml.Node) { o.Headers[name] = r.text(value) })
		},
		"file": func(n *yaml.Node) {
			if o.File = r.text(n); o.File != "-" {
				o.File = r.beside(o.File)
			}
		},
		"ratio": func(n *yaml.Node) {
			s := r.text(n)
			f, err := strconv.ParseFloat(s, 64)
			if err != nil || f <= 0 || f > 1 {
				r.tell(n, "", "%s is not a share above 0 and up to 1", problem.Quote(s))
			}
			o.Ratio = f
		},
	})
	if (o.Endpoint == "") == (o.File == "") {
		r.tell(n, "", "traces go to an endpoint or to a file")
	}
	c.Traces = o
}

// jwt reads whose tokens are taken, and what is read from them.
func (r *configReader) jwt(n *yaml.Node, c *config) {
	o := &access.TokenOptions{}
	name := func(into *string) func(*yaml.Node) { return func(n *yaml.Node) { *into = r.text(n) } }
	claims := func(into *map[string]string) func(*yaml.Node) {
		return func(n *yaml.Node) {
			*into = map[string]string{}
			r.pairs(n, func(key string, _, value *yaml.Node) { (*into)[key] = r.text(value) })
		}
	}
	r.mapping(n, keys{
		"issuer":   name(&o.Issuer),
		"audience": func(n *yaml.Node) { o.Audience = r.texts(n) },
		"jwks": func(n *yaml.Node) {
			if o.Keys = r.text(n); !strings.Contains(o.Keys, "://") {
				o.Keys = r.beside(o.Keys)
			}
		},
		"algorithms": func(n *yaml.Node) {
			for _, item := range r.items(n) {
				o.Algorithms = append(o.Algorithms, r.oneOf(item, access.Algorithms()))
			}
		},
		"skew":     func(n *yaml.Node) { o.Skew = r.duration(n) },
		"refresh":  func(n *yaml.Node) { o.Refresh = r.duration(n) },
		"resource": name(&c.Resource),
		"budget":   func(n *yaml.Node) { r.budget(n, &o.Budget) },
		"scopes": func(n *yaml.Node) {
			o.Claims.Verbs = map[string][]string{}
			r.pairs(n, func(scope string, _, value *yaml.Node) {
				for _, item := range r.items(value) {
					o.Claims.Verbs[scope] = append(o.Claims.Verbs[scope], r.oneOf(item, []string{"read", "write", "delete"}))
				}
			})
		},
		"claims": func(n *yaml.Node) {
			r.mapping(n, keys{
				"name": name(&o.Claims.Name), "user": name(&o.Claims.User), "scopes": name(&o.Claims.Scopes), "tools": name(&o.Claims.Tools), "roles": name(&o.Claims.Roles),
				"attributes": claims(&o.Claims.Attributes),
				"funcs": func(n *yaml.Node) {
					o.Claims.Funcs = map[string]string{}
					known := keys{}
					for _, f := range funcNames {
						known[f] = func(n *yaml.Node) { o.Claims.Funcs[f] = r.text(n) }
					}
					r.mapping(n, known)
				},
			})
		},
	})
	if _, err := access.NewTokens(*o); err != nil {
		r.tell(n, "", "%s", err)
	}
	c.JWT = o
}

// resource is what clients are told about where tokens come from; nil is nothing.
func (c *config) resource() *server.Resource {
	if c.JWT == nil {
		return nil
	}
	res := &server.Resource{URL: c.Resource, Issuers: []string{c.JWT.Issuer}, Scopes: []string{"delete", "read", "write"}}
	if res.URL == "" {
		res.URL = c.JWT.Audience[0]
	}
	if c.JWT.Claims.Tools != "" && c.JWT.Claims.Scopes == "" {
		res.Scopes = nil // what a client would ask for is a scope of the control database, which an admin makes
	}
	if c.JWT.Claims.Verbs != nil {
		res.Scopes = slices.Sorted(maps.Keys(c.JWT.Claims.Verbs))
	}
	return res
}

// budget reads what a key may spend, where none means that it is not counted.
func (r *configReader) budget(n *yaml.Node, into *policy.Budget) {
	bound := func(into *int) func(*yaml.Node) {
		return func(n *yaml.Node) {
			if r.text(n) == "none" {
				*into = -1
				return
			}
			*into = int(r.count(n))
		}
	}
	r.mapping(n, keys{"callsPerMinute": bound(&into.CallsPerMinute), "rowsPerHour": bound(&into.RowsPerHour), "statements": bound(&into.Statements)})
}

var funcNames = []string{"UserID", "UserUuid", "UserRolesUuid", "UserPlatform", "UserSaaS"}

func (r *configReader) funcs(n *yaml.Node, into map[string]policy.Value) {
	known := keys{}
	for _, name := range funcNames {
		known[name] = func(n *yaml.Node) { into[name] = r.value(n) }
	}
	r.mapping(n, known)
}

func (r *configReader) values(n *yaml.Node, into map[string]policy.Value) {
	r.pairs(n, func(name string, _, value *yaml.Node) { into[name] = r.value(value) })
}

// value reads an attribute: a scalar, or a list of them.
func (r *configReader) value(n *yaml.Node) policy.Value {
	if n = follow(n); n.Kind == yaml.SequenceNode {
		return policy.Value{Texts: r.texts(n), List: true}
	}
	return policy.One(r.text(n))
}

// control reads where the control database is: a DSN, or more about it.
func (r *configReader) control(n *yaml.Node, into *controlConfig) {
	dsn := func(n *yaml.Node) {
		driver, rest, _ := strings.Cut(r.text(n), ":")
		switch driver {
		case "sqlite":
			rest = r.beside(strings.TrimPrefix(rest, "//"))
		case "postgresql":
			driver = "postgres"
		case "postgres", "mysql":
		default: // the text may hold a password, so it is not told
			r.tell(n, "", "this is no address of a database: sqlite:PATH, mysql://user:password@host:port/database or postgres://…")
		}
		into.DSN = driver + ":" + rest
	}
	into.Named = true
	if follow(n).Kind != yaml.MappingNode {
		dsn(n)
		return
	}
	r.mapping(n, keys{
		"dsn":   dsn,
		"stale": func(n *yaml.Node) { into.Stale = r.duration(n) },
	})
}

// keyring reads how keys of the control database are made, and by whom.
func (r *configReader) keyring(n *yaml.Node, into *controlConfig) {
	into.Named = true
	r.mapping(n, keys{
		"prefix": func(n *yaml.Node) {
			into.Prefix = r.text(n)
			if err := registry.CheckPrefix(into.Prefix); err != nil {
				r.tell(n, "", "%s", err)
			}
		},
		"admin": func(n *yaml.Node) {
			sum, ok := strings.CutPrefix(r.text(n), "sha256:")
			if raw, err := hex.DecodeString(sum); !ok || err != nil || len(raw) != sha256.Size {
				r.tell(n, "make one with: resq keys credential", "the admin credential is kept as its sum: sha256: and 64 hexadecimal digits")
			}
			into.Admin = strings.ToLower(sum)
		},
	})
}

// items gives the entries of a list; one scalar is a list of one.
func (r *configReader) items(n *yaml.Node) []*yaml.Node {
	n = follow(n)
	if n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

func (r *configReader) texts(n *yaml.Node) []string {
	out := []string{}
	for _, item := range r.items(n) {
		out = append(out, r.text(item))
	}
	return out
}

// text reads a scalar with its ${NAME} filled in.
func (r *configReader) text(n *yaml.Node) string {
	n = follow(n)
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		r.tell(n, "", "this must be one value")
		return ""
	}
	var b strings.Builder
	for s := n.Value; s != ""; {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			break
		}
		if i > 0 && s[i-1] == '$' { // "$${" stands for "${"
			b.WriteString(s[:i-1] + "${")
			s = s[i+2:]
			continue
		}
		name, rest, closed := strings.Cut(s[i+2:], "}")
		if !closed {
			r.tell(n, `close it with "}", or write "$${" for the two characters themselves`, `"${" without an end`)
			return ""
		}
		name, fallback, hasFallback := strings.Cut(name, ":-")
		v, ok := r.env(name)
		if !ok || v == "" && hasFallback {
			if !hasFallback {
				r.tell(n, "set it, or write ${"+name+":-text}", "the environment variable %s is not set", problem.Quote(name))
			}
			v = fallback
		}
		b.WriteString(s[:i] + v)
		s = rest
	}
	return b.String()
}

func (r *configReader) paths(n *yaml.Node) []string {
	out := r.texts(n)
	for i, p := range out {
		out[i] = r.beside(p)
	}
	return out
}

// beside makes a relative path begin where the configuration file is.
func (r *configReader) beside(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(r.path), path)
}

func (r *configReader) origins(n *yaml.Node) []string {
	var out []string
	for _, item := range r.items(n) {
		o := r.text(item)
		if bad := server.BadOrigin(o); bad != "" {
			r.tell(item, "", "the origin %s %s", problem.Quote(o), bad)
		}
		out = append(out, o)
	}
	return out
}

func (r *configReader) oneOf(n *yaml.Node, values []string) string {
	s := r.text(n)
	if !slices.Contains(values, s) {
		r.tell(n, problem.OneOf(s, values), "%s is not possible here", problem.Quote(s))
	}
	return s
}

// count reads a number above zero.
func (r *configReader) count(n *yaml.Node) int64 {
	s := r.text(n)
	i, err := strconv.ParseInt(s, 10, 64)
	if err != nil || i < 1 {
		r.tell(n, "", "%s is not a whole number above zero", problem.Quote(s))
	}
	return i
}

func (r *configReader) duration(n *yaml.Node) time.Duration {
	s := r.text(n)
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		r.tell(n, "write it like 5s or 500ms", "%s is not a duration above zero", problem.Quote(s))
	}
	return d
}

// days reads a duration that may be in days.
func (r *configReader) days(n *yaml.Node) time.Duration {
	s := r.text(n)
	d, err := span(s)
	if err != nil || d <= 0 {
		r.tell(n, "write it like 90d or 12h", "%s is not a duration above zero", problem.Quote(s))
	}
	return d
}

// writes reads the bounds of writes.
func (r *configReader) writes(n *yaml.Node, into *engine.WriteLimits) {
	r.mapping(n, keys{
		"timeout":           func(n *yaml.Node) { into.Timeout = r.duration(n) },
		"expiry":            func(n *yaml.Node) { into.Expiry = r.duration(n) },
		"undo":              func(n *yaml.Node) { into.Undo = r.duration(n) },
		"livePreviews":      func(n *yaml.Node) { into.LivePreviews = int(r.count(n)) },
		"previewsPerMinute": func(n *yaml.Node) { into.PreviewsPerMinute = int(r.count(n)) },
		"rowsPerHour":       func(n *yaml.Node) { into.RowsPerHour = int(r.count(n)) },
	})
}

// limits reads the members of query.Limits under their names with a small first letter.
func (r *configReader) limits(n *yaml.Node, into *query.Limits) {
	known := keys{}
	v := reflect.ValueOf(into).Elem()
	for i := range v.NumField() {
		name := []rune(v.Type().Field(i).Name)
		name[0] = unicode.ToLower(name[0])
		field := v.Field(i)
		known[string(name)] = func(n *yaml.Node) { field.SetInt(r.count(n)) }
	}
	r.mapping(n, known)
}

func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}
