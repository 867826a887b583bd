// SPDX-License-Identifier: Apache-2.0
// Runs a model in the page: the first of this folder, or a file that is chosen. On zeros, and on a picture where the
// model takes one.

import { Model, Session } from './samara.js';

const said = document.getElementById('said'), chooser = document.getElementById('model'), picker = document.getElementById('picture');
let lines = [], model;
function say(line) {
  lines.push(line);
  said.textContent = lines.join('\n');
}

function fail(error) {
  say(`${error.name}: ${error.message}`);
}

async function show(name, source) {
  model?.dispose();
  lines = [];
  try {
    model = await Model.load(source);
    const session = new Session(model);
    say(`${name}: ${model.info.variant}, threads: ${model.info.threads}`);
    if (model.info.reason) say(`one thread: ${model.info.reason}`);
    for (const input of session.inputs) say(`input ${input.name}: ${input.dtype} [${input.shape}]`);
    for (const output of session.outputs) say(`output ${output.name}: ${output.dtype} [${output.shape}]`);
    if (session.inputs.every((input) => input.shape.every((dim) => dim >= 0))) {
      await session.run();
      const start = performance.now();
      for (let i = 0; i < 10; i++) await session.run();
      say(`a run takes ${((performance.now() - start) / 10).toFixed(2)} ms`);
    }
    picker.parentElement.hidden = !session.inputs.some((input) => input.image);
    picker.onchange = () => {
      if (picker.files.length) session.predict(picker.files[0]).then((answer) => say(JSON.stringify(answer, undefined, 1)), fail);
    };
  } catch (error) {
    fail(error);
  }
}

chooser.onchange = async () => {
  const [file] = chooser.files;
  if (file) await show(file.name, await file.arrayBuffer());
};
const [first] = (await (await fetch('./package.json')).json()).samara.models;
if (first) await show(first, `./${first}`);
else say('choose a file');
