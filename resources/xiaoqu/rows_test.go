package xiaoqu

import "testing"

// Every table that keeps deleted rows has one, so that a tool that forgot to leave them out would show it (B-050).
func TestEveryTableHasADeletedRow(t *testing.T) {
	n := 0
	for _, table := range parse() {
		if !has(table, "soft_delete") {
			continue
		}
		n++
		deleted := false
		for _, r := range rows()[table.name] {
			deleted = deleted || r["soft_delete"] == "1"
		}
		if !deleted {
			t.Errorf("%s has no deleted row", table.name)
		}
	}
	if n < 15 {
		t.Errorf("only %d tables keep deleted rows", n)
	}
}
