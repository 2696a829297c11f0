// Command resq serves databases to language models: resq serve, and the tools around it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"resq/schema/problem"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it was tried, and did not work
	exitUsage  = 2 // the command line or the configuration is wrong
)

// A failure is an error that is nobody's slip of the pen: it ends the program with exitFailed. All others,
// those of the command line among them, end it with exitUsage.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// errTold ends the program with exitFailed when everything has been said already.
var errTold = errors.New("")

// run is the program with its surroundings handed in.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := &cobra.Command{
		Use:           "resq",
		Short:         "Databases as safe tools for language models",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(serveCommand(), callCommand(), toolCommand(), testCommand(), explainCommand(), validateCommand(), validateToolsCommand(), introspectCommand(), toolsCommand(), doctorCommand(), migrateCommand(), changesCommand(), keysCommand(), scopesCommand(), adminCommand(), validationCommand(), registryCommand(), auditCommand(), versionCommand())
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if !errors.Is(err, errTold) {
		tell(errOut, err)
	}
	return exitOf(err)
}

// tell prints an error, each problem of a list on a line of its own.
func tell(w io.Writer, err error) {
	var l problem.List
	var p *problem.Problem
	if !errors.As(err, &l) && errors.As(err, &p) {
		l = problem.List{p}
	}
	if l == nil {
		fmt.Fprintln(w, "resq: "+err.Error())
		return
	}
	for _, p := range l {
		line := p.Error()
		if p.At == "" {
			line = "resq: " + line
		}
		if p.Err != nil {
			line += " (" + strings.TrimSpace(p.Err.Error()) + ")"
		}
		fmt.Fprintln(w, line)
	}
}
