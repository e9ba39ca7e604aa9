// SPDX-License-Identifier: Apache-2.0
// What the browser tests share: a headless Chromium, the three sizes of a window, and a watch over whatever goes wrong.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

export const sizes = [[1440, 900], [820, 1100], [390, 800]];

// Calls work(context, place) with a browser and a folder that are gone afterwards. modules has node_modules/playwright-core.
export async function withBrowser(modules, pictures, work) {
  const { chromium } = createRequire(path.join(path.resolve(modules), 'here.js'))('playwright-core');
  const place = fs.mkdtempSync(path.join(os.tmpdir(), 'banyan-browser-'));
  fs.mkdirSync(pictures, { recursive: true });
  const context = await chromium.launchPersistentContext(path.join(place, 'profile'), {
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium', headless: true,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'] });
  try {
    await work(context, place);
  } finally {
    await context.close();
    fs.rmSync(place, { recursive: true });
  }
}

// Every error on the console or in the script, and every request but the file itself.
export function watch(page, file) {
  const wrong = [], own = pathToFileURL(file).href;
  page.on('console', message => {
    // The one warning that these tests cause themselves, by reading a canvas.
    if (['error', 'warning'].includes(message.type()) && !message.text().includes('willReadFrequently'))
      wrong.push(`console: ${message.text()}`);
  });
  page.on('pageerror', error => wrong.push(`script: ${error.stack}`));
  page.on('request', request => {
    if (request.url().split('#')[0] !== own)
      wrong.push(`request: ${request.url()}`);
  });
  return wrong;
}

export async function checkWidth(page, name) {
  const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= window, `${name}: the page is ${wide} wide in a window of ${window}`);
}

// Words of one picture must not lie on each other, and must lie within it. Texts that are empty are none.
export async function checkLabels(page, selector, name) {
  const wrong = await page.evaluate(chosen => {
    const found = [];
    for (const svg of document.querySelectorAll(chosen)) {
      const frame = svg.getBoundingClientRect();
      const boxes = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim()).map(t => {
        const b = t.getBoundingClientRect(), turned = /rotate/.test(t.getAttribute('transform') || '');
        return { words: t.textContent, left: b.left, right: b.right, top: b.top, bottom: b.bottom, turned };
      });
      const title = svg.closest('[id]')?.id || '';
      for (const [i, a] of boxes.entries()) {
        if (a.left < frame.left - 2 || a.right > frame.right + 2 || a.top < frame.top - 2 || a.bottom > frame.bottom + 2)
          found.push(`${title}: '${a.words}' lies outside its picture`);
        for (const b of boxes.slice(i + 1)) { // a quarter of a line may touch: boxes are higher than letters
          const slack = (a.bottom - a.top) / 4;
          if (!a.turned && !b.turned && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
              Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > slack)
            found.push(`${title}: '${a.words}' lies on '${b.words}'`);
        }
      }
    }
    return found;
  }, selector);
  assert.deepEqual(wrong, [], `${name}: labels can be read`);
}

export async function picture(page, pictures, name, whole) {
  await page.waitForTimeout(300);
  await page.screenshot({ path: path.join(pictures, `${name}.png`), fullPage: whole });
}
