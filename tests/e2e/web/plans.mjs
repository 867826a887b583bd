// SPDX-License-Identifier: Apache-2.0
// What tests do in a browser; see browser.mjs. Each fills `found`.

import { readFileSync, readdirSync } from 'node:fs';

const PLACES = [['isolated', '/cases.html'], ['plain', '/plain/cases.html']];
const WAYS = [{ threads: 1 }, { threads: 2 }, { threads: 2, worker: true }];
// Modules without relaxed SIMD, in every engine.
const PLAIN = { simd: 'samara.simd.wasm', threads: 'samara.threads.wasm' };

// The two small nets: answers, failures, pictures, no network, the policy of pages, the package's own page.
export async function small({ found, open, cases, ask, leave }) {
  for (const [place, path] of PLACES) {
    for (const name of ['float32', 'int8']) {
      for (const options of WAYS) {
        found[`${name} ${place} ${JSON.stringify(options)}`] = await ask(path, 'answers', name, options);
      }
    }
    found.relaxed = await ask(path, 'relaxed');
    if (place === 'isolated') {
      found.offline = await ask(path, 'offline');
      found.media = await ask(path, 'media');
    }
    await leave(path);
  }
  const strict = await cases('/cases.html?strings', false);
  found.strings = await strict.evaluate(() => cases.strings);
  await strict.close();
  const page = await open('/index.html');
  found.page = await page.evaluate(async () => {
    const said = document.getElementById('said');
    while (!/output|rror/.test(said.textContent)) await new Promise((done) => { setTimeout(done, 5); });
    return said.textContent;
  });
}

// Real networks: the outputs of their recorded inputs.
export async function networks({ found, ask, leave, argument }) {
  for (const [place, path] of PLACES) {
    found.relaxed = await ask(path, 'relaxed');
    const plain = [1, 2].map((threads) => ({ threads, wasm: PLAIN }));
    for (const options of place === 'isolated' ? [...WAYS, ...plain] : [{ threads: 2 }]) {
      for (const name of argument.split(',')) {
        found[`${name} ${place} ${JSON.stringify(options)}`] = await ask(path, 'network', name, options);
      }
    }
    await leave(path);
  }
}

// ---- memory ----

const MIB = 2 ** 20;
const LOADS = [{ threads: 1 }, { threads: 2 }, { threads: 1, worker: true }];
const rest = (seconds) => new Promise((done) => { setTimeout(done, seconds * 1000); });

// A tab opened 500 times; a model is loaded and run in it, and closed in every other one, the tab in all.
export async function tabs({ found, cases }) {
  found.resident = [];
  for (let i = 1; i <= 500; i++) {
    const page = await cases('/cases.html');
    await page.evaluate(([keep, options]) => cases.cycles('heavy', 1, { keep, ...options }), [i % 2, LOADS[i % 3]]);
    await page.close();
    if (i % 25 === 0) {
      await rest(1);  // processes of closed tabs end
      found.resident.push([i, resident() / MIB]);
    }
  }
}
tabs.seconds = 3000;

// Models loaded, run and closed in one page, `argument` of them.
export async function models({ found, cases, context, argument }) {
  const page = await cases('/cases.html');
  const tools = await context.newCDPSession?.(page);
  found.resident = [];
  const step = Number(argument) / 10;
  for (let i = 1; i <= 10; i++) {
    await page.evaluate(([count, options]) => cases.cycles('heavy', count, options), [step, LOADS[i % 3]]);
    await tools?.send('HeapProfiler.collectGarbage');
    found.resident.push([i * step, resident() / MIB]);
  }
  if (!tools) return;
  found.memories = await memories(tools);
  found.heap = await tools.send('Runtime.getHeapUsage');
  // The same numbers where models stay open.
  await page.evaluate(() => cases.cycles('heavy', 20, { threads: 1, keep: 20 }));
  found.kept = await memories(tools);
  found.resident.push(['kept', resident() / MIB]);
}

