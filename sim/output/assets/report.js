'use strict';
(() => {
const doc = JSON.parse(document.getElementById('data').textContent);
const $ = (tag, cls, text) => { const e = document.createElement(tag); if (cls) e.className = cls; if (text !== undefined) e.textContent = text; return e; };
const css = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
const sig = (v, n) => v >= 1e15 ? v.toExponential(2) : v.toFixed(Math.max(0, n - Math.max(1, Math.floor(Math.log10(Math.max(v, 1e-9))) + 1)));
const scaled = (v, base, units, digits) => { let i = 0; while (v >= base * 0.9995 && i < units.length - 1) { v /= base; ++i; } return (v === Math.round(v) ? String(v) : sig(v, digits)) + ' ' + units[i]; };
const bytes = v => v ? scaled(v, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'], 3) : '0';
const time = v => v ? scaled(v, 1000, ['ps', 'ns', 'us', 'ms', 's'], 4) : '0';
const rate = v => v ? scaled(v, 1000, ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s'], 4) : '0';
const percent = v => (100 * v).toFixed(1) + '%';
const dash = (v, f) => v ? f(v) : '–';
const STALLS = [['dma_read', 'read', 'wait for reads'], ['dma_write', 'write', 'wait for writes'], ['fill', 'fill', 'fill'], ['drain', 'drain', 'drain'], ['other', 'other', 'other']];

function setTheme(theme) { document.documentElement.dataset.theme = theme; }
setTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');

const tip = $('div'); tip.id = 'tip'; document.body.append(tip);
function showTip(x, y, title, rows) {
  tip.replaceChildren($('b', '', title));
  const list = $('dl'); for (const [k, v] of rows) list.append($('dt', '', k), $('dd', '', v));
  tip.append(list); tip.style.display = 'block';
  const r = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - r.width - 8)) + 'px';
  tip.style.top = Math.max(4, y + 16 + r.height > innerHeight ? y - r.height - 12 : y + 16) + 'px';
}
const hideTip = () => { tip.style.display = 'none'; };

function table(columns, rows, onRow) {
  const box = $('div', 'scroll'), t = $('table'), head = $('tr'), body = $('tbody');
  let sorted = -1, down = true;
  const fill = list => body.replaceChildren(...list.map(row => {
    const tr = $('tr', onRow ? 'hit' : '');
    for (const c of columns) { const td = $('td', (c.left ? 'l ' : '') + (c.cls || '')); const v = c.show(row); if (v instanceof Node) td.append(v); else { td.textContent = v; if (c.left) td.title = v; } tr.append(td); }
    if (onRow) tr.onclick = () => onRow(row);
    return tr;
  }));
  columns.forEach((c, i) => {
    const th = $('th', c.left ? 'l' : ''); const b = $('button', '', c.name); if (c.hint) b.title = c.hint;
    b.onclick = () => {
      down = sorted === i ? !down : !c.left; sorted = i;
      head.querySelectorAll('th').forEach(x => x.removeAttribute('aria-sort')); th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const key = c.key || c.show;
      fill([...rows].sort((a, b2) => { const x = key(a), y = key(b2); return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1); }));
    };
    th.append(b); head.append(th);
  });
  const thead = $('thead'); thead.append(head); t.append(thead, body); fill(rows); box.append(t); return box;
}

function cards(s) {
  const box = $('div', 'cards');
  const card = (k, v, d, share) => { const c = $('div', 'card'); c.append($('div', 'k', k), $('div', 'v', v), $('div', 'd', d)); if (share !== undefined) { const m = $('div', 'meter'), i = $('i'); i.style.width = Math.min(100, 100 * share) + '%'; m.append(i); c.append(m); } box.append(c); };
  card('Makespan', time(s.makespan_ps), s.cycles.toLocaleString('en') + ' cycles' + (s.complete ? '' : ' · stopped early'));
  const peak = s.hbm.peak_bytes_per_second;
  card('HBM rate', rate(s.hbm.bytes_per_second), peak ? percent(s.hbm.bytes_per_second / peak) + ' of ' + rate(peak) + ' peak' : '', peak ? s.hbm.bytes_per_second / peak : 0);
  card('HBM traffic', bytes(s.hbm.read_bytes + s.hbm.write_bytes), bytes(s.hbm.read_bytes) + ' read, ' + bytes(s.hbm.write_bytes) + ' written', s.makespan_ps ? s.hbm.busy_ps / s.makespan_ps : 0);
  const v = s.vmem;
  card('VMEM peak', bytes(v.peak_bytes), (v.capacity_bytes ? percent(v.peak_bytes / v.capacity_bytes) + ' of ' + bytes(v.capacity_bytes) : '') + (v.peak_at ? ' in ' + v.peak_at : ''), v.capacity_bytes ? v.peak_bytes / v.capacity_bytes : 0);
  card('Unmodelled', percent(s.unmodelled.share_of_time), s.unmodelled.ops.length ? s.unmodelled.ops.length + (s.unmodelled.ops.length === 1 ? ' op: ' : ' ops: ') + s.unmodelled.ops.slice(0, 3).join(', ') : 'every op is modelled', s.unmodelled.share_of_time);
  return box;
}

function splitOf(compute, stalls) {
  const total = compute + STALLS.reduce((a, [k]) => a + stalls[k], 0), bar = $('div', 'split');
  const add = (v, color, what) => { if (!v || !total) return; const i = $('i'); i.style.width = 100 * v / total + '%'; i.style.background = 'var(--' + color + ')'; i.title = what + ' ' + time(v) + ' (' + percent(v / total) + ')'; bar.append(i); };
  add(compute, 'compute', 'compute'); for (const [k, c, n] of STALLS) add(stalls[k], c, n);
  return bar;
}
const computePs = (s, op) => s.cycles ? op.compute_cycles * s.makespan_ps / s.cycles : 0;
const opRate = op => op.busy_ps && op.class !== 'async' ? (op.hbm_read_bytes + op.hbm_write_bytes) / op.busy_ps * 1e12 : 0;
function legend(items) { const l = $('div', 'legend'); for (const [c, n] of items) { const e = $('span'), b = $('b'); b.style.background = 'var(--' + c + ')'; e.append(b, n); l.append(e); } return l; }
const kindOf = op => !op.kind ? op.class || op.opcode : op.class && 'k' + op.class !== op.kind.toLowerCase() ? op.kind + '/' + op.class : op.kind;

function opsTable(s, zoomTo) {
  const sec = $('section'); const share = op => s.makespan_ps ? op.busy_ps / s.makespan_ps : 0;
  const stall = op => STALLS.reduce((a, [k]) => a + op.stall_ps[k], 0);
  sec.append($('h2', '', 'Ops in schedule order'));
  const order = new Map(s.ops.map((op, i) => [op, i]));
  sec.append(table([
    {name: '#', key: op => order.get(op), show: op => order.get(op) + 1},
    {name: 'op', left: true, cls: 'name', show: op => op.name + (op.unmodelled ? ' *' : '')},
    {name: 'kind', left: true, show: kindOf},
    {name: 'runs', key: op => op.executions, show: op => op.executions},
    {name: 'time', key: op => op.busy_ps, show: op => dash(op.busy_ps, time)},
    {name: 'share', key: share, show: op => percent(share(op))},
    {name: 'HBM in', key: op => op.hbm_read_bytes, show: op => dash(op.hbm_read_bytes, bytes)},
    {name: 'HBM out', key: op => op.hbm_write_bytes, show: op => dash(op.hbm_write_bytes, bytes)},
    {name: 'rate', hint: 'HBM bytes over the time of the op; an asynchronous op returns before its bytes have moved', key: opRate, show: op => dash(opRate(op), rate)},
    {name: 'compute', key: op => op.compute_cycles, show: op => dash(computePs(s, op), v => time(Math.round(v)))},
    {name: 'waits', key: stall, show: op => dash(stall(op), time)},
    {name: 'where it goes', left: true, key: op => computePs(s, op) / (op.busy_ps || 1), show: op => splitOf(computePs(s, op), op.stall_ps)},
    {name: 'bound', left: true, key: op => op.bound, show: op => $('span', 'tag ' + op.bound, op.bound)},
    {name: 'in the program', left: true, cls: 'name dim', show: op => op.op_name},
  ], s.ops, zoomTo && (op => zoomTo(op))));
  sec.append(legend([['compute', 'compute'], ...STALLS.map(([, c, n]) => [c, n])]));
  return sec;
}

const KINDS = {op: 'op', compute: 'compute', wait: 'wait', dma_read: 'read', dma_write: 'write', async: 'async', step: 'step'};
const ROW = 19, GAP = 7, AXIS = 24, GUTTER = 136;

class Timeline {
  constructor(run, onView) {
    this.run = run; this.onView = onView; this.end = Math.max(1, run.end_ps); this.view = [0, this.end]; this.hover = null; this.query = '';
    this.layout();
    this.section = $('section'); const bar = $('div', 'bar');
    const search = $('input'); search.type = 'search'; search.placeholder = 'find op, buffer, kind  (/)'; search.setAttribute('aria-label', 'find in the timeline');
    search.oninput = () => { this.query = search.value.toLowerCase(); this.hits = null; this.found.textContent = this.query ? this.matches().length + ' found' : ''; this.draw(); };
    search.onkeydown = e => { if (e.key === 'Enter') this.next(e.shiftKey ? -1 : 1); e.stopPropagation(); };
    this.search = search; this.found = $('span', 'dim'); this.range = $('span', 'dim');
    const button = (t, title, f) => { const b = $('button', '', t); b.title = title; b.onclick = f; return b; };
    bar.append($('h2', '', 'Timeline'), this.range, $('span', 'grow'), search, this.found, button('−', 'zoom out (s)', () => this.zoom(2)), button('+', 'zoom in (w)', () => this.zoom(0.5)), button('fit', 'whole run (0)', () => this.set(0, this.end)));
    this.canvas = $('canvas', 'lanes'); this.canvas.tabIndex = 0; this.canvas.setAttribute('role', 'img'); this.canvas.setAttribute('aria-label', 'timeline of tracks');
    this.section.append(bar, this.canvas, legend([['op', 'op'], ['compute', 'compute'], ['wait', 'wait'], ['step', 'step'], ['read', 'HBM read'], ['write', 'HBM write'], ['async', 'asynchronous']]));
    const note = $('div', 'dim', 'Drag to pan, Ctrl+wheel or w/s to zoom, a/d to move, double click on a slice to fill the view with it.' + (run.merged ? ' This run has ' + run.merged.toLocaleString('en') + ' slices: the shortest neighbours are drawn as one.' : ''));
    note.style.fontSize = '12px'; note.style.marginTop = '6px'; this.section.append(note);
    this.listen();
  }
  layout() {
    let y = AXIS; this.flows = new Map(); this.lanes = [];
    this.run.lanes.forEach((lane, l) => {
      const rows = [], n = lane.start.length; const stack = [];
      for (let i = 0; i < n; ++i) {
        while (stack.length && lane.end[stack[stack.length - 1]] <= lane.start[i]) stack.pop();
        (rows[stack.length] = rows[stack.length] || []).push(i); stack.push(i);
        const f = lane.flow[i]; if (f) { if (!this.flows.has(f)) this.flows.set(f, []); this.flows.get(f).push([l, i]); }
      }
      if (!rows.length) rows.push([]);
      this.lanes.push({lane, rows, y, place: new Map(rows.flatMap((r, d) => r.map(i => [i, d])))}); y += rows.length * ROW + GAP;
    });
    this.height = y + 2;
  }
  name(l, i) { return this.run.labels[this.run.lanes[l].label[i]]; }
  text(l, i) { const a = this.run.lanes[l], op = a.op[i]; return (this.name(l, i) + ' ' + this.run.kinds[a.kind[i]] + ' ' + (op >= 0 ? this.run.summary.ops[op].name : '')).toLowerCase(); }
  matches() {
    if (this.hits) return this.hits; this.hits = [];
    if (this.query) this.run.lanes.forEach((a, l) => { for (let i = 0; i < a.start.length; ++i) if (this.text(l, i).includes(this.query)) this.hits.push([l, i]); });
    this.hits.sort((p, q) => this.run.lanes[p[0]].start[p[1]] - this.run.lanes[q[0]].start[q[1]]); this.at = -1; this.hitSet = new Set(this.hits.map(([l, i]) => l + ':' + i)); return this.hits;
  }
  next(step) { const m = this.matches(); if (!m.length) return; this.at = (this.at + step + m.length) % m.length; this.focus(...m[this.at]); this.found.textContent = (this.at + 1) + ' of ' + m.length; }
  focus(l, i) { const a = this.run.lanes[l], d = Math.max(a.end[i] - a.start[i], this.end / 1e7); this.selected = [l, i]; this.set(a.start[i] - d * 0.6, a.end[i] + d * 0.6); }
  set(a, b) {
    const least = Math.min(this.end, 1000); if (b - a < least) { const m = (a + b) / 2; a = m - least / 2; b = m + least / 2; }
    if (b - a > this.end) { a = 0; b = this.end; } if (a < 0) { b -= a; a = 0; } if (b > this.end) { a -= b - this.end; b = this.end; }
    this.view = [Math.max(0, a), b]; this.draw(); this.onView(this.view);
  }
  zoom(f, at) { const [a, b] = this.view, c = at === undefined ? (a + b) / 2 : at; this.set(c - (c - a) * f, c + (b - c) * f); }
  x(t) { return GUTTER + (t - this.view[0]) / (this.view[1] - this.view[0]) * (this.width - GUTTER); }
  t(x) { return this.view[0] + (x - GUTTER) / (this.width - GUTTER) * (this.view[1] - this.view[0]); }
  resize() { const w = this.canvas.clientWidth || 1000, r = devicePixelRatio || 1; this.width = w; this.canvas.width = w * r; this.canvas.height = this.height * r; this.canvas.style.height = this.height + 'px'; this.g = this.canvas.getContext('2d'); this.g.setTransform(r, 0, 0, r, 0, 0); this.colors = null; this.draw(); }
  firstVisible(lane, row) { let lo = 0, hi = row.length; while (lo < hi) { const m = (lo + hi) >> 1; if (lane.end[row[m]] < this.view[0]) lo = m + 1; else hi = m; } return lo; }
  draw() {
    const g = this.g; if (!g) return; const [a, b] = this.view;
    if (!this.colors) { this.colors = {}; for (const n of ['card', 'ink', 'dim', 'line', 'soft', 'accent', 'op', 'compute', 'wait', 'read', 'write', 'async', 'step', 'other']) this.colors[n] = css(n); }
    const c = this.colors; g.fillStyle = c.card; g.fillRect(0, 0, this.width, this.height); g.font = '12px system-ui,sans-serif'; g.textBaseline = 'middle';
    const raw = (b - a) / Math.max(2, (this.width - GUTTER) / 110), p = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map(k => k * p).find(k => k >= raw);
    for (let t = Math.ceil(a / step) * step; t <= b; t += step) { const x = this.x(t); g.fillStyle = c.line; g.fillRect(x, AXIS - 6, 1, this.height); g.fillStyle = c.dim; g.fillText(axisTime(t, step), x + 4, AXIS / 2 - 1); }
    this.range.textContent = time(Math.round(a)) + ' – ' + time(Math.round(b)); if (this.query) this.matches();
    for (let l = 0; l < this.lanes.length; ++l) this.drawLane(l, c);
    g.fillStyle = c.card; g.fillRect(0, AXIS, GUTTER - 4, this.height); g.fillStyle = c.ink;
    for (const {lane, y} of this.lanes) { g.fillStyle = c.ink; g.fillText(fit(g, lane.name, GUTTER - 12), 2, y + ROW / 2); }
    for (const s of [this.selected, this.hover]) if (s) this.outline(s, c);
  }
  drawLane(l, c) {
    const g = this.g, {lane, rows, y} = this.lanes[l], [, b] = this.view; g.save(); g.beginPath(); g.rect(GUTTER, 0, this.width, this.height); g.clip();
    g.fillStyle = c.soft; g.fillRect(GUTTER, y + rows.length * ROW + GAP / 2 - 1, this.width, 1);
    rows.forEach((row, depth) => {
      const top = y + depth * ROW; let last = -1;
      for (let k = this.firstVisible(lane, row); k < row.length; ++k) {
        const i = row[k]; if (lane.start[i] > b) break;
        const x0 = Math.max(GUTTER, this.x(lane.start[i])), x1 = Math.min(this.width, this.x(lane.end[i])), w = Math.max(x1 - x0, 0.8);
        if (x0 + w <= last) continue; last = Math.floor(x0) + (w < 1 ? 1 : 0);
        const kind = this.run.kinds[lane.kind[i]]; g.globalAlpha = this.query && !this.hitSet.has(l + ':' + i) ? 0.18 : 1;
        g.fillStyle = c[KINDS[kind] || 'other']; g.fillRect(x0, top + 1, w > 3 ? w - 0.7 : w, ROW - 2);
        if (w > 34) { g.fillStyle = kind === 'wait' || kind === 'step' ? c.ink : '#fff'; g.fillText(fit(g, this.name(l, i), w - 8), x0 + 4, top + ROW / 2 + 0.5); }
      }
    });
    g.globalAlpha = 1; g.restore();
  }
  box([l, i]) { const {lane, y, place} = this.lanes[l]; return [Math.max(GUTTER, this.x(lane.start[i])), y + place.get(i) * ROW, Math.min(this.width, this.x(lane.end[i]))]; }
  outline([l, i], c) {
    const g = this.g, [x0, y, x1] = this.box([l, i]); if (x1 < GUTTER) return; g.strokeStyle = c.ink; g.lineWidth = 1.5; g.strokeRect(x0 + 0.5, y + 1, Math.max(2, x1 - x0 - 1), ROW - 2);
    const f = this.run.lanes[l].flow[i]; if (!f) return;
    for (const [m, j] of this.flows.get(f)) if (m !== l || j !== i) {
      const [a0, ay, a1] = this.box([m, j]), from = x1, to = a1; g.strokeStyle = c.accent; g.beginPath(); g.moveTo(from, y + ROW / 2); g.bezierCurveTo(from + 26, y + ROW / 2, to - 26, ay + ROW / 2, to, ay + ROW / 2); g.stroke(); g.strokeRect(a0 + 0.5, ay + 1, Math.max(2, a1 - a0 - 1), ROW - 2);
    }
  }
  pick(x, y) {
    for (let l = 0; l < this.lanes.length; ++l) {
      const {lane, rows, y: top} = this.lanes[l], d = Math.floor((y - top) / ROW); if (y < top || d >= rows.length || x < GUTTER) continue;
      const t = this.t(x), slack = (this.view[1] - this.view[0]) / this.width * 1.5, row = rows[d]; let best = null;
      for (let k = Math.max(0, this.firstVisible(lane, row)); k < row.length && lane.start[row[k]] <= t + slack; ++k) { const i = row[k]; if (lane.end[i] >= t - slack && (best === null || lane.start[i] <= t)) best = i; }
      if (best !== null) return [l, best];
    }
    return null;
  }
  describe([l, i], e) {
    const a = this.run.lanes[l], d = a.end[i] - a.start[i], rows = [['kind', this.run.kinds[a.kind[i]]], ['start', a.start[i].toLocaleString('en') + ' ps'], ['end', a.end[i].toLocaleString('en') + ' ps'], ['length', time(d)]];
    if (a.op[i] >= 0) rows.push(['op', this.run.summary.ops[a.op[i]].name]);
    if (a.bytes[i]) rows.push(['bytes', bytes(a.bytes[i]) + (d ? '  at ' + rate(a.bytes[i] / d * 1e12) : '')]);
    if (a.address[i] >= 0) rows.push(['address', '0x' + a.address[i].toString(16)]);
    showTip(e.clientX, e.clientY, this.name(l, i), rows);
  }
  listen() {
    const c = this.canvas; let drag = null;
    c.onpointerdown = e => { drag = {x: e.offsetX, view: this.view, moved: false}; c.setPointerCapture(e.pointerId); };
    c.onpointermove = e => {
      if (drag) { const k = (drag.view[1] - drag.view[0]) / (this.width - GUTTER), dx = (drag.x - e.offsetX) * k; if (Math.abs(drag.x - e.offsetX) > 2) drag.moved = true; if (drag.moved) { hideTip(); this.set(drag.view[0] + dx, drag.view[1] + dx); } return; }
      this.hover = this.pick(e.offsetX, e.offsetY); this.draw(); if (this.hover) this.describe(this.hover, e); else hideTip();
    };
    c.onpointerup = e => { if (drag && !drag.moved) { this.selected = this.pick(e.offsetX, e.offsetY); this.draw(); } drag = null; };
    c.onpointerleave = () => { this.hover = null; hideTip(); this.draw(); };
    c.ondblclick = e => { const s = this.pick(e.offsetX, e.offsetY); if (s) this.focus(...s); };
    c.addEventListener('wheel', e => {
      if (e.ctrlKey || e.metaKey) { e.preventDefault(); this.zoom(e.deltaY > 0 ? 1.25 : 0.8, this.t(Math.max(GUTTER, e.offsetX))); }
      else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) { e.preventDefault(); const k = (this.view[1] - this.view[0]) / this.width * (e.deltaX || e.deltaY); this.set(this.view[0] + k, this.view[1] + k); }
    }, {passive: false});
    c.onkeydown = e => { const w = (this.view[1] - this.view[0]) * 0.2, k = {a: -w, ArrowLeft: -w, d: w, ArrowRight: w}[e.key]; if (k) this.set(this.view[0] + k, this.view[1] + k); else if (e.key === 'w' || e.key === '+') this.zoom(0.6); else if (e.key === 's' || e.key === '-') this.zoom(1.6); else if (e.key === '0') this.set(0, this.end); else return; e.preventDefault(); };
  }
}
function axisTime(t, step) { // the unit follows the step, so that neighbours differ in a few digits
  const w = step * 4, unit = w >= 1e12 ? [1e12, 's'] : w >= 1e9 ? [1e9, 'ms'] : w >= 1e6 ? [1e6, 'us'] : w >= 1e3 ? [1e3, 'ns'] : [1, 'ps'];
  return (Math.round(t / step) * step / unit[0]).toLocaleString('en', {maximumFractionDigits: 3}) + ' ' + unit[1];
}
const widths = new Map();
function fit(g, text, w) { // binary search for the longest prefix and suffix that fit
  if (text.length * 4 < w) return text; const key = text + '|' + Math.floor(w / 4); let r = widths.get(key); if (r !== undefined) return r;
  if (g.measureText(text).width <= w) r = text; else { let lo = 0, hi = text.length; const cut = n => text.slice(0, Math.ceil(n / 2)) + '…' + (n > 1 ? text.slice(-Math.floor(n / 2)) : ''); while (lo < hi) { const m = (lo + hi + 1) >> 1; if (g.measureText(cut(m)).width <= w) lo = m; else hi = m - 1; } r = lo > 5 ? cut(lo) : ''; }
  if (widths.size > 20000) widths.clear(); widths.set(key, r); return r;
}

