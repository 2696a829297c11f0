package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"strings"

	"resq/engine/sqlgen"
)

// Structure asks sqlite_schema and its pragmas. What only the text of a CREATE has is taken out of it by resq_made.
func (Dialect) Structure() sqlgen.Structure {
	const main = "'main' = ?1"
	return sqlgen.Structure{
		Apart:   true,
		Schemas: sqlgen.Question{Text: "SELECT 'main', 0"},
		Tables:  sqlgen.Question{Args: "s", Text: "SELECT name, type = 'view', '' FROM pragma_table_list WHERE schema = 'main' AND " + main + " AND type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"},
		Column: sqlgen.Question{Args: "st", Text: "SELECT ?2, x.name, x.type, CASE WHEN x.\"notnull\" OR x.pk > 0 THEN 1 ELSE 0 END, x.dflt_value, '', " +
			"json_extract(m.made, '$.computed.' || json_quote(lower(x.name))), x.hidden IN (2, 3), " +
			"x.pk = 1 AND upper(x.type) = 'INTEGER' AND (SELECT COUNT(*) FROM pragma_table_xinfo(?2) WHERE pk > 0) = 1 AND NOT EXISTS (SELECT 1 FROM pragma_index_list(?2) WHERE origin = 'pk') " +
			"FROM pragma_table_xinfo(?2, 'main') AS x LEFT JOIN (SELECT resq_made(sql) AS made FROM sqlite_schema WHERE type = 'table' AND name = ?2) AS m ON TRUE " +
			"WHERE " + main + " AND x.hidden <> 1 ORDER BY x.cid"},
		Key: sqlgen.Question{Args: "st", Text: "SELECT name FROM pragma_table_xinfo(?2, 'main') WHERE " + main + " AND pk > 0 ORDER BY pk"},
		// The key of a table that counts its rows by it has no index of its own, and is one all the same.
		Indexes: sqlgen.Question{Args: "st", Text: "SELECT * FROM (SELECT l.name AS name, l.\"unique\", l.origin = 'pk', x.name, CASE WHEN x.cid = -2 THEN json_extract(resq_made(m.sql), '$.parts[' || x.seqno || ']') END, x.\"desc\", " +
			"json_extract(resq_made(m.sql), '$.where'), 0, 0, x.seqno AS at FROM pragma_index_list(?2, 'main') AS l JOIN pragma_index_xinfo(l.name, 'main') AS x LEFT JOIN sqlite_schema AS m ON m.type = 'index' AND m.name = l.name " +
			"WHERE " + main + " AND x.key = 1 UNION ALL SELECT 'PRIMARY', 1, 1, name, NULL, 0, NULL, 0, 0, pk FROM pragma_table_xinfo(?2, 'main') WHERE " + main +
			" AND pk > 0 AND NOT EXISTS (SELECT 1 FROM pragma_index_list(?2, 'main') WHERE origin = 'pk')) ORDER BY name, at"},
		Owners: sqlgen.Question{Args: "st", Text: "SELECT tbl_name FROM sqlite_schema WHERE " + main + " AND type = 'index' AND name = ?2 COLLATE NOCASE"},
		Foreign: sqlgen.Question{Args: "s", Text: "SELECT m.name, CAST(f.id AS TEXT), '', f.\"from\", 'main', f.\"table\", COALESCE(f.\"to\", (SELECT name FROM pragma_table_xinfo(f.\"table\") WHERE pk = f.seq + 1)), " +
			"f.on_update, f.on_delete FROM sqlite_schema AS m JOIN pragma_foreign_key_list(m.name, 'main') AS f WHERE " + main + " AND m.type = 'table' ORDER BY m.name, f.id DESC, f.seq"},
		Checks: sqlgen.Question{Args: "st", Text: "SELECT COALESCE(json_extract(c.value, '$.name'), ''), json_extract(c.value, '$.text') FROM sqlite_schema AS m JOIN json_each(resq_made(m.sql), '$.checks') AS c " +
			"WHERE " + main + " AND m.type = 'table' AND m.name = ?2 ORDER BY c.key"},
		Views: sqlgen.Question{Args: "s", Text: "SELECT name, json_extract(resq_made(sql), '$.select') FROM sqlite_schema WHERE " + main + " AND type = 'view' ORDER BY name"},
		Triggers: sqlgen.Question{Args: "st", Text: "SELECT name, json_extract(resq_made(sql), '$.timing'), json_extract(resq_made(sql), '$.event') FROM sqlite_schema WHERE " + main +
			" AND type = 'trigger' AND tbl_name = ?2 COLLATE NOCASE ORDER BY name"},
		Stored: sqlgen.Question{Args: "st", Text: "SELECT MAX(CAST(stat AS INTEGER)), NULL, NULL, NULL, NULL FROM sqlite_stat1 WHERE " + main + " AND tbl = ?2 HAVING COUNT(*) > 0"},
		// The second number is how many rows have one value of the first column, on average.
		Spread: sqlgen.Question{Args: "st", Text: "SELECT x.name, MAX(CAST(round(1.0 * CAST(s.stat AS INTEGER) / CAST(substr(s.stat, instr(s.stat, ' ') + 1) AS INTEGER)) AS INTEGER)), NULL FROM sqlite_stat1 AS s " +
			"JOIN pragma_index_info(s.idx, 'main') AS x ON x.seqno = 0 WHERE " + main + " AND s.tbl = ?2 AND x.name IS NOT NULL AND CAST(substr(s.stat, instr(s.stat, ' ') + 1) AS INTEGER) > 0 GROUP BY x.name"},
	}
}

