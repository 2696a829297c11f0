package schema

import (
	"slices"
	"strings"

	"resq/schema/problem"
)

func (r *columnBinder) lookup(c *Column, d *columnDecl) bool {
	there := r.b.resource(d.lookup)
	if there == nil {
		return false
	}
	var key *Field
	switch {
	case d.key.given():
		key = r.b.field(d.key, there)
	case len(there.Key) == 1:
		key = there.Key[0]
	default:
		r.b.tell(d.lookup.at, "key: CODE", "%s has no single key by which a row could be found", problem.Quote(there.Code))
	}
	if !d.by.given() {
		r.b.tell(d.at, "by: CODE", "nothing says which field holds the key of %s", problem.Quote(there.Code))
	}
	if len(d.take) == 0 {
		r.b.tell(d.at, "take: CODE", "nothing says what is taken from %s", problem.Quote(there.Code))
	}
	if len(d.take) > 1 && d.name.text != "..." {
		r.b.tell(d.take[1].at, `one output for each, or "...": {lookup: …, take: […]}`, "an output takes one field")
	}
	i, by := r.index(d.by)
	if key == nil || i < 0 || len(d.take) == 0 {
		return false
	}
	for _, f := range []*Field{key, by} {
		if f.Mask != "" {
			r.b.tell(d.at, "", "the field %s is masked, so that nothing can be found by it", problem.Quote(f.Code))
			return false
		}
	}
	take := r.b.field(d.take[0], there)
	if take == nil {
		return false
	}
	c.Index, c.Field = i, take
	for _, l := range r.read.Lookups {
		if l.Source == there && l.Key == key {
			c.Lookup = l
		}
	}
	if c.Lookup == nil {
		c.Lookup = &Lookup{Source: there, Key: key, At: r.b.file.pos(d.at)}
		r.read.Lookups = append(r.read.Lookups, c.Lookup)
	}
	if !slices.Contains(c.Lookup.By, i) {
		c.Lookup.By = append(c.Lookup.By, i)
	}
	if c.Take = slices.Index(c.Lookup.Fields, take); c.Take < 0 {
		c.Take = len(c.Lookup.Fields)
		c.Lookup.Fields = append(c.Lookup.Fields, take)
	}
	return true
}

func (r *columnBinder) redis(c *Column, d *columnDecl) bool {
	conn := r.redisConnection(d)
	if conn == nil {
		return false
	}
	x := &Redis{Connection: conn, Template: d.redis.text, As: d.as.text, Fail: d.onDown.text == "error"}
	if x.As == "" {
		x.As = "string"
	}
	rest := d.redis.text
	for rest != "" {
		before, after, found := strings.Cut(rest, "{")
		if before != "" {
			x.Parts = append(x.Parts, RedisPart{before, -1})
		}
		if !found {
			break
		}
		code, tail, closed := strings.Cut(after, "}")
		if !closed {
			r.b.tell(d.redis.at, "name:{field}", "a { of the key is not closed")
			return false
		}
		i, f := r.index(word{code, d.redis.at})
		if i < 0 {
			return false
		}
		if f.Mask != "" {
			r.b.tell(d.redis.at, "", "the field %s is masked, so that nothing can be found by it", problem.Quote(f.Code))
			return false
		}
		x.Parts = append(x.Parts, RedisPart{"", i})
		rest = tail
	}
	if !slices.ContainsFunc(x.Parts, func(p RedisPart) bool { return p.Index >= 0 }) {
		r.b.tell(d.redis.at, "name:{field}", "the key %s is the same for every record", problem.Quote(x.Template))
	}
	c.Redis = x
	return true
}

func (r *columnBinder) redisConnection(d *columnDecl) *Connection {
	var all []*Connection
	for _, c := range r.b.l.cat.Connections {
		if c.Driver == "redis" && (!d.connection.given() || d.connection.text == c.Name) {
			all = append(all, c)
		}
	}
	if len(all) == 1 {
		if !slices.Contains(r.b.tool.Connections, all[0]) {
			r.b.tool.Connections = append(r.b.tool.Connections, all[0])
		}
		return all[0]
	}
	at, hint := d.redis.at, "connection: NAME"
	if d.connection.given() {
		at, hint = d.connection.at, "declare one under connections, with driver: redis"
	} else if len(all) == 0 {
		hint = "declare one under connections, with driver: redis"
	}
	r.b.tell(at, hint, "no connection of the driver redis is meant")
	return nil
}
