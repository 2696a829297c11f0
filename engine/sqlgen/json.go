package sqlgen

import (
	"encoding/json"
	"strconv"
	"time"
)

// A JSON is a value that is JSON text already.
type JSON []byte

// A Blob is bytes that are no text.
type Blob []byte

// A Loan is a text that is a driver's own until the next row is read.
type Loan []byte

// Owned gives what a value is that a driver has lent by a pointer, as a value to keep. Anything else is its own already.
func Owned(v any) any {
	switch x := v.(type) {
	case *int64:
		return *x
	case *float64:
		return *x
	case *time.Time:
		return *x
	case *Loan:
		return string(*x)
	}
	return v
}

func itoa(n int) string { return strconv.Itoa(n) }

func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
