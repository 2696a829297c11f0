package registry

import (
	"context"
	"database/sql"
	"time"

	"resq/schema/problem"
)

// ExpireKey gives a key another end, which is to come; the zero time is never. A key that was revoked stays so. The error
// is a problem.
func (c *Control) ExpireKey(ctx context.Context, id int64, end time.Time) (k *Key, err error) {
	if !end.IsZero() && !end.After(c.now()) {
		return nil, invalid("/expires", "a key ends in the future; resq keys disable closes it now")
	}
	err = c.change(ctx, func(tx *sql.Tx) error {
		if k, err = c.key(ctx, tx, id); err != nil {
			return err
		}
		if k.State == StateRevoked {
			return &problem.Problem{Code: problem.Conflict, Message: "the key was revoked, which is for good", Hint: "make another one"}
		}
		if _, err := c.exec(ctx, tx, "UPDATE agent_api_key SET expire_time = ?, modify_time = ? WHERE id = ?", moment{end}, moment{c.now()}, id); err != nil {
			return err
		}
		k, err = c.key(ctx, tx, id)
		return err
	})
	return k, err
}
