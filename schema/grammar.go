package schema

import (
	"slices"

	"go.yaml.in/yaml/v4"
)

// The declarations of a file as they are written, before any name is looked up.
type (
	fileDecl struct {
		version     number
		connections []connDecl
		resources   []resDecl
		rules       []ruleDecl
		sets        []setDecl
		owners      []ownerDecl
		texts       []textDecl
		tools       []toolDecl

		notes        []noteDecl
		masks        []maskDecl
		instructions word
	}
	connDecl struct {
		at                                              place
		name, driver, dsn, dsnFile, mode, zone, timeout word
		operations                                      word
		pool                                            number
		schemas, tables, functions, tools               []word
	}
	resDecl struct {
		at                        place
		code, name, description   word
		schema, table, connection word
		confirm, version          word
		view, caseSensitive       yesno
		key, writes, roles        []word
		fields                    []fieldDecl
		relations                 []relDecl
		softDelete                softDecl
		rows                      rowsDecl
		validations               []attachDecl
		node                      *yaml.Node // all of it
	}
	fieldDecl struct {
		at                                                   place
		code, name, description, column, typ                 word
		native, def, text, references, mask, system          word
		required, nullable, generated, unsigned, zone, array yesno
		maxLength                                            number
		values, roles                                        []word
	}
	softDecl struct {
		at             place
		field, deleted word
	}
	relDecl struct {
		at             place
		code, name, to word
		many           yesno
		on             []pairDecl
	}
	pairDecl struct{ from, to word }
	rowsDecl struct {
		at   place
		rule word
		args []argDecl
		cond raw
	}
	argDecl  struct{ name, field word }
	ruleDecl struct {
		at    place
		name  word
		args  []word
		cases []caseDecl
	}
	caseDecl struct {
		at    place
		roles []word
		when  raw
		all   word // all or none
		cond  raw
		set   []argDecl
	}
	setDecl struct {
		at      place
		name    word
		queries []raw
		union   []memberDecl
		bound   number
	}
	memberDecl struct {
		at                           place
		set, attribute, token, value word
		query                        raw
	}
	ownerDecl struct {
		at      place
		queries []raw
		lists   []word
		roles   word
	}
	textDecl struct {
		name   word
		labels []labelDecl
	}
	labelDecl struct{ code, label word }
)

var fileTable = &table[fileDecl]{
	what: "catalog file",
	about: "One file of a catalog. All files that are loaded together form one catalog, so a name declared in one " +
		"may be used in every other.",
	keys: append([]key[fileDecl]{
		{"version", "The version of this grammar: 1.", true, whole(func(f *fileDecl) *number { return &f.version }, 1, 1)},
		{"connections", "The databases, by name.", false,
			namedOf(func(f *fileDecl) *[]connDecl { return &f.connections }, aCode, func(c *connDecl) *word { return &c.name }, mapping(connTable))},
		{"resources", "The tables and views, under the names their callers use.", false,
			listOf(func(f *fileDecl) *[]resDecl { return &f.resources }, resShape())},
		{"rules", "Row rules by name: who sees which rows.", false,
			namedOf(func(f *fileDecl) *[]ruleDecl { return &f.rules }, aCode, func(r *ruleDecl) *word { return &r.name }, mapping(ruleTable))},
		{"sets", "Lists of values by name, read anew for each call; conditions compare with them through tokenType set.", false,
			namedOf(func(f *fileDecl) *[]setDecl { return &f.sets }, aCode, func(s *setDecl) *word { return &s.name }, mapping(setTable))},
		{"principal", "How the user that a caller acts for becomes attributes, read anew for each call. Once in a catalog.", false, ownerShape()},
		{"texts", "Maps by name from a stored code to what a person reads.", false,
			namedOf(func(f *fileDecl) *[]textDecl { return &f.texts }, aCode, func(t *textDecl) *word { return &t.name }, labelsShape())},
		{"tools", "The business tools: calls with arguments of their own.", false,
			listOf(func(f *fileDecl) *[]toolDecl { return &f.tools }, toolShape())},
	}, noteKeys()...),
}

