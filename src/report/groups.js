// SPDX-License-Identifier: Apache-2.0
// What the drawing is made of. Large networks are drawn with equal nodes together, as one pile: nodes on the same
// cables (the workers of a leaf, the spines of a fat-tree), or all nodes of one role (all leaves). A pile opens with
// a click. A role is a class of the coarsest equitable partition, found by colour refinement (Cardon and Crochemore,
// 1982): nodes of one class have equally many links of equal rate to the nodes of every other class.

const LEVELS = ['node', 'group', 'role'];
const opened = new Set(); // keys of piles that were opened
let level = 'node', items = [], itemOf = [], strands = [];

function byKey(list, keyOf) {
  const map = new Map();
  for (const one of list) {
    const key = keyOf(one);
    if (!map.has(key))
      map.set(key, []);
    map.get(key).push(one);
  }
  return map;
}

// The class of each node: split by what they are joined to until nothing splits any more.
function findRoles() {
  const around = nodes.map(() => []);
  for (const { src, dst, rate } of links) {
    around[src].push([dst, `>${rate}`]);
    around[dst].push([src, `<${rate}`]);
  }
  let role = nodes.map(n => `${n.kind} ${n.row}`), count = new Set(role).size;
  for (let before = 0; count > before;) {
    const number = new Map();
    before = count;
    role = nodes.map((n, id) => {
      const seen = `${role[id]}|${around[id].map(([peer, way]) => role[peer] + way).sort().join(' ')}`;
      if (!number.has(seen))
        number.set(seen, String(number.size));
      return number.get(seen);
    });
    count = number.size;
  }
  return role;
}

const roles = network.layout.kind === 'layers' ? findRoles() : nodes.map((n, id) => String(id));
const hasGroups = network.layout.kind === 'layers' && new Set(roles).size < nodes.length;
const sizeOfRole = byKey(nodes, n => roles[n.id]), sizeOfGroup = byKey(nodes, n => n.group);

// The piles that hold a node, the largest first.
function pilesOf(node) {
  const piles = [];
  if (level === 'role' && sizeOfRole.get(roles[node.id]).length > sizeOfGroup.get(node.group).length)
    piles.push(`role ${roles[node.id]}`);
  if (level !== 'node' && sizeOfGroup.get(node.group).length > 1)
    piles.push(`group ${node.group}`);
  return piles;
}

const keyOf = node => pilesOf(node).find(pile => !opened.has(pile)) || `node ${node.id}`;

// 'g0-g15' where names count up, otherwise 'g0 … g20'
function rangeText(ids) {
  const names = ids.map(id => nodes[id].name), parts = names.map(n => /^(.*?)(\d+)$/.exec(n));
  if (names.length === 1)
    return names[0];
  if (parts.every((p, i) => p && p[1] === parts[0][1] && (!i || Number(p[2]) === Number(parts[i - 1][2]) + 1)))
    return `${names[0]}-${names[names.length - 1]}`;
  return `${names[0]} … ${names[names.length - 1]}`;
}

function makeItems() {
  items = [...byKey(nodes, keyOf).values()].map((members, at) => {
    const first = members[0], ids = members.map(n => n.id).sort((a, b) => a - b), range = rangeText(ids);
    return { ...first, at, id: ids[0], ids, range, lines: ids.length > 1 ? [`${ids.length} ×`, range] : [first.name], piles: pilesOf(first),
      hosts: new Set(members.map(n => n.host).filter(h => h >= 0)), middle: members.reduce((sum, n) => sum + n.x, 0) / members.length };
  });
  itemOf = [];
  for (const item of items)
    for (const id of item.ids)
      itemOf[id] = item;
}

// One strand for each direction between two items, one for each link where both are single nodes.
function makeStrands() {
  const beside = new Map(), among = links.filter(l => itemOf[l.src] !== itemOf[l.dst]);
  const isSingle = l => itemOf[l.src].ids.length + itemOf[l.dst].ids.length === 2;
  strands = [...byKey(among, l => isSingle(l) ? l.id : `${itemOf[l.src].at} ${itemOf[l.dst].at}`).values()].map(list => {
    const from = itemOf[list[0].src], to = itemOf[list[0].dst], pair = `${from.at} ${to.at}`, nth = beside.get(pair) || 0;
    beside.set(pair, nth + 1);
    return { from, to, ids: list.map(l => l.id), course: courseOf(from, to, nth) };
  });
}

