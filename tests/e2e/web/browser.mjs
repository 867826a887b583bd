// SPDX-License-Identifier: Apache-2.0
// Follows a plan in a browser: node browser.mjs BROWSER PROGRAM FOLDER PLAN [ARGUMENT]. Prints the answers as JSON.

import { launch } from './launch.mjs';
import * as plans from './plans.mjs';
import { serve } from './serve.mjs';

const SECONDS = Number(process.env.PLAN_SECONDS ?? 240);
const [name, program, folder, plan, argument] = process.argv.slice(2);
const server = await serve(folder);
const base = `http://127.0.0.1:${server.address().port}`;
const { context, close } = await launch(name, program);
const found = {};

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

// A page that never answers is a failure, which says how far the plan came.
const patience = new Promise((_, reject) => {
  const late = () => reject(new Error(`no answer after ${SECONDS} s; there are: ${Object.keys(found).join(', ')}`));
  setTimeout(late, SECONDS * 1000).unref();
});
try {
  await Promise.race([plans[plan]({ found, open, cases, context, argument }), patience]);
} finally {
  await close();
  server.close();
}
console.log(JSON.stringify(found));
