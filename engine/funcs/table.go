package funcs

const big = 10_000

// occurrences is how often {1} is in {0}, to MySQL.
const occurrences = "(CHAR_LENGTH({0}) - CHAR_LENGTH(REPLACE({0}, {1}, ''))) DIV CHAR_LENGTH({1})"

// long is the most characters or times that a function makes of one.
const long = 1000

var textFuncs = []Func{
	// SQLite's own know the letters of ASCII only.
	{Name: "UPPER", Doc: "In capital letters", Aliases: "UCASE", Args: []Arg{{Kind: Text}}, Result: String, Leaf: true,
		MySQL: "UPPER({0})", Postgres: "UPPER({0})", SQLite: "resq_upper({0})"},
	{Name: "LOWER", Doc: "In small letters", Aliases: "LCASE", Args: []Arg{{Kind: Text}}, Result: String, Leaf: true,
		MySQL: "LOWER({0})", Postgres: "LOWER({0})", SQLite: "resq_lower({0})"},
	Func{Name: "TRIM", Doc: "Without blanks at both ends", Aliases: "BTRIM", Args: []Arg{{Kind: Text}}, Result: String, Leaf: true}.all("TRIM({0})"),
	Func{Name: "LTRIM", Doc: "Without blanks at the beginning", Args: []Arg{{Kind: Text}}, Result: String, Leaf: true}.all("LTRIM({0})"),
	Func{Name: "RTRIM", Doc: "Without blanks at the end", Args: []Arg{{Kind: Text}}, Result: String, Leaf: true}.all("RTRIM({0})"),
	// MySQL's LENGTH counts bytes; the others count characters.
	{Name: "LENGTH", Doc: "Number of characters, not of bytes", Aliases: "CHAR_LENGTH CHARACTER_LENGTH LEN", Args: []Arg{{Kind: Text}}, Result: Integer, Leaf: true,
		MySQL: "CHAR_LENGTH({0})", Postgres: "CAST(CHAR_LENGTH({0}) AS bigint)", SQLite: "LENGTH({0})"},
	{Name: "SUBSTRING", Doc: "The part from character n on, of m characters if m is given; a negative n counts from the end; `FROM n FOR m` may stand instead of commas", Aliases: "SUBSTR MID", Args: []Arg{{Kind: Text}, {Kind: LitInt, Min: -big, Max: big}, {Kind: LitInt, Min: 0, Max: big}}, Optional: 1, Result: String, Leaf: true,
		MySQL: "SUBSTRING({0}, {1}, {2})", Postgres: "SUBSTRING({0} FROM {1} FOR {2})", SQLite: "SUBSTR({0}, {1}, {2})",
		Short: &Func{MySQL: "SUBSTRING({0}, {1})", Postgres: "SUBSTRING({0} FROM {1})", SQLite: "SUBSTR({0}, {1})"}},
	// A negative start counts from the end in MySQL and SQLite; PostgreSQL has RIGHT for that.
	{Name: "#SUBSTRING_END", Args: []Arg{{Kind: Text}, {Kind: LitInt, Min: 1, Max: big}, {Kind: LitInt, Min: 0, Max: big}}, Result: String,
		MySQL: "LEFT(RIGHT({0}, {1}), {2})", Postgres: "LEFT(RIGHT({0}, {1}), {2})", SQLite: "SUBSTR(SUBSTR({0}, -{1}), 1, {2})"},
	{Name: "LEFT", Doc: "The first n characters", Args: []Arg{{Kind: Text}, {Kind: LitInt, Min: 0, Max: big}}, Result: String, Leaf: true,
		MySQL: "LEFT({0}, {1})", Postgres: "LEFT({0}, {1})", SQLite: "SUBSTR({0}, 1, {1})"},
	{Name: "RIGHT", Doc: "The last n characters", Args: []Arg{{Kind: Text}, {Kind: LitInt, Min: 0, Max: big}}, Result: String, Leaf: true,
		MySQL: "RIGHT({0}, {1})", Postgres: "RIGHT({0}, {1})", SQLite: "CASE WHEN {1} = 0 THEN SUBSTR({0}, 1, 0) ELSE SUBSTR({0}, -{1}) END"},
	Func{Name: "REPLACE", Doc: "With every occurrence of the second text replaced by the third; case matters", Args: []Arg{{Kind: Text}, {Kind: LitText, Max: 1000}, {Kind: LitText, Max: 100}}, Result: String, Leaf: true}.all("REPLACE({0}, {1}, {2})"),
	{Name: "REVERSE", Doc: "With the characters in reverse order", Args: []Arg{{Kind: Text}}, Result: String, Leaf: true,
		MySQL: "REVERSE({0})", Postgres: "REVERSE({0})", SQLite: "resq_reverse({0})"},
	{Name: "CONCAT", Doc: "All arguments as one text; NULL counts as the empty text (`||` gives NULL instead)", Args: []Arg{{Kind: Text}}, Variadic: true, Result: String,
		MySQL: "CONCAT({*|COALESCE(|, '')|, })", Postgres: "CONCAT({*|||, })", SQLite: "({*|COALESCE(|, '')| || })"},
	// Beside a pad that is longer than the rest all three cut it, and a text that is too long at its end.
	{Name: "LPAD", Doc: "n characters long: filled in front with the second text, or cut at the end", Args: []Arg{{Kind: Text}, {Kind: LitInt, Min: 0, Max: long}, {Kind: LitText, Min: 1, Max: 100}}, Result: String,
		MySQL: "LPAD({0}, {1}, {2})", Postgres: "LPAD({0}, {1}, {2})", SQLite: "resq_pad({0}, {1}, {2}, 0)"},
	{Name: "RPAD", Doc: "n characters long: filled behind with the second text, or cut at the end", Args: []Arg{{Kind: Text}, {Kind: LitInt, Min: 0, Max: long}, {Kind: LitText, Min: 1, Max: 100}}, Result: String,
		MySQL: "RPAD({0}, {1}, {2})", Postgres: "RPAD({0}, {1}, {2})", SQLite: "resq_pad({0}, {1}, {2}, 1)"},
	{Name: "REPEAT", Doc: "The text n times", Args: []Arg{{Kind: Text}, {Kind: LitInt, Min: 0, Max: long}}, Result: String,
		MySQL: "REPEAT({0}, {1})", Postgres: "REPEAT({0}, {1})", SQLite: "resq_repeat({0}, {1})"},
	// What is between two separators is found by what is in front of it: MySQL has no function for it. Where n is
	// negative, MySQL's SUBSTRING_INDEX looks for separators from the left or from the right by the character set.
	{Name: "SPLIT_PART", Doc: "Part n, from 1, of the text split at the second one; the empty text if there are fewer; case matters", Args: []Arg{{Kind: Text}, {Kind: LitText, Min: 1, Max: 100}, {Kind: LitInt, Min: 1, Max: big}}, Result: String, Leaf: true,
		MySQL: "SUBSTRING(SUBSTRING_INDEX({0}, {1}, {2}), " +
			"CHAR_LENGTH(SUBSTRING_INDEX({0}, {1}, {2} - 1)) + CASE WHEN {2} > 1 THEN CHAR_LENGTH({1}) ELSE 0 END + 1)",
		Postgres: "SPLIT_PART({0}, {1}, {2})", SQLite: "resq_parts({0}, {1}, {2}, {2})"},
	{Name: "SUBSTRING_INDEX", Doc: "The text up to occurrence n of the second one, or all; with a negative n what is behind occurrence n from the end; case matters", Args: []Arg{{Kind: Text}, {Kind: LitText, Min: 1, Max: 100}, {Kind: LitInt, Min: -big, Max: big}}, Result: String, Leaf: true,
		MySQL:    "SUBSTRING_INDEX({0}, {1}, {2})",
		Postgres: "ARRAY_TO_STRING((STRING_TO_ARRAY({0}, {1}))[1:{2}], {1})", SQLite: "resq_parts({0}, {1}, 1, {2})"},
	{Name: "#SUBSTRING_INDEX_END", Args: []Arg{{Kind: Text}, {Kind: LitText, Max: 100}, {Kind: LitInt, Min: 1, Max: big}}, Result: String,
		MySQL:    "(CASE WHEN " + occurrences + " >= {2} THEN SUBSTRING({0}, CHAR_LENGTH(SUBSTRING_INDEX({0}, {1}, " + occurrences + " + 1 - {2})) + CHAR_LENGTH({1}) + 1) ELSE {0} END)",
		Postgres: "ARRAY_TO_STRING((STRING_TO_ARRAY({0}, {1}))[GREATEST(1, CARDINALITY(STRING_TO_ARRAY({0}, {1})) - {2} + 1):], {1})",
		SQLite:   "resq_parts({0}, {1}, -{2}, -1)"},
	// Joins what is not NULL.
	Func{Name: "CONCAT_WS", Doc: "The arguments that are not NULL, with the first between them", Args: []Arg{{Kind: LitText, Max: 100}, {Kind: Text}}, Variadic: true, Result: String}.all("CONCAT_WS({*|||, })"),
	// POSITION(needle IN haystack), 1 for the first character, 0 for none. MySQL's follows the collation, which
	// may take A for a.
	{Name: "POSITION", Doc: "Where the first text begins in the second, from 1; 0 if it is not there; case matters; also `POSITION(a IN b)`", Aliases: "LOCATE CHARINDEX", Args: []Arg{{Kind: Text}, {Kind: Text}}, Result: Integer,
		MySQL: "LOCATE(CONVERT({0} USING utf8mb4) COLLATE utf8mb4_bin, CONVERT({1} USING utf8mb4))", Postgres: "CAST(STRPOS({1}, {0}) AS bigint)", SQLite: "INSTR({1}, {0})"},
	{Name: "INSTR", Doc: "Where the second text begins in the first, from 1; 0 if it is not there; case matters", Aliases: "STRPOS", Args: []Arg{{Kind: Text}, {Kind: Text}}, Result: Integer, Leaf: true,
		MySQL: "LOCATE(CONVERT({1} USING utf8mb4) COLLATE utf8mb4_bin, CONVERT({0} USING utf8mb4))", Postgres: "CAST(STRPOS({0}, {1}) AS bigint)", SQLite: "INSTR({0}, {1})"},
}

