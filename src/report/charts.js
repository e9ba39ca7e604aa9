// SPDX-License-Identifier: Apache-2.0
// What does not change while one looks: key figures, algorithms against the bound, share of the bound against size, the proof.

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
    tiles.push([timeText(boundTime), 'the bound: no algorithm can be faster'], ...(chosen.predicted_s > 0 ? [[percent(boundTime / chosen.predicted_s),
      `of the bound at ${sizeText(data.bytes)}; ${percent(chosen.share_of_bound)} for large vectors`]] : []));
  tiles.push([`${plan.rounds} rounds`, `${plan.transfers} transfers, ${plan.pieces} ${plan.pieces === 1 ? 'piece' : 'pieces'}, ${plan.flows} ${plan.flows === 1 ? 'flow' : 'flows'}`]);
  const { command, version, date } = data.made;
  byId('made').append(...(command ? [make('code', {}, command), ' · '] : []), `Banyan ${version} · ${date}`);
  byId('tiles').append(...tiles.map(([value, what]) => make('li', {}, make('b', {}, value), make('span', {}, what))));
}

// A bar is a rate: bytes over predicted time. Behind it, hatched, is what the plan reaches for large vectors.
function buildBars() {
  byId('compare').hidden = !(chosen.predicted_s > 0);
  if (byId('compare').hidden)
    return;
  const best = bound ? bound.bytes_per_s : Math.max(...served.map(r => r.bytes_per_s));
  const scale = make('div', { class: 'row scale', 'aria-hidden': 'true' }, make('b', {}), make('div', { class: 'track' },
    ...[0, 25, 50, 75, 100].map(p => make('span', { style: `left:${p}%` }, p === 100 && bound ? 'bound' : `${p} %`))), make('span', {}));
  byId('bars').append(scale, ...served.map(r => {
    const now = data.bytes / r.predicted_s / best, most = r.bytes_per_s / best;
    const words = `${r.algorithm}: ${timeText(r.predicted_s)} predicted, ${percent(now)} of the bound; ${percent(most)} for large vectors`;
    return make('div', { class: `row ${r === chosen ? 'chosen' : ''}`, title: `${r.summary}. ${words}` }, make('b', {}, r.algorithm),
      make('div', { class: 'track', role: 'img', 'aria-label': words }, make('u', { style: `width:${Math.min(100, 100 * most)}%` }), make('i', { style: `width:${Math.min(100, 100 * now)}%` })),
      make('span', {}, timeText(r.predicted_s), make('span', { class: 'soft more' }, ` · ${percent(now)}`)));
  }));
  byId('compare-note').textContent = `Filled: the rate predicted for ${sizeText(data.bytes)}. Hatched: the most that the plan reaches for large vectors. ` +
    (bound ? `Dashed: the bound, ${rateText(bound.bytes_per_s)} of vector per second, which no algorithm can exceed.` : 'The bound is not known here, so bars are against the best.');
}

function table(element, head, rows) {
  element.append(make('thead', {}, make('tr', {}, ...head.map(h => make('th', { scope: 'col' }, h)))),
    make('tbody', {}, ...rows.map(row => make('tr', {}, ...row.map((cell, i) => make(i ? 'td' : 'th', i ? {} : { scope: 'row' }, String(cell)))))));
}

function buildFigures() {
  table(byId('figures'), ['algorithm', 'predicted', 'model', 'peak rate', 'of bound', 'rounds', 'transfers', 'flows', 'depth', 'volume per worker'],
    served.map(r => [r.algorithm, timeText(r.predicted_s), r.model, r.bytes_per_s === null ? '-' : rateText(r.bytes_per_s),
      r.share_of_bound === null ? '-' : percent(r.share_of_bound), r.rounds, r.transfers, r.trees, r.depth, `${Number(r.volume_per_worker.toPrecision(3))} vectors`]));
  const absent = data.results.filter(r => !r.applies);
  byId('absent').hidden = !absent.length;
  byId('absent').children[0].textContent = `${absent.length === 1 ? '1 algorithm does' : `${absent.length} algorithms do`} not apply to this network`;
  byId('absent').children[1].append(...absent.map(r => make('li', {}, `${r.algorithm}: ${r.why_not}`)));
}

// The plan that is shown in ink, the others in colours that say nothing else on this page.
const curveColours = ['#0f8f86', '#b5478b', '#8a7400', '#6b7fd7', '#a0623a', '#5f9e3a', '#8a8f98', '#0a9cc0'];
const marks = [
  (x, y) => `M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0`, (x, y) => `M${x - 3.6} ${y - 3.6}h7.2v7.2h-7.2z`,
  (x, y) => `M${x} ${y - 4.8}l4.6 8h-9.2z`, (x, y) => `M${x} ${y - 5}l5 5l-5 5l-5 -5z`,
  (x, y) => `M${x} ${y + 4.8}l4.6 -8h-9.2z`, (x, y) => `M${x - 4.5} ${y - 1.4}h9v2.8h-9z`,
  (x, y) => `M${x - 1.4} ${y - 4.5}h2.8v9h-2.8z`, (x, y) => `M${x - 4} ${y - 4}l8 8M${x - 4} ${y + 4}l8 -8`, (x, y) => `M${x - 5} ${y}h10M${x} ${y - 5}v10`];

