package funcs

const big = 10_000

var textFuncs = []Func{
	// SQLite's own know the letters of ASCII only.
	{Name: "UPPER", Aliases: "UCASE", Args: []Arg{{Kind: Text}}, Result: String, Leaf: true,
		MySQL: "UPPER({0})", Postgres: "UPPER({0})", SQLite: "resq_upper({0})"},
	{Name: "LOWER", Aliases: "LCASE", Args: []Arg{{Kind: Text}}, Result: String, Leaf: true,
		MySQL: "LOWER({0})", Postgres: "LOWER({0})", SQLite: "resq_lower({0})"},
	Func{Name: "TRIM", Aliases: "BTRIM", Args: []Arg{{Kind: Text}}, Result: String, Leaf: true}.all("TRIM({0})"),
	Func{Name: "LTRIM", Args: []Arg{{Kind: Text}}, Result: String, Leaf: true}.all("LTRIM({0})"),
	Func{Name: "RTRIM", Args: []Arg{{Kind: Text}}, Result: String, Leaf: true}.all("RTRIM({0})"),
	// MySQL's LENGTH counts bytes; the others count characters.
	{Name: "LENGTH", Aliases: "CHAR_LENGTH CHARACTER_LENGTH LEN", Args: []Arg{{Kind: Text}}, Result: Integer, Leaf: true,
		MySQL: "CHAR_LENGTH({0})", Postgres: "CAST(CHAR_LENGTH({0}) AS bigint)", SQLite: "LENGTH({0})"},
	{Name: "SUBSTRING", Aliases: "SUBSTR MID", Args: []Arg{{Kind: Text}, {Kind: LitInt, Min: -big, Max: big}, {Kind: LitInt, Min: 0, Max: big}}, Optional: 1, Result: String, Leaf: true,
		MySQL: "SUBSTRING({0}, {1}, {2})", Postgres: "SUBSTRING({0} FROM {1} FOR {2})", SQLite: "SUBSTR({0}, {1}, {2})",
		Short: &Func{MySQL: "SUBSTRING({0}, {1})", Postgres: "SUBSTRING({0} FROM {1})", SQLite: "SUBSTR({0}, {1})"}},
	// A negative start counts from the end in MySQL and SQLite; PostgreSQL has RIGHT for that.
	{Name: "#SUBSTRING_END", Args: []Arg{{Kind: Text}, {Kind: LitInt, Min: 1, Max: big}, {Kind: LitInt, Min: 0, Max: big}}, Result: String,
		MySQL: "LEFT(RIGHT({0}, {1}), {2})", Postgres: "LEFT(RIGHT({0}, {1}), {2})", SQLite: "SUBSTR(SUBSTR({0}, -{1}), 1, {2})"},
	{Name: "LEFT", Args: []Arg{{Kind: Text}, {Kind: LitInt, Min: 0, Max: big}}, Result: String, Leaf: true,
		MySQL: "LEFT({0}, {1})", Postgres: "LEFT({0}, {1})", SQLite: "SUBSTR({0}, 1, {1})"},
	{Name: "RIGHT", Args: []Arg{{Kind: Text}, {Kind: LitInt, Min: 0, Max: big}}, Result: String, Leaf: true,
		MySQL: "RIGHT({0}, {1})", Postgres: "RIGHT({0}, {1})", SQLite: "CASE WHEN {1} = 0 THEN SUBSTR({0}, 1, 0) ELSE SUBSTR({0}, -{1}) END"},
	Func{Name: "REPLACE", Args: []Arg{{Kind: Text}, {Kind: LitText, Max: 1000}, {Kind: LitText, Max: 100}}, Result: String, Leaf: true}.all("REPLACE({0}, {1}, {2})"),
	{Name: "REVERSE", Args: []Arg{{Kind: Text}}, Result: String, Leaf: true,
		MySQL: "REVERSE({0})", Postgres: "REVERSE({0})", SQLite: "resq_reverse({0})"},
	{Name: "CONCAT", Args: []Arg{{Kind: Text}}, Variadic: true, Result: String,
		MySQL: "CONCAT({*|COALESCE(|, '')|, })", Postgres: "CONCAT({*|||, })", SQLite: "({*|COALESCE(|, '')| || })"},
	// Joins what is not NULL.
	Func{Name: "CONCAT_WS", Args: []Arg{{Kind: LitText, Max: 100}, {Kind: Text}}, Variadic: true, Result: String}.all("CONCAT_WS({*|||, })"),
	// POSITION(needle IN haystack), 1 for the first character, 0 for none. MySQL's follows the collation, which
	// may take A for a.
	{Name: "POSITION", Aliases: "LOCATE CHARINDEX", Args: []Arg{{Kind: Text}, {Kind: Text}}, Result: Integer,
		MySQL: "LOCATE(CONVERT({0} USING utf8mb4) COLLATE utf8mb4_bin, CONVERT({1} USING utf8mb4))", Postgres: "CAST(STRPOS({1}, {0}) AS bigint)", SQLite: "INSTR({1}, {0})"},
	{Name: "INSTR", Aliases: "STRPOS", Args: []Arg{{Kind: Text}, {Kind: Text}}, Result: Integer, Leaf: true,
		MySQL: "LOCATE(CONVERT({1} USING utf8mb4) COLLATE utf8mb4_bin, CONVERT({0} USING utf8mb4))", Postgres: "CAST(STRPOS({0}, {1}) AS bigint)", SQLite: "INSTR({0}, {1})"},
}