var numberFuncs = []Func{
	{Name: "ABS", Doc: "Absolute value", Args: []Arg{{Kind: Num}}, Result: Same, Leaf: true,
		MySQL: "ABS({0})", Postgres: "ABS({0})", SQLite: "resq_abs({0})",
		// The widest negative integer has no positive twin.
		Whole: &Func{MySQL: "ABS(CAST({0} AS DECIMAL(38, 0)))", Postgres: "ABS(CAST({0} AS numeric))", SQLite: "resq_abs({0})"}},
	// Sorts whole numbers beyond 64 bits among the others.
	{Name: "#SORT_WHOLE", Args: []Arg{{Kind: Num}}, Result: Integer, MySQL: "{0}", Postgres: "{0}", SQLite: "resq_order({0})"},
	{Name: "#WHOLE", Args: []Arg{{Kind: Num}}, Result: Integer, MySQL: "{0}", Postgres: "{0}", SQLite: "resq_whole({0})"},
	{Name: "SIGN", Doc: "-1, 0 or 1", Args: []Arg{{Kind: Num}}, Result: Integer, Leaf: true,
		MySQL: "SIGN({0})", Postgres: "CAST(SIGN({0}) AS bigint)", SQLite: "SIGN({0})"},
	// A double is rounded by the digits that it shows: 1.005 to 1.01. From 10^15 on it has no fraction.
	{Name: "ROUND", Doc: "Rounded to n digits (0), half away from zero; a negative n rounds in front of the point", Args: []Arg{{Kind: Num}, {Kind: LitInt, Min: -10, Max: 10}}, Optional: 1, Result: RoundOf, Leaf: true,
		MySQL:    "(CASE WHEN ABS({0}) < 1e15 THEN ROUND(CAST({0} AS DECIMAL(65, 20)), {1}) ELSE {0} END)",
		Postgres: "(CASE WHEN ABS({0}) < 1e15 THEN ROUND(CAST(CAST({0} AS text) AS numeric), {1}) ELSE {0} END)", SQLite: "resq_round({0}, {1})",
		Exact: &Func{MySQL: "ROUND({0}, {1})", Postgres: "ROUND({0}, {1})", SQLite: "resq_round({0}, {1})"},
		Whole: &Func{MySQL: "ROUND(CAST({0} AS DECIMAL(38, 0)), {1})", Postgres: "ROUND(CAST({0} AS numeric), {1})", SQLite: "resq_round({0}, {1})"}},
	{Name: "TRUNCATE", Doc: "Cut to n digits (0), towards zero; a negative n cuts in front of the point", Aliases: "TRUNC", Args: []Arg{{Kind: Num}, {Kind: LitInt, Min: -10, Max: 10}}, Optional: 1, Result: RoundOf, Leaf: true,
		MySQL:    "(CASE WHEN ABS({0}) < 1e15 THEN TRUNCATE(CAST({0} AS DECIMAL(65, 20)), {1}) ELSE {0} END)",
		Postgres: "(CASE WHEN ABS({0}) < 1e15 THEN TRUNC(CAST(CAST({0} AS text) AS numeric), {1}) ELSE {0} END)", SQLite: "resq_trunc({0}, {1})",
		Exact: &Func{MySQL: "TRUNCATE({0}, {1})", Postgres: "TRUNC({0}, {1})", SQLite: "resq_trunc({0}, {1})"},
		Whole: &Func{MySQL: "TRUNCATE(CAST({0} AS DECIMAL(38, 0)), {1})", Postgres: "TRUNC(CAST({0} AS numeric), {1})", SQLite: "resq_trunc({0}, {1})"}},
	// Grouped by, MariaDB would cut these of a double to 17 digits.
	{Name: "CEIL", Doc: "The next whole number above or equal", Aliases: "CEILING", Args: []Arg{{Kind: Num}}, Result: RoundOf, Leaf: true,
		MySQL: "(CEILING({0}) + 0e0)", Postgres: "CEIL({0})", SQLite: "CEIL({0})",
		Exact: &Func{MySQL: "CEILING({0})", Postgres: "CEIL({0})", SQLite: "CEIL({0})"}},
	{Name: "FLOOR", Doc: "The next whole number below or equal", Args: []Arg{{Kind: Num}}, Result: RoundOf, Leaf: true,
		MySQL: "(FLOOR({0}) + 0e0)", Postgres: "FLOOR({0})", SQLite: "FLOOR({0})",
		Exact: &Func{MySQL: "FLOOR({0})", Postgres: "FLOOR({0})", SQLite: "FLOOR({0})"}},
	// The functions below are total: what has no value, or none that fits, is NULL.
	{Name: "SQRT", Doc: "Square root; NULL of a negative number", Args: []Arg{{Kind: Num}}, Result: Number, Leaf: true,
		MySQL: "SQRT({0})", Postgres: "SQRT(CAST(CASE WHEN {0} >= 0 THEN {0} END AS double precision))", SQLite: "SQRT({0})"},
	{Name: "EXP", Doc: "e to this power; NULL where a double has no room", Args: []Arg{{Kind: Num}}, Result: Number, Leaf: true,
		MySQL:    "EXP(CASE WHEN {0} < 709 THEN {0} END)",
		Postgres: "(CASE WHEN {0} < -700 THEN 0 WHEN {0} < 709 THEN EXP(CAST({0} AS double precision)) END)",
		SQLite:   "EXP(CASE WHEN {0} < 709 THEN {0} END)"},
	{Name: "LN", Doc: "Natural logarithm; NULL of zero and below", Args: []Arg{{Kind: Num}}, Result: Number, Leaf: true,
		MySQL: "LN({0})", Postgres: "LN(CAST(CASE WHEN {0} > 0 THEN {0} END AS double precision))", SQLite: "LN(CASE WHEN {0} > 0 THEN {0} END)"},
	{Name: "LOG10", Doc: "Logarithm to the base of ten; NULL of zero and below", Args: []Arg{{Kind: Num}}, Result: Number, Leaf: true,
		MySQL: "LOG10({0})", Postgres: "LOG(CAST(CASE WHEN {0} > 0 THEN {0} END AS double precision))", SQLite: "LOG10(CASE WHEN {0} > 0 THEN {0} END)"},
	{Name: "LOG2", Doc: "Logarithm to the base of two; NULL of zero and below", Args: []Arg{{Kind: Num}}, Result: Number, Leaf: true,
		MySQL: "LOG2({0})", Postgres: "(LN(CAST(CASE WHEN {0} > 0 THEN {0} END AS double precision)) / LN(CAST(2 AS double precision)))", SQLite: "LOG2(CASE WHEN {0} > 0 THEN {0} END)"},
	// LOG of one number is the natural one to MySQL and that of ten to the others, so it is no function here.
	{Name: "LOG", Doc: "Logarithm of the second to the base of the first; NULL where there is none", Args: []Arg{{Kind: Num}, {Kind: Num}}, Result: Number,
		MySQL:    "(CASE WHEN {0} > 0 AND {0} <> 1 AND {1} > 0 THEN LN({1}) / LN({0}) END)",
		Postgres: "(CASE WHEN {0} > 0 AND {0} <> 1 AND {1} > 0 THEN LN(CAST({1} AS double precision)) / LN(CAST({0} AS double precision)) END)",
		SQLite:   "(CASE WHEN {0} > 0 AND {0} <> 1 AND {1} > 0 THEN LN({1}) / LN({0}) END)"},
	{Name: "PI", Doc: "The ratio of a circle's circumference to its diameter", Result: Number,
		MySQL: "3.141592653589793e0", Postgres: "CAST(3.141592653589793 AS double precision)", SQLite: "3.141592653589793"},
	Func{Name: "POWER", Doc: "The first to the power of the second; NULL where there is none or a double has no room", Aliases: "POW", Args: []Arg{{Kind: Num}, {Kind: Num}}, Result: Number, Leaf: true,
		Postgres: "(CASE WHEN {0} = 0 AND {1} >= 0 THEN CASE WHEN {1} = 0 THEN 1 ELSE 0 END" +
			" WHEN {0} <> 0 AND ({0} > 0 OR {1} = FLOOR({1})) THEN" +
			" CASE WHEN {1} * LN(ABS(CAST({0} AS double precision))) < -700 THEN 0" +
			" WHEN {1} * LN(ABS(CAST({0} AS double precision))) < 709 THEN POWER(CAST({0} AS double precision), CAST({1} AS double precision)) END END)",
		MySQL: "(CASE WHEN {0} = 0 AND {1} >= 0 THEN CASE WHEN {1} = 0 THEN 1 ELSE 0 END" +
			" WHEN {0} <> 0 AND ({0} > 0 OR {1} = FLOOR({1})) AND {1} * LN(ABS({0} * 1e0)) < 709 THEN POWER({0} * 1e0, {1}) END)",
		SQLite: "(CASE WHEN {0} = 0 AND {1} >= 0 THEN CASE WHEN {1} = 0 THEN 1 ELSE 0 END" +
			" WHEN {0} <> 0 AND ({0} > 0 OR {1} = FLOOR({1})) AND {1} * LN(ABS({0} * 1.0)) < 709 THEN POWER({0}, {1}) END)"},
}