const BYTE_STEPS = Array.from({length: 60}, (_, i) => 2 ** i);

function plots(run, timeline) {
  const sec = $('section'); sec.append($('h2', '', 'Memory over time')); const list = []; const groups = new Map();
  for (const c of run.counters) if (c.t.length) { if (!groups.has(c.unit)) groups.set(c.unit, []); groups.get(c.unit).push(c); }
  const palette = {read: css('read'), write: css('write')}; let syncing = false;
  for (const [unit, group] of groups) {
    const xs = [...new Set(group.flatMap(c => c.t).concat(0, timeline.end))].sort((p, q) => p - q), series = [{label: 'time', value: (u, v) => v == null ? '' : time(v)}], data = [xs];
    const show = unit === 'B/s' ? rate : unit === 'B' ? bytes : v => String(+v.toFixed(2));
    const others = [css('async'), css('compute'), css('fill'), css('drain')]; let next = 0;
    for (const c of group) { // a value holds until the next point of its own counter
      let k = 0, v = null; data.push(xs.map(t => { while (k < c.t.length && c.t[k] <= t) v = c.v[k++]; return v; }));
      const color = /read/.test(c.name) ? palette.read : /write/.test(c.name) ? palette.write : others[next++ % 4];
      series.push({label: c.name, stroke: color, fill: color + '22', width: 1.4, points: {show: false}, paths: uPlot.paths.stepped({align: 1}), value: (u, v2) => v2 == null ? '' : show(v2)});
    }
    const peak = run.summary.hbm.peak_bytes_per_second; if (unit === 'B/s' && peak) { data.push(xs.map(() => peak)); series.push({label: 'peak', stroke: css('dim'), dash: [5, 5], width: 1, points: {show: false}, value: (u, v2) => v2 == null ? '' : show(v2)}); }
    const box = $('div', 'plot'); sec.append(box);
    const axis = {stroke: css('dim'), grid: {stroke: css('line'), width: 1}, ticks: {stroke: css('line'), width: 1}};
    const u = new uPlot({title: group.map(c => c.name).join(', '), width: 1000, height: 190, cursor: {sync: {key: 'spillway'}, drag: {x: true, y: false}}, series,
      padding: [8, 0, 0, 0], scales: {x: {time: false, range: (s, lo, hi) => [lo, hi]}, y: {range: (s, lo, hi) => [0, hi > 0 ? hi * 1.06 : 1]}},
      axes: [{...axis, space: 90, values: (s, ts) => { const st = ts.length > 1 ? ts[1] - ts[0] : 1; return ts.map(t => axisTime(t, st)); }}, {...axis, size: GUTTER, incrs: unit === 'B' ? BYTE_STEPS : undefined, values: (s, vs) => vs.map(show)}],
      hooks: {setScale: [(s, k) => { if (k === 'x' && !syncing && s.scales.x.min != null && s.status) { const {min, max} = s.scales.x; if (Math.abs(min - timeline.view[0]) + Math.abs(max - timeline.view[1]) > 1) timeline.set(min, max); } }]}}, data, box);
    list.push(u);
  }
  return {section: list.length ? sec : null, resize: () => list.forEach(u => u.setSize({width: u.root.parentNode.clientWidth, height: 190})), view: ([a, b]) => { syncing = true; list.forEach(u => u.setScale('x', {min: a, max: b})); setTimeout(() => { syncing = false; }, 0); }};
}

