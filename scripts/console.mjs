// The story of a change in a browser: an MCP client asks for a delete, it appears on the page of somebody who is logged in, who
// asked may not approve it, another login does, the client learns the outcome, and it is taken back the same way.
// Run by scripts/console.sh through the test Browser of server/console.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const { chromium } = await import(process.env.PLAYWRIGHT)
const base = process.env.CONSOLE_URL
const shots = process.env.CONSOLE_SCREENSHOTS
const profile = await mkdtemp(join(tmpdir(), 'resq-console-'))
const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
const browser = await chromium.launchPersistentContext(profile, { executablePath: process.env.CHROMIUM, headless: true, args })
const faults = []

// One login each, as browsers of several people.
async function person(name, options = {}) {
  const context = await browser.browser().newContext({ baseURL: base, ...options })
  const page = await context.newPage()
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
  await admin.locator('input[name=fields][value=id]').check()
  await admin.locator('input[name=fields][value=name]').check()
  await admin.locator('#build').click()
  assert.deepEqual(JSON.parse(await admin.locator('#request').inputValue()).fields, [{ code: 'id' }, { code: 'name' }])
  await admin.locator('#run').click()
  await admin.locator('#answer').waitFor()
  assert.match(await admin.locator('pre.sql').first().innerText(), /SELECT/)
  await admin.goto('/audit')
  await admin.locator('#verify').click()
  await admin.locator('#chain .good').waitFor()

  // Every page fits into 400 pixels, light and dark, in both languages.
  const pages = { changes: '/changes', change: '/changes/' + many.op_id, keys: '/keys', key: '/keys/1', audit: '/audit', catalog: '/catalog', resource: '/catalog/resources/Note', health: '/health', try: '/try?resource=Note' }
  if (shots) await mkdir(shots, { recursive: true })
  for (const [scheme, width, locale] of [['light', 1200, 'en'], ['dark', 1200, 'zh-CN'], ['light', 400, 'zh-CN'], ['dark', 400, 'en']]) {
    const page = await person('the-admin', { colorScheme: scheme, viewport: { width, height: 800 }, locale })
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(path)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      assert.ok(wide <= width, `${path} is ${wide} wide in ${width}`)
      if (shots) await page.screenshot({ path: join(shots, `${name}-${scheme}-${width}.png`), fullPage: true })
    }
    const paint = await (await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime)).jsonValue()
    console.log(`${scheme} ${width}: every page fits; first paint of the last after ${Math.round(paint)} ms`)
    await page.context().close()
  }
  assert.deepEqual(faults, [])
  console.log(`${process.env.CONSOLE_DATABASE}: the story holds`)
} finally {
  await browser.close()
  await rm(profile, { recursive: true, force: true })
}
