package schema

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"resq/schema/problem"
	"resq/schema/query"
)

// LoadOptions say where a catalog's files get what is not in them. The zero value reads the environment.
type LoadOptions struct {
	// Getenv looks up the variables that a DSN names; os.LookupEnv when nil.
	Getenv func(string) (string, bool)
	// DSN takes the place of the dsn or dsnFile of the connections it names, and of their driver. A name that no
	// file declares becomes a connection of mode read.
	DSN map[string]string
	// Packs are further files, such as those embedded in the binary. They are read before the paths.
	Packs []Pack
	// Offline leaves DSNs alone: no variable and no dsnFile is read, so that files can be checked where their
	// secrets are not. The catalog of such a load has no DSNs.
	Offline bool
	// Schemas are the database schemas that tables may come from, on connections that do not say it themselves.
	Schemas []string
	// Texts are further files that are kept elsewhere, such as in the registry. They are read before the paths.
	Texts []Document
	// Sources keeps what each tool, validation and resource was declared as, for Config.
	Sources bool
	// Attach are validations attached to resources beside those that files attach.
	Attach []Attach
	// Instructions admits descriptions of SQL tools that read like orders to the model.
	Instructions bool
	// Limits bound the conditions and queries in the files; query.Defaults() when zero.
	Limits query.Limits
}

// A Document is the text of one file under the name that problems have.
type Document struct {
	Name string
	Data []byte
}

// A Pack is a named tree of catalog files.
type Pack struct {
	Name string // shown in problems as pack:NAME/FILE
	FS   fs.FS
}

// Load reads the catalog in paths: files, and directories with the *.yaml and *.yml files below them. The error is
// a problem.List of every problem of every file, each At file:line:column; then there is no catalog.
func Load(paths []string, opts LoadOptions) (*Catalog, error) {
	l := newLoader(opts)
	l.in.paths(paths)
	return l.load()
}

// LoadFS reads the catalog in all *.yaml and *.yml files of fsys, as Load does.
func LoadFS(fsys fs.FS, opts LoadOptions) (*Catalog, error) {
	l := newLoader(opts)
	l.in.tree(fsys, "")
	return l.load()
}

// A FileReport is what Validate found in one file.
type FileReport struct {
	File     string       // "" for what stands in no file, such as a DSN from the options
	Problems problem.List // in the order of their places; none is good

	Tools, Annotations int // that the file declares
}

// Validate loads paths and reports on each file, the good ones included, in the order in which they were read. It
// opens no database. The catalog is for further checks alone: where row rules are all that is wrong it is there, too,
// without what is wrong with them; it is nil otherwise.
func Validate(paths []string, opts LoadOptions) ([]FileReport, *Catalog) {
	l := newLoader(opts)
	l.in.paths(paths)
	cat, err := l.load()
	told := len(l.general.found)
	for _, f := range l.files {
		told += f.told
	}
	if err != nil && told == l.spoilt {
		l.finish()
		cat = l.cat
	}
	reports := make([]FileReport, len(l.files))
	for i, f := range l.files {
		reports[i] = FileReport{File: f.name, Problems: f.problems(), Tools: len(f.decl.tools), Annotations: len(f.decl.notes)}
	}
	if p := l.general.problems(); len(p) > 0 {
		reports = append(reports, FileReport{Problems: p})
	}
	return reports, cat
}

// A loader turns files into a catalog. The steps of load run in order over all files; each tells what it finds and
// goes on, so that one run shows everything.
type loader struct {
	opts    LoadOptions
	in      reader
	files   []*file
	general *file // problems that stand in no file
	cat     *Catalog

	connections map[string]declared[*Connection]
	resources   map[string]declared[*Resource]
	rules       map[string]declared[*ruleUnit]
	sets        map[string]declared[*Set]
	texts       map[string]declared[*TextMap]

	resUnits  []*resUnit
	ruleUnits []*ruleUnit
	setUnits  []*setUnit
	checks    []*checkUnit
	guards    map[*Resource][]*Resource // whose row rule reads which resources
	hints     map[hintKey]string
	spoilt    int // problems of row rules
}

// A declared is a named thing with where it was declared.
type declared[T any] struct {
	thing T
	file  *file
	at    place
}

func newLoader(opts LoadOptions) *loader {
	if opts.Getenv == nil {
		opts.Getenv = os.LookupEnv
	}
	if opts.Limits == (query.Limits{}) {
		opts.Limits = query.Defaults()
	}
	l := &loader{opts: opts, general: &file{}, cat: &Catalog{}, hints: map[hintKey]string{}}
	for _, p := range opts.Packs {
		l.in.tree(p.FS, "pack:"+p.Name)
	}
	for _, t := range opts.Texts {
		l.in.inputs = append(l.in.inputs, input{name: t.Name, data: t.Data})
	}
	return l
}

