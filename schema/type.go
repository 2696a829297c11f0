package schema

import (
	"fmt"
	"regexp"
	"strconv"
)

// A Kind is the family a field's values belong to.
type Kind uint8

// The kinds a catalog may name. Any is the kind of a value whose type the catalog does not know; no field
// has it.
const (
	Any Kind = iota
	Integer
	Decimal
	Number // binary floating point
	String // bounded text
	Text   // unbounded text
	Bool
	Date
	Time
	DateTime
	JSON
	Binary
	UUID
	Enum
)

var kinds = [...]string{"any", "integer", "decimal", "number", "string", "text", "bool", "date", "time", "datetime", "json", "binary", "uuid", "enum"}

func (k Kind) String() string { return kinds[k] }

// Numeric says whether values of k are compared and added as numbers.
func (k Kind) Numeric() bool { return k == Integer || k == Decimal || k == Number }

// Textual says whether values of k are compared as text.
func (k Kind) Textual() bool { return k == String || k == Text || k == Enum || k == UUID }

// Temporal says whether values of k are points in time.
func (k Kind) Temporal() bool { return k == Date || k == DateTime || k == Time }

// A Type is a kind with, for decimals, its digits.
type Type struct {
	Kind             Kind
	Precision, Scale int // of a Decimal; 0, 0 when the catalog does not say
}

func (t Type) String() string {
	if t.Kind == Decimal && t.Precision > 0 {
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	}
	return t.Kind.String()
}

var decimalText = regexp.MustCompile(`^decimal\((\d{1,3})(?:,(\d{1,3}))?\)$`)

// Kinds lists the type names of a catalog in their documented order.
func Kinds() []string { return append([]string(nil), kinds[1:]...) }

// ParseType reads a type as a catalog writes it: integer, decimal(12,2), string, ….
func ParseType(s string) (Type, bool) {
	for i, name := range kinds[1:] {
		if s == name {
			return Type{Kind: Kind(i + 1)}, true
		}
	}
	m := decimalText.FindStringSubmatch(s)
	if m == nil {
		return Type{}, false
	}
	p, _ := strconv.Atoi(m[1])
	sc, _ := strconv.Atoi(m[2])
	if p < 1 || p > 1000 || sc > p {
		return Type{}, false
	}
	return Type{Kind: Decimal, Precision: p, Scale: sc}, true
}
