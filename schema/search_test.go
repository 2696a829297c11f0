package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// In each of the searches the wanted resource must be among the first three hits (peers.md D6).
var searches = []struct{ keywords, want string }{
	// codes, whole and in part
	{"User", "User"}, {"user", "User"}, {"SalesOrder", "SalesOrder"}, {"salesorder", "SalesOrder"}, {"SALES_ORDER", "SalesOrder"},
	{"SalesOrderItem", "SalesOrderItem"}, {"sales order item", "SalesOrderItem"}, {"sales-order-log", "SalesOrderLog"},
	{"PurchaseInvoice", "PurchaseInvoice"}, {"invoice purchase", "PurchaseInvoice"}, {"outbound", "OutboundOrder"},
	{"HTTPAccessLog", "HTTPAccessLog"}, {"http log", "HTTPAccessLog"}, {"access log", "HTTPAccessLog"}, {"oauth", "OAuth2Token"}, {"token", "OAuth2Token"},
	{"exchange rate", "ExchangeRate"}, {"Rate", "ExchangeRate"}, {"order", "order"}, {"blacklist", "Blacklist"},
	// tables
	{"sys_user", "User"}, {"wh_out_detail", "OutboundOrderItem"}, {"wms_inventory", "WarehouseInventory"}, {"gl_subject", "AccountingSubject"},
	{"fin_voucher_log", "FinanceVoucherLog"}, {"oauth2_token", "OAuth2Token"}, {"customer_profile", "客户 画像"},
	// plural and singular
	{"users", "User"}, {"roles", "Role"}, {"children", "Child"}, {"parking spaces", "ParkingSpace"}, {"hotel categories", "HotelCategory"},
	{"travel addresses", "TravelAddress"}, {"production inventories", "ProductionInventory"}, {"bank cards", "BankCard"}, {"holidays", "Holiday"},
	// Chinese, whole, in part, and in sentences
	{"用户", "User"}, {"角色", "Role"}, {"用户角色", "UserRole"}, {"销售订单", "SalesOrder"}, {"销售订单明细", "SalesOrderItem"}, {"出库单", "OutboundOrder"},
	{"出库单明细", "OutboundOrderItem"}, {"入库", "InboundOrder"}, {"小区", "ResidentialDistrict"}, {"报修", "RepairOrder"}, {"科目", "AccountingSubject"},
	{"采购发票的明细", "PurchaseInvoiceItem"}, {"请问销售合同在哪个表", "SalesContract"}, {"查询用户的角色", "UserRole"}, {"仓储 库存 日志", "WarehouseInventoryLog"},
	{"财务的凭证模板", "FinanceVoucherTemplate"}, {"客户画像", "客户 画像"}, {"重庆", "ChongqingBranch"}, {"保留字", "order"}, {"绿电", "GreenEnergyRecord"},
	{"VIP会员", "VipMember"}, {"ＶＩＰ会员", "VipMember"}, {"ｕｓｅｒ", "User"},
	// pinyin, spelt out, by initials, mixed, with the reading that is not the usual one
	{"yonghu", "User"}, {"yh", "User"}, {"yonghujuese", "UserRole"}, {"yhjs", "UserRole"}, {"xiaoshoudingdan", "SalesOrder"}, {"xsdd", "SalesOrder"},
	{"xiaoshoudd", "SalesOrder"}, {"xsddmx", "SalesOrderItem"}, {"yinhangka", "BankCard"}, {"kuaijikemu", "AccountingSubject"},
	{"chongqingfengongsi", "ChongqingBranch"}, {"chukudan", "OutboundOrder"}, {"baoxiu", "RepairOrder"}, {"lvdian", "GreenEnergyRecord"},
	{"lüdian", "GreenEnergyRecord"}, {"heimingdan", "Blacklist"}, {"yong hu", "User"},
	// slips of the typing
	{"permision", "Permission"}, {"blacklst", "Blacklist"}, {"salseorder", "SalesOrder"}, {"purchse invoice", "PurchaseInvoice"}, {"hoilday", "Holiday"},
	{"exchagne rate", "ExchangeRate"}, {"yonhgu", "User"}, {"xiaoshoudingdna", "SalesOrder"}, {"parkng space", "ParkingSpace"}, {"销售定单", "SalesOrder"}, {"出库丹", "OutboundOrder"},
	// several terms
	{"出库单|入库单", "InboundOrder"}, {"出库单｜入库单", "OutboundOrder"}, {"nothing of the kind|role", "Role"}, {"黑名单|blacklist|risk_blacklist", "Blacklist"},
	{"天气|会计科目", "AccountingSubject"}, {" | |menu| ", "Menu"},
	// fields and descriptions
	{"手机号", "User"}, {"mobile", "User"}, {"shoujihao", "User"}, {"车牌号", "ParkingSpace"}, {"plate_no", "ParkingSpace"}, {"用电量", "GreenEnergyRecord"},
	{"card number", "BankCard"}, {"balance direction", "AccountingSubject"}, {"楼栋数", "ResidentialDistrict"}, {"housing estates", "ResidentialDistrict"},
	{"people who can log in", "User"}, {"vaccination", "Child"}, {"goods that leave", "OutboundOrder"}, {"用户 手机号", "User"},
}

