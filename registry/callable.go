package registry

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"resq/engine/policy"
	"resq/schema"
	"resq/schema/problem"
)

// The namespaces of what is mirrored from the program and its catalog files. What was added on the command line is in
// others.
const (
	NamespaceBuiltin    = "builtin"    // tools of the program
	NamespacePreset     = "biz"        // presets of catalog files
	NamespaceSQL        = "sql"        // SQL tools of catalog files
	NamespaceValidation = "validation" // validations of catalog files
)

var mirrored = []string{NamespaceBuiltin, NamespacePreset, NamespaceSQL, NamespaceValidation}

// The types and sources of what the registry keeps.
const (
	TypeTool       = "tool"
	TypeValidation = "validation"
)

var (
	callableTypes   = []string{TypeTool, TypeValidation}
	callableSources = []string{"mcp", "agent_skill", "builtin", "custom", "wrapped"}
	bindingModes    = []string{"context", "static", "parameter"}
	accessLevels    = []string{"read_only", "read_write"}
	attachModes     = []string{"required", "informational"}
	callableForm    = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}/[A-Za-z0-9_.-]{1,64}$`)
)

// A Callable is a tool or a validation as the registry keeps it.
type Callable struct {
	ID             string          `json:"tool_id"`
	Name           string          `json:"name"` // namespace/short
	Description    string          `json:"description,omitempty"`
	Type           string          `json:"tool_type"`
	Source         string          `json:"source_type"`
	Input          json.RawMessage `json:"input_schema,omitempty"`
	Output         json.RawMessage `json:"output_schema,omitempty"`
	ReadOnly       bool            `json:"read_only"`
	Writes         bool            `json:"writes"`
	Checkpointable bool            `json:"checkpointable"`
	SideEffects    bool            `json:"side_effects"`
	Config         string          `json:"config_yaml,omitempty"`
	Bindings       []Binding       `json:"bindings,omitempty"`
	Created        string          `json:"created_at"`
	Updated        string          `json:"updated_at"`
}

// A Binding is a slot of a tool, and how it is filled.
type Binding struct {
	Slot         string `json:"slot_name"`
	ResourceType string `json:"resource_type"`
	Mode         string `json:"binding_mode"`
	Access       string `json:"access_level"`
}

// A Holding is a resource as the registry keeps it.
type Holding struct {
	Name       string `json:"name"`
	Type       string `json:"resource_type"`
	Connection string `json:"connection,omitempty"`
	Config     string `json:"config_yaml,omitempty"`
}

// An Attached is a validation attached to a resource.
type Attached struct {
	ID         string `json:"attachment_id"`
	Resource   string `json:"resource"`
	Validation string `json:"validation_name"` // namespace/short
	Mode       string `json:"mode"`
	// Args are values of further inputs of the validation, by name; of the registry's own attachments.
	Args    map[string]string `json:"args,omitempty"`
	Created string            `json:"created_at"`
}

// Short is the name without its namespace: what clients call.
func (t *Callable) Short() string { return t.Name[strings.IndexByte(t.Name, '/')+1:] }

// Mirrored says that it is the program's or a catalog file's, and not the registry's own.
func (t *Callable) Mirrored() bool {
	ns, _, _ := strings.Cut(t.Name, "/")
	return slices.Contains(mirrored, ns)
}

// check says what is wrong with a callable (C-010, C-011, C-012, C-042); the error is a problem.
func (t *Callable) check() error {
	switch {
	case !callableForm.MatchString(t.Name):
		return invalid("/name", "%s is no name of a tool: namespace/name, such as shop/order.list", problem.Quote(t.Name))
	case !slices.Contains(callableTypes, t.Type):
		return invalid("/tool_type", "%s is no type of a tool: %s", problem.Quote(t.Type), strings.Join(callableTypes, ", "))
	case !slices.Contains(callableSources, t.Source):
		return invalid("/source_type", "%s is no source of a tool: %s", problem.Quote(t.Source), strings.Join(callableSources, ", "))
	case t.ReadOnly && t.Writes:
		return invalid("/writes", "a tool that only reads does not write")
	case t.ReadOnly && t.Checkpointable:
		return invalid("/checkpointable", "a tool that only reads has nothing to take back")
	case t.Type == TypeValidation && !t.ReadOnly:
		return invalid("/read_only", "a validation only reads")
	case t.Checkpointable && !t.Writes:
		return invalid("/checkpointable", "a tool that does not write has nothing to take back")
	}
	for _, b := range t.Bindings {
		switch {
		case b.Slot == "" || b.ResourceType == "":
			return invalid("/bindings", "a slot needs a name and the type of what it takes")
		case !slices.Contains(bindingModes, b.Mode):
			return invalid("/bindings", "%s is no way to fill a slot: %s", problem.Quote(b.Mode), strings.Join(bindingModes, ", "))
		case !slices.Contains(accessLevels, b.Access):
			return invalid("/bindings", "%s is no access to a slot: %s", problem.Quote(b.Access), strings.Join(accessLevels, ", "))
		case b.Access == "read_write" && !t.Writes:
			return invalid("/bindings", "a tool that does not write has no slot with the access read_write")
		}
	}
	return nil
}

func (c *Control) stamp() string { return c.now().UTC().Format("2006-01-02T15:04:05.000000Z07:00") }

// newULID is an id that sorts by its time.
func newULID(now time.Time) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	var raw [16]byte
	_, _ = rand.Read(raw[6:]) // never fails: crypto/rand ends the program instead
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		raw[i] = byte(ms >> (40 - 8*i))
	}
	out := make([]byte, 26)
	for i := range out {
		v := 0
		for b := i*5 - 2; b < i*5+3; b++ {
			v <<= 1
			if b >= 0 {
				v |= int(raw[b/8]>>(7-b%8)) & 1
			}
		}
		out[i] = digits[v]
	}
	return string(out)
}

// HasRegistry says whether the tables of the registry are there: a database that an earlier release made lacks them.
func (c *Control) HasRegistry(ctx context.Context) (bool, error) {
	there, err := c.has(ctx, "validation_attachments")
	return there, c.fault(err)
}

// Callables lists all that the registry keeps, by name. The error is a problem.
func (c *Control) Callables(ctx context.Context) ([]*Callable, error) {
	list, err := c.callables(ctx, c.db, "")
	return list, c.fault(err)
}

// Callable finds one by its name, with or without its namespace. The error is a problem.
func (c *Control) Callable(ctx context.Context, name string) (*Callable, error) {
	list, err := c.callables(ctx, c.db, "")
	if err != nil {
		return nil, c.fault(err)
	}
	for _, t := range list {
		if t.Name == name || t.Short() == name {
			return t, nil
		}
	}
	return nil, missing("tool", name)
}

func (c *Control) callables(ctx context.Context, r runner, name string) ([]*Callable, error) {
	rows, err := c.rows(ctx, r, "SELECT tool_id, name, description, tool_type, source_type, input_schema, output_schema, read_only, writes, checkpointable, side_effects, config_yaml, created_at, updated_at "+
		"FROM tools WHERE name = ? OR ? = '' ORDER BY name", name, name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []*Callable
	of := map[string]*Callable{}
	for rows.Next() {
		t := &Callable{}
		var about, in, out, config sql.NullString
		if err := rows.Scan(&t.ID, &t.Name, &about, &t.Type, &t.Source, &in, &out, &t.ReadOnly, &t.Writes, &t.Checkpointable, &t.SideEffects, &config, &t.Created, &t.Updated); err != nil {
			return nil, err
		}
		t.Description, t.Config = about.String, config.String
		if in.String != "" {
			t.Input = json.RawMessage(in.String)
		}
		if out.String != "" {
			t.Output = json.RawMessage(out.String)
		}
		list, of[t.ID] = append(list, t), t
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if err := rows.Close(); err != nil {
		return nil, err
	}
	slots, err := c.rows(ctx, r, "SELECT tool_id, slot_name, resource_type, binding_mode, access_level FROM tool_bindings ORDER BY tool_id, slot_name")
	if err != nil {
		return nil, err
	}
	defer slots.Close()
	for slots.Next() {
		var id string
		var b Binding
		if err := slots.Scan(&id, &b.Slot, &b.ResourceType, &b.Mode, &b.Access); err != nil {
			return nil, err
		}
		if t := of[id]; t != nil {
			t.Bindings = append(t.Bindings, b)
		}
	}
	return list, slots.Err()
}

// put writes a callable that is not there, or that is another one.
func (c *Control) put(ctx context.Context, tx *sql.Tx, t *Callable, there *Callable) error {
	now := c.stamp()
	var err error
	if there == nil {
		_, err = c.exec(ctx, tx, "INSERT INTO tools (tool_id, name, description, tool_type, source_type, input_schema, output_schema, read_only, writes, checkpointable, side_effects, config_yaml, created_at, updated_at) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", t.ID, t.Name, nullable(t.Description), t.Type, t.Source, nullable(string(t.Input)), nullable(string(t.Output)),
			t.ReadOnly, t.Writes, t.Checkpointable, t.SideEffects, nullable(t.Config), now, now)
	} else {
		t.ID = there.ID
		_, err = c.exec(ctx, tx, "UPDATE tools SET description = ?, tool_type = ?, source_type = ?, input_schema = ?, output_schema = ?, read_only = ?, writes = ?, checkpointable = ?, side_effects = ?, config_yaml = ?, updated_at = ? "+
			"WHERE tool_id = ?", nullable(t.Description), t.Type, t.Source, nullable(string(t.Input)), nullable(string(t.Output)), t.ReadOnly, t.Writes, t.Checkpointable, t.SideEffects, nullable(t.Config), now, t.ID)
		if err == nil {
			_, err = c.exec(ctx, tx, "DELETE FROM tool_bindings WHERE tool_id = ?", t.ID)
		}
	}
	if err != nil {
		return err
	}
	for _, b := range t.Bindings {
		if _, err := c.exec(ctx, tx, "INSERT INTO tool_bindings (binding_id, tool_id, slot_name, resource_type, binding_mode, access_level, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
			schema.StableID("binding\x00"+t.ID+"\x00"+b.Slot), t.ID, b.Slot, b.ResourceType, b.Mode, b.Access, now); err != nil {
			return err
		}
	}
	return nil
}

// AddCallable keeps a tool or a validation that no file declares. One whose short name is taken is refused, whatever its
// namespace: clients know it by that name alone. The error is a problem.
func (c *Control) AddCallable(ctx context.Context, t Callable) (*Callable, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if t.Mirrored() {
		return nil, invalid("/name", "the namespaces %s are those of the program and of catalog files", strings.Join(mirrored, ", "))
	}
	var made *Callable
	err := c.change(ctx, func(tx *sql.Tx) error {
		list, err := c.callables(ctx, tx, "")
		if err != nil {
			return err
		}
		for _, o := range list {
			if policy.ToolKey(o.Short()) == policy.ToolKey(t.Short()) {
				return &problem.Problem{Code: problem.Conflict, At: "/name", Message: "there is " + problem.Quote(o.Name) + " already, which clients would know by the same name", Hint: "name it otherwise"}
			}
		}
		t.ID = newULID(c.now())
		if err := c.put(ctx, tx, &t, nil); err != nil {
			return err
		}
		list, err = c.callables(ctx, tx, t.Name)
		if err == nil {
			made = list[0]
		}
		return err
	})
	return made, err
}

// RemoveCallable takes a tool or a validation out of the registry; a validation is detached everywhere with it (C-025).
// What a file declares is not the registry's to remove. The error is a problem.
func (c *Control) RemoveCallable(ctx context.Context, name string) (*Callable, error) {
	var gone *Callable
	err := c.change(ctx, func(tx *sql.Tx) error {
		list, err := c.callables(ctx, tx, name)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return missing("tool", name)
		}
		if gone = list[0]; gone.Mirrored() {
			return invalid("/name", "%s is declared by the program or a catalog file, and goes with it", problem.Quote(name))
		}
		if _, err := c.exec(ctx, tx, "DELETE FROM validation_attachments WHERE validation_name = ?", name); err != nil {
			return err
		}
		_, err = c.exec(ctx, tx, "DELETE FROM tools WHERE tool_id = ?", gone.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}

// Holdings lists the resources that the registry keeps, by name. The error is a problem.
func (c *Control) Holdings(ctx context.Context) ([]Holding, error) {
	rows, err := c.rows(ctx, c.db, "SELECT name, resource_type, connection, config_yaml FROM resources ORDER BY name")
	if err != nil {
		return nil, c.fault(err)
	}
	defer rows.Close()
	list := []Holding{}
	for rows.Next() {
		var h Holding
		var connection, config sql.NullString
		if err := rows.Scan(&h.Name, &h.Type, &connection, &config); err != nil {
			return nil, c.fault(err)
		}
		h.Connection, h.Config = connection.String, config.String
		list = append(list, h)
	}
	return list, c.fault(rows.Err())
}
