package console

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"resq/engine"
	"resq/engine/policy"
	"resq/registry"
	"resq/schema/problem"
)

type keysData struct {
	Keys   []*registry.Key
	Scopes []*registry.Scope
	Tools  []registry.Tool
	Next   int64  // the id behind which more keys are
	Plain  string // of the key that was just made or asked for
	Key    *registry.Key
	Sees   *sees
}

// sees is what a key would be shown.
type sees struct {
	Problem   string
	Tools     []string
	Resources []seen
}

// A seen is a resource with what a key sees of it: counts alone, no row.
type seen struct {
	Code   string
	Rows   string // all, none, condition
	Count  string // of its rows, where that was asked for; "?" where it took too long
	Masked []string
	Hidden []string
}

const keysShown = 100

func (c *Console) keys(v *visit) error {
	after, _ := strconv.ParseInt(v.r.URL.Query().Get("after"), 10, 64) // anything else is the beginning
	return c.keysPage(v, after, "")
}

func (c *Console) keysPage(v *visit, after int64, plain string) error {
	ctx := v.r.Context()
	d := keysData{Plain: plain}
	var err error
	if d.Keys, err = c.opts.Control.Keys(ctx, registry.KeyFilter{After: after, Limit: keysShown}); err != nil {
		return err
	}
	if len(d.Keys) == keysShown {
		d.Next = d.Keys[keysShown-1].ID
	}
	if d.Scopes, err = c.opts.Control.Scopes(ctx); err != nil {
		return err
	}
	if d.Tools, err = c.opts.Control.Tools(ctx); err != nil {
		return err
	}
	return v.show("keys", "", "Keys and scopes", d)
}

func (c *Console) createKey(v *visit) error {
	n := registry.NewKey{Name: v.form("name"), User: v.form("user"), Principal: v.form("principal"), Scopes: v.words("scope")}
	if n.Principal != "" && (c.opts.Configured == nil || !c.opts.Configured(n.Principal)) {
		return &problem.Problem{Code: problem.InvalidArgument, At: "/principal", Message: "no principal " + problem.Quote(n.Principal) + " is configured"}
	}
	var err error
	if n.Expires, err = v.date("expires"); err != nil {
		return err
	}
	k, plain, err := c.opts.Control.CreateKey(v.r.Context(), n)
	if err != nil {
		return err
	}
	v.asked["key_id"] = k.KeyID
	return c.keyPage(v, k, plain)
}

// date is a day of the form; the zero time is none.
func (v *visit) date(name string) (time.Time, error) {
	text := v.form(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, text, time.UTC)
	if err != nil {
		return t, &problem.Problem{Code: problem.InvalidArgument, At: "/" + name, Message: problem.Quote(text) + " is no date", Hint: "write it as in 2027-01-31"}
	}
	return t, nil
}

// words are the values of a form's boxes.
func (v *visit) words(name string) []string {
	_ = v.r.PostFormValue(name) // which parses the form
	var out []string
	for _, s := range v.r.PostForm[name] {
		if s = strings.TrimSpace(s); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if len(out) > 0 {
		v.asked[name] = out
	}
	return out
}

func (v *visit) keyID() (int64, error) {
	id, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, &problem.Problem{Code: problem.NotFound, Message: "a key is named by its number"}
	}
	return id, nil
}

func (c *Console) key(v *visit) error {
	id, err := v.keyID()
	if err != nil {
		return err
	}
	k, err := c.opts.Control.Key(v.r.Context(), id)
	if err != nil {
		return err
	}
	return c.keyPage(v, k, "")
}

func (c *Console) keyPage(v *visit, k *registry.Key, plain string) error {
	scopes, err := c.opts.Control.Scopes(v.r.Context())
	if err != nil {
		return err
	}
	return v.show("key", "", "Key", keysData{Key: k, Scopes: scopes, Plain: plain, Sees: c.sees(v, k)})
}