function buffers(s) {
  if (!s.buffers || !s.buffers.length) return null; const sec = $('section'), d = $('details'); d.append($('summary', '', 'Buffers (' + s.buffers.length + ')'));
  d.append(table([{name: 'buffer', left: true, cls: 'name', show: b => b.name}, {name: 'shape', left: true, cls: 'name dim', show: b => b.shape}, {name: 'space', left: true, show: b => b.memory_space},
    {name: 'logical', key: b => b.logical_bytes, show: b => bytes(b.logical_bytes)}, {name: 'allocated', key: b => b.allocated_bytes, show: b => bytes(b.allocated_bytes)},
    {name: 'offset', key: b => b.offset, show: b => (b.exact_offset ? '' : '~') + b.offset.toLocaleString('en')}, {name: 'first op', left: true, cls: 'name', show: b => b.first_op}, {name: 'last op', left: true, cls: 'name', show: b => b.last_op}], s.buffers));
  sec.append(d); return sec;
}
function remarks(s) {
  const un = s.ops.filter(op => op.unmodelled); if (!s.notes.length && !un.length) return null; const sec = $('section'), ul = $('ul'); sec.append($('h2', '', 'Notes'));
  for (const op of un) ul.append($('li', 'warn', '* ' + op.name + ' is not modelled: ' + (op.why || 'no model'))); for (const n of s.notes) ul.append($('li', '', n)); sec.append(ul); return sec;
}
function comparison(choose) {
  const sec = $('section'); sec.append($('h2', '', 'Runs')); const base = doc.runs[0].summary.makespan_ps;
  sec.append(table([{name: 'run', left: true, cls: 'name', show: r => r.title}, {name: 'chip', left: true, show: r => r.summary.chip}, {name: 'plan', left: true, show: r => r.summary.plan}, {name: 'makespan', key: r => r.summary.makespan_ps, show: r => time(r.summary.makespan_ps)},
    {name: 'against the first', key: r => r.summary.makespan_ps, show: r => base ? (r.summary.makespan_ps / base).toFixed(3) + 'x' : ''}, {name: 'HBM read', key: r => r.summary.hbm.read_bytes, show: r => bytes(r.summary.hbm.read_bytes)}, {name: 'HBM written', key: r => r.summary.hbm.write_bytes, show: r => bytes(r.summary.hbm.write_bytes)},
    {name: 'HBM rate', key: r => r.summary.hbm.bytes_per_second, show: r => rate(r.summary.hbm.bytes_per_second)}, {name: 'VMEM peak', key: r => r.summary.vmem.peak_bytes, show: r => bytes(r.summary.vmem.peak_bytes)}], doc.runs, choose)); return sec;
}

