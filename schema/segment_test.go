package schema

import (
	"strings"
	"testing"
)

// words come from camelCase, snake_case, kebab-case, blanks, digits and changes of script.
func TestSegments(t *testing.T) {
	for text, want := range map[string]string{
		"SalesOrderItems": "sales order item", "sales_order-item": "sales order item", "HTTPServerLog": "http server log", "userID": "user id",
		"OAuth2Token": "o auth 2 token", "VIP会员2级": "vip 会员 2 级", "ＡｂｃＤｅｆ　ｇ": "abc def g", "": "", "--": "", "客户 信息": "客户 信息",
		"größeFür": "größe für", "a.b": "a b", "T-CHO": "t cho", "日本語カナ한글": "日本語カナ한글",
	} {
		got := strings.TrimSpace(joined(segments(text)))
		// "sales" is the plural of "sale" to the stemmer, on both sides of a comparison.
		if want = strings.ReplaceAll(want, "sales", stem("sales")); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// Singular and plural meet.
func TestStem(t *testing.T) {
	for plural, singular := range map[string]string{
		"users": "user", "addresses": "address", "categories": "category", "boxes": "box", "branches": "branch", "statuses": "status",
		"children": "child", "people": "person", "indices": "index", "houses": "house", "invoices": "invoice", "keys": "key", "tries": "try",
		"processes": "process", "companies": "company", "analyses": "analysis", "purchases": "purchase", "wishes": "wish", "heroes": "hero",
	} {
		if stem(plural) != stem(singular) {
			t.Errorf("%s gives %s, %s gives %s", plural, stem(plural), singular, stem(singular))
		}
	}
	for _, w := range []string{"status", "address", "bus", "analysis", "id", "gas", "news"} {
		if s := stem(w); len(s) < 2 || stem(s) != stem(stem(s)) {
			t.Errorf("%s gives %s", w, s)
		}
	}
}

// The catalog's own names are the dictionary; what is left becomes pairs.
func TestDictionary(t *testing.T) {
	d := newDictionary(map[string]bool{"用户": true, "销售订单": true, "采购订单": true, "租赁订单": true, "出库单明细": true})
	for run, want := range map[string]string{
		"用户订单": "用户 订单", "销售订单明细": "销售订单 明细", "查询用户": "查询 用户", "天气预报": "天气 气预 预报", "用户的订单": "用户 的 订单",
		"出库单": "出库 库单", "单": "单", "的": "的",
	} {
		var got []string
		for _, s := range d.split(run) {
			got = append(got, s.text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is cut into %v, want %s", run, got, want)
		}
	}
}

// Pinyin fits spelt out, by initials, begun, and in every reading of a character.
func TestPinyin(t *testing.T) {
	for _, c := range []struct {
		name, typed    string
		start, n, full int
	}{
		{"用户", "yonghu", 0, 2, 2}, {"用户", "yh", 0, 2, 0}, {"用户", "yongh", 0, 2, 1}, {"用户", "yhu", 0, 2, 1}, {"用户", "yong", 0, 1, 1},
		{"重庆", "chongqing", 0, 2, 2}, {"重庆", "zhongqing", 0, 2, 2}, {"银行", "yinhang", 0, 2, 2}, {"银行", "yinxing", 0, 2, 2},
		{"销售订单", "dingdan", 2, 2, 2}, {"销售订单", "dd", 2, 2, 0}, {"账户", "zhh", 0, 2, 0}, {"账户", "zh", 0, 2, 0}, {"绿色", "lvse", 0, 2, 2},
		{"西安", "xian", 0, 2, 2}, {"VIP会员", "viphuiyuan", 0, 5, 5}, {"用户", "yonghux", 0, 0, 0}, {"用户", "h", 1, 1, 0}, {"用户", "zz", 0, 0, 0},
	} {
		s, chinese := spell(compact(c.name))
		if !chinese {
			t.Fatalf("%s is not Chinese", c.name)
		}
		hit, ok := s.sound(c.typed)
		if ok != (c.n > 0) || hit != (sounding{c.start, c.n, c.full}) {
			t.Errorf("%s typed as %s: %+v, %v", c.name, c.typed, hit, ok)
		}
	}
}

// One slip is a letter wrong, missing, too many, or exchanged with its neighbour.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"order", "order", 0}, {"order", "oder", 1}, {"order", "ordre", 1}, {"order", "orderr", 1}, {"order", "ordar", 1}, {"order", "odrre", 2},
		{"order", "other", 2}, {"order", "invoice", 3}, {"", "a", 1}, {"订单", "订蛋", 1},
	} {
		if got := distance([]rune(c.a), []rune(c.b), 2); got != c.want {
			t.Errorf("%s to %s is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
