// SPDX-License-Identifier: Apache-2.0
// The network: where each link runs, and how it looks in the current state. Links keep to the right of their way,
// so that the two directions of a cable are seen apart. What is drawn are the items and strands of groups.js: a
// node or several that are equal, and the links between two of them.

const font = network.layout.font;
const aside = Math.max(1, font * 0.17);
const map = byId('map');

const straight = (a, b, where = 0.58) => ({ points: [a, b], d: `M${a.x} ${a.y}L${b.x} ${b.y}`, at: mix(a, b, where), way: toward(a, b) });
const mix = (a, b, t) => ({ x: a.x + t * (b.x - a.x), y: a.y + t * (b.y - a.y) });

function toward(a, b) {
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  return { x: (b.x - a.x) / length, y: (b.y - a.y) / length };
}

function shift(a, b, by) {
  const way = toward(a, b);
  const move = p => ({ x: p.x - way.y * by, y: p.y + way.x * by });
  return [move(a), move(b)];
}

function bow(a, b, side, reach) {
  const top = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 + side * reach };
  const at = { x: (a.x + 2 * top.x + b.x) / 4, y: (a.y + 2 * top.y + b.y) / 4 };
  return { points: [a, at, b], d: `M${a.x} ${a.y}Q${top.x} ${top.y} ${b.x} ${b.y}`, at, way: toward(a, b) };
}

// Round the end of a grid: a stub out of the one side and a stub into the other.
function wrap(a, b, out) {
  const end = { x: a.x + out.x, y: a.y + out.y }, begin = { x: b.x - out.x, y: b.y - out.y };
  return { points: [a, end, begin, b], d: `M${a.x} ${a.y}L${end.x} ${end.y}M${begin.x} ${begin.y}L${b.x} ${b.y}`,
    at: mix(a, end, 0.88), way: toward(a, end) };
}

function gridCourse(from, to, a, b) {
  const { slices, gap } = network.layout, perSlice = network.nodes.length / slices;
  const across = from.w + gap, down = from.h + gap;
  const beyond = Math.floor(to.id / perSlice) - Math.floor(from.id / perSlice);
  if (beyond) { // to another slice: stubs at the corners, forwards up and right
    const side = Math.sign(beyond) * (Math.abs(beyond) > slices / 2 ? -1 : 1);
    return wrap(a, b, { x: side * (from.w / 2 + gap * 0.3), y: -side * (from.h / 2 + gap * 0.3) });
  }
  if (Math.abs(from.y - to.y) < 1 && Math.abs(from.x - to.x) > 1.5 * across)
    return wrap(a, b, { x: Math.sign(from.x - to.x) * (from.w / 2 + gap * 0.55), y: 0 });
  if (Math.abs(from.x - to.x) < 1 && Math.abs(from.y - to.y) > 1.5 * down)
    return wrap(a, b, { x: 0, y: Math.sign(from.y - to.y) * (from.h / 2 + gap * 0.5) });
  return straight(a, b);
}

function layerCourse(from, to, a, b) {
  if (from.row === to.row && from.box === to.box)
    return straight(a, b);
  if (from.row === to.row) {
    const side = from.row ? -1 : 1, edge = side * from.h / 2, reach = Math.min(Math.abs(a.x - b.x) * 0.28 + font, 3.6 * font);
    return bow({ x: a.x, y: from.y + edge }, { x: b.x, y: to.y + edge }, side, 2 * reach + (a.x < b.x ? 0 : 2 * aside));
  }
  const edge = (node, other) => node.row < other.row ? -node.h / 2 : 0;
  // Heads of many arrows side by side stand at different heights.
  const where = from.row && to.row && links.length > 100 ? 0.4 + 0.05 * ((from.id * 3 + to.id * 5) % 9) : 0.58;
  return straight({ x: a.x, y: a.y + edge(from, to) }, { x: b.x, y: b.y + edge(to, from) }, where);
}

