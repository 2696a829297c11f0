package plan

import (
	"strconv"
	"strings"

	"resq/schema"
	"resq/schema/problem"
)

func (x *xbinder) document(name string, ops []operand, bad problem.Code) Expr {
	length := strings.HasSuffix(name, "LENGTH")
	if len(ops) == 0 || len(ops) > 2 || len(ops) == 1 && !length && name != "JSON_TYPE" {
		x.arity(name)
	}
	d := &Document{Doc: ops[0].e, Length: length, Kind: name == "JSON_TYPE"}
	if d.Doc.Type().Kind != schema.JSON {
		x.fail(problem.InvalidArgument, problem.Semantics, name+" needs a field of type json", "")
	}
	if len(ops) == 2 {
		if ops[1].lit == nil {
			x.fail(bad, problem.Constructs, name+" takes a path as a plain 'string'", "'$.a.b[0]'")
		}
		p, ok := parsePath(ops[1].lit.Text)
		if !ok {
			x.fail(bad, problem.Constructs, problem.Quote(ops[1].lit.Text)+" is no path", "$.a.b[0]: members and indexes, no wildcards")
		}
		d.Path = p
	}
	return d
}

// parsePath reads $.a.b[0]: members and indexes, no wildcards.
func parsePath(s string) (Path, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(s), "$")
	if !ok {
		return nil, false
	}
	p := Path{}
	for rest != "" {
		if len(p) == 16 {
			return nil, false
		}
		switch rest[0] {
		case '.':
			rest = rest[1:]
			var name string
			if strings.HasPrefix(rest, `"`) {
				end := strings.IndexByte(rest[1:], '"')
				if end < 0 {
					return nil, false
				}
				name, rest = rest[1:end+1], rest[end+2:]
			} else {
				end := strings.IndexAny(rest, ".[")
				if end < 0 {
					end = len(rest)
				}
				name, rest = rest[:end], rest[end:]
				if !identifier(name) {
					return nil, false
				}
			}
			if name == "" || len(name) > 128 || strings.ContainsAny(name, "\"\\'{},\x00") {
				return nil, false
			}
			p = append(p, Step{Name: name})
		case '[':
			end := strings.IndexByte(rest, ']')
			if end < 2 || end > 6 {
				return nil, false
			}
			n, err := strconv.ParseUint(rest[1:end], 10, 16)
			if err != nil {
				return nil, false
			}
			p, rest = append(p, Step{Index: int(n)}), rest[end+1:]
		default:
			return nil, false
		}
	}
	return p, true
}
