package plan

import (
	"regexp/syntax"
	"strconv"
	"strings"

	"resq/engine/funcs"
	"resq/schema/problem"
	"resq/schema/query"
)

var (
	likeEscape = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")
	likeReady  = strings.NewReplacer("!", "!!")
)

// likeLeaf takes a token with % at an end as a ready pattern and escapes and wraps any other.
func (b *binder) likeLeaf(l *query.Leaf, x Expr) Expr {
	at := l.At + "/token"
	tok := l.Token
	if n := len([]rune(tok)); n > b.lim.Pattern {
		b.add(problem.LimitExceeded, problem.Limits, at, "a pattern of "+strconv.Itoa(n)+" characters", "at most "+strconv.Itoa(b.lim.Pattern))
		return nil
	}
	if strings.IndexByte(tok, 0) >= 0 {
		b.add(problem.InvalidArgument, problem.Semantics, at, "a NUL character in the pattern", "")
		return nil
	}
	lead, tail := strings.HasPrefix(tok, "%"), strings.HasSuffix(tok, "%")
	var pattern string
	switch l.Verbatim {
	case query.Anywhere:
		lead, tail = false, false
	case query.AtStart:
		return &Like{X: asText(x), Pattern: &Arg{Value: likeEscape.Replace(tok) + "%", T: textType}, Not: l.Op == query.NotLike, Case: caseSensitive(x)}
	}
	if lead || tail {
		// A pattern of SQL as it is; only our own escape character is doubled.
		if n := strings.Count(tok, "%"); n > b.lim.Wildcards {
			b.add(problem.LimitExceeded, problem.Limits, at, strconv.Itoa(n)+" wildcards", "at most "+strconv.Itoa(b.lim.Wildcards))
			return nil
		}
		pattern = likeReady.Replace(tok)
	} else {
		pattern = "%" + likeEscape.Replace(tok) + "%"
	}
	return &Like{X: asText(x), Pattern: &Arg{Value: pattern, T: textType}, Not: l.Op == query.NotLike, Case: caseSensitive(x)}
}

// pattern makes a computed text a pattern for our escape character.
func pattern(e Expr) Expr {
	if a, ok := e.(*Arg); ok {
		if s, ok := argText(a); ok {
			return &Arg{Value: likeReady.Replace(s), T: textType}
		}
	}
	lit := func(s string) Expr { return &Arg{Value: s, T: textType} }
	return &Call{Fn: funcs.Must("REPLACE"), Args: []Expr{asText(e), lit("!"), lit("!!")}, T: textType}
}

func caseSensitive(x Expr) bool {
	c, ok := x.(*Column)
	return ok && c.Field != nil && c.Source.Resource.CaseSensitive
}

func (b *binder) regexpLeaf(l *query.Leaf, x Expr) Expr {
	return b.regexp(x, l.Token, l.At+"/token", l.Op == query.NotRegexp)
}

// regexp admits the patterns that Go's RE2 reads without Perl's additions: they mean the same in every
// database and cannot run away in ours.
func (b *binder) regexp(x Expr, pattern, at string, not bool) Expr {
	if n := len([]rune(pattern)); n > b.lim.Pattern {
		b.add(problem.LimitExceeded, problem.Limits, at, "a pattern of "+strconv.Itoa(n)+" characters", "at most "+strconv.Itoa(b.lim.Pattern))
		return nil
	}
	if n := largestRepeat(pattern); n > b.lim.Repeat {
		b.add(problem.LimitExceeded, problem.Limits, at, "a repetition of "+strconv.Itoa(n), "at most "+strconv.Itoa(b.lim.Repeat))
		return nil
	}
	re, err := syntax.Parse(pattern, syntax.ClassNL|syntax.OneLine)
	if err != nil || stacked(pattern) || foreign(pattern, caseSensitive(x)) || strings.IndexByte(pattern, 0) >= 0 || pattern == "" || !portable(re) {
		b.add(problem.InvalidArgument, problem.Semantics, at, "the pattern is not one that every database reads alike",
			"characters, . [a-z] ( | ) * + ? {n,m} ^ $; no look-around, back-references or \\p{…}")
		return nil
	}
	return &Match{X: asText(x), Pattern: &Arg{Value: pattern, T: textType}, Not: not, Case: caseSensitive(x)}
}

// portable refuses what parses here but means something else in a database.
func portable(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return false
	}
	if re.Flags&syntax.NonGreedy != 0 && (re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpQuest || re.Op == syntax.OpRepeat) {
		return false
	}
	for _, s := range re.Sub {
		if !portable(s) {
			return false
		}
	}
	return true
}

// foreign says whether a pattern names a class that not every database knows, or one of case where case is
// ignored.
func foreign(s string, sensitive bool) bool {
	for _, class := range []string{"[:^", "[:ascii:]"} {
		if strings.Contains(s, class) {
			return true
		}
	}
	return !sensitive && (strings.Contains(s, "[:upper:]") || strings.Contains(s, "[:lower:]"))
}

// stacked says whether a repetition is repeated (a**), which Go reads and the databases do not.
func stacked(s string) bool {
	class, was := false, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\':
			i++
			was = false
		case class:
			class = c != ']'
		case c == '[':
			class, was = true, false
			if i+1 < len(s) && s[i+1] == '^' {
				i++
			}
			if i+1 < len(s) && s[i+1] == ']' {
				i++
			}
		case strings.IndexByte("*+?{", c) >= 0:
			if was {
				return true
			}
			was = true
			if c == '{' {
				if end := strings.IndexByte(s[i:], '}'); end > 0 {
					i += end
				}
			}
		default:
			was = false
		}
	}
	return false
}

func largestRepeat(s string) int {
	most := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '{' {
			continue
		}
		for _, part := range strings.Split(s[i+1:i+1+max(0, strings.IndexByte(s[i+1:], '}'))], ",") {
			if n, err := strconv.Atoi(part); err == nil {
				most = max(most, n)
			} else if len(part) > 9 && integerText.MatchString(part) {
				most = 1 << 30
			}
		}
	}
	return most
}
