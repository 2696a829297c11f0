package introspect

import (
	"slices"
	"strings"
)

// A book says what the catalog calls the tables and columns of a snapshot.
type book struct {
	naming Naming
	codes  map[*Table]string
	fields map[*Table]map[string]string // column → code
	taken  map[string]bool              // codes of resources
}

// newBook gives every table and column of s a code. A table of another schema whose code is also that of
// a table elsewhere is told apart by its schema.
func newBook(s *Snapshot, naming Naming) *book {
	b := &book{naming: naming, codes: map[*Table]string{}, fields: map[*Table]map[string]string{}, taken: map[string]bool{}}
	b.add(s, s.Tables)
	return b
}

// add names those of tables that have no name yet; s.Tables are all there are.
func (b *book) add(s *Snapshot, tables []*Table) {
	plain := func(t *Table) string { return b.naming.join(words(t.Name), t.Name) }
	shared := map[string]int{}
	for _, t := range s.Tables {
		shared[plain(t)]++
	}
	for _, t := range tables {
		if _, known := b.codes[t]; known {
			continue // and so are its fields: one that is missing is to stay away
		}
		name := t.Name
		if shared[plain(t)] > 1 && t.Schema != s.Schema {
			b.codes[t] = b.qualified(t)
		} else {
			b.codes[t] = b.naming.code(name, b.taken)
		}
		b.addFields(t)
	}
}

func (b *book) qualified(t *Table) string {
	own := b.naming.join(words(t.Schema), t.Schema) + "." + b.naming.join(words(t.Name), t.Name)
	return AsIs.code(own, b.taken)
}

// addFields names the columns of t that have no name yet.
func (b *book) addFields(t *Table) {
	if b.fields[t] == nil {
		b.fields[t] = map[string]string{}
	}
	taken := map[string]bool{}
	for _, code := range b.fields[t] {
		taken[code] = true
	}
	for _, c := range t.Columns {
		if _, known := b.fields[t][c.Name]; !known {
			b.fields[t][c.Name] = b.naming.code(c.Name, taken)
		}
	}
}

// codesOf are the fields of the named columns; nil where one of them is no field.
func (b *book) codesOf(t *Table, columns []string) []string {
	codes := make([]string, len(columns))
	for i, c := range columns {
		code, ok := b.fields[t][c]
		if !ok {
			return nil
		}
		codes[i] = code
	}
	return codes
}

// reference writes a field of a resource as Resource.field; "" where that could be read as another field,
// since both parts may hold points.
func (b *book) reference(t *Table, column string) string {
	code, ok := b.fields[t][column]
	if !ok {
		return ""
	}
	text := b.codes[t] + "." + code
	for other, fields := range b.fields {
		field, ok := strings.CutPrefix(text, b.codes[other]+".")
		if other == t || !ok {
			continue
		}
		for _, c := range fields {
			if c == field {
				return ""
			}
		}
	}
	return text
}

// A relation is one entry of a resource's relations.
type relation struct {
	code, to string
	many     bool
	from, on []string // fields here and there
}

// keys divides the foreign keys of s among the resources: what a field references, and the relations that
// a reference cannot say. A reference is enough where it is the only way from its table to the other; the
// catalog then knows the way back as well.
func (b *book) keys(s *Snapshot) (references map[*Table]map[string]string, relations map[*Table][]relation) {
	references, relations = map[*Table]map[string]string{}, map[*Table][]relation{}
	codes := map[*Table]map[string]bool{}
	for _, t := range s.Tables {
		references[t], codes[t] = map[string]string{}, map[string]bool{}
	}
	for _, t := range s.Tables {
		ways := map[[2]string]int{}
		for _, f := range t.Foreign {
			ways[[2]string{f.Schema, f.Table}]++
		}
		for _, f := range t.Foreign {
			parent := s.table(f.Schema, f.Table)
			if parent == nil {
				continue
			}
			from, on := b.codesOf(t, f.Columns), b.codesOf(parent, f.To)
			if from == nil || on == nil {
				continue
			}
			single, only := len(from) == 1, parent != t && ways[[2]string{f.Schema, f.Table}] == 1
			if text := b.reference(parent, f.To[0]); single && text != "" && references[t][f.Columns[0]] == "" {
				references[t][f.Columns[0]] = text
				if only {
					continue
				}
			}
			code := stem(f.Columns)
			if only {
				code = b.codes[parent]
			}
			code = fresh(code, codes[t])
			relations[t] = append(relations[t], relation{code: code, to: b.codes[parent], from: from, on: on})
			if !single {
				back := b.codes[t]
				if !only {
					back += "_" + code
				}
				relations[parent] = append(relations[parent], relation{
					code: fresh(back, codes[parent]), to: b.codes[t], many: !t.alone(f.Columns), from: on, on: from,
				})
			}
		}
	}
	return references, relations
}

// alone says whether the columns hold a whole key, so that no two rows share their values.
func (t *Table) alone(columns []string) bool {
	holds := func(key []string) bool {
		return len(key) > 0 && !slices.ContainsFunc(key, func(k string) bool { return !slices.Contains(columns, k) })
	}
	return holds(t.Key) || slices.ContainsFunc(t.Unique, holds)
}

// stem is what a foreign key's columns call the other row: owner for owner_id, parent for parentId.
func stem(columns []string) string {
	name := columns[len(columns)-1]
	for _, suffix := range []string{"_id", "_ID", "Id", "ID", "_code", "_no", "_key", "_fk"} {
		if s, ok := strings.CutSuffix(name, suffix); ok && strings.Trim(s, "_") != "" {
			return s
		}
	}
	return name
}

// fresh makes a code of a name that none of taken has.
func fresh(name string, taken map[string]bool) string { return AsIs.code(name, taken) }