func (l *loader) load() (*Catalog, error) {
	l.read()
	l.declareConnections()
	l.declareTexts()
	l.declareRules()
	l.declareSets()
	l.declareResources()
	l.bindResources()
	l.bindRelations()
	l.bindRules()
	l.bindSets()
	l.bindOwner()
	l.bindRows()
	l.refuseCycles()
	l.refuseNothing()
	l.declareNotes()
	l.declareTools()
	l.bindValidations()
	l.declareInstructions()
	l.declareOwnTools()

	var all problem.List
	for _, f := range slices.SortedStableFunc(slices.Values(append(l.files, l.general)), func(a, b *file) int { return cmp.Compare(a.name, b.name) }) {
		all = append(all, f.problems()...)
	}
	if err := all.Err(); err != nil {
		return nil, err
	}
	l.finish()
	return l.cat, nil
}

// read parses every input and reads its declarations, several files at a time.
func (l *loader) read() {
	l.files = make([]*file, len(l.in.inputs))
	sum := sha256.New()
	for i, in := range l.in.inputs {
		l.files[i] = &file{name: in.name, dir: in.dir}
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(in.data)))
		sum.Write(size[:])
		sum.Write(in.data)
	}
	for _, a := range l.opts.Attach {
		fmt.Fprintf(sum, "%q%q", []string{a.ID, a.Resource, a.Validation, a.Mode}, a.Args)
	}
	l.cat.Hash = hex.EncodeToString(sum.Sum(nil))
	if len(l.files) == 0 {
		l.general.tell(place{}, "name at least one YAML file or directory", "no catalog is given")
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(l.files), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(l.files)); i = next.Add(1) - 1 {
				f, in := l.files[i], l.in.inputs[i]
				if in.err != "" {
					f.broken = true
					f.tell(place{}, in.hint, "%s", in.err)
				} else if root := f.parse(in.data); root != nil {
					fileTable.read(f, "", root, &f.decl)
				}
			}
		})
	}
	wg.Wait()
	l.in.inputs = nil
}

// finish makes the look-ups of a catalog that has no problem.
func (l *loader) finish() {
	c := l.cat
	for _, f := range l.files {
		f.data = nil
	}
	redis := func(c *Connection) bool { return c.Driver == "redis" }
	c.Redis = slices.DeleteFunc(slices.Clone(c.Connections), func(x *Connection) bool { return !redis(x) })
	c.Connections = slices.DeleteFunc(c.Connections, redis)
	c.byCode = make(map[string]*Resource, len(c.Resources))
	for _, r := range c.Resources {
		c.byCode[r.Code] = r
	}
	c.sets = make(map[string]*Set, len(c.Sets))
	for _, s := range c.Sets {
		c.sets[s.Name] = s
	}
	c.tools = make(map[string]*Tool, len(c.Tools))
	for _, t := range c.Tools {
		c.tools[plainName(t.Name)] = t
	}
	c.index = newIndex(c.Resources)
}

// problems gives what was found in f in the order of the places.
func (f *file) problems() problem.List {
	slices.SortStableFunc(f.found, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.at.line, b.at.line), cmp.Compare(a.at.col, b.at.col), cmp.Compare(a.msg, b.msg), cmp.Compare(a.hint, b.hint))
	})
	f.told = max(f.told, len(f.found))
	f.found = slices.Compact(f.found) // a node may be reached twice: through an alias, or through a rule with many users
	list := make(problem.List, len(f.found))
	for i, p := range f.found {
		at := f.name
		if p.at.given() {
			at = f.pos(p.at).String()
		}
		list[i] = &problem.Problem{Code: cmp.Or(p.code, problem.ConfigInvalid), Stage: problem.Shape, At: at, Message: p.msg, Hint: p.hint}
	}
	return list
}

// A hintKey names a list of names and the word that is none of them.
type hintKey struct{ list, word string }

// nearest words a hint for an unknown name. The same mistake is often made many times, so hints are kept.
func (l *loader) nearest(list, word string, names func() []string) string {
	k := hintKey{list, word}
	h, ok := l.hints[k]
	if !ok {
		h = problem.OneOf(word, names())
		if h == "" && len(names()) == 0 {
			h = "declare it under " + list + "s"
		}
		for _, f := range l.files {
			if f.broken {
				if h != "" {
					h += "; "
				}
				h += "or it is declared in " + f.name + ", which could not be read"
				break
			}
		}
		l.hints[k] = h
	}
	return h
}

// keysOf gives the names of m in order.
func keysOf[T any](m map[string]declared[T]) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// declare enters a name once; a second declaration is told with the place of the first.
func declare[T any](m map[string]declared[T], kind, name string, thing T, f *file, at place) bool {
	if first, twice := m[name]; twice {
		where := first.file.name
		if first.at.given() {
			where = first.file.pos(first.at).String()
		}
		f.tell(at, "keep one of them", "the %s %s is declared twice; the first is at %s", kind, problem.Quote(name), where)
		return false
	}
	m[name] = declared[T]{thing, f, at}
	return true
}