// Where a line from one item to another runs; nth: it is the nth beside others.
function courseOf(from, to, nth) {
  if (network.layout.kind === 'grid') {
    // The way is that of the cable itself, also where it runs round the end.
    const [a, b] = shiftGrid(from, to, aside * (1 + 2 * nth));
    return gridCourse(from, to, a, b);
  }
  const [a, b] = shift(from, to, aside * (1 + 2 * nth));
  return network.layout.kind === 'layers' ? layerCourse(from, to, a, b) : straight(a, b);
}

function shiftGrid(from, to, by) {
  const { gap, slices } = network.layout, perSlice = network.nodes.length / slices;
  if (Math.floor(from.id / perSlice) !== Math.floor(to.id / perSlice))
    return [{ x: from.x + by, y: from.y + by }, { x: to.x + by, y: to.y + by }].map(p => from.id < to.id ? p : { x: p.x - 2 * by, y: p.y - 2 * by });
  const isRound = (Math.abs(from.y - to.y) < 1 && Math.abs(from.x - to.x) > 1.5 * (from.w + gap)) ||
    (Math.abs(from.x - to.x) < 1 && Math.abs(from.y - to.y) > 1.5 * (from.h + gap));
  return shift(from, to, isRound ? -by : by);
}

let surface, strandShapes, itemShapes, arrows, whole, view, hasBands, crowd;

function frame() {
  let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
  const include = (x, y, w, h) => {
    left = Math.min(left, x - w); right = Math.max(right, x + w);
    top = Math.min(top, y - h); bottom = Math.max(bottom, y + h);
  };
  for (const item of items)
    include(item.x, item.y, item.w / 2, item.h / 2);
  for (const { course } of strands)
    for (const p of course.points)
      include(p.x, p.y, 0, 0);
  const edge = (network.layout.slices > 1 ? 2.6 : 1.6) * font, below = network.hosts.length ? 1.5 * font : 0;
  const w = right - left + 2 * edge, h = bottom - top + 2 * edge + below;
  const wide = Math.max(w, (map.clientWidth < 500 ? 20 : 46) * font); // letters of a small network stay small, but can be read
  return { x: left - edge - (wide - w) / 2, y: top - edge, w: wide, h };
}

// Words that would be too small to read are left out until one zooms in.
const MIN_LETTERS = 9; // pixels

function lettersAt(w, h) {
  return font * Math.min(map.clientWidth / w, (map.clientHeight || Infinity) / h);
}

function look(at) {
  view = at;
  surface.setAttribute('viewBox', `${at.x} ${at.y} ${at.w} ${at.h}`);
  const isSmall = lettersAt(at.w, at.h) < MIN_LETTERS;
  surface.classList.toggle('small', isSmall);
  byId('map-note').textContent = isSmall ? 'Names appear as you zoom in, or find a node by its name.' : '';
}

// Factor below 1: nearer. The point stays where it is.
function zoomMap(factor, x = view.x + view.w / 2, y = view.y + view.h / 2) {
  const w = Math.min(whole.w * 1.5, Math.max(whole.w / 40, view.w * factor)), real = w / view.w;
  look({ x: x - (x - view.x) * real, y: y - (y - view.y) * real, w, h: view.h * real });
}

function sliceNames() {
  const { slices } = network.layout, perSlice = nodes.length / slices;
  return Array.from({ length: slices > 1 ? slices : 0 }, (_, slice) => {
    const first = nodes[slice * perSlice];
    return draw('text', { class: 'slice-name', x: first.x - first.w / 2, y: first.y - first.h / 2 - font * 1.5 }, `slice ${slice}`);
  });
}

