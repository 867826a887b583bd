// SPDX-License-Identifier: Apache-2.0
// Opens and runs damaged files in node: node damage.mjs FOLDER NET FILES INDEX, where INDEX holds [start, end] of each
// in FILES. Prints of each 'ok' or the error's name and message, then what the undamaged net says, as JSON.

import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';

const [folder, net, files, index] = process.argv.slice(2);
const { Model, SamaraError, Session } = await import(pathToFileURL(`${folder}/samara.js`));
const wasm = { simd: await WebAssembly.compile(await readFile(`${folder}/samara.simd.wasm`)) };
const failure = (error) => [error instanceof SamaraError ? error.name : 'strange', `${error.stack}`];

// The feed that fits the undamaged net, under the name that the file gives its input.
const feed = net === 'counter' ? { data: new Float32Array(2), shape: [2] }
  : { data: new Float32Array(64), shape: [1, 1, 8, 8] };
async function attempt(bytes) {
  let model;
  try {
    model = await Model.load(bytes, { wasm, threads: 1 });
    const session = new Session(model, { maxArenaBytes: 64 * 2 ** 20 });
    await session.run({ [session.inputs[0]?.name]: feed });
    return ['ok', ''];
  } catch (error) {
    return failure(error);
  } finally {
    model?.dispose();
  }
}

const whole = await readFile(files), outcomes = [];
for (const [start, end] of JSON.parse(await readFile(index))) outcomes.push(await attempt(whole.subarray(start, end)));

// Feeds that do not fit; [name, feeds].
const zeros = new Float32Array(64);
const WRONG = [
  ['no such name', { nothing: zeros }], ['another rank', { image: { data: zeros, shape: [64] } }],
  ['another dim', { image: { data: zeros, shape: [1, 1, 16, 4] } }], ['another dtype', { image: new Int8Array(64) }],
  ['doubles', { image: new Float64Array(64) }], ['too few', { image: zeros.subarray(1) }], ['nothing', { image: null }],
  ['undefined', { image: undefined }], ['text', { image: 'zeros' }], ['an object', { image: {} }], ['a function', { image() {} }],
  ['a shape alone', { image: { shape: [1, 1, 8, 8] } }], ['no data', { image: { data: null, shape: [1, 1, 8, 8] } }],
  ['a number as shape', { image: { data: zeros, shape: 64 } }], ['text as shape', { image: { data: zeros, shape: '1188' } }],
  ['no shape', { image: { data: zeros, shape: null } }], ['a part of a dim', { image: { data: zeros, shape: [0.5, 2, 8, 8] } }],
  ['a dim below zero', { image: { data: zeros, shape: [-1, -1, 8, 8] } }],
  ['a large dim', { image: { data: zeros, shape: [2 ** 53, 1, 8, 8] } }], ['bytes', { image: new DataView(zeros.buffer) }],
  ['a buffer', { image: new ArrayBuffer(256) }], ['too many for the limit', { image: new Float32Array(64 * 2 ** 15) }],
  ['feeds that are none', 5], ['feeds in a list', [zeros]],
];
const intact = await readFile(`${folder}/${net}.samara`), refused = {};
const model = await Model.load(intact, { wasm, threads: 1 });
const session = new Session(model, { maxArenaBytes: 2 ** 20 });
for (const [name, feeds] of net === 'float32' ? WRONG : []) {
  refused[name] = await session.run(feeds).then(() => ['ok', ''], failure);
}
const after = await session.run({ [session.inputs[0].name]: feed }).then(() => 'ok', failure);
console.log(JSON.stringify({ outcomes, refused, after }));
