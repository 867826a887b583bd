// SPDX-License-Identifier: Apache-2.0
// Classifies a picture: loads the model, makes a session, asks it.

import { Model, Session } from '../digits/samara.js';

const picker = document.getElementById('picture'), said = document.getElementById('said');

const session = new Session(await Model.load(new URL('../digits/digits.samara', import.meta.url)));
picker.disabled = false;
picker.onchange = async () => {
  try {
    const { classes } = await session.predict(picker.files[0]);
    said.textContent = classes.map(({ label, score }) => `${label}: ${(100 * score).toFixed(1)} %`).join('\n');
  } catch (error) {
    said.textContent = `${error.name}: ${error.message}`;
  }
};