// sees finds out what a key would be shown.
func (c *Console) sees(v *visit, k *registry.Key) *sees {
	if c.opts.KeyOwner == nil {
		return nil
	}
	who, err := c.opts.KeyOwner(v.r.Context(), k.ID)
	if err != nil {
		_, p := told(err)
		if p.Code == problem.DataIntegrity {
			p.Message = err.Error()
		}
		return &sees{Problem: p.Message}
	}
	s := &sees{}
	if c.opts.Visible != nil {
		s.Tools = c.opts.Visible(who)
	}
	e, release := c.opts.Lend()
	defer release()
	r, err := e.Report(v.r.Context(), who, "", nil, false)
	if err != nil {
		_, p := told(err)
		s.Problem = p.Message
		return s
	}
	of := func(list []string, code string) (out []string) {
		for _, x := range list {
			if name, ok := strings.CutPrefix(x, code+"."); ok {
				out = append(out, name)
			}
		}
		return out
	}
	count := func(string) string { return "" }
	if v.r.URL.Query().Get("count") != "" {
		ctx, cancel := context.WithTimeout(v.r.Context(), countTime)
		defer cancel()
		count = func(code string) string { return rowsOf(ctx, e, who, code) }
	}
	rules := map[string]string{}
	for _, x := range r.Rules {
		rules[x.Resource] = x.Rows
	}
	for _, x := range r.Resources {
		rows := rules[x]
		if rows == "" {
			rows = "all"
		}
		s.Resources = append(s.Resources, seen{Code: x, Rows: rows, Count: count(x), Masked: of(r.Masked, x), Hidden: of(r.Hidden, x)})
	}
	return s
}

// countTime is for the rows of all resources to be counted.
const countTime = 10 * time.Second

// rowsOf is how many rows of a resource somebody sees.
func rowsOf(ctx context.Context, e *engine.Engine, who *policy.Principal, code string) string {
	r, ok := e.Catalog().Resource(code)
	if !ok || len(r.Fields) == 0 {
		return "?"
	}
	field := r.Fields[0].Code
	if len(r.Key) > 0 {
		field = r.Key[0].Code
	}
	raw, _ := json.Marshal(map[string]any{"resource": code, "fields": []any{map[string]any{"code": field}}, "limit": 1, "total": true}) // texts always encode
	a, err := e.Query(ctx, who, raw)
	if err != nil {
		return "?"
	}
	var n struct{ Total *int64 }
	if json.Unmarshal(a.Text, &n) != nil || n.Total == nil {
		return "?"
	}
	return strconv.FormatInt(*n.Total, 10)
}

func (c *Console) changeKey(v *visit) error {
	ctx, ctl := v.r.Context(), c.opts.Control
	id, err := v.keyID()
	if err != nil {
		return err
	}
	var k *registry.Key
	plain := ""
	switch what := v.r.PathValue("what"); what {
	case "enable":
		k, err = ctl.EnableKey(ctx, id)
	case "disable":
		k, err = ctl.DisableKey(ctx, id)
	case "revoke":
		k, err = ctl.RevokeKey(ctx, id)
	case "rotate":
		k, plain, err = ctl.RotateKey(ctx, id, 0)
	case "expires":
		var end time.Time
		if end, err = v.date("expires"); err == nil {
			k, err = ctl.ExpireKey(ctx, id, end)
		}
	case "scopes":
		k, err = ctl.SetKeyScopes(ctx, id, v.words("scope"))
	case "reveal":
		if k, err = ctl.Key(ctx, id); err == nil {
			plain, err = ctl.Reveal(ctx, id)
		}
	default:
		return &problem.Problem{Code: problem.NotFound, Message: "there is nothing at this path"}
	}
	if err != nil {
		return err
	}
	if plain != "" {
		return c.keyPage(v, k, plain)
	}
	return v.redirect(fmt.Sprintf("/keys/%d", k.ID))
}

func (c *Console) createScope(v *visit) error {
	tools := strings.Fields(v.form("tools"))
	if err := c.opts.Control.CheckTools(v.r.Context(), tools); err != nil {
		return err
	}
	if _, err := c.opts.Control.CreateScope(v.r.Context(), v.form("code"), v.form("name"), tools...); err != nil {
		return err
	}
	return v.redirect("/keys#scopes")
}

func (c *Console) changeScope(v *visit) error {
	ctx, code := v.r.Context(), v.r.PathValue("code")
	var err error
	switch v.r.PathValue("what") {
	case "enable":
		_, err = c.opts.Control.EnableScope(ctx, code, true)
	case "disable":
		_, err = c.opts.Control.EnableScope(ctx, code, false)
	case "tools":
		tools := strings.Fields(v.form("tools"))
		if err = c.opts.Control.CheckTools(ctx, tools); err == nil {
			_, err = c.opts.Control.SetTools(ctx, code, tools)
		}
	default:
		return &problem.Problem{Code: problem.NotFound, Message: "there is nothing at this path"}
	}
	if err != nil {
		return err
	}
	return v.redirect("/keys#scopes")
}
