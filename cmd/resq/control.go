package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"resq/access"
	"resq/engine/policy"
	"resq/registry"
)

// A controlConfig says where the control database is, and how its keys are.
type controlConfig struct {
	Named  bool          // the configuration speaks of it or of its keys, so callers are asked for keys though there is none yet
	DSN    string        // "" is a file in the state directory
	Stale  time.Duration // 0 is registry.DefaultStale
	Prefix string        // of new keys
	Admin  string        // SHA-256 of the credential of the HTTP API, in hex; "" is no API
}

// asks says whether callers are asked for keys whatever keys there are. A server whose configuration speaks of keys must
// not open itself to everybody because a table is empty.
func (c *config) asks() bool { return c.Keys.Len() > 0 || c.Control.Named }

// controlFile is the control database's place in a state directory.
const controlFile = "control.sqlite"

// controlDSN is where the control database is.
func (c *config) controlDSN() string {
	if c.Control.DSN != "" {
		return c.Control.DSN
	}
	return "sqlite:" + filepath.Join(stateDir(c.State), controlFile)
}

// openControl opens the control database and brings its tables up to date. Without make, a file in the state
// directory that is not there is none, and nil is given: a server that nobody made keys for needs no database.
func openControl(ctx context.Context, c *config, log *slog.Logger, secret []byte, make bool) (*registry.Control, error) {
	if !make {
		if there, err := controlThere(c); err != nil || !there {
			return nil, err
		}
	}
	ctl, err := bareControl(ctx, c, log, secret)
	if err != nil {
		return nil, err
	}
	if _, err := ctl.Up(ctx); err != nil {
		return nil, failure{errors.Join(err, ctl.Close())}
	}
	return ctl, nil
}

// controlThere says whether there is a control database: one that the configuration names, or a file in the state directory.
func controlThere(c *config) (bool, error) {
	if c.Control.DSN != "" {
		return true, nil
	}
	_, err := os.Stat(filepath.Join(stateDir(c.State), controlFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// bareControl opens the control database as it is.
func bareControl(ctx context.Context, c *config, log *slog.Logger, secret []byte) (*registry.Control, error) {
	if secret == nil {
		return nil, errors.New("the control database needs a secret that lasts: name one in the configuration, or with --state a directory that can be written to")
	}
	ctl, err := registry.OpenControl(ctx, registry.ControlOptions{
		DSN: c.controlDSN(), Drivers: drivers(), Secret: secret, Previous: c.Previous, Prefix: c.Control.Prefix, Log: log,
	})
	if err != nil {
		return nil, failure{err}
	}
	return ctl, nil
}

// A keyring finds whose a key is: among those of the configuration, and then among those of the control database.
type keyring struct {
	log       *slog.Logger
	config    atomic.Pointer[config]
	control   *registry.Control               // nil without a control database
	directory *registry.Directory             // likewise
	left      atomic.Pointer[map[string]bool] // tools that are not offered, by policy.ToolKey
}

// newKeyring makes a keyring. Without a control database ctl is nil.
func newKeyring(ctx context.Context, c *config, ctl *registry.Control, log *slog.Logger) (*keyring, error) {
	k := &keyring{log: log, control: ctl}
	k.config.Store(c)
	k.left.Store(&map[string]bool{})
	if ctl == nil {
		return k, nil
	}
	var err error
	k.directory, err = registry.NewDirectory(ctx, ctl, registry.DirectoryOptions{Stale: c.Control.Stale, Principal: k.principal})
	return k, err
}

// load takes over the keys and principals of another configuration.
func (k *keyring) load(c *config) {
	k.config.Store(c)
	if k.directory != nil {
		k.directory.Remake()
	}
}

// find gives the principal of a key; nil is nobody. The error is a problem.
func (k *keyring) find(ctx context.Context, key string) (*policy.Principal, error) {
	if who, ok := k.keys().Find(key); ok || k.directory == nil {
		return who, nil
	}
	return k.directory.Find(ctx, key)
}

// configured says whether there is a principal of a name.
func (k *keyring) configured(name string) bool { return k.config.Load().Principals[name] != nil }

func (k *keyring) keys() *access.Keys { return &k.config.Load().Keys }

// enabled says whether a tool is offered, and not switched off by an admin.
func (k *keyring) enabled(tool string) bool {
	return !(*k.left.Load())[policy.ToolKey(tool)] && (k.directory == nil || k.directory.Enabled(tool))
}

// principal is whoever a key of the control database belongs to: a principal of the configuration, when the key names
// one, else the user that it names. What it may call is what its scopes open, and no verb of its principal's more.
func (k *keyring) principal(o *registry.Owner) *policy.Principal {
	p := &policy.Principal{Name: "key:" + strconv.FormatInt(o.ID, 10), Scopes: access.Verbs(o.Tools)}
	if o.User != "" {
		p.Name = "user:" + o.User
	}
	if o.Principal != "" {
		base, ok := k.config.Load().Principals[o.Principal]
		if !ok {
			k.log.Warn("a key belongs to a principal that is not configured, so it opens nothing", "key", o.KeyID, "principal", o.Principal)
			return nil
		}
		own := *base
		own.Scopes = slices.DeleteFunc(p.Scopes, func(s string) bool {
			if len(base.Scopes) == 0 {
				return s != "read"
			}
			return !slices.Contains(base.Scopes, s)
		})
		p = &own
	}
	p.Key, p.Token, p.Tools, p.Codes = o.KeyID, o.ID, map[string]bool{}, o.Codes
	if !o.Bound.IsZero() {
		p.Bound = o.Bound.UnixMilli()
	}
	if o.User != "" {
		p.User = o.User
		p.Funcs = maps.Clone(p.Funcs)
		delete(p.Funcs, "UserID") // then it is the user's
	}
	if len(p.Scopes) > 0 { // no verb at all would read as the one of reading
		for _, t := range o.Tools {
			p.Tools[policy.ToolKey(t)] = true
		}
	}
	return p
}

// reserved says what is wrong with a principal's name: those of the owners of keys are taken.
func reserved(name string) string {
	for _, prefix := range []string{"user:", "key:"} {
		if strings.HasPrefix(name, prefix) {
			return fmt.Sprintf("names that begin with %s are those of keys in the control database", prefix)
		}
	}
	return ""
}
