package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"resq/server"
)

const defaultAddress = "127.0.0.1:8088"

func serveCommand() *cobra.Command {
	var from source
	var addr string
	var stdio bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the tools over HTTP or stdio",
		Long: "Serve the tools to MCP clients: over Streamable HTTP, by default at " + defaultAddress + ", or over standard input\n" +
			"and output with --stdio; with both flags over both. Without a catalog it serves the built-in demonstration.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&addr, "http", "", "`address` to listen on (default "+defaultAddress+", or listen: in the configuration)")
	cmd.Flags().BoolVar(&stdio, "stdio", false, "serve standard input and output")
	from.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return serve(cmd, &from, addr, stdio) }
	return cmd
}

func serve(cmd *cobra.Command, from *source, addr string, stdio bool) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	log := newLog(cmd.ErrOrStderr())
	o, err := from.open(ctx, log, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer o.engine.Close()
	if addr == "" && !stdio {
		if addr = o.config.Listen; addr == "" {
			addr = defaultAddress
		}
	}
	opts := server.Options{
		Version: version, Lang: o.lang, Local: o.local, Hosts: o.config.Hosts, Origins: o.config.Origins, Log: log,
	}
	if o.config.Keys.Len() > 0 {
		opts.Authenticate = o.config.Keys.Find
	}
	if o.local == nil && (stdio || opts.Authenticate == nil) {
		return errNoLocal
	}
	s, err := server.New(o.engine, opts)
	if err != nil {
		return err
	}

	var both sync.WaitGroup
	var failed [2]error
	if addr != "" {
		l, err := s.Listen(addr)
		if err != nil {
			return err
		}
		log.Info("listening", "address", l.Addr().String(), "path", server.Path)
		if !stdio { // standard output is free
			g := guide{
				url: "http://" + l.Addr().String() + server.Path, keys: opts.Authenticate != nil,
				flags: stdioFlags(from), demo: o.demo, store: hasStore(o.packs),
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
	both.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		return failure{err}
	}
	return nil
}

func hasStore(packs []string) bool { return len(packs) == 1 && packs[0] == "store" }

// stdioFlags are the flags with which a client starts a server of the same catalog.
func stdioFlags(from *source) []string {
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
