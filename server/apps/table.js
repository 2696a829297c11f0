// An answer as a table that can be sorted and filtered, and as a chart.
const drawn = 60; // of its rows

// tableOf finds the rows of an answer: {columns, rows}, a list of objects, CSV or Markdown; undefined is none.
function tableOf(text) {
	const value = parsed(text);
	if (value === undefined) return csv(text) ?? markdown(text);
	if (Array.isArray(value?.columns) && Array.isArray(value.rows)) {
		const columns = value.columns.map((c) => (typeof c === "object" && c !== null ? String(c.name ?? c.code ?? "") : String(c)));
		return { columns, rows: value.rows.map((r) => (Array.isArray(r) ? r : columns.map((c) => r?.[c]))), about: value };
	}
	const list = Array.isArray(value) ? value : listIn(value, 0);
	if (list) {
		const columns = [];
		for (const row of list) for (const k of Object.keys(Object(row))) if (!columns.includes(k)) columns.push(k);
		return { columns, rows: list.map((r) => columns.map((c) => r?.[c])), about: value };
	}
	if (typeof value === "object" && value !== null) return { columns: Object.keys(value), rows: [Object.values(value)], about: {} };
	return undefined;
}

// listIn is the first list of objects in a value, not deeper than an envelope of one.
function listIn(value, depth) {
	if (typeof value !== "object" || value === null || depth > 2) return undefined;
	const all = Object.values(value);
	return all.find((v) => Array.isArray(v) && v.length > 0 && v.every((x) => typeof x === "object" && x !== null && !Array.isArray(x))) ??
		all.map((v) => (Array.isArray(v) ? undefined : listIn(v, depth + 1))).find(Boolean) ?? (Array.isArray(value.records) ? value.records : undefined);
}

function csv(text) {
	const rows = [];
	let row = [], cell = "", quoted = false;
	for (let i = 0; i < text.length; i++) {
		const c = text[i];
		if (quoted) {
			if (c !== '"') cell += c;
			else if (text[i + 1] === '"') cell += text[++i];
			else quoted = false;
		} else if (c === '"' && cell === "") quoted = true;
		else if (c === ",") { row.push(cell); cell = ""; }
		else if (c === "\n") { row.push(cell.replace(/\r$/, "")); rows.push(row); row = []; cell = ""; }
		else cell += c;
	}
	if (cell !== "" || row.length) rows.push([...row, cell]);
	const columns = rows.shift() ?? [];
	if (text.startsWith("|") || !columns.length || rows.some((r) => r.length !== columns.length)) return undefined;
	return { columns, rows, about: {} };
}

function markdown(text) {
	const lines = text.trim().split("\n");
	if (lines.length < 2 || !lines.every((l) => l.startsWith("|")) || !/^\|[\s:|-]+\|?$/.test(lines[1])) return undefined;
	const cells = (l) => l.replace(/^\||\|\s*$/g, "").split(/(?<!\\)\|/).map((c) => c.trim().replace(/\\(.)/g, "$1"));
	const columns = cells(lines[0]);
	return { columns, rows: lines.slice(2).map(cells), about: {} };
}

const isNumber = (v) => typeof v === "number" || (typeof v === "string" && /^-?\d{1,40}(\.\d{1,40})?$/.test(v));
const isWhole = (v) => /^-?\d+$/.test(String(v));

// compare orders two values of a column: numbers by their value to the last digit, moments and texts as texts, nothing first.
function compare(a, b, numbers, order) {
	const none = (v) => v === null || v === undefined || v === "";
	if (none(a) || none(b)) return none(a) === none(b) ? 0 : none(a) ? -1 : 1;
	if (numbers && isWhole(a) && isWhole(b)) {
		const x = BigInt(a), y = BigInt(b);
		return x < y ? -1 : x > y ? 1 : 0;
	}
	return numbers ? Number(a) - Number(b) : order.compare(cellText(a), cellText(b));
}