// A frame around each host's workers, where all of them stand in the lowest row.
function frames() {
  if (network.layout.kind !== 'layers')
    return [];
  return network.hosts.flatMap((name, host) => {
    const of = items.filter(n => n.kind === 'worker' && n.hosts.size === 1 && n.hosts.has(host));
    if (!of.length || items.some(n => n.hosts.size > 1 && n.hosts.has(host)))
      return [];
    const x = Math.min(...of.map(n => n.x - n.w / 2)) - font * 0.45, right = Math.max(...of.map(n => n.x + n.w / 2)) + font * 0.45;
    const y = Math.min(...of.map(n => n.y - n.h / 2)) - font * 0.45, bottom = Math.max(...of.map(n => n.y + n.h / 2)) + font * 0.45;
    const under = Math.max(bottom, ...strands.filter(s => s.from.hosts.has(host) && s.from.row === 0 && s.to.row === 0).map(s => s.course.points[1].y));
    return [draw('rect', { class: 'host', x, y, width: right - x, height: bottom - y, rx: 5 }),
      draw('text', { class: 'host-name', x: (x + right) / 2, y: under + font * 1.2 }, name)];
  });
}

// Where speeds differ and there is no room for labels, a band behind each cable is as wide as it is fast.
function bands() {
  const fastest = Math.max(...links.map(l => l.rate));
  if (new Set(links.map(l => l.rate)).size < 2)
    return [];
  return strands.filter(s => s.from.at < s.to.at).map(({ from, to, course, ids }) =>
    draw('path', { class: 'band', d: network.layout.kind === 'circle' ? straight(from, to).d : course.d,
      'stroke-width': 14 * Math.max(...ids.map(id => links[id].rate)) / fastest * crowd * font / 13 }));
}

// Speeds stand on the cables where there is room: one label for equal ones between two boxes.
function cableNames() {
  if (network.layout.kind !== 'layers')
    return [];
  const groups = new Map();
  for (const { from, to, ids } of strands) {
    const rate = links[ids[0]].rate;
    if (from.row >= to.row || ids.some(id => links[id].left < 1))
      continue;
    const key = `${from.box} ${to.box} ${rate}`, group = groups.get(key) || { from: [], to, rate, count: 0 };
    group.from.push(from);
    group.count += ids.length;
    groups.set(key, group);
  }
  if (groups.size > 24)
    return [];
  return [...groups.values()].flatMap(({ from, to, rate, count }) => {
    const x = from.reduce((sum, n) => sum + n.x, 0) / from.length, y = Math.min(...from.map(n => n.y - n.h / 2));
    const text = (count > 1 ? `${count} × ` : '') + bitsText(rate);
    const width = Math.max(...from.map(n => n.x + n.w / 2)) - Math.min(...from.map(n => n.x - n.w / 2));
    if (to.row > from[0].row + 1 || (!from[0].row && width < text.length * font * 0.45 && groups.size > 6))
      return [];
    return [draw('text', { class: 'cable-name', x: x + 0.45 * (to.x - x), y: y + 0.5 * (to.y - y) + font * 0.3, 'font-size': font * 0.85 }, text)];
  });
}

// Near the lower end, above its block: names of cables stand higher.
function faultAt(from, to, course) {
  const [low, high] = from.row < to.row ? [from, to] : [to, from];
  if (network.layout.kind !== 'layers' || low.row === high.row)
    return course.at;
  const top = Math.min(...items.filter(i => i.row === low.row && (i.box === low.box || i === low)).map(i => i.y - i.h / 2));
  const [a, b] = course.points, y = top - 0.16 * (top - high.y), t = (y - a.y) / (b.y - a.y);
  return { x: a.x + t * (b.x - a.x), y };
}

