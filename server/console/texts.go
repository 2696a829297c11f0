package console

import (
	"encoding/json"
	"html/template"
	"strings"
	"time"
)

// functions are what templates can call.
var functions = template.FuncMap{
	"when": func(t any) string {
		switch x := t.(type) {
		case time.Time:
			if !x.IsZero() {
				return x.UTC().Format("2006-01-02 15:04:05Z")
			}
		case *time.Time:
			if x != nil {
				return x.UTC().Format("2006-01-02 15:04:05Z")
			}
		}
		return "–"
	},
	// dict gives a template several things.
	"dict": func(list ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i+1 < len(list); i += 2 {
			m[list[i].(string)] = list[i+1]
		}
		return m
	},
	// under says whether a path is one or below it.
	"under": func(path, top string) bool { return path == top || strings.HasPrefix(path, top+"/") },
	"list":  func(list ...string) []string { return list },
	"add":   func(a, b int) int { return a + b },
	"join":  func(list []string) string { return strings.Join(list, ", ") },
	"lines": func(list []string) string { return strings.Join(list, "\n") },
	"has": func(list []string, x string) bool {
		for _, s := range list {
			if s == x {
				return true
			}
		}
		return false
	},
	"pretty": func(s string) string {
		var v any
		if json.Unmarshal([]byte(s), &v) != nil {
			return s
		}
		b, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return s
		}
		return string(b)
	},
}

// T gives a text of the pages in the language of whoever reads them.
func (p *page) T(s string) string { return text(p.Lang, s) }

// text gives a text in a language. Texts are known by what they are in English.
func text(lang, s string) string {
	if lang == "zh" {
		if zh, ok := chinese[s]; ok {
			return zh
		}
	}
	return s
}

