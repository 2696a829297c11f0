package schema

// An ownDecl declares one of this program's own tools.
type ownDecl struct {
	name, group  string
	title, about Words
	params       []Param
	answer       string // JSON Schema
	routines     bool   // only of databases that have routines
}

// answerOf is the JSON Schema of an answer whose entries are objects.
func answerOf(more string) string {
	return `{"type":"object","properties":{"success":{"type":"boolean"},"data":{"type":"array","items":{"type":"object"}},"rowCount":{"type":"integer"},` +
		`"limitApplied":{"type":"integer"},"truncated":{"type":"boolean"},"warnings":{"type":"array","items":{"type":"string"}}` + more +
		`},"required":["success","data","rowCount","limitApplied","truncated"]}`
}

// listed is the answer of tools that list something.
var listed = answerOf("")

// named says what is described.
const named = `"success":{"type":"boolean"},"schema":{"type":"string"},"table":{"type":"string"},"kind":{"type":"string"},"warnings":{"type":"array","items":{"type":"string"}}`

func nameParam(name, en, zh string) Param {
	return Param{Name: name, Type: "string", MaxLength: 128, Description: Words{En: en, Zh: zh}}
}

func needed(p Param) Param {
	p.Required = true
	return p
}

var (
	leastRows, mostRows, fileRows = int64(1), int64(1_000_000), int64(100_000)

	schemaParam = nameParam("schema", "The database schema; the connection's own is the default", "数据库 schema，默认为连接自己的 schema")
	inSchema    = nameParam("schema", "Only this database schema; all that may be read are the default", "只查该 schema，默认为所有可读的 schema")
	tableParam  = needed(nameParam("table", "Name of the table or view, in any case", "表或视图名，不区分大小写"))
	filterParam = Param{Name: "filter", Type: "string", MaxLength: 200, Description: Words{
		En: "Part of the name, in any case; * stands for any text, and % and _ as in LIKE where % is given", Zh: "名称的一部分，不区分大小写；* 代表任意文本；含 % 时按 LIKE 匹配"}}
	systemParam = Param{Name: "include_system", Type: "boolean", Default: "false", HasDefault: true, Description: Words{
		En: "Also the database's own schemas, where the connection allows them", Zh: "同时包含连接允许的系统 schema"}}
	limitParam = Param{Name: "limit", Type: "integer", Min: &leastRows, Max: &mostRows, Description: Words{
		En: "The most entries of the answer; the server's own bound holds as well", Zh: "返回条数上限，不超过服务器上限"}}
	sqlParam = Param{Name: "sql", Type: "string", Required: true, MaxLength: 10_000, Description: Words{
		En: "One SELECT in the SQL of the database, with ? for each of params", Zh: "一条 SELECT 语句，参数用 ? 占位"}}
	valuesParam = Param{Name: "params", Type: "values", Description: Words{
		En: "The values of the ?, in their order", Zh: "? 的值，按顺序给出"}}
)

var contextTool = &ownDecl{
	name: "get_business_context", group: "context",
	title: Words{En: "Business context", Zh: "业务说明"},
	about: Words{
		En: "What tables and their columns mean in the business: entities, codes, ways between tables, and conditions that queries usually need. Without arguments it tells all.",
		Zh: "表与字段的业务含义：实体、代码含义、表间关系、查询通常需要的条件。不带参数返回全部。",
	},
	params: []Param{
		{Name: "entity", Type: "string", MaxLength: 257, Description: Words{En: "A business term such as sales_order; near ones are found, too", Zh: "业务实体，如 sales_order；支持近似匹配"}},
		{Name: "table", Type: "string", MaxLength: 257, Description: Words{En: "TABLE or SCHEMA.TABLE", Zh: "TABLE 或 SCHEMA.TABLE"}},
	},
	answer: `{"type":"object","properties":{"success":{"type":"boolean"},"data":{"type":"array","items":{"type":"object"}},"rowCount":{"type":"integer"},` +
		`"partial_match":{"type":"boolean"},"hint":{"type":"string"},"available_entities":{"type":"array","items":{"type":"string"}},` +
		`"available_tables":{"type":"array","items":{"type":"string"}}},"required":["success","data","rowCount"]}`,
}

