package query

// Walk calls f for e and for every expression below it, outermost first.
func Walk(e Expr, f func(Expr)) {
	if e == nil {
		return
	}
	f(e)
	switch x := e.(type) {
	case *Call:
		for _, a := range x.Args {
			Walk(a, f)
		}
		walkBy(x.OrderBy, f)
		if x.Over != nil {
			for _, a := range x.Over.Partition {
				Walk(a, f)
			}
			walkBy(x.Over.OrderBy, f)
		}
	case *Unary:
		Walk(x.X, f)
	case *Binary:
		Walk(x.L, f)
		Walk(x.R, f)
	case *Is:
		Walk(x.X, f)
	case *InList:
		Walk(x.X, f)
		for _, a := range x.List {
			Walk(a, f)
		}
	case *Range:
		Walk(x.X, f)
		Walk(x.Low, f)
		Walk(x.High, f)
	case *Match:
		Walk(x.X, f)
		Walk(x.Pattern, f)
	case *Case:
		Walk(x.Operand, f)
		for _, w := range x.Whens {
			Walk(w.If, f)
			Walk(w.Then, f)
		}
		Walk(x.Else, f)
	case *Interval:
		Walk(x.N, f)
	}
}

func walkBy(keys []By, f func(Expr)) {
	for _, k := range keys {
		Walk(k.Expr, f)
	}
}

// Each calls request for r and for every request inside it, and leaf for every comparison in any of them.
func (r *Request) Each(request func(*Request), leaf func(*Leaf)) {
	if r == nil {
		return
	}
	request(r)
	var node func(n *Node)
	node = func(n *Node) {
		if n == nil {
			return
		}
		for _, l := range n.Leaves {
			leaf(l)
			l.Query.Each(request, leaf)
		}
		for _, c := range n.Children {
			node(c)
		}
	}
	node(r.Conditions)
	node(r.Having)
	for _, j := range r.Relations {
		node(j.Conditions)
	}
	for _, w := range r.With {
		w.Query.Each(request, leaf)
	}
	for _, o := range r.SetOps {
		o.Query.Each(request, leaf)
	}
}
