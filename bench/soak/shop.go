package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A shop is the demonstration in files that can be changed, with two versions of its catalog: in the second, only
// orders that are done are seen. Now and then the pool gets another size, which makes a new one of it.
type shop struct {
	dir, dsn string
	versions [2]map[string]string // file → text
	calls    []call
	saves    int
	rubbish  int

	connection string // the file that declares it
	outage     *outage
}

// A call is a request with its answer in each version. Slow ones are there to be hung up on.
type call struct {
	tool, args string
	answers    [2]string
	slow       bool
	reads      bool // from the database
}

const sumByMonth = `{"resource":"Order","fields":[{"code":"channel"},{"code":"status"},{"code":"SUM(Order.amount)","isExpr":true,"alias":"total"},{"code":"COUNT(*)","isExpr":true,"alias":"n"}],"groupBy":["Order.channel","Order.status"]}`

var calls = []call{
	{tool: "res-query", reads: true, args: `{"resource":"Category","fields":[{"code":"id"},{"code":"name"}],"limit":10}`},
	{tool: "res-query", reads: true, args: `{"resource":"Order","fields":[{"code":"COUNT(*)","isExpr":true,"alias":"n"}]}`},
	{tool: "res-query", reads: true, args: `{"resource":"Order","fields":[{"code":"order_no"},{"code":"amount"},{"code":"status"}],"limit":30}`},
	{tool: "res-query", reads: true, args: `{"resource":"Order","fields":[{"code":"order_no"},{"code":"name","codeResource":"Customer"}],"relations":[{"code":"Customer","actuallyResource":"Customer","actuallyField":"id","relationResource":"Order","relationField":"customer_id","type":"inner"}],"conditions":{"type":"and","exprs":[{"field":"channel","operator":"=","token":"web"}]},"limit":20,"format":"csv"}`},
	{tool: "res-query", reads: true, args: sumByMonth},
	{tool: "res-query", reads: true, args: `{"resource":"Customer","fields":[{"code":"name"},{"code":"phone"}],"conditions":{"type":"and","exprs":[{"field":"id","operator":"IN","token":"1,2,3,4,5"}]}}`},
	{tool: "res-schema", args: `{"keywords":"订单","detail":"full"}`},
	{tool: "res-query", args: `{"resource":"Nosuch","fields":[]}`},
	{tool: "res-query", reads: true, args: `{"resource":"OrderItem","fields":[{"code":"order_id","codeResource":"OrderItem"},{"code":"SUM(OrderItem.amount)","isExpr":true,"alias":"total"}],"groupBy":["OrderItem.order_id"],"orderBy":[{"type":"sql","expr":"SUM(OrderItem.amount)","direction":"desc"},{"type":"sql","expr":"OrderItem.order_id","direction":"asc"}],"limit":5}`, slow: true},
}

const doneOnly = `    rows: {type: and, exprs: [{field: status, operator: "=", token: "3"}]}` + "\n"

// newShop makes the database and both catalogs, and learns every answer from the program itself, run for one call.
func newShop(ctx context.Context, o options, dir string, db *database) (*shop, error) {
	s := &shop{dir: filepath.Join(dir, "catalog"), calls: calls}
	if db != nil {
		text, err := fillScript(ctx, db.driver)
		if err != nil {
			return nil, err
		}
		if _, err := db.ask(ctx, shopDatabase, text); err != nil {
			return nil, fmt.Errorf("fill the database: %w", err)
		}
		s.dsn = db.dsn(shopDatabase)
	} else {
		if out, err := exec.CommandContext(ctx, o.resq, "call", "res-schema", "--pack", "store", "--state", dir).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("make the database: %w: %s", err, out)
		}
		found, err := filepath.Glob(filepath.Join(dir, "store-[0-9]*.sqlite"))
		if err != nil || len(found) != 1 {
			return nil, fmt.Errorf("the database is not there: %v %w", found, err)
		}
		s.dsn = "sqlite:" + found[0]
	}
	files, err := filepath.Glob(filepath.Join(o.catalog, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no catalog in %s: %w", o.catalog, err)
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, err
	}
	for v := range s.versions {
		s.versions[v] = map[string]string{}
		for _, f := range files {
			if filepath.Base(f) == "review.yaml" { // which has a database of its own, for business tools
				continue
			}
			text, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			s.versions[v][filepath.Base(f)] = string(text)
		}
	}
	if db != nil {
		for v := range s.versions {
			s.versions[v]["store.yaml"] = strings.Replace(s.versions[v]["store.yaml"], "driver: sqlite", "driver: "+db.driver, 1)
		}
	}
	s.versions[1]["order.yaml"] += doneOnly
	s.connection = s.versions[0]["store.yaml"]
	for _, v := range []int{1, 0} { // the server begins with the first
		if err := s.write(v); err != nil {
			return nil, err
		}
		for i := range s.calls {
			if s.calls[i].answers[v], err = s.learn(ctx, o, s.calls[i]); err != nil {
				return nil, err
			}
		}
	}
	if s.calls[1].answers[0] == s.calls[1].answers[1] {
		return nil, errors.New("the versions do not differ")
	}
	return s, nil
}

// write saves the files of a version.
func (s *shop) write(version int) error {
	for name, text := range s.versions[version] {
		if err := replace(filepath.Join(s.dir, name), text); err != nil {
			return err
		}
	}
	return nil
}

func (s *shop) environment() []string {
	return append(os.Environ(), "RESQ_STORE_DSN="+s.dsn)
}

// learn asks the program for one call.
func (s *shop) learn(ctx context.Context, o options, c call) (string, error) {
	cmd := exec.CommandContext(ctx, o.resq, "call", c.tool, c.args, "--catalog", s.dir)
	cmd.Env = s.environment()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil && !strings.Contains(errOut.String(), `{"error"`) {
		return "", fmt.Errorf("%s %s: %w: %s", c.tool, c.args, err, errOut.String())
	}
	return plain(out.String() + errOut.String()), nil
}

// changing is what differs from call to call.
var changing = regexp.MustCompile(`,"(request_id|cursor)":"[^"]*"`)

// plain is an answer without what changes.
func plain(answer string) string {
	return strings.TrimSpace(changing.ReplaceAllString(answer, ""))
}

// change saves one version after the other, and rubbish now and then.
func (s *shop) change(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := 1; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if i%5 == 0 {
			s.rubbish++
			_ = replace(filepath.Join(s.dir, "order.yaml"), "version: 1\nresources: {{{ rubbish")
			continue
		}
		if !s.outage.now() { // a catalog is loaded when its database answers
			s.saves++
		}
		// A save that fails shows in the number of reloads.
		_ = replace(filepath.Join(s.dir, "order.yaml"), s.versions[i%2]["order.yaml"])
		if i%10 == 1 {
			_ = replace(filepath.Join(s.dir, "store.yaml"), strings.Replace(s.connection, "    mode: write", fmt.Sprintf("    mode: write\n    pool: %d", 12+i/10%5), 1))
		}
	}
}
