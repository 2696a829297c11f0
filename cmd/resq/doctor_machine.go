package main

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"resq/server"
)

const (
	mayRead  = fs.FileMode(0o004)
	mayWrite = fs.FileMode(0o002)

	diskWarn = 1 << 30
	diskFail = 100 << 20
)

// othersMay says whether users who are neither the owner nor of the group have a permission.
func othersMay(info fs.FileInfo, bit fs.FileMode) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&bit != 0
}

// canCreate says whether this process may create files in a directory, by creating one for a moment.
func canCreate(dir string) bool {
	f, err := os.CreateTemp(dir, ".resq-*")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}

// machine examines what is not a connection's: files, disk and address.
func (r *report) machine(configFile string, c *config, addr string) {
	before := len(r.findings)
	if configFile != "" {
		r.configFile(configFile)
	}
	for _, file := range treeOf(c.Catalog).files {
		r.catalogFile(file)
	}
	if len(r.findings) == before && (configFile != "" || len(c.Catalog) > 0) {
		r.tell(levelOK, "files", "", "nobody else can read the secrets or write the files", "")
	}
	r.disk(stateDir(c.State))
	if addr == "" {
		addr = c.Listen
	}
	if addr == "" {
		addr = defaultAddress
	}
	r.listen(addr, c.Keys.Len())
}

// guarded tells when others can write a file or, when it holds a secret, read it.
func (r *report) guarded(file, secret string) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		r.tell(levelFail, "files", "", oneLine(err), "")
	case othersMay(info, mayWrite):
		r.tell(levelFail, "files", "", "every user of this machine may write "+file, "chmod o-w "+file)
	case secret != "" && othersMay(info, mayRead):
		r.tell(levelFail, "files", "", "every user of this machine may read "+file+", which holds "+secret, "chmod o-r "+file+", or keep the secret in an environment variable")
	}
}

// configFile looks whether a key stands in the configuration itself.
func (r *report) configFile(file string) {
	var c struct {
		Principals map[string]struct{ Keys texts }
	}
	secret := ""
	if raw, err := os.ReadFile(file); err == nil && yaml.Unmarshal(raw, &c) == nil {
		for _, p := range c.Principals {
			if slices.ContainsFunc(p.Keys, literal) {
				secret = "keys"
			}
		}
	}
	r.guarded(file, secret)
}

// catalogFile looks for passwords in the file itself, and for files that hold a DSN.
func (r *report) catalogFile(file string) {
	var c struct {
		Connections map[string]struct {
			DSN     string `yaml:"dsn"`
			DSNFile string `yaml:"dsnFile"`
		}
	}
	secret := ""
	if raw, err := os.ReadFile(file); err == nil && yaml.Unmarshal(raw, &c) == nil {
		for _, conn := range c.Connections {
			if u, err := url.Parse(conn.DSN); err == nil && u.User != nil {
				if password, _ := u.User.Password(); password != "" && literal(password) {
					secret = "a password"
				}
			}
			if conn.DSNFile != "" {
				name := conn.DSNFile
				if !filepath.IsAbs(name) {
					name = filepath.Join(filepath.Dir(file), name)
				}
				r.guarded(name, "a DSN")
			}
		}
	}
	r.guarded(file, secret)
}

// texts are a list of texts, or one.
type texts []string

// UnmarshalYAML reads one text as a list of one.
func (t *texts) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*t = texts{n.Value}
		return nil
	}
	return n.Decode((*[]string)(t))
}

// literal says whether a text is the secret itself, and not the name of a variable that holds it.
func literal(s string) bool { return !strings.Contains(s, "${") }

// disk says how much of it is left where the state is kept, or will be.
func (r *report) disk(dir string) {
	at := absolute(dir)
	info, err := os.Stat(at)
	for err != nil && filepath.Dir(at) != at {
		at = filepath.Dir(at)
		info, err = os.Stat(at)
	}
	if err == nil && at == absolute(dir) && othersMay(info, mayWrite) {
		r.tell(levelFail, "files", "", "every user of this machine may write to the state directory "+dir, "chmod o-w "+dir)
	}
	free, known := freeBytes(at)
	if !known {
		return
	}
	level, do := levelOK, ""
	switch {
	case free < diskFail:
		level, do = levelFail, "make room, or move the state with --state"
	case free < diskWarn:
		level, do = levelWarn, "make room, or move the state with --state"
	}
	r.tell(level, "disk", "", fmt.Sprintf("%s free for the state directory %s", size(free), dir), do)
}

// size writes a number of bytes for people.
func size(n int64) string {
	const unit = 1 << 10
	f, names := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; f >= unit && i < len(names)-1; i++ {
		f /= unit
	}
	return fmt.Sprintf("%.3g %s", f, names[i])
}

// listen says who can reach the server.
func (r *report) listen(addr string, keys int) {
	switch loopback := server.Loopback(addr); {
	case !loopback && keys == 0:
		r.tell(levelFail, "listen", "", addr+" can be reached from other machines, and no principal has a key; serve would not start", "give a principal a key, or listen on 127.0.0.1")
	case !loopback:
		r.tell(levelWarn, "listen", "", fmt.Sprintf("%s can be reached from other machines; keys in use: %d", addr, keys), "let a proxy in front of it end TLS, or keys travel in the clear")
	case keys == 0:
		r.tell(levelOK, "listen", "", addr+" can be reached from this machine alone, by every user of it without a key", "")
	default:
		r.tell(levelOK, "listen", "", fmt.Sprintf("%s can be reached from this machine alone; keys in use: %d", addr, keys), "")
	}
}
