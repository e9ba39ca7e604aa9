// SPDX-License-Identifier: Apache-2.0
// When what moves: one lane a link or a worker, on a canvas that scrolls and zooms. Only what is in sight is drawn.

const canvas = byId('canvas'), pen = canvas.getContext('2d'), laneBox = byId('lanes-box');
const total = Math.max(plan.total_s, plan.measured_s || 0), hasMeasured = plan.measured_s !== null;
const axis = 26, laneHeight = hasMeasured ? 36 : 22;
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-';
const span = { from: 0, to: total };
let lanes = [], hiddenLanes = 0, gutter = 120;

// Moves of a lane that overlap stand below each other, in at most four rows.
function pack(list, timeOf) {
  const free = [];
  const items = list.map(m => ({ move: m, begin: timeOf(m)[0], end: timeOf(m)[1] })).sort((a, b) => a.begin - b.begin || a.end - b.end);
  for (const item of items) {
    let row = free.findIndex(end => end <= item.begin + total * 1e-9);
    if (row < 0)
      row = free.length < 4 ? free.length : free.indexOf(Math.min(...free));
    free[row] = item.end;
    item.row = row;
  }
  return { items, rows: Math.max(1, free.length) };
}

function lane(name, list) {
  return { name, predicted: pack(list, m => [m.from, m.to]), measured: hasMeasured ? pack(list.filter(m => m.measured), m => m.measured) : null };
}

function busyTime(use) {
  let sum = 0;
  for (const c of use)
    sum += digits.indexOf(c);
  return sum;
}

// Links that are equally full all the time share a lane.
function useLanes(order) {
  const groups = byKey(order, ({ link }) => plan.use[link.id] + (hasMeasured ? plan.measured_use[link.id] : ''));
  return [...groups.values()].map(list => {
    const { link, busy } = list[0], count = list.length;
    return { name: linkName(link) + (count > 1 ? ` +${count - 1}` : ''), link, busy, count, id: link.id, words: list.map(o => linkName(o.link)).join('\n'),
      use: plan.use[link.id], measuredUse: hasMeasured ? plan.measured_use[link.id] : null };
  });
}

function lanesOf(kind) {
  if (kind === 'use' || kind === 'links') {
    const order = links.map(l => ({ link: l, busy: busyTime(plan.use[l.id]) })).filter(o => o.busy > 0);
    if (kind === 'use')
      return useLanes(order);
    const through = new Map(order.map(o => [o.link.id, []]));
    for (const m of moves)
      for (const id of m.path)
        through.get(id).push(m);
    return order.map(({ link, busy }) => ({ ...lane(linkName(link), through.get(link.id)), busy, id: link.id, words: linkName(link) }));
  }
  const by = byKey(moves, m => m[kind === 'send' ? 'src' : 'dst']);
  return [...by].map(([id, list]) => ({ ...lane(nodes[id].name, list), id, words: nodes[id].name,
    busy: list.reduce((sum, m) => sum + m.to - m.from, 0) }));
}

function buildLanes(kind) {
  const wanted = byId('lane-filter').value.trim().toLowerCase(), all = lanesOf(kind), end = l => Math.max(0, l.use ? l.use.search(/0*$/) : Math.max(...l.predicted.items.map(i => i.end)));
  const orders = { busy: (a, b) => b.busy - a.busy || a.id - b.id, name: (a, b) => a.words.localeCompare(b.words, 'en', { numeric: true }), end: (a, b) => end(b) - end(a) || a.id - b.id };
  const kept = all.filter(l => l.words.toLowerCase().includes(wanted));
  hiddenLanes = all.length - kept.length;
  return kept.sort(orders[byId('lane-order').value]);
}

const xOf = time => gutter + (canvas.clientWidth - gutter - 8) * (time - span.from) / (span.to - span.from);
const timeAt = x => span.from + (x - gutter) / (canvas.clientWidth - gutter - 8) * (span.to - span.from);
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function niceStep(length, most) {
  const raw = length / most, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map(f => f * power).find(step => step >= raw);
}

function drawAxis(width, paint) {
  const step = niceStep(span.to - span.from, Math.max(2, (width - gutter) / 110));
  pen.fillStyle = paint.card;
  pen.fillRect(0, 0, width, axis);
  pen.fillStyle = paint.soft;
  pen.textAlign = 'center';
  for (let t = Math.ceil(span.from / step) * step; t <= span.to + step * 1e-6; t += step) {
    const x = xOf(t);
    if (x < gutter - 1 || x > width - 4)
      continue;
    pen.fillText(timeText(Math.abs(t) < step * 1e-6 ? 0 : Number(t.toPrecision(6))), Math.min(x, width - 24), 14);
    pen.fillRect(x, axis - 6, 1, 6);
  }
}

