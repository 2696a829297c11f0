package xiaoqu

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// A row is the values of a row by column. What is not named is NULL, and 0 in soft_delete.
type row map[string]string

// rows gives the rows of every table. They are few, and each is there for a rule or a case: who sees what is told in
// docs/xiaoqu.md.
var rows = sync.OnceValue(func() map[string][]row {
	out := map[string][]row{}
	for _, line := range strings.Split(written, "\n") {
		name, values, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		r := row{}
		for _, pair := range strings.Fields(values) {
			k, v, _ := strings.Cut(pair, "=")
			r[k] = strings.ReplaceAll(v, "~", " ")
		}
		out[name] = append(out[name], r)
	}
	device(out)
	return out
})

// device adds the dispensers: more than one page of a list may hold.
func device(out map[string][]row) {
	for i := 1; i <= 130; i++ {
		n := strconv.Itoa(i)
		site := []string{"501", "502", "503", "504", "505"}[i%5]
		agent := map[string]string{"501": "10", "502": "11", "503": "20", "504": "30", "505": "40"}[site]
		r := row{
			"id": n, "sn_code": fmt.Sprintf("SN%04d", i), "device_type": strconv.Itoa(i % 2), "status": strconv.Itoa(1 + i%3), "online": strconv.Itoa(1 + i%2),
			"lock_machine_state": strconv.Itoa(i % 5 / 4), "device_state": "0", "sysversion": "2.1." + n, "firmware_version": "1.0", "agent_id": agent,
			"property_id": map[string]string{"501": "301", "502": "302", "503": "303", "504": "304", "505": "399"}[site], "district_id": site, "building_id": strconv.Itoa(600 + i%3),
			"floor": strconv.Itoa(1+i%6) + "F", "power": strconv.Itoa(i % 101), "paper_percent": strconv.Itoa(100 - i%101), "paper_count": n,
			"battery_voltage": "3.70", "volume": "5", "active_time": "2026-01-02 08:00:00", "create_time": "2026-01-01 08:00:00", "create_id": "1",
		}
		if i%3 != 0 {
			r["imsi"] = fmt.Sprintf("46000%05d", i)
		}
		if i <= 5 {
			out["networkcard"] = append(out["networkcard"], row{"id": n, "imsi": fmt.Sprintf("46000%05d", i), "iccid": "8986" + n, "msisdn": "1064" + n,
				"factory_type": "华智", "carrier": "移动", "data_balance": "512.50", "data_usage": "11.25", "soft_delete": strconv.Itoa(i / 5)})
		}
		if i == 130 {
			r["soft_delete"] = "1"
		}
		out["hardware"] = append(out["hardware"], r)
	}
}

