package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"resq/access"
	"resq/engine/policy"
	"resq/registry"
	"resq/registry/issuer"
	"resq/server"
)

const defaultAddress = "127.0.0.1:8088"

// A serving is how serve was asked to serve.
type serving struct {
	addr      string
	stdio     bool
	noWatch   bool
	logFormat string
	profile   string
	console   consoling
}

func serveCommand() *cobra.Command {
	var from source
	var o serving
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the tools over HTTP or stdio",
		Long: "Serve the tools to MCP clients: over Streamable HTTP, by default at " + defaultAddress + ", or over standard input\n" +
			"and output with --stdio; with both flags over both. Without a catalog it serves the built-in demonstration.\n" +
			"Catalog files are read again when they change; SIGHUP reads the configuration's catalogs and keys as well.",
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&o.addr, "http", "", "`address` to listen on (default "+defaultAddress+", or listen: in the configuration)")
	f.BoolVar(&o.stdio, "stdio", false, "serve standard input and output")
	f.BoolVar(&o.noWatch, "no-watch", false, "read catalog files again only on SIGHUP")
	f.StringVar(&o.logFormat, "log-format", "", "text or json (default text on a terminal, else json)")
	f.StringVar(&o.profile, "profile", "", "how the tools show themselves, where the client does not choose: see resq tools --help")
	f.StringVar(&o.console.addr, "console", "", "`address` of the admins' web pages, such as 127.0.0.1:8089 (default none); see resq admin")
	f.StringVar(&o.console.cert, "console-cert", "", "PEM `file` with the console's certificate, for HTTPS")
	f.StringVar(&o.console.key, "console-key", "", "PEM `file` with the key of that certificate")
	f.BoolVar(&o.console.proxied, "console-proxied", false, "a proxy in front of the console ends HTTPS")
	f.StringVar(&o.console.url, "console-url", "", "`address` of the console as people write it, for links to changes (default where it listens, unless a proxy is in front)")
	f.BoolVar(&from.demo, "demo", false, "give the people of built-in catalogs keys, and print them")
	from.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return serve(cmd, &from, o) }
	return cmd
}