// made is what only the text of a CREATE tells.
type made struct {
	Checks   []madeCheck       `json:"checks"`
	Computed map[string]string `json:"computed,omitempty"` // column in lower case → its expression
	Parts    []string          `json:"parts,omitempty"`    // of an index
	Where    string            `json:"where,omitempty"`
	Select   string            `json:"select,omitempty"`
	Timing   string            `json:"timing,omitempty"`
	Event    string            `json:"event,omitempty"`
}

type madeCheck struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// A piece is one word, sign, or quoted thing of a CREATE, with the depth of brackets around it.
type piece struct {
	text, low  string
	depth      int
	start, end int
}

// pieces cuts a text of SQLite's own, which it has parsed once already.
func pieces(s string) (list []piece) {
	depth := 0
	for i := 0; i < len(s); {
		start := i
		switch c := s[i]; {
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
			i++
			continue
		case strings.HasPrefix(s[i:], "--"):
			if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
				i += n
			} else {
				i = len(s)
			}
			continue
		case strings.HasPrefix(s[i:], "/*"):
			if n := strings.Index(s[i+2:], "*/"); n >= 0 {
				i += n + 4
			} else {
				i = len(s)
			}
			continue
		case c == '\'' || c == '"' || c == '`' || c == '[':
			i = quoted(s, i)
		case word(c):
			for i < len(s) && word(s[i]) {
				i++
			}
		default:
			if i++; c == ')' {
				depth--
			}
		}
		list = append(list, piece{s[start:i], strings.ToLower(s[start:i]), depth, start, i})
		if s[start] == '(' {
			depth++
		}
	}
	return list
}

func word(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// quoted gives the end of what begins with a quote; a doubled one is part of it.
func quoted(s string, i int) int {
	end := s[i]
	if end == '[' {
		end = ']'
	}
	for i++; i < len(s); i++ {
		if s[i] != end {
			continue
		}
		if end != ']' && i+1 < len(s) && s[i+1] == end {
			i++
			continue
		}
		return i + 1
	}
	return len(s)
}

func unquoted(s string) string {
	if len(s) < 2 || strings.IndexByte("'\"`[", s[0]) < 0 {
		return s
	}
	q := s[:1]
	return strings.ReplaceAll(s[1:len(s)-1], q+q, q)
}

// inside gives the text between the bracket at list[i] and its end, and the place behind it.
func inside(s string, list []piece, i int) (string, int) {
	for j := i + 1; j < len(list); j++ {
		if list[j].text == ")" && list[j].depth == list[i].depth {
			return strings.TrimSpace(s[list[i].end:list[j].start]), j + 1
		}
	}
	return "", len(list)
}

// toMade takes a CREATE apart.
func toMade(args []driver.Value) (driver.Value, error) {
	s, ok := text(args[0])
	m := made{Checks: []madeCheck{}}
	if ok {
		list := pieces(s)
		for i := range list {
			if kind := list[i].low; kind == "table" || kind == "view" || kind == "index" || kind == "trigger" {
				m.read(kind, s, list[i+1:])
				break
			}
		}
	}
	b, err := json.Marshal(m)
	return string(b), err
}

func (m *made) read(kind, s string, list []piece) {
	begin := 0 // of the column that is read
	for i := range list {
		p := &list[i]
		before := func(n int) string {
			if i < n {
				return ""
			}
			return list[i-n].low
		}
		switch {
		case kind == "view" && p.low == "as" && p.depth == 0:
			m.Select = strings.TrimSpace(s[p.end:])
			return
		case kind == "trigger" && p.depth == 0:
			switch p.low {
			case "before", "after":
				m.Timing = strings.ToUpper(p.low)
			case "instead":
				m.Timing = "INSTEAD OF"
			case "insert", "update", "delete":
				if m.Event = strings.ToUpper(p.low); m.Timing == "" {
					m.Timing = "BEFORE" // as it is when it is not said
				}
				return
			}
		case kind == "index" && p.text == "(" && p.depth == 0 && m.Parts == nil:
			from := p.end
			for _, x := range list[i+1:] {
				if x.depth == 1 && x.text == "," || x.depth == 0 && x.text == ")" {
					m.Parts = append(m.Parts, strings.TrimSpace(s[from:x.start]))
					from = x.end
				}
				if x.depth == 0 {
					break
				}
			}
		case kind == "index" && p.low == "where" && p.depth == 0:
			m.Where = strings.TrimSpace(s[p.end:])
			return
		case kind == "table" && p.text == "(" && p.depth == 0 || kind == "table" && p.text == "," && p.depth == 1:
			begin = i + 1
		case kind == "table" && p.low == "check" && p.depth == 1 && i+1 < len(list) && list[i+1].text == "(":
			c := madeCheck{}
			if before(2) == "constraint" {
				c.Name = unquoted(list[i-1].text)
			}
			c.Text, _ = inside(s, list, i+1)
			m.Checks = append(m.Checks, c)
		case kind == "table" && p.low == "as" && p.depth == 1 && i+1 < len(list) && list[i+1].text == "(":
			if m.Computed == nil {
				m.Computed = map[string]string{}
			}
			m.Computed[strings.ToLower(unquoted(list[begin].text))], _ = inside(s, list, i+1)
		}
	}
}
