// SPDX-License-Identifier: Apache-2.0
// What does not change while one looks: key figures, algorithms against the bound, time against size, the proof.

const served = data.results.filter(r => r.applies);
const boundTime = bound ? data.bytes / bound.bytes_per_s : null;

function buildHead() {
  const workers = data.active.length;
  byId('title').textContent = `All-reduce of ${sizeText(data.bytes)} on ${network.name}`;
  byId('subtitle').textContent = network.title.slice(network.name.length + 2) +
    (workers < nodes.filter(n => n.kind === 'worker').length ? `; ${workers} of the workers hold data` : '');
  byId('why').textContent = data.why && chosen.predicted_s > 0 ? `Why this plan: ${data.why}.` : '';
  const tiles = [[chosen.algorithm, 'the plan shown, proven to be an all-reduce'],
    [timeText(chosen.predicted_s), `predicted by the ${chosen.model} model`]];
  if (plan.measured_s !== null)
    tiles.push([timeText(plan.measured_s), 'measured']);
  if (bound)
    tiles.push([timeText(boundTime), 'no algorithm can be faster'], [percent(chosen.share_of_bound), `of the bound for large vectors: ${rateText(chosen.bytes_per_s)}`]);
  tiles.push([`${plan.rounds} rounds`, `${plan.transfers} transfers, ${plan.pieces} ${plan.pieces === 1 ? 'piece' : 'pieces'}, ${plan.flows} ${plan.flows === 1 ? 'flow' : 'flows'}`]);
  byId('tiles').append(...tiles.map(([value, what]) => make('li', {}, make('b', {}, value), make('span', {}, what))));
}

// A bar is a rate: bytes over predicted time. Behind it, hatched, is what the plan reaches as size grows.
function buildBars() {
  byId('compare').hidden = !(chosen.predicted_s > 0);
  if (byId('compare').hidden)
    return;
  const best = bound ? bound.bytes_per_s : Math.max(...served.map(r => r.bytes_per_s));
  const scale = make('div', { class: 'row scale', 'aria-hidden': 'true' }, make('b', {}), make('div', { class: 'track' },
    ...[0, 25, 50, 75, 100].map(p => make('span', { style: `left:${p}%` }, p === 100 && bound ? 'bound' : `${p} %`))), make('span', {}));
  byId('bars').append(scale, ...served.map(r => {
    const now = data.bytes / r.predicted_s / best, most = r.bytes_per_s / best;
    const words = `${r.algorithm}: ${timeText(r.predicted_s)} predicted, ${percent(now)} of the bound; ${percent(most)} as size grows`;
    return make('div', { class: `row ${r === chosen ? 'chosen' : ''}`, title: `${r.summary}. ${words}` }, make('b', {}, r.algorithm),
      make('div', { class: 'track', role: 'img', 'aria-label': words }, make('u', { style: `width:${Math.min(100, 100 * most)}%` }), make('i', { style: `width:${Math.min(100, 100 * now)}%` })),
      make('span', {}, timeText(r.predicted_s), make('span', { class: 'soft more' }, ` · ${percent(now)}`)));
  }));
  byId('compare-note').textContent = `Filled: the rate predicted for ${sizeText(data.bytes)}. Hatched: the most that the plan reaches as size grows. ` +
    (bound ? `Dashed: the bound, ${rateText(bound.bytes_per_s)} of vector a second, which no algorithm can pass.` : 'The bound is not known here, so bars are against the best.');
}

function table(element, head, rows) {
  element.append(make('thead', {}, make('tr', {}, ...head.map(h => make('th', { scope: 'col' }, h)))),
    make('tbody', {}, ...rows.map(row => make('tr', {}, ...row.map((cell, i) => make(i ? 'td' : 'th', i ? {} : { scope: 'row' }, String(cell)))))));
}

function buildFigures() {
  table(byId('figures'), ['algorithm', 'predicted', 'model', 'peak rate', 'of bound', 'rounds', 'transfers', 'flows', 'depth', 'volume per worker'],
    served.map(r => [r.algorithm, timeText(r.predicted_s), r.model, r.bytes_per_s === null ? '-' : rateText(r.bytes_per_s),
      r.share_of_bound === null ? '-' : percent(r.share_of_bound), r.rounds, r.transfers, r.trees, r.depth, `${r.volume_per_worker} vectors`]));
  const absent = data.results.filter(r => !r.applies);
  byId('absent').hidden = !absent.length;
  byId('absent').children[0].textContent = `${absent.length === 1 ? '1 algorithm does' : `${absent.length} algorithms do`} not apply to this network`;
  byId('absent').children[1].append(...absent.map(r => make('li', {}, `${r.algorithm}: ${r.why_not}`)));
}

