// SPDX-License-Identifier: Apache-2.0
// Follows a plan in a browser: node browser.mjs BROWSER PROGRAM FOLDER PLAN [ARGUMENT]. Prints the answers as JSON.

import { launch } from './launch.mjs';
import * as plans from './plans.mjs';
import { serve } from './serve.mjs';

const [name, program, folder, plan, argument] = process.argv.slice(2);
const server = await serve(folder, plans[plan].policy);
const base = `http://127.0.0.1:${server.address().port}`;
const { context, close } = await launch(name, program);
const found = {};
const SECONDS = plans[plan].seconds ?? 300;

// A page of the folder; what it throws and does not catch, or Firefox refuses it, ends in found.error if it is heeded.
async function open(path, heeded = true) {
  const page = await context.newPage();
  if (heeded) page.on('pageerror', (error) => { found.error = `${error}`; });
  await page.goto(base + path);
  return page;
}
// A page with the functions of cases.js.
async function cases(path, heeded = true) {
  const page = await open(path, heeded);
  await page.evaluate(async () => { while (!globalThis.cases) await new Promise((done) => { setTimeout(done, 5); }); });
  return page;
}

const late = (seconds, value) => new Promise((done) => { setTimeout(done, seconds * 1000, value).unref(); });
const pages = new Map();
// What a function of cases.js gives in the page at `path`, which stays open.
//
// Firefox 153 that WebDriver drives stops for ever in one of about a hundred `new Worker` that a worker calls. By
// itself it did not in 800 cases. So what has not come after SLOW seconds is asked once more, in a fresh page.
const SLOW = 30;
async function ask(path, what, ...args) {
  for (let attempts = name === 'firefox' ? 4 : 1; ; attempts--) {
    if (!pages.has(path)) pages.set(path, await cases(path));
    const page = pages.get(path);
    const given = page.evaluate(([called, values]) => cases[called](...values), [what, args]).then((value) => ({ value }));
    const answer = attempts > 1 ? await Promise.race([given, late(SLOW)]) : await given;
    if (answer) return answer.value;
    given.catch(() => {});
    await leave(path);
  }
}
async function leave(path) {
  await pages.get(path)?.close();
  pages.delete(path);
}

// A page that never answers is a failure, which says how far the plan came.
const patience = late(SECONDS).then(() => {
  throw new Error(`no answer after ${SECONDS} s; there are: ${Object.keys(found).join(', ')}`);
});
try {
  await Promise.race([plans[plan]({ found, base, open, cases, ask, leave, context, argument }), patience]);
} finally {
  await close();
  server.close();
}
console.log(JSON.stringify(found));
