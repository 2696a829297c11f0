package xiaoqu

// tables are the tables of the databases: connection, table, then its columns with their types. i is a 64-bit integer, n
// one of 32 bits, s a small one, t a text of 100 characters, c one of 64, v of 20, l of 255, x of 500, m an amount of money,
// d a date, w a moment, b an unbounded text. ! is the key, ? may be NULL beside those that are always nullable. +A are the
// columns by which every table of the system tells who made a row and whether it is deleted.
const tables = `
m0 agent: id i!, name t, level s, channel_no c, serialnumber c, supervisor_id i, province c, city c, countyseat c, contact c, phone v, agencyarea l, memo x, kingdee_name t, +A
m0 properyt: id i!, name t, serialnumber c, agent_id i, sale_id i, province c, city c, countyseat c, address l, contact c, phone v, kingdee_name t, enterprise_id i, +A
m0 user: id i!, uuid c, name t, phone v, agent_id i, property_id i, department_id i, group_id i, enterprise_type s, status s, +A
m0 permission_group: id i!, name t, isagent s
m0 department: id i!, name t, is_sale s, leader_user_id i
m0 warehouse_agent_auth: id i!, user_id i, agent_id i, soft_delete s
m0 agent_manage_district_auth: id i!, user_id i, agent_id i, property_id i, soft_delete s
m0 district: id i!, district_name t, district_number c, property_id i, agent_id i, supervisor_id i, sales_id i, service_company_id i, attribute_id i, province c, city c, countyseat c, address l, contact c, phone v, mail t, business_format c, install_type s, is_smart s, lnfluence_level s, build_count n, hardware_count n, airdetector_flag s, district_state s, online_state s, test_date d, honour_date d, weaning_date d, test_days n, device_sales_type s, paper_sales_type s, consumables_type s, pos_device_paper_norm c, toilet_device_paper_norm c, enterprise_id i, service_url l, modify_id i, memo x, +A
m0 district_strategy: district_id i!, point_state s, assignment_work_state s, air_state s, message_flag s, report_flag s, lock_machine_flag s, event_repair_flag s, rfid_use_flag s, calibrated_flag s, illegal_paper_disable s, lower_paper_state s, no_paper_state s, power_warning s, wait_times n, warning s, warning2 s, warning3 s, warning_time n, paper_percent_warn n, maintain_order_warning n, foam_count_warning n, foam_power_warning n, point_deduction m, effective_use_time n, consumables_price m, bill_date n, bill_type s, fine_money m
m0 district_attribute: id i!, name t
m0 service_company: id i!, name t
m0 hardware: id i!, sn_code c, device_type s, status s, online s, lock_machine_state s, device_state s, sysversion c, firmware_version c, voice_version c, advertise_version c, imsi c, agent_id i, property_id i, district_id i, building_id i, floor v, power n, paper_percent n, paper_count n, battery_type s, battery_voltage m, volume n, rfid_flag s, foam_flag s, air_flag s, active_time w, last_online_time w, memo x, +A
m0 networkcard: id i!, imsi c, iccid c, msisdn c, factory_type c, carrier c, data_balance m, data_usage m, soft_delete s
m1 mall_goods_order: id i!, order_no c, order_time w, order_type s, agent_id i, agent_name t, property_id i, property_name t, sale_company_id i, sale_company t, pay_money m, paid_money m, un_pay_money m, total_money m, goods_money m, postage_money m, discount_money m, order_state s, pay_state s, order_pay_state s, warehouse_state s, order_invoice_state s, pay_time w, receipt_time w, sign_time w, create_time w, accounts_type s, payment_type s, goods_type s, pay_no c, address_id i, memo x
m1 mall_order_details: id i!, order_no c, spu_no c, spu_name t, sku_no c, count n, price m, pay_money m, pay_state s, warehouse_state s
m1 mall_shipping_address: id i!, reveive_name c, reveive_number v, province c, city c, countyseat c, address l
m1 mall_order_logistics: id i!, order_no c, logistics_name c, logistics_order_no c, send_mode s, state s, deliver_name c, deliver_number v, send_time w, receiving_goods_name c, reveive_name c, reveive_number v, address l, source_type s, source_id i
m1 mall_order_logistics_detai: id i!, logistics_order_no c, memo x, state s, pic_list b, create_time w
m1 mall_logistics_pic: id i!, order_no c, delivery_order_no c, file_name t, bucket c, object_key l, create_time w
m2 contract_new: id i!, contract_no c, contract_name t, contract_agent_id i, customer_agent_id i, property_id i, property_name t, customer_no c, customer_name t, amount m, contact c, start_date d, end_date d, expire_remind s, remind_days n, remind_time w, reminded s, sale_id i, sale_name c, contract_status s, stop_reason_type s, stop_reason x, create_id i, create_time w, soft_delete s
m2 contract_file: id i!, contract_id i, file_name t, file_url l, create_time w, soft_delete s
m2 contract_process: id i!, contract_id i, node_type s, audit_level s, operation_type s, user_id i, user_name c, schedule_state s, remark x, operate_time w
m2 warehouse: id i!, name t, agent_id i, manage_agent_id i, manager_user_id i
m2 warehouse_type: id i!, name t, direction s
m2 warehouse_out: id i!, out_order_no c, allocation_order_no c, mall_order_no c, agent_id i, warehouse_type_id i, out_count n, goods_count n, order_state s, send_mode s, logistics_name c, logistics_order_no c, deliver_name c, deliver_number v, address_id i, out_date w, apply_user_id i, apply_user_name c, apply_time w, use_customer_type s, use_customer_id i, use_customer_name t, out_synchronize_state s, asset_synchronize_state s, certificate_memo x, memo x, +A
m2 warehouse_out_details: id i!, out_id i, parent_id i, material_id i, material_code c, material_name t, material_index s, warehouse_id i, count n, price m, sn_code c, out_user_id i, out_user_name c, out_time w, confirm_state s, soft_delete s
m2 warehouse_out_audit_process: id i!, out_id i, operation_type s, schedule_state s, user_id i, user_name c, remark x, operate_time w, soft_delete s
m2 warehouse_in: id i!, in_order_no c, allocation_order_no c, out_order_no c, mall_order_no c, remove_order_no c, agent_id i, warehouse_type_id i, in_count n, goods_count n, order_state s, send_mode s, logistics_name c, logistics_order_no c, in_date w, apply_user_id i, apply_user_name c, apply_time w, in_synchronize_state s, asset_synchronize_state s, memo x, +A
m2 warehouse_in_details: id i!, in_id i, parent_id i, material_id i, material_define_id i, material_code c, material_name t, material_index s, warehouse_id i, count n, price m, sn_code c, in_user_id i, in_user_name c, in_time w, confirm_state s, soft_delete s
m2 warehouse_in_audit_process: id i!, in_id i, operation_type s, schedule_state s, user_id i, user_name c, remark x, operate_time w, soft_delete s
m2 warehouse_allocation: id i!, allocation_order_no c, op_type s, order_state s, agent_id i, out_warehouse_id i, in_warehouse_id i, allocation_count n, apply_user_id i, apply_user_name c, apply_time w, next_user_name c, in_user_name c, out_user_name c, +A
m2 warehouse_allocation_audit_process: id i!, allocation_id i, operation_type s, schedule_state s, user_id i, user_name c, remark x, operate_time w, soft_delete s
m2 warehouse_in_out_pic: id i!, biz_type c, biz_id i, pic_type c, process_id i, file_name t, bucket c, object_key l
m2 delivery_order: id i!, delivery_order_no c, source_order_no c, order_type s, order_state s, send_mode s, apply_agent_id i, agent_id i, agent_name t, property_id i, property_name t, district_id i, district_name t, apply_user_id i, apply_user_name c, apply_time w, complete_time w, logistics_name c, logistics_order_no c, logistics_state s, deliver_name c, deliver_number v, mall_order_no c, memo x, +A
m2 delivery_order_process: id i!, delivery_id i, operation_type s, schedule_state s, user_id i, user_name c, remark x, operate_time w
m2 install_distribute_details: id i!, delivery_id i, material_id i, material_name t, sn_code c, count n, out_warehouse_id i, out_warehouse_name t, in_warehouse_id i, in_warehouse_name t, mall_order_no c
m2 install_to_out_warehouse: id i!, delivery_id i, delivery_order_no c, install_order_no c, pickup_order_no c, doc_type c, doc_id i, doc_no c
svc agent_api_key: id i!, ak_sha256 c, ak_cipher b, ak_prefix c, name t, user_id i, principal_type c, status s, expire_time w, last_used_time w, create_time w, modify_time w
svc agent_scope: id i!, scope_code c, scope_name t, status s, create_time w, modify_time w
svc agent_scope_tool: id i!, scope_id i, tool_name c
svc token_scope: id i!, token_id i, scope_id i, create_time w, modify_time w
`