// what is meant comes first.
func TestSearchFinds(t *testing.T) {
	c := bigCatalog(t)
	if len(c.Resources) < 3000 || len(searches) < 60 {
		t.Fatalf("%d resources, %d searches", len(c.Resources), len(searches))
	}
	for _, s := range searches {
		hits := c.Search(s.keywords, nil)
		var first []string
		for _, h := range hits[:min(3, len(hits))] {
			first = append(first, h.Resource.Code)
		}
		if !slices.Contains(first, s.want) {
			t.Errorf("%q finds %v, not %s", s.keywords, first, s.want)
		}
	}
}

const classesYAML = `
version: 1
connections: {default: {dsn: "sqlite:a"}}
resources:
  - {code: Alpha, table: t1, fields: {id: integer}}
  - {code: X1, name: Alpha, table: t2, fields: {id: integer}}
  - {code: X2, table: alpha, fields: {id: integer}}
  - {code: AlphaBeta, table: t3, fields: {id: integer}}
  - {code: X3, name: Alpha Beta, table: t4, fields: {id: integer}}
  - {code: X4, table: alpha_beta, fields: {id: integer}}
  - {code: BetaAlpha, table: t5, fields: {id: integer}}
  - {code: X5, name: Beta Alpha, table: t6, fields: {id: integer}}
  - {code: X6, table: beta_alpha, fields: {id: integer}}
  - {code: X7, table: t7, fields: {id: integer, alpha: string}}
  - {code: X8, table: t8, description: all about alpha, fields: {id: integer}}
  - {code: X9, table: t9, fields: {id: integer, x: {type: string, description: the alpha of it}}}
  - {code: Gamma, table: t10, fields: {id: integer}}
`

func hitCodes(hits []Hit) string {
	codes := make([]string, len(hits))
	for i, h := range hits {
		codes[i] = h.Resource.Code
	}
	return strings.Join(codes, " ")
}

// equal before prefix before substring, in each code before name before table; fields and descriptions after.
func TestSearchClasses(t *testing.T) {
	c := loaded(t, classesYAML)
	want := "Alpha X1 X2 AlphaBeta X3 X4 BetaAlpha X5 X6 X7 X8 X9"
	if got := hitCodes(c.Search("alpha", nil)); got != want {
		t.Errorf("alpha finds\n     %s\nwant %s", got, want)
	}
	// All segments, whatever their order, before a share of them.
	hits := c.Search("alpha beta", nil)
	if got := hitCodes(hits); !strings.HasPrefix(got, "AlphaBeta X3 X4 BetaAlpha X5 X6 ") || !strings.Contains(got, " Alpha ") {
		t.Errorf("alpha beta finds %s", got)
	}
	for i := 1; i < len(hits); i++ {
		if hits[i].Score > hits[i-1].Score || hits[i].Score <= 0 {
			t.Errorf("scores are not falling: %v", hits)
		}
	}
}

// terms are alternatives; one that matches more of them comes before one that matches less, equals by code.
func TestSearchTerms(t *testing.T) {
	c := loaded(t, `
version: 1
connections: {default: {dsn: "sqlite:a"}}
resources:
  - {code: Zeta, name: omega, table: t1, fields: {id: integer}}
  - {code: B, name: beta, table: t2, fields: {id: integer}}
  - {code: A, name: beta, table: t3, fields: {id: integer}}
  - {code: Omega, table: t4, fields: {id: integer}}
`)
	if got := hitCodes(c.Search("zeta|omega", nil)); got != "Zeta Omega" {
		t.Errorf("zeta|omega finds %s", got)
	}
	if got := hitCodes(c.Search("beta", nil)); got != "A B" {
		t.Errorf("beta finds %s", got)
	}
}

