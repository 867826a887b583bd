// SPDX-License-Identifier: Apache-2.0
// Classifies a picture in a worker, so that the page never blocks.

import { Model, Session } from 'digits';

const picker = document.getElementById('picture'), said = document.getElementById('said');

const model = await Model.load(new URL('digits/digits.samara', import.meta.url), { worker: true });
const session = new Session(model);
picker.disabled = false;
picker.onchange = async () => {
  try {
    const { classes } = await session.predict(picker.files[0]);
    said.textContent = classes.map(({ label, score }) => `${label}: ${(100 * score).toFixed(1)} %`).join('\n');
  } catch (error) {
    said.textContent = `${error.name}: ${error.message}`;
  }
};
