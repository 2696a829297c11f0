package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"resq/schema"
	"resq/schema/introspect"
	"resq/schema/problem"
)

// Levels of a finding. Only levelFail fails the command.
const (
	levelOK   = "ok"
	levelWarn = "warn"
	levelFail = "FAIL"
)

const (
	reachTime   = 10 * time.Second      // for a database to answer at all
	farAway     = 50 * time.Millisecond // a round trip that every call would feel
	skewWarn    = 2 * time.Second       // clocks that differ so much show in relative dates
	skewFail    = 60 * time.Second      // … and so much in what expires
	thisMachine = "this machine"        // the subject of what is no connection's; no connection can have the name
	roundTrips  = 5                     // of which the median counts
	maxNamed    = 5                     // names in one line
)

// A finding is one line of the doctor's report.
type finding struct {
	Level      string `json:"level"` // ok, warn or FAIL
	Check      string `json:"check"` // reach, clock, privileges, drift, files, disk or listen
	Connection string `json:"connection,omitempty"`
	Text       string `json:"text"`
	Do         string `json:"do,omitempty"` // what to do about it
}

func (f finding) String() string {
	subject := f.Connection
	if subject == "" {
		subject = thisMachine
	}
	s := fmt.Sprintf("%-4s %s: %s", f.Level, subject, f.Text)
	if f.Do != "" {
		s += " · " + f.Do
	}
	return s
}

// A report collects findings.
type report struct{ findings []finding }

func (r *report) tell(level, check, connection, text, do string) {
	r.findings = append(r.findings, finding{level, check, connection, text, do})
}

// bad says whether anything failed.
func (r *report) bad() bool {
	return slices.ContainsFunc(r.findings, func(f finding) bool { return f.Level == levelFail })
}

func doctorCommand() *cobra.Command {
	var from source
	var addr, format string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check connections, privileges, files and disk",
		Long: "Check what serve would run on: whether each database answers, how far it and its clock are away, what its\n" +
			"role may do that it should not, where it and the catalog differ; who else can read secrets and write files,\n" +
			"how much disk is left, and who can reach the address. Nothing is changed. One line for each check; the exit\n" +
			"code is 1 when one of them is FAIL.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&addr, "http", "", "`address` that serve will get")
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	from.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if format != "text" && format != "json" {
			return fmt.Errorf("--format %s is not known; it is one of text, json", problem.Quote(format))
		}
		return doctor(cmd, &from, addr, format)
	}
	return cmd
}

func doctor(cmd *cobra.Command, from *source, addr, format string) error {
	o, err := from.open(cmd.Context(), slog.New(slog.DiscardHandler), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer o.close()
	var r report
	cat := o.engine.Catalog()
	ready := o.engine.Ready(cmd.Context())
	for _, c := range cat.Connections {
		r.connection(cmd.Context(), cat, c)
		takes := slices.ContainsFunc(cat.Resources, func(x *schema.Resource) bool { return x.Connection == c && len(x.Writes) > 0 })
		if err, writes := ready[c.Name]; writes && takes {
			r.operations(c, err)
		}
	}
	r.machine(from.config, o.config, addr)
	if err := r.print(cmd.OutOrStdout(), format); err != nil {
		return failure{err}
	}
	if r.bad() {
		return errTold
	}
	return nil
}

func (r *report) print(w io.Writer, format string) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			OK     bool      `json:"ok"`
			Checks []finding `json:"checks"`
		}{!r.bad(), r.findings})
	}
	for _, f := range r.findings {
		if _, err := fmt.Fprintln(w, f); err != nil {
			return err
		}
	}
	return nil
}

