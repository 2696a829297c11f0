package schema

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// The generated catalog: every entity of every department with its satellites, 3,000 resources, and some that stand
// alone. It is the same in every run.

type naming struct{ code, name, table string }

var departments = []naming{
	{"Sales", "销售", "sal"}, {"Purchase", "采购", "pur"}, {"Warehouse", "仓储", "wms"}, {"Finance", "财务", "fin"}, {"Hr", "人事", "hr"},
	{"Crm", "客服", "crm"}, {"Logistics", "物流", "tms"}, {"Production", "生产", "mes"}, {"Quality", "质检", "qms"}, {"Equipment", "设备", "eam"},
	{"Property", "物业", "pm"}, {"Medical", "医疗", "med"}, {"School", "教务", "edu"}, {"Hotel", "酒店", "htl"}, {"Insurance", "保险", "ins"},
	{"Bank", "银行", "bnk"}, {"Marketing", "营销", "mkt"}, {"Project", "项目", "prj"}, {"Retail", "门店", "pos"}, {"Travel", "旅游", "trv"},
}

var entities = []naming{
	{"Order", "订单", "order"}, {"Invoice", "发票", "invoice"}, {"Contract", "合同", "contract"}, {"Product", "商品", "product"},
	{"Customer", "客户", "customer"}, {"Supplier", "供应商", "supplier"}, {"Employee", "员工", "employee"}, {"Department", "部门", "dept"},
	{"Payment", "付款", "payment"}, {"Receipt", "收款", "receipt"}, {"Refund", "退款", "refund"}, {"Return", "退货", "return"},
	{"Delivery", "发货", "delivery"}, {"Shipment", "运单", "shipment"}, {"Inventory", "库存", "inventory"}, {"Price", "价格", "price"},
	{"Discount", "折扣", "discount"}, {"Budget", "预算", "budget"}, {"Plan", "计划", "plan"}, {"Task", "任务", "task"},
	{"Report", "报表", "report"}, {"Approval", "审批", "approval"}, {"Account", "账户", "account"}, {"Address", "地址", "address"},
	{"Contact", "联系人", "contact"}, {"Category", "分类", "category"}, {"Bill", "账单", "bill"}, {"Voucher", "凭证", "voucher"},
	{"Ticket", "工单", "ticket"}, {"Notice", "通知", "notice"},
}

var satellites = []naming{{}, {"Item", "明细", "_item"}, {"Log", "日志", "_log"}, {"Setting", "配置", "_cfg"}, {"Template", "模板", "_tpl"}}

// single are resources outside the grid: code, name, table, description, and fields as code=name.
var single = []string{
	"User|用户|sys_user|People who can log in|mobile=手机号,email=邮箱,last_login=最近登录时间",
	"Role|角色|sys_role||data_scope=数据范围",
	"Permission|权限|sys_permission||resource_path=资源路径",
	"UserRole|用户角色|sys_user_role||user_id=用户编号,role_id=角色编号",
	"Menu|菜单|sys_menu||parent_id=上级菜单",
	"ResidentialDistrict|小区|t_district|Housing estates that a property company looks after|building_count=楼栋数",
	"ParkingSpace|车位|t_parking_space||plate_no=车牌号",
	"RepairOrder|报修单|t_repair|Requests of residents for repairs|fault_type=故障类型",
	"OutboundOrder|出库单|wh_out|Goods that leave a store|out_date=出库日期",
	"OutboundOrderItem|出库单明细|wh_out_detail||serial_no=序列号",
	"InboundOrder|入库单|wh_in|Goods that come into a store|in_date=入库日期",
	"BankCard|银行卡|t_bank_card||card_no=卡号",
	"AccountingSubject|会计科目|gl_subject||balance_direction=余额方向",
	"ChongqingBranch|重庆分公司|cq_branch||",
	"GreenEnergyRecord|绿电消费记录|ge_record||kwh=用电量",
	"VipMember|VIP会员|t_vip||points=积分余额",
	"Holiday|节假日|cal_holiday||is_workday=是否补班",
	"MeterReading|抄表记录|t_meter||reading=读数,previous_reading=上次读数",
	"Child|儿童档案|t_child|Vaccination files of children|guardian=监护人",
	"Blacklist|黑名单|risk_blacklist||hit_reason=命中原因",
	"ExchangeRate|汇率|fx_rate||",
	"HTTPAccessLog|访问日志|http_access_log||user_agent=客户端",
	"OAuth2Token|访问令牌|oauth2_token||expires_at=过期时间",
	"客户 画像|客户画像|customer_profile||消费能力=消费能力",
	"order|保留字订单|\"order\"|A name that is a word of SQL|",
}

func generatedYAML() string {
	var b strings.Builder
	b.WriteString("version: 1\nconnections: {default: {dsn: 'sqlite:generated.db'}}\nresources:\n")
	for _, d := range departments {
		for _, e := range entities {
			for _, s := range satellites {
				fmt.Fprintf(&b, "  - code: %s%s%s\n    name: %s%s%s\n    table: %s_%s%s\n    fields:\n", d.code, e.code, s.code, d.name, e.name, s.name, d.table, e.table, s.table)
				fmt.Fprintf(&b, "      id: integer\n      %s_no: {type: string, maxLength: 32, name: %s编号}\n", e.table, e.name)
				b.WriteString("      status: {type: integer, name: 状态}\n      amount: {type: 'decimal(12,2)', name: 金额}\n      remark: {type: text, name: 备注}\n")
				fmt.Fprintf(&b, "      %s_%s_date: {type: date, name: %s%s日期}\n      created_at: {type: datetime, name: 创建时间}\n", d.table, e.table, d.name, e.name)
			}
		}
	}
	for _, s := range single {
		p := strings.Split(s, "|")
		fmt.Fprintf(&b, "  - code: %s\n    name: %s\n    table: %q\n    description: %q\n    fields:\n      id: integer\n", p[0], p[1], p[2], p[3])
		for f := range strings.SplitSeq(p[4], ",") {
			if code, name, ok := strings.Cut(f, "="); ok {
				fmt.Fprintf(&b, "      %s: {type: string, name: %s}\n", code, name)
			}
		}
	}
	return b.String()
}

var generated = sync.OnceValues(func() (*Catalog, error) {
	return LoadFS(fstest.MapFS{"big.yaml": {Data: []byte(generatedYAML())}}, LoadOptions{})
})

func bigCatalog(t testing.TB) *Catalog {
	t.Helper()
	c, err := generated()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
