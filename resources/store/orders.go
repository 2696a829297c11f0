package store

import (
	"fmt"
	"slices"
	"time"
)

// The states of an order, as the catalog's text orderStatus names them.
const (
	unpaid = iota
	paid
	shipped
	finished
	cancelled
	refunded
)

// orders makes the purchases with their items and parcels. What happens to an order happens in order: it is
// paid after it was placed, shipped after it was paid, and nothing happens after the shop's last day.
func (s *shop) orders() error {
	heads, err := s.into("orders", 11)
	if err != nil {
		return err
	}
	defer heads.stmt.Close()
	items, err := s.into("order_item", 6)
	if err != nil {
		return err
	}
	defer items.stmt.Close()
	parcels, err := s.into("shipment", 9)
	if err != nil {
		return err
	}
	defer parcels.stmt.Close()
	for _, p := range s.visits() {
		if err := s.order(p, heads, items, parcels); err != nil {
			return err
		}
	}
	return nil
}

// A visit is somebody who orders at some moment.
type visit struct {
	buyer  int
	placed time.Time
}

// visits gives all of them in the order of time, as order numbers run.
func (s *shop) visits() []visit {
	d := &s.dice
	all := make([]visit, purchases)
	for i := range all {
		v := visit{1 + d.some(customers), d.moment()}
		if since := s.since[v.buyer-1]; v.placed.Before(since) { // nobody orders before registering
			v.placed = since.Add(time.Duration(d.n(int(today.Sub(since)/time.Second)+1)) * time.Second)
		}
		all[i] = v
	}
	slices.SortStableFunc(all, func(a, b visit) int { return a.placed.Compare(b.placed) })
	return all
}

func (s *shop) order(v visit, heads, items, parcels *rows) error {
	d := &s.dice
	buyer, placed := v.buyer, v.placed
	lines, sum := s.basket()
	discount := 0
	if d.one(4) {
		discount = min(sum/10, pick(d, []int{500, 1000, 2000, 5000}))
	}

	status, paidAt := cancelled, any(nil)
	payment, isPaid := d.later(placed, 48)
	switch {
	case !isPaid:
		status = unpaid
	case d.one(14): // it stays cancelled and unpaid
	default:
		paidAt = stamp(payment)
		status = paid
		if d.one(40) {
			status = refunded
		}
	}
	var sent time.Time
	if status == paid {
		if at, ok := d.later(payment, 72); ok {
			sent, status = at, shipped
		}
	}
	var arrived any
	if status == shipped {
		if at, ok := d.later(sent, 144); ok {
			arrived, status = stamp(at), finished
		}
	}

	var seller, remark any
	channel := pick(d, []string{"web", "web", "app", "app", "app", "shop", "phone"})
	if channel == "shop" || channel == "phone" || d.one(10) {
		seller = pick(d, s.sellers)
	}
	if d.one(8) {
		remark = pick(d, remarks)
	}
	number := fmt.Sprintf("SO%s%05d", placed.Format("060102"), heads.id+1)
	id, err := heads.add(number, buyer, seller, channel, status, money(discount), money(sum-discount), remark, paidAt, stamp(placed))
	if err != nil {
		return err
	}
	for _, l := range lines {
		if _, err := items.add(id, l.product, l.quantity, money(l.cents), money(l.cents*l.quantity)); err != nil {
			return err
		}
	}
	if sent.IsZero() {
		return nil
	}
	return s.parcel(parcels, id, buyer, len(lines), sent, arrived)
}

// A line is one product in a basket.
type line struct{ product, quantity, cents int }

// basket fills a basket with different products and gives its price.
func (s *shop) basket() ([]line, int) {
	d := &s.dice
	var lines []line
	sum := 0
	for range 1 + d.weighted(28, 26, 20, 14, 8, 4) {
		g := s.goods[d.some(len(s.goods))]
		again := false
		for _, l := range lines {
			again = again || l.product == g.id
		}
		if again {
			continue
		}
		l := line{g.id, 1 + d.weighted(60, 22, 10, 5, 3), g.cents}
		if d.one(6) { // on sale that day
			l.cents = g.cents * 9 / 10
		}
		lines = append(lines, l)
		sum += l.cents * l.quantity
	}
	return lines, sum
}

// parcel ships an order, a large one in two.
func (s *shop) parcel(parcels *rows, order, buyer, lines int, sent time.Time, arrived any) error {
	d := &s.dice
	n := 1
	if lines > 3 && d.one(2) {
		n = 2
	}
	var to any
	if homes := s.addresses[buyer]; len(homes) > 0 {
		to = pick(d, homes)
	}
	for range n {
		status := d.weighted(1, 9) // waiting or on its way
		if arrived != nil {
			status = 2
			if d.one(60) {
				status = 3
			}
		}
		number := fmt.Sprintf("%c%c%012d", 'A'+rune(d.n(26)), 'A'+rune(d.n(26)), d.n(1_000_000_000_000))
		if _, err := parcels.add(order, to, pick(d, carriers), number, status, money(pick(d, []int{0, 0, 600, 800, 1200, 1800})), stamp(sent), arrived); err != nil {
			return err
		}
	}
	return nil
}