// A cross on a dotted line where a link is gone, and what is left where one is slow; once if both directions are equal.
function faults() {
  const lines = [], marks = [], seen = new Set();
  const mark = (from, to, text, isLost, title) => {
    const course = courseOf(from, to, 0), { x, y } = faultAt(from, to, course), width = font * (0.62 * text.length + 0.8);
    if (isLost)
      lines.push(draw('path', { class: 'lost', d: course.d, 'stroke-width': font * 0.16, 'stroke-dasharray': `${font * 0.1} ${font * 0.4}` }));
    marks.push(draw('g', { class: 'fault' }, draw('title', {}, title),
      draw('rect', { x: x - width / 2, y: y - font * 0.65, width, height: font * 1.3, rx: font * 0.3 }),
      draw('text', { x, y: y + font * 0.35 }, text)));
  };
  const once = (a, b, what, show) => {
    if (a === b || seen.has(`${a.at} ${b.at} ${what}`))
      return;
    seen.add(`${a.at} ${b.at} ${what}`).add(`${b.at} ${a.at} ${what}`);
    show();
  };
  for (const { src, dst, rate } of lost) {
    const isBoth = lost.some(l => l.src === dst && l.dst === src);
    once(itemOf[src], itemOf[dst], 'lost', () => mark(itemOf[src], itemOf[dst], '✕', true,
      `${nodes[src].name} ${isBoth ? 'and' : '→'} ${nodes[dst].name}: the link is broken (down), it had ${bitsText(rate)}`));
  }
  for (const link of links)
    if (link.left < 1)
      once(itemOf[link.src], itemOf[link.dst], link.left, () => mark(itemOf[link.src], itemOf[link.dst], percent(link.left), false,
        `${linkName(link)}: slow, ${bitsText(link.rate)} is ${percent(link.left)} of what it had`));
  return { lines, marks };
}

function itemShape(item) {
  const isGroup = item.ids.length > 1, node = nodes[item.ids[0]];
  const idle = item.kind === 'worker' && item.ids.every(id => !active.has(id));
  const room = Math.floor((item.w - font * 0.4) / font / 0.58);
  const short = line => line.length > room ? `${line.slice(0, Math.max(2, room - 1))}…` : line, middle = (item.lines.length - 1) / 2;
  const isCutOff = !isGroup && lost.some(l => l.src === node.id || l.dst === node.id) && !links.some(l => l.src === node.id || l.dst === node.id);
  const title = isGroup ? `${item.ids.length} equal ${item.kind === 'switch' ? 'switches' : 'workers'}: ${item.range}. Click to see them apart.`
    : `${node.name}: ${node.kind}${idle ? ', holds no data' : ''}${node.host >= 0 ? `, in ${network.hosts[node.host]}` : ''}${isCutOff ? ', all its links are broken' : ''}`;
  const box = by => draw('rect', { x: item.x - item.w / 2 + by, y: item.y - item.h / 2 - by, width: item.w, height: item.h, rx: item.kind === 'switch' ? font * 0.9 : 3 });
  const shape = draw('g', { class: `node ${item.kind} ${idle ? 'idle' : ''} ${isCutOff ? 'cut-off' : ''} ${isGroup ? 'closed' : ''}`, 'data-item': item.at },
    draw('title', {}, title), ...(isGroup ? [box(font * 0.3)] : []), box(0), ...item.lines.map((line, i) => draw('text', { x: item.x, y: item.y + font * (0.35 + 1.2 * (i - middle)) }, short(line))));
  if (isGroup)
    fill(shape, { tabindex: 0, role: 'button', 'aria-expanded': 'false', 'aria-label': title }, []);
  return shape;
}

// Draws everything anew: when groups open or close. Where the view is kept, only what is in it changes.
function drawMap() {
  crowd = Math.max(0.28, Math.min(1, Math.sqrt(120 / (strands.length + 1))));
  strandShapes = strands.map(({ course }) => draw('path', { class: 'link', d: course.d }));
  const hits = strands.map(({ course }, i) => draw('path', { class: 'hit', d: course.d, 'data-strand': i, 'stroke-width': Math.max(9 * crowd, font * 0.4) }));
  itemShapes = items.map(itemShape);
  arrows = draw('g', {});
  const names = cableNames(), { lines, marks } = faults();
  hasBands = !names.length && bands().length > 0;
  surface.replaceChildren(...frames(), ...sliceNames(), ...openFrames(), draw('g', {}, ...(hasBands ? bands() : [])), draw('g', {}, ...strandShapes), arrows,
    draw('g', {}, ...hits), draw('g', {}, ...lines), ...names, draw('g', {}, ...itemShapes), draw('g', {}, ...marks));
  whole = frame();
  fitHeight();
  look(whole);
}

