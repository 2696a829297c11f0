package sqlgen

import (
	"encoding/json"
	"strconv"
)

// A JSON is a value that is JSON text already.
type JSON []byte

// A Blob is bytes that are no text.
type Blob []byte

func itoa(n int) string { return strconv.Itoa(n) }

func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