var connTable = &table[connDecl]{
	def: "connection", what: "connection",
	about:   "One database. Exactly one of dsn and dsnFile says where it is.",
	at:      func(c *connDecl) *place { return &c.at },
	exactly: []string{"dsn", "dsnFile"},
	keys: []key[connDecl]{
		{"driver", "The kind of database. Left out, the beginning of the DSN decides.", false,
			choice(func(c *connDecl) *word { return &c.driver }, drivers...)},
		{"dsn", "Where the database is: sqlite:PATH, mysql://user:password@host:port/database or postgres://user:password@host:port/database. " +
			"redis://host:port/number is a Redis, which the look-ups of tools read. " +
			"${NAME} stands for a variable of the environment, ${NAME:-text} for its value or, when it is unset or empty, for the text.", false,
			text(func(c *connDecl) *word { return &c.dsn }, aLocation)},
		{"dsnFile", "A file that holds the DSN, such as a mounted secret; a relative path begins at this catalog file.", false,
			text(func(c *connDecl) *word { return &c.dsnFile }, aLocation)},
		{"mode", "write allows the resources of this connection to be written; read is the default.", false,
			choice(func(c *connDecl) *word { return &c.mode }, "read", "write")},
		{"operations", "Where the operations of writes are kept: database, the default, in a table beside the data, which makes every confirmed write happen once; control, in this server's own store, where no table may be made there, with a weaker promise.", false,
			choice(func(c *connDecl) *word { return &c.operations }, "database", "control")},
		{"zone", "IANA name of the time zone in which the database keeps local times, such as Asia/Shanghai; UTC is the default.", false,
			text(func(c *connDecl) *word { return &c.zone }, anIdent)},
		{"timeout", "The longest one read may take, as a duration such as 5s or 500ms.", false,
			text(func(c *connDecl) *word { return &c.timeout }, anIdent)},
		{"pool", "The most connections that are open at a time.", false,
			whole(func(c *connDecl) *number { return &c.pool }, 1, 10000)},
		{"schemas", "The database schemas that tables may come from; left out, every schema may be named.", false,
			texts(func(c *connDecl) *[]word { return &c.schemas }, anIdent)},
		{"tables", "The tables that SQL tools may read, as TABLE or SCHEMA.TABLE; left out, every table of the schemas but the database's own.", false,
			texts(func(c *connDecl) *[]word { return &c.tables }, aKey)},
		{"functions", "Further functions that SQL tools may call, as FUNCTION or SCHEMA.FUNCTION. Only those that do nothing but calculate belong here.", false,
			texts(func(c *connDecl) *[]word { return &c.functions }, aKey)},
		{"tools", "Which of this server's own tools on databases the connection has: metadata (what tables and columns there are), query (SQL that clients write), " +
			"export (its rows as a file; needs query). None is the default.", false,
			choices(func(c *connDecl) *[]word { return &c.tools }, toolGroups...)},
	},
}

var resTable = &table[resDecl]{
	def: "resource", what: "resource",
	about: "A table or view under the names its callers use.",
	at:    func(r *resDecl) *place { return &r.at },
	keys: []key[resDecl]{
		{"code", "What requests call the resource. Any text of up to 64 characters that does not begin with __.", true,
			text(func(r *resDecl) *word { return &r.code }, aCode)},
		{"name", "What people call it, in their language; searches find it by this name.", false,
			text(func(r *resDecl) *word { return &r.name }, aTitle)},
		{"description", "What its rows are and what they are used for, for the reader who chooses among resources.", false,
			text(func(r *resDecl) *word { return &r.description }, aText)},
		{"table", "The table or view in the database; the code is the default.", false,
			text(func(r *resDecl) *word { return &r.table }, anIdent)},
		{"schema", "The database schema of the table; the connection's own is the default.", false,
			text(func(r *resDecl) *word { return &r.schema }, anIdent)},
		{"view", "true when it is a view; a view cannot be written.", false,
			yesNo(func(r *resDecl) *yesno { return &r.view })},
		{"connection", "The connection that holds the table. Left out, it is the one called default or else the only one.", false,
			text(func(r *resDecl) *word { return &r.connection }, aCode)},
		{"key", "The field, or the fields, that tell one row from every other; id is the default where there is such a field.", false,
			textOrTexts(func(r *resDecl) *[]word { return &r.key }, aCode)},
		{"fields", "The columns, in the order in which they are shown: code → type, or code → a mapping.", true,
			namedOf(func(r *resDecl) *[]fieldDecl { return &r.fields }, aCode, func(f *fieldDecl) *word { return &f.code }, fieldShape())},
		{"relations", "Ways to other resources of the same connection, beside those that the fields' references already give.", false,
			listOf(func(r *resDecl) *[]relDecl { return &r.relations }, mapping(relTable))},
		{"softDelete", "The field that marks a row as deleted. Reads leave such rows out unless a condition names the field.", false,
			inside(func(r *resDecl) *softDecl { return &r.softDelete }, softTable)},
		{"writes", "Which changes are allowed; none is the default. The connection must be of mode write.", false,
			choices(func(r *resDecl) *[]word { return &r.writes }, "create", "update", "delete")},
		{"confirm", "How a change is confirmed: token (a preview first; the default), strict (its token must come back), human (approved by " +
			"another login), none (at once; a delete still asks).", false,
			choice(func(r *resDecl) *word { return &r.confirm }, "token", "strict", "human", "none")},
		{"version", "A field that changes with every change of its row, by which a change in between is noticed.", false,
			text(func(r *resDecl) *word { return &r.version }, aCode)},
		{"roles", "The roles that may use the resource; left out, everybody may.", false,
			texts(func(r *resDecl) *[]word { return &r.roles }, aCode)},
		{"rows", "Which rows are there for the caller: a named rule with this resource's fields as its arguments, or a condition of its own.", false,
			rowsShape()},
		{"validations", "The validations that every change meets before it is kept: names, or mappings with mode and args.", false,
			listOf(func(r *resDecl) *[]attachDecl { return &r.validations }, attachShape())},
		{"caseSensitive", "true lets LIKE and REGEXP tell capital from small letters.", false,
			yesNo(func(r *resDecl) *yesno { return &r.caseSensitive })},
	},
}