function fitHeight() {
  map.style.height = `${Math.round(Math.max(Math.min(300, 14 * map.clientWidth), Math.min(640, map.clientWidth * whole.h / whole.w)))}px`;
}

function buildMap() {
  surface = draw('svg', { 'font-size': font, role: 'group', 'aria-label': network.title });
  map.append(surface);
  arrange(chooseLevel());
  drawMap();
  new ResizeObserver(() => {
    fitHeight();
    look(view);
  }).observe(map);
}

function arrow({ course }, size, kind) {
  const { at, way } = course, p = (f, s) => `${at.x + way.x * f - way.y * s} ${at.y + way.y * f + way.x * s}`;
  return draw('path', { class: `arrow ${kind}`, d: `M${p(size, 0)}L${p(-size * 0.8, size * 0.8)}L${p(-size * 0.8, -size * 0.8)}Z` });
}

// Who adds up last: it is added into, and adds into nobody.
function rootsOf(tree) {
  const into = new Set(), from = new Set();
  for (const m of moves)
    if (isOf(m, tree) && !m.copies) {
      into.add(m.dst);
      from.add(m.src);
    }
  return [...into].filter(node => !from.has(node));
}

function kindsOfTree() {
  const kinds = new Map();
  for (const m of shown())
    for (const link of m.path) {
      const kind = m.copies ? 'copy' : 'reduce', had = kinds.get(link);
      kinds.set(link, had && had !== kind ? 'both' : kind);
    }
  return kinds;
}

const classOf = share => share <= 0 ? 0 : share <= 0.25 ? 1 : share <= 0.5 ? 2 : share <= 0.75 ? 3 : 4;
// Pale ones, for the parts of a proof alone.
const partColours = ['#f7c6d9', '#d9e8a0', '#cfc4f2', '#ffe08a', '#b8e6df', '#e3c9a8', '#d5d9e0'];

// Parts of several nodes get a colour each; nodes that are parts of their own are grey.
function paintParts() {
  const sizes = new Map(), order = [];
  for (const part of bound ? bound.part : []) {
    if (sizes.get(part) === 1 && part >= 0)
      order.push(part);
    sizes.set(part, (sizes.get(part) || 0) + 1);
  }
  items.forEach((item, at) => {
    const part = bound ? bound.part[item.ids[0]] : -1;
    const rank = bound && item.ids.every(id => bound.part[id] === part) ? order.indexOf(part) : -1;
    const paint = !state.proof || !bound ? '' : rank >= 0 ? partColours[rank % 7] : 'var(--idle)';
    for (const shape of itemShapes[at].querySelectorAll('rect'))
      shape.style.fill = paint;
    for (const name of itemShapes[at].querySelectorAll('text'))
      name.style.fill = paint ? (rank < 0 ? 'var(--ink)' : '#000') : '';
  });
}

function paintNodes(load) {
  const near = new Set(), roots = new Set(state.tree >= 0 && !state.proof ? rootsOf(state.tree) : []);
  links.forEach(link => {
    if (load[link.id] > 0)
      near.add(link.src).add(link.dst);
  });
  items.forEach((item, at) => {
    const { classList } = itemShapes[at];
    classList.toggle('root', item.ids.some(id => roots.has(id)));
    classList.toggle('far', !state.proof && (state.tree >= 0 || state.step >= 0) && !item.ids.some(id => near.has(id)));
    classList.toggle('found', item.ids.includes(state.found));
  });
  paintParts();
}

let loadNow, busyNow, mostNow; // of the view that is shown, for the pointer

