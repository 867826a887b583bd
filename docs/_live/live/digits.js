// SPDX-License-Identifier: Apache-2.0
// Draw a digit: after every stroke the model classifies what lies around the ink.

import { expect, fail, say, withModel } from './live.js';

const paper = document.getElementById('paper'), context = paper.getContext('2d', { willReadFrequently: true });
const INK = 30;  // width of a stroke, about a tenth of the paper
let last, session;

function clear() {
  context.fillStyle = 'black';
  context.fillRect(0, 0, paper.width, paper.height);
}

// The ink in a square, as the training data has it: without margins, not stretched.
function square() {
  const { data, width, height } = context.getImageData(0, 0, paper.width, paper.height);
  let [x0, y0, x1, y1] = [width, height, -1, -1];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (data[4 * (y * width + x)] < 64) continue;
      [x0, y0, x1, y1] = [Math.min(x0, x), Math.min(y0, y), Math.max(x1, x), Math.max(y1, y)];
    }
  }
  if (x1 < 0) return undefined;
  const side = Math.max(x1 - x0, y1 - y0) + 1, canvas = new OffscreenCanvas(side, side), to = canvas.getContext('2d');
  to.fillRect(0, 0, side, side);
  to.drawImage(paper, x0, y0, x1 - x0 + 1, y1 - y0 + 1, (side - x1 + x0 - 1) / 2, (side - y1 + y0 - 1) / 2, x1 - x0 + 1, y1 - y0 + 1);
  return canvas;
}

async function read() {
  const ink = square();
  if (!ink || !session) return;
  const { classes } = expect('classes', await session.predict(ink));
  say(classes.slice(0, 3).map(({ label, score }) => `${label}  ${(100 * score).toFixed(1)} %`).join('\n'));
}

const place = (event) => [event.offsetX * paper.width / paper.clientWidth, event.offsetY * paper.height / paper.clientHeight];
paper.onpointerdown = (event) => { last = place(event); };
paper.onpointermove = (event) => {
  if (!last) return;
  context.beginPath();
  context.moveTo(...last);
  context.lineTo(...(last = place(event)));
  Object.assign(context, { lineWidth: INK, lineCap: 'round', strokeStyle: 'white' });
  context.stroke();
};
globalThis.onpointerup = () => {
  last = undefined;
  read().catch(fail);
};
document.getElementById('clear').onclick = clear;
clear();
await withModel('digits.samara', (opened) => { session = opened; });
