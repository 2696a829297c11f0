// A preview of a change, and whether it is to be applied. The buttons send the call that led to it once more, with the token
// that came beside the text; what is to be done about it is decided by the server alone.
let args = {};
let timer;

const at = (time) => new Date(time).toLocaleTimeString(client.locale());

// diff shows each row field by field.
function diff(rows) {
	return rows.map((row) => {
		const [key, id] = Object.entries(row).find(([k]) => k !== "before" && k !== "after") ?? ["", ""];
		const fields = [...new Set([...Object.keys(row.before ?? {}), ...Object.keys(row.after ?? {})])];
		const cell = (side, f) => {
			if (!row[side] || !(f in row[side])) return el("td", {});
			const v = row[side][f];
			return v === null ? el("td", { class: "nothing" }, "null") : el("td", {}, el("span", { class: side }, cellText(v)));
		};
		return [
			el("h2", {}, words.row + " " + key + " " + cellText(id)),
			el("div", { class: "scroll" }, el("table", {},
				el("thead", {}, el("tr", {}, ...["field", "before", "after"].map((h) => el("th", { scope: "col" }, words[h])))),
				el("tbody", {}, ...fields.map((f) => el("tr", {}, el("th", { scope: "row" }, f), cell("before", f), cell("after", f)))))),
		];
	}).flat();
}

function preview(p, dialog) {
	const human = p.confirm.mode === "human";
	const status = el("p", { role: "status" });
	const send = async (yes) => {
		buttons.forEach((b) => (b.disabled = true));
		status.textContent = words.applying;
		try {
			outcome(yes, await client.call(dialog.tool, { ...args, __confirm__: yes, __confirm_token__: dialog.token }), status, buttons);
		} catch {
			status.textContent = words.again;
			buttons.forEach((b) => (b.disabled = false)); // to send it again is safe: it is applied once
		}
	};
	const buttons = dialog ? [
		el("button", { type: "button", class: "go", onclick: () => send(true) }, human ? words.check : words.apply),
		el("button", { type: "button", onclick: () => send(false) }, words.refuse),
	] : [];
	const expired = () => {
		if (!dialog || Date.parse(p.confirm.expires_at) > Date.now()) return;
		clearInterval(timer);
		buttons.forEach((b) => (b.disabled = true));
		status.textContent = words.expired;
	};
	clearInterval(timer);
	if (!human) timer = setInterval(expired, 1000); // an approved change lives longer, which the server knows
	show(
		el("h1", {}, cellText(p.summary)),
		human ? el("p", {}, words.human) : null,
		human ? el("p", {}, words.code + " ", el("span", { class: "code" }, cellText(p.confirm.short_code))) : null,
		human && dialog?.page ? el("p", {}, el("button", { type: "button", onclick: () => client.openLink(dialog.page).catch(() => {}) }, words.open)) : null,
		...(p.warnings ?? []).map((w) => el("p", { class: "bad" }, cellText(w))),
		p.dependents?.length ? el("p", {}, words.dependents + ": " + p.dependents.map((d) => d.resource + " " + d.count).join(", ")) : null,
		p.validations?.length ? el("p", {}, words.checks + ": " + cellText(p.validations)) : null,
		el("p", { class: "dim" }, say("rows", { shown: p.rows.length, total: p.rows_total })),
		...diff(p.rows),
		dialog ? el("p", { class: "dim" }, say("until", { time: at(p.confirm.expires_at) })) : null,
		el("div", { class: "bar" }, ...buttons), status,
	);
	if (!human) expired();
}

// outcome shows what the server said, and tells the model.
function outcome(yes, result, status, buttons) {
	const text = textsOf(result)[0] ?? "";
	const fault = result.isError ? parsed(text)?.error : undefined;
	if (fault?.code === "APPROVAL_REQUIRED") {
		status.textContent = words.notyet;
		buttons.forEach((b) => (b.disabled = false));
		return;
	}
	clearInterval(timer);
	const refused = !yes && fault?.code === "APPROVAL_DENIED";
	if (refused) show(el("h1", {}, words.refused));
	else if (result.isError) show(...failure([text]));
	else show(el("h1", { class: "good", role: "status" }, words.applied), el("h2", {}, words.done), el("pre", {}, text));
	client.tell(refused ? words["told.refused"] : words[result.isError ? "told.failed" : "told.applied"] + "\n" + text).catch(() => {});
}

show(el("p", { class: "dim" }, words.waiting));
client.begin({
	input: (given) => (args = given),
	cancelled: () => show(el("p", { class: "dim" }, words.cancelled)),
	result: (r) => {
		const texts = textsOf(r);
		const p = parsed(texts[0] ?? "");
		if (r.isError) show(...failure(texts));
		else if (p?.confirm && Array.isArray(p.rows)) preview(p, r._meta?.["resq/confirm"]);
		else if (p?.status === "dry_run" && Array.isArray(p.rows)) preview({ ...p, confirm: { mode: "", expires_at: "" } });
		else show(el("h1", { class: "good" }, words.done), el("pre", {}, texts.join("\n")));
	},
});
