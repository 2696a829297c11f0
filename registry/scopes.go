package registry

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"resq/engine/policy"
	"resq/schema/problem"
)

// A Scope is a set of tools that keys are given by its code.
type Scope struct {
	Code    string    `json:"scope_code"`
	Name    string    `json:"scope_name"`
	Enabled bool      `json:"enabled"`
	Tools   []string  `json:"tools"`
	Keys    int       `json:"keys"` // that have it
	Created time.Time `json:"create_time"`
}

var (
	scopeForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$`)
	toolForm  = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
)

// CreateScope makes a scope. The error is a problem.
func (c *Control) CreateScope(ctx context.Context, code, name string, tools ...string) (s *Scope, err error) {
	if !scopeForm.MatchString(code) {
		return nil, invalid("/scope_code", "%s is not the code of a scope: up to 64 letters, digits and _ . : -, the first a letter or digit", problem.Quote(code))
	}
	if name == "" {
		name = code
	}
	if utf8.RuneCountInString(name) > maxName || !utf8.ValidString(name) {
		return nil, invalid("/scope_name", "the name is longer than %d characters", maxName)
	}
	err = c.change(ctx, func(tx *sql.Tx) error {
		switch _, err := c.scopeID(ctx, tx, code); {
		case err == nil:
			return &problem.Problem{Code: problem.Conflict, At: "/scope_code", Message: "there is a scope " + problem.Quote(code) + " already"}
		case !isMissing(err):
			return err
		}
		id, err := c.insert(ctx, tx, "INSERT INTO agent_scope (scope_code, scope_name, status, create_time) VALUES (?, ?, 1, ?)", code, name, moment{c.now()})
		if err != nil {
			return err
		}
		if err := c.addTools(ctx, tx, id, tools); err != nil {
			return err
		}
		s, err = c.scope(ctx, tx, code)
		return err
	})
	return s, err
}

func isMissing(err error) bool {
	var p *problem.Problem
	return errors.As(err, &p) && p.Code == problem.NotFound
}

func (c *Control) scopeID(ctx context.Context, r runner, code string) (id int64, err error) {
	err = c.row(ctx, r, "SELECT id FROM agent_scope WHERE scope_code = ?", code).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, missing("scope", code)
	}
	return id, err
}

func (c *Control) addTools(ctx context.Context, tx *sql.Tx, scope int64, tools []string) error {
	for i, tool := range tools {
		if !toolForm.MatchString(tool) {
			return invalid("/tools/"+strconv.Itoa(i), "%s is not the name of a tool", problem.Quote(tool))
		}
		var n int
		if err := c.row(ctx, tx, "SELECT COUNT(*) FROM agent_scope_tool WHERE scope_id = ? AND tool_name = ?", scope, tool).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		if _, err := c.exec(ctx, tx, "INSERT INTO agent_scope_tool (scope_id, tool_name) VALUES (?, ?)", scope, tool); err != nil {
			return err
		}
	}
	return nil
}

// changeScope changes a scope that there is, and gives what it is then.
func (c *Control) changeScope(ctx context.Context, code string, do func(tx *sql.Tx, id int64) error) (s *Scope, err error) {
	err = c.change(ctx, func(tx *sql.Tx) error {
		id, err := c.scopeID(ctx, tx, code)
		if err != nil {
			return err
		}
		if err := do(tx, id); err != nil {
			return err
		}
		if _, err := c.exec(ctx, tx, "UPDATE agent_scope SET modify_time = ? WHERE id = ?", moment{c.now()}, id); err != nil {
			return err
		}
		s, err = c.scope(ctx, tx, code)
		return err
	})
	return s, err
}

// AddTools puts tools into a scope, RemoveTools takes some out, and SetTools says which it has. A tool need not be
// there yet. The error is a problem.
func (c *Control) AddTools(ctx context.Context, code string, tools ...string) (*Scope, error) {
	return c.changeScope(ctx, code, func(tx *sql.Tx, id int64) error { return c.addTools(ctx, tx, id, tools) })
}

// RemoveTools is told with AddTools.
func (c *Control) RemoveTools(ctx context.Context, code string, tools ...string) (*Scope, error) {
	return c.changeScope(ctx, code, func(tx *sql.Tx, id int64) error {
		for i, tool := range tools {
			n, err := c.exec(ctx, tx, "DELETE FROM agent_scope_tool WHERE scope_id = ? AND tool_name = ?", id, tool)
			if err != nil {
				return err
			}
			if n == 0 {
				return invalid("/tools/"+strconv.Itoa(i), "the scope has no tool %s", problem.Quote(tool))
			}
		}
		return nil
	})
}

// CheckTools fails for names of tools, in either spelling, that no server has loaded so far, and names those: a scope with
// a misspelt tool opens nothing of what was meant, and says nothing of it. Before a first server has told of its tools
// every name passes. The error is a problem.
func (c *Control) CheckTools(ctx context.Context, tools []string) error {
	known, err := c.Tools(ctx)
	if err != nil || len(known) == 0 {
		return err
	}
	names, there := make([]string, len(known)), map[string]bool{}
	for i, t := range known {
		names[i] = t.Name
		there[policy.ToolKey(t.Name)] = true
	}
	var first *problem.Problem
	var strange []string
	for i, tool := range tools {
		if there[policy.ToolKey(tool)] {
			continue
		}
		if strange = append(strange, problem.Quote(tool)); first == nil {
			first = &problem.Problem{Code: problem.InvalidArgument, At: "/tools/" + strconv.Itoa(i), Hint: problem.OneOf(tool, names)}
		}
	}
	if first == nil {
		return nil
	}
	first.Message = "no server has loaded " + strings.Join(strange[:min(len(strange), 10)], ", ")
	if more := len(strange) - 10; more > 0 {
		first.Message += " and " + strconv.Itoa(more) + " others"
	}
	return first
}

// SetTools is told with AddTools.
func (c *Control) SetTools(ctx context.Context, code string, tools []string) (*Scope, error) {
	return c.changeScope(ctx, code, func(tx *sql.Tx, id int64) error {
		if _, err := c.exec(ctx, tx, "DELETE FROM agent_scope_tool WHERE scope_id = ?", id); err != nil {
			return err
		}
		return c.addTools(ctx, tx, id, tools)
	})
}

// EnableScope says whether a scope opens its tools to the keys that have it. The error is a problem.
func (c *Control) EnableScope(ctx context.Context, code string, enabled bool) (*Scope, error) {
	return c.changeScope(ctx, code, func(tx *sql.Tx, id int64) error {
		_, err := c.exec(ctx, tx, "UPDATE agent_scope SET status = ? WHERE id = ?", bit(enabled), id)
		return err
	})
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Scope gives one scope. The error is a problem.
func (c *Control) Scope(ctx context.Context, code string) (*Scope, error) {
	s, err := c.scope(ctx, c.db, code)
	return s, c.fault(err)
}

func (c *Control) scope(ctx context.Context, r runner, code string) (*Scope, error) {
	list, err := c.scopes(ctx, r, code)
	if err == nil && len(list) == 0 {
		err = missing("scope", code)
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// Scopes lists every scope by its code. The error is a problem.
func (c *Control) Scopes(ctx context.Context) ([]*Scope, error) {
	list, err := c.scopes(ctx, c.db, "")
	return list, c.fault(err)
}

// scopes reads one scope, or all.
func (c *Control) scopes(ctx context.Context, r runner, code string) ([]*Scope, error) {
	where, args := "", []any{}
	if code != "" {
		where, args = " WHERE s.scope_code = ?", append(args, code)
	}
	list, of := []*Scope{}, map[int64]*Scope{}
	rows, err := c.rows(ctx, r, "SELECT s.id, s.scope_code, s.scope_name, s.status, s.create_time, (SELECT COUNT(*) FROM token_scope t WHERE t.scope_id = s.id) FROM agent_scope s"+where+" ORDER BY s.scope_code", args...)
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		s := &Scope{Tools: []string{}}
		var id int64
		var status int
		var created moment
		if err := rows.Scan(&id, &s.Code, &s.Name, &status, &created, &s.Keys); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		s.Enabled, s.Created = status == statusActive, created.Time
		list, of[id] = append(list, s), s
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	rows, err = c.rows(ctx, r, "SELECT x.scope_id, x.tool_name FROM agent_scope_tool x JOIN agent_scope s ON s.id = x.scope_id"+where+" ORDER BY x.tool_name", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var tool string
		if err := rows.Scan(&id, &tool); err != nil {
			return nil, err
		}
		if s := of[id]; s != nil { // a scope that came after the first query
			s.Tools = append(s.Tools, tool)
		}
	}
	return list, rows.Err()
}

// A Tool is one that some server has loaded, as an admin sees it.
type Tool struct {
	Name     string `json:"tool_name"`
	Category string `json:"category,omitempty"`
	Title    string `json:"title,omitempty"`
	Enabled  bool   `json:"enabled"` // for every key
}

// RegisterTools tells of the tools that a server has loaded, so that they can be listed and disabled. What an admin
// decided about a tool stays. Where they are lost later, because the tables were made anew, Run of a Directory tells of them again.
func (c *Control) RegisterTools(ctx context.Context, tools []Tool) error {
	tools = slices.Clone(tools)
	c.loaded.Store(&tools)
	known, err := c.Tools(ctx)
	if err != nil {
		return err
	}
	of := map[string]Tool{}
	for _, t := range known {
		of[t.Name] = t
	}
	insert := "INSERT INTO mcp_tool (tool_name, category, title, enabled, modify_time) VALUES (?, ?, ?, 1, ?) ON CONFLICT (tool_name) DO NOTHING"
	if c.name == inMySQL {
		insert = "INSERT IGNORE INTO mcp_tool (tool_name, category, title, enabled, modify_time) VALUES (?, ?, ?, 1, ?)"
	}
	for _, t := range tools {
		was, there := of[t.Name]
		switch {
		case !there:
			_, err = c.exec(ctx, c.db, insert, t.Name, nullable(t.Category), nullable(cut(t.Title, maxName)), moment{c.now()})
		case was.Category != t.Category || was.Title != cut(t.Title, maxName):
			_, err = c.exec(ctx, c.db, "UPDATE mcp_tool SET category = ?, title = ? WHERE tool_name = ?", nullable(t.Category), nullable(cut(t.Title, maxName)), t.Name)
		}
		if err != nil {
			return c.fault(err)
		}
	}
	return nil
}

// cut gives the first characters of a text.
func cut(s string, most int) string {
	if r := []rune(strings.ToValidUTF8(s, "")); len(r) > most {
		return string(r[:most])
	}
	return strings.ToValidUTF8(s, "")
}

// Tools lists the tools that servers have told of. The error is a problem.
func (c *Control) Tools(ctx context.Context) ([]Tool, error) {
	rows, err := c.rows(ctx, c.db, "SELECT tool_name, category, title, enabled FROM mcp_tool ORDER BY tool_name")
	if err != nil {
		return nil, c.fault(err)
	}
	defer rows.Close()
	list := []Tool{}
	for rows.Next() {
		var t Tool
		var category, title sql.NullString
		var enabled int
		if err := rows.Scan(&t.Name, &category, &title, &enabled); err != nil {
			return nil, c.fault(err)
		}
		t.Category, t.Title, t.Enabled = category.String, title.String, enabled != 0
		list = append(list, t)
	}
	return list, c.fault(rows.Err())
}

// EnableTool says whether a tool can be used at all, by whatever key. The name may be in either spelling. The error is a problem.
func (c *Control) EnableTool(ctx context.Context, name string, enabled bool) (*Tool, error) {
	known, err := c.Tools(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range known {
		if policy.ToolKey(t.Name) == policy.ToolKey(name) {
			name = t.Name
		}
	}
	t := &Tool{Name: name}
	err = c.change(ctx, func(tx *sql.Tx) error {
		var category, title sql.NullString
		err := c.row(ctx, tx, "SELECT category, title FROM mcp_tool WHERE tool_name = ?", name).Scan(&category, &title)
		if errors.Is(err, sql.ErrNoRows) {
			return missing("tool", name)
		}
		if err != nil {
			return err
		}
		t.Category, t.Title, t.Enabled = category.String, title.String, enabled
		_, err = c.exec(ctx, tx, "UPDATE mcp_tool SET enabled = ?, modify_time = ? WHERE tool_name = ?", bit(enabled), moment{c.now()}, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// opens reads which tools each scope opens that is enabled.
func (c *Control) opens(ctx context.Context) (map[string][]string, error) {
	rows, err := c.rows(ctx, c.reads, "SELECT s.scope_code, x.tool_name FROM agent_scope s JOIN agent_scope_tool x ON x.scope_id = s.id WHERE s.status = 1 ORDER BY s.scope_code, x.tool_name")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	tools := map[string][]string{}
	for rows.Next() {
		var code, name string
		if err := rows.Scan(&code, &name); err != nil {
			return nil, err
		}
		tools[code] = append(tools[code], name)
	}
	return tools, rows.Err()
}

// disabled gives the version of the database, and the tools that nobody can use. lost says that there are none of those that
// RegisterTools told of.
func (c *Control) disabled(ctx context.Context) (version int64, names []string, lost bool, err error) {
	if err := c.row(ctx, c.reads, "SELECT version FROM resq_control WHERE id = 1").Scan(&version); err != nil {
		return 0, nil, false, err
	}
	rows, err := c.rows(ctx, c.reads, "SELECT tool_name, enabled FROM mcp_tool ORDER BY tool_name")
	if err != nil {
		return 0, nil, false, err
	}
	defer rows.Close()
	there := map[string]bool{}
	for rows.Next() {
		var name string
		var enabled int
		if err := rows.Scan(&name, &enabled); err != nil {
			return 0, nil, false, err
		}
		if there[name] = true; enabled == 0 {
			names = append(names, name)
		}
	}
	loaded := c.loaded.Load()
	lost = loaded != nil && slices.ContainsFunc(*loaded, func(t Tool) bool { return !there[t.Name] })
	return version, names, lost, rows.Err()
}
