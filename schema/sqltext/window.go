package sqltext

// window reads what a window function sees, in brackets.
func (p *parser) window() error {
	if err := p.mustSign("("); err != nil {
		return err
	}
	if err := p.deeper(); err != nil {
		return err
	}
	if t := p.cur(); t.Kind == Word && !structural[t.low] {
		p.i++ // the window that this one begins with
	}
	if p.take("partition") {
		if err := p.must("by"); err != nil {
			return err
		}
		if err := p.several(); err != nil {
			return err
		}
	}
	if p.take("order") {
		if err := p.must("by"); err != nil {
			return err
		}
		if err := p.keys(); err != nil {
			return err
		}
	}
	if p.take("rows") || p.take("range") || p.take("groups") {
		both := p.take("between")
		if err := p.bound(); err != nil {
			return err
		}
		if both {
			if err := p.must("and"); err != nil {
				return err
			}
			if err := p.bound(); err != nil {
				return err
			}
		}
		if err := p.exclusion(); err != nil {
			return err
		}
	}
	p.depth--
	return p.mustSign(")")
}

// exclusion reads which rows of its frame a window leaves out.
func (p *parser) exclusion() error {
	if p.st.Dialect == MySQL || !p.take("exclude") {
		return nil
	}
	switch {
	case p.take("current"):
		return p.must("row")
	case p.take("no"):
		return p.must("others")
	case p.take("group"), p.take("ties"):
		return nil
	}
	return p.unexpected("CURRENT ROW, GROUP, TIES or NO OTHERS")
}

// keys reads sort keys inside an expression.
func (p *parser) keys() error {
	for {
		if err := p.operands(true); err != nil {
			return err
		}
		if !p.take("asc") {
			p.take("desc")
		}
		if p.take("nulls") && !p.take("first") && !p.take("last") {
			return p.unexpected("FIRST or LAST")
		}
		if !p.takeSign(",") {
			return nil
		}
	}
}

func (p *parser) bound() error {
	switch {
	case p.take("unbounded"):
	case p.take("current"):
		return p.must("row")
	default:
		if err := p.operand(); err != nil {
			return err
		}
	}
	if !p.take("preceding") && !p.take("following") {
		return p.unexpected("PRECEDING or FOLLOWING")
	}
	return nil
}
