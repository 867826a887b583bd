// SPDX-License-Identifier: Apache-2.0
// Find faces in a picture that is dropped or chosen, and draw their boxes.

import { expect, fail, onFile, say, withModel } from './live.js';

const paper = document.getElementById('paper'), context = paper.getContext('2d');
let session;

async function find(file) {
  if (!session || !file) return;
  const bitmap = await createImageBitmap(file);
  Object.assign(paper, { width: bitmap.width, height: bitmap.height });
  context.drawImage(bitmap, 0, 0);
  const start = performance.now(), { boxes } = expect('boxes', await session.predict(bitmap));
  Object.assign(context, { strokeStyle: 'red', lineWidth: Math.max(2, bitmap.width / 200) });
  for (const { box: [x0, y0, x1, y1] } of boxes) context.strokeRect(x0, y0, x1 - x0, y1 - y0);
  say([`${boxes.length} found in ${(performance.now() - start).toFixed(0)} ms`,
    ...boxes.map(({ label, score, box }) => `${label} ${score.toFixed(3)} at ${box.map(Math.round)}`)].join('\n'));
}

onFile('picture', find);
document.ondragover = (event) => event.preventDefault();
document.ondrop = (event) => {
  event.preventDefault();
  find(event.dataTransfer.files[0]).catch(fail);
};
await withModel('faces.samara', (opened) => { session = opened; });
