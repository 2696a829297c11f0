package schema

// Tools that this program adds to those of a catalog, where the catalog gives them something to say. They are listed,
// chosen and granted as the catalog's own.

// declareOwnTools adds get_business_context to a catalog with annotations.
func (l *loader) declareOwnTools() {
	if len(l.cat.Annotations) == 0 {
		return
	}
	text := func(name, en, zh string) *Param {
		return &Param{Name: name, Type: "string", MaxLength: 257, Description: Words{En: en, Zh: zh}}
	}
	t := &Tool{
		Name: "get_business_context", Kind: "context", Lang: "en", ReadOnly: true, Idempotent: true,
		Title: Words{En: "Business context", Zh: "业务说明"},
		Description: Words{
			En: "What tables and their columns mean in the business: entities, codes, ways between tables, and conditions that queries usually need. Without arguments it tells all.",
			Zh: "表与字段的业务含义：实体、代码含义、表间关系、查询通常需要的条件。不带参数返回全部。",
		},
		Params: []*Param{
			text("entity", "A business term such as sales_order; near ones are found, too", "业务实体，如 sales_order；支持近似匹配"),
			text("table", "TABLE or SCHEMA.TABLE", "TABLE 或 SCHEMA.TABLE"),
		},
	}
	t.input = map[string][]byte{"en": inputSchema(t, "en"), "zh": inputSchema(t, "zh")}
	t.output = []byte(`{"type":"object","properties":{"success":{"type":"boolean"},"data":{"type":"array","items":{"type":"object"}},"rowCount":{"type":"integer"},` +
		`"partial_match":{"type":"boolean"},"hint":{"type":"string"},"available_entities":{"type":"array","items":{"type":"string"}},` +
		`"available_tables":{"type":"array","items":{"type":"string"}}},"required":["success","data","rowCount"]}`)
	l.cat.Tools = append(l.cat.Tools, t)
}
