// SPDX-License-Identifier: Apache-2.0
// A worker: a thread of a pool, or a whole model beside the page.

import { imports } from './engine.js';
import { openHere } from './loading.js';

let thread, engine;
const stop = new AbortController();
const again = () => new Worker(globalThis.location, { type: 'module' });

// Compile, load and run for the page: a message with the result, or with the error's name and texts.
const answer = async ({ id, name, args: [first, ...rest] }) => {
  const say = (message) => self.postMessage({ id, ...message });
  try {
    let result;
    if (name === 'open') {
      const options = { ...rest[0], onprogress: (progress) => say({ progress }), signal: stop.signal };
      [engine, result] = await openHere(first, options, again, true);
    } else {
      result = engine[name](first, ...rest);
    }
    say({ result });
  } catch ({ name: kind, message, fix }) {
    say({ error: { name: kind, message: message.split('\n  fix: ')[0], fix } });
  }
};

self.onmessage = async ({ data }) => {
  if (data.wasm) {
    thread = (await WebAssembly.instantiate(data.wasm, imports(() => data.memory, true))).exports;
    self.postMessage(0);
  } else if (data.thread) {
    thread.__stack_pointer.value = data.stack;
    thread.thread(data.thread);
  } else if (data.name === 'abort') {
    stop.abort();
  } else {
    await answer(data);
  }
};
