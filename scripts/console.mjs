// The story of a change in a browser: an MCP client asks for a delete, it appears on the page of somebody who is logged in, who
// asked may not approve it, another login does, the client learns the outcome, and it is taken back the same way.
// Run by scripts/console.sh through the test Browser of server/console.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const { chromium } = await import(process.env.PLAYWRIGHT)
const base = process.env.CONSOLE_URL
const shots = process.env.CONSOLE_SCREENSHOTS
const axe = await readFile(process.env.AXE, 'utf8')
const profile = await mkdtemp(join(tmpdir(), 'resq-console-'))
const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
const browser = await chromium.launchPersistentContext(profile, { executablePath: process.env.CHROMIUM, headless: true, args })
const faults = []

// One login each, as browsers of several people.
async function person(name, options = {}) {
  const context = await browser.browser().newContext({ baseURL: base, ...options })
  const page = await context.newPage()
  const go = page.goto.bind(page)
  page.goto = async path => { // a page that just then loads itself again, because there is news, is in the way
    for (;;) try { return await go(path) } catch (e) { if (!/interrupted by another navigation|ERR_ABORTED/.test(e)) throw e }
  }
  page.on('console', m => { if (m.type() === 'error' && !/status of (400|401|403|404|409)/.test(m.text())) faults.push(`${name}: ${m.text()}`) })
  page.on('pageerror', e => faults.push(`${name}: ${e}`))
  page.on('dialog', d => { faults.push(`${name}: a dialog: ${d.message()}`); d.dismiss() })
  await page.goto('/')
  assert.match(page.url(), /\/login/)
  await page.locator('#name:focus').waitFor()
  await page.keyboard.type(name) // the name has the focus, and the keyboard is enough
  await page.keyboard.press('Tab')
  await page.keyboard.type(process.env.CONSOLE_PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/changes/)
  return page
}

// What a page owes to everybody: nothing that axe calls serious, and no more than its width and 150 kB.
async function owed(page, name, width) {
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ['violations'] }))
  for (const v of violations.filter(v => v.impact === 'serious' || v.impact === 'critical')) {
    faults.push(`${name}: axe: ${v.id}: ${v.help}: ${v.nodes.map(n => n.target + ' ' + n.html.slice(0, 120)).join(' | ')}`)
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth)
  if (wide > width) faults.push(`${name} is ${wide} wide in ${width}`)
  const size = (await page.content()).length
  if (size > 150_000) faults.push(`${name} has ${size} bytes`)
}

// When there was something to see. A machine that does other things as well is late now and then, a slow page always.
async function painted(page, reload) {
  let best = Infinity
  for (let i = 0; i < 10 && best >= 200; i++) {
    if (i > 0) await reload()
    best = Math.min(best, await (await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime)).jsonValue())
  }
  return best
}

