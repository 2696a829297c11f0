package sqltext

import (
	"slices"
	"strconv"
	"strings"

	"resq/schema/problem"
)

// call reads the arguments of the function whose name begins at the token first and ends in front of this bracket. The
// name is looked up before anything else: what is not allowed need not be understood.
func (p *parser) call(first int) (*Call, error) {
	c := &Call{tok: first}
	last := p.st.Tokens[p.i-1]
	c.Name = last.Text
	if last.Kind == Word || p.st.Dialect != Postgres {
		c.Name = lower(c.Name)
	}
	for k := first; k < p.i-1; k += 2 {
		c.Schema = strings.TrimPrefix(c.Schema+"."+p.st.Tokens[k].Text, ".")
	}
	own := strings.TrimPrefix(lower(c.Schema)+"."+c.Name, ".")
	if !slices.Contains(p.o.Functions, own) && (c.Schema != "" || !functions[p.st.Dialect][c.Name]) {
		hint := "functions that only calculate are allowed; docs/sql-tools.md lists them"
		if c.Schema != "" {
			hint = "call it without its schema, or list it under functions of the connection"
		}
		return nil, p.refuse(first, problem.SQLFunctionNotAllowed, "the function "+problem.Quote(own)+" is not allowed", hint)
	}
	if last.Kind == Name && !slices.Contains(p.o.Functions, own) {
		return nil, p.refuse(first, problem.SQLFunctionNotAllowed, "the function "+problem.Quote(own)+" is called by a name in quotes", "leave the quotes out")
	}
	p.st.Calls = append(p.st.Calls, c)
	p.st.glued[p.i] = true
	if err := p.deeper(); err != nil {
		return nil, err
	}
	p.i++
	args, err := p.arguments(c)
	if err != nil {
		return nil, err
	}
	p.depth--
	if err := p.mustSign(")"); err != nil {
		return nil, err
	}
	if err := p.bounded(c, args); err != nil {
		return nil, err
	}
	return c, p.over()
}

// A span is the tokens of one argument.
type span struct{ first, last int }

func (p *parser) arguments(c *Call) ([]span, error) {
	if p.sign(")") {
		return nil, nil
	}
	switch c.Name {
	case "extract":
		t := p.cur()
		if t.Kind != Word && t.Kind != Text {
			return nil, p.unexpected("a unit of time")
		}
		p.i++
		if err := p.must("from"); err != nil {
			return nil, err
		}
		return nil, p.operands(true)
	case "position":
		if err := p.operands(false); err != nil {
			return nil, err
		}
		if p.take("in") || p.takeSign(",") {
			return nil, p.operands(true)
		}
		return nil, p.unexpected("IN")
	case "trim":
		if !p.take("both") && !p.take("leading") {
			p.take("trailing")
		}
		if p.take("from") {
			return nil, p.operands(true)
		}
	case "timestampdiff", "timestampadd":
		if p.cur().Kind != Word || !units[p.cur().low] {
			return nil, p.unexpected("a unit of time")
		}
		p.i++
		if err := p.mustSign(","); err != nil {
			return nil, err
		}
	}
	if !p.take("distinct") {
		p.take("all")
	}
	if p.sign("*") && p.peek(1).sign(")") {
		p.i++
		return nil, nil
	}
	var args []span
	for {
		first := p.i
		if err := p.operands(true); err != nil {
			return nil, err
		}
		args = append(args, span{first, p.i - 1})
		// SUBSTRING(x FROM 2 FOR 3), OVERLAY(x PLACING y FROM 2), TRIM(x FROM y)
		if p.takeSign(",") || slices.Contains(spoken[c.Name], p.cur().low) && p.cur().Kind == Word && p.take(p.cur().low) {
			continue
		}
		break
	}
	if p.take("using") { // CHAR(65 USING utf8mb4)
		if c.Name != "char" || p.cur().Kind != Word {
			return nil, p.unexpected(")")
		}
		p.i++
	}
	if p.take("order") {
		if err := p.must("by"); err != nil {
			return nil, err
		}
		if err := p.keys(); err != nil {
			return nil, err
		}
	}
	if p.st.Dialect == MySQL && p.take("separator") {
		if p.cur().Kind != Text {
			return nil, p.unexpected("a text")
		}
		p.i++
	}
	return args, nil
}

