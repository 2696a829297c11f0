package sqlite

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"modernc.org/sqlite"
)

func text(v driver.Value) (string, bool) {
	switch x := v.(type) {
	case string:
		return x, true
	case []byte:
		return string(x), true
	case int64:
		return strconv.FormatInt(x, 10), true
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64), true
	}
	return "", false
}

// mapped makes a function of a text.
func mapped(f func(string) string) scalar {
	return func(args []driver.Value) (driver.Value, error) {
		s, ok := text(args[0])
		if !ok {
			return nil, nil
		}
		return f(s), nil
	}
}

func reverse(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}

// patterns keeps compiled patterns; it is emptied rather than grown beyond a bound.
var patterns = struct {
	sync.Mutex
	m map[string]*regexp.Regexp
}{m: map[string]*regexp.Regexp{}}

func compiled(p string) (*regexp.Regexp, error) {
	patterns.Lock()
	defer patterns.Unlock()
	if re := patterns.m[p]; re != nil {
		return re, nil
	}
	re, err := regexp.Compile(p)
	if err != nil {
		return nil, errors.New(failed + "a pattern that cannot be read")
	}
	if len(patterns.m) >= 256 {
		clear(patterns.m)
	}
	patterns.m[p] = re
	return re, nil
}

func verdict(ok bool) driver.Value {
	if ok {
		return int64(1)
	}
	return int64(0)
}

// classes names the letters of all scripts, as the other databases do; Go's own know ASCII only.
var classes = strings.NewReplacer("[:alpha:]", `\p{L}`, "[:alnum:]", `\p{L}\p{N}`, "[:lower:]", `\p{Ll}`, "[:upper:]", `\p{Lu}`, "[:word:]", `\p{L}\p{N}_`,
	"[:punct:]", "\\p{P}$+<=>^`|~", "[:graph:]", `\p{L}\p{M}\p{N}\p{P}\p{S}`, "[:print:]", `\p{L}\p{M}\p{N}\p{P}\p{S} `)

func match(fold bool) scalar {
	return func(args []driver.Value) (driver.Value, error) {
		p, ok1 := text(args[0])
		s, ok2 := text(args[1])
		if !ok1 || !ok2 {
			return nil, nil
		}
		// A point takes any character, as elsewhere.
		flags := "(?s)"
		if fold {
			flags = "(?is)"
		}
		re, err := compiled(flags + classes.Replace(p))
		if err != nil {
			return nil, err
		}
		return verdict(re.MatchString(s)), nil
	}
}

// like is LIKE with the escape character !, with respect to case or folding the letters of all scripts.
func like(fold bool) scalar {
	return func(args []driver.Value) (driver.Value, error) {
		s, ok1 := text(args[0])
		p, ok2 := text(args[1])
		if !ok1 || !ok2 {
			return nil, nil
		}
		if fold {
			s, p = strings.ToLower(s), strings.ToLower(p)
		}
		return verdict(fits([]rune(s), []rune(p))), nil
	}
}

// fits matches without recursion: behind a % it goes on at the next character of the text.
func fits(s, p []rune) bool {
	i, j := 0, 0
	backS, backP := -1, -1
	for i < len(s) || j < len(p) {
		if j < len(p) {
			switch c := p[j]; {
			case c == '%':
				backS, backP = i, j+1
				j++
				continue
			case c == '_' && i < len(s):
				i, j = i+1, j+1
				continue
			case c != '_' && i < len(s):
				n := 1
				if c == '!' && j+1 < len(p) {
					c, n = p[j+1], 2
				}
				if s[i] == c {
					i, j = i+1, j+n
					continue
				}
			}
		}
		if backS < 0 || backS >= len(s) {
			return false
		}
		backS++
		i, j = backS, backP
	}
	return true
}

