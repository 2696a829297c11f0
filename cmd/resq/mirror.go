package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"

	"resq/registry"
	"resq/schema"
	"resq/server"
)

// registryFile stands before the names of files that are kept in the registry.
const registryFile = "registry:"

// A registered is what the registry keeps by itself: tools and validations that no file declares, and attachments.
type registered struct {
	texts   []schema.Document
	attach  []schema.Attach
	remotes []remoteTool // of other servers
	sum     string       // of all of it
}

// readRegistered reads what the registry of a control database keeps by itself. Without a database there is nothing.
func readRegistered(ctx context.Context, c *config) (*registered, error) {
	r := &registered{}
	secret, err := c.secret()
	if err != nil {
		return r, nil // told where the secret is needed
	}
	if there, err := controlThere(c); err != nil || !there {
		return r, err
	}
	ctl, err := bareControl(ctx, c, slog.New(slog.DiscardHandler), secret)
	if err != nil {
		return nil, err
	}
	defer ctl.Close()
	return registeredIn(ctx, ctl)
}

func registeredIn(ctx context.Context, ctl *registry.Control) (*registered, error) {
	r := &registered{}
	if has, err := ctl.HasRegistry(ctx); err != nil || !has { // an earlier release made it
		return r, err
	}
	list, err := ctl.Callables(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range list {
		if !t.Mirrored() && (t.Source == "custom" || t.Source == "wrapped") {
			r.texts = append(r.texts, schema.Document{Name: registryFile + t.Name, Data: []byte(t.Config)})
		}
	}
	if r.remotes, err = remoteTools(list); err != nil {
		return nil, err
	}
	attached, err := ctl.Attachments(ctx)
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(list, (*registry.Callable).Mirrored)
	theirs := slices.DeleteFunc(slices.Clone(attached), func(a registry.Attached) bool { return a.Declared() })
	if raw, err := json.Marshal([]any{own, theirs}); err == nil { // texts and booleans always encode
		r.sum = string(raw)
	}
	for _, a := range attached {
		if !a.Declared() {
			r.attach = append(r.attach, schema.Attach{ID: a.ID, Resource: a.Resource, Validation: a.Short(), Mode: a.Mode})
		}
	}
	return r, nil
}

func (r *registered) into(opts *schema.LoadOptions) {
	opts.Texts, opts.Attach = append(opts.Texts, r.texts...), append(opts.Attach, r.attach...)
}

// verdictSchema is what a validation answers (C-012).
const verdictSchema = `{"type":"object","properties":{"passed":{"type":"boolean"},"message":{"type":"string"},"data":{}},"required":["passed"]}`

// mirrorOf is what the registry is to show of a catalog, and of the program's own tools.
func mirrorOf(cat *schema.Catalog, lang string) (registry.Mirror, error) {
	var m registry.Mirror

	contract, err := server.ParseProfile("")
	if err != nil {
		return m, err
	}
	listed, err := server.List("en", contract)
	if err != nil {
		return m, err
	}
	for _, t := range listed.Tools {
		x, err := builtinOf(t)
		if err != nil {
			return m, err
		}
		m.Tools = append(m.Tools, x)
	}
	for _, t := range cat.Tools {
		if !strings.HasPrefix(t.At.File, registryFile) {
			m.Tools = append(m.Tools, callableOf(cat, t, lang))
		}
	}
	for _, v := range cat.Validations {
		if !strings.HasPrefix(v.At.File, registryFile) {
			m.Tools = append(m.Tools, validationOf(cat, v, registry.NamespaceValidation, lang))
		}
	}
	for _, r := range cat.Resources {
		kind := "table"
		if r.View {
			kind = "view"
		}
		m.Resources = append(m.Resources, registry.Holding{Name: r.Code, Type: kind, Connection: r.Connection.Name, Config: cat.Config(r)})
		for _, a := range r.Validations {
			if a.At.File != "" {
				m.Attachments = append(m.Attachments, registry.Attached{ID: a.ID, Resource: r.Code, Validation: registry.NamespaceValidation + "/" + a.Validation.Name, Mode: a.Mode})
			}
		}
	}
	return m, nil
}

// builtinOf is a tool of the program. What it may do follows from what clients are told of it.
func builtinOf(t server.ListedTool) (registry.Callable, error) {
	var d struct {
		Description string
		InputSchema json.RawMessage
		Annotations struct{ ReadOnlyHint bool }
	}
	if err := json.Unmarshal(t.JSON, &d); err != nil {
		return registry.Callable{}, err
	}
	x := registry.Callable{Name: registry.NamespaceBuiltin + "/" + t.Name, Description: d.Description, Type: registry.TypeTool, Source: "builtin", Input: d.InputSchema,
		ReadOnly: d.Annotations.ReadOnlyHint, Writes: !d.Annotations.ReadOnlyHint, Config: "builtin: " + t.Name + "\n"}
	// Changes and deletes keep what was before, and can be undone.
	x.Checkpointable = t.Name == "res-update" || t.Name == "res-delete" || t.Name == "res-undo"
	level := "read_only"
	if x.Writes {
		level = "read_write"
	}
	switch t.Name {
	case "res-query", "res-create", "res-update", "res-delete":
		x.Bindings = []registry.Binding{{Slot: "resource", ResourceType: "table", Mode: "parameter", Access: level}}
	}
	return x, nil
}

// callableOf is a tool of a catalog.
func callableOf(cat *schema.Catalog, t *schema.Tool, lang string) registry.Callable {
	x := registry.Callable{Name: registry.NamespacePreset + "/" + t.Name, Description: t.Description.In(lang), Type: registry.TypeTool, Source: "custom", Input: t.Input(lang), Output: t.Output(),
		ReadOnly: t.ReadOnly, Writes: !t.ReadOnly, Config: cat.Config(t)}
	for _, s := range t.Slots {
		x.Bindings = append(x.Bindings, registry.Binding{Slot: s.Name, ResourceType: s.Type, Mode: s.Binding, Access: s.Access})
	}
	read := func(slot string, r *schema.Read) {
		filled := func(s *schema.Slot) bool { return s.Name == slot || slices.Contains(s.To, r.Source.Code) }
		if r != nil && r.Source != nil && !slices.ContainsFunc(t.Slots, filled) {
			kind := "table"
			if r.Source.View {
				kind = "view"
			}
			x.Bindings = append(x.Bindings, registry.Binding{Slot: slot, ResourceType: kind, Mode: "static", Access: "read_only"})
		}
	}
	switch {
	case t.Kind == "context":
		x.Name, x.Source, x.Config = registry.NamespaceBuiltin+"/"+t.Name, "builtin", "builtin: "+t.Name+"\n"
	case t.SQL != nil:
		x.Name = registry.NamespaceSQL + "/" + t.Name
		if len(t.Slots) > 0 {
			break
		}
		mode := "static"
		switch {
		case t.SQL.Context != "":
			mode = "context"
		case t.SQL.Choice != nil:
			mode = "parameter"
		}
		x.Bindings = []registry.Binding{{Slot: "system", ResourceType: "connection", Mode: mode, Access: "read_only"}}
	case t.Preset != nil:
		read("source", t.Preset.Read)
		for _, u := range t.Preset.Union {
			read(u.Name, u.Read)
		}
	}
	return x
}

// validationOf is a validation of a catalog. What it looks at is the resource that it is attached to.
func validationOf(cat *schema.Catalog, v *schema.Validation, namespace, lang string) registry.Callable {
	x := registry.Callable{Name: namespace + "/" + v.Name, Description: v.Description.In(lang), Type: registry.TypeValidation, Source: "custom", Output: []byte(verdictSchema), ReadOnly: true, Config: cat.Config(v),
		Bindings: []registry.Binding{{Slot: "resource", ResourceType: "table", Mode: "context", Access: "read_only"}}}
	if v.Wraps {
		x.Source = "wrapped"
	} else {
		x.Input = v.Tool.Input(lang)
	}
	return x
}

// load reads the catalog that the configuration names, and makes the databases of built-in packs.
func (o *opened) load(ctx context.Context, progress io.Writer) (*schema.Catalog, error) {
	r, err := readRegistered(ctx, o.config)
	if err != nil {
		return nil, err
	}
	o.kept = r
	return o.loadWith(ctx, progress, r)
}
