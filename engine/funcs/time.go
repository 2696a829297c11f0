package funcs

// The functions of dates and times. Callers' spellings (STRFTIME, DATE_FORMAT, TO_CHAR, EXTRACT, DATE_TRUNC,
// DATE('now', …), …) are turned into these where calls are bound. Weeks are those of ISO 8601.
var timeFuncs = []Func{
	part("YEAR", "", "Year", "YEAR({0})", "YEAR", "%Y"),
	part("MONTH", "", "Month, 1 to 12", "MONTH({0})", "MONTH", "%m"),
	part("DAY", "DAYOFMONTH", "Day of the month", "DAYOFMONTH({0})", "DAY", "%d"),
	part("HOUR", "", "Hour", "HOUR({0})", "HOUR", "%H").clock(),
	part("MINUTE", "", "Minute", "MINUTE({0})", "MINUTE", "%M").clock(),
	{Name: "SECOND", Doc: "Second of the minute, without its fraction", Args: []Arg{{Kind: Clock}}, Result: Integer, Leaf: true,
		MySQL: "SECOND({0})", Postgres: "CAST(FLOOR(EXTRACT(SECOND FROM {0})) AS bigint)", SQLite: "CAST(strftime('%S', {0}) AS INTEGER)"},
	{Name: "QUARTER", Doc: "Quarter of the year", Args: []Arg{{Kind: Moment}}, Result: Integer, Leaf: true,
		MySQL: "QUARTER({0})", Postgres: "CAST(EXTRACT(QUARTER FROM {0}) AS bigint)", SQLite: "((CAST(strftime('%m', {0}) AS INTEGER) + 2) / 3)"},
	part("WEEK", "WEEKOFYEAR", "Week by ISO 8601: it begins on Monday, week 1 holds the first Thursday", "WEEK({0}, 3)", "WEEK", "%V"),
	part("DOY", "DAYOFYEAR", "Day of the year", "DAYOFYEAR({0})", "DOY", "%j"),
	// DOW counts from Sunday as 0, DAYOFWEEK from Sunday as 1, WEEKDAY from Monday as 0, ISODOW from Monday as 1.
	part("DOW", "", "Day of the week, from Sunday as 0", "(DAYOFWEEK({0}) - 1)", "DOW", "%w"),
	part("ISODOW", "", "Day of the week, from Monday as 1", "(WEEKDAY({0}) + 1)", "ISODOW", "%u"),
	{Name: "DAYOFWEEK", Doc: "Day of the week, from Sunday as 1", Args: []Arg{{Kind: Moment}}, Result: Integer, Leaf: true,
		MySQL: "DAYOFWEEK({0})", Postgres: "(CAST(EXTRACT(DOW FROM {0}) AS bigint) + 1)", SQLite: "(CAST(strftime('%w', {0}) AS INTEGER) + 1)"},
	{Name: "WEEKDAY", Doc: "Day of the week, from Monday as 0", Args: []Arg{{Kind: Moment}}, Result: Integer, Leaf: true,
		MySQL: "WEEKDAY({0})", Postgres: "(CAST(EXTRACT(ISODOW FROM {0}) AS bigint) - 1)", SQLite: "(CAST(strftime('%u', {0}) AS INTEGER) - 1)"},
	// English, whatever language a server speaks.
	{Name: "DAYNAME", Doc: "Name of the day, in English", Args: []Arg{{Kind: Moment}}, Result: String, Leaf: true,
		MySQL:    "(CASE DAYOFWEEK({0}) WHEN 1" + days + ")",
		Postgres: "TO_CHAR({0}, 'FMDay')", SQLite: "(CASE CAST(strftime('%w', {0}) AS INTEGER) + 1 WHEN 1" + days + ")"},
	{Name: "MONTHNAME", Doc: "Name of the month, in English", Args: []Arg{{Kind: Moment}}, Result: String, Leaf: true,
		MySQL:    "(CASE MONTH({0}) WHEN 1" + monthNames + ")",
		Postgres: "TO_CHAR({0}, 'FMMonth')", SQLite: "(CASE CAST(strftime('%m', {0}) AS INTEGER) WHEN 1" + monthNames + ")"},
	{Name: "EPOCH", Doc: "Seconds since 1970-01-01 00:00:00, without a fraction; of a field that keeps its zone in UTC, else as the clock shows", Aliases: "UNIX_TIMESTAMP UNIXEPOCH", Args: []Arg{{Kind: Moment}}, Result: Integer, Leaf: true,
		MySQL:    "CAST(FLOOR(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', {0}) / 1000000) AS SIGNED)",
		Postgres: "CAST(FLOOR(" + finite("EXTRACT(EPOCH FROM {0})") + ") AS bigint)", SQLite: "resq_epoch({0})"},
	{Name: "JULIANDAY", Doc: "Days since noon of 24 November 4714 BC, with a fraction; differences are days", Args: []Arg{{Kind: Moment}}, Result: Number, Leaf: true,
		MySQL:    "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', {0}) / 86400000000e0 + 2440587.5e0)",
		Postgres: "(CAST(" + finite("EXTRACT(EPOCH FROM {0})") + " AS double precision) / 86400 + 2440587.5)", SQLite: "resq_julian({0})"},
	{Name: "#DATE", Args: []Arg{{Kind: Day}}, Result: Date,
		MySQL: "DATE({0})", Postgres: "CAST({0} AS date)", SQLite: "date({0})"},
	{Name: "#DATETIME", Args: []Arg{{Kind: Moment}}, Result: DateTime,
		MySQL: "CAST(DATE_FORMAT({0}, '%Y-%m-%d %H:%i:%s') AS DATETIME)", Postgres: "DATE_TRUNC('second', CAST({0} AS timestamp))", SQLite: "datetime({0})"},
	{Name: "#TIME", Args: []Arg{{Kind: Moment}}, Result: Time,
		MySQL: "CAST(DATE_FORMAT({0}, '%H:%i:%s') AS TIME)", Postgres: "CAST(DATE_TRUNC('second', CAST({0} AS timestamp)) AS time)", SQLite: "time({0})"},
	{Name: "LAST_DAY", Doc: "Last day of the month", Args: []Arg{{Kind: Moment}}, Result: Date, Leaf: true,
		MySQL: "LAST_DAY({0})", Postgres: "CAST(DATE_TRUNC('month', {0}) + INTERVAL '1 month' - INTERVAL '1 day' AS date)", SQLite: "resq_last_day({0})"},

	trunc("YEAR", "CAST(DATE_FORMAT({0}, '%Y-01-01 00:00:00') AS DATETIME)", "year", "strftime('%Y-01-01 00:00:00', {0})"),
	trunc("QUARTER", "CAST(CONCAT(DATE_FORMAT({0}, '%Y-'), CASE QUARTER({0}) WHEN 1 THEN '01' WHEN 2 THEN '04' WHEN 3 THEN '07' ELSE '10' END, '-01 00:00:00') AS DATETIME)", "quarter",
		"(strftime('%Y', {0}) || CASE WHEN strftime('%m', {0}) <= '03' THEN '-01' WHEN strftime('%m', {0}) <= '06' THEN '-04' WHEN strftime('%m', {0}) <= '09' THEN '-07' ELSE '-10' END || '-01 00:00:00')"),
	trunc("MONTH", "CAST(DATE_FORMAT({0}, '%Y-%m-01 00:00:00') AS DATETIME)", "month", "strftime('%Y-%m-01 00:00:00', {0})"),
	trunc("WEEK", "CAST(DATE(DATE_SUB({0}, INTERVAL WEEKDAY({0}) DAY)) AS DATETIME)", "week", "datetime({0}, 'start of day', '-6 days', 'weekday 1')"),
	trunc("DAY", "CAST(DATE({0}) AS DATETIME)", "day", "datetime({0}, 'start of day')"),
	trunc("HOUR", "CAST(DATE_FORMAT({0}, '%Y-%m-%d %H:00:00') AS DATETIME)", "hour", "strftime('%Y-%m-%d %H:00:00', {0})"),
	trunc("MINUTE", "CAST(DATE_FORMAT({0}, '%Y-%m-%d %H:%i:00') AS DATETIME)", "minute", "strftime('%Y-%m-%d %H:%M:00', {0})"),
	trunc("SECOND", "CAST(DATE_FORMAT({0}, '%Y-%m-%d %H:%i:%s') AS DATETIME)", "second", "datetime({0})"),

	// Adding to a date gives a date, adding to a moment a moment; the day is cut to the month's last.
	add("DATE", "YEAR", "10000"), add("DATE", "MONTH", "120000"), add("DATE", "DAY", "3660000"),
	add("MOMENT", "YEAR", "10000"), add("MOMENT", "MONTH", "120000"), add("MOMENT", "DAY", "3660000"),
	add("MOMENT", "HOUR", "87840000"), add("MOMENT", "MINUTE", "5270400000"), add("MOMENT", "SECOND", "316224000000"),

	// DATEDIFF(a, b) is a − b in days; the others are complete units from the first to the second.
	{Name: "#DAYS_BETWEEN", Args: []Arg{{Kind: Day}, {Kind: Day}}, Result: Integer,
		MySQL: "DATEDIFF({0}, {1})", Postgres: "(CASE WHEN " + bothFinite + " THEN CAST(CAST({0} AS date) - CAST({1} AS date) AS bigint) END)", SQLite: "CAST(ROUND(julianday(date({0})) - julianday(date({1}))) AS INTEGER)"},
	span("SECOND", "1"), span("MINUTE", "60"), span("HOUR", "3600"), span("DAY", "86400"), span("WEEK", "604800"),
	months("MONTH", ""), months("QUARTER", " / 3"), months("YEAR", " / 12"),
}

