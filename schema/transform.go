package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"
)

// A Formula is a CEL expression of a validation: it calculates with what it is given, and can neither ask nor change
// anything.
type Formula struct{ program cel.Program }

// FormulaInputs are the names that a Formula may use.
var FormulaInputs = []string{"output", "resource", "action", "id", "ids", "before", "after", "args"}

// formulaCost bounds one evaluation, in the steps that CEL counts: a few hundred milliseconds at the very worst.
const formulaCost = 1_000_000

var formulaEnv = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("output", cel.DynType), cel.Variable("resource", cel.StringType), cel.Variable("action", cel.StringType), cel.Variable("id", cel.DynType),
		cel.Variable("ids", cel.ListType(cel.DynType)), cel.Variable("before", cel.DynType), cel.Variable("after", cel.DynType), cel.Variable("args", cel.MapType(cel.StringType, cel.StringType)),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Math(), ext.Lists(), ext.Sets())
})

// compile reads an expression. What is wrong is said with its line and column, counted from 1.
func compile(text string) (f *Formula, line, column int, wrong string) {
	env, err := formulaEnv()
	if err != nil {
		return nil, 1, 1, err.Error()
	}
	ast, issues := env.Compile(text)
	if errs := issues.Errors(); len(errs) > 0 {
		e := errs[0]
		return nil, e.Location.Line(), e.Location.Column() + 1, strings.TrimSuffix(e.Message, " (in container '')")
	}
	p, err := env.Program(ast, cel.CostLimit(formulaCost), cel.InterruptCheckFrequency(100))
	if err != nil {
		return nil, 1, 1, err.Error()
	}
	return &Formula{program: p}, 0, 0, ""
}

// Eval calculates the expression and gives its value as one of JSON: nil, bool, json.Number, string, []any or
// map[string]any.
func (f *Formula) Eval(ctx context.Context, in map[string]any) (any, error) {
	out, _, err := f.program.ContextEval(ctx, in)
	if err != nil {
		return nil, err
	}
	return plainValue(out, 0)
}

// maxDepth bounds lists in lists.
const maxDepth = 32

func plainValue(v ref.Val, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the value is nested deeper than %d", maxDepth)
	}
	switch x := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(x), nil
	case types.Int:
		return json.Number(strconv.FormatInt(int64(x), 10)), nil
	case types.Uint:
		return json.Number(strconv.FormatUint(uint64(x), 10)), nil
	case types.Double:
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, fmt.Errorf("the value is no number that JSON has")
		}
		return json.Number(strconv.FormatFloat(float64(x), 'g', -1, 64)), nil
	case types.String:
		return string(x), nil
	case traits.Mapper:
		out := map[string]any{}
		for it := x.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			name, ok := k.Value().(string)
			if !ok {
				return nil, fmt.Errorf("a key of the value is no text")
			}
			one, err := plainValue(x.Get(k), depth+1)
			if err != nil {
				return nil, err
			}
			out[name] = one
		}
		return out, nil
	case traits.Lister:
		out := []any{}
		for it := x.Iterator(); it.HasNext() == types.True; {
			one, err := plainValue(it.Next(), depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		return out, nil
	case *types.Err:
		return nil, x
	}
	return nil, fmt.Errorf("the value is none that JSON has")
}

// Numeric gives a number of JSON as CEL calculates with it: whole ones as such.
func Numeric(n json.Number) any {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i
	}
	f, _ := strconv.ParseFloat(string(n), 64) // a number of JSON always is one
	return f
}
