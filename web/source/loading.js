// SPDX-License-Identifier: Apache-2.0
// Fetch, compile and open: what the page does, or a worker in its place.

import { openEngine } from './engine.js';
import { FileError, UnsupportedError } from './errors.js';
import { Bytes, bytesOf } from './tensors.js';

const { Memory, Module, compile: compileModule, validate } = globalThis.WebAssembly ?? {};
const PAGE_BYTES = 65536, FIRST_PAGES = 16;  // of the shared memory: samara build links the module so

// Why there cannot be threads; undefined where there can.
export const noWorkers = typeof Worker === 'undefined' && 'there are no workers';
const threadsReason = () => noWorkers || (self.crossOriginIsolated ? undefined
  : 'the page is not cross-origin isolated (COOP, COEP)');

const unfetched = (url, why) => new FileError(`${url} cannot be fetched: ${why}`, 'check the network');
const fetched = async (url, signal) => {
  const response = await fetch(url, { signal }).catch((error) => {
    throw error.name === 'AbortError' ? error : unfetched(url, error.message);
  });
  if (response.ok) return response;
  throw unfetched(url, response.status);
};

const compiled = {};
const compile = (given) => {
  if (given instanceof Module) return given;
  return compiled[given] ??= fetched(given)
    .then((response) => response.arrayBuffer())
    .then(compileModule)
    .catch((error) => {
      delete compiled[given];
      throw error.name === 'CompileError'
        ? new UnsupportedError(`${error.message}: no WebAssembly SIMD?`, 'update the browser') : error;
    });
};

// Read a response into the memory of the engine as it comes.
const receive = async (engine, response, { onprogress, signal }) => {
  const { headers, body } = response;
  const total = headers.get('content-encoding') || !body ? 0 : +headers.get('content-length');
  if (!total) {
    const bytes = new Bytes(await response.arrayBuffer());
    engine.take(bytes);
    return onprogress?.({ loaded: bytes.length, total: bytes.length });
  }
  engine.reserve(total);
  const reader = body.getReader();
  let loaded = 0;
  for (let part; !(part = await reader.read()).done;) {
    signal?.throwIfAborted();
    loaded += part.value.length;
    if (loaded > total) break;
    engine.put(part.value, loaded - part.value.length);
    onprogress?.({ loaded, total });
  }
  if (loaded !== total) throw new FileError(`the download has ${loaded} of ${total} bytes`, 'load it again');
};

const threadOf = (newWorker, message) => new Promise((resolve, reject) => {
  const worker = newWorker();
  worker.onmessage = () => resolve(worker);
  worker.onerror = (event) => reject(new UnsupportedError(`no worker starts: ${event.message ?? 'refused'}`,
    'serve samara-worker.js beside it'));
  worker.postMessage(message);
});

const start = async ({ threads, wasm: given = {}, maxMemory = 1 << 30 }, newWorker, canWait) => {
  const asked = threads ?? Math.min(4, globalThis.navigator?.hardwareConcurrency ?? 1);
  const reason = asked > 1 ? threadsReason() : threads ? 'threads is 1' : 'there is one core';
  const info = { variant: reason ? 'simd' : 'threads', threads: reason ? 1 : asked, reason };
  let url = () => reason ? new URL('./samara.simd.wasm', import.meta.url) : new URL('./samara.threads.wasm', import.meta.url);
  /*! part relaxed */
  // The module with relaxed SIMD, unless the caller gave another, or the engine refuses a function
  // of i32x4.relaxed_trunc.
  const twin = reason ? 'relaxed' : 'relaxed_threads';
  if (!given[info.variant] || given[twin]) {
    if (validate(Bytes.of(
      0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 9, 1, 7, 0, 0, 253, 129, 2, 0, 11))) {
      info.variant = twin;
      url = () => reason ? new URL('./samara.relaxed.wasm', import.meta.url) : new URL('./samara.relaxed_threads.wasm', import.meta.url);
    } else info.reason = (reason ? reason + '; ' : '') + 'no relaxed SIMD';
  }
  /*! end */
  const wasm = await compile(given[info.variant] ?? url());
  let memory, workers;
  if (!reason) {
    memory = new Memory({ initial: FIRST_PAGES, maximum: Math.ceil(maxMemory / PAGE_BYTES), shared: true });
    workers = await Promise.all(Array.from({ length: asked - 1 }, () => threadOf(newWorker, { wasm, memory })));
  }
  return [await openEngine({ wasm, memory, workers, canWait }), info];
};

// Open a model in this thread; returns its engine and description. newWorker: starts
// samara-worker.js.
export const openHere = async (source, options, newWorker, canWait) => {
  const [engine, info] = await start(options, newWorker, canWait);
  const bytes = bytesOf(source), isCached = options.cache && !bytes && globalThis.caches;
  const store = isCached ? await caches.open(options.cache === true ? 'samara' : options.cache) : undefined;
  let putting;
  try {
    if (bytes) {
      engine.take(bytes);
    } else {
      let response = source instanceof Response ? source : await store?.match(source);
      if (!response) {
        response = await fetched(source, options.signal);
        // The copy is written while the response is read. A full cache is no reason to fail.
        putting = store?.put(source, response.clone()).catch(() => {});
      }
      await receive(engine, response, options);
    }
    const description = engine.load();
    await putting;
    return [engine, { ...description, info }];
  } catch (error) {
    engine.dispose();
    // A damaged or incomplete entry must not stay.
    await putting;
    await store?.delete(source);
    throw error;
  }
};
