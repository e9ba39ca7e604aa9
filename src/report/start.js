// SPDX-License-Identifier: Apache-2.0
// Builds the page, and the keys and buttons that change what it shows.

const playing = { timer: 0 };

function stop() {
  clearInterval(playing.timer);
  playing.timer = 0;
  byId('play').textContent = 'Play';
  byId('play').setAttribute('aria-pressed', 'false');
}

function togglePlay() {
  if (playing.timer)
    return stop();
  playing.timer = setInterval(() => state.step + 1 < plan.steps.length ? change({ step: state.step + 1 }) : stop(), 900);
  if (state.step + 1 >= plan.steps.length || state.step < 0)
    change({ step: 0, proof: false });
  byId('play').textContent = 'Stop';
  byId('play').setAttribute('aria-pressed', 'true');
}

function goTo(step) {
  stop();
  change({ step: Math.max(-1, Math.min(plan.steps.length - 1, step)), proof: false });
}

function goToTree(tree) {
  if (tree >= -1 && tree < trees.length)
    change({ tree, proof: false });
}

const keys = { ArrowLeft: () => goTo(state.step - 1), ArrowRight: () => goTo(state.step + 1), ArrowUp: () => goToTree(state.tree - 1),
  ArrowDown: () => goToTree(state.tree + 1), Home: () => goTo(-1), End: () => goTo(plan.steps.length - 1), ' ': togglePlay };

// Keys work on the drawing; the two that step rounds work wherever nothing else wants them.
function listenToKeys() {
  for (const event of ['keydown', 'scroll'])
    addEventListener(event, () => showTip(''));
  document.addEventListener('keydown', event => {
    const at = event.target, isMap = at === map;
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey)
      return;
    if (!isMap && (at !== document.body || !['ArrowLeft', 'ArrowRight'].includes(event.key)))
      return;
    keys[event.key]();
    event.preventDefault();
  });
}

// Trees of one flow stand together in the list.
function treeList() {
  const groups = new Map(), flowOf = new Map();
  for (const m of moves)
    for (let piece = m.first; piece < m.end; piece++)
      flowOf.set(piece, m.flow);
  const roots = rootsByTree();
  trees.forEach(({ piece, share }, tree) => {
    const flow = flowOf.get(piece), to = roots[tree].length === 1 ? ` to ${nodes[roots[tree][0]].name}` : '';
    groups.set(flow, [...(groups.get(flow) || []), make('option', { value: tree }, `piece ${piece}${to}, ${sizeText(share * data.bytes)}`)]);
  });
  const all = make('option', { value: -1 }, plan.pieces === 1 ? 'the whole vector' : `all ${plan.pieces} pieces together`);
  if (groups.size < 2)
    return [all, ...[...groups.values()].flat()];
  return [all, ...[...groups].map(([flow, options]) => make('optgroup', { label: flow === undefined ? 'unused' : `flow ${flow}` }, ...options))];
}

// rootsOf for all trees in one walk.
function rootsByTree() {
  const at = new Map(trees.map(({ piece }, tree) => [piece, tree])), into = trees.map(() => new Set()), from = trees.map(() => new Set());
  for (const m of moves)
    for (let piece = m.first; !m.copies && piece < m.end; piece++)
      if (at.has(piece)) {
        into[at.get(piece)].add(m.dst);
        from[at.get(piece)].add(m.src);
      }
  return into.map((set, tree) => [...set].filter(node => !from[tree].has(node)));
}

function buildControls() {
  byId('step').max = plan.steps.length;
  byId('step').oninput = event => goTo(Number(event.target.value) - 1);
  byId('previous').onclick = () => goTo(state.step - 1);
  byId('next').onclick = () => goTo(state.step + 1);
  byId('all-rounds').onclick = () => goTo(-1);
  byId('play').onclick = togglePlay;
  byId('tree').append(...treeList());
  byId('tree').onchange = event => goToTree(Number(event.target.value));
  byId('show-proof').onchange = event => change({ proof: event.target.checked });
  byId('show-proof').disabled = !bound;
}

function buildTheme() {
  const names = ['auto', 'light', 'dark'], signs = ['◐', '☀', '☾'], says = ['as the system has them', 'light', 'dark'];
  let at = 0;
  byId('theme').onclick = () => {
    at = (at + 1) % 3;
    if (at)
      document.documentElement.dataset.theme = names[at];
    else
      delete document.documentElement.dataset.theme;
    byId('theme').textContent = `${signs[at]} ${names[at]}`;
    byId('theme').setAttribute('aria-label', `Colours: ${says[at]}`);
    askTimeline();
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', askTimeline);
}

buildHead();
buildMap();
listenToMap();
buildControls();
buildGroups();
buildBars();
buildFigures();
buildTimeline();
buildCurves();
buildProof();
buildTheme();
for (const link of document.querySelectorAll('nav a'))
  link.hidden = byId(link.hash.slice(1)).hidden;
listenToKeys();
painters.push(paintMap, askTimeline);
change({});