// connection examines one database.
func (r *report) connection(ctx context.Context, cat *schema.Catalog, c *schema.Connection) {
	d, ok := dialectOf(c.Driver)
	if !ok {
		r.tell(levelFail, "reach", c.Name, "there is no driver "+problem.Quote(c.Driver), "")
		return
	}
	db, err := d.Inspect(c)
	if err != nil {
		r.tell(levelFail, "reach", c.Name, oneLine(err), "mend the dsn of the connection")
		return
	}
	defer db.Close()
	if !r.reach(ctx, c, db) {
		return
	}
	r.clock(ctx, c, db)
	x := examination{report: r, db: db, conn: c}
	for _, res := range cat.Resources {
		if res.Connection == c {
			x.tables = append(x.tables, res)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if err := privileges[c.Driver](ctx, &x); err != nil {
		r.tell(levelWarn, "privileges", c.Name, "the privileges of the role cannot be read: "+oneLine(err), "")
	}
	r.drift(ctx, cat, c, db)
}

// operations says whether a connection that writes has what writing needs.
func (r *report) operations(c *schema.Connection, err error) {
	const check = "operations"
	switch {
	case c.Control:
		r.tell(levelWarn, check, c.Name, "operations are kept apart from the data, so a write whose process dies may have to be looked up", "where a table may be made: resq migrate, and operations: database")
	case err != nil:
		r.tell(levelFail, check, c.Name, "nothing can be written: "+problem.From(err)[0].Message, "resq migrate makes the table of operations; the role needs SELECT, INSERT, UPDATE and DELETE on it")
	default:
		r.tell(levelOK, check, c.Name, "operations of writes are kept beside the data", "")
	}
}

// versions ask a database what it is.
var versions = map[string]string{
	"postgres": "SELECT 'PostgreSQL ' || current_setting('server_version')",
	"mysql":    "SELECT VERSION()",
	"sqlite":   "SELECT 'SQLite ' || sqlite_version()",
}

// reach says whether a database answers, and how fast.
func (r *report) reach(ctx context.Context, c *schema.Connection, db *sql.DB) bool {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	var version string
	if err := db.QueryRowContext(ctx, versions[c.Driver]).Scan(&version); err != nil {
		r.tell(levelFail, "reach", c.Name, "it does not answer: "+oneLine(err), "check that it runs, and the address, user and password in the dsn")
		return false
	}
	var took []time.Duration
	for range roundTrips {
		start := time.Now()
		var one int
		if err := db.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
			r.tell(levelFail, "reach", c.Name, "it stopped answering: "+oneLine(err), "")
			return false
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	median := took[len(took)/2]
	text := fmt.Sprintf("%s, a round trip takes %v", version, median.Round(10*time.Microsecond))
	if median > farAway {
		r.tell(levelWarn, "reach", c.Name, text, "run resq nearer to the database; every call waits for it")
		return true
	}
	r.tell(levelOK, "reach", c.Name, text, "")
	return true
}

// clocks ask a database for its time, in microseconds since 1970. SQLite has the clock of this machine.
var clocks = map[string]string{
	"postgres": "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS bigint)",
	"mysql":    "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)",
}

// clock compares the database's clock with this machine's.
func (r *report) clock(ctx context.Context, c *schema.Connection, db *sql.DB) {
	ask, ok := clocks[c.Driver]
	if !ok {
		return
	}
	var micros int64
	start := time.Now()
	if err := db.QueryRowContext(ctx, ask).Scan(&micros); err != nil {
		r.tell(levelWarn, "clock", c.Name, "its clock cannot be read: "+oneLine(err), "")
		return
	}
	r.skew(c.Name, time.UnixMicro(micros).Sub(start.Add(time.Since(start)/2)))
}

func (r *report) skew(connection string, skew time.Duration) {
	level, do := levelOK, ""
	if skew.Abs() > skewWarn {
		level, do = levelWarn, "synchronise the clocks of both machines (NTP)"
	}
	if skew.Abs() > skewFail {
		level = levelFail
	}
	text := fmt.Sprintf("its clock differs from this machine's by %v", skew.Round(time.Millisecond))
	r.tell(level, "clock", connection, text, do)
}

// drift says where a catalog and the database differ.
func (r *report) drift(ctx context.Context, cat *schema.Catalog, c *schema.Connection, db *sql.DB) {
	s, err := introspect.Read(ctx, db, c.Driver, introspect.Scope(cat, c))
	if err != nil {
		r.tell(levelFail, "drift", c.Name, "its structure cannot be read: "+oneLine(err), "let the role read the tables of the catalog")
		return
	}
	list := introspect.Compare(cat, c, s)
	for _, d := range list {
		level, do := levelFail, "change the catalog or the database; requests for it fail until then"
		if d.Warning {
			level, do = levelWarn, "resq introspect --update shows what changed"
		}
		r.tell(level, "drift", c.Name, d.String(), do)
	}
	if len(list) == 0 {
		r.tell(levelOK, "drift", c.Name, "the catalog fits it", "")
	}
}
