package registry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"resq/schema/problem"
	"resq/schema/query"
)

// DefaultPrefix begins keys where the configuration names no other.
const DefaultPrefix = "resq_"

var prefixForm = regexp.MustCompile(`^[a-z][a-z0-9]{1,14}_$`)

// CheckPrefix says what is wrong with a prefix of keys.
func CheckPrefix(prefix string) error {
	if !prefixForm.MatchString(prefix) {
		return fmt.Errorf("the prefix %s of keys is not two to fifteen small letters and digits with an underscore behind them, such as %s", problem.Quote(prefix), DefaultPrefix)
	}
	return nil
}

// The bounds of what a key is described by.
const (
	maxName   = 190 // characters
	maxUser   = 64
	maxScopes = 100
	maxKey    = 256 // bytes of a key that is looked up
	shownKey  = 4   // characters behind the prefix by which people tell keys apart
)

// What stands in the column status.
const (
	statusDisabled = 0
	statusActive   = 1
	statusRevoked  = 2
)

// The states of a key.
const (
	StateActive   = "active"
	StateDisabled = "disabled" // for now
	StateExpired  = "expired"
	StateRevoked  = "revoked" // for good
)

// A Key is what is known of a key beside the key itself.
type Key struct {
	ID        int64      `json:"id"`
	Prefix    string     `json:"prefix"` // its first characters
	KeyID     string     `json:"key_id"` // by which logs and the audit name it
	Name      string     `json:"name"`
	User      string     `json:"user_id,omitempty"`   // whose rows it sees
	Principal string     `json:"principal,omitempty"` // of the configuration, whose attributes it has
	State     string     `json:"state"`
	Scopes    []string   `json:"scopes"` // codes
	Expires   *time.Time `json:"expire_time,omitempty"`
	LastUsed  *time.Time `json:"last_used_time,omitempty"` // to the minute
	Created   time.Time  `json:"create_time"`
	Modified  *time.Time `json:"modify_time,omitempty"`
}

// A NewKey is what a key is made with.
type NewKey struct {
	Name      string
	User      string
	Principal string
	Scopes    []string  // codes of scopes that there are
	Expires   time.Time // the zero time is never
}

func (n *NewKey) check(now time.Time) error {
	for _, f := range []struct {
		at, text string
		most     int
	}{{"/name", n.Name, maxName}, {"/user_id", n.User, maxUser}, {"/principal", n.Principal, maxName}} {
		if utf8.RuneCountInString(f.text) > f.most || !utf8.ValidString(f.text) || strings.ContainsFunc(f.text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return invalid(f.at, "this is longer than %d characters, or holds some that cannot be shown", f.most)
		}
	}
	whole, isWhole := query.Whole(n.User)
	switch {
	// Two spellings of one id would be two users with the same rows, neither of whom finds what the other began.
	case strings.TrimSpace(n.User) != n.User:
		return invalid("/user_id", "an id does not begin or end with a blank")
	case isWhole && strconv.FormatInt(whole, 10) != n.User:
		return invalid("/user_id", "a whole number is written without leading zeros, sign or fraction: %d", whole)
	case strings.TrimSpace(n.Name) == "":
		return invalid("/name", "a key needs a name that says what it is for")
	case len(n.Scopes) > maxScopes:
		return invalid("/scopes", "a key has at most %d scopes", maxScopes)
	case !n.Expires.IsZero() && !n.Expires.After(now):
		return invalid("/expire_time", "the key would have expired already")
	}
	return nil
}

func invalid(at, format string, args ...any) error {
	return &problem.Problem{Code: problem.InvalidArgument, At: at, Message: fmt.Sprintf(format, args...)}
}

func missing(what, name string) error {
	return &problem.Problem{Code: problem.NotFound, Message: "there is no " + what + " " + problem.Quote(name)}
}

// sumOf is what a key is looked up by.
func sumOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// idOf is how logs name the key of a sum.
func idOf(sum string) string { return sum[:12] }

