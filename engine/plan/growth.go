package plan

import (
	"strconv"

	"resq/engine/funcs"
	"resq/schema/problem"
)

// maxGrowth is how many times longer than its longest part a calculated text may become. A small request
// must not fill the memory of the database or of this program (security.md C9): texts that are doubled and
// doubled again in a chain of named queries do so in thirty steps.
const maxGrowth = 1000

// growth bounds how many times longer than a stored text a value may be. It stops counting above maxGrowth.
func growth(e Expr) int {
	switch x := e.(type) {
	case nil:
		return 0
	case *Column:
		if x.Field == nil && x.Source.CTE != nil {
			return max(1, x.Source.CTE.Query.Out[x.Out].growth)
		}
		return 1
	case *Scalar:
		return max(1, x.Query.Out[0].growth)
	case *Arith:
		if x.Op == "||" {
			return capped(growth(x.L) + growth(x.R))
		}
		return 1
	case *Call:
		return callGrowth(x)
	}
	most := 1
	children(e, func(c Expr) { most = max(most, growth(c)) })
	return most
}

func callGrowth(x *Call) int {
	switch x.Fn.Name {
	case "CONCAT", "CONCAT_WS":
		sum := 0
		for _, a := range x.Args {
			sum = capped(sum + growth(a))
		}
		return max(1, sum)
	case "REPEAT":
		return capped(growth(x.Args[0]) * max(1, int(x.Args[1].(*Int).N)))
	case "LPAD", "RPAD":
		return 1 // of a bounded length, whatever it is made of
	case "REPLACE":
		from, to := length(x.Args[1]), length(x.Args[2])
		if from == 0 || to <= from {
			return growth(x.Args[0])
		}
		return capped(growth(x.Args[0]) * ((to + from - 1) / from))
	}
	most := 1
	for _, a := range x.Args {
		most = max(most, growth(a))
	}
	return most
}

// lengthens says whether a function makes a text of any length by itself.
func lengthens(f *funcs.Func) bool { return f.Name == "LPAD" || f.Name == "RPAD" || f.Name == "REPEAT" }

func length(e Expr) int {
	if a, ok := e.(*Arg); ok {
		if s, ok := a.Value.(string); ok {
			return len([]rune(s))
		}
	}
	return 1
}

func capped(n int) int { return min(n, maxGrowth+1) }

// grows refuses an expression whose text may become too long.
func (b *binder) grows(e Expr, at string) int {
	n := growth(e)
	if n > maxGrowth {
		b.add(problem.LimitExceeded, problem.Limits, at, "a text that may become more than "+strconv.Itoa(maxGrowth)+" times as long as its parts", "join fewer texts, or LEFT(…) them first")
	}
	return n
}