const (
	days       = " THEN 'Sunday' WHEN 2 THEN 'Monday' WHEN 3 THEN 'Tuesday' WHEN 4 THEN 'Wednesday' WHEN 5 THEN 'Thursday' WHEN 6 THEN 'Friday' WHEN 7 THEN 'Saturday' END"
	monthNames = " THEN 'January' WHEN 2 THEN 'February' WHEN 3 THEN 'March' WHEN 4 THEN 'April' WHEN 5 THEN 'May' WHEN 6 THEN 'June' WHEN 7 THEN 'July'" +
		" WHEN 8 THEN 'August' WHEN 9 THEN 'September' WHEN 10 THEN 'October' WHEN 11 THEN 'November' WHEN 12 THEN 'December' END"
)

// What cannot be counted of PostgreSQL's infinity is NULL: it answers some of that with NULL itself and fails at the rest.
const bothFinite = "ISFINITE({0}) AND ISFINITE({1})"

// finite is a number that PostgreSQL takes out of a moment, without those it takes out of infinity.
func finite(number string) Template {
	return Template("NULLIF(NULLIF(" + number + ", 'Infinity'), '-Infinity')")
}

func part(name, aliases, doc string, mysql Template, pg, sqlite string) Func {
	postgres := Template("EXTRACT(" + pg + " FROM {0})")
	if pg == "YEAR" {
		postgres = finite(string(postgres))
	}
	return Func{Name: name, Aliases: aliases, Doc: doc, Args: []Arg{{Kind: Moment}}, Result: Integer, Leaf: true, MySQL: mysql,
		Postgres: "CAST(" + postgres + " AS bigint)", SQLite: Template("CAST(strftime('" + sqlite + "', {0}) AS INTEGER)")}
}