func serve(cmd *cobra.Command, from *source, how serving) error {
	addr, stdio := how.addr, how.stdio
	// What a server holds is a few megabytes, so the collector would run every few hundred calls. It counts this
	// memory too and waits for as much again; nobody touches it, so the machine never has to provide it.
	ballast := make([]byte, 16<<20)
	defer runtime.KeepAlive(ballast)
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	profile, err := server.ParseProfile(how.profile)
	if err != nil {
		return err
	}
	if err := how.console.checked(); err != nil {
		return err
	}
	log, err := newLog(cmd.ErrOrStderr(), how.logFormat)
	if err != nil {
		return err
	}
	reload := newReloader(from, !how.noWatch, log, stop)
	defer reload.close()
	from.traced = true
	begun := time.Now()
	o, err := from.open(ctx, log, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	opening := loaded(begun, o.engine.Catalog())
	defer func() { _ = o.close() }() // the engine of that moment
	from.printKeys(cmd.ErrOrStderr(), o.packs)
	if err := o.audited(ctx); err != nil {
		return err
	}
	if addr == "" && !stdio {
		if addr = o.config.Listen; addr == "" {
			addr = defaultAddress
		}
	}
	opts := server.Options{
		Version: version, Lang: o.lang, Local: o.local, Hosts: o.config.Hosts, Origins: o.config.Origins, Proxies: o.config.Proxies, Log: log,
		Profile: profile, Secret: o.secret,
	}
	scoped := o.config.JWT != nil && o.config.JWT.Claims.Tools != ""
	ctl, err := openControl(ctx, o.config, log, o.secret, scoped || o.config.Control.Admin != "" || how.console.addr != "")
	if err != nil {
		return err
	}
	if ctl != nil {
		defer ctl.Close()
	}
	ring, err := newKeyring(ctx, o.config, ctl, log)
	if err != nil {
		return failure{err}
	}
	asks := o.config.asks()
	if ctl != nil && !asks {
		if asks, err = ctl.HasKeys(ctx); err != nil {
			return failure{err}
		}
	}
	if asks {
		opts.Authenticate = ring.find
	}
	if o.config.JWT != nil {
		tokens := *o.config.JWT
		tokens.Log = log
		if scoped {
			tokens.Open = ring.directory.Open
		}
		known, err := access.NewTokens(tokens)
		if err != nil {
			return err
		}
		asks, opts.Resource = true, o.config.resource()
		opts.Authenticate = func(ctx context.Context, key string) (*policy.Principal, error) {
			if access.IsToken(key) {
				return known.Find(ctx, key)
			}
			return ring.find(ctx, key)
		}
	}
	if err := ring.offer(ctx, o.config, o.engine.Catalog(), o.kept.remotes, o.lang); err != nil {
		return err
	}
	opts.Enabled = ring.enabled
	if ctl != nil { // without a credential it is closed, until a reload brings one
		if reload.api, err = issuer.New(issuer.Options{
			Control: ctl, Admin: o.config.Control.Admin, Principal: ring.configured, Log: log,
			Record: func(c registry.Call) {
				if reload.journal != nil {
					reload.journal.Add(c)
				}
			},
		}); err != nil {
			return err
		}
		opts.API = reload.api
	}
	journal, err := o.journal(ctl, asks)
	if err != nil {
		return err
	}
	if journal != nil {
		reload.journal = journal
		opts.Record = func(c *server.Call) { journal.Add(keptCall(c)) }
		opts.Unrecorded = journal.Dropped
	}
	reload.keys, reload.asks = ring, asks
	if o.local == nil && (stdio || opts.Authenticate == nil) {
		return errNoLocal
	}
	budgets, err := access.NewBudgets(access.BudgetOptions{Default: o.config.Budget, Redis: o.config.Redis, Log: log})
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	defer budgets.Close()
	opts.Budgets = budgets
	if o.traces != nil {
		opts.Trace = o.traces.Call
	}
	if o.config.Redis != "" {
		if o.config.Secret == "" {
			return errors.New("redis is for several replicas, and those need one secret: name it with secret: in the configuration")
		}
		if opts.Peers, err = access.NewPeers(o.config.Redis, o.secret, log); err != nil {
			return fmt.Errorf("redis: %w", err)
		}
		defer opts.Peers.Close()
	}
	var pagesAt atomic.Pointer[string] // known when the console listens
	if how.console.addr != "" {
		opts.Page = func(operation string) string {
			if at := pagesAt.Load(); at != nil && *at != "" {
				return *at + "/changes/" + operation
			}
			return ""
		}
	}
	s, err := server.New(o.backend(), opts)
	if err != nil {
		return err
	}

	// The journal ends last, with the last call.
	recording, recorded := context.WithCancel(context.WithoutCancel(ctx))
	var records sync.WaitGroup
	defer records.Wait()
	defer recorded()
	if journal != nil {
		records.Go(func() { journal.Run(recording) })
		if ctl != nil && o.config.Audit.Keep > 0 {
			records.Go(func() { forgetting(recording, ctl, o.config.Audit.Keep) })
		}
	}

	var both sync.WaitGroup
	var failed [3]error
	if how.console.addr != "" {
		pages, err := o.console(how.console, ctl, ring, journal, s, reload, log)
		if err != nil {
			return err
		}
		l, err := pages.Listen(how.console.addr)
		if err != nil {
			return err
		}
		log.Info("console", "address", l.Addr().String())
		base := how.console.base(l.Addr())
		pagesAt.Store(&base)
		both.Go(func() {
			if failed[2] = pages.Serve(ctx, l); failed[2] != nil {
				stop()
			}
		})
	}
	if addr != "" {
		l, err := s.Listen(addr)
		if err != nil {
			return err
		}
		log.Info("listening", "address", l.Addr().String(), "path", server.Path)
		if !stdio { // standard output is free
			g := guide{
				url: "http://" + l.Addr().String() + server.Path, keys: opts.Authenticate != nil,
				flags: stdioFlags(from, how), demo: o.demo, store: hasStore(o.packs),
			}
			if err := g.print(cmd.OutOrStdout()); err != nil {
				return failure{err}
			}
		}
		both.Go(func() { failed[0] = s.Serve(ctx, l); stop() })
	}
	if stdio {
		both.Go(func() { failed[1] = s.ServeStdio(ctx, cmd.InOrStdin(), cmd.OutOrStdout()); stop() })
	}
	reload.opened, reload.server = o, s
	reload.loads.add(opening)
	o.engine.OnReach(s.Changed)
	var reloading sync.WaitGroup
	reloading.Go(func() { s.Watch(ctx) })
	if ring.directory != nil {
		ring.directory.Changed(func() { s.Changed(); reload.tell() })
		reloading.Go(func() { ring.directory.Run(ctx) })
	}
	reloading.Go(func() { reload.run(ctx) })
	both.Wait()
	stop()
	reloading.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		return failure{err}
	}
	return nil
}

func hasStore(packs []string) bool { return len(packs) == 1 && packs[0] == "store" }

// stdioFlags are the flags with which a client starts a server that answers as this one does.
func stdioFlags(from *source, how serving) []string {
	var flags []string
	add := func(name string, values ...string) {
		for _, v := range values {
			flags = append(flags, name, v)
		}
	}
	for _, c := range from.catalogs {
		add("--catalog", absolute(c))
	}
	add("--pack", from.packs...)
	if from.config != "" {
		add("--config", absolute(from.config))
	}
	if from.principal != "" {
		add("--principal", from.principal)
	}
	if from.state != "" {
		add("--state", absolute(from.state))
	}
	if from.maxRows != 0 {
		add("--max-rows", strconv.FormatInt(from.maxRows, 10))
	}
	if from.maxBytes != 0 {
		add("--max-bytes", strconv.Itoa(from.maxBytes))
	}
	if from.timeout != 0 {
		add("--timeout", from.timeout.String())
	}
	if from.lang != "" {
		add("--lang", from.lang)
	}
	if how.profile != "" {
		add("--profile", how.profile)
	}
	return flags
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// program is the path of this program, for the configurations of clients that start it.
func program() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	return "resq"
}