// How many objects WebAssembly.Memory the page still holds, after a garbage collection.
async function memories(tools) {
  const { result } = await tools.send('Runtime.evaluate', { expression: 'WebAssembly.Memory.prototype' });
  const { objects } = await tools.send('Runtime.queryObjects', { prototypeObjectId: result.objectId });
  const count = await tools.send('Runtime.callFunctionOn',
    { objectId: objects.objectId, functionDeclaration: 'function () { return this.length; }', returnByValue: true });
  await tools.send('Runtime.releaseObject', { objectId: objects.objectId });
  return count.result.value;
}

// Resident bytes of all processes of the browser: those that this one started, and theirs.
function resident() {
  const parents = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ')[0]));
    } catch { /* it has ended */ }
  }
  const isOwn = (id) => parents.has(id) && (parents.get(id) === process.pid || isOwn(parents.get(id)));
  let pages = 0;
  for (const id of parents.keys()) {
    try {
      if (isOwn(id)) pages += Number(readFileSync(`/proc/${id}/statm`, 'latin1').split(' ')[1]);
    } catch { /* the same */ }
  }
  return pages * 4096;
}

// The live pages of the site: a drawn 1, a recording (argument), and times.
export async function live({ found, open, argument }) {
  const until = (page, pattern) => page.evaluate(async (wanted) => {
    const said = document.getElementById('said');
    while (!new RegExp(wanted).test(said.textContent)) await new Promise((done) => { setTimeout(done, 20); });
    return said.textContent;
  }, pattern);
  const digits = await open('/digits.html');
  found.ready = await until(digits, 'ready');
  const { x, y } = await (await digits.$('#paper')).boundingBox();
  await digits.mouse.move(x + 160, y + 60);
  await digits.mouse.down();
  await digits.mouse.move(x + 160, y + 260, { steps: 20 });
  await digits.mouse.up();
  found.digit = await until(digits, '%');
  const keywords = await open('/keywords.html');
  await until(keywords, 'ready');
  await (await keywords.$('#sound')).setInputFiles(argument);
  found.words = await until(keywords, 'no [01]|no word|rror');
  const faces = await open('/faces.html');
  found.faces = await until(faces, 'ready|choose a file');
  const latency = await open('/latency.html');
  found.latency = await until(latency, 'keywords.samara: .*threads: [2-9]|rror');
}

// Perfetto's interface, which opens the traces of `argument`, a list of paths as JSON. For each: the slices of every
// process and thread by what Perfetto's own tables say, and what it found wrong.
export async function traces({ found, base, open, argument }) {
  for (const path of JSON.parse(argument)) {
    const page = await open(`/plain/index.html#!/?url=${base}${path}`, false);
    found[path] = await page.evaluate(async () => {
      const rows = async (text, columns) => {
        const found = [];
        const row = (await globalThis.app.trace.engine.query(text)).iter(columns);
        for (; row.valid(); row.next()) found.push(Object.keys(columns).map((name) => row[name]));
        return found;
      };
      while (!globalThis.app?.trace) await new Promise((done) => { setTimeout(done, 50); });
      const slices = await rows(
        "select ifnull(process.name, '') as process, ifnull(thread.name, '') as thread, count(1) as slices from slice "
        + 'join thread_track on track_id = thread_track.id join thread using (utid) join process using (upid) group by 1, 2',
        { process: 'str', thread: 'str', slices: 0 },
      );
      return { slices, wrong: await rows("select name from stats where value > 0 and severity in ('error', 'data_loss')", { name: 'str' }) };
    });
    await page.close();
  }
}
traces.policy = ''; // pages of others

// ---- the examples ----

// Pages that classify pictures: `argument` is {pages, pictures} as JSON. Gives what each says of each picture.
export async function pictures({ found, open, argument }) {
  const { pages, pictures: files } = JSON.parse(argument);
  for (const path of pages) {
    found[path] = [];
    for (const file of files) {
      const page = await open(path);
      await page.evaluate(async () => {
        while (!document.querySelector('#picture:enabled')) await new Promise((done) => { setTimeout(done, 5); });
      });
      const picker = await page.$('#picture');
      await (picker.setInputFiles ?? picker.uploadFile).call(picker, file);
      found[path].push(await page.evaluate(async () => {
        const said = document.getElementById('said');
        while (!said.textContent) await new Promise((done) => { setTimeout(done, 5); });
        return said.textContent;
      }));
      await page.close();
    }
  }
}
