// SPDX-License-Identifier: Apache-2.0
// The data, how figures read, and the one state that all parts of the page draw from.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const { network, plan, bound } = data;
const nodes = [];
for (const node of network.nodes)
  nodes[node.id] = node;
// What down= and degrade= took: links that are gone, and by source and destination the share that is left of the others.
const lost = network.damaged.filter(([, , , left]) => !left).map(([src, dst, rate]) => ({ src, dst, rate }));
const slowed = new Map();
for (const [src, dst, , left] of network.damaged)
  if (left > 0)
    slowed.set(`${src} ${dst}`, (slowed.get(`${src} ${dst}`) || 1) * left);
const links = network.links.map(([src, dst, rate, latency], id) => ({ id, src, dst, rate, latency, left: slowed.get(`${src} ${dst}`) || 1 }));
const moves = plan.moves.map(m => ({
  round: m[0], step: Math.floor(m[0] / plan.rounds_per_step), src: m[1], dst: m[2], copies: m[3], path: plan.paths[m[4]],
  first: m[5], end: m[5] + m[6], flow: m[7], share: m[8], from: m[9] * plan.tick_s, to: m[10] * plan.tick_s,
  measured: m.length > 11 && m[11] !== null ? [m[11] * plan.tick_s, m[12] * plan.tick_s] : null }));
const trees = plan.trees.map(([piece, share]) => ({ piece, share }));
const active = new Set(data.active);
const chosen = data.results[data.chosen];

function byId(id) {
  return document.getElementById(id);
}

// An element of HTML: make('li', { class: 'x', onclick: f }, 'text', child).
function make(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function draw(tag, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {}))
    if (key.startsWith('on'))
      element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function scaled(value, step, units) {
  let i = 0;
  for (; i < units.length - 1 && Math.abs(value) >= step * 0.99995; i++)
    value /= step;
  return `${Number(value.toPrecision(4))} ${units[i]}`;
}

const sizeText = bytes => scaled(bytes, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
const rateText = rate => scaled(rate, 1000, ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s']);
const bitsText = rate => scaled(rate * 8, 1000, ['b/s', 'kb/s', 'Mb/s', 'Gb/s', 'Tb/s']);
const percent = share => `${Number((100 * share).toPrecision(share < 0.0995 ? 2 : 3))} %`;

function timeText(seconds) {
  return seconds === 0 ? '0 s' : scaled(seconds * 1e9, 1000, ['ns', 'us', 'ms', 's']);
}

const linkName = link => `${nodes[link.src].name} → ${nodes[link.dst].name}`;

function moveText(m) {
  const pieces = m.end - m.first > 1 ? `pieces ${m.first} to ${m.end - 1}` : `piece ${m.first}`;
  return `${nodes[m.src].name} ${m.copies ? 'copies' : 'adds'} ${pieces} ${m.copies ? 'to' : 'into'} ${nodes[m.dst].name}, ${sizeText(m.share * data.bytes)}`;
}

function roundText(step) {
  const { first, last } = plan.steps[step];
  return first === last ? `Round ${first} (0 to ${plan.rounds - 1})` : `Rounds ${first} to ${last} (0 to ${plan.rounds - 1})`;
}

// step -1: all; tree -1: all; link -1: none.
const state = { step: -1, tree: -1, link: -1, found: -1, proof: false };
const painters = [];

function change(what) {
  Object.assign(state, what);
  for (const paint of painters)
    paint();
}

const isOf = (m, tree) => tree < 0 || (m.first <= trees[tree].piece && trees[tree].piece < m.end);
const shown = () => moves.filter(m => (state.step < 0 || m.step === state.step) && isOf(m, state.tree));

// Vectors that cross each link in what is shown; all pieces together are exact even where only some are kept.
function loads() {
  const load = new Float64Array(links.length);
  if (state.tree < 0)
    plan.steps.forEach((step, i) => {
      if (state.step < 0 || state.step === i)
        for (let k = 0; k < step.load.length; k += 2)
          load[step.load[k]] += step.load[k + 1];
    });
  else
    for (const m of shown())
      for (const link of m.path)
        load[link] += trees[state.tree].share;
  return load;
}

const tip = byId('tip');

function showTip(text, x, y) {
  tip.hidden = !text;
  if (!text)
    return;
  tip.textContent = text;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 6))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18}px`;
}