// Aggregates that need more than a text (COUNT(*), AVG, the deviations, the string aggregates) are put together
// where calls are bound. STDDEV and VARIANCE alone mean the population to MySQL and a sample to PostgreSQL, so
// they are no names here.
var aggregateFuncs = []Func{
	Func{Name: "COUNT", Doc: "Number of values that are not NULL; `COUNT(*)` of rows, `COUNT(DISTINCT x)` of different values", Class: Aggregate, Args: []Arg{{Kind: Any}}, Result: Integer}.all("COUNT({0})"),
	Func{Name: "#COUNT_ROWS", Class: Aggregate, Result: Integer}.all("COUNT(*)"),
	// SQLite's own fails beyond 64 bits, and adds decimals as doubles.
	{Name: "SUM", Doc: "Sum; exact for integers and decimals; NULL of no value", Class: Aggregate, Args: []Arg{{Kind: Num}}, Result: SumOf, MySQL: "SUM({0})", Postgres: "SUM({0})", SQLite: "resq_sum({0})"},
	Func{Name: "MIN", Doc: "Least value; with several arguments as LEAST", Class: Aggregate, Args: []Arg{{Kind: Any}}, Result: Same}.all("MIN({0})"),
	Func{Name: "MAX", Doc: "Greatest value; with several arguments as GREATEST", Class: Aggregate, Args: []Arg{{Kind: Any}}, Result: Same}.all("MAX({0})"),
	// Any value of the group: the least is one, and the same on every database.
	Func{Name: "ANY_VALUE", Doc: "One value of the group: the least", Class: Aggregate, Args: []Arg{{Kind: Any}}, Result: Same}.all("MIN({0})"),
	Func{Name: "AVG", Doc: "Mean of the values that are not NULL, never cut to a whole number", Aliases: "MEAN", Class: Aggregate, Args: []Arg{{Kind: Num}}, Result: Number}.all(""),
	Func{Name: "VAR_POP", Doc: "Variance of all values", Class: Aggregate, Args: []Arg{{Kind: Num}}, Result: Number}.all(""),
	Func{Name: "VAR_SAMP", Doc: "Variance of a sample; NULL of one value", Class: Aggregate, Args: []Arg{{Kind: Num}}, Result: Number}.all(""),
	Func{Name: "STDDEV_POP", Doc: "Standard deviation of all values", Class: Aggregate, Args: []Arg{{Kind: Num}}, Result: Number}.all(""),
	Func{Name: "STDDEV_SAMP", Doc: "Standard deviation of a sample; NULL of one value", Class: Aggregate, Args: []Arg{{Kind: Num}}, Result: Number}.all(""),
	Func{Name: "GROUP_CONCAT", Doc: "The texts that are not NULL, with the separator (a comma) between them; beyond 10,000 characters it is cut, which the notice `TEXT_CUT` tells of an output, and `…` at the end elsewhere; `DISTINCT`, `ORDER BY` and `SEPARATOR '…'` may stand inside; without an order that of the values, numbers by what they are", Aliases: "STRING_AGG LISTAGG", Class: Aggregate, Args: []Arg{{Kind: Text}, {Kind: LitText, Max: 16}}, Optional: 1, Result: String}.all(""),
}