// spoken are words that take the place of a comma.
var spoken = map[string][]string{"substring": {"from", "for"}, "substr": {"from", "for"}, "overlay": {"placing", "from", "for"}, "trim": {"from"}}

// over reads what may stand behind a call.
func (p *parser) over() error {
	if p.is("within") && p.peek(1).word("group") && p.st.Dialect == Postgres {
		p.i += 2
		if err := p.mustSign("("); err != nil {
			return err
		}
		if err := p.must("order"); err != nil {
			return err
		}
		if err := p.must("by"); err != nil {
			return err
		}
		if err := p.keys(); err != nil {
			return err
		}
		if err := p.mustSign(")"); err != nil {
			return err
		}
	}
	if p.is("filter") && p.peek(1).sign("(") && p.st.Dialect != MySQL {
		p.i += 2
		if err := p.must("where"); err != nil {
			return err
		}
		if err := p.operands(true); err != nil {
			return err
		}
		if err := p.mustSign(")"); err != nil {
			return err
		}
	}
	if p.is("over") {
		p.i++
		if p.sign("(") {
			return p.window()
		}
		_, err := p.name("a window")
		return err
	}
	return nil
}

// longest is how long a text a function may be told to make.
const longest = 10_000

// lengths are the functions that make a text as long as they are told, with the argument that tells it.
var lengths = map[string]int{"lpad": 1, "rpad": 1, "repeat": 1, "space": 0}

// bounded refuses a call that could be told to fill the memory.
func (p *parser) bounded(c *Call, args []span) error {
	if n, ok := lengths[c.Name]; ok {
		if n < len(args) && args[n].first == args[n].last {
			if t := p.st.Tokens[args[n].first]; t.Kind == Number {
				if v, err := strconv.Atoi(t.Text); err == nil && v <= longest {
					return nil
				}
			}
		}
		return p.refuse(c.tok, problem.SQLFunctionNotAllowed, strings.ToUpper(c.Name)+" takes its length as a number that stands in the statement", "at most "+strconv.Itoa(longest))
	}
	if c.Name != "printf" && c.Name != "format" || p.st.Dialect == MySQL {
		return nil
	}
	if len(args) > 0 && args[0].first == args[0].last && p.st.Tokens[args[0].first].Kind == Text {
		digits := 0
		text := p.st.Tokens[args[0].first].Text
		for i := 0; i < len(text) && digits <= 3; i++ {
			if digits++; text[i] < '0' || text[i] > '9' {
				digits = 0
			}
		}
		if digits <= 3 && !strings.Contains(text, "*") {
			return nil
		}
	}
	return p.refuse(c.tok, problem.SQLFunctionNotAllowed, strings.ToUpper(c.Name)+" takes its format as a text that stands in the statement", "without *, and with widths of up to three digits")
}

