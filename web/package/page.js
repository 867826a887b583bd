// SPDX-License-Identifier: Apache-2.0
// Loads the model of this folder, runs it on zeros, and on a picture where the model takes one.

import { Model, Session } from './samara.js';

const said = document.getElementById('said'), picker = document.getElementById('picture');
const lines = [];
function say(line) {
  lines.push(line);
  said.textContent = lines.join('\n');
}

try {
  const { samara } = await (await fetch('./package.json')).json();
  const model = await Model.load(`./${samara.models[0]}`);
  const session = new Session(model);
  say(`${samara.models[0]}: ${model.info.variant}, threads: ${model.info.threads}`);
  if (model.info.reason) say(`one thread: ${model.info.reason}`);
  for (const input of session.inputs) say(`input ${input.name}: ${input.dtype} [${input.shape}]`);
  for (const output of session.outputs) say(`output ${output.name}: ${output.dtype} [${output.shape}]`);
  if (session.inputs.every((input) => input.shape.every((dim) => dim >= 0))) {
    await session.run();
    const start = performance.now();
    for (let i = 0; i < 10; i++) await session.run();
    say(`a run takes ${((performance.now() - start) / 10).toFixed(2)} ms`);
  }
  picker.hidden = !session.inputs.some((input) => input.image);
  picker.onchange = async () => {
    const answer = await session.predict(picker.files[0]);
    say(JSON.stringify(answer, undefined, 1));
  };
} catch (error) {
  say(`${error.name}: ${error.message}`);
}