const narrow = matchMedia('(max-width: 700px)');
let plotArea, hidden = new Set(); // algorithms whose lines are switched off

// Against the bound, or against the best rate of all where there is no bound.
function plotScale(curves) {
  const best = bound ? bound.bytes_per_s : Math.max(...curves.flatMap(c => c.curve_s.map((t, k) => t > 0 ? data.sizes[k] / t : 0)));
  const first = Math.log(data.sizes[0]), last = Math.log(data.sizes[data.sizes.length - 1]), { left, right, top, bottom } = plotArea;
  return { share: (curve, k) => curve.curve_s[k] > 0 ? data.sizes[k] / curve.curve_s[k] / best : null,
    x: size => left + (right - left) * (Math.log(size) - first) / (last - first), y: share => bottom - (bottom - top) * share / 1.02,
    nearest: x => data.sizes.reduce((at, size, k) => Math.abs((Math.log(size) - first) / (last - first) - (x - left) / (right - left)) <
      Math.abs((Math.log(data.sizes[at]) - first) / (last - first) - (x - left) / (right - left)) ? k : at, 0) };
}

function plotGrid(s) {
  const { left, right, top, bottom } = plotArea, parts = [];
  data.sizes.forEach((size, i) => {
    parts.push(draw('path', { class: 'grid', d: `M${s.x(size)} ${top}V${bottom}` }));
    if (i % (narrow.matches ? 5 : 2) === 0)
      parts.push(draw('text', { x: s.x(size), y: bottom + 18, 'text-anchor': 'middle' }, sizeText(size)));
  });
  for (const share of [0, 0.25, 0.5, 0.75, 1])
    parts.push(draw('path', { class: share === 1 && bound ? 'limit' : 'grid', d: `M${left} ${s.y(share)}H${right}` }),
      draw('text', { x: left - 8, y: s.y(share) + 4, 'text-anchor': 'end' }, percent(share)));
  parts.push(draw('text', { x: (left + right) / 2, y: bottom + 38, 'text-anchor': 'middle' }, 'size of the vector'));
  if (bound)
    parts.push(draw('text', { x: left + 6, y: s.y(1) - 5 }, `the bound, ${rateText(bound.bytes_per_s)} of vector`));
  if (data.bytes >= data.sizes[0] && data.bytes <= data.sizes[data.sizes.length - 1])
    parts.push(draw('path', { d: `M${s.x(data.bytes)} ${top}V${bottom}`, stroke: 'var(--soft)', 'stroke-dasharray': '2 3' }),
      draw('text', { x: s.x(data.bytes) + (s.x(data.bytes) > (left + right) / 2 ? -5 : 5), y: bottom - 6,
        'text-anchor': s.x(data.bytes) > (left + right) / 2 ? 'end' : 'start' }, 'this page'));
  return parts;
}

const lookOf = (curve, i) => ({ colour: curve === chosen ? 'var(--ink)' : curveColours[i % 8], mark: marks[i % 9], isThin: i % 9 > 6 });

function plotMark(curve, i, x, y, isWalked) {
  const { colour, mark, isThin } = lookOf(curve, i);
  return draw('path', { d: mark(x, y), fill: isThin ? 'none' : isWalked ? 'var(--card)' : colour, stroke: colour, 'stroke-width': isThin ? 2 : 1.4 });
}

function plotSeries(curve, i, s) {
  const points = data.sizes.map((size, k) => s.share(curve, k) === null ? null : [s.x(size), s.y(s.share(curve, k))]);
  const d = points.map((p, k) => p ? `${k && points[k - 1] ? 'L' : 'M'}${p[0]} ${p[1]}` : '').join('');
  const words = data.sizes.map((size, k) => `${sizeText(size)} ${s.share(curve, k) === null ? 'not predicted' : percent(s.share(curve, k))}`).join(', ');
  const { colour } = lookOf(curve, i), wide = curve === chosen ? 3.2 : 2;
  return draw('g', { class: 'series', role: 'img', 'aria-label': `${curve.algorithm}: ${words}` },
    draw('path', { class: 'curve', d, stroke: colour, 'stroke-width': wide }),
    ...points.map((p, k) => p && plotMark(curve, i, p[0], p[1], curve.curve_model[k] === 'walk')).filter(p => p));
}

