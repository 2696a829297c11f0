package sqltext

// nameLike says whether t may be a name.
func (p *parser) nameLike(t *Token) bool {
	return t.Kind == Name || t.Kind == Word && (!structural[t.low] || asName[t.low]) && !p.session(t)
}

// session says whether t is a word that gives what a session knows, even where a table or column is expected.
func (p *parser) session(t *Token) bool {
	return t.Kind == Word && (sessionWords[t.low] || t.low == "user" && p.st.Dialect == Postgres)
}

var sessionWords = words("current_user session_user system_user current_role current_catalog current_schema")

// name takes a name.
func (p *parser) name(what string) (string, error) {
	if !p.nameLike(p.cur()) {
		return "", p.unexpected(what)
	}
	p.i++
	return p.meant(&p.st.Tokens[p.i-1]), nil
}

// meant is the name that a token stands for: PostgreSQL folds one without quotes.
func (p *parser) meant(t *Token) string {
	if t.Kind == Word && p.st.Dialect == Postgres {
		return t.low
	}
	return t.Text
}

// names takes names in brackets, the first of which is already open.
func (p *parser) names() ([]string, error) {
	var list []string
	for {
		n, err := p.name("the name of a column")
		if err != nil {
			return nil, err
		}
		list = append(list, n)
		if !p.takeSign(",") {
			return list, p.mustSign(")")
		}
	}
}

// alias takes an alias if there is one.
func (p *parser) alias() (string, error) {
	if p.take("as") {
		return p.name("an alias")
	}
	if t := p.cur(); t.Kind == Name || t.Kind == Word && !structural[t.low] && !p.session(t) {
		p.i++
		return p.meant(t), nil
	}
	return "", nil
}