function table(t, more) {
	const order = new Intl.Collator(client.locale(), { numeric: true });
	const numbers = t.columns.map((_, i) => t.rows.some((r) => isNumber(r[i])) && t.rows.every((r) => r[i] === null || r[i] === undefined || r[i] === "" || isNumber(r[i])));
	let by = -1, down = false, wanted = "", kind = "none", of = Math.max(numbers.lastIndexOf(true), 0);
	const count = el("span", { class: "dim", role: "status" });
	const body = el("tbody");
	const picture = el("div");
	const heads = t.columns.map((c, i) => el("th", { scope: "col" }, el("button", { type: "button", onclick: () => { down = by === i && !down; by = i; draw(); } }, c)));
	const filter = el("input", { type: "search", "aria-label": words.filter, placeholder: words.filter, oninput: (e) => { wanted = e.target.value.toLowerCase(); draw(); } });
	const kinds = el("select", { "aria-label": words.chart, onchange: (e) => { kind = e.target.value; draw(); } }, ...["none", "bar", "line"].map((k) => el("option", { value: k }, words[k])));
	const values = el("select", { "aria-label": words.of, onchange: (e) => { of = Number(e.target.value); draw(); } },
		...t.columns.flatMap((c, i) => (numbers[i] ? [el("option", { value: String(i), selected: i === of }, c)] : [])));
	function draw() {
		let rows = wanted ? t.rows.filter((r) => r.some((v) => cellText(v).toLowerCase().includes(wanted))) : t.rows.slice();
		if (by >= 0) rows.sort((a, b) => compare(a[by], b[by], numbers[by], order) * (down ? -1 : 1));
		heads.forEach((h, i) => (i === by ? h.setAttribute("aria-sort", down ? "descending" : "ascending") : h.removeAttribute("aria-sort")));
		body.replaceChildren(...rows.map((r) => el("tr", {}, ...r.map((v, i) => (v === null || v === undefined ? el("td", { class: "nothing" }, "null") : el("td", { class: numbers[i] ? "number" : "" }, cellText(v)))))));
		count.textContent = say("rows", { shown: rows.length, total: t.rows.length });
		values.hidden = kind === "none" || !numbers.includes(true);
		picture.replaceChildren(...(kind === "none" ? [] : numbers.includes(true) ? chart(t, rows, kind, of, numbers) : [el("p", { class: "dim" }, words.notnumbers)]));
	}
	show(
		t.rows.length ? el("div", { class: "bar" }, filter, kinds, values, count) : null, picture,
		t.rows.length ? el("div", { class: "scroll", tabindex: "0" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body)) : el("p", {}, words.empty),
		more.hasMore ? el("p", { class: "dim" }, words.more) : null, ...[].concat(more.notice ?? []).map((n) => el("p", { class: "dim" }, cellText(n))),
	);
	draw();
}

function svg(tag, props, text) {
	const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const [k, v] of Object.entries(props)) e.setAttribute(k, v);
	if (text !== undefined) e.textContent = text;
	return e;
}

// chart draws one column of numbers, named by the first column that is none.
function chart(t, all, kind, of, numbers) {
	const rows = all.slice(0, drawn).filter((r) => isNumber(r[of]));
	const name = Math.max(numbers.indexOf(false), 0);
	const n = rows.map((r) => Number(r[of]));
	const high = Math.max(0, ...n), low = Math.min(0, ...n), span = high - low || 1;
	const y = (v) => 10 + ((high - v) / span) * 170;
	const wide = 600 / Math.max(rows.length, 1);
	const s = svg("svg", { viewBox: "0 0 600 220", role: "img", preserveAspectRatio: "none", "aria-label": t.columns[of] });
	s.append(svg("line", { class: "axis", x1: 0, x2: 600, y1: y(0), y2: y(0) }));
	const label = (i) => cellText(rows[i][name]) + ": " + cellText(rows[i][of]);
	if (kind === "line") s.append(svg("polyline", { class: "line", points: n.map((v, i) => (i + 0.5) * wide + "," + y(v)).join(" ") }));
	n.forEach((v, i) => {
		const mark = kind === "line" ? svg("circle", { class: "value", cx: (i + 0.5) * wide, cy: y(v), r: 3 })
			: svg("rect", { class: "value", x: i * wide + wide * 0.1, width: wide * 0.8, y: Math.min(y(v), y(0)), height: Math.max(Math.abs(y(v) - y(0)), 1) });
		mark.append(svg("title", {}, label(i)));
		s.append(mark);
	});
	const every = Math.max(1, Math.ceil(rows.length / 8));
	rows.forEach((r, i) => i % every === 0 && s.append(svg("text", { x: (i + 0.5) * wide, y: 205, "text-anchor": "middle" }, cellText(r[name]).slice(0, 12))));
	return [s, all.length > drawn ? el("p", { class: "dim" }, say("first", { n: drawn })) : null].filter(Boolean);
}

show(el("p", { class: "dim" }, words.waiting));
client.begin({
	cancelled: () => show(el("p", { class: "dim" }, words.cancelled)),
	result: (r) => {
		const texts = textsOf(r);
		if (r.isError) return show(...failure(texts));
		const t = tableOf(texts[0] ?? "");
		if (t) table(t, { ...t.about, ...(parsed(texts[1] ?? "") ?? {}) });
		else show(el("pre", {}, texts.join("\n")));
	},
});
