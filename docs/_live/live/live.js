// SPDX-License-Identifier: Apache-2.0
// What the pages share: a session of a model of this folder, or of a file that the visitor chooses.

import { Model, Session } from './samara/samara.js';

const said = document.getElementById('said');
export const say = (text) => { said.textContent = text; };
export const fail = (error) => say(`${error.name}: ${error.message}`);

// Call use(file) for every file that is chosen in the element of that id.
export function onFile(id, use) {
  const chooser = document.getElementById(id);
  chooser.onchange = () => { if (chooser.files.length) use(chooser.files[0]).catch(fail); };
}

// An answer, if it is of the kind that the page shows.
export function expect(kind, answer) {
  if (answer.kind !== kind) throw new TypeError(`the model gives ${answer.kind ?? 'tensors'}, this page shows ${kind}`);
  return answer;
}

// Call ready(session) with the model of this site, and again for every file that is chosen, in its place.
export async function withModel(name, ready) {
  let model;
  const open = async (source) => {
    const fresh = await Model.load(source);
    model?.dispose();
    model = fresh;
    await ready(new Session(model));
    say(`ready: ${model.info.variant}, threads: ${model.info.threads}`);
  };
  onFile('model', async (file) => open(await file.arrayBuffer()));
  await open(new URL(`./samara/${name}`, import.meta.url)).catch((error) => {
    if (error.name === 'FileError') say(`${name} is not part of this site: choose a file of your own`);
    else fail(error);
  });
}