const curveColours = ['#009e73', '#d55e00', '#0072b2', '#cc79a7', '#e69f00', '#56b4e9', 'var(--ink)', '#8a7a00'];
const marks = [
  (x, y) => `M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0`, (x, y) => `M${x - 3.6} ${y - 3.6}h7.2v7.2h-7.2z`,
  (x, y) => `M${x} ${y - 4.8}l4.6 8h-9.2z`, (x, y) => `M${x} ${y - 5}l5 5l-5 5l-5 -5z`,
  (x, y) => `M${x} ${y + 4.8}l4.6 -8h-9.2z`, (x, y) => `M${x - 4.5} ${y - 1.4}h9v2.8h-9z`,
  (x, y) => `M${x - 1.4} ${y - 4.5}h2.8v9h-2.8z`, (x, y) => `M${x - 4} ${y - 4}l8 8M${x - 4} ${y + 4}l8 -8`];

// On a narrow screen the legend stands below, in two columns.
const isNarrow = innerWidth < 700;
const plotArea = isNarrow ? { left: 62, top: 10, right: 400, bottom: 290 } : { left: 76, top: 14, right: 716, bottom: 404 };
const legendPlace = i => isNarrow ? { x: 20 + 200 * (i % 2), y: 346 + 24 * Math.floor(i / 2) } : { x: plotArea.right + 22, y: 28 + 24 * i };

function plotScales(curves) {
  const times = curves.flatMap(c => c.curve_s).filter(t => t !== null && t > 0);
  const low = 10 ** Math.floor(Math.log10(Math.min(...times))), high = 10 ** Math.ceil(Math.log10(Math.max(...times)) + 1e-9);
  const first = Math.log(data.sizes[0]), last = Math.log(data.sizes[data.sizes.length - 1]);
  const { left, right, top, bottom } = plotArea;
  return { low, high, x: size => left + (right - left) * (Math.log(size) - first) / (last - first),
    y: time => bottom - (bottom - top) * (Math.log(time) - Math.log(low)) / (Math.log(high) - Math.log(low)) };
}

