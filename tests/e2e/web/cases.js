// SPDX-License-Identifier: Apache-2.0
// What a page does with the package beside it, for plans.mjs: functions that give answers as plain data.

import * as samara from './samara.js';

const { Model, Session } = samara;
const failure = (error) => `${error.name}: ${error.message}`;

async function answers(name, options) {
  const seen = [];
  const model = await Model.load(`${name}.samara`, { ...options, onprogress: ({ loaded, total }) => seen.push(loaded / total) });
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
      const bytes = new Uint8Array(await (await fetch(`${name}.samara`)).arrayBuffer());
      bytes[bytes.length >> 1] ^= 1;
      return Model.load(bytes, options);
    },
    absent: () => Model.load('nothing.samara', options),
  };
  for (const [what, attempt] of Object.entries(attempts)) {
    failures[what] = await attempt().then(() => 'none', failure);
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

// Whether the engine has relaxed SIMD: a function of i8x16.relaxed_swizzle.
const relaxed = () => WebAssembly.validate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0,
  10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11]));

// ---- real networks ----

const ARRAYS = { float32: Float32Array, float16: Uint16Array, int64: BigInt64Array, int32: Int32Array, bool: Uint8Array, uint8: Uint8Array };
const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
function textOf(bytes) {
  let text = '';
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(text);
}

async function network(name, options) {
  const [model, runs] = await Promise.all([
    Model.load(`${name}.samara`, options), fetch(`${name}.json`).then((response) => response.json()),
  ]);
  const session = new Session(model), outputs = [];
  for (const run of runs) {
    const feeds = Object.entries(run).map(([input, { dtype, shape, data }]) =>
      [input, { data: new ARRAYS[dtype](bytesOf(data).buffer), shape }]);
    const got = Object.entries(await session.run(Object.fromEntries(feeds)));
    outputs.push(Object.fromEntries(got.map(([output, { dtype, shape, data }]) =>
      [output, { dtype, shape, data: textOf(new Uint8Array(data.buffer)) }])));
  }
  model.dispose();
  return { variant: model.info.variant, outputs };
}

// ---- pictures and sound of the browser ----

async function pictures(session) {
  const image = new Image();
  image.src = 'picture.png';
  await image.decode();
  const { naturalWidth: width, naturalHeight: height } = image;
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const data = context.getImageData(0, 0, width, height);
  const frame = new VideoFrame(data.data, { format: 'RGBA', codedWidth: width, codedHeight: height, timestamp: 0 });
  const blob = await (await fetch('picture.png')).blob();
  const fresh = new Image();  // predict waits until it is decoded
  fresh.src = 'picture.png?fresh';
  const offscreen = new OffscreenCanvas(width, height);
  offscreen.getContext('2d').drawImage(image, 0, 0);
  const sources = {
    image, fresh, canvas, offscreen, data, frame, bitmap: await createImageBitmap(blob),
    drawn: new VideoFrame(canvas, { timestamp: 0 }),
  };
  const given = {};
  for (const [name, source] of Object.entries(sources)) given[name] = await session.predict(source);
  given.turned = await session.predict(image, { rotation: 90, mirror: true });
  frame.close();
  sources.drawn.close();
  given.closed = await session.predict(frame).catch(failure);
  given.empty = await session.predict(new Image()).catch(failure);
  return given;
}

async function sounds(session) {
  const samples = Float32Array.from(await (await fetch('samples.json')).json());
  const given = {};
  for (const [name, rate, channels] of [['mono', 16000, 1], ['stereo', 44100, 2]]) {
    const buffer = new AudioBuffer({ length: samples.length, sampleRate: rate, numberOfChannels: channels });
    buffer.copyToChannel(samples, 0);
    if (channels === 2) buffer.copyToChannel(samples.slice().reverse(), 1);
    given[name] = await session.predict(buffer);
  }
  return given;
}

async function media() {
  const found = {};
  for (const worker of [false, true]) {
    for (const name of ['float32', 'int8', 'words']) {
      const model = await Model.load(`${name}.samara`, { threads: 1, worker });
      const session = new Session(model);
      found[`${name}${worker ? ' worker' : ''}`] = await (name === 'words' ? sounds : pictures)(session);
      model.dispose();
    }
  }
  return found;
}

// ---- without a network, without strings as code ----

async function offline() {
  await (await Model.load('float32.samara', { threads: 1, cache: true })).dispose();
  const real = globalThis.fetch;
  globalThis.fetch = () => Promise.reject(new TypeError('offline'));
  try {
    const model = await Model.load('float32.samara', { threads: 1, cache: true });
    model.dispose();
    return Object.keys(model.functions);
  } finally {
    globalThis.fetch = real;
    await caches.delete('samara');
  }
}

// Whether the page's policy is in force: tried here, because what a driver evaluates is exempt.
let strings;
if (location.search === '?strings') {
  try { strings = new Function('return "evaluated"')(); } catch (error) { strings = error.name; }
}

// ---- memory ----

const kept = [];
// Load, run and close a model `count` times; keep: how many of them stay open.
async function cycles(name, count, { keep = 0, ...options }) {
  for (let i = 0; i < count; i++) {
    const model = await Model.load(`${name}.samara`, options);
    await new Session(model).run();
    if (i < keep) kept.push(model); else model.dispose();
  }
}

globalThis.cases = { answers, relaxed, network, media, offline, strings, cycles };