// resShape is a resource.
func resShape() shape[resDecl] {
	return shape[resDecl]{
		read: func(f *file, name string, n *yaml.Node, into *resDecl) {
			into.node = deref(n)
			resTable.read(f, name, n, into)
		},
		schema: resTable.schema,
	}
}

var fieldTable = &table[fieldDecl]{
	def: "field", what: "field",
	about: "One column.",
	at:    func(f *fieldDecl) *place { return &f.at },
	keys: []key[fieldDecl]{
		{"type", "The kind of its values.", true, typeShape()},
		{"column", "The column in the database; the field's code is the default.", false,
			text(func(f *fieldDecl) *word { return &f.column }, anIdent)},
		{"name", "What people call it.", false, text(func(f *fieldDecl) *word { return &f.name }, aTitle)},
		{"description", "What its values mean.", false, text(func(f *fieldDecl) *word { return &f.description }, aText)},
		{"required", "true when a new row must be given a value.", false, yesNo(func(f *fieldDecl) *yesno { return &f.required })},
		{"nullable", "false when the database never holds NULL here; a key is never NULL unless this says true.", false,
			yesNo(func(f *fieldDecl) *yesno { return &f.nullable })},
		{"maxLength", "The most characters of a text, or bytes of a binary value.", false,
			whole(func(f *fieldDecl) *number { return &f.maxLength }, 1, 1<<31-1)},
		{"default", "What the database fills in when nothing is given, as it is shown to callers.", false,
			text(func(f *fieldDecl) *word { return &f.def }, aScalar)},
		{"values", "The values of an enum.", false, texts(func(f *fieldDecl) *[]word { return &f.values }, aLabel)},
		{"text", "The map under texts that gives the stored codes their labels.", false,
			text(func(f *fieldDecl) *word { return &f.text }, aCode)},
		{"references", "The field this one points to, as Resource.field. It gives a relation in both directions.", false,
			text(func(f *fieldDecl) *word { return &f.references }, aPath)},
		{"mask", "How values are hidden: redact shows ****, last4 shows the last four characters.", false,
			choice(func(f *fieldDecl) *word { return &f.mask }, "redact", "last4")},
		{"system", "What the engine fills the field with; callers may read but not set it.", false,
			choice(func(f *fieldDecl) *word { return &f.system }, "created_at", "updated_at", "created_user", "owned_user", "enabled", "tenant")},
		{"generated", "true when the database computes the value.", false, yesNo(func(f *fieldDecl) *yesno { return &f.generated })},
		{"unsigned", "true for an integer that is never negative and may use the whole range.", false,
			yesNo(func(f *fieldDecl) *yesno { return &f.unsigned })},
		{"zone", "true for a datetime that the database keeps together with its zone.", false,
			yesNo(func(f *fieldDecl) *yesno { return &f.zone })},
		{"native", "The database's own type where none of the types here fits; its values are then read as text.", false,
			text(func(f *fieldDecl) *word { return &f.native }, anIdent)},
		{"array", "true for a list of values of the type.", false, yesNo(func(f *fieldDecl) *yesno { return &f.array })},
		{"roles", "The roles that may read the field; left out, all may who may use the resource.", false,
			texts(func(f *fieldDecl) *[]word { return &f.roles }, aCode)},
	},
}

// drivers are the kinds of database a connection may be.
var drivers = []string{"mysql", "postgres", "sqlite", "redis"}

// driverOf reads a DSN's scheme.
func driverOf(scheme string) (string, bool) {
	if scheme == "postgresql" {
		scheme = "postgres"
	}
	return scheme, slices.Contains(drivers, scheme)
}
