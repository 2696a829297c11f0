package sqltext

import "strings"

func (p *parser) cast() error {
	if err := p.deeper(); err != nil {
		return err
	}
	p.st.glued[p.i+1] = true
	p.i += 2
	param := p.cur().Kind == Marker && p.peek(1).word("as")
	if err := p.operands(true); err != nil {
		return err
	}
	if err := p.must("as"); err != nil {
		return err
	}
	first := p.i
	if err := p.typeName(); err != nil {
		return err
	}
	if param {
		p.st.Params[len(p.st.Params)-1].Cast = p.castTo(first)
	}
	p.depth--
	return p.mustSign(")")
}

// castTo names a type for telling parameters apart.
func (p *parser) castTo(tok int) string {
	var b strings.Builder
	for k := tok; k < len(p.st.Tokens); k++ {
		t := p.st.Tokens[k]
		if t.Kind != Word && t.Kind != Number && !t.sign("(") && !(t.sign(",") && b.Len() > 0) {
			break
		}
		if t.Kind == Word && !types[t.low] && !typeMore[t.low] {
			break
		}
		b.WriteString(lower(t.Text))
	}
	return b.String()
}

func (p *parser) convert() error {
	p.st.glued[p.i+1] = true
	p.i += 2
	if err := p.operands(true); err != nil {
		return err
	}
	if p.take("using") {
		if p.cur().Kind != Word {
			return p.unexpected("a character set")
		}
		p.i++
		return p.mustSign(")")
	}
	if err := p.mustSign(","); err != nil {
		return err
	}
	if err := p.typeName(); err != nil {
		return err
	}
	return p.mustSign(")")
}

func (p *parser) against() error {
	p.i++
	if err := p.brackets(); err != nil {
		return err
	}
	if err := p.must("against"); err != nil {
		return err
	}
	if err := p.mustSign("("); err != nil {
		return err
	}
	if err := p.operands(false); err != nil {
		return err
	}
	if p.take("in") {
		for p.is("natural") || p.is("language") || p.is("boolean") || p.is("mode") {
			p.i++
		}
	}
	return p.mustSign(")")
}

// types are what CAST may convert to. Others, such as PostgreSQL's regclass, look something up.
var types = words("int integer bigint smallint tinyint mediumint int2 int4 int8 numeric decimal dec number real double float float4 float8 text varchar character char " +
	"nchar nvarchar bpchar clob boolean bool date time timestamp datetime timestamptz timetz interval json jsonb uuid bytea blob binary varbinary signed unsigned year inet cidr money")

// spellings are the names of types where a database knows the type under another one, or would take the name for
// another type: SQLite makes a number of what is cast to a DATE.
var spellings = [...]map[string]string{
	MySQL:    {"varchar": "CHAR", "text": "CHAR", "int": "SIGNED", "integer": "SIGNED", "bigint": "SIGNED", "smallint": "SIGNED", "numeric": "DECIMAL", "timestamp": "DATETIME"},
	Postgres: nil,
	SQLite:   {"date": "TEXT", "time": "TEXT", "datetime": "TEXT", "timestamp": "TEXT"},
}

// typeMore continue the name of a type.
var typeMore = words("precision varying integer signed unsigned with without time zone large object set")

func (p *parser) typeName() error {
	t := p.cur()
	if t.Kind != Word || !types[t.low] {
		return p.unexpected("a type such as INTEGER, DECIMAL(10,2), VARCHAR(20), DATE")
	}
	if w := spellings[p.st.Dialect][t.low]; w != "" {
		p.st.written[p.i] = w
	}
	p.i++
	for {
		t := p.cur()
		switch {
		case t.word("precision"), t.word("varying"), t.word("integer"), t.word("signed"), t.word("unsigned"):
			p.i++
		case (t.word("with") || t.word("without")) && p.peek(1).word("time"):
			p.i += 2
			if err := p.must("zone"); err != nil {
				return err
			}
		case (t.word("character") || t.word("charset")) && p.st.Dialect == MySQL:
			if p.i++; t.low == "character" {
				if err := p.must("set"); err != nil {
					return err
				}
			}
			if p.cur().Kind != Word {
				return p.unexpected("a character set")
			}
			p.i++
		case t.sign("("):
			p.i++
			for {
				if _, err := p.count(); err != nil {
					return err
				}
				if !p.takeSign(",") {
					break
				}
			}
			if err := p.mustSign(")"); err != nil {
				return err
			}
		case t.sign("[") && p.peek(1).sign("]"):
			p.i += 2
		default:
			return nil
		}
	}
}

// units of a span of time.
var units = words("microsecond second minute hour day week month quarter year second_microsecond minute_microsecond minute_second hour_microsecond " +
	"hour_second hour_minute day_microsecond day_second day_minute day_hour year_month millisecond decade century")

func (p *parser) interval() error {
	p.i++
	if p.st.Dialect == Postgres {
		p.i++ // the text
		if p.cur().Kind == Word && units[p.cur().low] {
			p.i++
			if p.take("to") && !units[p.cur().low] {
				return p.unexpected("a unit of time")
			} else if p.st.Tokens[p.i-1].word("to") {
				p.i++
			}
		}
		return nil
	}
	if err := p.operands(true); err != nil {
		return err
	}
	if p.cur().Kind != Word || !units[p.cur().low] {
		return p.unexpected("a unit of time")
	}
	p.i++
	return nil
}
