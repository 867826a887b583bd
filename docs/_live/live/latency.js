// SPDX-License-Identifier: Apache-2.0
// Time runs on zeros: the median of as many as fit into two seconds.

import { Model, Session } from './samara/samara.js';
import { fail, onFile, say } from './live.js';

const MODELS = ['digits.samara', 'keywords.samara', 'faces.samara'];
let lines = [];

async function measure(name, source, threads) {
  const model = await Model.load(source, { threads }), session = new Session(model);
  try {
    const feeds = Object.fromEntries(session.inputs.filter(({ shape }) => shape.some((dim) => !(dim >= 0))).map((input) => {
      const shape = input.shape.map((dim) => dim >= 0 ? dim : 1);
      return [input.name, { data: Array(shape.reduce((a, b) => a * b, 1)).fill(0), shape }];
    }));
    await session.run(feeds);
    const times = [], end = performance.now() + 2000;
    while (performance.now() < end || times.length < 3) {
      const start = performance.now();
      await session.run(feeds);
      times.push(performance.now() - start);
    }
    const median = times.sort((a, b) => a - b)[times.length >> 1];
    lines.push(`${name}: ${median.toFixed(3)} ms, threads: ${model.info.threads}`);
  } finally {
    model.dispose();
  }
  say(lines.join('\n'));
}

async function all(name, source) {
  await measure(name, source, 1);
  if (globalThis.crossOriginIsolated) await measure(name, source);
}

async function again() {
  lines = [];
  for (const name of MODELS) {
    await all(name, new URL(`./samara/${name}`, import.meta.url)).catch((error) => {
      if (error.name !== 'FileError') throw error;
    });
  }
  if (!globalThis.crossOriginIsolated) say([...lines, 'one thread: the page is not cross-origin isolated'].join('\n'));
}

document.getElementById('again').onclick = () => again().catch(fail);
onFile('model', async (file) => all(file.name, await file.arrayBuffer()));
await again().catch(fail);
