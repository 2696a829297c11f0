package registry

import (
	"bytes"
	"context"
	"database/sql"
	"slices"
	"strings"

	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
)

// A Mirror is all that a server has loaded, as the registry is to show it (C-040, E-27).
type Mirror struct {
	Tools       []Callable // with names of the mirrored namespaces
	Resources   []Holding
	Attachments []Attached // those of files, with the ids that they always have
}

// Mirror makes the registry show what a server has loaded: what is new is added, what is another one is changed, and what
// is no longer there goes, of the namespaces of files alone. Where nothing has changed nothing is written. A tool of the
// registry's own whose name clients would mix up with one of these is a problem, and then nothing is changed.
func (c *Control) Mirror(ctx context.Context, m Mirror) error {
	for i := range m.Tools {
		if err := m.Tools[i].check(); err != nil {
			return err
		}
	}
	if same, err := c.shows(ctx, &m); err != nil || same {
		return c.fault(err)
	}
	return c.change(ctx, func(tx *sql.Tx) error {
		if err := c.mirrorTools(ctx, tx, m.Tools); err != nil {
			return err
		}
		if err := c.mirrorResources(ctx, tx, m.Resources); err != nil {
			return err
		}
		return c.mirrorAttachments(ctx, tx, m.Attachments)
	})
}

// shows says whether the registry shows all of this already.
func (c *Control) shows(ctx context.Context, m *Mirror) (bool, error) {
	list, err := c.callables(ctx, c.db, "")
	if err != nil {
		return false, err
	}
	if err := clash(list, m.Tools); err != nil {
		return false, err
	}
	n := 0
	for _, t := range list {
		if !t.Mirrored() {
			continue
		}
		n++
		i := slices.IndexFunc(m.Tools, func(x Callable) bool { return x.Name == t.Name })
		if i < 0 || !sameCallable(t, &m.Tools[i]) {
			return false, nil
		}
	}
	if n != len(m.Tools) {
		return false, nil
	}
	resources, err := c.Holdings(ctx)
	if err != nil {
		return false, err
	}
	byName := func(a, b Holding) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(m.Resources, byName)
	slices.SortFunc(resources, byName)
	if !slices.Equal(resources, m.Resources) {
		return false, nil
	}
	attached, err := c.attachments(ctx, c.db)
	if err != nil {
		return false, err
	}
	attached = slices.DeleteFunc(attached, func(a Attached) bool { return !a.Declared() })
	return len(attached) == len(m.Attachments) && !slices.ContainsFunc(attached, func(a Attached) bool {
		return !slices.ContainsFunc(m.Attachments, func(b Attached) bool { return a.ID == b.ID && a.Mode == b.Mode })
	}), nil
}

// clash finds a tool of the registry's own whose name is one of those that a server has loaded.
func clash(list []*Callable, tools []Callable) error {
	loaded := map[string]string{}
	for i := range tools {
		loaded[policy.ToolKey(tools[i].Short())] = tools[i].Name
	}
	for _, t := range list {
		if name := loaded[policy.ToolKey(t.Short())]; name != "" && !t.Mirrored() {
			return &problem.Problem{Code: problem.Conflict, Message: "the tool " + problem.Quote(t.Name) + " of the registry has the name of " + problem.Quote(name) + ", so that clients could not tell them apart",
				Hint: "resq tool remove " + t.Name + ", or name the other one anew"}
		}
	}
	return nil
}

func sameCallable(a, b *Callable) bool {
	byslot := func(x, y Binding) int { return strings.Compare(x.Slot, y.Slot) }
	slices.SortFunc(b.Bindings, byslot)
	return a.Description == b.Description && a.Type == b.Type && a.Source == b.Source && bytes.Equal(a.Input, b.Input) && bytes.Equal(a.Output, b.Output) && a.ReadOnly == b.ReadOnly && a.Writes == b.Writes &&
		a.Checkpointable == b.Checkpointable && a.SideEffects == b.SideEffects && a.Config == b.Config && slices.Equal(a.Bindings, b.Bindings)
}