// databaseTools are the tools on the databases themselves, in the order in which they are listed.
var databaseTools = []*ownDecl{
	{
		name: "list_schemas", group: MetadataTools,
		title:  Words{En: "List schemas", Zh: "列出 schema"},
		about:  Words{En: "The database schemas that hold tables one may read.", Zh: "列出含有可读表的数据库 schema。"},
		params: []Param{filterParam, systemParam}, answer: listed,
	},
	{
		name: "list_tables", group: MetadataTools,
		title:  Words{En: "List tables", Zh: "列出表"},
		about:  Words{En: "The tables of a schema with what they mean; list_views lists the views.", Zh: "列出 schema 中的表及其业务说明；视图用 list_views。"},
		params: []Param{schemaParam, filterParam}, answer: listed,
	},
	{
		name: "list_views", group: MetadataTools,
		title:  Words{En: "List views", Zh: "列出视图"},
		about:  Words{En: "The views of a schema with what they mean.", Zh: "列出 schema 中的视图及其业务说明。"},
		params: []Param{schemaParam, filterParam}, answer: listed,
	},
	{
		name: "search_tables", group: MetadataTools,
		title:  Words{En: "Search tables", Zh: "搜索表"},
		about:  Words{En: "Tables and views by a part of their name, in every schema.", Zh: "按名称片段在所有 schema 中搜索表和视图。"},
		params: []Param{needed(filterParam), inSchema, systemParam, limitParam}, answer: listed,
	},
	{
		name: "search_columns", group: MetadataTools,
		title:  Words{En: "Search columns", Zh: "搜索列"},
		about:  Words{En: "Columns by a part of their name, in every table and schema.", Zh: "按名称片段在所有表中搜索列。"},
		params: []Param{needed(filterParam), inSchema, systemParam, limitParam}, answer: listed,
	},
	{
		name: "describe_table", group: MetadataTools,
		title:  Words{En: "Describe table", Zh: "查看表结构"},
		about:  Words{En: "The columns of a table or view with their types, its primary key, and what they mean in the business.", Zh: "表或视图的列、类型、主键及业务说明。"},
		params: []Param{schemaParam, tableParam},
		answer: `{"type":"object","properties":{` + named + `,"comment":{"type":"string"},"entity":{"type":"string"},"business_description":{"type":"string"},"resources":{"type":"array","items":{"type":"string"}},` +
			`"columns":{"type":"array","items":{"type":"object"}},"primary_key":{"type":"array","items":{"type":"string"}},"relations":{"type":"array","items":{"type":"object"}}},` +
			`"required":["success","schema","table","kind","columns","primary_key"]}`,
	},
	{
		name: "list_indexes", group: MetadataTools,
		title:  Words{En: "List indexes", Zh: "列出索引"},
		about:  Words{En: "The indexes of a table: their columns in order, and which are unique.", Zh: "表的索引：列的顺序及是否唯一。"},
		params: []Param{schemaParam, tableParam}, answer: listed,
	},
	{
		name: "get_table_constraints", group: MetadataTools,
		title:  Words{En: "Table constraints", Zh: "表约束"},
		about:  Words{En: "Primary key, unique keys, foreign keys and checks of a table.", Zh: "表的主键、唯一键、外键和检查约束。"},
		params: []Param{schemaParam, tableParam}, answer: listed,
	},
	{
		name: "get_related_objects", group: MetadataTools,
		title:  Words{En: "Related objects", Zh: "关联对象"},
		about:  Words{En: "What belongs to a table: tables that it refers to or that refer to it, views that read it, its indexes and triggers.", Zh: "与表有关的对象：引用与被引用的表、读取它的视图、索引和触发器。"},
		params: []Param{schemaParam, tableParam}, answer: listed,
	},
	{
		name: "get_object_ddl", group: MetadataTools,
		title: Words{En: "Object DDL", Zh: "对象 DDL"},
		about: Words{En: "The statement that would make a table, view or index, as far as its parts may be seen.", Zh: "创建表、视图或索引的语句（仅含可见部分）。"},
		params: []Param{schemaParam, needed(nameParam("object", "Name of the table, view or index", "表、视图或索引名")),
			{Name: "type", Type: "enum", Values: []string{"table", "view", "index"}, Default: "table", HasDefault: true, Description: Words{En: "What the object is", Zh: "对象类型"}}},
		answer: `{"type":"object","properties":{"success":{"type":"boolean"},"schema":{"type":"string"},"object":{"type":"string"},"type":{"type":"string"},"ddl":{"type":["string","null"]},` +
			`"warnings":{"type":"array","items":{"type":"string"}}},"required":["success","schema","object","type","ddl"]}`,
	},
	{
		name: "list_routines", group: MetadataTools, routines: true,
		title: Words{En: "List routines", Zh: "列出例程"},
		about: Words{En: "The functions and procedures of a schema.", Zh: "列出 schema 中的函数和存储过程。"},
		params: []Param{schemaParam, filterParam,
			{Name: "type", Type: "enum", Values: []string{"function", "procedure"}, Description: Words{En: "Only these", Zh: "只列出该类型"}}},
		answer: listed,
	},
	{
		name: "describe_routine", group: MetadataTools, routines: true,
		title: Words{En: "Describe routine", Zh: "查看例程"},
		about: Words{En: "The parameters and the result of a function or procedure; of several with one name, each.", Zh: "函数或存储过程的参数与返回类型；同名的逐一列出。"},
		params: []Param{schemaParam, needed(nameParam("name", "Name of the routine, in any case", "例程名，不区分大小写")),
			nameParam("specific_name", "The one of several with this name, as list_routines has it", "同名例程中的一个，取自 list_routines")},
		answer: listed,
	},
	{
		name: "profile_table", group: MetadataTools,
		title: Words{En: "Profile table", Zh: "表概况"},
		about: Words{
			En: "How many rows a table has, and how many values and NULLs its columns: as the database keeps it, or counted with compute. Masked columns tell no values.",
			Zh: "表的行数及各列的取值与空值数量：默认取数据库保存的统计，compute 为真时现算。脱敏列不返回取值。",
		},
		params: []Param{schemaParam, tableParam,
			{Name: "compute", Type: "boolean", Default: "false", HasDefault: true, Description: Words{En: "Read the rows and count, at most 20 columns", Zh: "读取数据现算，最多 20 列"}},
			{Name: "columns", Type: "string", Match: "in", MaxLength: 128, Description: Words{En: "Only these columns", Zh: "只看这些列"}}},
		answer: `{"type":"object","properties":{` + named + `,"mode":{"type":"string","enum":["stored","computed"]},"source":{"type":"string","enum":["stored","none","computed"]},` +
			`"rows":{"type":["integer","null"]},"statistics":{"type":"object"},"columns":{"type":"array","items":{"type":"object"}},"truncated":{"type":"boolean"},"skippedFilters":{"type":"array","items":{"type":"object"}},` +
			`"masked":{"type":"array","items":{"type":"string"}}},"required":["success","schema","table","mode","source","rows","columns","truncated","masked"]}`,
	},
	{
		name: "validate_query", group: QueryTools,
		title:  Words{En: "Validate query", Zh: "检查查询"},
		about:  Words{En: "Whether execute_query would take a statement, and what is wrong with it; nothing is read.", Zh: "检查 execute_query 是否接受该语句及其问题，不读取数据。"},
		params: []Param{sqlParam},
		answer: `{"type":"object","properties":{"success":{"type":"boolean"},"valid":{"type":"boolean"},"statementType":{"type":"string"},"missingTables":{"type":"array","items":{"type":"string"}},` +
			`"missingColumns":{"type":"array","items":{"type":"string"}},"missingRoutines":{"type":"array","items":{"type":"string"}},"violations":{"type":"array","items":{"type":"object"}}},` +
			`"required":["success","valid"]}`,
	},
	{
		name: "execute_query", group: QueryTools,
		title:  Words{En: "Execute query", Zh: "执行查询"},
		about:  Words{En: "Runs one checked SELECT under the caller's row rules and masks.", Zh: "在调用者的行规则与脱敏下执行一条经过检查的 SELECT。"},
		params: []Param{sqlParam, valuesParam, limitParam},
		answer: sqlAnswer,
	},
	{
		name: "export_query", group: ExportTools,
		title: Words{En: "Export query", Zh: "导出查询"},
		about: Words{En: "Runs one checked SELECT as execute_query does and offers its rows as a file: uri is a resource to read, by the caller alone, three times within 15 minutes.", Zh: "与 execute_query 同样地执行一条经过检查的 SELECT，结果作为文件：uri 是资源，仅限调用者在 15 分钟内读取三次。"},
		params: []Param{sqlParam, valuesParam,
			{Name: "format", Type: "enum", Values: []string{"csv", "xlsx"}, Default: "csv", HasDefault: true, Description: Words{En: "The form of the file", Zh: "文件格式"}},
			{Name: "filename", Type: "string", MaxLength: 100, Description: Words{En: "What the file is called, query when left out", Zh: "文件名，默认 query"}},
			{Name: "maxRows", Type: "integer", Min: &leastRows, Max: &fileRows, Description: Words{En: "The most rows of the file", Zh: "文件最多行数"}}},
		answer: `{"type":"object","properties":{"success":{"type":"boolean"},"filename":{"type":"string"},"format":{"type":"string"},"rowCount":{"type":"integer"},"bytes":{"type":"integer"},` +
			`"truncated":{"type":"boolean"},"uri":{"type":"string"},"expiresAt":{"type":"string"},"warnings":{"type":"array","items":{"type":"string"}},` +
			`"skippedFilters":{"type":"array","items":{"type":"object"}}},"required":["success","filename","format","rowCount","bytes","truncated"]}`,
	},
}