// CreateKey makes a key and gives it, this once as it is. The error is a problem.
func (c *Control) CreateKey(ctx context.Context, n NewKey) (*Key, string, error) {
	var made *Key
	var plain string
	if err := n.check(c.now()); err != nil {
		return nil, "", err
	}
	err := c.change(ctx, func(tx *sql.Tx) (err error) {
		made, plain, err = c.createKey(ctx, tx, n)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return made, plain, nil
}

func (c *Control) createKey(ctx context.Context, tx *sql.Tx, n NewKey) (*Key, string, error) {
	plain := c.prefix + rand.Text() + rand.Text() // 260 random bits
	sum := sumOf(plain)
	id, err := c.insert(ctx, tx, "INSERT INTO agent_api_key (ak_sha256, ak_cipher, ak_prefix, name, user_id, principal, status, expire_time, create_time) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?)",
		sum, c.seal(plain, sum), plain[:len(c.prefix)+shownKey], n.Name, nullable(n.User), nullable(n.Principal), moment{n.Expires}, moment{c.now()})
	if err != nil {
		return nil, "", err
	}
	if err := c.bindScopes(ctx, tx, id, n.Scopes); err != nil {
		return nil, "", err
	}
	k, err := c.key(ctx, tx, id)
	return k, plain, err
}

// bindScopes gives a key scopes, by their codes. Those that it has already stay.
func (c *Control) bindScopes(ctx context.Context, tx *sql.Tx, id int64, codes []string) error {
	for i, code := range codes {
		scope, err := c.scopeID(ctx, tx, code)
		if err != nil {
			var p *problem.Problem
			if errors.As(err, &p) && p.Code == problem.NotFound {
				return invalid("/scopes/"+strconv.Itoa(i), "there is no scope %s", problem.Quote(code))
			}
			return err
		}
		var n int
		if err := c.row(ctx, tx, "SELECT COUNT(*) FROM token_scope WHERE token_id = ? AND scope_id = ?", id, scope).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		if _, err := c.exec(ctx, tx, "INSERT INTO token_scope (token_id, scope_id, create_time) VALUES (?, ?, ?)", id, scope, moment{c.now()}); err != nil {
			return err
		}
	}
	return nil
}

const keyColumns = "SELECT id, ak_sha256, ak_prefix, name, user_id, principal, status, expire_time, last_used_time, create_time, modify_time FROM agent_api_key"

// scanKey reads a row of keyColumns, without its scopes.
func (c *Control) scanKey(row interface{ Scan(...any) error }) (*Key, error) {
	var k Key
	var sum string
	var user, principal sql.NullString
	var status int
	var expires, used, created, modified moment
	if err := row.Scan(&k.ID, &sum, &k.Prefix, &k.Name, &user, &principal, &status, &expires, &used, &created, &modified); err != nil {
		return nil, err
	}
	if len(sum) < 12 {
		return nil, fmt.Errorf("the row %d of agent_api_key has no sum", k.ID)
	}
	k.KeyID, k.User, k.Principal, k.Created, k.Scopes = idOf(sum), user.String, principal.String, created.Time, []string{}
	for to, from := range map[**time.Time]moment{&k.Expires: expires, &k.LastUsed: used, &k.Modified: modified} {
		if t := from.Time; !t.IsZero() {
			*to = &t
		}
	}
	k.State = stateOf(status, expires.Time, c.now())
	return &k, nil
}

func stateOf(status int, expires, now time.Time) string {
	switch {
	case status == statusRevoked:
		return StateRevoked
	case status != statusActive:
		return StateDisabled
	case !expires.IsZero() && !expires.After(now):
		return StateExpired
	}
	return StateActive
}

func (c *Control) key(ctx context.Context, r runner, id int64) (*Key, error) {
	k, err := c.scanKey(c.row(ctx, r, keyColumns+" WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, missing("key", strconv.FormatInt(id, 10))
	}
	if err != nil {
		return nil, err
	}
	return k, c.readScopes(ctx, r, []*Key{k})
}

// readScopes fills in the scopes of keys.
func (c *Control) readScopes(ctx context.Context, r runner, keys []*Key) error {
	if len(keys) == 0 {
		return nil
	}
	of := map[int64]*Key{}
	var ids []any
	for _, k := range keys {
		of[k.ID] = k
		ids = append(ids, k.ID)
	}
	rows, err := c.rows(ctx, r, "SELECT t.token_id, s.scope_code FROM token_scope t JOIN agent_scope s ON s.id = t.scope_id WHERE t.token_id IN ("+marks(len(ids))+") ORDER BY s.scope_code", ids...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var code string
		if err := rows.Scan(&id, &code); err != nil {
			return err
		}
		of[id].Scopes = append(of[id].Scopes, code)
	}
	return rows.Err()
}

// Key gives what is known of a key. The error is a problem.
func (c *Control) Key(ctx context.Context, id int64) (*Key, error) {
	k, err := c.key(ctx, c.db, id)
	return k, c.fault(err)
}

// A KeyFilter says which keys are listed.
type KeyFilter struct {
	User  string // of one user; "" is of all
	After int64  // those with greater ids
	Limit int    // 0 is 100; the most is 1000
}

// Keys lists keys in the order in which they were made. The error is a problem.
func (c *Control) Keys(ctx context.Context, f KeyFilter) ([]*Key, error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	text, args := keyColumns+" WHERE id > ?", []any{f.After}
	if f.User != "" {
		text, args = text+" AND user_id = ?", append(args, f.User)
	}
	rows, err := c.rows(ctx, c.db, text+" ORDER BY id LIMIT ?", append(args, min(f.Limit, 1000))...)
	if err != nil {
		return nil, c.fault(err)
	}
	list := []*Key{}
	for rows.Next() {
		k, err := c.scanKey(rows)
		if err != nil {
			return nil, c.fault(errors.Join(err, rows.Close()))
		}
		list = append(list, k)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil { // closed before the next query: SQLite has one connection
		return nil, c.fault(err)
	}
	return list, c.fault(c.readScopes(ctx, c.db, list))
}

// HasKeys says whether there is any key, in whatever state: a server whose last key was revoked still asks for one.
func (c *Control) HasKeys(ctx context.Context) (bool, error) {
	var n int
	err := c.row(ctx, c.db, "SELECT COUNT(*) FROM (SELECT id FROM agent_api_key LIMIT 1) k").Scan(&n)
	return n > 0, c.fault(err)
}

// Reveal gives a key as it is, to be shown to an admin again. The error is a problem; a key that was sealed with a
// secret which nobody has any more cannot be shown, and still opens the server.
func (c *Control) Reveal(ctx context.Context, id int64) (string, error) {
	var sum, sealed string
	err := c.row(ctx, c.db, "SELECT ak_sha256, ak_cipher FROM agent_api_key WHERE id = ?", id).Scan(&sum, &sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return "", missing("key", strconv.FormatInt(id, 10))
	}
	if err != nil {
		return "", c.fault(err)
	}
	plain, err := c.unseal(sealed, sum)
	if err != nil || subtle.ConstantTimeCompare([]byte(sumOf(plain)), []byte(sum)) != 1 {
		return "", &problem.Problem{Code: problem.DataError, Message: "the key cannot be shown: it was sealed with a secret that this server does not have", Hint: "name the earlier secret under previousSecrets, or rotate the key"}
	}
	return plain, nil
}

// EnableKey and DisableKey open and close a key for a while; RevokeKey closes it for good. The error is a problem.
func (c *Control) EnableKey(ctx context.Context, id int64) (*Key, error) {
	return c.setStatus(ctx, id, statusActive)
}

// DisableKey is told with EnableKey.
func (c *Control) DisableKey(ctx context.Context, id int64) (*Key, error) {
	return c.setStatus(ctx, id, statusDisabled)
}

// RevokeKey is told with EnableKey.
func (c *Control) RevokeKey(ctx context.Context, id int64) (*Key, error) {
	return c.setStatus(ctx, id, statusRevoked)
}

func (c *Control) setStatus(ctx context.Context, id int64, status int) (k *Key, err error) {
	err = c.change(ctx, func(tx *sql.Tx) error {
		if k, err = c.key(ctx, tx, id); err != nil {
			return err
		}
		if k.State == StateRevoked && status != statusRevoked {
			return &problem.Problem{Code: problem.Conflict, Message: "the key was revoked, which is for good", Hint: "make another one"}
		}
		if _, err := c.exec(ctx, tx, "UPDATE agent_api_key SET status = ?, modify_time = ? WHERE id = ?", status, moment{c.now()}, id); err != nil {
			return err
		}
		k, err = c.key(ctx, tx, id)
		return err
	})
	return k, err
}

// RotateKey makes a key that takes the place of another one, which must be active: same name, owner, scopes and end, so that
// nobody has by it what the other one did not give. The other one is good for as long as grace says, or not any more. It
// gives the new key as it is. The error is a problem.
func (c *Control) RotateKey(ctx context.Context, id int64, grace time.Duration) (k *Key, plain string, err error) {
	if grace < 0 {
		return nil, "", invalid("/grace", "a time cannot be below zero")
	}
	err = c.change(ctx, func(tx *sql.Tx) error {
		old, err := c.key(ctx, tx, id)
		if err != nil {
			return err
		}
		switch old.State {
		case StateRevoked:
			return &problem.Problem{Code: problem.Conflict, Message: "the key was revoked, which is for good", Hint: "make another one"}
		case StateExpired:
			return &problem.Problem{Code: problem.Conflict, Message: "the key has expired, and one in its place would have as well", Hint: "make another one"}
		case StateDisabled:
			return &problem.Problem{Code: problem.Conflict, Message: "the key is disabled, and one in its place would be active", Hint: "enable it first, or make another one"}
		}
		n := NewKey{Name: old.Name, User: old.User, Principal: old.Principal, Scopes: old.Scopes}
		if old.Expires != nil {
			n.Expires = *old.Expires
		}
		if k, plain, err = c.createKey(ctx, tx, n); err != nil {
			return err
		}
		if grace == 0 {
			_, err = c.exec(ctx, tx, "UPDATE agent_api_key SET status = 2, modify_time = ? WHERE id = ?", moment{c.now()}, id)
			return err
		}
		if end := c.now().Add(grace); old.Expires == nil || old.Expires.After(end) {
			_, err = c.exec(ctx, tx, "UPDATE agent_api_key SET expire_time = ?, modify_time = ? WHERE id = ?", moment{end}, moment{c.now()}, id)
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return k, plain, nil
}

// BindKey gives a key further scopes, and UnbindKey takes some away. The error is a problem.
func (c *Control) BindKey(ctx context.Context, id int64, codes ...string) (k *Key, err error) {
	err = c.change(ctx, func(tx *sql.Tx) error {
		if _, err := c.key(ctx, tx, id); err != nil {
			return err
		}
		if err := c.bindScopes(ctx, tx, id, codes); err != nil {
			return err
		}
		k, err = c.key(ctx, tx, id)
		return err
	})
	return k, err
}

// UnbindKey is told with BindKey.
func (c *Control) UnbindKey(ctx context.Context, id int64, codes ...string) (k *Key, err error) {
	err = c.change(ctx, func(tx *sql.Tx) error {
		if k, err = c.key(ctx, tx, id); err != nil {
			return err
		}
		for i, code := range codes {
			if !slices.Contains(k.Scopes, code) {
				return invalid("/scopes/"+strconv.Itoa(i), "the key does not have the scope %s", problem.Quote(code))
			}
			scope, err := c.scopeID(ctx, tx, code)
			if err != nil {
				return err
			}
			if _, err := c.exec(ctx, tx, "DELETE FROM token_scope WHERE token_id = ? AND scope_id = ?", id, scope); err != nil {
				return err
			}
		}
		k, err = c.key(ctx, tx, id)
		return err
	})
	return k, err
}

// SetKeyScopes gives a key these scopes and no others. The error is a problem.
func (c *Control) SetKeyScopes(ctx context.Context, id int64, codes []string) (k *Key, err error) {
	if len(codes) > maxScopes {
		return nil, invalid("/scopes", "a key has at most %d scopes", maxScopes)
	}
	err = c.change(ctx, func(tx *sql.Tx) error {
		if _, err := c.key(ctx, tx, id); err != nil {
			return err
		}
		if _, err := c.exec(ctx, tx, "DELETE FROM token_scope WHERE token_id = ?", id); err != nil {
			return err
		}
		if err := c.bindScopes(ctx, tx, id, codes); err != nil {
			return err
		}
		k, err = c.key(ctx, tx, id)
		return err
	})
	return k, err
}

// An Owner is whose a key is, and which tools its scopes open.
type Owner struct {
	ID        int64
	KeyID     string
	Name      string
	User      string
	Principal string
	Tools     []string  // of all its scopes that are not disabled, sorted; empty is none
	Codes     []string  // of these scopes, sorted
	Bound     time.Time // when a scope was bound to it last, or a binding changed; zero is never
	expires   time.Time
}

// owner looks a key up by its sum. It gives nil for one that is not there or not active.
func (c *Control) owner(ctx context.Context, sum string) (*Owner, error) {
	var found string
	var user, principal sql.NullString
	var status int
	var expires moment
	o := &Owner{KeyID: idOf(sum)}
	err := c.row(ctx, c.reads, "SELECT id, ak_sha256, name, user_id, principal, status, expire_time FROM agent_api_key WHERE ak_sha256 = ?", sum).
		Scan(&o.ID, &found, &o.Name, &user, &principal, &status, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(found), []byte(sum)) != 1 || stateOf(status, expires.Time, c.now()) != StateActive {
		return nil, nil
	}
	o.User, o.Principal, o.expires = user.String, principal.String, expires.Time
	rows, err := c.rows(ctx, c.reads, "SELECT s.scope_code, s.status, t.create_time, t.modify_time, x.tool_name FROM token_scope t JOIN agent_scope s ON s.id = t.scope_id LEFT JOIN agent_scope_tool x ON x.scope_id = s.id WHERE t.token_id = ?", o.ID)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var code string
		var status int
		var created, modified moment
		var tool sql.NullString
		if err := rows.Scan(&code, &status, &created, &modified, &tool); err != nil {
			return nil, err
		}
		if modified.IsZero() {
			modified = created
		}
		if modified.After(o.Bound) {
			o.Bound = modified.Time
		}
		if status != 1 {
			continue
		}
		o.Codes = append(o.Codes, code)
		if tool.Valid {
			o.Tools = append(o.Tools, tool.String)
		}
	}
	slices.Sort(o.Codes)
	slices.Sort(o.Tools)
	o.Codes, o.Tools = slices.Compact(o.Codes), slices.Compact(o.Tools)
	return o, rows.Err()
}

// Owner gives whose the key of a number is. The error is a problem, also for a key that opens nothing.
func (c *Control) Owner(ctx context.Context, id int64) (*Owner, error) {
	k, err := c.Key(ctx, id)
	if err != nil {
		return nil, err
	}
	var sum string
	if err := c.row(ctx, c.db, "SELECT ak_sha256 FROM agent_api_key WHERE id = ?", id).Scan(&sum); err != nil {
		return nil, c.fault(err)
	}
	o, err := c.owner(ctx, sum)
	if err != nil {
		return nil, c.fault(err)
	}
	if o == nil {
		return nil, &problem.Problem{Code: problem.Conflict, Message: fmt.Sprintf("the key %d is %s, so it opens nothing", id, k.State)}
	}
	return o, nil
}

// used keeps when keys were last used, unless another process has kept a later moment.
func (c *Control) used(ctx context.Context, at map[int64]time.Time) error {
	for id, t := range at {
		if _, err := c.exec(ctx, c.db, "UPDATE agent_api_key SET last_used_time = ? WHERE id = ? AND (last_used_time IS NULL OR last_used_time < ?)", moment{t}, id, moment{t}); err != nil {
			return err
		}
	}
	return nil
}
