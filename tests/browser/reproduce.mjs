// SPDX-License-Identifier: Apache-2.0
// The page of `banyan reproduce` in a real browser, at three window sizes, light and dark: no error on the console, no
// request but the file itself, every figure is drawn and listed, labels do not lie on each other, tables open, links lead
// to files that were written.
//
//   node reproduce.mjs BANYAN MODULES PICTURES [NAME|FOLDER]
//
// NAME is what is reproduced, by default all; FOLDER has been written by `banyan reproduce` already.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkLabels, checkWidth, picture, sizes, watch, withBrowser } from './browser.mjs';

const [banyan, modules, pictures, what = 'all'] = process.argv.slice(2);

function makeFolder(place) {
  if (fs.existsSync(path.join(what, 'index.html')))
    return path.resolve(what);
  const folder = path.join(place, 'papers');
  execFileSync(banyan, ['reproduce', what, '-o', folder, '--quiet'], { stdio: ['ignore', 'ignore', 'inherit'] });
  return folder;
}

async function checkFigures(page) {
  const figures = await page.locator('section:not(#claims)').count();
  assert.ok(figures > 0, 'there are figures');
  const listed = await page.locator('nav li li a').count();
  assert.equal(listed, figures, 'the index lists every figure');
  for (const id of await page.locator('nav a').evaluateAll(all => all.map(a => a.getAttribute('href'))))
    assert.equal(await page.locator(`[id="${id.slice(1)}"]`).count(), 1, `the index leads to ${id}`);
  const empty = await page.evaluate(() => [...document.querySelectorAll('section')]
    .filter(s => !s.querySelector('svg path, svg rect, svg polyline, svg line, svg circle, table td')).map(s => s.id));
  assert.deepEqual(empty, [], 'no figure is empty');
}

// What holds and how far off it is stands on top; charts fit the window, and their words can be read.
async function checkSummary(page, name) {
  const summary = await page.locator('#claims').textContent();
  assert.match(summary, /numbers of papers are met/, `${name}: the count`);
  assert.match(summary, /off by, median/, `${name}: how far off`);
  const wrong = await page.evaluate(() => [...document.querySelectorAll('section svg')].filter(s => s.getClientRects().length).flatMap(svg => {
    const title = svg.closest('section').id, small = [...svg.querySelectorAll('text')].map(t => {
      const { width, height } = t.getBoundingClientRect();
      return Math.min(width, height);
    }).filter(size => size > 0 && size < 5).length;
    return [...(svg.getBoundingClientRect().right > innerWidth ? [`${title} is cut off`] : []), ...(small ? [`${title} has ${small} small words`] : [])];
  }));
  assert.deepEqual(wrong, [], `${name}: charts fit`);
}

async function checkTheme(page) {
  const ink = () => page.evaluate(() => getComputedStyle(document.body).color), button = page.locator('#theme');
  await button.click();
  const light = await ink();
  await button.click();
  assert.notEqual(await ink(), light, 'the button changes the colours');
  await button.click();
}

// What words or dashes say is never said by colour alone: every series of a picture is named in it.
async function checkTables(page) {
  for (const box of await page.locator('details').all()) {
    await box.locator('summary').click();
    assert.ok(await box.locator('td').first().isVisible(), 'a table opens');
    await box.locator('summary').click();
  }
}

async function checkFiles(page, folder) {
  for (const name of await page.locator('section a:not([href^="#"]), p > a').evaluateAll(all => all.map(a => a.getAttribute('href'))))
    assert.ok(fs.statSync(path.join(folder, name)).size > 0, `${name} was written`);
}

await withBrowser(modules, pictures, async (context, place) => {
  const folder = makeFolder(place), file = path.join(folder, 'index.html');
  const page = await context.newPage(), wrong = watch(page, file);
  for (const [width, height] of sizes)
    for (const scheme of ['light', 'dark']) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(pathToFileURL(file).href);
      await picture(page, pictures, `reproduce-${width}-${scheme}`, true);
      await checkFigures(page);
      await checkSummary(page, `${width} wide`);
      await checkTheme(page);
      await checkLabels(page, 'section svg', `${width} wide`);
      await checkWidth(page, `${width} wide`);
      if (scheme === 'light')
        await checkTables(page);
    }
  await checkFiles(page, folder);
  assert.deepEqual(wrong, [], 'nothing goes wrong and nothing leaves the file');
  console.log(`reproduce ${path.basename(what)}: the page works at ${sizes.length} sizes, light and dark`);
});
