// The live page: polls the state of one cluster every second and follows its journal. No library, no build step.
'use strict'

const POLL_MS = 1000
const EVENTS_MAX = 300
const PRESETS = {
  'lose a response': { select: { api: 'Produce', nth: 1 }, phase: 'before_response', act: 'drop_response' },
  'refuse appends': { select: { api: 'Produce' }, phase: 'before_append', act: { error: 'NOT_ENOUGH_REPLICAS' } },
  'slow requests': { select: { api: 'Fetch' }, phase: 'before_parse', act: { delay_ms: 500 } },
  'kill a leader': { act: { kill: 'leader of TOPIC-0' } },
  'latency for clients': { act: { toxic: { type: 'latency', attributes: { latency: 200, jitter: 50 } } } },
}
const at = (id) => document.getElementById(id)
let cluster = 'default'
let events = []
let startUs = null
let stream = null
let lastRequests = null

function headers() {
  const token = sessionStorage.getItem('token')
  return token ? { Authorization: `Bearer ${token}` } : {}
}

// Sends a request; returns the body of the response, as text or JSON. A problem is thrown with its detail.
async function call(method, path, body) {
  const response = await fetch(path, { method, headers: headers(), body: body && JSON.stringify(body) })
  if (response.status === 401) at('token').hidden = false
  const text = await response.text()
  const isJson = (response.headers.get('Content-Type') || '').includes('json')
  if (!response.ok) throw new Error(isJson ? JSON.parse(text).detail : `${response.status} ${response.statusText}`)
  return isJson ? JSON.parse(text) : text
}

const path = (rest) => `/clusters/${encodeURIComponent(cluster)}${rest}`

// Shows an error until the next action succeeds.
function report(error) {
  at('trouble').hidden = !error
  at('trouble').textContent = error ? error.message : ''
}

async function act(method, rest, body) {
  try {
    await call(method, path(rest), body)
    report(null)
  } catch (error) {
    report(error)
  }
  await poll()
}

// Returns an element with children; text is always text, never markup.
function element(name, attributes, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value)
    else made.setAttribute(key, value)
  }
  made.append(...children.map((child) => (child instanceof Node ? child : String(child ?? ''))))
  return made
}

const cell = (text, kind) => element('td', kind ? { class: kind } : {}, text)
const number = (value) => cell(value, 'number')
const button = (text, label, click) => element('button', { type: 'button', 'aria-label': label, onclick: click }, text)

// Replaces the rows of a table, unless they are the same: the focus stays where it is.
function rows(id, made, nothing) {
  const body = at(id)
  const width = body.parentNode.tHead ? body.parentNode.tHead.rows[0].cells.length : 4
  const now = made.length ? made : [element('tr', { class: 'quiet' }, element('td', { colspan: width }, nothing))]
  const text = now.map((row) => row.outerHTML).join('')
  if (body.dataset.shown === text) return
  body.dataset.shown = text
  body.replaceChildren(...now)
}

function brokerRow(broker) {
  const state = !broker.running ? ['down', 'bad'] : broker.paused ? ['paused', 'doubt']
    : broker.fenced ? ['fenced', 'doubt'] : ['runs', 'good']
  const verbs = !broker.running ? ['restart'] : broker.paused ? ['resume', 'kill']
    : ['pause', 'kill', 'stop', 'isolate', 'rejoin']
  const buttons = verbs.map((verb) =>
    button(verb, `${verb} broker ${broker.id}`, () => act('POST', `/brokers/${broker.id}/${verb}`)))
  return element('tr', {}, cell(broker.id), element('td', {}, element('span', { class: `pill ${state[1]}` }, state[0])),
    cell(`${broker.host}:${broker.port}`, 'name'), number(broker.leaders), number(broker.replicas),
    number(broker.connections), element('td', { class: 'name' }, ...buttons))
}

function partitionRows(topics) {
  const shown = topics.filter((topic) => at('internal').checked || !topic.name.startsWith('__'))
  return shown.flatMap((topic) => topic.partitions.map((each) => {
    const short = each.isr.length < each.replicas.length
    return element('tr', {}, cell(`${topic.name}-${each.partition}`, 'name'),
      cell(each.leader ?? 'none', each.leader === null ? 'alarm' : ''),
      cell(short ? `${each.isr.join(', ')} of ${each.replicas.join(', ')}` : each.isr.join(', '), short ? 'alarm name' : 'name'),
      number(each.leader_epoch), number(each.high_watermark), number(each.last_stable_offset), number(each.log_end_offset))
  }))
}