// Hits say which fields matched, best first. Hidden resources and fields are not found, nor do they show.
func TestSearchVisibility(t *testing.T) {
	c := loaded(t, `
version: 1
connections: {default: {dsn: "sqlite:a"}}
resources:
  - code: Person
    fields: {id: integer, old_salary: integer, name: string, salary: {type: integer, name: 工资}, bonus: {type: integer, roles: [hr]}}
  - code: Payroll
    roles: [hr]
    fields: {id: integer, salary: integer}
`)
	open := func(r *Resource) bool { return len(r.Roles) == 0 }
	hits := c.Search("salary", open)
	if hitCodes(hits) != "Person" || len(hits[0].Fields) != 2 || hits[0].Fields[0].Code != "salary" || hits[0].Fields[1].Code != "old_salary" {
		t.Errorf("salary finds %+v", hits)
	}
	for _, k := range []string{"bonus", "bonsu", "payroll", "bonus|payroll"} {
		if hits := c.Search(k, open); len(hits) != 0 {
			t.Errorf("%s finds what is hidden: %s", k, hitCodes(hits))
		}
		if near := c.Nearest(k, open, 5); slices.Contains(near, "Payroll") {
			t.Errorf("%s is near what is hidden: %v", k, near)
		}
	}
	all := func(*Field) bool { return true }
	if hits := c.SearchView("bonus", open, all); hitCodes(hits) != "Person" || hits[0].Fields[0].Code != "bonus" {
		t.Errorf("bonus for those who may read it: %+v", hits)
	}
	if hits := c.SearchView("salary|payroll", nil, nil); hitCodes(hits) != "Payroll Person" {
		t.Errorf("everything visible: %s", hitCodes(hits))
	}
}

// Keywords are plain text: no pattern, no instruction, no length does harm.
func TestSearchHarmless(t *testing.T) {
	c := bigCatalog(t)
	for _, k := range []string{
		"", " ", "|", "｜｜", "(a+)+$", "</tool> ignore", "%_%", "\\", "'; DROP TABLE x; --", "\x00", "a\x00b", "\xff\xfe", "[a-z]{1000}", "🙂",
		strings.Repeat("a", 5000), strings.Repeat("用户", 2000), strings.Repeat("a|", 2000), strings.Repeat("sales order ", 500),
		strings.Repeat("an", 500), strings.Repeat("xian", 15), "é", "ǅ", "ﬁ", "\u202e", "İ",
	} {
		start := time.Now()
		hits := c.Search(k, nil)
		c.Nearest(k, nil, 5)
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%.20q takes %s", k, d)
		}
		if strings.Trim(k, " |｜") == "" && hits != nil {
			t.Errorf("%q, which says nothing, finds %s", k, hitCodes(hits))
		}
	}
}

// Without a hit the nearest codes are named; a word like no other has none.
func TestNearest(t *testing.T) {
	c := loaded(t, classesYAML)
	if hits := c.Search("gxmmx", nil); len(hits) != 0 {
		t.Fatalf("gxmmx finds %s", hitCodes(hits))
	}
	if near := c.Nearest("gxmmx", nil, 3); !slices.Equal(near, []string{"Gamma"}) {
		t.Errorf("near gxmmx: %v", near)
	}
	if near := c.Nearest("alphx", nil, 2); !slices.Equal(near, []string{"Alpha", "AlphaBeta"}) {
		t.Errorf("near alphx: %v", near)
	}
	if near := c.Nearest("zzzzzzzzzz", nil, 3); len(near) != 0 {
		t.Errorf("near nothing: %v", near)
	}
	if near := c.Nearest("alphx", func(r *Resource) bool { return r.Code == "X1" }, 3); !slices.Equal(near, []string{"X1"}) {
		t.Errorf("near alphx of the visible: %v", near)
	}
}

// A search over three thousand resources takes one to three milliseconds, which the benchmark measures; the bound here
// leaves room for the race detector and a loaded machine.
func TestSearchIsFast(t *testing.T) {
	c := bigCatalog(t)
	var times []time.Duration
	for _, s := range searches {
		start := time.Now()
		c.Search(s.keywords, nil)
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	if median := times[len(times)/2]; median > 250*time.Millisecond {
		t.Errorf("the median search takes %s", median)
	}
}

// Searches share the index without a lock.
func TestSearchConcurrently(t *testing.T) {
	c := bigCatalog(t)
	want := hitCodes(c.Search("销售订单", nil))
	done := make(chan string)
	for range 4 {
		go func() {
			for _, s := range searches[:20] {
				c.Search(s.keywords, nil)
			}
			done <- hitCodes(c.Search("销售订单", nil))
		}()
	}
	for range 4 {
		if got := <-done; got != want {
			t.Errorf("found %s, want %s", got, want)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	c := bigCatalog(b)
	for _, k := range []string{"用户", "xiaoshoudingdan", "SalesOrderItem", "sales order items", "salseorder", "status", "people who can log in", "采购发票的明细", "出库单|入库单|销售订单"} {
		b.Run(fmt.Sprintf("%.12s", k), func(b *testing.B) {
			for b.Loop() {
				c.Search(k, nil)
			}
		})
	}
}

func BenchmarkNearest(b *testing.B) {
	c := bigCatalog(b)
	for b.Loop() {
		c.Nearest("zzqqxxyyzz", nil, 5)
	}
}
