package resources

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"testing"

	"resq/engine/dialect/sqlite"
	"resq/schema"
	"resq/schema/introspect"
)

func fill(t *testing.T, p Pack) (path string, db *sql.DB) {
	t.Helper()
	return fillOne(t, p.Databases[0])
}

func fillOne(t *testing.T, p Database) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), p.Connection+".sqlite")
	db, err := sqlite.OpenWrite(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := p.Fill(context.Background(), db); err != nil {
		t.Fatal(err)
	}
	return path, db
}

// Every pack's catalog loads, and fits the database that belongs to it to the last column.
func TestPacks(t *testing.T) {
	for _, p := range Packs() {
		if found, ok := Find(p.Name); !ok || found.Name != p.Name {
			t.Errorf("%s is not found by its name", p.Name)
		}
		dsn := map[string]string{}
		for _, d := range p.Databases {
			path, _ := fillOne(t, d)
			dsn[d.Connection] = "sqlite:" + path
		}
		if p.Redis != "" {
			dsn[p.Redis] = "redis://127.0.0.1:1/0" // nobody asks it
		}
		cat, err := schema.Load(nil, schema.LoadOptions{Packs: []schema.Pack{{Name: p.Name, FS: p.Files}}, DSN: dsn})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cat.Connections {
			db, err := sqlite.New().Inspect(c)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			s, err := introspect.Read(t.Context(), db, c.Driver, introspect.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range introspect.Compare(cat, c, s) {
				t.Errorf("%s: %s", p.Name, d)
			}
			columns, fields := 0, 0
			for _, table := range s.Tables {
				columns += len(table.Columns)
			}
			for _, r := range cat.Resources {
				if r.Connection == c {
					fields += len(r.Fields)
				}
				if r.Name == "" {
					t.Errorf("%s has no name for people", r.Code)
				}
			}
			if p.Name == "store" && columns != fields { // the others have columns that nobody is shown, or SQL tools alone
				t.Errorf("%s: %d columns, %d fields", p.Name, columns, fields)
			}
		}
	}
	if _, ok := Find("nosuch"); ok {
		t.Error("an unknown pack is found")
	}
}

// The shop's rows are the same every time, and agree with each other.
func TestStore(t *testing.T) {
	p, _ := Find("store")
	_, db := fill(t, p)
	_, again := fill(t, p)
	tables := []string{"category", "product", "staff", "customer", "address", "orders", "order_item", "shipment"}
	total := 0
	for _, table := range tables {
		one, n := digest(t, db, table)
		if two, _ := digest(t, again, table); one != two {
			t.Errorf("%s differs from one time to the next", table)
		}
		total += n
	}
	if total < 45_000 || total > 60_000 {
		t.Errorf("%d rows", total)
	}
	for what, query := range map[string]string{
		"orders whose amount is not the sum of their items": `SELECT COUNT(*) FROM orders o WHERE ABS(amount + discount - (SELECT SUM(amount) FROM order_item WHERE order_id = o.id)) > 0.001`,
		"items whose amount is not price by quantity":       `SELECT COUNT(*) FROM order_item WHERE ABS(amount - price * quantity) > 0.001`,
		"orders before their customer registered":           `SELECT COUNT(*) FROM orders o JOIN customer c ON c.id = o.customer_id WHERE o.created_at < c.registered_at`,
		"payments before the order":                         `SELECT COUNT(*) FROM orders WHERE paid_at < created_at`,
		"parcels sent before the payment":                   `SELECT COUNT(*) FROM shipment s JOIN orders o ON o.id = s.order_id WHERE o.paid_at IS NULL OR s.shipped_at < o.paid_at`,
		"parcels to somebody else":                          `SELECT COUNT(*) FROM shipment s JOIN orders o ON o.id = s.order_id JOIN address a ON a.id = s.address_id WHERE a.customer_id <> o.customer_id`,
		"unpaid orders with a payment":                      `SELECT COUNT(*) FROM orders WHERE (status IN (0, 4)) <> (paid_at IS NULL)`,
		"products in a category that is no leaf":            `SELECT COUNT(*) FROM product p JOIN category c ON c.parent_id = p.category_id`,
		"staff who are their own manager":                   `SELECT COUNT(*) FROM staff WHERE manager_id >= id`,
		"values after the shop's last day":                  `SELECT COUNT(*) FROM shipment WHERE delivered_at > '2025-12-31 18:00:00'`,
		"decimals kept as text":                             `SELECT COUNT(*) FROM orders WHERE TYPEOF(amount) NOT IN ('integer', 'real')`,
	} {
		var n int
		if err := db.QueryRow(query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
	for what, query := range map[string]string{
		"customers without orders":    `SELECT COUNT(*) FROM customer WHERE id NOT IN (SELECT customer_id FROM orders)`,
		"customers without a phone":   `SELECT COUNT(*) FROM customer WHERE phone IS NULL`,
		"names outside the BMP":       `SELECT COUNT(*) FROM orders WHERE remark LIKE '%🎁%'`,
		"remarks with a percent sign": `SELECT COUNT(*) FROM orders WHERE remark LIKE '%!%!_%' ESCAPE '!'`,
		"names with an apostrophe":    `SELECT COUNT(*) FROM customer WHERE name LIKE '%''%'`,
		"orders of every state":       `SELECT COUNT(DISTINCT status) = 6 FROM orders`,
		"levels below the root":       `WITH RECURSIVE w(id, n) AS (SELECT id, 1 FROM category WHERE parent_id IS NULL UNION ALL SELECT c.id, n + 1 FROM category c JOIN w ON c.parent_id = w.id) SELECT MAX(n) >= 4 FROM w`,
	} {
		var n int
		if err := db.QueryRow(query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			t.Errorf("no %s", what)
		}
	}
	if err := p.Databases[0].Fill(t.Context(), db); err == nil {
		t.Error("a database that is not empty is filled again")
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	empty, err := sqlite.OpenWrite(filepath.Join(t.TempDir(), "stopped.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	if err := p.Databases[0].Fill(stopped, empty); err == nil {
		t.Error("a stop does not stop it")
	}
}

func digest(t *testing.T, db *sql.DB, table string) (string, int) {
	t.Helper()
	rows, err := db.Query("SELECT * FROM " + table + " ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	h, n := sha256.New(), 0
	for ; rows.Next(); n++ {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h, "%v\n", values)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil)), n
}
