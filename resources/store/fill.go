// Package store makes the rows of the demonstration shop: the same rows every time, about fifty thousand of
// them, in the tables that the pack's catalog names.
package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Version changes whenever the rows or the tables do, so that an old database is not mistaken for a new one.
const Version = 1

const (
	products  = 480
	customers = 3200
	purchases = 9600
)

var tables = []string{
	`CREATE TABLE category (id INTEGER PRIMARY KEY, parent_id INTEGER REFERENCES category (id), name VARCHAR(40) NOT NULL, name_en VARCHAR(40) NOT NULL, sort INTEGER NOT NULL)`,
	`CREATE TABLE product (id INTEGER PRIMARY KEY, sku VARCHAR(20) NOT NULL UNIQUE, name VARCHAR(80) NOT NULL, category_id INTEGER NOT NULL REFERENCES category (id), price NUMERIC(10,2) NOT NULL, cost NUMERIC(10,2), weight REAL, stock INTEGER NOT NULL, status INTEGER NOT NULL, tags TEXT, created_at DATETIME NOT NULL)`,
	`CREATE TABLE staff (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, manager_id INTEGER REFERENCES staff (id), department VARCHAR(20) NOT NULL, title VARCHAR(30) NOT NULL, salary NUMERIC(10,2) NOT NULL, hired_on DATE NOT NULL, left_on DATE)`,
	`CREATE TABLE customer (id INTEGER PRIMARY KEY, code VARCHAR(12) NOT NULL UNIQUE, name VARCHAR(60) NOT NULL, kind VARCHAR(10) NOT NULL, level INTEGER NOT NULL, phone VARCHAR(20), email VARCHAR(80), city VARCHAR(20), birthday DATE, balance NUMERIC(10,2) NOT NULL, note TEXT, registered_at DATETIME NOT NULL)`,
	`CREATE TABLE address (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer (id), province VARCHAR(20) NOT NULL, city VARCHAR(20) NOT NULL, street VARCHAR(100) NOT NULL, postcode VARCHAR(10), is_default INTEGER NOT NULL)`,
	`CREATE TABLE orders (id INTEGER PRIMARY KEY, order_no VARCHAR(20) NOT NULL UNIQUE, customer_id INTEGER NOT NULL REFERENCES customer (id), staff_id INTEGER REFERENCES staff (id), channel VARCHAR(10) NOT NULL, status INTEGER NOT NULL, discount NUMERIC(10,2) NOT NULL, amount NUMERIC(12,2) NOT NULL, remark VARCHAR(200), paid_at DATETIME, created_at DATETIME NOT NULL)`,
	`CREATE TABLE order_item (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id), product_id INTEGER NOT NULL REFERENCES product (id), quantity INTEGER NOT NULL, price NUMERIC(10,2) NOT NULL, amount NUMERIC(12,2) NOT NULL)`,
	`CREATE TABLE shipment (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id), address_id INTEGER REFERENCES address (id), carrier VARCHAR(20) NOT NULL, tracking_no VARCHAR(30) NOT NULL, status INTEGER NOT NULL, freight NUMERIC(8,2) NOT NULL, shipped_at DATETIME NOT NULL, delivered_at DATETIME)`,
}

var indexes = []string{
	`CREATE INDEX category_parent ON category (parent_id)`,
	`CREATE INDEX product_category ON product (category_id)`,
	`CREATE INDEX staff_manager ON staff (manager_id)`,
	`CREATE INDEX address_customer ON address (customer_id)`,
	`CREATE INDEX orders_customer ON orders (customer_id)`,
	`CREATE INDEX orders_created ON orders (created_at)`,
	`CREATE INDEX order_item_order ON order_item (order_id)`,
	`CREATE INDEX order_item_product ON order_item (product_id)`,
	`CREATE INDEX shipment_order ON shipment (order_id)`,
}

