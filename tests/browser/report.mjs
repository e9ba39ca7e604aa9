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
const specs = given.length ? given : ['hosts:2+3', 'dgx1', 'torus:8x8', 'fattree:16x16'];

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

async function checkNodes(page, spec) {
  const [drawn, known] = await page.evaluate(() => [document.querySelectorAll('#map .node').length,
    JSON.parse(document.getElementById('data').textContent).network.nodes.length]);
  assert.equal(drawn, known, `${spec}: nodes drawn`);
}

// Names in a small network can be read in a small window, too.
async function checkNames(page, spec) {
  const heights = await page.locator('#map .node text').evaluateAll(all => all.map(t => t.getBoundingClientRect().height));
  if (heights.length && heights.length <= 10)
    assert.ok(Math.min(...heights) >= 9, `${spec}: names are ${Math.min(...heights)} pixels high`);
}

async function checkSteps(page) {
  const all = await text(page, 'status');
  await page.locator('#map').focus();
  await page.keyboard.press('ArrowRight');
  const first = await text(page, 'status');
  assert.match(first, /^Rounds? 1 /);
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
    assert.match(await text(page, 'window'), /[1-9]\d* lanes/);
    const inked = await page.evaluate(() => {
      const canvas = document.getElementById('canvas'), seen = new Set();
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      for (let i = 0; i < data.length; i += 4)
        seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
      return seen.size;
    });
    assert.ok(inked > 5, `lanes of ${kind} are drawn`);
  }
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
    for (const scheme of width === 1400 ? ['light', 'dark'] : ['light']) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(pathToFileURL(file).href);
      await checkNodes(page, spec);
      await checkNames(page, spec);
      await picture(page, pictures, `${name}-${width}-${scheme}`, true);
      await checkSteps(page);
      await checkTrees(page);
      await checkTimeline(page);
      await checkMapZoom(page);
      await checkProof(page);
      await checkWidth(page, spec);
      if (width === 1400) {
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