// capped cuts a text and marks that it did.
func capped(args []driver.Value) (driver.Value, error) {
	s, ok := text(args[0])
	n, isInt := args[1].(int64)
	if !ok || !isInt || int64(len(s)) <= n {
		return args[0], nil
	}
	for i := range s {
		if n == 0 {
			return s[:i] + "…", nil
		}
		n--
	}
	return s, nil
}

// A gathering is a string aggregate of distinct texts in the order of the values that they are of, which SQLite's own
// takes no separator for.
type gathering struct {
	values    map[string]driver.Value
	separator string
	backwards bool
}

func newGathering(sqlite.FunctionContext) (sqlite.AggregateFunction, error) {
	return &gathering{values: map[string]driver.Value{}}, nil
}

// Step adds a text.
func (g *gathering) Step(_ *sqlite.FunctionContext, args []driver.Value) error {
	if s, ok := text(args[0]); ok {
		if old, there := g.values[s]; !there || earlier(args[2], old) < 0 {
			g.values[s] = args[2]
		}
	}
	g.separator, _ = text(args[1])
	g.backwards = args[3] == int64(1)
	return nil
}

// earlier compares two values as SQLite sorts them: numbers before texts.
func earlier(a, b driver.Value) int {
	s, isText := a.(string)
	t, other := b.(string)
	switch {
	case isText && other:
		return strings.Compare(s, t)
	case isText:
		return 1
	case other:
		return -1
	}
	if x, ok := decimal(a); ok {
		if y, ok := decimal(b); ok {
			return subtraction.exact(x, y).n.Sign()
		}
	}
	return cmp.Compare(float(a), float(b))
}

// WindowInverse is not called: a string aggregate takes no window.
func (*gathering) WindowInverse(*sqlite.FunctionContext, []driver.Value) error {
	return errors.New(failed + "a string aggregate over a window")
}

// WindowValue joins the texts; of none it is NULL.
func (g *gathering) WindowValue(*sqlite.FunctionContext) (driver.Value, error) {
	if len(g.values) == 0 {
		return nil, nil
	}
	list := slices.SortedFunc(maps.Keys(g.values), func(a, b string) int {
		return cmp.Or(earlier(g.values[a], g.values[b]), strings.Compare(a, b))
	})
	if g.backwards {
		slices.Reverse(list)
	}
	return strings.Join(list, g.separator), nil
}

// Final ends the aggregate.
func (*gathering) Final(*sqlite.FunctionContext) {}

// pad makes a text n characters long: filled in front, or with a fourth argument of 1 behind, or cut at the end.
func pad(args []driver.Value) (driver.Value, error) {
	s, ok := text(args[0])
	if !ok {
		return nil, nil
	}
	n, _ := args[1].(int64)
	with, _ := text(args[2])
	r, fill := []rune(s), []rune(with)
	if int(n) <= len(r) {
		return string(r[:n]), nil
	}
	more := make([]rune, int(n)-len(r))
	for i := range more {
		more[i] = fill[i%len(fill)]
	}
	if args[3] == int64(1) {
		return s + string(more), nil
	}
	return string(more) + s, nil
}

// repeat is REPEAT.
func repeat(args []driver.Value) (driver.Value, error) {
	s, ok := text(args[0])
	n, _ := args[1].(int64)
	if !ok {
		return nil, nil
	}
	return strings.Repeat(s, int(n)), nil
}

// parts gives the parts of a text between separators, from one number to another; −1 is the last one.
func parts(args []driver.Value) (driver.Value, error) {
	s, ok := text(args[0])
	if !ok {
		return nil, nil
	}
	by, _ := text(args[1])
	from, _ := args[2].(int64)
	to, _ := args[3].(int64)
	all := strings.Split(s, by)
	n := int64(len(all))
	if from < 0 {
		from = max(1, n+1+from)
	}
	if to < 0 {
		to = n + 1 + to
	}
	if from, to = from-1, min(to, n); from >= to {
		return "", nil
	}
	return strings.Join(all[from:to], by), nil
}