var windowFuncs = []Func{
	Func{Name: "ROW_NUMBER", Doc: "1, 2, 3, … in the window's order", Class: Window, Result: Integer}.all("ROW_NUMBER()"),
	Func{Name: "RANK", Doc: "Rank with gaps behind ties", Class: Window, Result: Integer}.all("RANK()"),
	Func{Name: "DENSE_RANK", Doc: "Rank without gaps", Class: Window, Result: Integer}.all("DENSE_RANK()"),
	Func{Name: "PERCENT_RANK", Doc: "(rank − 1) / (rows − 1), with ten digits behind the point", Class: Window, Result: Number}.all("PERCENT_RANK()"),
	Func{Name: "CUME_DIST", Doc: "Share of the rows up to this one and its ties, with ten digits behind the point", Class: Window, Result: Number}.all("CUME_DIST()"),
	Func{Name: "NTILE", Doc: "Number of the bucket, of n that are as even as can be", Class: Window, Args: []Arg{{Kind: LitInt, Min: 1, Max: big}}, Result: Integer}.all("NTILE({0})"),
	{Name: "LAG", Doc: "The value n rows (1) before, or where there is no such row the third (NULL)", Class: Window, Args: []Arg{{Kind: Any}, {Kind: LitInt, Min: 0, Max: big}, {Kind: Any}}, Optional: 2, Result: Same,
		Short: &Func{MySQL: "LAG({0})", Postgres: "LAG({0})", SQLite: "LAG({0})"}},
	{Name: "LEAD", Doc: "The value n rows (1) behind, or where there is no such row the third (NULL)", Class: Window, Args: []Arg{{Kind: Any}, {Kind: LitInt, Min: 0, Max: big}, {Kind: Any}}, Optional: 2, Result: Same,
		Short: &Func{MySQL: "LEAD({0})", Postgres: "LEAD({0})", SQLite: "LEAD({0})"}},
	Func{Name: "#LAG", Class: Window, Args: []Arg{{Kind: Any}, {Kind: LitInt}}, Result: Same}.all("LAG({0}, {1})"),
	Func{Name: "#LEAD", Class: Window, Args: []Arg{{Kind: Any}, {Kind: LitInt}}, Result: Same}.all("LEAD({0}, {1})"),
	Func{Name: "FIRST_VALUE", Doc: "The value of the frame's first row", Class: Window, Args: []Arg{{Kind: Any}}, Result: Same}.all("FIRST_VALUE({0})"),
	Func{Name: "LAST_VALUE", Doc: "The value of the frame's last row; without a frame that is the current one or its last tie", Class: Window, Args: []Arg{{Kind: Any}}, Result: Same}.all("LAST_VALUE({0})"),
	Func{Name: "NTH_VALUE", Doc: "The value of the frame's row n, or NULL", Class: Window, Args: []Arg{{Kind: Any}, {Kind: LitInt, Min: 1, Max: big}}, Result: Same}.all("NTH_VALUE({0}, {1})"),
}

