// SPDX-License-Identifier: Apache-2.0
// What the page of a browser does with the package beside it: `run(options)` gives answers as plain data.

import * as samara from './samara.js';

const { Model, Session } = samara;

async function answers(options) {
  const seen = [];
  const model = await Model.load('model.samara', { ...options, onprogress: ({ loaded, total }) => seen.push(loaded / total) });
  const session = new Session(model);
  const inputs = await (await fetch('input.json')).json();
  const { score } = await session.run({ image: { data: Float32Array.from(inputs), shape: [2, 1, 8, 8] } });
  const pixels = Uint8ClampedArray.from({ length: 4 * 20 * 16 }, (_, i) => (i * 37) % 256);
  const picture = await session.predict(new ImageData(pixels, 20, 16));
  const failures = {};
  const attempts = {
    name: () => session.run({ nothing: 1 }),
    dtype: () => session.run({ image: new Int8Array(64) }),
    shape: () => session.run({ image: { data: new Float32Array(64), shape: [1, 1, 4, 16] } }),
    elements: () => session.run({ image: new Float32Array(100) }),  // no whole number of images
    damaged: async () => {
      const bytes = new Uint8Array(await (await fetch('model.samara')).arrayBuffer());
      bytes[bytes.length >> 1] ^= 1;
      return Model.load(bytes, options);
    },
    absent: () => Model.load('nothing.samara', options),
  };
  for (const [name, attempt] of Object.entries(attempts)) {
    failures[name] = await attempt().then(() => 'none', (error) => `${error.name}: ${error.message}`);
  }
  const pending = session.run({ image: new Float32Array(64) }).then(() => 'none', (error) => error.message);
  session.dispose();
  model.dispose();
  failures.pending = await pending;  // in a worker it must not wait for ever
  failures.disposed = await new Promise((resolve) => {
    try { new Session(model).run().then(() => resolve('none'), (e) => resolve(e.message)); } catch (e) { resolve(e.message); }
  });
  return { score: [...score.data], shape: score.shape, picture, failures, progress: seen.at(-1), info: model.info };
}

// Open and close many models.
async function cycles(count, options) {
  for (let i = 0; i < count; i++) {
    const model = await Model.load('model.samara', options);
    const session = new Session(model);
    await session.run({ image: new Float32Array(64) });
    model.dispose();
  }
  return count;
}

async function offline() {
  await (await Model.load('model.samara', { threads: 1, cache: true })).dispose();
  const real = globalThis.fetch;
  globalThis.fetch = () => Promise.reject(new TypeError('offline'));
  try {
    const model = await Model.load('model.samara', { threads: 1, cache: true });
    model.dispose();
    return Object.keys(model.functions);
  } finally {
    globalThis.fetch = real;
    await caches.delete('samara');
  }
}

globalThis.cases = { answers, cycles, offline };