// A sweep: curves of one figure over one axis, a line for each combination of the others, and a table of the points.
const FIGURES = [
  ['time', 'makespan_ps', s => s.makespan_ps, time], ['HBM bytes', '', s => s.hbm_read_bytes + s.hbm_write_bytes, bytes], ['HBM read', '', s => s.hbm_read_bytes, bytes],
  ['HBM written', '', s => s.hbm_write_bytes, bytes], ['HBM rate', '', s => s.makespan_ps ? (s.hbm_read_bytes + s.hbm_write_bytes) / s.makespan_ps * 1e12 : 0, rate],
  ['HBM busy', '', s => s.makespan_ps ? s.hbm_busy_ps / s.makespan_ps : 0, percent], ['VMEM peak', '', s => s.vmem_peak_bytes, bytes],
  ['waits', '', s => s.stall_ps, time], ['DMAs', '', s => s.dma_count, v => v.toLocaleString('en')]];
const CLEAR_LINES = 8, MOST_LINES = 24, MOST_ROWS = 2000;
const LINE_COLORS = {light: ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#b58900', '#3d9bd0', '#333333', '#8a4fbf'], dark: ['#58b0ee', '#ff9142', '#37c99c', '#e79bc6', '#f2c14e', '#8fd0f7', '#cccccc', '#b68ae6']};
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

class SweepPage {
  constructor(sweep) {
    this.s = sweep; this.x = sweep.x; this.figure = 0; this.filter = sweep.axes.map(() => -1); this.logY = null; this.plot = null;
    this.rows = sweep.status.map((status, i) => {
      const r = {i, status, ok: status === 'ok', at: sweep.values.map(list => list[i]), measured: sweep.measured_us[i], timer: sweep.timer[i]};
      for (const k in sweep.figures) r[k] = sweep.figures[k][i]; return r;
    });
    for (let many = this.lines(this.rows, this.x).length; many > CLEAR_LINES; many = this.lines(this.chosen(), this.x).length) { // begin with a middle value of the longest axes
      const k = sweep.axes.reduce((best, a, i) => i !== this.x && this.filter[i] < 0 && (best < 0 || a.values.length > sweep.axes[best].values.length) ? i : best, -1);
      if (k < 0 || sweep.axes[k].values.length < 2) break; this.filter[k] = sweep.axes[k].values.length >> 1;
    }
  }
  text(axis, r) { return this.s.axes[axis].values[r.at[axis]].text; }
  name(r, skip, fixed) { return this.s.axes.map((a, k) => [a, k]).filter(([a, k]) => k !== skip && a.values.length > 1 && !(fixed && fixed[k] >= 0)).map(([a, k]) => a.name + '=' + this.text(k, r)).join(' '); }
  cards() {
    const ok = this.rows.filter(r => r.ok), box = $('div', 'cards'), missing = this.s.points - this.rows.length, failed = this.rows.length - ok.length;
    const card = (k, v, d) => { const c = $('div', 'card'); c.append($('div', 'k', k), $('div', 'v', v), $('div', 'd', d)); box.append(c); };
    card('Points', this.rows.length.toLocaleString('en'), (failed ? failed + ' without a result' : 'all have a result') + (missing ? ', ' + missing + ' not run yet' : ''));
    if (!ok.length) return box;
    const by = (better) => ok.reduce((a, b) => better(b.makespan_ps, a.makespan_ps) ? b : a), fast = by((a, b) => a < b), slow = by((a, b) => a > b);
    card('Fastest', time(fast.makespan_ps), this.name(fast)); card('Slowest', time(slow.makespan_ps), this.name(slow));
    const step = this.steepest(); if (step) card('Steepest step', step.ratio.toFixed(1) + 'x', this.text(this.x, step.from) + ' to ' + this.text(this.x, step.to) + (this.name(step.to, this.x) ? ', ' + this.name(step.to, this.x) : ''));
    return box;
  }
  steepest() { // of the time, between neighbours of a line
    let best = null; const f = FIGURES[0][2];
    for (const line of this.lines(this.rows, this.x)) for (let i = 1; i < line.rows.length; ++i) { const a = line.rows[i - 1], b = line.rows[i]; if (!f(a) || !f(b)) continue; const ratio = Math.max(f(b) / f(a), f(a) / f(b)); if (!best || ratio > best.ratio) best = {ratio, from: a, to: b}; }
    return best && best.ratio > 1.01 ? best : null;
  }
  chosen() { return this.rows.filter(r => this.filter.every((v, k) => v < 0 || r.at[k] === v)); }
  lines(rows, x) {
    const lines = new Map();
    for (const r of rows) { if (!r.ok) continue; const key = r.at.filter((v, k) => k !== x).join(); if (!lines.has(key)) lines.set(key, {name: this.name(r, x, this.filter), rows: []}); lines.get(key).rows.push(r); }
    const at = r => this.s.axes[x].values[r.at[x]].x; for (const l of lines.values()) l.rows.sort((a, b) => at(a) - at(b)); return [...lines.values()];
  }
  select(label, items, value, change) {
    const l = $('label', 'dim', label + ' '), s = $('select'); items.forEach(([v, t]) => { const o = $('option', '', t); o.value = v; s.append(o); }); s.value = value; s.onchange = () => { change(s.value); this.refresh(); }; l.append(s); return l;
  }
  controls() {
    const bar = $('div', 'bar'); bar.append($('h2', '', 'Curve'));
    bar.append(this.select('of', FIGURES.map((f, i) => [i, f[0]]), this.figure, v => { this.figure = +v; this.logY = null; }));
    const axes = this.s.axes.map((a, k) => [k, a.name]).filter(([k]) => this.s.axes[k].values.length > 1); if (axes.length) bar.append(this.select('over', axes, this.x, v => { this.x = +v; this.filter[+v] = -1; }));
    for (const [k, name] of axes) if (k !== this.x) bar.append(this.select(name, [[-1, 'all'], ...this.s.axes[k].values.map((v, i) => [i, v.text])], this.filter[k], v => { this.filter[k] = +v; }));
    this.logButton = $('button', '', 'log / linear'); this.logButton.title = 'scale of the vertical axis'; this.logButton.onclick = () => { this.logY = !this.isLog; this.refresh(); }; bar.append(this.logButton); return bar;
  }
  curve(box) {
    const axis = this.s.axes[this.x], [label, , f, show] = FIGURES[this.figure], all = this.lines(this.chosen(), this.x), lines = all.slice(0, MOST_LINES), notes = [];
    if (!lines.length) { box.append($('p', 'warn', 'No point here has a result.')); return; }
    const places = [...new Set(lines.flatMap(l => l.rows.map(r => axis.values[r.at[this.x]].x)))].sort((a, b) => a - b), texts = new Map(axis.values.map(v => [v.x, v.text]));
    const ys = lines.flatMap(l => l.rows.map(f)).filter(v => v > 0), low = Math.min(...ys), high = Math.max(...ys);
    this.isLog = ys.length > 0 && (this.logY === null ? high / low > 20 && this.figure !== 5 : this.logY);
    const theme = document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light', colors = LINE_COLORS[theme], data = [places], value = (u, v) => v == null ? '' : show(v);
    const series = [{label: axis.name, value: (u, v) => v == null ? '' : texts.get(v) || ''}], clean = v => this.isLog && !(v > 0) ? null : v;
    lines.forEach((l, i) => {
      const at = new Map(l.rows.map(r => [axis.values[r.at[this.x]].x, r])); data.push(places.map(p => at.has(p) ? clean(f(at.get(p))) : null));
      series.push({label: l.name || label, stroke: colors[i % colors.length], dash: DASHES[Math.floor(i / colors.length) % 4], width: 1.8, spanGaps: true, points: {show: true, size: 6}, value});
    });
    const measured = new Map(); // lines of which the same was measured share one series
    if (this.figure === 0) lines.forEach((l, i) => {
      const at = new Map(l.rows.filter(r => r.measured).map(r => [axis.values[r.at[this.x]].x, r])); if (!at.size) return;
      const ys2 = places.map(p => at.has(p) ? at.get(p).measured * 1e6 : null), key = ys2.join(), timers = [...new Set([...at.values()].map(r => r.timer))].join(', ');
      if (measured.has(key)) measured.get(key).names.push(l.name); else measured.set(key, {ys: ys2, names: [l.name], color: colors[i % colors.length], timers});
    });
    for (const m of measured.values()) {
      data.push(m.ys); const of = lines.length === m.names.length ? '' : m.names.length === 1 ? m.names[0] + ' ' : m.names.length + ' lines ';
      series.push({label: of + 'measured (' + m.timers + ')', stroke: m.color, paths: () => null, points: {show: true, size: 11, fill: 'transparent', width: 2}, value});
    }
    if (all.length > lines.length) notes.push('The first ' + MOST_LINES + ' of ' + all.length + ' lines: choose values above to see others.');
    if (series.some(q => /measured/.test(q.label))) notes.push('Open circles are what others measured of this program, not results.');
    const logX = axis.log && places.length > 1, line = {stroke: css('dim'), grid: {stroke: css('line'), width: 1}, ticks: {stroke: css('line'), width: 1}};
    const marks = () => { const most = 12, step = Math.ceil(places.length / most); return places.filter((p, i) => i % step === 0); };
    const around = (a, b) => logX ? [a / (b / a) ** 0.03, b * (b / a) ** 0.03] : a === b ? [a - 1, b + 1] : [a - (b - a) * 0.03, b + (b - a) * 0.03];
    const options = {width: 1000, height: 380, series, padding: [12, 12, 0, 0], legend: {live: true}, cursor: {drag: {x: false, y: false}, points: {size: 9}},
      scales: {x: {time: false, distr: logX ? 3 : 1, log: 2, range: () => around(places[0], places[places.length - 1])}, y: {distr: this.isLog ? 3 : 1, range: (u, a, b) => this.isLog ? [10 ** Math.floor(Math.log10(low) + 1e-9), 10 ** Math.ceil(Math.log10(Math.max(b, high)) - 1e-9) * (low === high ? 10 : 1)] : [0, b > 0 ? b * 1.06 : 1]}},
      axes: [{...line, label: axis.name, labelSize: 22, splits: marks, values: (u, vs) => vs.map(v => texts.get(v) || '')}, {...line, size: 92, label: label, labelSize: 22, values: (u, vs) => vs.map(v => v == null || this.isLog && Math.abs(Math.log10(v) - Math.round(Math.log10(v))) > 1e-6 ? '' : show(v))}]};
    this.plot = new uPlot(options, data, box);
    for (const n of notes) { const e = $('div', 'dim', n); e.style.fontSize = '12px'; box.append(e); }
  }
  points() {
    const sec = $('section'), rows = this.chosen(), failed = rows.some(r => !r.ok), guess = rows.some(r => r.unmodelled_share > 0), measured = rows.some(r => r.measured); sec.append($('h2', '', rows.length === this.rows.length ? 'Points' : 'Points (' + rows.length + ' of ' + this.rows.length + ', as chosen above)'));
    const columns = this.s.axes.map((a, k) => ({name: a.name, left: !a.numeric, key: r => a.numeric ? a.values[r.at[k]].x : this.text(k, r), show: r => this.text(k, r)}));
    for (const [name, , f, show] of FIGURES) columns.push({name, key: r => r.ok ? f(r) : -1, show: r => r.ok ? dash(f(r), show) : '–'});
    if (guess) columns.push({name: 'guessed', hint: 'share of the time that is not modelled', key: r => r.unmodelled_share, show: r => percent(r.unmodelled_share)});
    if (measured) columns.push({name: 'measured', left: true, key: r => r.measured, show: r => r.measured ? r.measured + ' us ' + r.timer : ''});
    if (failed) columns.push({name: 'status', left: true, show: r => r.ok ? 'ok' : $('span', 'warn', r.status), key: r => r.status});
    sec.append(table(columns, rows.slice(0, MOST_ROWS))); if (rows.length > MOST_ROWS) sec.append($('div', 'dim', 'The first ' + MOST_ROWS + ' of ' + rows.length + ' points: choose values above, or open sweep.csv.')); return sec;
  }
  refresh() {
    main.replaceChildren(); hideTip(); this.plot = null; const s = this.s, head = $('header');
    head.append($('h1', '', s.title || 'sweep'), $('span', 'sub', s.axes.map(a => a.name + ' (' + a.values.length + ')').join(' × ') + ' · Spillway ' + s.version));
    const theme = $('button', '', 'light / dark'); theme.onclick = () => { setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'); this.refresh(); }; head.append(theme);
    const sec = $('section'), box = $('div', 'plot sweep'); sec.append(this.controls(), box); main.append(head, this.cards(), sec); this.curve(box); main.append(this.points()); this.resize();
  }
  resize() { if (this.plot) this.plot.setSize({width: this.plot.root.parentNode.clientWidth, height: 380}); }
}

const main = document.querySelector('main'); let current = 0, timeline, charts, sweepPage;
function show(index) {
  current = index; const run = doc.runs[index], s = run.summary; main.replaceChildren(); hideTip();
  const head = $('header'); head.append($('h1', '', s.module || run.title), $('span', 'sub', 'on ' + s.chip + ', plan ' + s.plan + (s.input ? ' · ' + s.input : '') + ' · Spillway ' + s.version));
  const theme = $('button', '', 'light / dark'); theme.onclick = () => { setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'); show(current); }; head.append(theme); main.append(head);
  if (doc.runs.length > 1) main.append(comparison(r => show(doc.runs.indexOf(r))));
  main.append(cards(s)); charts = null;
  timeline = new Timeline(run, v => charts && charts.view(v)); charts = plots(run, timeline);
  main.append(opsTable(s, run.lanes.length ? op => { const d = op.end_ps - op.start_ps; timeline.set(op.start_ps - d * 0.05, op.end_ps + d * 0.05); timeline.section.scrollIntoView({behavior: 'smooth', block: 'nearest'}); } : null));
  if (run.lanes.length) main.append(timeline.section); if (charts.section) main.append(charts.section);
  charts.view(timeline.view);
  for (const part of [remarks(s), buffers(s)]) if (part) main.append(part);
  resize();
}
function resize() { if (sweepPage) sweepPage.resize(); if (timeline) timeline.resize(); if (charts) charts.resize(); }
addEventListener('resize', resize);
addEventListener('keydown', e => { if (e.key === '/' && timeline && e.target !== timeline.search) { e.preventDefault(); timeline.search.focus(); } });
if (doc.sweep) { sweepPage = new SweepPage(doc.sweep); sweepPage.refresh(); } else show(0);
})();
