// SPDX-License-Identifier: Apache-2.0
// Chromium with a page of engines: node drive.mjs FOLDER CHROMIUM. Commands are lines of JSON on standard input:
//   {"page": true}                          a new page in a new profile
//   {"open": NAME, "config": {…}}           {ms, answer, files: {path: bytes}}
//   {"run": NAME, "samples": N, "repeats": M}   milliseconds per run of every sample
// An answer is a line {"value": …} or {"error": …}. playwright-core is looked for in FOLDER.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { createInterface } from 'node:readline';

const [folder, executablePath] = process.argv.slice(2);
const { chromium } = createRequire(join(folder, 'index.js'))('playwright-core');
const TYPES = {
  '.js': 'text/javascript', '.mjs': 'text/javascript', '.html': 'text/html', '.wasm': 'application/wasm',
};

let sent = {};
const server = createServer(async (request, response) => {
  const path = new URL(request.url, 'http://host').pathname;
  try {
    const body = await readFile(join(folder, path));
    sent[path] = body.length;
    response.writeHead(200, {
      'content-type': TYPES[extname(path)] ?? 'application/octet-stream',
      'content-length': body.length,
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
    });
    response.end(body);
  } catch {
    response.writeHead(404);
    response.end();
  }
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const browser = await chromium.launch({
  executablePath,
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});

let context, page, problem;
const commands = {
  async page() {
    await context?.close();
    context = await browser.newContext();
    page = await context.newPage();
    problem = '';
    page.on('pageerror', (error) => { problem ||= `${error}`; });
    page.on('console', (message) => { if (message.type() === 'error') problem ||= message.text(); });
    await page.goto(`http://127.0.0.1:${server.address().port}/bench.html`);
    await page.waitForFunction(() => globalThis.bench);
    return browser.version();
  },
  async open({ open, config }) {
    sent = {};
    const found = await page.evaluate(([name, given]) => bench.open(name, given), [open, config]);
    delete sent[config.input];
    return { ...found, files: sent };
  },
  run: ({ run, samples, repeats }) =>
    page.evaluate(([name, n, m]) => bench.run(name, n, m), [run, samples, repeats]),
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line), [name] = Object.keys(command);
  let answer;
  try {
    answer = { value: await commands[name](command) };
  } catch (error) {
    answer = { error: `${error.message.split('\n')[0]} ${problem}`.trim() };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
server.close();