function ruleRow(rule) {
  const name = encodeURIComponent(rule.name)
  return element('tr', {}, cell(rule.name, 'name'), cell(rule.act), number(rule.fired), number(rule.matched),
    cell(rule.problem), element('td', { class: 'name' },
      button('release', `release ${rule.name}`, () => act('POST', `/rules/${name}/release`)),
      button('remove', `remove ${rule.name}`, () => act('DELETE', `/rules/${name}`))))
}

function groupRows(groups, transactions) {
  const ofGroups = groups.map((group) => {
    const lag = group.offsets.reduce((sum, offset) => sum + (offset.lag ?? 0), 0)
    const members = group.members.map((member) => `${member.client_id}: ${member.assignment.join(', ') || 'nothing'}`)
    return element('tr', {}, cell(group.group_id, 'name'), cell(`${group.type} group`), cell(group.state), number(group.epoch),
      cell(members.join('; ')), number(lag))
  })
  const ofTransactions = transactions.map((each) => element('tr', {}, cell(each.transactional_id, 'name'),
    cell('transaction'), cell(each.state), number(each.producer_epoch), cell(each.partitions.join(', ')), number('')))
  return [...ofGroups, ...ofTransactions]
}

const connectionRow = (each) => element('tr', {}, cell(each.client_id ?? 'no request yet'),
  cell(`${each.software_name} ${each.software_version}`), cell(`${each.client_host}:${each.client_port}`, 'name'),
  number(each.broker))

// Returns requests per second since the last poll, and the slowest 99th percentile of Produce and Fetch.
function rates(metrics) {
  let count = 0
  const slowest = {}
  for (const line of metrics.split('\n')) {
    const found = line.match(/^kafka_network_requestmetrics_(\w+?)(?:_total)?\{(.*)\} (\S+)$/)
    if (!found) continue
    const [, name, labels, value] = found
    if (name === 'requestspersec') count += Number(value)
    const api = labels.match(/request="(Produce|FetchConsumer)"/)
    if (name === 'totaltimems' && api && labels.includes('quantile="0.99"')) {
      slowest[api[1]] = Math.max(slowest[api[1]] ?? 0, Number(value))
    }
  }
  const now = performance.now()
  const text = []
  if (lastRequests && count >= lastRequests.count) {
    text.push(`${Math.round((count - lastRequests.count) / ((now - lastRequests.now) / 1000))} requests per second`)
  }
  lastRequests = { count, now }
  for (const [api, ms] of Object.entries(slowest)) text.push(`${api} p99 ${ms.toFixed(1)} ms`)
  return text.join(', ')
}

let polling = false
async function poll() {
  if (polling || document.hidden) return
  polling = true
  try {
    const parts = ['', '/brokers', '/topics', '/rules', '/groups', '/transactions', '/connections', '/metrics']
    const [about, brokers, topics, rules, groups, transactions, connections, metrics] =
      await Promise.all(parts.map((part) => call('GET', path(part))))
    at('about').textContent = `Kafka ${about.release}, ${about.bootstrap_servers}`
    at('rates').textContent = rates(metrics)
    rows('brokers', brokers.map(brokerRow), 'no broker')
    rows('partitions', partitionRows(topics), 'no topic')
    rows('rules', rules.map(ruleRow), 'no rule: every request is served as real Kafka serves it')
    rows('groups', groupRows(groups, transactions), 'no group and no transactional id')
    rows('connections', connections.map(connectionRow), 'no client is connected')
    if (at('trouble').textContent.startsWith('No connection')) report(null)
  } catch (error) {
    report(error instanceof TypeError ? new Error('No connection: the server has ended.') : error)
  } finally {
    polling = false
  }
}