// A client that speaks MCP over HTTP.
let id = 0
async function mcp(method, params, session) {
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...(session && { 'Mcp-Session-Id': session }) }
  const answer = await fetch(process.env.MCP_URL, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }) })
  let text = await answer.text()
  if (text.startsWith('event:') || text.startsWith('data:')) text = text.split('\n').filter(l => l.startsWith('data:')).pop().slice(5)
  return { session: answer.headers.get('Mcp-Session-Id'), ...JSON.parse(text) }
}
const opened = await mcp('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'console-test', version: '1' } })
async function tool(name, given) {
  const r = await mcp('tools/call', { name, arguments: given }, opened.session)
  assert.ok(r.result, JSON.stringify(r))
  return { failed: r.result.isError === true, text: r.result.content[0].text }
}

try {
  const approver = await person('the-approver')
  const ask = { resource: 'Note', ids: [1, 2] }
  const preview = JSON.parse((await tool('res-delete', ask)).text).confirm
  await approver.getByRole('link', { name: preview.short_code }).click({ timeout: 15000 }) // without a reload
  await approver.getByText('note 2').waitFor()
  assert.equal(await approver.locator('#code').innerText(), preview.short_code)

  const agent = await person('agent')
  await agent.goto('/changes/' + preview.op_id)
  assert.equal(await agent.locator('#approve').count(), 0, 'who asked is offered to approve')

  const confirmed = { ...ask, __confirm__: true, __confirm_token__: preview.token }
  const early = await tool('res-delete', confirmed)
  assert.ok(early.failed && early.text.includes('APPROVAL_REQUIRED'), early.text)
  const watcher = await person('the-viewer')
  await watcher.goto('/changes/' + preview.op_id)
  assert.equal(await watcher.locator('#approve').count(), 0, 'a viewer is offered to approve')
  await approver.locator('#approve').click()
  await watcher.locator('#state[data-state=approved]').waitFor({ timeout: 15000 }) // by itself
  const done = await tool('res-delete', confirmed)
  assert.ok(!done.failed, done.text)
  await watcher.locator('#state[data-state=applied]').waitFor({ timeout: 15000 })
  const again = await tool('res-delete', confirmed)
  assert.ok(!again.failed, 'a retry does not learn the outcome: ' + again.text)

  // The undo waits for another login, too.
  await approver.goto('/changes/' + preview.op_id)
  await approver.locator('#undo').click()
  await approver.locator('#undo-now').waitFor()
  const admin = await person('the-admin')
  await admin.goto('/changes?state=previewed')
  if (await admin.locator('#rows a.code').count()) {
    await admin.locator('#rows a.code').first().click()
    await admin.locator('#approve').click()
    await admin.locator('#state[data-state=approved]').waitFor()
  }
  await approver.locator('#undo-now').click()
  await approver.locator('#state').waitFor()
  const back = await tool('res-query', { resource: 'Note', fields: [{ code: 'id' }], conditions: { type: 'and', exprs: [{ field: 'id', operator: '<', token: '3' }] } })
  assert.ok(back.text.includes('[1]') && back.text.includes('[2]'), back.text)

  // A decline tells its reason.
  const other = JSON.parse((await tool('res-delete', { resource: 'Note', ids: [3] })).text).confirm
  await approver.goto('/changes/' + other.op_id)
  await approver.locator('#reason').fill('not this one')
  await approver.locator('#decline').click()
  await approver.locator('#state[data-state=declined]').waitFor()
  assert.match((await tool('res-operation', { op_id: other.op_id })).text, /not this one/)

  // More than ten rows: the number is typed.
  const many = JSON.parse((await tool('res-delete', { resource: 'Note', ids: [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] })).text).confirm
  await approver.goto('/changes/' + many.op_id)
  await approver.locator('#count').fill('10')
  await approver.locator('#approve').click()
  await approver.getByRole('alert').waitFor()
  await approver.goto('/changes/' + many.op_id)
  await approver.locator('#count').fill('11')
  await approver.locator('#approve').click()
  await approver.locator('#state[data-state=approved]').waitFor()

  // A key is made, shown once, and a request run as it.
  await admin.goto('/keys')
  await admin.locator('summary', { hasText: 'Make a key' }).click()
  await admin.locator('#name').fill('reports')
  await admin.locator('input[name=scope]').first().check()
  await admin.locator('#make-key').click()
  assert.match(await admin.locator('#plain').innerText(), /^resq_/)
  await admin.goto('/try?resource=Note')
  await admin.locator('input[name=fields][value="Note.id"]').check()
  await admin.locator('input[name=fields][value="Note.name"]').check()
  await admin.locator('#build').click()
  assert.deepEqual(JSON.parse(await admin.locator('#request').inputValue()).fields, [{ code: 'id' }, { code: 'name' }])
  await admin.locator('#run').click()
  await admin.locator('#answer').waitFor()
  assert.match(await admin.locator('pre.sql').first().innerText(), /SELECT/)
  await admin.goto('/audit')
  await admin.locator('#verify').click()
  await admin.locator('#chain .good').waitFor()

  // Every page, light and dark, wide and narrow, in both languages.
  const calls = await admin.goto('/audit').then(() => admin.locator('a[href^="/audit/calls/"]').first().getAttribute('href'))
  const pages = {
    changes: '/changes', waiting: '/changes?state=previewed', change: '/changes/' + many.op_id, applied: '/changes/' + preview.op_id, declined: '/changes/' + other.op_id,
    keys: '/keys', key: '/keys/1?count=1', audit: '/audit', call: calls, catalog: '/catalog', drift: '/catalog?drift=1', resource: '/catalog/resources/Note', tool: '/catalog/tools/tag.list', health: '/health',
    missing: '/changes/0000',
    login: async page => { await page.locator('header form[action="/logout"] button').click(); await page.waitForURL(/login/) },
  }
  const acts = { verify: async page => { await page.goto('/audit'); await page.locator('#verify').click(); await page.locator('#chain .good').waitFor() },
    try: async page => {
      await page.goto('/try?resource=Tag')
      await page.locator('input[name=relation]').first().check()
      for (const f of ['made_on', 'label', 'weight']) await page.locator(`input[name=fields][value="Tag.${f}"]`).check()
      await page.locator('button[value="leaf 0"]').click()
      await page.locator('select[name="field.0.0"]').selectOption('Note.id')
      await page.locator('select[name="op.0.0"]').selectOption('>')
      await page.locator('input[name="value.0.0"]').fill('1')
      await page.locator('button[value="group 0"]').click()
      await page.locator('select[name="field.0.1.0"]').selectOption('Tag.weight')
      await page.locator('select[name="op.0.1.0"]').selectOption('>=')
      await page.locator('input[name="value.0.1.0"]').fill('3')
      await page.keyboard.press('Enter') // which builds the request
      await page.locator('#request', { hasText: 'Tag' }).waitFor()
      await page.locator('#run').click()
      await page.locator('#answer').waitFor()
    },
    'try-tool': async page => {
      await page.goto('/try?tool=tag.list')
      await page.locator('input[name="arg.label"]').fill('e')
      await page.locator('#build').click()
      await page.locator('#run').click()
      await page.locator('#answer').waitFor()
    },
    sql: async page => { await page.goto('/catalog/tools/tag.list'); await page.locator('#sql').click(); await page.locator('pre.sql').first().waitFor() } }
  if (shots) await mkdir(shots, { recursive: true })
  const views = [['light', 1200, 'en'], ['dark', 400, 'zh-CN'], ['dark', 1200, 'zh-CN'], ['light', 400, 'en']]
  for (const [scheme, width, locale] of process.env.CONSOLE_DATABASE === 'sqlite' ? views : views.slice(0, 2)) { // pages know no database
    const page = await person('the-admin', { colorScheme: scheme, viewport: { width, height: 800 }, locale })
    const paints = []
    for (const [name, way] of Object.entries({ ...acts, ...pages })) {
      await (typeof way === 'string' ? page.goto(way) : way(page))
      await owed(page, `${name} ${scheme} ${width} ${locale}`, width)
      if (typeof way === 'string' && scheme === 'light' && width === 1200) paints.push([await painted(page, () => page.goto(way)), name])
      if (shots) await page.screenshot({ path: join(shots, `${name}-${scheme}-${width}.png`), fullPage: true })
    }
    console.log(`${scheme} ${width}: every page fits, and axe finds nothing serious`)
    if (paints.length) {
      paints.sort((a, b) => a[0] - b[0])
      const [last, slowest] = paints.at(-1)
      if (last >= 200) faults.push(`${slowest}: something to see after ${last} ms`)
      console.log(`first paint after ${Math.round(paints[paints.length >> 1][0])} ms, at worst ${Math.round(last)} ms (${slowest})`)
    }
    await page.context().close()
  }
  assert.deepEqual(faults, [])
  console.log(`${process.env.CONSOLE_DATABASE}: the story holds`)
} finally {
  await browser.close()
  await rm(profile, { recursive: true, force: true })
}
