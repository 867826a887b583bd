// SPDX-License-Identifier: Apache-2.0
// A model that keeps a sum, in node: node counter.mjs FOLDER. Prints its sums and what it refuses as JSON.

import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';

const folder = process.argv[2];
const { Model, Session } = await import(pathToFileURL(`${folder}/samara.js`));
const wasm = { simd: await WebAssembly.compile(await readFile(`${folder}/samara.simd.wasm`)) };
const model = await Model.load(await readFile(`${folder}/counter.samara`), { wasm, threads: 1 });
const counter = new Session(model), sums = [];
const [input] = counter.inputs, [output] = counter.outputs;
const add = async () => sums.push((await counter.run({ [input.name]: [1, 2] }))[output.name].data[1]);
const failure = (error) => `${error.name}: ${error.message}`;

for (let i = 0; i < 3; i++) await add();
await counter.reset();
await add();
// A shape that is not the model's, then its own again.
const longer = await counter.run({ [input.name]: { data: new Float32Array(3), shape: [3] } }).catch(failure);
await add();
const picture = await counter.predict({ data: new Uint8Array(4), width: 1, height: 1 }).catch(failure);
const sound = await counter.listen({ samples: new Float32Array(4) }).catch(failure);
console.log(JSON.stringify({ sums, longer, picture, sound }));