function eventRow(event) {
  const { sequence, kind, time_us: timeUs, broker_id: node, ...rest } = event
  const values = Object.entries(rest).filter(([, value]) => value !== null && value !== -1 && value !== '')
  const row = element('tr', {}, number(sequence), number(`${((timeUs - startUs) / 1e6).toFixed(3)} s`), cell(kind, 'name'),
    number(node), cell(values.map(([name, value]) => `${name}=${value}`).join(' ')))
  if (event.request_id > 0) {
    row.tabIndex = 0
    row.style.cursor = 'pointer'
    row.addEventListener('click', () => trace(event))
    row.addEventListener('keydown', (pressed) => pressed.key === 'Enter' && trace(event))
  }
  return row
}

function showEvents() {
  if (at('pause').getAttribute('aria-pressed') === 'true') return
  const words = at('filter').value.toLowerCase().split(/\s+/).filter(Boolean)
  const fits = (event) => words.every((word) => JSON.stringify(event).toLowerCase().includes(word))
  rows('events', events.filter(fits).slice(-EVENTS_MAX).reverse().map(eventRow), 'no event fits')
}

// Shows every event of one request: its arrival, its batches, its response.
async function trace(event) {
  try {
    const found = await call('GET', path(`/events?where=request_id=${event.request_id},broker_id=${event.broker_id}`))
    at('trace-events').replaceChildren(...found.events.map(eventRow))
    at('trace').showModal()
  } catch (error) {
    report(error)
  }
}

// Follows the journal of the cluster until another one is chosen.
async function follow() {
  if (stream) stream.abort()
  const own = (stream = new AbortController())
  events = []
  const detail = at('traffic').checked ? 'full' : 'cluster'
  try {
    const response = await fetch(path(`/events/stream?after=0&detail=${detail}`), { headers: headers(), signal: own.signal })
    if (!response.ok) return
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      const parts = (rest + value).split('\n\n')
      rest = parts.pop()
      for (const part of parts) {
        const data = part.split('\n').find((line) => line.startsWith('data: '))
        if (!data) continue
        const event = JSON.parse(data.slice(6))
        startUs ??= event.time_us
        events.push(event)
      }
      if (events.length > 20 * EVENTS_MAX) events = events.slice(-10 * EVENTS_MAX)
      showEvents()
    }
  } catch (error) {
    if (own.signal.aborted) return
  }
  setTimeout(() => own === stream && follow(), POLL_MS)
}

function choose(name) {
  cluster = name
  startUs = lastRequests = null
  poll()
  follow()
}

async function start() {
  try {
    const clusters = await call('GET', '/clusters')
    at('cluster').replaceChildren(...clusters.map((each) => element('option', { value: each.name }, each.name)))
    if (clusters.length) choose(clusters[0].name)
  } catch (error) {
    report(error)
  }
}

at('cluster').addEventListener('change', () => choose(at('cluster').value))
at('internal').addEventListener('change', poll)
at('traffic').addEventListener('change', follow)
at('filter').addEventListener('input', showEvents)
at('reset').addEventListener('click', () => act('POST', '/reset').then(follow))
at('theme').addEventListener('click', () => {
  const root = document.documentElement
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  root.dataset.theme = dark ? 'light' : 'dark'
})
at('pause').addEventListener('click', () => {
  const paused = at('pause').getAttribute('aria-pressed') !== 'true'
  at('pause').setAttribute('aria-pressed', paused)
  at('pause').textContent = paused ? 'Resume' : 'Pause'
  showEvents()
})
at('preset').append(element('option', { value: '' }, 'an example'), ...Object.keys(PRESETS).map((name) => element('option', {}, name)))
at('preset').addEventListener('change', () => {
  const preset = PRESETS[at('preset').value]
  if (preset) at('rule').value = JSON.stringify(preset, null, 2)
})
at('add-rule').addEventListener('submit', async (submitted) => {
  submitted.preventDefault()
  try {
    await call('POST', path('/rules'), JSON.parse(at('rule').value))
    at('rule-problem').textContent = ''
  } catch (error) {
    at('rule-problem').textContent = error.message
  }
  poll()
})
at('token').addEventListener('submit', (submitted) => {
  submitted.preventDefault()
  sessionStorage.setItem('token', at('token').elements.token.value)
  at('token').hidden = true
  report(null)
  start()
})
setInterval(poll, POLL_MS)
document.addEventListener('visibilitychange', poll)
start()