function paintMap() {
  const load = loads(), busy = links.map(link => load[link.id] * data.bytes / link.rate), most = Math.max(...busy, 1e-300);
  const kinds = state.tree >= 0 && !state.proof ? kindsOfTree() : null;
  const heads = [], wantsHeads = !state.proof && (state.step >= 0 || state.tree >= 0) && strands.length < 6000;
  [loadNow, busyNow, mostNow] = [load, busy, most];
  strands.forEach((strand, i) => {
    const { ids } = strand, share = Math.max(...ids.map(id => busy[id])) / most, isPicked = ids.includes(state.link);
    const isProof = state.proof && bound && ids.some(id => bound.price[id] > 0);
    const ways = kinds ? [...new Set(ids.map(id => kinds.get(id)).filter(k => k))] : [];
    const kind = state.proof ? (isProof ? 'proof' : '') : kinds ? (ways.length > 1 ? 'both' : ways[0] || '') : `k${classOf(share)}`;
    const width = state.proof ? (isProof ? 3.5 : 1) : kinds ? (ways.length ? 3 : 1) : share > 0 ? 1.4 + 2.6 * share : 1;
    strandShapes[i].setAttribute('class', `link ${kind}${isPicked ? ' picked' : ''}`);
    strandShapes[i].style.strokeWidth = width * crowd * font / 13 + (isPicked ? 1.5 : 0);
    strandShapes[i].style.opacity = isProof || share > 0 && !state.proof ? 1 : 0.6;
    if (wantsHeads && share > 0)
      heads.push(arrow(strand, font * 0.42 * Math.max(0.5, crowd), kind));
  });
  arrows.replaceChildren(...heads);
  paintNodes(load);
  paintLinkList(load, busy, most);
  paintStatus(load, busy, most);
  paintLegend(most);
}

function paintStatus(load, busy, most) {
  const what = [];
  if (state.proof)
    what.push(bound ? `The bound: ${bound.words}.` : 'No bound is known for this network.');
  else {
    what.push(state.step < 0 ? `All ${plan.rounds} rounds` : roundText(state.step));
    if (state.tree >= 0)
      what.push(`piece ${trees[state.tree].piece} alone`);
    if (state.step >= 0)
      what.push(`${timeText(plan.steps[state.step].begin_s)} to ${timeText(plan.steps[state.step].end_s)}`);
    const fullest = busy.indexOf(most);
    what.push(fullest >= 0 ? `fullest link ${linkName(links[fullest])}: ${sizeText(load[fullest] * data.bytes)}, ${timeText(most)} at full speed` : 'nothing moves');
  }
  byId('status').textContent = what.join(', ');
  byId('step').value = state.step + 1;
  byId('step').setAttribute('aria-valuetext', state.step < 0 ? 'all rounds' : roundText(state.step));
  byId('tree').value = state.tree;
  byId('show-proof').checked = state.proof;
  byId('all-rounds').setAttribute('aria-pressed', state.step < 0);
}

// Links that carry equally much, in time and bytes, share a line.
function paintLinkList(load, busy, most) {
  const groups = new Map();
  for (const { id } of links)
    if (load[id] > 0) {
      const key = `${(busy[id] / most).toPrecision(3)} ${load[id].toPrecision(3)}`;
      groups.set(key, [...(groups.get(key) || []), id]);
    }
  const order = [...groups.values()].sort((a, b) => busy[b[0]] - busy[a[0]] || a[0] - b[0]).slice(0, 8);
  byId('links').replaceChildren(...order.map(ids => {
    const id = ids.includes(state.link) ? state.link : ids[0], isPicked = ids.includes(state.link);
    const name = ids.length === links.length && ids.length > 1 ? `all ${ids.length} equal links`
      : linkName(links[id]) + (ids.length > 1 ? ` and ${ids.length - 1} more like it` : '');
    const figures = `${timeText(busy[id])} · ${sizeText(load[id] * data.bytes)}`;
    return make('li', {}, make('button', { type: 'button', 'aria-pressed': isPicked, 'aria-label': `${name}: ${figures}`,
      onclick: () => change({ link: isPicked ? -1 : id }) },
    make('span', {}, name), make('span', {}, figures),
    make('i', { style: `width:${(100 * busy[id] / most).toFixed(1)}%;background:var(--load${classOf(busy[id] / most)})` })));
  }));
  if (!order.length)
    byId('links').append(make('li', { class: 'soft' }, 'Nothing moves here.'));
  paintDetail(load, busy, most);
}

