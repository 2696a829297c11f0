package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"resq/testdb"
)

// TestRandomWindows asks for windows at random, over columns that hold NULLs and ties, of rows, joins and groups, and
// holds the databases to each other.
func TestRandomWindows(t *testing.T) {
	var benches []*bench
	for _, on := range testdb.Engines(t) {
		benches = append(benches, newParity(t, on))
	}
	r := rand.New(rand.NewPCG(20240229, 1))
	answered := 0
	const asked = 250
	for range asked {
		req := randomWindows(r)
		if chance(r, 40) {
			req = randomGroups(r)
		}
		_, answer := (&entry{kind: '!', text: encode(req)}).same(t, benches, "", req)
		if strings.HasPrefix(answer, `{"resource"`) {
			answered++
		}
	}
	if answered < asked*3/4 {
		t.Errorf("%d of %d requests were answered: the test has lost its subject", answered, asked)
	}
}

var windowKeys = []string{"T.g", "T.i", "T.d2", "T.b", "T.day", "T.x", "T.n", "T.kind = 'new'", "T.i + 1", "T.s2 = 'abc'", "T.id % 3", "T.tm", "T.u", "T.at"}

func randomOver(r *rand.Rand, keys []string) string {
	direction := func() string { return pick(r, "", " DESC", " NULLS LAST", " DESC NULLS FIRST") }
	over := " OVER ("
	if chance(r, 60) {
		over += "PARTITION BY " + pick(r, keys...) + " "
	}
	over += "ORDER BY " + pick(r, keys...) + direction()
	if chance(r, 40) {
		over += ", " + pick(r, keys...) + direction()
	}
	return over
}

func randomWindows(r *rand.Rand) object {
	fields := []any{object{"code": "id"}}
	for j := range 1 + r.IntN(4) {
		arg := pick(r, "T.id", "T.i", "T.d2", "T.n")
		call, frame := pick(r, "ROW_NUMBER()", "RANK()", "DENSE_RANK()", "NTILE(4)", "LAG("+arg+")", "LEAD("+arg+", 2)", "CUME_DIST()", "PERCENT_RANK()", "COUNT(*)"), ""
		if chance(r, 50) {
			call = fmt.Sprintf(pick(r, "FIRST_VALUE(%s)", "LAST_VALUE(%s)", "NTH_VALUE(%s, 2)", "SUM(%s)", "COUNT(%s)", "MIN(%s)", "MAX(%s)"), arg)
			frame = pick(r, "", "", " ROWS 2 PRECEDING", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS UNBOUNDED PRECEDING", " RANGE UNBOUNDED PRECEDING", " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING")
		}
		fields = append(fields, object{"code": call + randomOver(r, windowKeys) + frame + ")", "isExpr": true, "alias": fmt.Sprint("v", j)})
	}
	req := object{"resource": "T", "limit": 1000, "fields": fields, "orderBy": []any{"T.id"}}
	if chance(r, 30) {
		req["orderBy"] = []any{object{"type": "sql", "expr": "v0", "direction": pick(r, "asc", "desc")}}
	}
	if chance(r, 30) {
		req["conditions"] = group(object{"field": pick(r, "g", "i", "b"), "operator": "IS NOT NULL"}, chance(r, 50))
	}
	if chance(r, 30) {
		req["relations"] = []any{randomJoin(r)}
	}
	if chance(r, 25) {
		delete(req, "limit")
		req = object{"resource": "w", "limit": 1000, "fields": []any{}, "with": []any{object{"code": "w", "query": req}}}
	}
	return req
}

func randomJoin(r *rand.Rand) object {
	return object{"code": "o", "type": pick(r, "left", "inner"), "actuallyResource": "T", "actuallyField": pick(r, "id", "i"), "relationResource": "T", "relationField": pick(r, "g", "i", "id")}
}

func randomGroups(r *rand.Rand) object {
	key := pick(r, "T.g", "T.i", "T.b", "T.day", "T.x", "T.tm", "T.i + 1", "T.s2 = 'abc'", "o.i", "o.day", "o.b")
	fields := []any{object{"code": key, "isExpr": true, "alias": "k"}}
	over := []string{key, "COUNT(*)", "SUM(T.d2)", "MAX(T.day)", "MIN(T.i)", "SUM(o.i)"}
	for j := range 1 + r.IntN(2) {
		call := pick(r, "ROW_NUMBER()", "RANK()", "SUM(SUM(T.i))", "LAG(COUNT(*))", "FIRST_VALUE(MAX(T.day))", "LAST_VALUE("+key+")", "MAX(MIN(T.d2))", "COUNT(MIN(o.i))")
		fields = append(fields, object{"code": call + randomOver(r, over) + ")", "isExpr": true, "alias": fmt.Sprint("v", j)})
	}
	return object{"resource": "T", "limit": 1000, "fields": fields, "groupBy": []any{object{"type": "sql", "expr": key}}, "relations": []any{randomJoin(r)}}
}