function plotGrid(s) {
  const { left, right, top, bottom } = plotArea, parts = [];
  data.sizes.forEach((size, i) => {
    parts.push(draw('path', { class: 'grid', d: `M${s.x(size)} ${top}V${bottom}` }));
    if (i % (isNarrow ? 5 : 2) === 0)
      parts.push(draw('text', { x: s.x(size), y: bottom + 18, 'text-anchor': 'middle' }, sizeText(size)));
  });
  for (let t = s.low; t <= s.high * 1.001; t *= 10)
    parts.push(draw('path', { class: 'grid', d: `M${left} ${s.y(t)}H${right}` }), draw('text', { x: left - 8, y: s.y(t) + 4, 'text-anchor': 'end' }, timeText(t)));
  parts.push(draw('text', { x: (left + right) / 2, y: bottom + 38, 'text-anchor': 'middle' }, 'size of the vector'),
    draw('text', { transform: `translate(14 ${(top + bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle' }, 'time'));
  if (data.bytes >= data.sizes[0] && data.bytes <= data.sizes[data.sizes.length - 1])
    parts.push(draw('path', { d: `M${s.x(data.bytes)} ${top}V${bottom}`, stroke: 'var(--soft)', 'stroke-dasharray': '2 3' }));
  return parts;
}

function plotBound(s) {
  const points = data.sizes.map(size => [s.x(size), s.y(Math.max(s.low, size / bound.bytes_per_s))]).filter((p, i) => data.sizes[i] / bound.bytes_per_s >= s.low);
  const { x, y } = legendPlace(0), look = { class: 'curve', stroke: 'var(--soft)', 'stroke-dasharray': '7 4' };
  return [draw('path', { ...look, d: `M${points.map(p => p.join(' ')).join('L')}` }), draw('path', { ...look, d: `M${x} ${y - 2}h26` }),
    draw('text', { x: x + 34, y: y + 2 }, 'bound')];
}

function plotSeries(curve, i, s) {
  const points = data.sizes.map((size, k) => curve.curve_s[k] === null ? null : [s.x(size), s.y(curve.curve_s[k])]);
  const colour = curveColours[i % 8], mark = marks[i % 8], { x, y } = legendPlace(i + 1);
  const d = points.map((p, k) => p ? `${k && points[k - 1] ? 'L' : 'M'}${p[0]} ${p[1]}` : '').join('');
  const shape = (x, at) => draw('path', { d: mark(x, at), fill: colour, stroke: i % 8 === 7 ? colour : 'none', 'stroke-width': 2 });
  return draw('g', { class: 'series', tabindex: 0, role: 'img', 'aria-label': `${curve.algorithm}: ${data.sizes.map((size, k) => `${sizeText(size)} ${curve.curve_s[k] === null ? 'not known' : timeText(curve.curve_s[k])}`).join(', ')}` },
    draw('path', { class: 'curve', d, stroke: colour }), ...points.filter(p => p).map(p => shape(...p)),
    draw('rect', { class: 'frame', x: x - 6, y: y - 13, width: 176, height: 22, rx: 4 }),
    draw('path', { class: 'curve', d: `M${x} ${y - 2}h26`, stroke: colour }), shape(x + 13, y - 2), draw('text', { x: x + 34, y: y + 2 }, curve.algorithm));
}

function buildCurves() {
  const curves = served.filter(r => r.curve_s && r.curve_s.some(t => t > 0));
  byId('curves').hidden = !curves.length;
  if (!curves.length)
    return;
  const s = plotScales(curves), series = curves.map((c, i) => plotSeries(c, i, s));
  const faint = which => series.forEach(g => g.classList.toggle('faint', which && g !== which));
  for (const g of series) {
    g.addEventListener('pointerenter', () => faint(g));
    g.addEventListener('pointerleave', () => faint(null));
    g.addEventListener('focus', () => faint(g));
    g.addEventListener('blur', () => faint(null));
  }
  byId('plot').append(draw('svg', { viewBox: isNarrow ? `0 0 420 ${350 + 24 * Math.ceil((curves.length + 1) / 2)}` : '0 0 916 452', role: 'group', 'aria-label': 'Time against size, both logarithmic' },
    ...plotGrid(s), ...(bound ? plotBound(s) : []), ...series));
  const walked = curves.filter(c => c.curve_model === 'walk').map(c => c.algorithm);
  byId('curves-note').textContent = `${curves.length > 1 ? `The ${curves.length} fastest plans` : 'The plan'} for ${sizeText(data.bytes)}, with the schedule unchanged at all sizes; both axes are logarithmic. ` +
    (walked.length ? `Large schedules (${walked.join(', ')}) are predicted by a faster, approximate model, the others by the fluid model.` : 'Predicted by the fluid model.');
  table(byId('curve-table'), ['size', ...curves.map(c => c.algorithm), ...(bound ? ['bound'] : [])],
    data.sizes.map((size, k) => [sizeText(size), ...curves.map(c => c.curve_s[k] === null ? '-' : timeText(c.curve_s[k])), ...(bound ? [timeText(size / bound.bytes_per_s)] : [])]));
}

function buildProof() {
  if (!bound) {
    byId('proof-body').append(make('p', {}, data.active.length < 2 ? 'One worker holds data: nothing has to move.' : 'The bound was not looked for: the network is too large.'));
    return;
  }
  const count = bound.price.filter(p => p > 0).length, unit = bound.kind === 'prices' ? 1 : Math.max(...bound.price);
  const worth = bound.price.reduce((sum, p, i) => sum + p / unit * links[i].rate, 0), times = Number((worth / bound.bytes_per_s).toPrecision(6));
  const kind = { cut: 'a cut: the network falls into two parts', partition: `a partition: the network falls into ${bound.parts} parts`,
    prices: 'prices: links count differently' }[bound.kind] || bound.kind;
  byId('proof-body').append(
    make('p', {}, `No algorithm can all-reduce more than ${rateText(bound.bytes_per_s)} of vector here, that is ${sizeText(data.bytes)} in ${timeText(boundTime)}. The certificate is ${kind}.`),
    make('blockquote', {}, bound.words),
    make('p', {}, `These ${count} links move ${rateText(worth)} together${bound.kind === 'prices' ? ', each counted by its price' : ''}. Whatever trees carry a byte to one place and back to everybody, ` +
      `they use them ${times} times, both ways together, so at most ${rateText(worth)} / ${times} = ${rateText(bound.bytes_per_s)} of vector can pass. `,
      make('button', { type: 'button', onclick: () => { change({ proof: true }); byId('network').scrollIntoView(); map.focus({ preventScroll: true }); } }, 'Show them in the network')),
    make('p', { class: 'note' }, 'The proof counts bytes alone: latency, and the time until a pipeline is full, come on top.'));
}
