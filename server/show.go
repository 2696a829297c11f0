package server

import (
	"bytes"
	"encoding/json"
)

// A Listing is what a client is told before its first call, as one profile shows it.
type Listing struct {
	Instructions string
	Tools        []ListedTool
}

// A ListedTool is one entry of tools/list.
type ListedTool struct {
	Name string
	JSON []byte // as it is sent, but for escapes that JSON does not need
}

// List gives what a client with every scope is told in a language of Languages. It fails for a language without
// descriptions.
func List(lang string, p Profile) (*Listing, error) {
	box, err := loadTools(lang)
	if err != nil {
		return nil, err
	}
	v, err := box.view(p)
	if err != nil {
		return nil, err
	}
	c := everyone
	c.view = v
	c.wants("", "")
	l := &Listing{Instructions: v.instructions}
	for _, tool := range c.list() {
		raw, err := json.Marshal(tool)
		if err != nil {
			return nil, err
		}
		o, err := parseOrdered(raw)
		if err != nil {
			return nil, err
		}
		l.Tools = append(l.Tools, ListedTool{tool.Name, appendOrdered(nil, o)})
	}
	return l, nil
}

// JSON is the result of tools/list.
func (l *Listing) JSON() []byte {
	list := make([][]byte, len(l.Tools))
	for i, t := range l.Tools {
		list[i] = t.JSON
	}
	b := append([]byte(`{"tools":[`), bytes.Join(list, []byte{','})...)
	return append(b, "]}"...)
}

// Title is what people read as the name of a tool of this program, in a language of Languages; "" for any other.
func Title(lang, tool string) string {
	box, err := loadTools(lang)
	if err != nil {
		return ""
	}
	if d, ok := box.find(tool); ok {
		return d.Title
	}
	return ""
}

// Tools are the names of all tools.
func Tools() []string {
	names := make([]string, len(order))
	for i := range order {
		names[i] = order[i].Name
	}
	return names
}