// Names at the ends of the lines, moved apart where lines end close together.
function plotEnds(curves, s) {
  const step = 15, { right, top, bottom } = plotArea;
  const ends = curves.map((curve, i) => {
    const k = data.sizes.findLastIndex((size, at) => s.share(curve, at) !== null), isWhole = k === data.sizes.length - 1;
    return { curve, i, x: s.x(data.sizes[k]), at: s.y(s.share(curve, k)),
      words: curve.algorithm + (isWhole ? '' : ` to ${sizeText(data.sizes[k])}`) };
  }).filter(e => !hidden.has(e.curve.algorithm)).sort((a, b) => a.at - b.at);
  let next = top;
  for (const end of ends) {
    end.y = Math.max(end.at, next);
    next = end.y + step;
  }
  let last = bottom;
  for (const end of [...ends].reverse()) {
    end.y = Math.min(end.y, last);
    last = end.y - step;
  }
  return ends.map(({ curve, i, x, at, y, words }) => draw('g', { class: 'end' },
    draw('path', { d: `M${x + 6} ${at}L${right + 16} ${y}H${right + 20}`, stroke: lookOf(curve, i).colour, fill: 'none', opacity: 0.7 }),
    draw('text', { x: right + 24, y: y + 4, 'font-weight': curve === chosen ? 700 : 400 }, words)));
}

function plotTip(curves, s, k) {
  const list = curves.filter(c => !hidden.has(c.algorithm) && s.share(c, k) !== null).sort((a, b) => a.curve_s[k] - b.curve_s[k]);
  return [sizeText(data.sizes[k]), ...list.map(c => `${c.algorithm}: ${percent(s.share(c, k))}, ${timeText(c.curve_s[k])}${c.curve_model[k] === 'walk' ? ' (walk)' : ''}`)].join('\n');
}

function drawPlot(curves) {
  plotArea = narrow.matches ? { left: 46, top: 26, right: 376, bottom: 280 } : { left: 56, top: 26, right: 730, bottom: 404 };
  const s = plotScale(curves), series = curves.map((c, i) => plotSeries(c, i, s)), ends = narrow.matches ? [] : plotEnds(curves, s);
  const { left, right, top, bottom } = plotArea, line = draw('path', { stroke: 'var(--soft)', opacity: 0 });
  const svg = draw('svg', { viewBox: narrow.matches ? '0 0 400 326' : '0 0 916 450', role: 'group', 'aria-label': 'Share of the bound against size' },
    ...plotGrid(s), line, ...series, ...ends);
  curves.forEach((c, i) => series[i].classList.toggle('off', hidden.has(c.algorithm)));
  const faint = which => series.forEach((g, i) => g.classList.toggle('faint', which !== null && i !== which));
  svg.addEventListener('pointermove', event => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()), k = s.nearest(at.x);
    const isIn = at.x > left - 20 && at.x < right + 20 && at.y > top && at.y < bottom + 20;
    fill(line, { d: `M${s.x(data.sizes[k])} ${top}V${bottom}`, opacity: isIn ? 1 : '0' }, []);
    showTip(isIn ? plotTip(curves, s, k) : '', event.clientX, event.clientY);
  });
  svg.addEventListener('pointerleave', () => {
    line.setAttribute('opacity', 0);
    showTip('');
  });
  byId('plot').replaceChildren(svg);
  byId('curve-legend').replaceChildren(...curves.map((c, i) => {
    const isOn = !hidden.has(c.algorithm);
    return make('button', { type: 'button', 'aria-pressed': isOn, title: `${c.summary}. Click to ${isOn ? 'hide' : 'show'} its line.`,
      onpointerenter: () => faint(isOn ? i : null), onpointerleave: () => faint(null), onfocus: () => faint(isOn ? i : null), onblur: () => faint(null),
      onclick: () => {
        hidden[isOn ? 'add' : 'delete'](c.algorithm);
        drawPlot(curves);
        byId('curve-legend').children[i].focus();
      } },
    draw('svg', { width: 26, height: 12, 'aria-hidden': 'true' }, draw('path', { d: 'M0 6H26', stroke: lookOf(c, i).colour, 'stroke-width': 2 }), plotMark(c, i, 13, 6, false)), c.algorithm);
  }));
}

function buildCurves() {
  const curves = served.filter(r => r.curve_s && r.curve_s.some(t => t > 0));
  byId('curves').hidden = !curves.length;
  if (!curves.length)
    return;
  byId('curves-title').textContent = bound ? 'Share of the bound against size' : 'Rate against size';
  narrow.addEventListener('change', () => drawPlot(curves));
  drawPlot(curves);
  const isWalked = curves.some(c => c.curve_model.includes('walk'));
  byId('curves-note').textContent = `${curves.length > 1 ? 'The fastest plans, and ring to compare with,' : 'The plan'} for ${sizeText(data.bytes)}, with the schedule unchanged at all sizes; ` +
    `${bound ? '' : 'against the best rate of all; '}sizes are logarithmic. Predicted by the fluid model` + (isWalked ? '; hollow marks by the walk, which is faster and approximate.' : '.');
  table(byId('curve-table'), ['size', ...curves.map(c => c.algorithm), ...(bound ? ['bound'] : [])],
    data.sizes.map((size, k) => [sizeText(size), ...curves.map(c => c.curve_s[k] === null ? 'not predicted' : timeText(c.curve_s[k])), ...(bound ? [timeText(size / bound.bytes_per_s)] : [])]));
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
    make('p', { class: 'note' }, 'The proof counts bytes alone: latency, and the time until a pipeline is full, are not included.'));
}
