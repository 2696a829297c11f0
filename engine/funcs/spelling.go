package funcs

// A Spelling is a function that no row of the table can hold: it reads a literal, takes a unit of time, or
// spells another function. Calls of it are put together where calls are bound.
type Spelling struct {
	Name, Args, Result, Doc string
	Leaf                    bool // may be fieldSqlFunc
}

// Spellings are these functions, for that place and for the reference.
var Spellings = []Spelling{
	{"CAST", "x AS type", "the type", "x as TEXT (CHAR, VARCHAR), INTEGER (INT, BIGINT, SIGNED), DECIMAL(p,s) (NUMERIC), REAL (FLOAT, DOUBLE), DATE, DATETIME (TIMESTAMP), TIME or BOOLEAN; what does not convert is NULL", true},
	{"EXTRACT", "unit FROM x", "integer", "YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND, DOW, ISODOW, DOY or EPOCH of x", true},
	{"DATE_PART", "'unit', x", "integer", "The same as EXTRACT", true},
	{"DATE", "x, ['modifier', …]", "date", "x as a date; `'now'` is the request's instant; modifiers are `'+1 day'`, `'-30 days'`, `'start of month'`, …", true},
	{"DATETIME", "x, ['modifier', …]", "datetime", "x as a datetime without a fraction of a second; modifiers as of DATE", true},
	{"TIMESTAMP", "x, ['modifier', …]", "datetime", "The same as DATETIME", false},
	{"TIME", "x, ['modifier', …]", "time", "The time of day of x; modifiers as of DATE", true},
	{"CURRENT_DATE", "", "date", "The day of the request; brackets may be left out", false},
	{"CURDATE", "", "date", "The same as CURRENT_DATE", false},
	{"CURRENT_TIMESTAMP", "", "datetime", "The instant of the request, one for all of it; brackets may be left out", false},
	{"LOCALTIMESTAMP", "", "datetime", "The same as CURRENT_TIMESTAMP", false},
	{"NOW", "", "datetime", "The same as CURRENT_TIMESTAMP", false},
	{"CURRENT_TIME", "", "time", "The time of day of the request; brackets may be left out", false},
	{"STRFTIME", "'format', x, ['modifier', …]", "text", "x in a format of `%Y %m %d %H %M %S %j %F %T %R`; alone `%s` is EPOCH, `%J` JULIANDAY, `%w` DOW", true},
	{"DATE_FORMAT", "x, 'format'", "text", "x in a format of `%Y %m %d %H %i %s %T`", true},
	{"TO_CHAR", "x, 'format'", "text", "x in a format of `YYYY MM DD HH24 MI SS DDD`", true},
	{"DATE_TRUNC", "'unit', x", "datetime", "x cut to its second, minute, hour, day, week (Monday), month, quarter or year", true},
	{"DATE_ADD", "x, INTERVAL n unit", "as x", "x and n units (SECOND to YEAR, n a whole number); the day is cut to the month's last; days if n stands alone; also `x + INTERVAL n unit`", true},
	{"ADDDATE", "x, INTERVAL n unit", "as x", "The same as DATE_ADD", false},
	{"DATE_SUB", "x, INTERVAL n unit", "as x", "x less n units; also `x - INTERVAL n unit`", true},
	{"SUBDATE", "x, INTERVAL n unit", "as x", "The same as DATE_SUB", false},
	{"TIMESTAMPADD", "unit, n, x", "as x", "The same as DATE_ADD", false},
	{"DATEDIFF", "a, b", "integer", "Days from b to a; of two dates also `a - b`", false},
	{"TIMESTAMPDIFF", "unit, a, b", "integer", "Complete units from a to b", false},
	{"IF", "condition, x, y", "shared", "x if the condition holds, else y", false},
	{"IIF", "condition, x, y", "shared", "The same as IF", false},
	{"MOD", "a, b", "as `a % b`", "Remainder, with the sign of a; NULL if b is 0", true},
	{"JSON_VALUE", "doc, '$.path'", "text", "What stands there, a text without its quotes; JSON null and what is not there are NULL; objects and arrays as the database writes them", true},
	{"JSON_EXTRACT", "doc, '$.path'", "text", "The same as JSON_VALUE", true},
	{"JSON_LENGTH", "doc, ['$.path']", "integer", "Length of the array that stands there; 0 of anything else", true},
	{"JSON_TYPE", "doc, ['$.path']", "text", "What stands there: object, array, string, number, boolean or null; NULL where there is nothing", true},
	{"JSON_ARRAY_LENGTH", "doc, ['$.path']", "integer", "The same as JSON_LENGTH", true},
}

// All lists the rows of the table that callers can name, in its order.
func All() []*Func {
	var all []*Func
	for _, list := range lists {
		for i := range list {
			if list[i].Doc != "" {
				all = append(all, &list[i])
			}
		}
	}
	return all
}
