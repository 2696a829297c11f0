package introspect

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// An update brings the documents of a catalog up to date with a snapshot.
type update struct {
	s      *Snapshot
	opts   WriteOptions
	docs   []*document
	result *Result
	mine   []*declaration          // the resources on the connection that was read
	shown  map[*Table]*declaration // which of them gets a table's new columns
	before map[string][]string     // resource → the fields it had
}

// Update adds what the database has and the catalog in fsys has not: the connection, and new tables and views as
// files of their own. A column that a resource lacks may have been taken out by a person, to hide it, so it is
// reported as Drift; with AddColumns it becomes the last field of its resource. Nothing that stands in the catalog
// is changed or removed, comments and order included; what no longer fits the database is reported as Drift, too.
// The result's files are those that are new or changed. Update fails when a file is no YAML.
func Update(fsys fs.FS, s *Snapshot, opts WriteOptions) (*Result, error) {
	docs, err := readDocuments(fsys)
	if err != nil {
		return nil, err
	}
	u := &update{s: s, opts: opts, docs: docs, shown: map[*Table]*declaration{}, before: map[string][]string{},
		result: &Result{Notes: slices.Clone(s.Notes), Tables: len(s.Tables)}}
	b := u.book()
	w := newWriter(s, b, opts)
	if opts.AddColumns {
		changed := u.addFields(w)
		for _, d := range u.docs {
			if changed[d.name] {
				u.result.Files = append(u.result.Files, File{d.name, d.data})
			}
		}
	}
	u.addFiles(w)
	u.result.noteGuesses(w)
	u.report()
	return u.result, nil
}

// connectionOf names the connection of a resource, by the loader's rule.
func connectionOf(r *declaration, declared []string) string {
	switch {
	case r.connection != "":
		return r.connection
	case slices.Contains(declared, "default"), len(declared) != 1:
		return "default"
	}
	return declared[0]
}

// mineOf are the resources on the connection that was read.
func (u *update) mineOf(all []*declaration) []*declaration {
	names := connections(u.docs)
	return slices.DeleteFunc(slices.Clone(all), func(r *declaration) bool { return connectionOf(r, names) != u.opts.connection() })
}

// book keeps the codes that the catalog has and finds codes for what is new. A table may stand behind
// several resources: the one with the most fields shows it, the others are selections that someone made.
func (u *update) book() *book {
	all := declarations(u.docs)
	u.mine = u.mineOf(all)
	b := &book{naming: u.opts.Naming, codes: map[*Table]string{}, fields: map[*Table]map[string]string{}, taken: map[string]bool{}}
	for _, r := range all {
		b.taken[r.code] = true
	}
	for _, r := range u.mine {
		t := u.s.table(r.schema, r.table)
		if t != nil && (u.shown[t] == nil || len(r.fields) > len(u.shown[t].fields)) {
			u.shown[t] = r
		}
	}
	for t, r := range u.shown {
		b.codes[t], b.fields[t] = r.code, map[string]string{}
		for _, f := range r.fields {
			u.before[r.code] = append(u.before[r.code], f.code)
			if c := u.s.lookup(t, f.column); c != nil {
				if _, twice := b.fields[t][c.Name]; !twice {
					b.fields[t][c.Name] = f.code
				}
			}
		}
	}
	if u.opts.AddColumns {
		for t, r := range u.shown {
			u.nameFields(b, t, r)
		}
	}
	b.add(u.s, u.s.Tables)
	return b
}

// nameFields gives codes to the columns of t that have none, apart from all fields of the resource, also
// those whose column is gone.
func (u *update) nameFields(b *book, t *Table, r *declaration) {
	taken := map[string]bool{}
	for _, f := range r.fields {
		taken[f.code] = true
	}
	for _, c := range t.Columns {
		if _, known := b.fields[t][c.Name]; !known {
			b.fields[t][c.Name] = b.naming.code(c.Name, taken)
		}
	}
}

