package sheet

import "encoding/json"

// TextOf reads a JSON scalar as text; false for null. Documents are their own text.
func TextOf(raw []byte) (string, bool) {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "", false
	case raw[0] != '"':
		return string(raw), true
	}
	for _, c := range raw[1 : len(raw)-1] {
		if c == '\\' {
			var s string
			err := json.Unmarshal(raw, &s)
			return s, err == nil
		}
	}
	return string(raw[1 : len(raw)-1]), true
}
