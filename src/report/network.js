// SPDX-License-Identifier: Apache-2.0
// The network: where each link runs, and how it looks in the current state. Links keep to the right of their way,
// so that the two directions of a cable are seen apart.

const font = network.layout.font;
const aside = Math.max(1, font * 0.17);

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

function courses() {
  const beside = new Map();
  return links.map(link => {
    const from = nodes[link.src], to = nodes[link.dst], pair = link.src * nodes.length + link.dst;
    const nth = beside.get(pair) || 0;
    beside.set(pair, nth + 1);
    if (network.layout.kind === 'grid') {
      // The way is that of the cable itself, also where it runs round the end.
      const [a, b] = shiftGrid(from, to, aside * (1 + 2 * nth));
      return gridCourse(from, to, a, b);
    }
    const [a, b] = shift(from, to, aside * (1 + 2 * nth));
    return network.layout.kind === 'layers' ? layerCourse(from, to, a, b) : straight(a, b);
  });
}

function shiftGrid(from, to, by) {
  const { gap, slices } = network.layout, perSlice = network.nodes.length / slices;
  if (Math.floor(from.id / perSlice) !== Math.floor(to.id / perSlice))
    return [{ x: from.x + by, y: from.y + by }, { x: to.x + by, y: to.y + by }].map(p => from.id < to.id ? p : { x: p.x - 2 * by, y: p.y - 2 * by });
  const isRound = (Math.abs(from.y - to.y) < 1 && Math.abs(from.x - to.x) > 1.5 * (from.w + gap)) ||
    (Math.abs(from.x - to.x) < 1 && Math.abs(from.y - to.y) > 1.5 * (from.h + gap));
  return shift(from, to, isRound ? -by : by);
}

const course = courses();
const crowd = Math.max(0.28, Math.min(1, Math.sqrt(120 / (links.length + 1))));
const map = byId('map');
let surface, linkShapes, nodeShapes, arrows, whole, view, hasBands;

function frame() {
  let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
  const include = (x, y, w, h) => {
    left = Math.min(left, x - w); right = Math.max(right, x + w);
    top = Math.min(top, y - h); bottom = Math.max(bottom, y + h);
  };
  for (const node of nodes)
    include(node.x, node.y, node.w / 2, node.h / 2);
  for (const { points } of course)
    for (const p of points)
      include(p.x, p.y, 0, 0);
  const edge = (network.layout.slices > 1 ? 2.6 : 1.6) * font, below = network.hosts.length ? 1.5 * font : 0;
  const w = right - left + 2 * edge, h = bottom - top + 2 * edge + below;
  const wide = Math.max(w, (map.clientWidth < 500 ? 20 : 46) * font); // letters of a small network stay small, but can be read
  return { x: left - edge - (wide - w) / 2, y: top - edge, w: wide, h };
}

