// SPDX-License-Identifier: Apache-2.0
// The page of `banyan report` in a real browser, at three window sizes, light and dark: no error on the console, no
// request but the file itself, rounds step, trees are picked, the timeline zooms, and every node is drawn.
//
//   node report.mjs BANYAN MODULES PICTURES [SPEC...]
//
// BANYAN is the command line, MODULES a folder with node_modules/playwright-core, PICTURES where screenshots go.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkWidth, picture, sizes, watch, withBrowser } from './browser.mjs';

const [banyan, modules, pictures, ...given] = process.argv.slice(2);
const specs = given.length ? given : ['hosts:2+3', 'dgx1', 'dgxa100:4,down=g9-nvsw1,degrade=g20-nvsw2:0.5', 'torus:8x8', 'fattree:16x16'];

function makeReport(spec, place) {
  const file = path.join(place, `${spec.replace(/[^a-z0-9]+/gi, '-')}.html`), trace = path.join(place, 'trace.json');
  const more = [];
  if (spec === 'hosts:2+3') { // a pretended measurement: the prediction of another size
    execFileSync(banyan, ['plan', spec, '--algo', 'forest', '--bytes', '72MiB', '--format', 'trace', '-o', trace, '--quiet']);
    more.push('--algo', 'forest', '--trace', trace);
  }
  execFileSync(banyan, ['report', spec, '-o', file, '--quiet', ...(given.length ? [] : more)]);
  assert.ok(fs.statSync(file).size < 5e6, `${spec}: the page has ${fs.statSync(file).size} bytes`);
  return file;
}

const text = (page, id) => page.locator(`#${id}`).innerText();

// Every node is drawn, alone or in a pile of equal ones; with all detail, each alone.
async function checkNodes(page, spec) {
  const known = await page.evaluate(() => JSON.parse(document.getElementById('data').textContent).network.nodes.length);
  const drawn = () => page.evaluate(() => [document.querySelectorAll('#map .node').length, items.length, items.flatMap(i => i.ids).length]);
  const [shapes, shown, all] = await drawn();
  assert.equal(shapes, shown, `${spec}: shapes drawn`);
  assert.equal(all, known, `${spec}: nodes drawn`);
  if (!await page.locator('#level').isVisible())
    return;
  const before = await page.locator('#level').inputValue();
  await page.selectOption('#level', 'role');
  const [piles] = await drawn();
  assert.ok(piles < known, `${spec}: equal nodes lie together`);
  await page.locator('#map .node.closed').first().focus();
  await page.keyboard.press('Enter');
  assert.ok((await drawn())[0] > piles, `${spec}: a pile opens`);
  await page.locator('#map .close-pile').first().focus();
  await page.keyboard.press('Enter');
  assert.equal((await drawn())[0], piles, `${spec}: and closes`);
  await page.selectOption('#level', 'node');
  assert.equal((await drawn())[0], known, `${spec}: all nodes apart`);
  await page.selectOption('#level', before);
}

// A node is found by its name, whatever pile it is in, and shown so large that its name can be read.
async function checkFind(page, spec) {
  const name = await page.evaluate(() => nodes[nodes.length - 1].name);
  await page.locator('#find').fill(name);
  await page.locator('#find').press('Enter');
  const found = page.locator('#map .node.found');
  assert.equal(await found.count(), 1, `${spec}: ${name} is found`);
  assert.ok((await found.locator('title').textContent()).startsWith(name), `${spec}: the node found is ${name}`);
  await page.locator('#find').fill('nobody');
  await page.locator('#find').press('Enter');
  assert.match(await text(page, 'find-note'), /no node is named nobody/);
  await page.locator('#find').fill('');
  await page.locator('#find').press('Enter');
  await page.locator('#map-fit').click();
}

// Words that are shown can be read, in a small window, too.
async function checkNames(page, spec) {
  const small = await page.evaluate(() => [...document.querySelectorAll('#map text, #plot text')]
    .filter(t => t.getClientRects().length && t.textContent.trim() && getComputedStyle(t).display !== 'none')
    .map(t => [t.textContent, t.getBoundingClientRect().height]).filter(([, height]) => height < 8.5));
  assert.deepEqual(small, [], `${spec}: words are large enough`);
}

// What is broken or slow is marked, and no host's frame lies in another's.
async function checkFaults(page, spec) {
  const marks = await page.locator('#map .fault').count();
  assert.equal(marks > 0, /down=|degrade=/.test(spec), `${spec}: faults marked`);
  if (marks)
    assert.match(await text(page, 'legend'), /broken: g9[^]*slow, with what is left: /);
  const crossed = await page.evaluate(() => {
    const boxes = [...document.querySelectorAll('#map .host')].map(h => h.getBBox());
    return boxes.filter((a, i) => boxes.slice(i + 1).some(b => Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x) > 1)).length;
  });
  assert.equal(crossed, 0, `${spec}: hosts stand apart`);
}

// The line that everybody looks for is there, ends with its name, answers the pointer, and can be switched off.
async function checkCurves(page, spec) {
  const legend = page.locator('#curve-legend button'), names = await legend.allInnerTexts();
  if (await page.evaluate(() => data.results.some(r => r.algorithm === 'ring' && r.applies)))
    assert.ok(names.some(n => n.trim() === 'ring'), `${spec}: ring is among ${names}`);
  await page.locator('#plot svg').scrollIntoViewIfNeeded();
  await page.locator('#plot svg').hover();
  assert.match(await text(page, 'tip'), /%/, `${spec}: the lines answer the pointer`);
  await legend.first().click();
  assert.equal(await page.locator('#plot .series.off').count(), 1, `${spec}: a click hides a line`);
  await legend.first().click();
  assert.equal(await page.locator('#plot .series.off').count(), 0, `${spec}: another shows it`);
}

