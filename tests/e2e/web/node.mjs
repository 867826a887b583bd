// SPDX-License-Identifier: Apache-2.0
// Runs a small net of the package in node: node node.mjs FOLDER NET. Prints the scores of input.json as JSON.

import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';

const [folder, net] = process.argv.slice(2);
const { Model, Session } = await import(pathToFileURL(`${folder}/samara.js`));
const module = async (name) => WebAssembly.compile(await readFile(`${folder}/samara.${name}.wasm`));
const wasm = { simd: await module('simd'), relaxed: await module('relaxed').catch(({ message }) => message) };
const model = await Model.load(await readFile(`${folder}/${net}.samara`), { wasm, threads: 2 });
const data = Float32Array.from(JSON.parse(await readFile(`${folder}/input.json`)));
const { score } = await new Session(model).run({ image: { data, shape: [2, 1, 8, 8] } });
console.log(JSON.stringify({ score: [...score.data], info: model.info, relaxed: wasm.relaxed instanceof WebAssembly.Module, imports: WebAssembly.Module.imports(wasm.simd) }));
