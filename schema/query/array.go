package query

import "strings"

// Strings reads a text that is a JSON array of scalars as their texts. It says false for any other text.
func Strings(s string) ([]string, bool) {
	t := strings.TrimSpace(s)
	if !strings.HasPrefix(t, "[") {
		return nil, false
	}
	v, p := parse([]byte(t), 2)
	if p != nil || v.kind != 'a' {
		return nil, false
	}
	return texts(v)
}

func texts(v value) ([]string, bool) {
	out := make([]string, 0, len(v.items))
	for _, x := range v.items {
		switch x.kind {
		case 's', 'd', 'b':
			out = append(out, x.text)
		case 'n':
			// NULL equals nothing.
		default:
			return nil, false
		}
	}
	return out, true
}

// Elements reads the array that a token of json_member_of holds, at the path of names and indexes into it.
// A text that is no JSON is a list with commas. It says false when there is no array.
func Elements(s string, path []any) ([]string, bool) {
	t := strings.TrimSpace(s)
	v, p := parse([]byte(t), 64)
	if p != nil {
		if len(path) > 0 || t == "" || strings.ContainsAny(t[:1], "[{\"") {
			return nil, false
		}
		parts := strings.Split(t, ",")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		return parts, true
	}
	for _, step := range path {
		switch k := step.(type) {
		case string:
			m := v.member(k)
			if v.kind != 'o' || m == nil {
				return []string{}, true
			}
			v = *m
		case int:
			if v.kind != 'a' || k >= len(v.items) {
				return []string{}, true
			}
			v = v.items[k]
		}
	}
	if v.kind != 'a' {
		if len(path) == 0 && (v.kind == 'd' || v.kind == 'b') {
			return []string{v.text}, true
		}
		return nil, false
	}
	return texts(v)
}