// chinese are the texts of the pages.
var chinese = map[string]string{
	"Console": "控制台", "Log in": "登录", "Log out": "退出", "Name": "名称", "Password": "密码", "One-time password, if your login has one": "一次性密码（如已启用）", "Skip to the content": "跳到正文",
	"Changes": "变更", "Change": "变更", "Keys and scopes": "密钥与权限组", "Key": "密钥", "Audit": "审计", "Call": "调用", "Catalog": "目录", "Health": "健康", "Try": "试用",
	"It did not work": "操作未成功", "Verification": "校验结果", "Back": "返回", "Language": "语言", "Pages": "页面",
	"all": "全部", "previewed": "待处理", "approved": "已批准", "applied": "已执行", "declined": "已拒绝", "expired": "已过期",
	"Code": "短码", "State": "状态", "Who": "发起者", "Tool": "工具", "Resource": "资源", "Created": "创建时间", "Mode": "确认方式", "Rows": "行数", "Settled by": "处理人",
	"No change is in this state.": "没有处于此状态的变更。", "Only the newest are shown.": "仅显示最新的记录。", "User": "用户", "Key id": "密钥标识", "Connection": "连接", "Expires": "过期时间",
	"Applied": "执行时间", "Reason": "原因", "Operation": "操作", "What it changes": "变更内容", "Before": "变更前", "After": "变更后", "Row": "行",
	"rows in all; the first ones are shown": "行；仅显示前面的行", "Dependants": "关联数据", "Warnings": "警告", "Can be undone until": "可撤销至", "What it was told": "返回内容",
	"Approve": "批准", "Decline": "拒绝", "Why it is declined (the requester is told)": "拒绝原因（会告知发起者）", "Type how many rows it changes": "请输入受影响的行数",
	"You asked for this yourself: another login approves it.": "这是您自己发起的变更，须由其他登录者批准。", "Why (optional)": "原因（可选）", "This change waits for whoever asked for it, not for an approval.": "此变更等待发起者确认，无需批准。",
	"Take back": "撤销", "See what taking it back would change": "查看撤销会改变什么", "Take it back now": "立即撤销", "This undo waits for the approval of another login; its code is": "此撤销须由其他登录者批准，短码为",
	"When it is approved, press this again.": "批准后请再次点击。",
	"Keys":                                   "密钥", "Scopes": "权限组", "Make a key": "新建密钥", "Principal": "主体", "Last used": "最近使用", "Expires on": "到期日", "Make": "新建", "More": "更多",
	"The key, which is shown now and again on request": "密钥（现在显示，之后可按需再次显示）", "enable": "启用", "disable": "停用", "revoke": "吊销", "rotate": "轮换", "Show the key": "显示密钥", "Save": "保存",
	"What this key would see": "此密钥可见的内容", "Tools": "工具", "Masked fields": "脱敏字段", "Hidden fields": "隐藏字段", "Prefix": "前缀", "Make a scope": "新建权限组", "Title": "名称", "Tools, one a line": "工具，每行一个",
	"none": "无", "active": "有效", "revoked": "已吊销", "condition": "按条件", "enabled": "启用", "disabled": "停用", "Rows seen": "可见行", "Count the rows": "统计行数",
	"From": "起", "To": "止", "Outcome": "结果", "any": "不限", "Filter": "筛选", "Calls": "调用", "Writes and decisions": "写入与决定", "Time": "时间", "Took": "耗时", "Result": "结果代码", "Client": "客户端",
	"What each stage took": "各阶段耗时", "Stage": "阶段", "Event": "事件",
	"the name, the password or the one-time password is wrong, or there were too many tries": "用户名、密码或一次性密码错误，或尝试次数过多", "wait some minutes after several tries": "多次尝试后请等待几分钟",
	"this form is not one of this session": "此表单不属于当前会话", "load the page again, and send it from there": "请重新加载页面后再提交", "this takes the role approver": "此操作需要 approver 角色", "this takes the role admin": "此操作需要 admin 角色",
	"something went wrong; the log of the server tells what": "发生错误，详情见服务器日志", "the change is not as the page showed it any more": "变更已与页面显示的不同", "look at it again": "请重新查看",
	"this change waits for whoever asked for it, not for an approval": "此变更等待发起者确认，无需批准", "the number of rows that was typed is not that of the change": "输入的行数与变更不符", "type how many rows it changes": "请输入受影响的行数",
	"say why: whoever asked is told": "请说明原因：会告知发起者", "nobody approves what they asked for themselves": "不能批准自己发起的变更", "another login approves it": "须由其他登录者批准",
	"the audit cannot be kept, so nothing was decided": "无法写入审计，因此未作决定", "this change cannot be taken back from here": "无法从此处撤销该变更", "there is nothing at this path": "此路径不存在", "say which key the request is run as": "请选择运行请求的密钥",
	"too many calls run already": "正在运行的调用过多", "wait for one, or cancel it": "请等待其中一个完成，或取消它", "the files of the audit cannot be read": "无法读取审计文件", "Take over": "应用", "Conditions": "条件", "Groups": "分组", "Group by": "分组字段", "Aggregate": "聚合", "Field": "字段", "A click marks the whole text, to be copied.": "点击即选中全部文本，便于复制。",
	"Joined by": "连接方式", "all hold": "全部满足", "one holds": "满足其一", "not": "取反", "Add a condition": "添加条件", "Add a group": "添加条件组", "Remove": "移除", "SQL for given arguments": "给定参数的 SQL", "Show the SQL": "显示 SQL",
	"Cancel": "取消", "Look again": "刷新", "The call is running.": "调用正在运行。", "Done so far": "已完成阶段", "What it changed": "已变更内容", "Validations": "校验", "passed": "通过", "failed": "未通过", "Expires on (empty is never)": "到期日（留空为永不）",
	"Drift against the databases": "与数据库的差异", "The catalog fits its databases.": "目录与数据库一致。", "Compare with the databases now": "立即与数据库比较", "Last loads of the catalog": "最近的目录加载", "loaded": "已加载", "not loaded": "未加载", "Check the chain": "校验链", "Export as JSON lines": "导出为 JSON 行", "Export as CSV": "导出为 CSV", "No call is kept that fits.": "没有符合条件的调用。", "No line fits.": "没有符合条件的记录。", "Arguments, masked": "参数（已脱敏）",
	"Rules that decided": "生效的规则", "Statements by their fingerprints": "语句指纹", "Detail": "详情", "The chain is broken": "链已断裂", "The chain is whole": "链完整", "Lines": "行", "Signed up to": "签名至", "Last line": "末行", "There is no audit yet.": "尚无审计记录。", "Row rules were bypassed": "已绕过行规则",
	"Relations": "关联", "Resources": "资源", "Problems of the last load": "最近一次加载的问题", "Place": "位置", "Problem": "问题", "Hint": "提示", "Fields": "字段", "Type": "类型", "Column": "列", "Masked": "脱敏", "Required": "必填", "Roles": "角色", "Who sees which rows": "谁能看到哪些行",
	"Everybody sees all rows.": "所有人可见全部行。", "Writes": "写入", "Confirmation": "确认", "Table": "表", "many": "多", "one": "一", "Arguments": "参数", "Answer": "返回", "Kind": "类型", "read-only": "只读", "destructive": "破坏性", "Source": "来源", "References": "引用",
	"Connections": "连接", "Driver": "驱动", "Answers": "应答", "yes": "是", "no": "否", "In use": "使用中", "Idle": "空闲", "Most": "上限", "Waiting": "等待", "Calls per minute, the last hour": "每分钟调用数（最近一小时）", "Errors by code": "错误（按代码）", "Slowest calls of the last hour": "最近一小时最慢的调用", "No call in the last hour.": "最近一小时没有调用。", "Catalog hash": "目录哈希",
	"Run as the key": "使用密钥", "Choose": "选择", "Condition": "条件", "Operator": "运算符", "Value": "值", "Order": "排序", "descending": "降序", "Limit": "限制", "Build the request": "生成请求", "Request as JSON": "JSON 请求", "Run": "运行", "Chart": "图表", "As JSON": "JSON", "As CSV": "CSV", "As curl": "curl", "As an MCP call": "MCP 调用", "None": "无", "Refused": "被拒绝",
	"Everybody sees the rows where %s.": "所有人可见满足 %s 的行。", "everybody": "所有人", "whoever has the role %s": "具有角色 %s 者", " or ": " 或 ", " and ": " 且 ", ", if %s,": "（若 %s）", "sees all rows": "可见全部行", "sees no row": "不可见任何行", "sees the rows where %s": "可见满足 %s 的行",
	"nobody else sees a row": "其他人不可见任何行", "not (%s)": "非（%s）", "an expression": "表达式", "a query of %s": "对 %s 的查询", "the caller's %s": "调用者的 %s", "the set %s": "集合 %s",
}