// written are the rows: table, then column=value. A ~ stands for a blank.
const written = `
agent: id=1 name=总部 level=0 channel_no=Z serialnumber=A0001 province=北京市 city=北京市 contact=张总 phone=13800000001 kingdee_name=金蝶总部 create_time=2026-01-01~08:00:00
agent: id=10 name=北京D类代理 level=1 channel_no=D serialnumber=A0010 supervisor_id=1 province=北京市 city=北京市 countyseat=朝阳区 contact=李代理 phone=13800000010 agencyarea=朝阳 memo=重点 kingdee_name=金蝶北京 create_time=2026-01-02~08:00:00
agent: id=11 name=北京二级代理 level=2 channel_no=D serialnumber=A0011 supervisor_id=10 province=北京市 city=北京市 contact=王二 phone=13800000011 kingdee_name=金蝶北京二级 create_time=2026-01-03~08:00:00
agent: id=20 name=上海代理 level=1 channel_no=D serialnumber=A0020 supervisor_id=1 province=上海市 city=上海市 contact=赵沪 phone=13800000020 kingdee_name=金蝶上海 create_time=2026-01-04~08:00:00
agent: id=30 name=广州分公司 level=1 channel_no=F serialnumber=A0030 supervisor_id=1 province=广东省 city=广州市 contact=钱粤 phone=13800000030 create_time=2026-01-05~08:00:00
agent: id=40 name=深圳代理 level=1 channel_no=D serialnumber=A0040 supervisor_id=77 province=广东省 city=深圳市 contact=孙深 phone=13800000040 create_time=2026-01-06~08:00:00
agent: id=41 name=已撤代理 level=2 channel_no=D serialnumber=A0041 supervisor_id=10 province=北京市 city=北京市 create_time=2026-01-07~08:00:00 soft_delete=1
properyt: id=301 name=朝阳物业 serialnumber=P0301 agent_id=10 province=北京市 city=北京市 countyseat=朝阳区 address=建国路1号 contact=周一 phone=13900000301 kingdee_name=金蝶朝阳物业 create_id=2 create_time=2026-02-01~08:00:00
properyt: id=302 name=海淀物业 serialnumber=P0302 agent_id=11 province=北京市 city=北京市 countyseat=海淀区 contact=吴二 phone=13900000302 kingdee_name=金蝶海淀物业 create_id=3 create_time=2026-02-02~08:00:00
properyt: id=303 name=浦东物业 serialnumber=P0303 agent_id=20 province=上海市 city=上海市 contact=郑三 phone=13900000303 create_id=99 create_time=2026-02-03~08:00:00
properyt: id=304 name=天河物业 serialnumber=P0304 agent_id=30 province=广东省 city=广州市 contact=冯四 phone=13900000304 kingdee_name=金蝶天河物业 create_time=2026-02-04~08:00:00
properyt: id=305 name=越秀物业 serialnumber=P0305 agent_id=88 province=广东省 city=广州市 create_id=1 create_time=2026-02-05~08:00:00
properyt: id=306 name=已删物业 serialnumber=P0306 agent_id=10 province=北京市 create_id=2 create_time=2026-02-06~08:00:00 soft_delete=1
user: id=1 uuid=u-1 name=总部管理员 phone=13700000001 agent_id=1 department_id=1 group_id=1 enterprise_type=0 status=1 create_time=2026-01-01~08:00:00
user: id=2 uuid=u-2 name=李代理 phone=13700000002 agent_id=10 group_id=2 enterprise_type=1 status=1 create_time=2026-01-01~08:00:00
user: id=3 uuid=u-3 name=销售小陈 phone=13700000003 agent_id=1 department_id=2 group_id=1 enterprise_type=0 status=1 create_time=2026-01-01~08:00:00
user: id=4 uuid=u-4 name=无归属代理 phone=13700000004 group_id=2 enterprise_type=1 status=1 create_time=2026-01-01~08:00:00
user: id=5 uuid=u-5 name=销售主管 phone=13700000005 agent_id=1 department_id=2 group_id=1 enterprise_type=0 status=1 create_time=2026-01-01~08:00:00
user: id=6 uuid=u-6 name=离职员工 agent_id=1 group_id=1 status=0 create_time=2026-01-01~08:00:00 soft_delete=1
permission_group: id=1 name=总部组 isagent=0
permission_group: id=2 name=代理组 isagent=1
department: id=1 name=管理部 is_sale=0 leader_user_id=1
department: id=2 name=销售部 is_sale=1 leader_user_id=5
warehouse_agent_auth: id=1 user_id=2 agent_id=20
warehouse_agent_auth: id=2 user_id=3 agent_id=30
warehouse_agent_auth: id=3 user_id=2 agent_id=40 soft_delete=1
agent_manage_district_auth: id=1 user_id=2 agent_id=30 property_id=304
agent_manage_district_auth: id=2 user_id=2 agent_id=88 property_id=305 soft_delete=1
district: id=501 district_name=建国小区 district_number=D501 property_id=301 agent_id=10 supervisor_id=1 sales_id=3 service_company_id=1 attribute_id=1 province=北京市 city=北京市 countyseat=朝阳区 address=建国路8号 contact=陈站 phone=13600000501 mail=d501@example.com business_format=住宅 install_type=1 is_smart=1 lnfluence_level=2 build_count=3 hardware_count=33 airdetector_flag=0 district_state=1 online_state=1 test_date=2026-01-05 honour_date=2026-02-05 test_days=30 device_sales_type=1 paper_sales_type=2 consumables_type=1 pos_device_paper_norm=A4 toilet_device_paper_norm=B5 enterprise_id=9 service_url=http://10.0.0.1/ modify_id=1 memo=示范 create_id=1 create_time=2026-01-05~08:00:00 modify_time=2026-03-01~09:00:00
district: id=502 district_name=中关村小区 district_number=D502 property_id=302 agent_id=11 sales_id=99 service_company_id=9 attribute_id=9 province=北京市 city=北京市 district_state=0 online_state=1 hardware_count=33 is_smart=0 create_id=2 create_time=2026-01-06~08:00:00
district: id=503 district_name=陆家嘴小区 district_number=D503 property_id=303 agent_id=20 province=上海市 city=上海市 district_state=1 online_state=2 hardware_count=32 is_smart=1 create_id=3 create_time=2026-01-07~08:00:00
district: id=504 district_name=天河小区 district_number=D504 property_id=304 agent_id=30 province=广东省 city=广州市 district_state=2 online_state=1 hardware_count=31 is_smart=1 create_time=2026-01-08~08:00:00
district: id=505 district_name=南山小区 district_number=D505 property_id=399 agent_id=40 province=广东省 city=深圳市 district_state=3 online_state=2 hardware_count=0 is_smart=0 create_time=2026-01-09~08:00:00
district: id=506 district_name=已删小区 district_number=D506 property_id=301 agent_id=10 province=北京市 district_state=1 create_time=2026-01-10~08:00:00 soft_delete=1
district_strategy: district_id=501 point_state=1 assignment_work_state=1 air_state=0 message_flag=1 report_flag=0 lock_machine_flag=1 event_repair_flag=0 rfid_use_flag=1 calibrated_flag=0 illegal_paper_disable=0 lower_paper_state=1 no_paper_state=1 power_warning=1 wait_times=5 warning=1 warning2=0 warning3=0 warning_time=30 paper_percent_warn=20 maintain_order_warning=3 foam_count_warning=2 foam_power_warning=15 point_deduction=1.50 effective_use_time=60 consumables_price=12.30 bill_date=25 bill_type=1 fine_money=100.00
district_strategy: district_id=502 bill_type=2
district_attribute: id=1 name=自营
service_company: id=1 name=洁净服务公司
mall_goods_order: id=701 order_no=SC20260901001 order_time=2026-09-01~00:00:00 order_type=0 agent_id=10 agent_name=北京D类代理 sale_company_id=1 sale_company=总部 pay_money=1000.00 paid_money=400.50 un_pay_money=599.50 total_money=1100.00 goods_money=1050.00 postage_money=50.00 discount_money=100.00 order_state=3 pay_state=2 order_pay_state=1 warehouse_state=1 order_invoice_state=0 pay_time=2026-09-01~10:00:00 create_time=2026-09-01~00:00:00 accounts_type=1 payment_type=2 goods_type=1 pay_no=PAY701 address_id=801 memo=加急
mall_goods_order: id=702 order_no=SC20260902001 order_time=2026-09-02~23:59:59 order_type=1 agent_id=10 agent_name=北京D类代理 property_id=301 property_name=朝阳物业 sale_company_id=10 sale_company=北京D类代理 pay_money=200.00 paid_money=200.00 un_pay_money=0.00 order_state=0 pay_state=1 warehouse_state=0 create_time=2026-09-02~23:59:59
mall_goods_order: id=703 order_no=SC20260903001 order_time=2026-09-03~00:00:00 order_type=1 agent_id=20 agent_name=上海代理 property_id=303 property_name=浦东物业 sale_company_id=20 sale_company=上海代理 pay_money=300.00 paid_money=0.00 un_pay_money=300.00 order_state=1 pay_state=0 warehouse_state=2 create_time=2026-09-03~00:00:00 address_id=899
mall_goods_order: id=704 order_no=SC20260904001 order_time=2026-09-04~12:00:00 order_type=1 agent_id=30 agent_name=广州分公司 property_id=304 property_name=天河物业 sale_company_id=30 sale_company=广州分公司 pay_money=50.00 paid_money=0.00 un_pay_money=50.00 order_state=6 pay_state=0 warehouse_state=0 create_time=2026-09-04~12:00:00
mall_goods_order: id=705 order_no=SC20260905001 order_time=2026-09-05~12:00:00 order_type=0 agent_id=40 agent_name=深圳代理 sale_company_id=40 sale_company=深圳代理 pay_money=80.00 paid_money=0.00 un_pay_money=80.00 order_state=0 pay_state=0 warehouse_state=0 create_time=2026-09-05~12:00:00
mall_goods_order: id=706 order_no=SC20260906001 order_time=2026-09-06~12:00:00 order_type=1 agent_id=10 agent_name=北京D类代理 property_id=302 property_name=海淀物业 sale_company_id=11 sale_company=北京二级代理 pay_money=60.00 paid_money=60.00 un_pay_money=0.00 order_state=5 pay_state=1 warehouse_state=1 create_time=2026-09-06~12:00:00
mall_order_details: id=1 order_no=SC20260901001 spu_no=SPU1 spu_name=大卷纸 sku_no=SKU1 count=10 price=50.00 pay_money=500.00 pay_state=1 warehouse_state=1
mall_order_details: id=2 order_no=SC20260901001 spu_no=SPU2 spu_name=擦手纸 sku_no=SKU2 count=11 price=50.00 pay_money=550.00 pay_state=0 warehouse_state=1
mall_order_details: id=3 order_no=SC20260903001 spu_no=SPU1 spu_name=大卷纸 sku_no=SKU1 count=6 price=50.00 pay_money=300.00 pay_state=0 warehouse_state=2
mall_shipping_address: id=801 reveive_name=李收货 reveive_number=13500000801 province=北京市 city=北京市 countyseat=朝阳区 address=建国路9号
mall_order_logistics: id=1 order_no=SC20260901001 logistics_name=顺丰 logistics_order_no=SF0001 send_mode=0 state=4 send_time=2026-09-02~08:00:00 receiving_goods_name=李收货 reveive_name=李收货 reveive_number=13500000801 address=建国路9号
mall_order_logistics: id=2 order_no=CK0001 logistics_name=德邦 logistics_order_no=DB0001 send_mode=0 state=2 send_time=2026-09-11~08:00:00 reveive_name=李收货 reveive_number=13500000801 address=建国路9号 source_type=1 source_id=901
mall_order_logistics_detai: id=1 logistics_order_no=SC20260901001 memo=已发货 state=2 pic_list=[] create_time=2026-09-02~09:00:00
mall_order_logistics_detai: id=2 logistics_order_no=SC20260901001 memo=已出库 state=1 create_time=2026-09-02~07:00:00
mall_order_logistics_detai: id=3 logistics_order_no=SC20260903001 memo=已出单 state=0 create_time=2026-09-03~07:00:00
mall_logistics_pic: id=1 order_no=SC20260901001 delivery_order_no=SH0001 file_name=发货.jpg bucket=wms object_key=ship/1.jpg create_time=2026-09-12~08:00:00
contract_new: id=1001 contract_no=HT001 contract_name=朝阳合同 contract_agent_id=10 customer_agent_id=11 property_id=301 property_name=朝阳物业 customer_no=P0301 customer_name=金蝶朝阳物业 amount=10000.00 contact=周一 start_date=2026-01-01 end_date=2026-12-31 expire_remind=1 remind_days=30 remind_time=2026-12-01~08:00:00 reminded=0 sale_id=3 sale_name=销售小陈 contract_status=2 create_id=1 create_time=2026-01-01~08:00:00
contract_new: id=1002 contract_no=HT002 contract_name=浦东合同 contract_agent_id=20 customer_agent_id=99 property_id=303 property_name=浦东物业 customer_no=P0303 customer_name=浦东客户 amount=20000.50 start_date=2026-01-01 end_date=2027-01-01 expire_remind=0 contract_status=0 create_id=99 create_time=2026-01-02~08:00:00
contract_new: id=1003 contract_no=HT003 contract_name=天河合同 contract_agent_id=30 property_id=304 property_name=天河物业 customer_no=P0304 amount=0.00 start_date=2026-03-01 end_date=2026-12-31 contract_status=4 stop_reason_type=1 stop_reason=搬迁 create_id=3 create_time=2026-03-01~08:00:00
contract_new: id=1004 contract_no=HT004 contract_name=深圳合同 contract_agent_id=40 property_id=399 end_date=2026-06-30 contract_status=3 create_time=2026-03-02~08:00:00
contract_new: id=1005 contract_no=HT005 contract_name=海淀合同 contract_agent_id=1 property_id=302 property_name=海淀物业 end_date=2026-06-30 contract_status=1 create_id=2 create_time=2026-03-03~08:00:00
contract_new: id=1006 contract_no=HT006 contract_name=已删合同 contract_agent_id=10 property_id=301 contract_status=2 create_time=2026-03-04~08:00:00 soft_delete=1
contract_file: id=1 contract_id=1001 file_name=合同.pdf file_url=contract/1.pdf create_time=2026-01-01~09:00:00
contract_file: id=2 contract_id=1001 file_name=附件.pdf file_url=contract/2.pdf create_time=2026-01-01~09:30:00
contract_file: id=3 contract_id=1001 file_name=旧.pdf file_url=contract/3.pdf create_time=2026-01-01~09:40:00 soft_delete=1
contract_process: id=1 contract_id=1001 node_type=0 audit_level=0 operation_type=0 user_id=2 user_name=李代理 schedule_state=0 operate_time=2026-01-01~08:00:00
contract_process: id=2 contract_id=1001 node_type=1 audit_level=1 operation_type=1 user_id=1 user_name=总部管理员 schedule_state=2 remark=同意 operate_time=2026-01-01~10:00:00
warehouse: id=81 name=北京仓 agent_id=10 manage_agent_id=10
warehouse: id=82 name=上海仓 agent_id=20 manage_agent_id=20
warehouse: id=83 name=广州仓 agent_id=30 manage_agent_id=11
warehouse: id=84 name=深圳仓 agent_id=40
warehouse_type: id=1 name=销售出库 direction=1
warehouse_type: id=2 name=采购入库 direction=0
warehouse_out: id=901 out_order_no=CK0001 mall_order_no=SC20260901001 agent_id=10 warehouse_type_id=1 out_count=21 goods_count=2 order_state=3 send_mode=0 logistics_name=德邦 logistics_order_no=DB0001 address_id=801 out_date=2026-09-11~23:59:59 apply_user_id=2 apply_user_name=李代理 apply_time=2026-09-10~08:00:00 use_customer_type=2 use_customer_id=301 use_customer_name=朝阳物业 out_synchronize_state=1 asset_synchronize_state=-1 certificate_memo=凭证齐全 memo=送货 create_id=2 create_time=2026-09-10~08:00:00 modify_time=2026-09-11~08:00:00
warehouse_out: id=902 out_order_no=CK0002 allocation_order_no=DB0902 agent_id=20 warehouse_type_id=1 out_count=5 goods_count=1 order_state=2 send_mode=1 deliver_name=小赵 deliver_number=13400000902 apply_user_id=1 apply_user_name=总部管理员 apply_time=2026-09-12~00:00:00 use_customer_type=0 out_synchronize_state=0 asset_synchronize_state=0 create_id=1 create_time=2026-09-12~00:00:00
warehouse_out: id=903 out_order_no=CK0003 agent_id=40 warehouse_type_id=9 out_count=1 goods_count=1 order_state=0 apply_user_id=4 apply_user_name=无归属代理 apply_time=2026-09-12~23:59:59 use_customer_type=1 use_customer_id=40 use_customer_name=深圳代理 out_synchronize_state=2 asset_synchronize_state=1 create_id=4 create_time=2026-09-13~08:00:00
warehouse_out: id=904 out_order_no=CK0004 agent_id=30 warehouse_type_id=1 out_count=2 goods_count=1 order_state=1 apply_user_id=99 apply_user_name=外部 apply_time=2026-09-13~00:00:00 create_time=2026-09-14~08:00:00
warehouse_out: id=905 out_order_no=CK0005 agent_id=40 warehouse_type_id=1 order_state=5 out_date=2026-09-12~00:00:00 apply_time=2026-09-15~08:00:00 create_time=2026-09-15~08:00:00
warehouse_out: id=906 out_order_no=CK0006 agent_id=10 warehouse_type_id=1 order_state=4 apply_time=2026-09-16~08:00:00 create_time=2026-09-16~08:00:00 soft_delete=1
warehouse_out_details: id=1 out_id=901 parent_id=0 material_id=61 material_code=M61 material_name=大卷纸 material_index=0 warehouse_id=81 count=20 price=5.00 out_user_id=2 out_user_name=李代理 out_time=2026-09-11~10:00:00 confirm_state=1
warehouse_out_details: id=2 out_id=901 parent_id=0 material_id=62 material_code=M62 material_name=出纸机 material_index=0 warehouse_id=82 count=1 price=300.00 out_user_id=1 out_user_name=总部管理员 out_time=2026-09-11~11:00:00 confirm_state=1
warehouse_out_details: id=3 out_id=901 parent_id=2 material_id=62 material_code=M62 material_name=出纸机 warehouse_id=82 count=1 sn_code=SN0001
warehouse_out_details: id=4 out_id=901 parent_id=2 material_id=62 material_code=M62 material_name=出纸机 warehouse_id=82 count=1 sn_code=SN0002
warehouse_out_details: id=5 out_id=901 parent_id=2 material_id=62 material_code=M62 material_name=出纸机 warehouse_id=82 count=1 sn_code=SN0003
warehouse_out_details: id=6 out_id=902 parent_id=0 material_id=61 material_code=M61 material_name=大卷纸 warehouse_id=82 count=5 price=5.00 confirm_state=0
warehouse_out_details: id=7 out_id=904 parent_id=0 material_id=61 material_code=M61 material_name=大卷纸 warehouse_id=83 count=2 price=5.00 confirm_state=0
warehouse_out_details: id=8 out_id=903 parent_id=0 material_id=61 material_code=M61 material_name=大卷纸 warehouse_id=84 count=1 price=5.00 confirm_state=0
warehouse_out_details: id=9 out_id=901 parent_id=0 material_id=63 material_code=M63 material_name=旧行 warehouse_id=84 count=1 price=5.00 soft_delete=1
warehouse_out_audit_process: id=1 out_id=901 operation_type=0 schedule_state=2 user_id=2 user_name=李代理 remark=申请 operate_time=2026-09-10~08:00:00
warehouse_out_audit_process: id=2 out_id=901 operation_type=1 schedule_state=2 user_id=1 user_name=总部管理员 remark=同意 operate_time=2026-09-10~09:00:00
warehouse_out_audit_process: id=3 out_id=902 operation_type=1 schedule_state=1 user_id=2 user_name=李代理
warehouse_out_audit_process: id=4 out_id=902 operation_type=1 schedule_state=1 user_id=5 user_name=销售主管
warehouse_out_audit_process: id=5 out_id=905 operation_type=1 schedule_state=2 user_id=4 user_name=无归属代理 operate_time=2026-09-15~09:00:00
warehouse_out_audit_process: id=6 out_id=903 operation_type=3 schedule_state=1 user_id=2 user_name=李代理
warehouse_out_audit_process: id=7 out_id=902 operation_type=2 schedule_state=2 user_id=2 user_name=李代理 operate_time=2026-09-12~09:00:00
warehouse_out_audit_process: id=8 out_id=905 operation_type=1 schedule_state=1 user_id=2 user_name=李代理 soft_delete=1
warehouse_in: id=951 in_order_no=RK0001 out_order_no=CK0001 agent_id=10 warehouse_type_id=2 in_count=3 goods_count=2 order_state=3 send_mode=0 in_date=2026-09-24~23:59:59 apply_user_id=2 apply_user_name=李代理 apply_time=2026-09-20~23:59:59 in_synchronize_state=1 asset_synchronize_state=0 memo=入库 create_time=2026-09-19~08:00:00
warehouse_in: id=952 in_order_no=RK0002 allocation_order_no=DB0902 agent_id=20 warehouse_type_id=2 in_count=5 goods_count=1 order_state=2 apply_user_id=1 apply_user_name=总部管理员 apply_time=2026-09-21~00:00:00 in_synchronize_state=0 asset_synchronize_state=-1 create_time=2026-09-21~00:00:00
warehouse_in: id=953 in_order_no=RK0003 mall_order_no=SC20260905001 agent_id=40 order_state=0 apply_time=2026-09-22~08:00:00 create_time=2026-09-22~08:00:00
warehouse_in: id=954 in_order_no=RK0004 remove_order_no=CJ0001 agent_id=30 order_state=1 in_date=2026-09-25~00:00:00 apply_time=2026-09-23~08:00:00 create_time=2026-09-23~08:00:00
warehouse_in: id=955 in_order_no=RK0005 agent_id=10 order_state=4 apply_time=2026-09-24~08:00:00 create_time=2026-09-24~08:00:00 soft_delete=1
warehouse_in_details: id=1 in_id=951 parent_id=0 material_id=61 material_define_id=71 material_code=M61 material_name=大卷纸 material_index=0 warehouse_id=81 count=1 price=5.00 in_user_id=2 in_user_name=李代理 in_time=2026-09-24~10:00:00 confirm_state=1
warehouse_in_details: id=2 in_id=951 parent_id=0 material_id=61 material_define_id=71 material_code=M61 material_name=大卷纸 material_index=0 warehouse_id=81 count=2 price=6.00 in_user_id=2 in_user_name=李代理 in_time=2026-09-24~11:00:00 confirm_state=1
warehouse_in_details: id=3 in_id=951 parent_id=0 material_id=61 material_define_id=71 material_code=M61 material_name=大卷纸 material_index=0 warehouse_id=82 count=4 price=5.00 confirm_state=0
warehouse_in_details: id=4 in_id=951 parent_id=1 material_id=61 material_define_id=71 material_code=M61 material_name=大卷纸 warehouse_id=81 count=1 sn_code=SN0009
warehouse_in_details: id=5 in_id=954 parent_id=0 material_id=61 material_define_id=71 material_name=大卷纸 material_index=0 warehouse_id=83 count=1 price=5.00
warehouse_in_details: id=6 in_id=953 parent_id=0 material_id=61 material_define_id=71 material_name=旧行 material_index=0 warehouse_id=81 count=1 price=5.00 soft_delete=1
warehouse_in_audit_process: id=1 in_id=951 operation_type=1 schedule_state=2 user_id=1 user_name=总部管理员 remark=同意 operate_time=2026-09-21~09:00:00
warehouse_in_audit_process: id=2 in_id=952 operation_type=2 schedule_state=1 user_id=2 user_name=李代理
warehouse_in_audit_process: id=3 in_id=953 operation_type=1 schedule_state=1 user_id=4 user_name=无归属代理
warehouse_in_audit_process: id=4 in_id=953 operation_type=1 schedule_state=1 user_id=2 user_name=李代理 soft_delete=1
warehouse_allocation: id=981 allocation_order_no=DB0902 op_type=0 order_state=2 agent_id=20 out_warehouse_id=82 in_warehouse_id=81 allocation_count=5 apply_user_id=1 apply_user_name=总部管理员 apply_time=2026-09-11~08:00:00 next_user_name=李代理 in_user_name=李代理 out_user_name=赵沪 create_time=2026-09-11~08:00:00
warehouse_allocation: id=982 allocation_order_no=CG0001 op_type=1 order_state=0 agent_id=10 out_warehouse_id=81 in_warehouse_id=99 allocation_count=1 apply_user_id=2 apply_user_name=李代理 apply_time=2026-09-25~08:00:00 create_time=2026-09-25~08:00:00
warehouse_allocation: id=983 allocation_order_no=DB0983 op_type=0 order_state=0 agent_id=10 out_warehouse_id=81 in_warehouse_id=82 allocation_count=1 apply_user_id=2 apply_user_name=李代理 apply_time=2026-09-26~08:00:00 create_time=2026-09-26~08:00:00 soft_delete=1
warehouse_allocation_audit_process: id=1 allocation_id=981 operation_type=1 schedule_state=1 user_id=2 user_name=李代理
warehouse_allocation_audit_process: id=2 allocation_id=982 operation_type=1 schedule_state=2 user_id=2 user_name=李代理 operate_time=2026-09-25~09:00:00
warehouse_allocation_audit_process: id=3 allocation_id=983 operation_type=1 schedule_state=1 user_id=2 user_name=李代理
warehouse_allocation_audit_process: id=4 allocation_id=981 operation_type=1 schedule_state=1 user_id=1 user_name=总部管理员 soft_delete=1
warehouse_in_out_pic: id=1 biz_type=out biz_id=901 pic_type=application file_name=申请.jpg bucket=wms object_key=out/1.jpg
warehouse_in_out_pic: id=2 biz_type=out biz_id=901 pic_type=confirmation file_name=确认.jpg bucket=wms object_key=out/2.jpg
warehouse_in_out_pic: id=3 biz_type=out biz_id=901 pic_type=certificate file_name=凭证.jpg bucket=wms object_key=out/3.jpg
warehouse_in_out_pic: id=4 biz_type=in biz_id=951 pic_type=application file_name=入库申请.jpg bucket=wms object_key=in/1.jpg
warehouse_in_out_pic: id=5 biz_type=delivery biz_id=991 pic_type=sign process_id=1 file_name=签收.jpg bucket=wms object_key=sign/1.jpg
delivery_order: id=991 delivery_order_no=SH0001 source_order_no=CK0001 order_type=1 order_state=1 send_mode=0 apply_agent_id=10 agent_id=11 agent_name=北京二级代理 property_id=301 property_name=朝阳物业 district_id=501 district_name=建国小区 apply_user_id=2 apply_user_name=李代理 apply_time=2026-09-12~23:59:59 complete_time=2026-09-13~23:59:59 logistics_name=德邦 logistics_order_no=DB0001 logistics_state=7 mall_order_no=SC20260901001 memo=已签收 create_time=2026-09-01~08:00:00
delivery_order: id=992 delivery_order_no=SH0002 source_order_no=ZJ0002 order_type=0 order_state=0 send_mode=1 apply_agent_id=20 agent_id=20 agent_name=上海代理 property_id=303 property_name=浦东物业 district_id=503 district_name=陆家嘴小区 apply_user_id=1 apply_user_name=总部管理员 apply_time=2026-09-13~00:00:00 deliver_name=小赵 deliver_number=13400000992 create_time=2026-09-02~08:00:00
delivery_order: id=993 delivery_order_no=SH0003 source_order_no=ZJ0003 order_type=0 order_state=2 apply_agent_id=30 agent_id=30 agent_name=广州分公司 property_id=304 property_name=天河物业 district_name=天河小区 apply_user_name=钱粤 apply_time=2026-09-14~08:00:00 create_time=2026-09-03~08:00:00
delivery_order: id=994 delivery_order_no=SH0004 source_order_no=ZJ0004 order_type=0 order_state=0 send_mode=1 apply_agent_id=40 agent_id=40 agent_name=深圳代理 property_id=399 district_name=南山小区 apply_time=2026-09-15~08:00:00 create_time=2026-09-04~08:00:00
delivery_order: id=995 delivery_order_no=SH0005 source_order_no=ZJ0005 order_type=0 order_state=1 send_mode=1 apply_agent_id=40 agent_id=40 agent_name=深圳代理 property_id=302 property_name=海淀物业 district_name=中关村小区 apply_time=2026-09-16~08:00:00 complete_time=2026-09-14~00:00:00 create_time=2026-09-05~08:00:00
delivery_order: id=996 delivery_order_no=SH0006 order_type=0 order_state=0 apply_agent_id=10 agent_id=10 apply_time=2026-09-17~08:00:00 create_time=2026-09-06~08:00:00 soft_delete=1
delivery_order_process: id=1 delivery_id=991 operation_type=1 schedule_state=2 user_id=2 user_name=李代理 remark=签收 operate_time=2026-09-13~10:00:00
delivery_order_process: id=2 delivery_id=994 operation_type=1 schedule_state=1 user_id=2 user_name=李代理
delivery_order_process: id=3 delivery_id=991 operation_type=0 schedule_state=2 user_id=1 user_name=总部管理员 operate_time=2026-09-12~10:00:00
install_distribute_details: id=1 delivery_id=991 material_id=62 material_name=出纸机 sn_code=SN0001 count=1 out_warehouse_id=81 out_warehouse_name=北京仓 in_warehouse_id=83 in_warehouse_name=广州仓 mall_order_no=SC20260901001
install_distribute_details: id=2 delivery_id=991 material_id=61 material_name=大卷纸 count=4 out_warehouse_id=81 out_warehouse_name=北京仓
install_to_out_warehouse: id=1 delivery_id=991 delivery_order_no=SH0001 install_order_no=ZJ0001 pickup_order_no=QH0001 doc_type=out doc_id=901 doc_no=CK0001
install_to_out_warehouse: id=2 delivery_id=991 delivery_order_no=SH0001 install_order_no=ZJ0009 doc_type=in doc_id=951 doc_no=RK0001
install_to_out_warehouse: id=3 delivery_id=992 delivery_order_no=SH0002 doc_type=allocation doc_id=981 doc_no=DB0902
agent_scope: id=1 scope_code=customer scope_name=客户 status=1 create_time=2026-01-01~08:00:00
agent_scope: id=2 scope_code=warehouse scope_name=仓库 status=1 create_time=2026-01-01~08:00:00
agent_api_key: id=1 ak_prefix=xqak_hq name=总部 user_id=1 status=1 create_time=2026-01-01~08:00:00
agent_api_key: id=2 ak_prefix=xqak_svc name=服务 status=1 create_time=2026-01-01~08:00:00
token_scope: id=1 token_id=1 scope_id=1 create_time=2026-01-01~08:00:00
agent_scope_tool: id=1 scope_id=1 tool_name=agent.list.query
`
