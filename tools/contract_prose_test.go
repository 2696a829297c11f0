package tools_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"resq/engine"
	"resq/schema"
	"resq/testdb"
)

var enumRun = regexp.MustCompile("(?s)`(\\w+)`：(-?\\d=.*?)[；。]")

// columnsOf are the names of outputs in their order.
func columnsOf(list []*schema.Column) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Name)
	}
	return out
}

func childOf(t *testing.T, tool *schema.Tool, name string) *schema.Child {
	t.Helper()
	for _, c := range tool.Preset.Read.Children {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("%s reads no %s", tool.Name, name)
	return nil
}

// sortedBy are the codes of the fields of an order.
func sortedBy(list []schema.Sort) string {
	var out []string
	for _, s := range list {
		out = append(out, s.Field.Code+map[bool]string{true: " desc"}[s.Desc])
	}
	return strings.Join(out, ", ")
}

// The tools whose descriptions are sentences and no tables do what each of the sentences says, and take no argument beyond
// them (B.3, 17, 18, 20, 21).
func TestContractSentences(t *testing.T) {
	p := open(t, testdb.Engines(t)[0])
	texts := map[string]string{}
	for _, x := range contract(t) {
		texts[x.name] = strings.Join(strings.Fields(x.text), "")
	}
	told := map[string]map[string]bool{}
	find := func(name string, sentences ...string) *schema.Tool {
		t.Helper()
		tool, ok := p.engine.Catalog().Tool(name)
		if !ok {
			t.Fatalf("no tool %s", name)
		}
		for _, s := range sentences {
			if !strings.Contains(texts[name], strings.Join(strings.Fields(s), "")) {
				t.Errorf("%s is no longer described by %q", name, s)
			}
		}
		return tool
	}
	args := func(tool *schema.Tool, kind, match string, names ...string) {
		t.Helper()
		for _, name := range names {
			if told[tool.Name] == nil {
				told[tool.Name] = map[string]bool{}
			}
			told[tool.Name][name] = true
			if x := tool.Param(name); x == nil || x.Type != kind || x.Match != match || x.Required {
				t.Errorf("%s %s is %+v, described as %s, %s", tool.Name, name, x, kind, match)
			}
		}
	}
	ranges := func(tool *schema.Tool, fields ...string) { // name of the range, its field
		t.Helper()
		for i := 0; i < len(fields); i += 2 {
			args(tool, "date", "from", fields[i]+"From")
			args(tool, "date", "to", fields[i]+"To")
			from, to := tool.Param(fields[i]+"From"), tool.Param(fields[i]+"To")
			if from == nil || to == nil || from.Field != fields[i+1] || to.Field != fields[i+1] || !to.WholeDay {
				t.Errorf("%s %s is not the range of %s: %+v %+v", tool.Name, fields[i], fields[i+1], from, to)
			}
		}
	}
	shows := func(tool *schema.Tool, want string, list []*schema.Column) {
		t.Helper()
		for _, name := range strings.Split(want, "/") {
			if !slices.Contains(columnsOf(list), name) {
				t.Errorf("%s shows no %s beside %v", tool.Name, name, columnsOf(list))
			}
		}
	}
	files := func(tool *schema.Tool, list []*schema.Column) {
		t.Helper()
		if got := columnsOf(list); !slices.Equal(got, []string{"id", "fileName", "bucket", "objectKey"}) {
			t.Errorf("%s shows of a file %v", tool.Name, got)
		}
	}
	// The two numbers by which one document is found, and how none is told.
	found := func(tool *schema.Tool, number string) {
		t.Helper()
		args(tool, "integer", "exact", "id")
		args(tool, "string", "exact", number)
		one := tool.Preset.OneOf
		if one == nil || one.Notice || len(one.Params) != 2 || one.Params[0].Name != "id" || one.Params[1].Name != number {
			t.Errorf("%s needs %+v", tool.Name, one)
		}
		if tool.Preset.NotFound.Notice || tool.Preset.Shape != "record" || tool.Preset.Record != "record" {
			t.Errorf("%s: %+v", tool.Name, tool.Preset.NotFound)
		}
		if tool.Preset.Read.Source != p.resource(strings.Replace(tool.Name, ".detail.", ".list.", 1)) {
			t.Errorf("%s reads other rows than its list", tool.Name)
		}
	}

	in := find("warehouse.in.list.query", "将入库日期与申请日期分别过滤", "单号支持入库/调拨/关联出库/商城/送货/装机/取货/撤机",
		"另支持代理、仓库、入库类型、申请人、状态、同步状态、物流和入库/申请日期范围筛选", "返回 `total/page/rows/records`", "`sourceType`（ALLOCATION/OUTBOUND_LINKED/MALL/NORMAL）、状态文案、仓库集合、待办人、实际入库人和入库日期")
	args(in, "string", "contains", "inOrderNo", "allocationOrderNo", "outOrderNo", "mallOrderNo", "deliveryOrderNo", "installOrderNo", "pickupOrderNo", "removeOrderNo")
	args(in, "integer", "exact", "agentId", "warehouseId", "warehouseTypeId", "applyUserId")
	args(in, "enum", "exact", "orderState", "inSynchronizeState", "assetSynchronizeState", "sendMode")
	ranges(in, "inDate", "in_date", "applyDate", "apply_time")
	shows(in, "sourceType/orderStateText/warehouseIds/warehouseNames/schedulePeople/warehouseInPeople/inDate", in.Preset.Read.Columns)
	for id, want := range map[int]string{951: "OUTBOUND_LINKED", 952: "ALLOCATION", 953: "MALL", 954: "NORMAL"} {
		if got := p.field(t, in.Name, id, "sourceType"); got != want {
			t.Errorf("the source of %d is %v, not %s", id, got, want)
		}
	}

	detail := find("warehouse.in.detail.query", "按 `id` 或 `inOrderNo` 查询详情，两者至少传一个；同时传入时必须匹配同一条可见记录", "统一返回 `NOT_FOUND_OR_FORBIDDEN`",
		"返回 `record/sceneType/warehouses/items/processes/files/relatedOutOrder`", "`items` 按物料定义、物料索引和仓库汇总；`includeSerials` 默认 false，`serialLimit` 默认 100、上限 500，同时返回 `serialTotal/serialTruncated`",
		"`files.application/files.confirmation` 仅返回 `id/fileName/bucket/objectKey`", "`relatedOutOrder` 仅给出关联出库单号和查询工具名")
	found(detail, "inOrderNo")
	args(detail, "boolean", "", "includeSerials") // which narrow nothing
	args(detail, "integer", "", "serialLimit")
	if x, y := detail.Param("includeSerials"), detail.Param("serialLimit"); x.Default != "false" || y.Default != "100" || y.Max == nil || *y.Max != 500 || !y.Clamp {
		t.Errorf("%+v %+v", x, y)
	}
	shows(detail, "sceneType/warehouses/items/processes/files/relatedOutOrder/serials/serialTotal/serialTruncated", detail.Preset.Outputs)
	var groups []string
	for _, f := range childOf(t, detail, "items").Groups {
		groups = append(groups, f.Code)
	}
	if !slices.Equal(groups, []string{"material_define_id", "material_index", "warehouse_id", "in_id"}) { // the last is of which order they are
		t.Errorf("the items are grouped by %v", groups)
	}
	files(detail, childOf(t, detail, "pictures").Read.Columns)
	for _, o := range detail.Preset.Outputs {
		if o.Name == "relatedOutOrder" && !slices.Equal(columnsOf(o.Columns), []string{"outOrderNo", "tool"}) {
			t.Errorf("of the outbound order %v", columnsOf(o.Columns))
		}
		if o.Name == "files" && len(o.Parts) != 2 {
			t.Errorf("the files are %v", o.Parts)
		}
	}

	list := find("delivery.order.list.query", "入参：`deliveryOrderNo`、`sourceOrderNo`、`agentId`、`districtName`、`orderType`、`orderState`、`sendMode`、`applyUserName`、申请/完成日期范围及 `page/rows`",
		"申请日期按业务字段 `apply_time` 查询", "返回 `total/page/rows/records`，固定按 ID 倒序；记录同时返回状态、类型、配送方式的码值与文案")
	args(list, "string", "contains", "deliveryOrderNo", "sourceOrderNo", "districtName", "applyUserName")
	args(list, "integer", "exact", "agentId")
	args(list, "enum", "exact", "orderType", "orderState", "sendMode")
	ranges(list, "applyDate", "apply_time", "completeDate", "complete_time")
	for _, m := range enumRun.FindAllStringSubmatch(texts[list.Name], -1) {
		contractValues(t, list.Name, list.Param(m[1]), m[2])
	}
	if n := len(enumRun.FindAllString(texts[list.Name], -1)); n != 3 {
		t.Errorf("%d enums are described", n)
	}
	shows(list, "orderType/orderTypeText/orderState/orderStateText/sendMode/sendModeText", list.Preset.Read.Columns)
	if got := sortedBy(list.Preset.Read.Order); got != "id desc" {
		t.Errorf("ordered by %s", got)
	}

	order := find("delivery.order.detail.query", "按 `id` 或 `deliveryOrderNo` 查询详情，两者至少传一个；同时传入时必须匹配同一条可见记录", "统一返回 `NOT_FOUND_OR_FORBIDDEN`",
		"`logistics`：物流公司/单号或派送员信息、物流状态；无物流记录时为 null", "`install_distribute_details` 配发物品，含物料、SN、数量、出入仓库和商城订单号", "`mall_logistics_pic` 发货图片",
		"`processes`：`schedule_state=2` 的流程记录及 m2 `warehouse_in_out_pic` 签收附件，按操作时间、ID 正序", "`install_to_out_warehouse` 关联的出库、入库、调拨或划转单", "所有附件仅返回 `id/fileName/bucket/objectKey`")
	found(order, "deliveryOrderNo")
	shows(order, "orderTypeText/orderStateText/sendModeText", order.Preset.Read.Columns)
	shows(order, "logistics/goods/shippingFiles/processes/relatedDocuments", order.Preset.Outputs)
	for _, o := range order.Preset.Outputs {
		if o.Name == "logistics" {
			shows(order, "logisticsName/logisticsOrderNo/deliverName/deliverNumber/logisticsState", o.Columns)
			if !o.Null {
				t.Error("there is always a parcel")
			}
		}
	}
	shows(order, "materialId/materialName/snCode/count/outWarehouseName/inWarehouseName/mallOrderNo", childOf(t, order, "goods").Read.Columns)
	shows(order, "docType/docId/docNo", childOf(t, order, "relatedDocuments").Read.Columns)
	files(order, childOf(t, order, "shippingFiles").Read.Columns)
	processes := childOf(t, order, "processes").Read
	if got := sortedBy(processes.Order); got != "operate_time, id" {
		t.Errorf("processes are ordered by %s", got)
	}
	files(order, processes.Children[0].Read.Columns)
	for child, table := range map[string]string{"goods": "install_distribute_details", "shippingFiles": "mall_logistics_pic", "relatedDocuments": "install_to_out_warehouse"} {
		if got := childOf(t, order, child).Read.Source.Table; got != table {
			t.Errorf("%s are of %s", child, got)
		}
	}

	for _, tool := range []*schema.Tool{in, detail, list, order} {
		for _, x := range tool.Params {
			if !told[tool.Name][x.Name] {
				t.Errorf("%s has the argument %s, which is not described", tool.Name, x.Name)
			}
		}
		if len(told[tool.Name]) != len(tool.Params) {
			t.Errorf("%s: %v", tool.Name, slices.Sorted(maps.Keys(told[tool.Name])))
		}
	}
}

// resource is what a tool reads.
func (p *pack) resource(tool string) *schema.Resource {
	t, ok := p.engine.Catalog().Tool(tool)
	if !ok {
		return nil
	}
	return t.Preset.Read.Source
}

// field is an output of the record with an id, as the head office sees it in a list.
func (p *pack) field(t *testing.T, tool string, id int, name string) any {
	t.Helper()
	a, err := p.engine.CallTool(t.Context(), people["head"], engine.Call{Tool: tool, Args: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	var page struct{ Records []map[string]any }
	if err := json.Unmarshal(a.Text, &page); err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Records {
		if r["id"] == float64(id) {
			return r[name]
		}
	}
	return nil
}