// Fill makes the tables and their rows in an empty database, in one transaction: all of it or nothing.
func Fill(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("fill the shop: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // of no effect after the commit
	s := &shop{ctx: ctx, tx: tx, dice: 20240101}
	for _, step := range []func() error{
		func() error { return s.run(tables) },
		s.categories, s.products, s.staff, s.customers, s.orders,
		func() error { return s.run(indexes) },
		func() error { return s.run([]string{"ANALYZE"}) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("fill the shop: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("fill the shop: %w", err)
	}
	return nil
}

// A shop remembers what later rows must agree with.
type shop struct {
	ctx  context.Context
	tx   *sql.Tx
	dice dice

	leaves    []category
	goods     []good
	sellers   []int
	addresses map[int][]int // customer → its addresses
	since     []time.Time   // customer → registered
}

type category struct {
	id int
	of branch
}

type good struct {
	id, cents int
}

func (s *shop) run(statements []string) error {
	for _, q := range statements {
		if _, err := s.tx.ExecContext(s.ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// rows is an INSERT that takes one row at a time and numbers them.
type rows struct {
	s    *shop
	stmt *sql.Stmt
	id   int
}

func (s *shop) into(table string, columns int) (*rows, error) {
	stmt, err := s.tx.PrepareContext(s.ctx, "INSERT INTO "+table+" VALUES (?"+strings.Repeat(", ?", columns-1)+")")
	return &rows{s: s, stmt: stmt}, err
}

func (r *rows) add(values ...any) (int, error) {
	r.id++
	_, err := r.stmt.ExecContext(r.s.ctx, append([]any{r.id}, values...)...)
	return r.id, err
}

func (s *shop) categories() error {
	rows, err := s.into("category", 5)
	if err != nil {
		return err
	}
	defer rows.stmt.Close()
	var plant func(parent any, bs []branch) error
	plant = func(parent any, bs []branch) error {
		for i, b := range bs {
			id, err := rows.add(parent, b.name, b.english, (i+1)*10)
			if err != nil {
				return err
			}
			if b.nouns != nil {
				s.leaves = append(s.leaves, category{id, b})
			}
			if err := plant(id, b.below); err != nil {
				return err
			}
		}
		return nil
	}
	return plant(nil, tree)
}

func (s *shop) products() error {
	rows, err := s.into("product", 11)
	if err != nil {
		return err
	}
	defer rows.stmt.Close()
	d := &s.dice
	for i := range products {
		c := s.leaves[i%len(s.leaves)]
		cents := d.in(c.of.low, c.of.high)*100 - pick(d, []int{0, 1, 10, 50, 100})
		var cost, weight any
		if !d.one(12) {
			cost = money(cents * d.in(45, 80) / 100)
		}
		if !d.one(6) {
			weight = float64(d.in(5, 4000)) / 100
		}
		some := []string{}
		for _, t := range tags {
			if d.one(6) {
				some = append(some, t)
			}
		}
		list, err := json.Marshal(some)
		if err != nil {
			return err
		}
		var tagged any = string(list)
		if d.one(15) {
			tagged = nil
		}
		status := d.weighted(3, 80, 7, 10)
		stock := d.in(1, 900)
		if status == 2 {
			stock = 0
		}
		name := fmt.Sprintf("%s %s %c%d", pick(d, makers), pick(d, c.of.nouns), 'A'+rune(d.n(26)), d.in(1, 99))
		id, err := rows.add(fmt.Sprintf("SKU%06d", 100000+i*7), name, c.id, money(cents), cost, weight, stock, status, tagged,
			stamp(opening.Add(-time.Duration(d.n(400*24*3600))*time.Second)))
		if err != nil {
			return err
		}
		s.goods = append(s.goods, good{id, cents})
	}
	return nil
}

func (s *shop) staff() error {
	rows, err := s.into("staff", 8)
	if err != nil {
		return err
	}
	defer rows.stmt.Close()
	d := &s.dice
	hire := func(manager any, department, title string, pay int, mayLeave bool) (int, error) {
		hired := opening.AddDate(0, 0, -d.in(30, 2500))
		var left any
		if mayLeave && d.one(9) {
			left = day(opening.AddDate(0, 0, d.in(30, 700)))
		}
		return rows.add(pick(d, surnames)+pick(d, given), manager, department, title, money((pay+d.in(-8, 8)*100)*100), day(hired), left)
	}
	boss, err := hire(nil, "总经办", "总经理", 60000, false)
	if err != nil {
		return err
	}
	for _, dep := range departments {
		head, err := hire(boss, dep.name, dep.head, dep.pay, false)
		if err != nil {
			return err
		}
		for range 3 {
			lead, err := hire(head, dep.name, dep.lead, dep.pay*6/10, false)
			if err != nil {
				return err
			}
			for range d.in(2, 5) {
				member, err := hire(lead, dep.name, dep.member, dep.pay*35/100, true)
				if err != nil {
					return err
				}
				if dep.name == "销售部" || dep.name == "客服部" {
					s.sellers = append(s.sellers, member)
				}
			}
		}
	}
	return nil
}

func (s *shop) customers() error {
	people, err := s.into("customer", 12)
	if err != nil {
		return err
	}
	defer people.stmt.Close()
	homes, err := s.into("address", 7)
	if err != nil {
		return err
	}
	defer homes.stmt.Close()
	d := &s.dice
	s.addresses = map[int][]int{}
	for i := range customers {
		since := opening.Add(time.Duration(d.n(int(today.Sub(opening)/time.Second))) * time.Second)
		place := pick(d, places)
		name, kind := pick(d, surnames)+pick(d, given), "person"
		switch {
		case d.one(10):
			name, kind = place.city+pick(d, makers)+pick(d, trades)+"有限公司", "company"
		case d.one(25):
			name = pick(d, western)
		}
		var phone, email, city, birthday, note any
		if !d.one(20) {
			phone = fmt.Sprintf("1%d%09d", pick(d, []int{3, 5, 7, 8, 9}), d.n(1_000_000_000))
		}
		if !d.one(4) {
			email = fmt.Sprintf("user%05d@%s", 10000+i, pick(d, []string{"mail.example", "corp.example", "shop.example"}))
		}
		if !d.one(15) {
			city = place.city
		}
		if kind == "person" && !d.one(3) {
			birthday = day(time.Date(d.in(1950, 2006), time.Month(d.in(1, 12)), d.in(1, 28), 0, 0, 0, 0, time.UTC))
		}
		if d.one(12) {
			note = pick(d, notes)
		}
		balance := 0
		if d.one(3) {
			balance = d.in(1, 100_000)
		}
		id, err := people.add(fmt.Sprintf("C%06d", i+1), name, kind, 1+d.weighted(60, 25, 11, 4), phone, email, city, birthday, money(balance), note, stamp(since))
		if err != nil {
			return err
		}
		s.since = append(s.since, since)
		for n := range d.weighted(8, 55, 30, 7) {
			if n > 0 {
				place = pick(d, places)
			}
			var code any
			if !d.one(5) {
				code = place.code + fmt.Sprintf("%02d", d.n(100))
			}
			street := fmt.Sprintf("%s%d号%d栋%d室", pick(d, streets), d.in(1, 299), d.in(1, 20), d.in(101, 2604))
			home, err := homes.add(id, place.province, place.city, street, code, n == 0)
			if err != nil {
				return err
			}
			s.addresses[id] = append(s.addresses[id], home)
		}
	}
	return nil
}
