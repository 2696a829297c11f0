package registry

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"resq/schema/problem"
)

// The roles of admins: each may do what those before it may.
const (
	RoleViewer   = "viewer"   // reads
	RoleApprover = "approver" // decides about changes too
	RoleAdmin    = "admin"    // and issues keys
)

// Roles lists the roles of admins, the weakest first.
func Roles() []string { return []string{RoleViewer, RoleApprover, RoleAdmin} }

// An Admin is somebody who may log in to the console.
type Admin struct {
	ID      int64      `json:"id"`
	Name    string     `json:"name"`
	Role    string     `json:"role"`
	Enabled bool       `json:"enabled"`
	TOTP    bool       `json:"totp"` // its logins need a one-time password too
	Created time.Time  `json:"create_time"`
	Login   *time.Time `json:"login_time,omitempty"` // the last one
}

// Is says whether an admin may do what a role may.
func (a *Admin) Is(role string) bool {
	return slices.Index(Roles(), a.Role) >= slices.Index(Roles(), role)
}

// The bounds of a password, in characters and bytes. A sum takes the same time for every length, but reading a long one does not.
const (
	minPassword = 12
	maxPassword = 512
)

// adminName is what a name can be: it is compared with those of principals, and written into the audit.
var adminName = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{0,63}$`)

// Sessions end when nobody used them for a while, and a working day after the login in any case.
const (
	SessionIdle = 30 * time.Minute
	SessionLife = 12 * time.Hour
)

// The cost of a password's sum, that OWASP's password cheat sheet gives as the least for argon2id.
const (
	argonTime   = 2
	argonMemory = 19 << 10 // KiB
	argonLength = 32
	argonForm   = "$argon2id$v=19$m=%d,t=%d,p=1$%s$%s"
)

// argonRoom bounds the sums that are calculated at once, so that logins cannot take all memory.
var argonRoom = make(chan struct{}, 4)

func argonSum(password string, salt []byte, memory, passes uint32, length int) []byte {
	argonRoom <- struct{}{}
	defer func() { <-argonRoom }()
	return argon2.IDKey([]byte(password), salt, passes, memory, 1, uint32(length))
}

// hashPassword gives the form in which a password is kept, which says how it was made.
func hashPassword(password string) string {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails: crypto/rand ends the program instead
	enc := base64.RawStdEncoding
	return fmt.Sprintf(argonForm, argonMemory, argonTime, enc.EncodeToString(salt), enc.EncodeToString(argonSum(password, salt, argonMemory, argonTime, argonLength)))
}

// checkPassword compares a password with one that is kept.
func checkPassword(kept, password string) bool {
	parts := strings.Split(kept, "$")
	if len(parts) != 6 {
		return false
	}
	var memory, passes uint32
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=1", &memory, &passes); err != nil || memory == 0 || memory > 1<<20 || passes == 0 || passes > 100 {
		return false
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	sum, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || err2 != nil || len(sum) == 0 {
		return false
	}
	return subtle.ConstantTimeCompare(argonSum(password, salt, memory, passes, len(sum)), sum) == 1
}

// nobodysPassword is compared with that of a name which there is not, so that both take the same time.
var nobodysPassword = fmt.Sprintf(argonForm, argonMemory, argonTime, base64.RawStdEncoding.EncodeToString(make([]byte, 16)), base64.RawStdEncoding.EncodeToString(make([]byte, argonLength)))

func goodPassword(password string) error {
	if n := utf8.RuneCountInString(password); n < minPassword || len(password) > maxPassword || !utf8.ValidString(password) {
		return invalid("/password", "a password has at least %d characters and at most %d bytes", minPassword, maxPassword)
	}
	return nil
}

// CreateAdmin makes an admin. The error is a problem.
func (c *Control) CreateAdmin(ctx context.Context, name, role, password string) (*Admin, error) {
	switch {
	case !adminName.MatchString(name):
		return nil, invalid("/name", "a name is small letters, digits and . _ @ -, at most 64 of them, and begins with a letter or a digit")
	case !slices.Contains(Roles(), role):
		return nil, &problem.Problem{Code: problem.InvalidArgument, At: "/role", Message: "there is no role " + problem.Quote(role), Hint: problem.OneOf(role, Roles())}
	}
	if err := goodPassword(password); err != nil {
		return nil, err
	}
	kept := hashPassword(password)
	err := c.change(ctx, func(tx *sql.Tx) error {
		var n int
		if err := c.row(ctx, tx, "SELECT COUNT(*) FROM resq_admin WHERE name = ?", name).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return &problem.Problem{Code: problem.Conflict, At: "/name", Message: "there is an admin " + problem.Quote(name) + " already", Hint: "resq admin password gives one another password"}
		}
		_, err := c.exec(ctx, tx, "INSERT INTO resq_admin (name, role, password, status, create_time) VALUES (?, ?, ?, 1, ?)", name, role, kept, moment{c.now()})
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.admin(ctx, "name = ?", name)
}

// flag is a truth as all databases have it.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

const adminColumns = "SELECT id, name, role, status, create_time, login_time, CASE WHEN totp IS NULL THEN 0 ELSE 1 END FROM resq_admin"

func scanAdmin(row interface{ Scan(...any) error }) (*Admin, error) {
	var a Admin
	var status, totp int
	var created, login moment
	if err := row.Scan(&a.ID, &a.Name, &a.Role, &status, &created, &login, &totp); err != nil {
		return nil, err
	}
	a.TOTP = totp == 1
	a.Enabled, a.Created = status == 1, created.Time
	if !login.IsZero() {
		a.Login = &login.Time
	}
	return &a, nil
}

func (c *Control) admin(ctx context.Context, where string, arg any) (*Admin, error) {
	a, err := scanAdmin(c.row(ctx, c.reads, adminColumns+" WHERE "+where, arg))
	return a, c.fault(err)
}

// Admins lists all admins by name. The error is a problem.
func (c *Control) Admins(ctx context.Context) ([]*Admin, error) {
	rows, err := c.rows(ctx, c.reads, adminColumns+" ORDER BY name")
	if err != nil {
		return nil, c.fault(err)
	}
	defer rows.Close()
	list := []*Admin{}
	for rows.Next() {
		a, err := scanAdmin(rows)
		if err != nil {
			return nil, c.fault(err)
		}
		list = append(list, a)
	}
	return list, c.fault(rows.Err())
}

// EnableAdmin lets an admin log in, or no more: then its sessions end. The error is a problem.
func (c *Control) EnableAdmin(ctx context.Context, name string, enabled bool) (*Admin, error) {
	status := 0
	if enabled {
		status = 1
	}
	return c.changeAdmin(ctx, name, "status = ?", status)
}

// SetPassword gives an admin another password and ends its sessions. The error is a problem.
func (c *Control) SetPassword(ctx context.Context, name, password string) (*Admin, error) {
	if err := goodPassword(password); err != nil {
		return nil, err
	}
	return c.changeAdmin(ctx, name, "password = ?", hashPassword(password))
}

func (c *Control) changeAdmin(ctx context.Context, name, set string, value any) (*Admin, error) {
	err := c.change(ctx, func(tx *sql.Tx) error {
		var id int64
		err := c.row(ctx, tx, "SELECT id FROM resq_admin WHERE name = ?", name).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return missing("admin", name)
		}
		if err != nil {
			return err
		}
		if _, err := c.exec(ctx, tx, "UPDATE resq_admin SET "+set+", modify_time = ? WHERE id = ?", value, moment{c.now()}, id); err != nil {
			return err
		}
		_, err = c.exec(ctx, tx, "DELETE FROM resq_admin_session WHERE admin_id = ?", id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.admin(ctx, "name = ?", name)
}

// Login begins a session for a name, its password and the one-time password where it has one, and gives the session's
// token. Whatever is wrong with them, nil comes after the same time and without a reason. The error is a problem.
func (c *Control) Login(ctx context.Context, name, password, code string) (*Admin, string, error) {
	var id, last int64
	var totp sql.NullString
	kept, status := nobodysPassword, 0
	err := c.row(ctx, c.reads, "SELECT id, password, status, totp, totp_step FROM resq_admin WHERE name = ?", name).Scan(&id, &kept, &status, &totp, &last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, "", c.fault(err)
	}
	if good := len(password) <= maxPassword && checkPassword(kept, password); !good || status != 1 {
		return nil, "", nil
	}
	now, step := c.now(), last
	if totp.Valid {
		text, err := c.unseal(totp.String, "totp "+name)
		if err != nil {
			return nil, "", &problem.Problem{Code: problem.ConfigInvalid, Message: "the secret of this login's one-time passwords was sealed with a secret that this server does not have", Hint: "name the earlier secret under previousSecrets, or make another with resq admin totp", Err: err}
		}
		secret, err := totpText.DecodeString(text)
		if err != nil {
			return nil, "", &problem.Problem{Code: problem.DataError, Message: "the secret of this login's one-time passwords cannot be read", Hint: "make another with resq admin totp", Err: err}
		}
		if step = totpMatch(secret, code, now, last); step == 0 {
			return nil, "", nil
		}
	}
	token := rand.Text() + rand.Text()
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, "", c.fault(err)
	}
	defer tx.Rollback() // of no effect after a commit
	// The password is compared again by its sum: it may have been changed while this one was calculated. A one-time password
	// that another login used meanwhile is used up, also where the database counts rows that it leaves as they are.
	n, err := c.exec(ctx, tx, "UPDATE resq_admin SET login_time = ?, totp_step = ? WHERE id = ? AND status = 1 AND password = ? AND totp_step = ? AND (totp = ? OR (totp IS NULL AND ? = 0))",
		moment{now}, step, id, kept, last, totp.String, flag(totp.Valid))
	if err != nil {
		return nil, "", c.fault(err)
	}
	if n == 0 {
		return nil, "", nil
	}
	if _, err := c.exec(ctx, tx, "DELETE FROM resq_admin_session WHERE create_time < ? OR seen_time < ?", moment{now.Add(-SessionLife)}, moment{now.Add(-SessionIdle)}); err != nil {
		return nil, "", c.fault(err)
	}
	if _, err := c.exec(ctx, tx, "INSERT INTO resq_admin_session (token_sha256, admin_id, create_time, seen_time) VALUES (?, ?, ?, ?)", sumOf(token), id, moment{now}, moment{now}); err != nil {
		return nil, "", c.fault(err)
	}
	if err := tx.Commit(); err != nil {
		return nil, "", c.fault(err)
	}
	a, err := c.admin(ctx, "id = ?", id)
	return a, token, err
}

// Session gives the admin of a session's token; nil is none, or one that has ended. active says that somebody used it, which
// a page that looks for news by itself is no sign of. The error is a problem.
func (c *Control) Session(ctx context.Context, token string, active bool) (*Admin, error) {
	if token == "" || len(token) > maxKey {
		return nil, nil
	}
	now, sum := c.now(), sumOf(token)
	var id int64
	var seen moment
	err := c.row(ctx, c.reads, "SELECT admin_id, seen_time FROM resq_admin_session WHERE token_sha256 = ? AND create_time >= ? AND seen_time >= ?",
		sum, moment{now.Add(-SessionLife)}, moment{now.Add(-SessionIdle)}).Scan(&id, &seen)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, c.fault(err)
	}
	a, err := scanAdmin(c.row(ctx, c.reads, adminColumns+" WHERE id = ? AND status = 1", id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, c.fault(err)
	}
	if active && now.Sub(seen.Time) > time.Minute {
		if _, err := c.exec(ctx, c.db, "UPDATE resq_admin_session SET seen_time = ? WHERE token_sha256 = ?", moment{now}, sum); err != nil {
			return nil, c.fault(err)
		}
	}
	return a, nil
}

// Logout ends a session. The error is a problem.
func (c *Control) Logout(ctx context.Context, token string) error {
	_, err := c.exec(ctx, c.db, "DELETE FROM resq_admin_session WHERE token_sha256 = ?", sumOf(token))
	return c.fault(err)
}