var logicFuncs = []Func{
	Func{Name: "COALESCE", Doc: "The first that is not NULL", Aliases: "IFNULL NVL", Args: []Arg{{Kind: SameType}, {Kind: SameType}}, Variadic: true, Result: Shared, Leaf: true}.all("COALESCE({*|||, })"),
	Func{Name: "NULLIF", Doc: "NULL if both are equal, else the first", Args: []Arg{{Kind: SameType}, {Kind: SameType}}, Result: Shared, Leaf: true}.all("NULLIF({0}, {1})"),
	// NULL if any argument is, as in MySQL and SQLite; PostgreSQL alone would skip it.
	{Name: "GREATEST", Doc: "The greatest; NULL if one is NULL", Args: []Arg{{Kind: SameType}, {Kind: SameType}}, Variadic: true, Result: Shared,
		MySQL: "GREATEST({*|||, })", Postgres: "(CASE WHEN {*|| IS NULL| OR } THEN NULL ELSE GREATEST({*|||, }) END)", SQLite: "MAX({*|||, })"},
	{Name: "LEAST", Doc: "The least; NULL if one is NULL", Args: []Arg{{Kind: SameType}, {Kind: SameType}}, Variadic: true, Result: Shared,
		MySQL: "LEAST({*|||, })", Postgres: "(CASE WHEN {*|| IS NULL| OR } THEN NULL ELSE LEAST({*|||, }) END)", SQLite: "MIN({*|||, })"},
}
