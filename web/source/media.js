// SPDX-License-Identifier: Apache-2.0
// What a page shows or plays, as plain numbers.

import { ShapeError } from './errors.js';

/*! part images */
// The pixels of anything that makes a bitmap, in RGBA.
export async function pixelsOf(source) {
  if (source.data) return source;
  await source.decode?.().catch(() => {});  // what cannot be decoded makes no bitmap
  const bitmap = await createImageBitmap(source).catch(({ message }) => {
    throw new ShapeError(`the picture has no pixels: ${message}`, 'wait until it is loaded');
  });
  const { width, height } = bitmap, context = new OffscreenCanvas(width, height).getContext('2d');
  context.drawImage(bitmap, 0, 0);
  return context.getImageData(0, 0, width, height);
}
/*! end */

/*! part audio */
// Samples of one channel, the mean of all, and their rate.
export function samplesOf(source) {
  if (!source.getChannelData) return [source.samples, source.rate ?? 0];
  const count = source.numberOfChannels, mean = new Float32Array(source.length);
  for (let channel = 0; channel < count; channel++) {
    source.getChannelData(channel).forEach((sample, i) => { mean[i] += sample; });
  }
  return [mean.map((sample) => sample / count), source.sampleRate];
}
/*! end */
