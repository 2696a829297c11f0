package schema

// A slotDecl is a slot as it is written.
type slotDecl struct {
	at                      place
	name, typ, binding      word
	access, attribute, deft word
	description             wordsDecl
	required                yesno
	to                      []word
}

// Ways in which a slot is filled, and what it may be open for.
const (
	ByStatic    = "static"
	ByParameter = "parameter"
	ByContext   = "context"

	ReadOnly  = "read_only"
	ReadWrite = "read_write"
)

// Types of what a slot takes. A table and a view are both resources.
const (
	OfTable      = "table"
	OfView       = "view"
	OfResource   = "resource"
	OfConnection = "connection"
)

var slotTable = &table[slotDecl]{
	def: "slot", what: "slot", proper: true,
	about: "Something that the tool works on, which is settled when it is called.",
	at:    func(s *slotDecl) *place { return &s.at },
	keys: []key[slotDecl]{
		{"type", "What it takes: table or view, resource for either; connection in a SQL tool.", true,
			choice(func(s *slotDecl) *word { return &s.typ }, OfTable, OfView, OfResource, OfConnection)},
		{"binding", "How it is filled: static, with the one thing in to; parameter, with what the argument of its name names; context, with what an attribute of the principal names.", true,
			choice(func(s *slotDecl) *word { return &s.binding }, ByStatic, ByParameter, ByContext)},
		{"to", "What it may be bound to: codes of resources, or names of connections. A slot of connections may leave it out, for all that take SQL.", false,
			texts(func(s *slotDecl) *[]word { return &s.to }, aCode)},
		{"attribute", "Of binding context: the attribute of the principal that names what is meant.", false, text(func(s *slotDecl) *word { return &s.attribute }, aCode)},
		{"default", "What it is bound to where the call or the principal does not say.", false, text(func(s *slotDecl) *word { return &s.deft }, aCode)},
		{"required", "Whether the call or the principal must say; true, unless there is a default.", false, yesNo(func(s *slotDecl) *yesno { return &s.required })},
		{"access", "read_only, the default and all that tools of catalog files need.", false, choice(func(s *slotDecl) *word { return &s.access }, ReadOnly, ReadWrite)},
		{"description", "What the argument means, of binding parameter.", false, words(func(s *slotDecl) *wordsDecl { return &s.description })},
	},
}

// slotsKey is the key slots of a tool.
func slotsKey[T any](about string, to func(*T) *[]slotDecl) key[T] {
	return key[T]{"slots", about, false, namedOf(to, aCode, func(s *slotDecl) *word { return &s.name }, mapping(slotTable))}
}
