// SPDX-License-Identifier: Apache-2.0
// A worker: a thread of a pool, or a whole model beside the page.

import { imports } from './samara-core.js';
import { openHere } from './samara.js';

let thread, core;
const stop = new AbortController();

self.onmessage = async ({ data }) => {
  if (data.wasm) {
    const instance = await WebAssembly.instantiate(data.wasm, imports({ memory: data.memory, workers: [] }, true));
    thread = instance.exports;
    self.postMessage('ready');
  } else if (data.thread) {
    thread.__stack_pointer.value = data.stack;
    thread.thread(data.thread);
  } else if (data.name === 'abort') {
    stop.abort();
  } else {
    await answer(data);
  }
};

async function answer({ id, name, args }) {
  try {
    let result;
    if (name === 'open') {
      const onprogress = (progress) => self.postMessage({ id, progress });
      [core, result] = await openHere(args[0], { ...args[1], onprogress, signal: stop.signal }, true);
    } else {
      result = core[name](...args);
    }
    self.postMessage({ id, result });
  } catch (error) {
    const { message, fix } = error;
    const plain = fix ? message.slice(0, -`\n  fix: ${fix}`.length) : message;
    self.postMessage({ id, error: { name: error.name, message: plain, fix } });
  }
}
