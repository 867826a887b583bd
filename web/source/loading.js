// SPDX-License-Identifier: Apache-2.0
// Fetch, compile and open: what the page does, or a worker in its place.

import { openEngine } from './engine.js';
import { FileError, UnsupportedError } from './errors.js';
import { bytesOf } from './tensors.js';

const PAGE_BYTES = 65536, FIRST_PAGES = 16;  // of the shared memory: samara build links the module so
const WASM = {
  simd: () => new URL('./samara.simd.wasm', import.meta.url),
  threads: () => new URL('./samara.threads.wasm', import.meta.url),
};

// Why there cannot be threads; undefined where there can.
const threadsReason = () => typeof Worker === 'undefined' ? 'there are no workers here'
  : globalThis.crossOriginIsolated && typeof SharedArrayBuffer !== 'undefined' ? undefined
  : 'the page is not cross-origin isolated (Cross-Origin-Opener-Policy, Cross-Origin-Embedder-Policy)';

const unfetched = (url, why) => new FileError(`${url} cannot be fetched: ${why}`, 'check the network');
const fetched = async (url, signal) => {
  const response = await fetch(url, { signal }).catch((error) => {
    throw error.name === 'AbortError' ? error : unfetched(url, error.message);
  });
  if (response.ok) return response;
  throw unfetched(url, `${response.status} ${response.statusText}`);
};

const compiled = {};
const compile = (name, given) => {
  if (given instanceof WebAssembly.Module) return given;
  const key = `${given ?? name}`;
  return compiled[key] ??= fetched(given ?? WASM[name]())
    .then((response) => response.arrayBuffer())
    .then(WebAssembly.compile)
    .catch((error) => {
      delete compiled[key];
      throw error.name === 'CompileError'
        ? new UnsupportedError(`${error.message}: is WebAssembly SIMD missing?`, 'use a newer browser') : error;
    });
};

// Read a response into the memory of the engine as it comes.
const receive = async (engine, response, { onprogress, signal }) => {
  const { headers, body } = response;
  const total = headers.get('content-encoding') || !body ? 0 : +headers.get('content-length');
  if (!total) {
    const bytes = new Uint8Array(await response.arrayBuffer());
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
  if (loaded !== total) throw new FileError(`the download ended after ${loaded} of ${total} bytes`, 'load it again');
};

const threadOf = (newWorker, message) => new Promise((resolve, reject) => {
  const worker = newWorker();
  worker.onmessage = () => resolve(worker);
  worker.onerror = (event) => reject(new UnsupportedError(`a worker did not start: ${event.message ?? 'refused'}`,
    'serve samara-worker.js beside samara.js, from the origin of the page'));
  worker.postMessage(message);
});

const start = async ({ threads, wasm: given = {}, maxMemory = 1 << 30 }, newWorker, canWait) => {
  const asked = threads ?? Math.min(4, globalThis.navigator?.hardwareConcurrency ?? 1);
  const reason = asked > 1 ? threadsReason() : threads ? 'one thread was asked for' : 'the machine has one core';
  const variant = reason ? 'simd' : 'threads', wasm = await compile(variant, given[variant]);
  const info = { variant, threads: reason ? 1 : asked, reason };
  if (reason) return [await openEngine({ wasm, canWait }), info];
  const memory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum: Math.ceil(maxMemory / PAGE_BYTES), shared: true });
  const workers = await Promise.all(Array.from({ length: asked - 1 }, () => threadOf(newWorker, { wasm, memory })));
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
