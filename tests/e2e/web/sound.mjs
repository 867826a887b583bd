// SPDX-License-Identifier: Apache-2.0
// Sound, labels and state in node: node sound.mjs FOLDER. Prints what the models of the folder give as JSON.

import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';

const folder = process.argv[2];
const { Model, Session } = await import(pathToFileURL(`${folder}/samara.js`));
const wasm = { simd: await WebAssembly.compile(await readFile(`${folder}/samara.simd.wasm`)) };
const open = async (name) => Model.load(await readFile(`${folder}/${name}.samara`), { wasm, threads: 1 });
const samples = Float32Array.from(JSON.parse(await readFile(`${folder}/samples.json`)));

const words = await open('words'), listener = new Session(words);
const whole = await listener.listen({ samples }, { end: true });
const portions = [];
for (let at = 0; at < samples.length; at += 700) {
  portions.push(...await listener.listen({ samples: samples.subarray(at, at + 700) }));
}
portions.push(...await listener.listen({ samples: samples.subarray(0, 0) }, { end: true }));
const refused = await listener.listen({ samples: new Int16Array(9) }).catch((error) => `${error.name}: ${error.message}`);

const counter = new Session(await open('counter')), sums = [];
const [input] = counter.inputs, [output] = counter.outputs;
const add = async (x) => sums.push((await counter.run({ [input.name]: x }))[output.name].data[1]);
for (let i = 0; i < 3; i++) await add([1, 2]);
await counter.reset();
await add(new Float32Array([1, 2]));

const steps = new Session(await open('steps'));
const range = await steps.run({ a: 0.5, b: 1e-7, c: 0 }).catch((error) => error.message);
console.log(JSON.stringify({ whole, portions, refused, sums, range, metadata: words.metadata }));