var numberFuncs = []Func{
	{Name: "ABS", Args: []Arg{{Kind: Num}}, Result: Same, Leaf: true,
		MySQL: "ABS({0})", Postgres: "ABS({0})", SQLite: "resq_abs({0})",
		// The widest negative integer has no positive twin.
		Whole: &Func{MySQL: "ABS(CAST({0} AS DECIMAL(38, 0)))", Postgres: "ABS(CAST({0} AS numeric))", SQLite: "resq_abs({0})"}},
	{Name: "SIGN", Args: []Arg{{Kind: Num}}, Result: Integer, Leaf: true,
		MySQL: "SIGN({0})", Postgres: "CAST(SIGN({0}) AS bigint)", SQLite: "SIGN({0})"},
	// A double is rounded by the digits that it shows: 1.005 to 1.01. From 10^15 on it has no fraction.
	{Name: "ROUND", Args: []Arg{{Kind: Num}, {Kind: LitInt, Min: 0, Max: 10}}, Optional: 1, Result: RoundOf, Leaf: true,
		MySQL:    "(CASE WHEN ABS({0}) < 1e15 THEN ROUND(CAST({0} AS DECIMAL(65, 20)), {1}) ELSE {0} END)",
		Postgres: "(CASE WHEN ABS({0}) < 1e15 THEN ROUND(CAST(CAST({0} AS text) AS numeric), {1}) ELSE {0} END)", SQLite: "resq_round({0}, {1})",
		Exact: &Func{MySQL: "ROUND({0}, {1})", Postgres: "ROUND({0}, {1})", SQLite: "resq_round({0}, {1})"}},
	{Name: "TRUNCATE", Aliases: "TRUNC", Args: []Arg{{Kind: Num}, {Kind: LitInt, Min: 0, Max: 10}}, Optional: 1, Result: RoundOf, Leaf: true,
		MySQL:    "(CASE WHEN ABS({0}) < 1e15 THEN TRUNCATE(CAST({0} AS DECIMAL(65, 20)), {1}) ELSE {0} END)",
		Postgres: "(CASE WHEN ABS({0}) < 1e15 THEN TRUNC(CAST(CAST({0} AS text) AS numeric), {1}) ELSE {0} END)", SQLite: "resq_trunc({0}, {1})",
		Exact: &Func{MySQL: "TRUNCATE({0}, {1})", Postgres: "TRUNC({0}, {1})", SQLite: "resq_trunc({0}, {1})"}},
	{Name: "CEIL", Aliases: "CEILING", Args: []Arg{{Kind: Num}}, Result: RoundOf, Leaf: true,
		MySQL: "CEILING({0})", Postgres: "CEIL({0})", SQLite: "CEIL({0})"},
	Func{Name: "FLOOR", Args: []Arg{{Kind: Num}}, Result: RoundOf, Leaf: true}.all("FLOOR({0})"),
	// The functions below are total: what has no value, or none that fits, is NULL.
	{Name: "SQRT", Args: []Arg{{Kind: Num}}, Result: Number, Leaf: true,
		MySQL: "SQRT({0})", Postgres: "SQRT(CAST(CASE WHEN {0} >= 0 THEN {0} END AS double precision))", SQLite: "SQRT({0})"},
	{Name: "EXP", Args: []Arg{{Kind: Num}}, Result: Number, Leaf: true,
		MySQL:    "EXP(CASE WHEN {0} < 709 THEN {0} END)",
		Postgres: "(CASE WHEN {0} < -700 THEN 0 WHEN {0} < 709 THEN EXP(CAST({0} AS double precision)) END)",
		SQLite:   "EXP(CASE WHEN {0} < 709 THEN {0} END)"},
	{Name: "LN", Args: []Arg{{Kind: Num}}, Result: Number, Leaf: true,
		MySQL: "LN({0})", Postgres: "LN(CAST(CASE WHEN {0} > 0 THEN {0} END AS double precision))", SQLite: "LN(CASE WHEN {0} > 0 THEN {0} END)"},
	{Name: "LOG10", Args: []Arg{{Kind: Num}}, Result: Number, Leaf: true,
		MySQL: "LOG10({0})", Postgres: "LOG(CAST(CASE WHEN {0} > 0 THEN {0} END AS double precision))", SQLite: "LOG10(CASE WHEN {0} > 0 THEN {0} END)"},
	{Name: "LOG2", Args: []Arg{{Kind: Num}}, Result: Number, Leaf: true,
		MySQL: "LOG2({0})", Postgres: "(LN(CAST(CASE WHEN {0} > 0 THEN {0} END AS double precision)) / LN(CAST(2 AS double precision)))", SQLite: "LOG2(CASE WHEN {0} > 0 THEN {0} END)"},
	Func{Name: "POWER", Aliases: "POW", Args: []Arg{{Kind: Num}, {Kind: Num}}, Result: Number, Leaf: true,
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
	Func{Name: "COUNT", Class: Aggregate, Args: []Arg{{Kind: Any}}, Result: Integer}.all("COUNT({0})"),
	Func{Name: "#COUNT_ROWS", Class: Aggregate, Result: Integer}.all("COUNT(*)"),
	// SQLite's own fails beyond 64 bits, and adds decimals as doubles.
	{Name: "SUM", Class: Aggregate, Args: []Arg{{Kind: Num}}, Result: SumOf, MySQL: "SUM({0})", Postgres: "SUM({0})", SQLite: "resq_sum({0})"},
	Func{Name: "MIN", Class: Aggregate, Args: []Arg{{Kind: Any}}, Result: Same}.all("MIN({0})"),
	Func{Name: "MAX", Class: Aggregate, Args: []Arg{{Kind: Any}}, Result: Same}.all("MAX({0})"),
	// Any value of the group: the least is one, and the same on every database.
	Func{Name: "ANY_VALUE", Class: Aggregate, Args: []Arg{{Kind: Any}}, Result: Same}.all("MIN({0})"),
	Func{Name: "AVG", Aliases: "MEAN", Class: Aggregate, Args: []Arg{{Kind: Num}}, Result: Number}.all(""),
	Func{Name: "VAR_POP", Class: Aggregate, Args: []Arg{{Kind: Num}}, Result: Number}.all(""),
	Func{Name: "VAR_SAMP", Class: Aggregate, Args: []Arg{{Kind: Num}}, Result: Number}.all(""),
	Func{Name: "STDDEV_POP", Class: Aggregate, Args: []Arg{{Kind: Num}}, Result: Number}.all(""),
	Func{Name: "STDDEV_SAMP", Class: Aggregate, Args: []Arg{{Kind: Num}}, Result: Number}.all(""),
	Func{Name: "GROUP_CONCAT", Aliases: "STRING_AGG LISTAGG", Class: Aggregate, Args: []Arg{{Kind: Text}, {Kind: LitText, Max: 16}}, Optional: 1, Result: String}.all(""),
}

var windowFuncs = []Func{
	Func{Name: "ROW_NUMBER", Class: Window, Result: Integer}.all("ROW_NUMBER()"),
	Func{Name: "RANK", Class: Window, Result: Integer}.all("RANK()"),
	Func{Name: "DENSE_RANK", Class: Window, Result: Integer}.all("DENSE_RANK()"),
	Func{Name: "PERCENT_RANK", Class: Window, Result: Number}.all("PERCENT_RANK()"),
	Func{Name: "CUME_DIST", Class: Window, Result: Number}.all("CUME_DIST()"),
	Func{Name: "NTILE", Class: Window, Args: []Arg{{Kind: LitInt, Min: 1, Max: big}}, Result: Integer}.all("NTILE({0})"),
	// MariaDB's LAG and LEAD take no default, so there is none.
	{Name: "LAG", Class: Window, Args: []Arg{{Kind: Any}, {Kind: LitInt, Min: 0, Max: big}}, Optional: 1, Result: Same,
		MySQL: "LAG({0}, {1})", Postgres: "LAG({0}, {1})", SQLite: "LAG({0}, {1})",
		Short: &Func{MySQL: "LAG({0})", Postgres: "LAG({0})", SQLite: "LAG({0})"}},
	{Name: "LEAD", Class: Window, Args: []Arg{{Kind: Any}, {Kind: LitInt, Min: 0, Max: big}}, Optional: 1, Result: Same,
		MySQL: "LEAD({0}, {1})", Postgres: "LEAD({0}, {1})", SQLite: "LEAD({0}, {1})",
		Short: &Func{MySQL: "LEAD({0})", Postgres: "LEAD({0})", SQLite: "LEAD({0})"}},
	Func{Name: "FIRST_VALUE", Class: Window, Args: []Arg{{Kind: Any}}, Result: Same}.all("FIRST_VALUE({0})"),
	Func{Name: "LAST_VALUE", Class: Window, Args: []Arg{{Kind: Any}}, Result: Same}.all("LAST_VALUE({0})"),
	Func{Name: "NTH_VALUE", Class: Window, Args: []Arg{{Kind: Any}, {Kind: LitInt, Min: 1, Max: big}}, Result: Same}.all("NTH_VALUE({0}, {1})"),
}

var logicFuncs = []Func{
	Func{Name: "COALESCE", Aliases: "IFNULL NVL", Args: []Arg{{Kind: SameType}, {Kind: SameType}}, Variadic: true, Result: Shared}.all("COALESCE({*|||, })"),
	Func{Name: "NULLIF", Args: []Arg{{Kind: SameType}, {Kind: SameType}}, Result: Shared}.all("NULLIF({0}, {1})"),
	// NULL if any argument is, as in MySQL and SQLite; PostgreSQL alone would skip it.
	{Name: "GREATEST", Args: []Arg{{Kind: SameType}, {Kind: SameType}}, Variadic: true, Result: Shared,
		MySQL: "GREATEST({*|||, })", Postgres: "(CASE WHEN {*|| IS NULL| OR } THEN NULL ELSE GREATEST({*|||, }) END)", SQLite: "MAX({*|||, })"},
	{Name: "LEAST", Args: []Arg{{Kind: SameType}, {Kind: SameType}}, Variadic: true, Result: Shared,
		MySQL: "LEAST({*|||, })", Postgres: "(CASE WHEN {*|| IS NULL| OR } THEN NULL ELSE LEAST({*|||, }) END)", SQLite: "MIN({*|||, })"},
}
