package store

import (
	"context"
	"database/sql"
	"fmt"
)

const reviews = 1200

// opinions are what customers write, by the stars they give.
var opinions = [][]string{
	{"坏了，要求退货", "Broken on arrival"},
	{"与描述不符", "Not what it says"},
	{"一般", "It does"},
	{"不错，物流快", "Good, and it came soon"},
	{"非常满意", "Excellent", "会再来买"},
}

// FillReviews makes the database of what customers say of products, which knows products and customers by their ids alone.
func FillReviews(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("fill the reviews: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // of no effect after the commit
	s := &shop{ctx: ctx, tx: tx, dice: 20250607}
	for _, step := range []func() error{
		func() error {
			return s.run([]string{`CREATE TABLE review (id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL, customer_id INTEGER NOT NULL, stars INTEGER NOT NULL, text VARCHAR(200), written_at DATETIME NOT NULL)`})
		},
		s.reviews,
		func() error { return s.run([]string{`CREATE INDEX review_product ON review (product_id)`, "ANALYZE"}) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("fill the reviews: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("fill the reviews: %w", err)
	}
	return nil
}

func (s *shop) reviews() error {
	rows, err := s.into("review", 6)
	if err != nil {
		return err
	}
	defer rows.stmt.Close()
	d := &s.dice
	for range reviews {
		stars := 1 + d.weighted(5, 5, 15, 35, 40)
		product := 1 + d.some(products)
		if d.one(200) { // which the shop sells no more
			product = products + 1 + d.n(20)
		}
		var text any
		if !d.one(3) {
			text = pick(d, opinions[stars-1])
		}
		if _, err := rows.add(product, 1+d.some(customers), stars, text, stamp(d.moment())); err != nil {
			return err
		}
	}
	return nil
}
