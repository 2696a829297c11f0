package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"resq/engine"
	"resq/engine/dialect/mysql"
	"resq/engine/dialect/postgres"
	"resq/engine/dialect/sqlite"
	"resq/engine/kv"
	"resq/engine/policy"
	"resq/resources"
	"resq/schema"
	"resq/schema/problem"
	"resq/telemetry"
	"resq/tools"
)

// A source is what the commands that read data are told: which catalog, and within which bounds.
type source struct {
	catalogs  []string
	packs     []string
	config    string
	principal string
	maxRows   int64
	maxBytes  int
	timeout   time.Duration
	state     string
	lang      string
	traced    bool              // calls are, where the configuration says so
	demo      bool              // people of the packs get keys
	keys      map[string]string // these, by name; they stay for as long as the program runs

	instructions bool
}

// flags gives a command the flags of a source.
func (s *source) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&s.catalogs, "catalog", nil, "catalog `file or directory`; may be repeated")
	f.StringArrayVar(&s.packs, "pack", nil, "built-in catalog, such as store; may be repeated")
	f.StringVar(&s.config, "config", "", "configuration `file`")
	f.StringVar(&s.principal, "principal", "", "`name` of the configured principal who asks when no key says so")
	f.Int64Var(&s.maxRows, "max-rows", 0, "rows that one answer may have, and the most a limit may ask for (default 1000)")
	f.IntVar(&s.maxBytes, "max-bytes", 0, "bytes that one answer may have (default 24576)")
	f.DurationVar(&s.timeout, "timeout", 0, "time of one query (default 5s)")
	f.StringVar(&s.state, "state", "", "`directory` for the databases of built-in catalogs")
	f.BoolVar(&s.instructions, "allow-instructions", false, "admit descriptions of SQL tools that read like orders to the model")
	f.StringVar(&s.lang, "lang", "", "language of the tool descriptions: en or zh")
}

// A dialect answers requests, and lets the structure of its databases be read.
type dialect interface {
	engine.Driver
	// Inspect opens a database for reading its structure, which the connections of requests may not.
	Inspect(c *schema.Connection) (*sql.DB, error)
}

// dialects are the databases this program speaks to.
var dialects = []dialect{sqlite.New(), mysql.New(), postgres.New()}

func drivers() []engine.Driver {
	list := make([]engine.Driver, len(dialects))
	for i, d := range dialects {
		list[i] = d
	}
	return list
}

// dialectOf finds a dialect by its name.
func dialectOf(name string) (dialect, bool) {
	for _, d := range dialects {
		if d.Name() == name {
			return d, true
		}
	}
	return nil, false
}

// An opened source is ready to answer.
type opened struct {
	config *config
	engine *engine.Engine
	local  *policy.Principal
	packs  []string // by name
	demo   bool     // nobody named a catalog, so it is the demonstration's
	lang   string
	secret []byte
	audit  *audit            // of writes
	traces *telemetry.Traces // nil is none

	kept    *registered // what the registry keeps by itself
	sources bool        // the catalog keeps what things were declared as, for the registry
}

// close ends what open began.
func (o *opened) close() error {
	err := errors.Join(o.engine.Close(), o.audit.close())
	if o.traces != nil {
		ctx, cancel := context.WithTimeout(context.Background(), traceTime)
		defer cancel()
		_ = o.traces.Close(ctx) // what cannot be sent any more is lost, and that is all
	}
	return err
}

// traceTime is for the last traces to be sent when the program ends.
const traceTime = 2 * time.Second

// open loads the catalog, makes the databases of built-in packs, and starts an engine.
func (s *source) open(ctx context.Context, log *slog.Logger, progress io.Writer) (*opened, error) {
	o := &opened{sources: s.traced}
	var err error
	if o.config, err = s.settings(); err != nil {
		return nil, err
	}
	o.local, err = o.config.localPrincipal()
	if err != nil {
		return nil, err
	}
	o.lang = o.config.Lang
	o.choosePacks()
	cat, err := o.load(ctx, progress)
	if err != nil {
		return nil, err
	}
	if o.secret, err = o.config.secret(); err != nil {
		log.Warn("no secret is kept, so cursors and sessions end with this process", "error", err)
	}
	opts := engine.Options{
		Secret: o.secret, Previous: o.config.Previous, Drivers: drivers(), Limits: o.config.Limits, MaxBytes: o.config.MaxBytes, Timeout: o.config.Timeout,
		Writes: o.config.Writes, Statements: o.config.Budget.Statements, Log: log, Values: kv.Open, Version: version, Control: o.config.controlDSN(), SQL: o.config.Custom.limits,
	}
	o.audit = &audit{dir: filepath.Join(stateDir(o.config.State), auditDir), secret: o.secret, texts: o.config.Audit.Arguments, log: log}
	opts.Audit = o.audit
	if slices.ContainsFunc(cat.Connections, func(c *schema.Connection) bool { return c.Control }) {
		if err := os.MkdirAll(stateDir(o.config.State), 0o700); err != nil {
			return nil, failure{err}
		}
	}
	if t := o.config.Traces; t != nil && s.traced {
		t.Version, t.Log = version, log
		if o.traces, err = telemetry.New(*t); err != nil {
			return nil, failure{fmt.Errorf("traces: %w", err)}
		}
		opts.Spans = o.traces.Stage
	}
	if o.engine, err = engine.New(cat, opts); err != nil {
		return nil, err
	}
	if err := o.prepare(ctx); err != nil {
		return nil, errors.Join(err, o.close())
	}
	return o, nil
}

