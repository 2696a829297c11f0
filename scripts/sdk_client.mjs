// Asks a resq that serves the demonstration through the protocol's own SDKs, as programs do.
//
//   node sdk_client.mjs legacy http URL          before 2026-07-28, with sessions
//   node sdk_client.mjs legacy stdio COMMAND…    the same over standard input and output
//   node sdk_client.mjs modern http URL          since 2026-07-28
//
// It lists the tools, calls them, gives up on a call, reads a prompt and a resource, and answers whether a change
// is to be applied. What is not as it should be ends it with 1.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [era, transport, ...at] = process.argv.slice(2);
const require = createRequire(process.cwd() + '/'); // the packages are where it is started, not beside this file
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const check = (ok, what) => {
	if (!ok) throw new Error(what);
};

// What the user of this program says to a question, and the questions so far.
let says;
const questions = [];
const user = async (request) => {
	questions.push(request.params);
	return says;
};

async function connected() {
	if (era === 'modern') {
		const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');
		const c = new Client({ name: 'modern', version: '1' }, { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } });
		c.setRequestHandler('elicitation/create', user);
		await c.connect(new StreamableHTTPClientTransport(new URL(at[0])));
		check(c.getNegotiatedProtocolVersion() === '2026-07-28', `negotiated ${c.getNegotiatedProtocolVersion()}`);
		return c;
	}
	const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
	const { ElicitRequestSchema } = await load('@modelcontextprotocol/sdk/types.js');
	const c = new Client({ name: 'legacy', version: '1' }, { capabilities: { elicitation: {} } });
	c.setRequestHandler(ElicitRequestSchema, user);
	if (transport === 'stdio') {
		const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js');
		await c.connect(new StdioClientTransport({ command: at[0], args: at.slice(1), stderr: 'ignore' }));
	} else {
		const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
		await c.connect(new StreamableHTTPClientTransport(new URL(at[0])));
	}
	return c;
}

const c = await connected();
const names = (await c.listTools()).tools.map((t) => t.name);
check(names.includes('res-schema') && names.includes('res-query'), `the tools are ${names}`);
const ask = (name, args, options) => c.callTool({ name, arguments: args }, ...(era === 'modern' ? [options] : [undefined, options]));
const text = (r) => r.content[0].text;
check(text(await ask('res-schema', { keywords: 'order' })).startsWith('Order '), 'res-schema');
const rows = JSON.parse(text(await ask('res-query', { resource: 'Category', fields: [{ code: 'id' }], limit: 2 })));
check(JSON.stringify(rows.rows) === '[[1],[2]]', `the rows are ${JSON.stringify(rows)}`);
const refused = await ask('res-query', { resource: 'Nothing', fields: [] });
check(refused.isError === true && text(refused).includes('UNKNOWN_RESOURCE'), 'a mistake is an answer');
const stop = new AbortController();
stop.abort();
await ask('res-query', { resource: 'Category', fields: [] }, { signal: stop.signal }).then(
	() => check(false, 'a call that was given up is answered'),
	() => {},
);
const prompt = await c.getPrompt({ name: 'explain_resource', arguments: { resource: 'Order' } });
check(prompt.messages.length === 2, 'the prompt');
const read = await c.readResource({ uri: 'resq://resource/Order' });
check(read.contents[0].text.includes('order_no'), 'the resource');

const product = async () => JSON.parse(text(await ask('res-query', { resource: 'Product', fields: [{ code: 'name' }], limit: 1 }))).rows[0][0];
const before = await product();
const change = { resource: 'Product', ids: [1], data: { name: `${before}!` } };
says = { action: 'decline' };
const no = await ask('res-update', change);
check(no.isError === true && text(no).includes('APPROVAL_DENIED') && (await product()) === before, `no is ${text(no)}`);
says = { action: 'cancel' };
const none = await ask('res-update', change);
check(!none.isError && text(none).includes('CONFIRM_REQUIRED') && (await product()) === before, `no answer is ${text(none)}`);
says = { action: 'accept', content: { confirm: true } };
const done = JSON.parse(text(await ask('res-update', change)));
check(done.updated === 1 && (await product()) === `${before}!`, `yes is ${JSON.stringify(done)}`);
const undone = JSON.parse(text(await ask('res-undo', { op_id: done.op_id })));
check(undone.updated === 1 && (await product()) === before, `undoing is ${JSON.stringify(undone)}`);
check(questions.length === 4 && questions.every((q) => q.message.includes('Product') && q.requestedSchema.properties.confirm.type === 'boolean'), `the questions are ${JSON.stringify(questions)}`);
await c.close();
console.log(`${era} over ${transport}: as it should be`);
process.exit(0);