// functions are those of each dialect that only calculate: from their arguments and the clock, without an effect, a
// wait, a look at files or settings, or SQL of their own.
var functions = [...]map[string]bool{
	MySQL: words(`abs acos adddate addtime any_value ascii asin atan atan2 avg bin bit_and bit_count bit_length bit_or bit_xor ceil ceiling char char_length
		character_length coalesce concat concat_ws conv cos cot count crc32 cume_dist curdate curtime date date_add date_format date_sub datediff day dayname
		dayofmonth dayofweek dayofyear degrees dense_rank elt exp export_set extract field find_in_set first_value floor format from_base64 from_days from_unixtime
		greatest group_concat hex hour if ifnull insert instr isnull json_array json_array_append json_arrayagg json_contains json_contains_path json_depth
		json_exists json_extract json_insert json_keys json_length json_merge_patch json_merge_preserve json_object json_objectagg json_overlaps json_pretty
		json_query json_quote json_remove json_replace json_search json_set json_type json_unquote json_valid json_value lag last_day last_value lcase lead
		least left length ln locate log log10 log2 lower lpad ltrim makedate maketime max md5 microsecond mid min minute mod month monthname now nth_value
		ntile nullif oct octet_length ord percent_rank percentile_cont percentile_disc median period_add period_diff pi position pow power quarter quote radians
		rank regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right round row_number rpad rtrim sec_to_time second sha sha1 sha2
		sign sin soundex space sqrt std stddev stddev_pop stddev_samp str_to_date strcmp subdate substr substring substring_index subtime sum tan time
		time_format time_to_sec timediff timestamp timestampadd timestampdiff to_base64 to_char to_days to_seconds trim truncate ucase unhex unix_timestamp upper
		utc_date utc_time utc_timestamp var_pop var_samp variance week weekday weekofyear year yearweek grouping`),
	Postgres: words(`abs acos age array_agg array_append array_cat array_length array_lower array_ndims array_position array_positions array_prepend array_remove
		array_replace array_to_json array_to_string array_upper ascii asin atan atan2 avg bit_and bit_length bit_or bool_and bool_or btrim cardinality cbrt
		ceil ceiling char_length character_length chr clock_timestamp coalesce concat concat_ws corr cos cot count covar_pop covar_samp cube cume_dist date
		date_bin date_part date_trunc decode degrees dense_rank div encode every exp extract factorial first_value floor format gcd generate_series
		generate_subscripts greatest grouping initcap isfinite json_agg json_array_elements json_array_elements_text json_array_length json_build_array
		json_build_object json_each json_each_text json_extract_path json_extract_path_text json_object json_object_agg json_object_keys json_strip_nulls
		json_typeof jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each
		jsonb_each_text jsonb_exists jsonb_exists_all jsonb_exists_any jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object
		jsonb_object_agg jsonb_object_keys jsonb_path_exists jsonb_path_match jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_pretty
		jsonb_set jsonb_strip_nulls jsonb_typeof justify_days justify_hours justify_interval lag last_value lcm lead least left length ln log log10 lower
		lpad ltrim make_date make_interval make_time make_timestamp make_timestamptz max md5 min min_scale mod mode now nth_value ntile nullif
		num_nonnulls num_nulls octet_length overlay parse_ident percent_rank percentile_cont percentile_disc pi position power quote_literal radians rank
		regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr
		regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace reverse right rollup round row_number
		row_to_json rpad rtrim scale sign sin split_part sqrt starts_with statement_timestamp stddev stddev_pop stddev_samp string_agg string_to_array
		string_to_table strpos substr substring sum tan timeofday to_ascii to_char to_date to_hex to_json to_jsonb to_number to_timestamp to_tsquery
		to_tsvector plainto_tsquery phraseto_tsquery websearch_to_tsquery ts_headline ts_rank ts_rank_cd transaction_timestamp translate trim trim_array
		trim_scale trunc unnest upper var_pop var_samp variance width_bucket sha224 sha256 sha384 sha512 timestamp time interval any_value`),
	SQLite: words(`abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat concat_ws cos cosh count cume_dist date datetime degrees
		dense_rank exp first_value floor format glob group_concat hex if ifnull iif instr json json_array json_array_length json_each json_error_position
		json_extract json_group_array json_group_object json_insert json_object json_patch json_pretty json_quote json_remove json_replace json_set
		json_tree json_type json_valid julianday lag last_value lead length like likelihood likely ln log log10 log2 lower ltrim max median min mod nth_value ntile nullif
		octet_length percent_rank percentile percentile_cont percentile_disc pi pow power printf quote radians rank replace round row_number rtrim sign sin
		sinh soundex sqrt strftime string_agg substr substring subtype sum tan tanh time timediff total trim trunc typeof unhex unicode unixepoch unlikely upper`),
}

// Functions lists the functions that may be called in a dialect, in order.
func Functions(d Dialect) []string {
	list := make([]string, 0, len(functions[d]))
	for f := range functions[d] {
		list = append(list, f)
	}
	slices.Sort(list)
	return list
}
