// SPDX-License-Identifier: Apache-2.0
// Runs cases.js in Chromium: node chromium.mjs FOLDER CHROMIUM. Prints the answers as JSON.

import { chromium } from 'playwright-core';
import { serve } from './serve.mjs';

const [folder, executablePath] = process.argv.slice(2);
const server = await serve(folder);
const base = `http://127.0.0.1:${server.address().port}`;
const browser = await chromium.launch({
  executablePath,
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const found = {};
try {
  for (const [place, path] of [['isolated', '/cases.html'], ['plain', '/plain/cases.html']]) {
    const page = await browser.newPage();
    page.on('pageerror', (error) => { found.error = `${error}`; });
    await page.goto(base + path);
    await page.waitForFunction(() => globalThis.cases);
    for (const options of [{ threads: 1 }, { threads: 2 }, { threads: 2, worker: true }]) {
      found[`${place} ${JSON.stringify(options)}`] = await page.evaluate((given) => cases.answers(given), options);
    }
    if (place === 'isolated') {
      found.cycles = await page.evaluate(() => cases.cycles(100, { threads: 1 }));
      found.offline = await page.evaluate(() => cases.offline());
    }
    await page.close();
  }
  const page = await browser.newPage();
  await page.goto(`${base}/index.html`);
  await page.locator('#said', { hasText: /output|rror/ }).waitFor();
  found.page = await page.locator('#said').textContent();
} finally {
  await browser.close();
  server.close();
}
console.log(JSON.stringify(found));