// clock is the same of a time of day too.
func (f Func) clock() Func {
	f.Args = []Arg{{Kind: Clock}}
	return f
}

func trunc(unit string, mysql Template, pg string, sqlite Template) Func {
	return Func{Name: "#TRUNC_" + unit, Args: []Arg{{Kind: Moment}}, Result: DateTime, MySQL: mysql,
		Postgres: Template("DATE_TRUNC('" + pg + "', {0})"), SQLite: sqlite}
}

// add adds n units. Nothing is added beyond 10,000 years, and a result outside the years 1 to 9999 is NULL:
// beyond them the databases differ, and fail.
func add(what, unit, most string) Func {
	f := Func{Name: "#ADD_" + what + "_" + unit, Args: []Arg{{Kind: Moment}, {Kind: Num}}, Result: DateTime}
	mysql, kind := "DATE_ADD({0}, INTERVAL "+inside("{1}", most)+" "+unit+")", "timestamp"
	shift := "resq_shift("
	if what == "DATE" {
		f.Args[0].Kind, f.Result = Day, Date
		mysql, kind, shift = "DATE("+mysql+")", "date", "resq_shift_day("
	}
	postgres := "CAST({0} + CAST(" + inside("{1}", most) + " AS double precision) * INTERVAL '1 " + unit + "' AS " + kind + ")"
	f.MySQL = Template(mysql)
	if unit == "YEAR" || unit == "MONTH" { // days and less end at year 1 by themselves
		f.MySQL = Template("(CASE WHEN YEAR(" + mysql + ") >= 1 THEN " + mysql + " END)")
	}
	f.Postgres = Template("(CASE WHEN EXTRACT(YEAR FROM " + postgres + ") BETWEEN 1 AND 9999 THEN " + postgres + " END)")
	f.SQLite = Template(shift + "{0}, {1}, '" + unit + "')")
	return f
}

func inside(n, most string) string {
	return "CASE WHEN " + n + " BETWEEN -" + most + " AND " + most + " THEN " + n + " END"
}

func span(unit, seconds string) Func {
	return Func{Name: "#DIFF_" + unit, Args: []Arg{{Kind: Moment}, {Kind: Moment}}, Result: Integer,
		MySQL:    Template("TIMESTAMPDIFF(" + unit + ", {0}, {1})"),
		Postgres: Template("(CASE WHEN " + bothFinite + " THEN CAST(TRUNC(EXTRACT(EPOCH FROM ({1} - {0})) / " + seconds + ") AS bigint) END)"),
		SQLite:   Template("resq_span({0}, {1}, " + seconds + ")")}
}

func months(unit, div string) Func {
	return Func{Name: "#DIFF_" + unit, Args: []Arg{{Kind: Moment}, {Kind: Moment}}, Result: Integer,
		MySQL:    Template("TIMESTAMPDIFF(" + unit + ", {0}, {1})"),
		Postgres: Template("(CASE WHEN " + bothFinite + " THEN CAST(EXTRACT(YEAR FROM AGE({1}, {0})) * 12 + EXTRACT(MONTH FROM AGE({1}, {0})) AS bigint)" + div + " END)"),
		SQLite:   Template("(resq_months({0}, {1})" + div + ")")}
}
