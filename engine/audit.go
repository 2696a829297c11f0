package engine

// A Record is what an audit keeps of one write.
type Record struct {
	Event      string // intent, before the commit; outcome, after it
	Request    string // id of the call
	Principal  string
	Key        string // id of the key
	Tool       string
	Resource   string
	Connection string
	Operation  string // id of the operation row
	Code       string // of an outcome: OK, or the code of the problem
	Rows       int
	Statement  string // fingerprint of the statement that changes rows
	Catalog    string // hash of what the catalog says of the resource
	Changes    []byte // JSON: ids, and values before and after as the principal may see them
}

// An Auditor keeps the trail of writes.
type Auditor interface {
	// Intent keeps, so that no crash loses it, that a write is about to be committed. An error means that
	// it is not kept, and the write is rolled back.
	Intent(r Record) error
	// Outcome keeps what became of a write. The write is made by then, whether it succeeds or not.
	Outcome(r Record) error
}
