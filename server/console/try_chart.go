package console

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// A tryChart is a column of numbers as a picture: a line over times that go one way, else bars.
type tryChart struct {
	Line          bool
	Value, Label  string // names of the columns
	Bars          []tryBar
	Points        string // of the line
	First, Last   string // labels below the line
	Top, Bottom   string // values beside it
	Width, Height int
}

type tryBar struct {
	Label, Value string
	Y, W         int
	TextX        int
}

const (
	chartBars   = 30
	chartPoints = 500
	barHeight   = 18
	barWidth    = 420
	lineWidth   = 640
	lineHeight  = 180
)

var aTime = regexp.MustCompile(`^"\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}.*)?)?"$`)

// chartOf draws the first column of numbers over the first column of anything else; nil is nothing to draw.
func chartOf(columns []string, rows [][]json.RawMessage) *tryChart {
	every := func(k int, is func(string) bool) bool {
		some := false
		for _, row := range rows {
			if k >= len(row) || string(row[k]) == "null" {
				continue
			}
			if !is(string(row[k])) {
				return false
			}
			some = true
		}
		return some
	}
	number := func(s string) bool { _, err := strconv.ParseFloat(s, 64); return err == nil }
	value, label := -1, -1
	for k, name := range columns {
		switch {
		case !every(k, number):
			if label < 0 {
				label = k
			}
		case value < 0 && name != "id" && !strings.HasSuffix(name, "_id"):
			value = k
		}
	}
	if value < 0 || label < 0 || len(rows) < 2 {
		return nil
	}
	c := &tryChart{Value: columns[value], Label: columns[label]}
	if every(label, aTime.MatchString) && oneWay(rows, label) && len(rows) > 2 {
		c.line(rows[:min(len(rows), chartPoints)], value, label)
	} else {
		c.bars(rows[:min(len(rows), chartBars)], value, label)
	}
	if c.Bars == nil && c.Points == "" {
		return nil
	}
	return c
}

// oneWay says whether the texts of a column rise or fall, and there is one in every row.
func oneWay(rows [][]json.RawMessage, k int) bool {
	up, down := true, true
	for i, row := range rows {
		if k >= len(row) || string(row[k]) == "null" {
			return false
		}
		if i > 0 {
			before, now := string(rows[i-1][k]), string(row[k])
			up, down = up && before <= now, down && before >= now
		}
	}
	return up || down
}

func at(row []json.RawMessage, k int) float64 {
	if k >= len(row) {
		return 0
	}
	x, _ := strconv.ParseFloat(string(row[k]), 64) // null is drawn as nothing
	return x
}

func (c *tryChart) bars(rows [][]json.RawMessage, value, label int) {
	most := 0.0
	for _, row := range rows {
		most = math.Max(most, at(row, value))
	}
	if most <= 0 {
		return
	}
	for i, row := range rows {
		name := ""
		if label < len(row) {
			name = short(shown(row[label]))
		}
		width := int(math.Max(0, at(row, value)) / most * barWidth)
		c.Bars = append(c.Bars, tryBar{Label: name, Value: shown(row[value]), Y: i * barHeight, W: width, TextX: 166 + width})
	}
	c.Width, c.Height = 680, len(c.Bars)*barHeight
}

func short(s string) string {
	if r := []rune(s); len(r) > 16 {
		return string(r[:15]) + "…"
	}
	return s
}

func (c *tryChart) line(rows [][]json.RawMessage, value, label int) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, row := range rows {
		low, high = math.Min(low, at(row, value)), math.Max(high, at(row, value))
	}
	if low > 0 && low < high/2 {
		low = 0
	}
	room := math.Max(high-low, 1e-9)
	var b strings.Builder
	for i, row := range rows {
		x := 20 + float64(i)*lineWidth/float64(len(rows)-1)
		y := 20 + (high-at(row, value))/room*lineHeight
		fmt.Fprintf(&b, "%.1f,%.1f ", x, y)
	}
	c.Line, c.Points = true, strings.TrimSpace(b.String())
	c.First, c.Last = shown(rows[0][label]), shown(rows[len(rows)-1][label])
	c.Top, c.Bottom = strconv.FormatFloat(high, 'g', 8, 64), strconv.FormatFloat(low, 'g', 8, 64)
	c.Width, c.Height = lineWidth+40, lineHeight+50
}