function paintDetail(load, busy, most) {
  const box = byId('detail'), link = links[state.link];
  if (!link) {
    box.replaceChildren(make('span', { class: 'soft' }, 'Click a link, or choose one above, to see what crosses it.'));
    return;
  }
  const through = shown().filter(m => m.path.includes(link.id)), price = bound ? bound.price[link.id] : 0;
  box.replaceChildren(make('h3', {}, linkName(link)),
    make('div', {}, `${bitsText(link.rate)}${link.left < 1 ? ` (slow: ${percent(link.left)} of what it had)` : ''}, latency ${timeText(link.latency)}`),
    make('div', {}, `carries ${sizeText(load[link.id] * data.bytes)} in this view: ${timeText(busy[link.id])} at full speed, ${percent(busy[link.id] / most)} of the fullest`),
    ...(price > 0 ? [make('div', {}, `part of the bound's proof${bound.kind === 'prices' ? `, counted ${price} times` : ''}`)] : []),
    make('ul', {}, ...through.slice(0, 10).map(m => make('li', {}, `round ${m.round}: ${moveText(m)}`))),
    ...(through.length > 10 ? [make('span', { class: 'soft' }, `and ${through.length - 10} more`)] : []));
}

const swatch = (kind, width) => {
  const line = draw('path', { class: `link ${kind}`, d: 'M2 6H24', 'stroke-width': width });
  return draw('svg', { width: 26, height: 12, 'aria-hidden': 'true' }, line);
};

// Cables once, whichever directions are meant; the first few by name.
function faultNames(list) {
  const names = [...new Set(list.map(({ src, dst }) => src < dst || !list.some(l => l.src === dst && l.dst === src)
    ? `${nodes[src].name} – ${nodes[dst].name}` : `${nodes[dst].name} – ${nodes[src].name}`))];
  return names.slice(0, 4).join(', ') + (names.length > 4 ? ` and ${names.length - 4} more` : '');
}

function paintLegend(most) {
  const item = (kind, width, text) => make('span', {}, swatch(kind, width), text), notes = [];
  if (state.proof)
    notes.push(item('proof', 3.5, 'links of the proof'), item('', 1, 'other links'),
      make('span', {}, 'nodes of one colour: one part; grey: a part of its own'));
  else if (state.tree >= 0)
    notes.push(item('reduce', 3, 'adds on the way to the root'), item('copy', 3, 'copies on the way back'), item('both', 3, 'both'), make('span', {}, 'thick frame: root'));
  else
    notes.push(item('', 1, 'idle'), ...[1, 2, 3, 4].map(k => item(`k${k}`, 1.4 + 0.65 * k, k === 1 ? 'to 25 %' : k === 4 ? 'to 100 %' : `to ${25 * k} %`)),
      make('span', {}, `of the fullest link's ${timeText(most > 1e-200 ? most : 0)}`));
  if (!state.proof)
    notes.push(make('span', {}, make('i', { class: 'chip worker' }), 'worker'));
  if (!state.proof && nodes.some(n => n.kind === 'switch'))
    notes.push(make('span', {}, make('i', { class: 'chip switch' }), 'switch'));
  if (items.length < nodes.length)
    notes.push(make('span', {}, 'a pile: several equal nodes, a line to it the fullest of their links'));
  if (lost.length)
    notes.push(make('span', {}, make('i', { class: 'chip fault-chip' }, '✕'), `broken: ${faultNames(lost)}`));
  if (links.some(l => l.left < 1))
    notes.push(make('span', {}, make('i', { class: 'chip fault-chip' }, '%'), `slow, with what is left: ${faultNames(links.filter(l => l.left < 1))}`));
  if (network.layout.slices > 1)
    notes.push(make('span', {}, 'stubs at corners lead to the next slice'));
  if (links.length)
    notes.push(make('span', {}, speeds() + (hasBands ? '; the wider the grey band, the faster' : '')));
  byId('legend').replaceChildren(...notes);
}