// Rows as in the layout of all nodes; members of an opened pile that nothing else parts stand as a block.
function placeItems() {
  const gap = font * 0.9, rows = byKey(items, i => i.row), order = [...rows.keys()].sort((a, b) => a - b);
  const below = items.map(() => new Set());
  for (const { src, dst } of links)
    if (itemOf[src].row < itemOf[dst].row)
      below[itemOf[dst].at].add(itemOf[src]);
  let top = 0;
  for (const item of items) {
    item.w = font * (0.6 * Math.max(...item.lines.map(l => l.length)) + 0.9);
    item.h = font * (0.6 + 1.25 * item.lines.length);
  }
  for (const row of order) {
    const blocks = [...byKey(rows.get(row), i => row === order[0] && i.ids.length === 1 && i.piles.length ? i.piles[i.piles.length - 1] : `item ${i.at}`).values()];
    const middle = list => {
      const on = list.flatMap(i => [...below[i.at]]);
      return on.length ? on.reduce((sum, i) => sum + i.x, 0) / on.length : list.reduce((sum, i) => sum + i.middle, 0) / list.length;
    };
    blocks.sort((a, b) => middle(a) - middle(b) || a[0].id - b[0].id);
    const shapes = blocks.map(list => {
      const wide = Math.max(...list.map(i => i.w)), high = list[0].h, columns = list.length > 1 ? Math.ceil(Math.sqrt(list.length)) : 1;
      return { list, wide, high, columns, width: columns * wide + (columns - 1) * font * 0.3 };
    });
    const tallest = Math.max(...shapes.map(s => Math.ceil(s.list.length / s.columns) * (s.high + font * 0.3)));
    let edge = -Infinity;
    const total = shapes.reduce((sum, s) => sum + s.width + gap, -gap), centre = row === order[0] ? 0 : (Math.min(...placed().map(i => i.x - i.w / 2)) + Math.max(...placed().map(i => i.x + i.w / 2))) / 2;
    let x = centre - total / 2;
    for (const { list, wide, high, columns, width } of shapes) {
      // Over what it is joined to, where that leaves the others room.
      const left = row === order[0] || shapes.length === 1 ? x : Math.max(edge, middle(list) - width / 2);
      list.forEach((item, k) => {
        item.x = left + (k % columns + 0.5) * wide + k % columns * font * 0.3;
        item.y = row === order[0] ? top + Math.floor(k / columns) * (high + font * 0.3) : top;
        item.w = wide;
      });
      edge = left + width + gap;
      x = left + width + gap;
    }
    top = Math.min(...rows.get(row).map(i => i.y)) - Math.max(7 * font, tallest / 4);
    for (const item of rows.get(row))
      item.isPlaced = true;
  }

  function placed() {
    return items.filter(i => i.isPlaced);
  }
}

function arrange(at) {
  level = at;
  makeItems();
  if (items.length < nodes.length || level !== 'node')
    placeItems();
  makeStrands();
}

// The most detail whose names can be read.
function chooseLevel() {
  if (!hasGroups)
    return 'node';
  for (const at of LEVELS) {
    arrange(at);
    const { w } = frame();
    if (lettersAt(w, 0.001) >= MIN_LETTERS)
      return at;
  }
  return 'role';
}

// The name of what an opened pile holds, with a way to close it; a frame where its members are one block.
function openFrames() {
  return [...opened].flatMap(pile => {
    const of = items.filter(i => i.piles.includes(pile));
    if (!of.length)
      return [];
    const x = Math.min(...of.map(i => i.x - i.w / 2)) - font * 0.4, right = Math.max(...of.map(i => i.x + i.w / 2)) + font * 0.4;
    const y = Math.min(...of.map(i => i.y - i.h / 2)) - font * 0.4, bottom = Math.max(...of.map(i => i.y + i.h / 2)) + font * 0.4;
    const title = `Put ${of.reduce((sum, i) => sum + i.ids.length, 0)} equal nodes together`;
    return [draw('rect', { class: 'open-pile', x, y, width: right - x, height: bottom - y, rx: 6 }),
      draw('text', { class: 'close-pile', x: right - font * 0.2, y: y + font * 0.3, 'text-anchor': 'middle', 'data-open': pile, tabindex: 0, role: 'button',
        'aria-label': title, onclick: () => closeGroup(pile) }, '⊟')];
  });
}

function showLevel(at) {
  arrange(at);
  drawMap();
  byId('level').value = at;
  change({});
}

function openItem(item) {
  opened.add(item.piles.find(pile => !opened.has(pile)));
  showLevel(level);
}

function closeGroup(pile) {
  opened.delete(pile);
  showLevel(level);
}

// Opens the piles around the node and goes near it.
function findNode(name) {
  const wanted = name.trim().toLowerCase(), all = nodes.map(n => n.name.toLowerCase());
  let id = all.indexOf(wanted);
  if (id < 0 && wanted)
    id = all.findIndex(n => n.startsWith(wanted));
  byId('find-note').textContent = id < 0 && wanted ? `no node is named ${name.trim()}` : '';
  if (id < 0 || !wanted)
    return change({ found: -1 });
  for (const pile of pilesOf(nodes[id]))
    opened.add(pile);
  arrange(level);
  drawMap();
  const { x, y } = itemOf[id], near = Math.min(1, lettersAt(whole.w, whole.h) / 12), w = whole.w * near, h = whole.h * near;
  if (near < 1)
    look({ x: x - w / 2, y: y - h / 2, w, h });
  change({ found: id });
}

function buildGroups() {
  byId('level').value = level;
  byId('level-box').hidden = !hasGroups;
  byId('level').onchange = event => {
    opened.clear();
    showLevel(event.target.value);
  };
  byId('find-box').hidden = nodes.length < 2;
  byId('find').onchange = event => findNode(event.target.value);
  byId('node-names').append(...nodes.map(n => make('option', { value: n.name })));
}
