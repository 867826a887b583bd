// SPDX-License-Identifier: Apache-2.0
// What the pages share: a session of a model of this folder, or of a file that the visitor chooses.

import { Model, Session } from './samara/samara.js';

const said = document.getElementById('said');
export const say = (text) => { said.textContent = text; };
export const fail = (error) => say(`${error.name}: ${error.message}`);

// Call ready(session, model, name) with the model, and again for every file that is chosen.
export async function withModel(name, ready) {
  const open = async (title, source) => {
    try {
      const model = await Model.load(source);
      await ready(new Session(model), model, title);
    } catch (error) {
      if (error.name === 'FileError') say(`${name} is not part of this site: choose a file of your own`);
      else fail(error);
    }
  };
  const chooser = document.getElementById('model');
  chooser.onchange = async () => open(chooser.files[0].name, await chooser.files[0].arrayBuffer());
  await open(name, new URL(`./samara/${name}`, import.meta.url));
}
