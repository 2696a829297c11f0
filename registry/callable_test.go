package registry

import (
	"slices"
	"strings"
	"testing"
	"time"

	"resq/schema"
	"resq/schema/problem"
	"resq/testdb"
)

// C-010, C-011, C-012, C-025, C-042: what the registry refuses, and that a removal detaches.
func TestCallables(t *testing.T) {
	testdb.Each(t, func(t *testing.T, e testdb.Engine) {
		c, _ := migratedControl(t, e)
		ctx := t.Context()
		now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
		c.now = func() time.Time { return now }
		m := Mirror{
			Tools:       []Callable{{Name: "biz/order.list", Type: TypeTool, Source: "custom", ReadOnly: true, Bindings: []Binding{{"source", "table", "static", "read_only"}}}, {Name: "validation/sound", Type: TypeValidation, Source: "custom", ReadOnly: true}},
			Resources:   []Holding{{Name: "Order", Type: "table", Connection: "main", Config: "version: 1\n"}, {Name: "Item", Type: "view"}},
			Attachments: []Attached{{ID: schema.AttachmentID("Order", "sound"), Resource: "Order", Validation: "validation/sound", Mode: "required"}},
		}
		version := func() (n int) {
			t.Helper()
			if err := c.db.QueryRowContext(ctx, "SELECT version FROM resq_control").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for range 2 { // the second time nothing is written
			if err := c.Mirror(ctx, m); err != nil {
				t.Fatal(err)
			}
		}
		if v := version(); v != 1 {
			t.Errorf("two mirrors of one catalog are %d changes", v)
		}
		sound := Callable{Name: "shop/whole", Type: TypeValidation, Source: "custom", ReadOnly: true, Config: "version: 1\n"}
		for _, bad := range []struct {
			what   string
			change func(*Callable)
			code   problem.Code
			at     string
		}{
			{"no namespace", func(t *Callable) { t.Name = "whole" }, problem.InvalidArgument, "/name"},
			{"a namespace of files", func(t *Callable) { t.Name = "sql/whole" }, problem.InvalidArgument, "/name"},
			{"a type", func(t *Callable) { t.Type = "skill" }, problem.InvalidArgument, "/tool_type"},
			{"a source", func(t *Callable) { t.Source = "python" }, problem.InvalidArgument, "/source_type"},
			{"reads and writes", func(t *Callable) { t.Type, t.Writes = TypeTool, true }, problem.InvalidArgument, "/writes"},
			{"nothing to take back", func(t *Callable) { t.Checkpointable = true }, problem.InvalidArgument, "/checkpointable"},
			{"a validation that writes", func(t *Callable) { t.ReadOnly, t.Writes = false, true }, problem.InvalidArgument, "/read_only"},
			{"a slot to write", func(t *Callable) { t.Bindings = []Binding{{"s", "table", "static", "read_write"}} }, problem.InvalidArgument, "/bindings"},
			{"a mode", func(t *Callable) { t.Bindings = []Binding{{"s", "table", "guess", "read_only"}} }, problem.InvalidArgument, "/bindings"},
			{"the name of another namespace", func(t *Callable) { t.Name = "shop/order_list" }, problem.Conflict, "/name"},
		} {
			x := sound
			bad.change(&x)
			_, err := c.AddCallable(ctx, x)
			if codeOf(err) != bad.code || problem.From(err)[0].At != bad.at {
				t.Errorf("%s: %v", bad.what, err)
			}
		}
		made, err := c.AddCallable(ctx, sound)
		if err != nil || len(made.ID) != 26 || made.Mirrored() || made.Short() != "whole" || made.Created != "2027-03-01T12:00:00.000000Z" {
			t.Fatalf("%+v %v", made, err)
		}
		if _, err := c.AddCallable(ctx, sound); codeOf(err) != problem.Conflict {
			t.Errorf("a second time: %v", err)
		}
		for _, bad := range []struct {
			resource, validation, mode string
			code                       problem.Code
		}{{"Order", "whole", "maybe", problem.InvalidArgument}, {"Nosuch", "whole", "", problem.NotFound}, {"Order", "order.list", "", problem.NotFound}, {"Order", "validation/sound", "", problem.Conflict}} {
			if _, err := c.Attach(ctx, bad.resource, bad.validation, bad.mode, nil); codeOf(err) != bad.code {
				t.Errorf("%+v: %v", bad, err)
			}
		}
		a, err := c.Attach(ctx, "Order", "whole", "informational", map[string]string{"most": "7"})
		if err != nil || a.Validation != "shop/whole" || a.Declared() {
			t.Fatalf("%+v %v", a, err)
		}
		b, err := c.Attach(ctx, "Item", "shop/whole", "", nil)
		if err != nil || b.Mode != "required" {
			t.Fatalf("%+v %v", b, err)
		}
		if list, err := c.Attachments(ctx); err != nil || list[1].ID != a.ID || list[1].Args["most"] != "7" || list[0].Args != nil {
			t.Errorf("the values of an attachment: %+v %v", list, err)
		}
		modes := func() (out []string) {
			list, err := c.Attachments(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range list {
				out = append(out, a.Resource+" "+a.Mode+" "+a.Validation)
			}
			return out
		}
		if got := strings.Join(modes(), ", "); got != "Item required shop/whole, Order informational shop/whole, Order required validation/sound" {
			t.Errorf("attached: %s", got)
		}
		if _, err := c.Detach(ctx, m.Attachments[0].ID); codeOf(err) != problem.InvalidArgument {
			t.Errorf("a file's attachment: %v", err)
		}
		if _, err := c.Detach(ctx, "nosuch"); codeOf(err) != problem.NotFound {
			t.Error(err)
		}
		if _, err := c.Detach(ctx, b.ID); err != nil {
			t.Error(err)
		}
		// Another catalog: one tool is another one, one has gone, and with it its attachment; the registry's own stay.
		now = now.Add(time.Hour)
		m.Tools = []Callable{{Name: "biz/order.list", Type: TypeTool, Source: "custom", ReadOnly: true, Description: "All.", Bindings: []Binding{{"first", "table", "static", "read_only"}, {"second", "view", "static", "read_only"}}}}
		m.Attachments = nil
		m.Resources = m.Resources[:1]
		m.Resources[0].Name, m.Resources[0].Config = "Order", "version: 1\n# other\n"
		if err := c.Mirror(ctx, m); err != nil {
			t.Fatal(err)
		}
		list, err := c.Callables(ctx)
		if err != nil || len(list) != 2 || list[0].Updated != "2027-03-01T13:00:00.000000Z" || list[0].Created != "2027-03-01T12:00:00.000000Z" || len(list[0].Bindings) != 2 || list[1].Name != "shop/whole" || list[1].Updated != list[1].Created {
			t.Errorf("%+v %v", list, err)
		}
		if got := strings.Join(modes(), ", "); got != "Order informational shop/whole" {
			t.Errorf("attached: %s", got)
		}
		if held, err := c.Holdings(ctx); err != nil || !slices.Equal(held, m.Resources) {
			t.Errorf("%v %v", held, err)
		}
		// A file that takes the name of the registry's own.
		m.Tools = append(m.Tools, Callable{Name: "sql/WHOLE", Type: TypeTool, Source: "custom", ReadOnly: true}, Callable{Name: "sql/whole", Type: TypeTool, Source: "custom", ReadOnly: true})
		if err := c.Mirror(ctx, m); codeOf(err) != problem.Conflict || !strings.Contains(err.Error(), "resq tool remove shop/whole") {
			t.Errorf("clash: %v", err)
		}
		if list, _ := c.Callables(ctx); len(list) != 2 {
			t.Errorf("a clash changed something: %v", list)
		}
		if _, err := c.RemoveCallable(ctx, "biz/order.list"); codeOf(err) != problem.InvalidArgument {
			t.Errorf("a file's tool: %v", err)
		}
		if _, err := c.RemoveCallable(ctx, "shop/whole"); err != nil || len(modes()) != 0 {
			t.Errorf("%v, attached: %v", err, modes())
		}
		var n int // what belongs to an attachment goes with it
		if err := c.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM resq_attachment_args").Scan(&n); err != nil || n != 0 {
			t.Errorf("%d values of attachments are left %v", n, err)
		}
		if _, err := c.RemoveCallable(ctx, "shop/whole"); codeOf(err) != problem.NotFound {
			t.Error(err)
		}
	})
}