function speeds() {
  const count = new Map();
  for (const link of links)
    count.set(link.rate, (count.get(link.rate) || 0) + 1);
  const list = [...count].sort((a, b) => b[0] - a[0]);
  return list.slice(0, 4).map(([rate, n]) => `${n} links of ${bitsText(rate)}`).join(', ') + (list.length > 4 ? `, ${list.length - 4} more speeds` : '');
}

const fullestOf = strand => strand.ids.reduce((a, b) => busyNow[b] > busyNow[a] ? b : a);

function strandText(strand) {
  const id = fullestOf(strand), link = links[id], count = strand.ids.length;
  const name = count > 1 ? `${count} links ${strand.from.range} → ${strand.to.range}` : linkName(link);
  const load = loadNow[id] > 0 ? `${count > 1 ? 'the fullest carries' : 'carries'} ${sizeText(loadNow[id] * data.bytes)} in this view,\n${timeText(busyNow[id])} at full speed, ${percent(busyNow[id] / mostNow)} of the fullest`
    : 'idle in this view';
  return `${name}\n${bitsText(link.rate)}${link.left < 1 ? `, slow: ${percent(link.left)} of what it had` : ''}\n${load}`;
}

function listenToMap() {
  const place = event => {
    const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(surface.getScreenCTM().inverse());
    return [p.x, p.y];
  };
  let grip = null, moved = false;
  surface.addEventListener('wheel', event => {
    if (!event.ctrlKey && !event.metaKey)
      return;
    event.preventDefault();
    zoomMap(Math.exp(event.deltaY * 0.002), ...place(event));
  }, { passive: false });
  surface.addEventListener('pointerdown', event => {
    grip = { x: event.clientX, y: event.clientY, view: { ...view } };
    moved = false;
  });
  addEventListener('pointermove', event => {
    if (!grip)
      return;
    const scale = 1 / surface.getScreenCTM().a, dx = event.clientX - grip.x, dy = event.clientY - grip.y;
    moved = moved || Math.hypot(dx, dy) > 4;
    if (moved)
      look({ ...view, x: grip.view.x - dx * scale, y: grip.view.y - dy * scale });
  });
  addEventListener('pointerup', () => { grip = null; });
  surface.addEventListener('click', event => {
    const { strand, item } = event.target.closest('[data-strand], [data-item]')?.dataset || {};
    if (moved)
      return;
    if (item !== undefined && items[item].ids.length > 1)
      openItem(items[item]);
    else
      change({ link: strand === undefined ? -1 : fullestOf(strands[strand]) });
  });
  surface.addEventListener('keydown', event => {
    const { item, open } = event.target.dataset;
    if (event.key !== 'Enter' && event.key !== ' ' || item === undefined && open === undefined)
      return;
    event.preventDefault();
    event.stopPropagation();
    if (item !== undefined)
      openItem(items[item]);
    else
      closeGroup(open);
  });
  surface.addEventListener('pointermove', event => {
    const strand = event.target.dataset && event.target.dataset.strand;
    showTip(strand !== undefined && !grip ? strandText(strands[strand]) : '', event.clientX, event.clientY);
  });
  surface.addEventListener('pointerleave', () => showTip(''));
  byId('map-in').onclick = () => zoomMap(1 / 1.4);
  byId('map-out').onclick = () => zoomMap(1.4);
  byId('map-fit').onclick = () => look(whole);
}
