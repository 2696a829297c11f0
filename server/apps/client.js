// What a page and the client that shows it tell each other: JSON-RPC in messages between their windows. Only the window
// around this one is heard. Whatever rows hold is put into the page as text.
const client = (() => {
	let last = 0;
	const open = new Map();
	const heard = {};
	const post = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
	const note = (method, params = {}) => post({ method, params });
	const ask = (method, params = {}) => new Promise((done, failed) => {
		open.set(++last, { done, failed });
		post({ id: last, method, params });
	});
	let context = {};
	function shown(changed) {
		context = { ...context, ...changed };
		const root = document.documentElement;
		if (context.theme === "light" || context.theme === "dark") root.style.colorScheme = context.theme;
		for (const [name, value] of Object.entries(context.styles?.variables ?? {})) {
			if (/^--[a-z0-9-]+$/.test(name) && typeof value === "string" && !/url\s*\(/i.test(value)) root.style.setProperty(name, value);
		}
	}
	window.addEventListener("message", (event) => {
		const m = event.data;
		if (event.source !== window.parent || typeof m !== "object" || m === null || m.jsonrpc !== "2.0") return;
		if (m.method === undefined) {
			const asked = open.get(m.id);
			open.delete(m.id);
			if (m.error) asked?.failed(new Error(String(m.error.message)));
			else asked?.done(m.result);
		} else if (m.id === undefined) {
			if (m.method === "ui/notifications/host-context-changed") shown(m.params ?? {});
			heard[m.method]?.(m.params ?? {});
		} else if (m.method === "ping" || m.method === "ui/resource-teardown") {
			post({ id: m.id, result: {} });
		} else {
			post({ id: m.id, error: { code: -32601, message: "no method " + m.method } });
		}
	});
	let size = "";
	function measure() {
		const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
		const width = Math.ceil(window.innerWidth);
		if (size === width + "x" + height) return;
		size = width + "x" + height;
		note("ui/notifications/size-changed", { width, height });
	}
	let abilities = {};
	async function begin(on) {
		heard["ui/notifications/tool-input"] = (p) => on.input?.(p.arguments ?? {});
		heard["ui/notifications/tool-result"] = (p) => on.result(p);
		heard["ui/notifications/tool-cancelled"] = () => on.cancelled();
		const answer = await ask("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "resq", version: "1" }, appCapabilities: { availableDisplayModes: ["inline"] } });
		abilities = answer.hostCapabilities ?? {};
		shown(answer.hostContext ?? {});
		new ResizeObserver(measure).observe(document.documentElement);
		note("ui/notifications/initialized");
		measure();
	}
	// tell lets the model know what the user did here.
	async function tell(text) {
		const content = [{ type: "text", text: text.slice(0, 8000) }];
		if (abilities.updateModelContext) await ask("ui/update-model-context", { content });
		else if (abilities.message) await ask("ui/message", { role: "user", content });
	}
	return {
		begin, tell,
		call: (name, args) => ask("tools/call", { name, arguments: args }),
		openLink: (url) => ask("ui/open-link", { url }),
		locale: () => context.locale || undefined,
	};
})();

// el makes an element of its properties and children, which are elements and texts.
function el(tag, props = {}, ...children) {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(props)) {
		if (k === "class") e.className = v;
		else if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
		else if (v === true) e.setAttribute(k, "");
		else if (v !== false && v !== undefined) e.setAttribute(k, v);
	}
	e.append(...children.filter((c) => c !== null && c !== undefined));
	return e;
}

const main = document.getElementById("main");
const show = (...children) => main.replaceChildren(...children.filter((c) => c));
const say = (text, values = {}) => words[text].replace(/\{(\w+)\}/g, (_, k) => String(values[k]));
const textsOf = (result) => (result.content ?? []).filter((c) => c.type === "text").map((c) => c.text);

// parsed reads JSON and keeps every number as it is written: beyond 2^53 JavaScript would show another one.
function parsed(text) {
	try {
		return JSON.parse(text, (_, v, at) => (typeof v === "number" && at?.source !== undefined && String(v) !== at.source ? at.source : v));
	} catch {
		return undefined;
	}
}

// cellText is a value as it is shown.
const cellText = (v) => (v === null || v === undefined ? "" : typeof v === "object" ? JSON.stringify(v) : String(v));

function failure(texts) {
	const fault = parsed(texts[0] ?? "")?.error;
	return [
		el("h1", { class: "bad", role: "alert" }, words.failed),
		el("p", {}, fault ? [fault.code, fault.message].filter(Boolean).join(": ") : (texts[0] ?? "")),
		fault?.hint ? el("p", { class: "dim" }, String(fault.hint)) : null,
	];
}