function drawUse(use, y, height, width, hue) {
  const edge = i => Math.min(width, Math.max(gutter, Math.round(xOf(total * i / use.length))));
  pen.fillStyle = hue;
  for (let i = 0; i < use.length; i++) {
    const level = digits.indexOf(use[i]) / 63, from = edge(i), to = edge(i + 1);
    if (level && to > from) {
      pen.globalAlpha = 0.35 + 0.65 * level;
      pen.fillRect(from, y + height * (1 - level), to - from, height * level);
    }
  }
  pen.globalAlpha = 1;
}

function drawMoves({ items, rows }, y, height, width, paint) {
  const tall = height / rows;
  for (const item of items) {
    const from = Math.max(gutter, xOf(item.begin)), to = Math.min(width, xOf(item.end));
    if (to < gutter || from > width)
      continue;
    pen.globalAlpha = !isOf(item.move, state.tree) ? 0.12 : 0.9;
    pen.fillStyle = item.move.copies ? paint.copy : paint.reduce;
    pen.fillRect(from, y + item.row * tall, Math.max(1, to - from - 0.8), Math.max(1, tall - 0.8));
    if (item.move.copies && to - from > 5 && tall > 5) { // a notch: copies are told from adds without colour
      pen.fillStyle = paint.card;
      pen.fillRect(from + 2, y + item.row * tall + tall / 2 - 1, Math.min(6, to - from - 4), 1.6);
    }
  }
  pen.globalAlpha = 1;
}

function drawLane(entry, y, width, paint) {
  const height = hasMeasured ? laneHeight / 2 - 2 : laneHeight - 3;
  pen.fillStyle = paint.ink;
  pen.textAlign = 'right';
  pen.fillText(entry.name.length > 22 ? `${entry.name.slice(0, 21)}…` : entry.name, gutter - 8, y + laneHeight / 2 + 4);
  pen.fillStyle = paint.line;
  pen.fillRect(gutter, y + laneHeight - 1.5, width - gutter, 0.5);
  if (entry.use) {
    drawUse(entry.use, y + 1, height, width, paint.load);
    if (hasMeasured)
      drawUse(entry.measuredUse, y + laneHeight / 2, height, width, paint.measured);
    return;
  }
  drawMoves(entry.predicted, y + 1, height, width, paint);
  if (hasMeasured)
    drawMoves(entry.measured, y + laneHeight / 2, height, width, paint);
}

function paintTimeline() {
  const width = laneBox.clientWidth, height = laneBox.clientHeight, ratio = window.devicePixelRatio || 1;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const paint = { ink: colour('--ink'), soft: colour('--soft'), line: colour('--line'), card: colour('--card'), reduce: colour('--reduce'),
    copy: colour('--copy'), load: colour('--load2'), measured: colour('--measured'), band: colour('--band') };
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = '12px system-ui, sans-serif';
  if (state.step >= 0) {
    const { begin_s: begin, end_s: end } = plan.steps[state.step], from = Math.max(gutter, xOf(begin));
    pen.fillStyle = paint.band;
    pen.fillRect(from, axis, Math.max(1, Math.min(width, xOf(end)) - from), height);
  }
  const first = Math.max(0, Math.floor(laneBox.scrollTop / laneHeight));
  for (let i = first; i < lanes.length && axis + i * laneHeight - laneBox.scrollTop < height; i++)
    drawLane(lanes[i], axis + i * laneHeight - laneBox.scrollTop, width, paint);
  drawAxis(width, paint);
  byId('window').textContent = `${timeText(span.from)} to ${timeText(span.to)} of ${timeText(total)}, ${lanes.length} ${lanes.length === 1 ? 'lane' : 'lanes'}${hiddenLanes ? `, ${hiddenLanes} filtered out` : ''}`;
}

let isAsked = false;
function askTimeline() {
  if (!isAsked)
    requestAnimationFrame(() => { isAsked = false; paintTimeline(); });
  isAsked = true;
}

function zoomTime(factor, at = (span.from + span.to) / 2) {
  const length = Math.min(total, Math.max(total / 20000, (span.to - span.from) * factor));
  const from = Math.min(total - length, Math.max(0, at - (at - span.from) * length / (span.to - span.from)));
  Object.assign(span, { from, to: from + length });
  askTimeline();
}

function moveTime(by) {
  const length = span.to - span.from, from = Math.min(total - length, Math.max(0, span.from + by));
  Object.assign(span, { from, to: from + length });
  askTimeline();
}