// views are the views of the databases: connection, name, and the standard SQL behind it, in which [name] is quoted.
var views = [][3]string{
	{"m0", "district_district_strategy", `SELECT d.*, s.point_state, s.assignment_work_state, s.air_state, s.message_flag, s.report_flag, s.lock_machine_flag,
  s.event_repair_flag, s.rfid_use_flag, s.calibrated_flag, s.illegal_paper_disable, s.lower_paper_state, s.no_paper_state, s.power_warning, s.wait_times,
  s.warning, s.warning2, s.warning3, s.warning_time, s.paper_percent_warn, s.maintain_order_warning, s.foam_count_warning, s.foam_power_warning,
  s.point_deduction, s.effective_use_time, s.consumables_price, s.bill_date, s.bill_type, s.fine_money, s.district_id
FROM district d LEFT JOIN district_strategy s ON s.district_id = d.id`},
	{"m0", "hardware_view", `SELECT * FROM hardware`},
	{"m2", "warehouse_out_process", `SELECT p.id AS process_id, p.out_id AS doc_id, o.out_order_no AS doc_no, p.user_id, p.user_name, p.operation_type, p.schedule_state,
  o.order_state, o.allocation_order_no, o.mall_order_no, o.agent_id, o.apply_user_id, o.apply_user_name, o.apply_time,
  CASE WHEN p.soft_delete = 1 OR o.soft_delete = 1 THEN 1 ELSE 0 END AS soft_delete
FROM warehouse_out_audit_process p JOIN warehouse_out o ON o.id = p.out_id`},
	{"m2", "warehouse_in_process", `SELECT p.id AS process_id, p.in_id AS doc_id, o.in_order_no AS doc_no, p.user_id, p.user_name, p.operation_type, p.schedule_state,
  o.order_state, o.allocation_order_no, o.out_order_no, o.mall_order_no, o.agent_id, o.apply_user_id, o.apply_user_name, o.apply_time,
  CASE WHEN p.soft_delete = 1 OR o.soft_delete = 1 THEN 1 ELSE 0 END AS soft_delete
FROM warehouse_in_audit_process p JOIN warehouse_in o ON o.id = p.in_id`},
	{"m2", "warehouse_allocation_process", `SELECT p.id AS process_id, p.allocation_id AS doc_id, o.allocation_order_no AS doc_no, p.user_id, p.user_name, p.operation_type, p.schedule_state,
  o.order_state, o.allocation_order_no, o.op_type, o.agent_id, o.out_warehouse_id, o.in_warehouse_id, o.allocation_count, o.apply_user_id, o.apply_user_name, o.apply_time,
  o.next_user_name, o.in_user_name, o.out_user_name,
  CASE WHEN p.soft_delete = 1 OR o.soft_delete = 1 THEN 1 ELSE 0 END AS soft_delete
FROM warehouse_allocation_audit_process p JOIN warehouse_allocation o ON o.id = p.allocation_id`},
}
