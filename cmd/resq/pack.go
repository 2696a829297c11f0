package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"

	"resq/engine/dialect/sqlite"
	"resq/engine/policy"
	"resq/resources"
)

func packNames() string {
	var names []string
	for _, p := range resources.Packs() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// redisVariable names the variable of the environment that says where the Redis of a pack is. Without it the pack has one
// inside this program.
func redisVariable(p resources.Pack) string { return "RESQ_" + strings.ToUpper(p.Name) + "_REDIS_DSN" }

// packsRedis are the Redis servers inside this program, by pack. They stay for as long as it runs.
var packsRedis = struct {
	sync.Mutex
	of map[string]*miniredis.Miniredis
}{of: map[string]*miniredis.Miniredis{}}

// packRedis gives the DSN of the Redis inside this program that holds the keys of a pack.
func packRedis(p resources.Pack) (string, error) {
	packsRedis.Lock()
	defer packsRedis.Unlock()
	m := packsRedis.of[p.Name]
	if m == nil {
		m = miniredis.NewMiniRedis()
		if err := m.Start(); err != nil {
			return "", fmt.Errorf("the Redis of %s: %w", p.Name, err)
		}
		for k, v := range p.Keys() {
			if err := m.Set(k, v); err != nil {
				return "", fmt.Errorf("the Redis of %s: %w", p.Name, err)
			}
		}
		packsRedis.of[p.Name] = m
	}
	return "redis://" + m.Addr() + "/0", nil
}

// packDatabase gives the path of a pack's database, which it makes on the first use. The file gets its name
// only when it is whole, so a start that was broken off leaves nothing that looks ready.
func packDatabase(ctx context.Context, p resources.Pack, d resources.Database, dir string, progress io.Writer) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	name := p.Name
	if d.Connection != p.Name {
		name += "-" + d.Connection
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.sqlite", name, d.Version))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	start := time.Now()
	temp, err := os.MkdirTemp(dir, ".new-*") // a directory, so that side files of the database go with it
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	half := filepath.Join(temp, "half.sqlite")
	db, err := sqlite.OpenWrite(half)
	if err != nil {
		return "", fmt.Errorf("make the database of %s: %w", p.Name, err)
	}
	err = d.Fill(ctx, db)
	if closed := db.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", fmt.Errorf("make the database of %s: %w", p.Name, err)
	}
	// Linked and not renamed: of two servers that start at once the second does not put its database in the place of the
	// first one's, in which something may have been written by now.
	if err := os.Link(half, path); errors.Is(err, fs.ErrExist) {
		return path, nil
	} else if err != nil {
		return "", err
	}
	fmt.Fprintf(progress, "resq: made the database of %s in %s (%v)\n", p.Name, path, time.Since(start).Round(time.Millisecond))
	return path, nil
}

// people adds the users of the packs that are served, unless the configuration has principals of its own: --principal
// names one of them, and with --demo each has a key.
func (s *source) people(c *config) error {
	if len(c.Principals) > 0 {
		return nil
	}
	for _, name := range c.Packs {
		pack, _ := resources.Find(name)
		for _, p := range pack.People {
			who := &policy.Principal{Name: p.Name, User: p.User, Attributes: map[string]policy.Value{}, Funcs: map[string]policy.Value{}}
			c.Principals[p.Name] = who
			if !s.demo {
				continue
			}
			if s.keys == nil {
				s.keys = map[string]string{}
			}
			if s.keys[p.Name] == "" {
				s.keys[p.Name] = "demo-" + p.Name + "-" + rand.Text()
			}
			if err := c.Keys.Add(s.keys[p.Name], who); err != nil {
				return err
			}
		}
	}
	return nil
}

// printKeys tells the keys of --demo.
func (s *source) printKeys(out io.Writer, packs []string) {
	for _, name := range packs {
		pack, _ := resources.Find(name)
		for _, p := range pack.People {
			if key := s.keys[p.Name]; key != "" {
				fmt.Fprintf(out, "resq: key of %-8s %s  (%s)\n", p.Name, key, p.About)
			}
		}
	}
}
