package console

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"resq/engine"
	"resq/registry"
	"resq/schema/problem"
)

type healthData struct {
	Connections []connection
	Calls       []series // per minute, by tool
	Errors      []count
	Slow        []registry.KeptCall
	Minutes     int
	Most        bool // more calls than were looked at
	Hash        string
	Problems    problem.List
	Loads       []Load
}

type connection struct {
	Name, Driver string
	Well         bool
	Write        string // "" is well, or none
	Writes       bool
	Pool         engine.PoolStats
}

type count struct {
	Name string
	N    int
}

// A series is the calls of a tool in each minute, as bars.
type series struct {
	Tool  string
	Total int
	Bars  []bar
}

type bar struct{ X, Y, H int }

const (
	healthMinutes = 60
	healthCalls   = 5000
	slowShown     = 10
	chartHeight   = 36
)

func (c *Console) health(v *visit) error {
	ctx := v.r.Context()
	e, release := c.opts.Lend()
	defer release()
	d := healthData{Minutes: healthMinutes, Hash: e.Catalog().Hash}
	if c.opts.Problems != nil {
		if err := c.opts.Problems(); err != nil {
			d.Problems = problem.From(err)
		}
	}
	if c.opts.Loads != nil {
		d.Loads = c.opts.Loads()
	}
	ping, cancel := context.WithTimeout(ctx, 2*time.Second)
	down := e.Ping(ping)
	ready := e.Ready(ping)
	cancel()
	pools := e.Stats()
	for _, x := range append(slices.Clone(e.Catalog().Connections), e.Catalog().Redis...) {
		k := connection{Name: x.Name, Driver: x.Driver, Well: down[x.Name] == nil, Pool: pools[x.Name]}
		if err, writes := ready[x.Name]; writes {
			k.Writes = true
			if err != nil {
				_, p := told(err)
				k.Write = p.Message
			}
		}
		d.Connections = append(d.Connections, k)
	}
	now := c.opts.Now()
	calls, err := c.opts.Control.FindCalls(ctx, registry.CallFilter{From: now.Add(-healthMinutes * time.Minute), Limit: healthCalls})
	if err != nil {
		return err
	}
	d.Most = len(calls) == healthCalls
	minutes, codes := map[string]*[healthMinutes]int{}, map[string]int{}
	for _, k := range calls {
		if minutes[k.Tool] == nil {
			minutes[k.Tool] = &[healthMinutes]int{}
		}
		if at := healthMinutes - 1 - int(now.Sub(k.Time).Minutes()); at >= 0 && at < healthMinutes {
			minutes[k.Tool][at]++
		}
		if k.Code != "" {
			codes[k.Code]++
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(minutes)) {
		s := series{Tool: tool}
		most := max(1, slices.Max(minutes[tool][:]))
		for i, n := range minutes[tool] {
			s.Total += n
			if n > 0 {
				h := max(1, n*chartHeight/most)
				s.Bars = append(s.Bars, bar{X: i * 4, Y: chartHeight - h, H: h})
			}
		}
		d.Calls = append(d.Calls, s)
	}
	for _, name := range slices.Sorted(maps.Keys(codes)) {
		d.Errors = append(d.Errors, count{name, codes[name]})
	}
	slices.SortStableFunc(calls, func(a, b registry.KeptCall) int { return cmp.Compare(b.Ms, a.Ms) })
	d.Slow = calls[:min(len(calls), slowShown)]
	return v.show("health", "", "Health", d)
}