func (c *Control) mirrorTools(ctx context.Context, tx *sql.Tx, tools []Callable) error {
	list, err := c.callables(ctx, tx, "")
	if err != nil {
		return err
	}
	if err := clash(list, tools); err != nil {
		return err
	}
	there := map[string]*Callable{}
	for _, t := range list {
		there[t.Name] = t
		if t.Mirrored() && !slices.ContainsFunc(tools, func(x Callable) bool { return x.Name == t.Name }) {
			if _, err := c.exec(ctx, tx, "DELETE FROM tools WHERE tool_id = ?", t.ID); err != nil {
				return err
			}
		}
	}
	for i := range tools {
		t := &tools[i]
		old := there[t.Name]
		if old != nil && sameCallable(old, t) {
			continue
		}
		t.ID = schema.StableID("tool\x00" + t.Name)
		if err := c.put(ctx, tx, t, old); err != nil {
			return err
		}
	}
	return nil
}

func (c *Control) mirrorResources(ctx context.Context, tx *sql.Tx, resources []Holding) error {
	rows, err := c.rows(ctx, tx, "SELECT resource_id, name, resource_type, connection, config_yaml FROM resources")
	if err != nil {
		return err
	}
	defer rows.Close()
	type row struct {
		id string
		Holding
	}
	there := map[string]row{}
	for rows.Next() {
		var r row
		var connection, config sql.NullString
		if err := rows.Scan(&r.id, &r.Name, &r.Type, &connection, &config); err != nil {
			return err
		}
		r.Connection, r.Config = connection.String, config.String
		there[r.Name] = r
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := rows.Close(); err != nil {
		return err
	}
	now := c.stamp()
	for _, h := range resources {
		old, is := there[h.Name]
		delete(there, h.Name)
		switch {
		case !is:
			_, err = c.exec(ctx, tx, "INSERT INTO resources (resource_id, name, resource_type, connection, config_yaml, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
				schema.StableID("resource\x00"+h.Name), h.Name, h.Type, nullable(h.Connection), nullable(h.Config), now, now)
		case old.Holding != h:
			_, err = c.exec(ctx, tx, "UPDATE resources SET resource_type = ?, connection = ?, config_yaml = ?, updated_at = ? WHERE resource_id = ?", h.Type, nullable(h.Connection), nullable(h.Config), now, old.id)
		}
		if err != nil {
			return err
		}
	}
	for _, r := range there { // with what is attached to them
		if _, err := c.exec(ctx, tx, "DELETE FROM resources WHERE resource_id = ?", r.id); err != nil {
			return err
		}
	}
	return nil
}

func (c *Control) mirrorAttachments(ctx context.Context, tx *sql.Tx, want []Attached) error {
	list, err := c.attachments(ctx, tx)
	if err != nil {
		return err
	}
	there := map[string]string{}
	for i := range list {
		a := &list[i]
		if !a.Declared() {
			continue
		}
		if slices.ContainsFunc(want, func(b Attached) bool { return b.ID == a.ID }) {
			there[a.ID] = a.Mode
		} else if _, err := c.exec(ctx, tx, "DELETE FROM validation_attachments WHERE attachment_id = ?", a.ID); err != nil {
			return err
		}
	}
	for _, a := range want {
		mode, is := there[a.ID]
		switch {
		case !is:
			_, err = c.exec(ctx, tx, "INSERT INTO validation_attachments (attachment_id, resource_id, validation_name, mode, created_at) SELECT ?, resource_id, ?, ?, ? FROM resources WHERE name = ?",
				a.ID, a.Validation, a.Mode, c.stamp(), a.Resource)
		case mode != a.Mode:
			_, err = c.exec(ctx, tx, "UPDATE validation_attachments SET mode = ? WHERE attachment_id = ?", a.Mode, a.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