function setLanes(kind) {
  lanes = buildLanes(kind);
  gutter = Math.min(150, Math.max(56, 16 + 6.6 * Math.max(4, ...lanes.map(l => Math.min(22, l.name.length)))), Math.max(56, laneBox.clientWidth * 0.3));
  const height = axis + lanes.length * laneHeight + 4;
  laneBox.style.height = `${Math.min(460, Math.max(90, height))}px`;
  laneBox.firstElementChild.style.height = `${height}px`;
  laneBox.scrollTop = 0;
  canvas.setAttribute('aria-label', `Timeline with ${lanes.length} lanes over ${timeText(total)}`);
  const chip = (paint, text) => make('span', {}, make('i', { class: 'chip', style: `background:var(${paint})` }), text);
  byId('time-legend').replaceChildren(...(kind === 'use'
    ? [chip('--load2', 'how full the link is: height and strength'), ...(hasMeasured ? [chip('--measured', 'the same, measured (lower half)')] : [])]
    : [chip('--reduce', 'add'), chip('--copy', 'copy (notched)'), ...(hasMeasured ? [make('span', {}, 'upper half predicted, lower half measured')] : [])]),
  chip('--band', 'the round chosen above'));
  askTimeline();
}

function describe(x, y) {
  const entry = lanes[Math.floor((y - axis + laneBox.scrollTop) / laneHeight)], time = timeAt(x);
  if (!entry || y < axis || x < gutter)
    return '';
  const isLower = hasMeasured && (y - axis + laneBox.scrollTop) % laneHeight > laneHeight / 2;
  if (entry.use) {
    const use = isLower ? entry.measuredUse : entry.use, level = digits.indexOf(use[Math.floor(time / total * use.length)]) / 63;
    const name = linkName(entry.link) + (entry.count > 1 ? ` and ${entry.count - 1} links like it` : '');
    return `${name}, ${isLower ? 'measured' : 'predicted'}\nat ${timeText(time)}: ${level >= 0 ? percent(level) : 'nothing'} of ${bitsText(entry.link.rate)}`;
  }
  const packed = isLower ? entry.measured : entry.predicted, slack = (span.to - span.from) / canvas.clientWidth;
  const found = packed.items.filter(i => i.begin - slack <= time && time <= i.end + slack);
  return found.slice(0, 4).map(i => `${moveText(i.move)}\n${timeText(i.begin)} to ${timeText(i.end)}, round ${i.move.round}, flow ${i.move.flow}`).join('\n') +
    (found.length > 4 ? `\nand ${found.length - 4} more` : '');
}

const timeKeys = { '+': () => zoomTime(1 / 1.5), '=': () => zoomTime(1 / 1.5), '-': () => zoomTime(1.5), '0': () => zoomTime(1e9),
  ArrowLeft: () => moveTime((span.from - span.to) / 8), ArrowRight: () => moveTime((span.to - span.from) / 8) };

function listenToTimeline() {
  let grip = null;
  laneBox.addEventListener('scroll', askTimeline);
  laneBox.addEventListener('keydown', event => {
    if (timeKeys[event.key]) {
      timeKeys[event.key]();
      event.preventDefault();
    }
  });
  laneBox.addEventListener('wheel', event => {
    const x = event.clientX - canvas.getBoundingClientRect().left;
    if (!event.ctrlKey && !event.metaKey)
      return;
    event.preventDefault();
    zoomTime(Math.exp(event.deltaY * 0.003), timeAt(Math.max(gutter, x)));
  }, { passive: false });
  canvas.addEventListener('pointerdown', event => { grip = event.clientX; });
  addEventListener('pointerup', () => { grip = null; });
  canvas.addEventListener('pointermove', event => {
    const box = canvas.getBoundingClientRect();
    if (grip !== null) {
      moveTime((grip - event.clientX) / (canvas.clientWidth - gutter) * (span.to - span.from));
      grip = event.clientX;
    }
    showTip(describe(event.clientX - box.left, event.clientY - box.top), event.clientX, event.clientY);
  });
  canvas.addEventListener('pointerleave', () => showTip(''));
  byId('time-in').onclick = () => zoomTime(1 / 1.5);
  byId('time-out').onclick = () => zoomTime(1.5);
  byId('time-fit').onclick = () => zoomTime(1e9);
  for (const id of ['lanes', 'lane-order'])
    byId(id).onchange = () => setLanes(byId('lanes').value);
  byId('lane-filter').oninput = () => setLanes(byId('lanes').value);
  new ResizeObserver(askTimeline).observe(laneBox);
}

function buildTimeline() {
  const isPart = plan.shown_transfers < plan.transfers, kind = isPart || moves.length > 4000 ? 'use' : 'links';
  byId('timeline').hidden = !(total > 0);
  if (!(total > 0))
    return;
  byId('lanes').value = kind;
  byId('time-note').textContent = isPart ? `The file holds ${plan.shown_transfers} of ${plan.transfers} transfers, those of ${trees.length} ` +
    `of ${plan.pieces} pieces; loads, and how full links are, count them all.` : '';
  setLanes(kind);
  listenToTimeline();
}
