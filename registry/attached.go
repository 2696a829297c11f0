package registry

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"resq/schema"
	"resq/schema/problem"
)

// Attachments lists which validations are attached to which resources. The error is a problem.
func (c *Control) Attachments(ctx context.Context) ([]Attached, error) {
	list, err := c.attachments(ctx, c.db)
	if err != nil {
		return nil, c.fault(err)
	}
	if there, err := c.has(ctx, "resq_attachment_args"); err != nil || !there { // an earlier release made the database
		return list, c.fault(err)
	}
	rows, err := c.rows(ctx, c.db, "SELECT attachment_id, args FROM resq_attachment_args")
	if err != nil {
		return nil, c.fault(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			return nil, c.fault(err)
		}
		for i := range list {
			if list[i].ID != id {
				continue
			}
			if err := json.Unmarshal([]byte(text), &list[i].Args); err != nil {
				return nil, c.fault(err)
			}
		}
	}
	return list, c.fault(rows.Err())
}

func (c *Control) attachments(ctx context.Context, r runner) ([]Attached, error) {
	rows, err := c.rows(ctx, r, "SELECT a.attachment_id, r.name, a.validation_name, a.mode, a.created_at FROM validation_attachments a JOIN resources r ON r.resource_id = a.resource_id ORDER BY r.name, a.mode, a.validation_name")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []Attached{}
	for rows.Next() {
		var a Attached
		if err := rows.Scan(&a.ID, &a.Resource, &a.Validation, &a.Mode, &a.Created); err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, rows.Err()
}

// Short is the name of the validation without its namespace.
func (a *Attached) Short() string { return a.Validation[strings.IndexByte(a.Validation, '/')+1:] }

// Declared says that an attachment is a catalog file's.
func (a *Attached) Declared() bool { return a.ID == schema.AttachmentID(a.Resource, a.Short()) }

// Attach attaches a validation to a resource, with values of further inputs; mode "" is required. Both must be known to the registry, which a server
// tells of those of its files. The error is a problem.
func (c *Control) Attach(ctx context.Context, resource, validation, mode string, args map[string]string) (*Attached, error) {
	if mode == "" {
		mode = attachModes[0]
	}
	if !slices.Contains(attachModes, mode) {
		return nil, invalid("/mode", "%s is no mode: %s", problem.Quote(mode), strings.Join(attachModes, ", "))
	}
	var made *Attached
	err := c.change(ctx, func(tx *sql.Tx) error {
		list, err := c.callables(ctx, tx, "")
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(t *Callable) bool {
			return t.Type == TypeValidation && (t.Name == validation || t.Short() == validation)
		})
		if i < 0 {
			return missing("validation", validation)
		}
		var id string
		if err := c.row(ctx, tx, "SELECT resource_id FROM resources WHERE name = ?", resource).Scan(&id); errors.Is(err, sql.ErrNoRows) {
			return missing("resource", resource)
		} else if err != nil {
			return err
		}
		var n int
		if err := c.row(ctx, tx, "SELECT COUNT(*) FROM validation_attachments WHERE resource_id = ? AND validation_name = ?", id, list[i].Name).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return &problem.Problem{Code: problem.Conflict, Message: "the validation " + problem.Quote(list[i].Name) + " is attached to " + problem.Quote(resource) + " already"}
		}
		made = &Attached{ID: newULID(c.now()), Resource: resource, Validation: list[i].Name, Mode: mode, Args: args, Created: c.stamp()}
		_, err = c.exec(ctx, tx, "INSERT INTO validation_attachments (attachment_id, resource_id, validation_name, mode, created_at) VALUES (?, ?, ?, ?, ?)", made.ID, id, made.Validation, made.Mode, made.Created)
		if err != nil || len(args) == 0 {
			return err
		}
		text, err := json.Marshal(args)
		if err != nil {
			return err
		}
		_, err = c.exec(ctx, tx, "INSERT INTO resq_attachment_args (attachment_id, args) VALUES (?, ?)", made.ID, string(text))
		return err
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// Detach takes an attachment back that no file declares. The error is a problem.
func (c *Control) Detach(ctx context.Context, id string) (*Attached, error) {
	var gone *Attached
	err := c.change(ctx, func(tx *sql.Tx) error {
		list, err := c.attachments(ctx, tx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(a Attached) bool { return a.ID == id })
		if i < 0 {
			return missing("attachment", id)
		}
		if gone = &list[i]; gone.Declared() {
			return invalid("/attachment_id", "the attachment is declared in a catalog file, and goes with it")
		}
		_, err = c.exec(ctx, tx, "DELETE FROM validation_attachments WHERE attachment_id = ?", id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}