// addFields adds the columns that resources lack, file by file from the end, so that the places of those
// before stay what they were.
func (u *update) addFields(w *writer) map[string]bool {
	changed := map[string]bool{}
	for i, d := range u.docs {
		var here []addition
		for _, t := range u.s.Tables {
			r := u.shown[t]
			if r == nil || r.doc != d {
				continue
			}
			a := addition{to: r}
			for _, c := range t.Columns {
				if !slices.Contains(u.before[r.code], w.book.fields[t][c.Name]) {
					a.lines = append(a.lines, w.field(t, c))
				}
			}
			if len(a.lines) > 0 {
				here = append(here, a)
			}
		}
		if len(here) == 0 {
			continue
		}
		next, missed := d.insert(here)
		for _, a := range missed {
			u.result.Notes = append(u.result.Notes, fmt.Sprintf("%s: the fields of %s cannot be added to, being empty, or shared with another resource, or written in an unusual way; add by hand: %s", a.to.at, a.to.code, strings.Join(a.lines, "; ")))
		}
		if len(missed) < len(here) {
			u.docs[i], changed[d.name] = next, true
		}
	}
	return changed
}

// addFiles writes the connection, if the catalog lacks it, and the tables that no resource shows.
func (u *update) addFiles(w *writer) {
	taken := map[string]bool{}
	for _, d := range u.docs {
		if path.Dir(d.name) == "resources" {
			taken[strings.ToLower(strings.TrimSuffix(path.Base(d.name), path.Ext(d.name)))] = true
		}
	}
	if !slices.Contains(connections(u.docs), u.opts.connection()) {
		name := "connections.yaml"
		for i := 2; slices.ContainsFunc(u.docs, func(d *document) bool { return strings.EqualFold(d.name, name) }); i++ {
			name = fmt.Sprintf("connections-%d.yaml", i)
		}
		u.result.Files = append(u.result.Files, File{name, u.result.connections(u.s, u.opts)})
		u.added(name, "connection "+u.opts.connection())
	}
	for _, t := range u.s.Tables {
		if u.shown[t] != nil {
			continue
		}
		name := "resources/" + fileName(w.book.codes[t], taken) + ".yaml"
		u.result.Files = append(u.result.Files, File{name, w.file(t)})
		u.added(name, fmt.Sprintf("resource %s for the new %s", w.book.codes[t], u.s.title(t)))
	}
}

func (u *update) added(file, what string) {
	u.result.Added = append(u.result.Added, file+":1: "+what)
}

// report looks at the catalog as it now is, so that the lines it names are those of the new files.
func (u *update) report() {
	c := check{s: u.s, strict: true}
	var fields []string
	for _, r := range u.mineOf(declarations(u.docs)) {
		c.entry(r.entry)
		for _, f := range r.fields {
			if before, shown := u.before[r.code]; shown && u.isShown(r.code) && !slices.Contains(before, f.code) {
				fields = append(fields, fmt.Sprintf("%s:%d: field %s.%s", f.at.File, f.at.Line, r.code, f.code))
			}
		}
	}
	u.result.Added = append(fields, u.result.Added...)
	u.lacking(&c)
	u.result.Drift = c.drift
}

// lacking tells the columns that no resource of their table has.
func (u *update) lacking(c *check) {
	if u.opts.AddColumns {
		return // added, or told in a note to be added by hand
	}
	known := map[*Table]map[*Column]bool{}
	for _, r := range u.mine {
		t := u.s.table(r.schema, r.table)
		if t == nil {
			continue
		}
		if known[t] == nil {
			known[t] = map[*Column]bool{}
		}
		for _, f := range r.fields {
			known[t][u.s.lookup(t, f.column)] = true
		}
	}
	for _, t := range u.s.Tables {
		for _, col := range t.Columns {
			if r := u.shown[t]; r != nil && !known[t][col] {
				c.tell(r.at, true, "column %s of table %s is not in the catalog", scalar(col.Name), scalar(t.Name))
			}
		}
	}
}

func (u *update) isShown(code string) bool {
	for _, r := range u.shown {
		if r.code == code {
			return true
		}
	}
	return false
}
