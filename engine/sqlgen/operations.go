package sqlgen

// Operations is how a database keeps the rows of operations (security.md 3.2): the statements that make their
// table, and the words for its clock. Every text is a constant of this program.
type Operations struct {
	Table []Text
	Now   Text // the database's clock, in UTC
	After Text // that clock, a bound number of seconds later
	Epoch Text // a column as seconds since 1970; its name goes in place of {}
}

// A Refusal is why a database did not take a write.
type Refusal uint8

// The reasons.
const (
	Other      Refusal = iota
	Duplicate          // a value that must be there once is there already
	Referenced         // a row that others refer to, or a reference to none
	Missing            // a value that must be there is not
	Unfit              // a value too long, too large or of another form
	Checked            // a check of the database's own, or a trigger's refusal
	Busy               // a deadlock or a wait for a lock; trying again helps
	ReadOnly           // the server takes no writes at present
	Gone               // the connection broke
)

// A Derived is a table of a database that shows rows of others, such as a view.
type Derived struct {
	Schema, Table string
	Of            string // a text that names the others, such as the view's own; "" is not known
}

// DerivedOf makes them of their schemas, names and texts.
func DerivedOf(rows [][3]string) []Derived {
	list := make([]Derived, len(rows))
	for i, r := range rows {
		list[i] = Derived{Schema: r[0], Table: r[1], Of: r[2]}
	}
	return list
}

// Effects are what a database does by itself when rows of a table change.
type Effects struct {
	Triggers bool
	// Lasting is the storage engine of a table that keeps what a transaction that failed has written; "" is none.
	Lasting string
	// Cascades are tables whose rows are deleted or changed when rows here are deleted.
	Cascades []string
	// Computed are the columns that can be given no value, and Moved those that change with every update of a row.
	Computed, Moved []string
}