// prepare makes the table of operations in the databases of packs, which are this program's own.
func (o *opened) prepare(ctx context.Context) error {
	for _, name := range o.packs {
		pack, _ := resources.Find(name)
		for _, d := range pack.Databases {
			if !slices.ContainsFunc(o.engine.Catalog().Connections, func(c *schema.Connection) bool { return c.Name == d.Connection && c.Write }) {
				continue
			}
			if err := o.engine.Migrate(ctx, d.Connection); err != nil {
				return failure{err}
			}
		}
	}
	return nil
}

// choosePacks says which built-in catalogs are served: those that were asked for, and without any catalog at all
// the demonstration.
func (o *opened) choosePacks() {
	o.packs, o.demo = o.config.Packs, false
	if len(o.config.Catalog)+len(o.config.Custom.paths) == 0 && len(o.packs) == 0 {
		o.packs, o.demo = []string{"store"}, true
	}
}

// loadWith is load with what the registry keeps by itself.
func (o *opened) loadWith(ctx context.Context, progress io.Writer, kept *registered) (*schema.Catalog, error) {
	opts := schema.LoadOptions{Limits: o.config.Limits, DSN: map[string]string{}, Sources: o.sources}
	kept.into(&opts)
	for _, name := range o.packs {
		pack, ok := resources.Find(name)
		if !ok {
			return nil, fmt.Errorf("no built-in catalog %s; there is: %s", problem.Quote(name), packNames())
		}
		opts.Packs = append(opts.Packs, schema.Pack{Name: pack.Name, FS: pack.Files})
		if fs := tools.Files(name); fs != nil {
			opts.Packs = append(opts.Packs, schema.Pack{Name: pack.Name + "/tools", FS: fs})
		}
		for _, d := range pack.Databases {
			path, err := packDatabase(ctx, pack, d, stateDir(o.config.State), progress)
			if err != nil {
				return nil, failure{err}
			}
			opts.DSN[d.Connection] = "sqlite:" + path
		}
		if pack.Redis != "" && os.Getenv(redisVariable(pack)) == "" {
			dsn, err := packRedis(pack)
			if err != nil {
				return nil, failure{err}
			}
			opts.DSN[pack.Redis] = dsn
		}
	}
	o.config.Custom.load(&opts)
	return schema.Load(slices.Concat(o.config.Catalog, o.config.Custom.paths), opts)
}

// settings reads the configuration file, if there is one, and lets the flags have the last word.
func (s *source) settings() (*config, error) {
	c, err := parseConfig("", nil, nil)
	if s.config != "" {
		c, err = loadConfig(s.config)
	}
	if err != nil {
		return nil, err
	}
	for _, bad := range []struct {
		flag string
		is   bool
	}{{"--max-rows", s.maxRows < 0}, {"--max-bytes", s.maxBytes < 0}, {"--timeout", s.timeout < 0}} {
		if bad.is {
			return nil, errors.New(bad.flag + " must be above zero")
		}
	}
	if c.Custom, err = readCustom(os.LookupEnv); err != nil {
		return nil, err
	}
	c.Custom.instructions = s.instructions
	c.Catalog = append(c.Catalog, s.catalogs...)
	c.Packs = slices.Compact(append(c.Packs, s.packs...))
	if err := s.people(c); err != nil {
		return nil, err
	}
	if s.principal != "" {
		c.Principal = s.principal
	}
	if s.maxRows > 0 {
		c.Limits.MaxRows = s.maxRows
	}
	c.Limits.DefaultRows = min(c.Limits.DefaultRows, c.Limits.MaxRows)
	if s.maxBytes > 0 {
		c.MaxBytes = s.maxBytes
	}
	if s.timeout > 0 {
		c.Timeout = s.timeout
	}
	if s.state != "" {
		c.State = s.state
	}
	if s.lang != "" {
		c.Lang = s.lang
	}
	return c, nil
}

// localPrincipal is who asks where no key says so. With principals in the configuration it must be one of them:
// an invented one without attributes could see rows that none of them may.
func (c *config) localPrincipal() (*policy.Principal, error) {
	switch {
	case c.Principal != "":
		who, ok := c.Principals[c.Principal]
		if !ok {
			return nil, fmt.Errorf("no principal %s is configured", problem.Quote(c.Principal))
		}
		return who, nil
	case len(c.Principals) == 0:
		return &policy.Principal{Name: "local", Scopes: []string{"read", "write", "delete"}}, nil
	}
	return nil, nil
}

// errNoLocal is the answer where a local principal is needed and none was chosen.
var errNoLocal = errors.New("the configuration has principals; say which of them asks, with --principal NAME or principal: NAME")

// stateDir is where the databases of packs are kept when nobody says where.
func stateDir(chosen string) string {
	if chosen != "" {
		return chosen
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "resq")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "state", "resq")
	}
	return filepath.Join(os.TempDir(), "resq")
}