// Which command, which version, when; and names beside the reasons of algorithms that do not apply.
async function checkWords(page, spec) {
  assert.match(await text(page, 'made'), /banyan report .*Banyan \d+\.\d+\.\d+ · \d{4}-\d\d-\d\d/);
  const reasons = await page.locator('#absent li').allTextContents();
  for (const reason of reasons)
    assert.match(reason, /^[a-z0-9-]+: ./, `${spec}: a name before the reason`);
  for (const name of await page.locator('#links button').evaluateAll(all => all.map(b => b.getAttribute('aria-label'))))
    assert.match(name, /: .* · /, `${spec}: a link's name is apart from its figures`);
}

async function checkSteps(page) {
  const all = await text(page, 'status');
  await page.locator('#map').focus();
  await page.keyboard.press('ArrowRight');
  const first = await text(page, 'status');
  assert.match(first, /^Rounds? 0 /);
  await page.keyboard.press('ArrowRight');
  assert.notEqual(await text(page, 'status'), first);
  assert.ok(await page.locator('#map .arrow').count() > 0, 'arrows show what moves');
  await page.locator('#previous').click();
  assert.equal(await text(page, 'status'), first);
  await page.locator('#step').focus();
  await page.keyboard.press('End');
  assert.notEqual(await text(page, 'status'), first);
  await page.locator('#all-rounds').click();
  assert.equal(await text(page, 'status'), all);
}

async function checkTrees(page) {
  await page.locator('#map').focus();
  await page.keyboard.press('ArrowDown');
  assert.match(await text(page, 'status'), /piece \d+ alone/);
  assert.ok(await page.locator('#map .link.reduce, #map .link.both').count() > 0, 'a tree is shown');
  await page.keyboard.press('ArrowUp');
  assert.doesNotMatch(await text(page, 'status'), /alone/);
  await page.locator('#links button').first().click();
  assert.match(await text(page, 'detail'), /carries/);
}

async function checkTimeline(page) {
  const before = await text(page, 'window');
  await page.locator('#lanes-box').focus();
  await page.keyboard.press('+');
  await page.keyboard.press('+');
  await page.waitForTimeout(100);
  const after = await text(page, 'window');
  assert.notEqual(after, before, 'plus zooms');
  await page.keyboard.press('ArrowRight');
  await page.waitForTimeout(100);
  assert.notEqual(await text(page, 'window'), after, 'arrows move');
  for (const kind of ['links', 'send', 'receive', 'use']) {
    await page.selectOption('#lanes', kind);
    await page.waitForTimeout(100);
    assert.match(await text(page, 'window'), /[1-9]\d* lanes?/);
    const inked = await page.evaluate(() => {
      const canvas = document.getElementById('canvas'), seen = new Set();
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      for (let i = 0; i < data.length; i += 4)
        seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
      return seen.size;
    });
    assert.ok(inked > 5, `lanes of ${kind} are drawn`);
  }
  await page.locator('#lane-filter').fill('no such lane');
  await page.waitForTimeout(100);
  assert.match(await text(page, 'window'), / 0 lanes, [1-9]\d* filtered out/);
  await page.locator('#lane-filter').fill('');
  await page.locator('#time-fit').click();
  await page.waitForTimeout(100);
  assert.match(await text(page, 'window'), /^0 s /);
}

async function checkMapZoom(page) {
  const box = () => page.locator('#map svg').getAttribute('viewBox');
  const before = await box();
  await page.locator('#map-in').click();
  assert.notEqual(await box(), before);
  await page.locator('#map-fit').click();
  assert.equal(await box(), before);
}

async function checkProof(page) {
  await page.locator('#show-proof').check();
  assert.ok(await page.locator('#map .link.proof').count() > 0, 'the proof is shown');
  assert.match(await text(page, 'status'), /every byte must cross/);
  await page.locator('#show-proof').uncheck();
}

async function look(context, place, spec) {
  const file = makeReport(spec, place), name = path.basename(file, '.html'), page = await context.newPage(), wrong = watch(page, file);
  for (const [width, height] of sizes)
    for (const scheme of ['light', 'dark']) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(pathToFileURL(file).href);
      await checkNames(page, spec);
      await checkFaults(page, spec);
      await checkWords(page, spec);
      await checkNodes(page, spec);
      await picture(page, pictures, `${name}-${width}-${scheme}`, true);
      await checkFind(page, spec);
      await checkCurves(page, spec);
      await checkSteps(page);
      await checkTrees(page);
      await checkTimeline(page);
      await checkMapZoom(page);
      await checkProof(page);
      await checkWidth(page, spec);
      if (width === 1440) {
        await page.locator('#map').focus();
        await page.keyboard.press('ArrowDown');
        await picture(page, pictures, `${name}-tree-${scheme}`, false);
        await page.keyboard.press('ArrowUp');
        await page.keyboard.press('ArrowRight');
        await page.keyboard.press('ArrowRight');
        await picture(page, pictures, `${name}-round-${scheme}`, false);
        await page.locator('#show-proof').check();
        await picture(page, pictures, `${name}-proof-${scheme}`, false);
      }
    }
  await page.close();
  assert.deepEqual(wrong, [], `${spec}: nothing goes wrong and nothing leaves the file`);
  console.log(`${spec}: the page works at ${sizes.length} sizes`);
}

await withBrowser(modules, pictures, async (context, place) => {
  for (const spec of specs)
    await look(context, place, spec);
});