function look(at) {
  view = at;
  surface.setAttribute('viewBox', `${at.x} ${at.y} ${at.w} ${at.h}`);
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

function frames() {
  if (network.layout.kind !== 'layers')
    return [];
  return network.hosts.flatMap((name, host) => {
    const of = nodes.filter(n => n.host === host && n.kind === 'worker');
    if (!of.length || Math.max(...of.map(n => n.row)) > 0)
      return [];
    const x = Math.min(...of.map(n => n.x - n.w / 2)) - font * 0.45, right = Math.max(...of.map(n => n.x + n.w / 2)) + font * 0.45;
    const y = Math.min(...of.map(n => n.y - n.h / 2)) - font * 0.45, bottom = Math.max(...of.map(n => n.y + n.h / 2)) + font * 0.45;
    const under = Math.max(bottom, ...links.filter(l => nodes[l.src].host === host && nodes[l.src].row === 0 && nodes[l.dst].row === 0)
      .map(l => course[l.id].points[1].y));
    return [draw('rect', { class: 'host', x, y, width: right - x, height: bottom - y, rx: 5 }),
      draw('text', { class: 'host-name', x: (x + right) / 2, y: under + font * 1.2 }, name)];
  });
}

// Where speeds differ and there is no room for labels, a band behind each cable is as wide as it is fast.
function bands() {
  const fastest = Math.max(...links.map(l => l.rate));
  if (new Set(links.map(l => l.rate)).size < 2)
    return [];
  return links.filter(l => l.src < l.dst).map(({ id, src, dst, rate }) =>
    draw('path', { class: 'band', d: network.layout.kind === 'circle' ? straight(nodes[src], nodes[dst]).d : course[id].d, 'stroke-width': 14 * rate / fastest * crowd * font / 13 }));
}

// Speeds stand on the cables where there is room: one label for equal ones between two boxes.
function cableNames() {
  if (network.layout.kind !== 'layers')
    return [];
  const groups = new Map();
  for (const link of links) {
    const a = nodes[link.src], b = nodes[link.dst];
    if (a.row >= b.row)
      continue;
    const key = `${a.box} ${b.box} ${link.rate}`, group = groups.get(key) || { a: [], b, rate: link.rate };
    group.a.push(a);
    groups.set(key, group);
  }
  if (groups.size > 24)
    return [];
  return [...groups.values()].flatMap(({ a, b, rate }) => {
    const x = a.reduce((sum, n) => sum + n.x, 0) / a.length, y = Math.min(...a.map(n => n.y - n.h / 2));
    const text = (a.length > 1 ? `${a.length} × ` : '') + bitsText(rate);
    const width = Math.max(...a.map(n => n.x + n.w / 2)) - Math.min(...a.map(n => n.x - n.w / 2));
    if (b.row > a[0].row + 1 || (!a[0].row && width < text.length * font * 0.45 && groups.size > 6))
      return [];
    return [draw('text', { class: 'cable-name', x: x + 0.45 * (b.x - x), y: y + 0.45 * (b.y - y) + font * 0.3, 'font-size': font * 0.85 }, text)];
  });
}

function nodeShape(node) {
  const idle = node.kind === 'worker' && !active.has(node.id);
  const name = node.name.length * font * 0.62 > node.w ? `${node.name.slice(0, Math.max(2, Math.floor(node.w / font / 0.62) - 1))}…` : node.name;
  const title = `${node.name}: ${node.kind}${idle ? ', holds no data' : ''}${node.host >= 0 ? `, in ${network.hosts[node.host]}` : ''}`;
  return draw('g', { class: `node ${node.kind} ${idle ? 'idle' : ''}`, 'data-node': node.id }, draw('title', {}, title),
    draw('rect', { x: node.x - node.w / 2, y: node.y - node.h / 2, width: node.w, height: node.h, rx: node.kind === 'switch' ? node.h / 2 : 3 }),
    draw('text', { x: node.x, y: node.y + font * 0.35 }, name));
}

function buildMap() {
  surface = draw('svg', { 'font-size': font, role: 'img', 'aria-label': network.title });
  linkShapes = links.map(link => draw('path', { class: 'link', d: course[link.id].d }));
  const hits = links.map(link => draw('path', { class: 'hit', d: course[link.id].d, 'data-link': link.id, 'stroke-width': 9 * crowd }));
  nodeShapes = nodes.map(nodeShape);
  arrows = draw('g', {});
  const names = cableNames();
  hasBands = !names.length && bands().length > 0;
  surface.append(...frames(), ...sliceNames(), draw('g', {}, ...(hasBands ? bands() : [])), draw('g', {}, ...linkShapes), arrows, draw('g', {}, ...hits), ...names, draw('g', {}, ...nodeShapes));
  map.append(surface);
  whole = frame();
  const fitHeight = () => {
    map.style.height = `${Math.round(Math.max(300, Math.min(640, map.clientWidth * whole.h / whole.w)))}px`;
  };
  fitHeight();
  new ResizeObserver(fitHeight).observe(map);
  look(whole);
}

function arrow(id, size, kind) {
  const { at, way } = course[id], p = (f, s) => `${at.x + way.x * f - way.y * s} ${at.y + way.y * f + way.x * s}`;
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
const partColours = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442'];

// Parts of several nodes get a colour each; nodes that are parts of their own are grey.
function paintParts() {
  const sizes = new Map(), order = [];
  for (const part of bound ? bound.part : []) {
    if (sizes.get(part) === 1 && part >= 0)
      order.push(part);
    sizes.set(part, (sizes.get(part) || 0) + 1);
  }
  nodes.forEach((node, id) => {
    const [, shape, name] = nodeShapes[id].children, rank = bound ? order.indexOf(bound.part[id]) : -1;
    shape.style.fill = !state.proof || !bound ? '' : rank >= 0 ? partColours[rank % 7] : 'var(--idle)';
    name.style.fill = !state.proof || !bound ? '' : rank < 0 ? 'var(--ink)' : [1, 3, 4, 6].includes(rank % 7) ? '#000' : '#fff';
  });
}

function paintNodes(load) {
  const near = new Set(), roots = new Set(state.tree >= 0 && !state.proof ? rootsOf(state.tree) : []);
  links.forEach(link => {
    if (load[link.id] > 0)
      near.add(link.src).add(link.dst);
  });
  nodes.forEach((node, id) => {
    nodeShapes[id].classList.toggle('root', roots.has(id));
    nodeShapes[id].classList.toggle('far', !state.proof && (state.tree >= 0 || state.step >= 0) && !near.has(id));
  });
  paintParts();
}

function paintMap() {
  const load = loads(), busy = links.map(link => load[link.id] * data.bytes / link.rate), most = Math.max(...busy, 1e-300);
  const kinds = state.tree >= 0 && !state.proof ? kindsOfTree() : null;
  const heads = [], wantsHeads = !state.proof && (state.step >= 0 || state.tree >= 0) && links.length < 6000;
  links.forEach((link, id) => {
    const share = busy[id] / most, isProof = state.proof && bound && bound.price[id] > 0;
    const kind = state.proof ? (isProof ? 'proof' : '') : kinds ? kinds.get(id) || '' : `k${classOf(share)}`;
    const width = state.proof ? (isProof ? 3.5 : 1) : kinds ? (kinds.has(id) ? 3 : 1) : share > 0 ? 1.4 + 2.6 * share : 1;
    linkShapes[id].setAttribute('class', `link ${kind}${id === state.link ? ' picked' : ''}`);
    linkShapes[id].style.strokeWidth = width * crowd * font / 13 + (id === state.link ? 1.5 : 0);
    linkShapes[id].style.opacity = isProof || share > 0 && !state.proof ? 1 : 0.6;
    if (wantsHeads && share > 0)
      heads.push(arrow(id, font * 0.42 * Math.max(0.5, crowd), kind));
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

function paintLinkList(load, busy, most) {
  const order = links.map(l => l.id).filter(id => load[id] > 0).sort((a, b) => busy[b] - busy[a] || a - b).slice(0, 8);
  byId('links').replaceChildren(...order.map(id => make('li', {},
    make('button', { type: 'button', 'aria-pressed': id === state.link, onclick: () => change({ link: id === state.link ? -1 : id }) },
      make('span', {}, linkName(links[id])), make('span', {}, sizeText(load[id] * data.bytes)),
      make('i', { style: `width:${(100 * busy[id] / most).toFixed(1)}%;background:var(--load${classOf(busy[id] / most)})` })))));
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
    make('div', {}, `${bitsText(link.rate)}, latency ${timeText(link.latency)}`),
    make('div', {}, `carries ${sizeText(load[link.id] * data.bytes)} in this view: ${timeText(busy[link.id])} at full speed, ${percent(busy[link.id] / most)} of the fullest`),
    ...(price > 0 ? [make('div', {}, `part of the bound's proof${bound.kind === 'prices' ? `, counted ${price} times` : ''}`)] : []),
    make('ul', {}, ...through.slice(0, 10).map(m => make('li', {}, `round ${m.round}: ${moveText(m)}`))),
    ...(through.length > 10 ? [make('span', { class: 'soft' }, `and ${through.length - 10} more`)] : []));
}

const swatch = (kind, width) => {
  const line = draw('path', { class: `link ${kind}`, d: 'M2 6H24', 'stroke-width': width });
  return draw('svg', { width: 26, height: 12, 'aria-hidden': 'true' }, line);
};

function paintLegend(most) {
  const item = (kind, width, text) => make('span', {}, swatch(kind, width), text), items = [];
  if (state.proof)
    items.push(item('proof', 3.5, 'links of the proof'), item('', 1, 'other links'),
      make('span', {}, 'nodes of one colour: one part; grey: a part of its own'));
  else if (state.tree >= 0)
    items.push(item('reduce', 3, 'adds on the way to the root'), item('copy', 3, 'copies on the way back'), item('both', 3, 'both'), make('span', {}, 'thick frame: root'));
  else
    items.push(item('', 1, 'idle'), ...[1, 2, 3, 4].map(k => item(`k${k}`, 1.4 + 0.65 * k, k === 1 ? 'to 25 %' : k === 4 ? 'to 100 %' : `to ${25 * k} %`)),
      make('span', {}, `of the fullest link's ${timeText(most > 1e-200 ? most : 0)}`));
  if (!state.proof)
    items.push(make('span', {}, make('i', { class: 'chip', style: 'background:var(--worker)' }), 'worker'));
  if (!state.proof && nodes.some(n => n.kind === 'switch'))
    items.push(make('span', {}, make('i', { class: 'chip', style: 'background:var(--switch);border-radius:6px' }), 'switch'));
  if (network.layout.slices > 1)
    items.push(make('span', {}, 'stubs at corners lead to the next slice'));
  if (links.length)
    items.push(make('span', {}, speeds() + (hasBands ? '; the wider the grey band, the faster' : '')));
  byId('legend').replaceChildren(...items);
}

function speeds() {
  const count = new Map();
  for (const link of links)
    count.set(link.rate, (count.get(link.rate) || 0) + 1);
  const list = [...count].sort((a, b) => b[0] - a[0]);
  return list.slice(0, 4).map(([rate, n]) => `${n} links of ${bitsText(rate)}`).join(', ') + (list.length > 4 ? `, ${list.length - 4} more speeds` : '');
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
    const id = event.target.dataset && event.target.dataset.link;
    if (!moved)
      change({ link: id === undefined ? -1 : Number(id) });
  });
  surface.addEventListener('pointerover', event => {
    const id = event.target.dataset && event.target.dataset.link;
    showTip(id !== undefined ? `${linkName(links[id])}\n${bitsText(links[id].rate)}` : '', event.clientX, event.clientY);
  });
  surface.addEventListener('pointerleave', () => showTip(''));
  byId('map-in').onclick = () => zoomMap(1 / 1.4);
  byId('map-out').onclick = () => zoomMap(1.4);
  byId('map-fit').onclick = () => look(whole);
}
