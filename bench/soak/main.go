// Command soak runs a resq server under load, with reloads and disconnects, and says whether it answers right to
// the end and stays as small as it was.
//
// The server serves the demonstration from catalog files that change every second between two versions whose
// answers are known beforehand; some saves are rubbish. Clients call, hang up in the middle, and begin and end
// sessions. Keys are made, used and revoked meanwhile, each of which has to be refused within five seconds. After a
// third of the time the database, a private server that holds the keys too, is killed and comes back: until then calls
// may be refused, and ten seconds later they may not. A wrong answer, another error, no recovery, or growth ends the
// command with 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

type options struct {
	resq, catalog string
	time, reload  time.Duration
	revoke        time.Duration
	connections   int
	database      string
	outage        time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.resq, "resq", "bin/resq", "the `program`")
	flag.StringVar(&o.catalog, "catalog", "resources/store", "`directory` of the demonstration's catalog")
	flag.DurationVar(&o.time, "time", 10*time.Minute, "how long")
	flag.DurationVar(&o.reload, "reload", time.Second, "time between two saves of the catalog")
	flag.DurationVar(&o.revoke, "revoke", 3*time.Second, "time between two keys that are made, used and revoked")
	flag.IntVar(&o.connections, "connections", 64, "clients at once")
	flag.StringVar(&o.database, "database", "postgres", "the private `server`: postgres, mysql (or MariaDB), or sqlite, which has none")
	flag.DurationVar(&o.outage, "outage", 10*time.Second, "how long the private server is down")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := soak(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

const (
	warmUp   = 5 * time.Second
	coolDown = 3 * time.Second
)

func soak(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "resq-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	out := &outage{refused: map[string]int64{}}
	var db *database
	if o.database != "sqlite" {
		if o.time/3 < o.outage+recovery {
			return fmt.Errorf("-time %v is too short for an outage of %v", o.time, o.outage)
		}
		if db, err = newDatabase(ctx, o.database); err != nil {
			return err
		}
		defer db.remove()
	}
	shop, err := newShop(ctx, o, dir, db)
	if err != nil {
		return err
	}
	shop.outage = out
	revoker, err := newRevoker(o, dir, db, out)
	if err != nil {
		return err
	}
	s, err := startServer(o.resq, shop, revoker)
	if err != nil {
		return err
	}
	defer s.kill()
	revoker.url = s.url

	load, end := context.WithTimeout(ctx, warmUp+o.time)
	defer end()
	t := &tally{refused: map[string]int64{}}
	var running sync.WaitGroup
	for i := range o.connections {
		c := newClient(s.url, shop, t, rand.New(rand.NewPCG(uint64(i), 1)), i%4 == 0)
		c.outage = out
		if i%2 == 1 { // half of the clients come with a key of the control database
			c.key = revoker.lasting
		}
		running.Go(func() { c.run(load) })
	}
	running.Go(func() { shop.change(load, o.reload) })
	running.Go(func() { revoker.run(load, o.revoke) })

	var restarted error
	if db != nil {
		running.Go(func() { restarted = out.run(load, db, warmUp+o.time/3, o.outage, s) })
	}

	r := &result{outage: out, database: db}
	measure := func(name string, after time.Duration) error {
		select {
		case <-time.After(after):
		case <-load.Done():
		}
		m, err := s.measure()
		if err != nil {
			return err
		}
		m.name, m.connections = name, -1
		if db != nil {
			if n, err := db.connections(ctx); err == nil { // it may be down
				m.connections = n
			} else if !out.now() {
				return err
			}
		}
		r.samples = append(r.samples, m)
		return nil
	}
	err = measure("start", warmUp)
	for i := 1; err == nil && i < 10; i++ {
		err = measure(fmt.Sprintf("%d %%", i*10), o.time/10)
	}
	if err == nil {
		err = measure("end", o.time/10-time.Second)
	}
	<-load.Done()
	running.Wait()
	if err = errors.Join(err, restarted); err != nil {
		return errors.Join(err, ctx.Err())
	}
	time.Sleep(coolDown)
	idle, err := s.measure()
	if err != nil {
		return err
	}
	idle.name = "idle"
	if db != nil {
		if idle.connections, err = db.connections(ctx); err != nil {
			return err
		}
	}
	r.samples = append(r.samples, idle)
	r.exit = s.end()
	if db != nil {
		if r.left, err = db.connections(ctx); err != nil {
			return err
		}
	}
	r.saves, r.rubbish, r.revoker = shop.saves, shop.rubbish, revoker
	return r.tell(os.Stdout, o, t, s)
}

// replace writes a file beside the old one and then in its place.
func replace(path, text string) error {
	temp := filepath.Join(filepath.Dir(path), ".new")
	if err := os.WriteFile(temp, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
