package resq_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// codes is the closed list of codes that callers meet: the contract of the business tools (B-012), argument errors (B-013), and what
// security.md 1.4 adds. CANCELLED is told to nobody: its caller has gone.
var codes = strings.Fields(`
	UNAUTHENTICATED PERMISSION_DENIED NOT_FOUND_OR_FORBIDDEN RATE_LIMITED UPSTREAM_UNAVAILABLE SYNC_CURSOR_EXPIRED
	SCHEMA_VERSION_UNSUPPORTED DATA_INTEGRITY_ERROR
	INVALID_ARGUMENT UNKNOWN_TOOL UNKNOWN_RESOURCE UNKNOWN_FIELD AMBIGUOUS_FIELD MASKED_FIELD EXPR_SYNTAX EXPR_NOT_ALLOWED
	EXPR_FUNCTION_NOT_ALLOWED LIMIT_EXCEEDED POLICY_VIOLATION CONFIRM_REQUIRED CONFIRM_INVALID CONFIRM_EXPIRED CONFIRM_MISMATCH
	CONFLICT APPROVAL_REQUIRED APPROVAL_DENIED OUTCOME_UNKNOWN DATA_ERROR TIMEOUT OVERLOADED AUDIT_UNAVAILABLE
	VALIDATION_FAILED
	CANCELLED
	CONFIG_INVALID SQL_SYNTAX SQL_NOT_READ_ONLY SQL_FUNCTION_NOT_ALLOWED SQL_TABLE_NOT_ALLOWED SQL_MASKED_COLUMN SQL_ROW_POLICY
	SQL_PARAM TOOL_NAME TOOL_TEXT`)

// Codes are declared in one place, and nowhere else does one come into being (B-012).
func TestCodesAreClosed(t *testing.T) {
	declared := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return err
		}
		home := filepath.ToSlash(filepath.Dir(file)) == "schema/problem"
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if !named(n.Type, "Code") {
					return true
				}
				for _, v := range n.Values {
					text, ok := v.(*ast.BasicLit)
					if !ok {
						continue
					}
					code, _ := strconv.Unquote(text.Value)
					declared[code] = home
					if !home && code != "OK" { // of the log and the metrics alone
						t.Errorf("%s declares the code %s", file, code)
					}
				}
			case *ast.CallExpr: // problem.Code("…")
				if len(n.Args) == 1 && named(n.Fun, "Code") {
					if text, ok := n.Args[0].(*ast.BasicLit); ok {
						t.Errorf("%s makes the code %s", file, text.Value)
					}
				}
			case *ast.KeyValueExpr: // Code: "…"
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" && strings.HasPrefix(file, "server") {
					if text, ok := n.Value.(*ast.BasicLit); ok {
						t.Errorf("%s makes the code %s", file, text.Value)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for code, home := range declared {
		if home && !slices.Contains(codes, code) {
			t.Errorf("%s is not in the list", code)
		}
	}
	if !declared["RATE_LIMITED"] || !declared["SYNC_CURSOR_EXPIRED"] || !declared["SCHEMA_VERSION_UNSUPPORTED"] {
		t.Errorf("codes of the contract are missing: %v", declared)
	}
}

// named says whether an expression is a name, its package left aside.
func named(e ast.Expr, name string) bool {
	if s, ok := e.(*ast.SelectorExpr); ok {
		e = s.Sel
	}
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
