// SPDX-License-Identifier: Apache-2.0
// samara in the browser: load a model, make a session, run it. samara.d.ts documents every name.

import { Core, FileError, SamaraError, UnsupportedError, errors } from './samara-core.js';

export const {
  ModelFormatError, ShapeError, UnknownNameError, LimitError,
} = errors;
export { FileError, SamaraError, UnsupportedError };

const WASM = {
  simd: () => new URL('./samara.simd.wasm', import.meta.url),
  threads: () => new URL('./samara.threads.wasm', import.meta.url),
};
const PAGE_BYTES = 65536, FIRST_PAGES = 16;  // of the shared memory: samara build links the module so
// A module with one function that makes a vector: valid where the engine has SIMD.
const SIMD = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8,
  0, 65, 0, 253, 15, 253, 98, 11);

// Whether threads can be used, and why not.
function threadsReason() {
  if (typeof Worker === 'undefined') return 'there are no workers here';
  if (typeof SharedArrayBuffer === 'undefined' || globalThis.crossOriginIsolated === false) {
    return 'the page is not cross-origin isolated: serve it with Cross-Origin-Opener-Policy: same-origin '
      + 'and Cross-Origin-Embedder-Policy: require-corp';
  }
  return undefined;
}

const compiled = new Map();
function compile(name, given) {
  if (given instanceof WebAssembly.Module) return given;
  const key = `${given ?? name}`;
  if (!compiled.has(key)) {
    const module = fetched(given ?? WASM[name]()).then(async (response) =>
      WebAssembly.compile(await response.arrayBuffer()));
    module.catch(() => compiled.delete(key));
    compiled.set(key, module);
  }
  return compiled.get(key);
}

async function fetched(url, signal) {
  let response;
  try {
    response = await fetch(url, { signal });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new FileError(`${url} cannot be fetched: ${error.message}`, 'check the address and the network');
  }
  if (!response.ok) {
    throw new FileError(`${url} cannot be fetched: ${response.status} ${response.statusText}`, 'check the address');
  }
  return response;
}

// The response for a model, from the cache where it is there: {response, store, putting}. The copy for the
// cache is written while the response is read.
async function responseOf(source, { cache, signal }) {
  if (source instanceof Response) return { response: source };
  if (!cache || typeof caches === 'undefined') return { response: await fetched(source, signal) };
  const store = await caches.open(cache === true ? 'samara' : cache);
  const found = await store.match(source);
  if (found) return { response: found, store };
  const response = await fetched(source, signal);
  return { response, store, putting: store.put(source, response.clone()) };
}

// Read a response into the memory of the core as it comes.
async function receive(core, response, { onprogress, signal }) {
  const total = Number(response.headers.get('content-length')) || 0;
  const encoded = response.headers.get('content-encoding');
  if (!total || encoded || !response.body) {
    const bytes = new Uint8Array(await response.arrayBuffer());
    core.reserve(bytes.length);
    core.put(bytes, 0);
    onprogress?.({ loaded: bytes.length, total: bytes.length });
    return;
  }
  core.reserve(total);
  let loaded = 0;
  const reader = response.body.getReader();
  for (let part; !(part = await reader.read()).done;) {
    signal?.throwIfAborted();
    if (loaded + part.value.length > total) break;
    core.put(part.value, loaded);
    loaded += part.value.length;
    onprogress?.({ loaded, total });
  }
  if (loaded !== total) {
    throw new FileError(`the download ended after ${loaded} of ${total} bytes`, 'load it again');
  }
}

const bytesFrom = (source) => source instanceof ArrayBuffer ? new Uint8Array(source)
  : ArrayBuffer.isView(source) ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength) : undefined;

async function start(options, canWait) {
  if (!WebAssembly.validate(SIMD)) {
    throw new UnsupportedError('this browser has no WebAssembly SIMD', 'browsers since 2021 (Safari: 2023) have it');
  }
  const asked = options.threads ?? Math.min(4, globalThis.navigator?.hardwareConcurrency ?? 1);
  const reason = asked > 1 ? threadsReason()
    : options.threads ? 'one thread was asked for' : 'the machine has one core';
  const variant = reason ? 'simd' : 'threads';
  const wasm = await compile(variant, options.wasm?.[variant]);
  const info = { variant, threads: reason ? 1 : asked, reason };
  if (reason) return [await Core.open({ wasm, canWait }), info];
  const maximum = Math.ceil((options.maxMemory ?? 2 ** 30) / PAGE_BYTES);
  const memory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum, shared: true });
  const workers = await Promise.all(Array.from({ length: asked - 1 }, () => threadOf(wasm, memory)));
  return [await Core.open({ wasm, memory, workers, canWait }), info];
}

function newWorker() {
  if (typeof Worker === 'undefined') throw new UnsupportedError('there are no workers here', 'leave out worker: true');
  return new Worker(new URL('./samara-worker.js', import.meta.url), { type: 'module' });
}

function threadOf(wasm, memory) {
  const worker = newWorker();
  return new Promise((resolve, reject) => {
    worker.onmessage = () => resolve(worker);
    worker.onerror = (event) => reject(new UnsupportedError(`a worker did not start: ${event.message ?? 'refused'}`,
      'serve samara-worker.js beside samara.js, from the origin of the page'));
    worker.postMessage({ wasm, memory });
  });
}

// Open a model in this thread; returns its core and description.
export async function openHere(source, options = {}, canWait = false) {
  const [core, info] = await start(options, canWait);
  let store, putting;
  try {
    const bytes = bytesFrom(source);
    if (bytes) {
      core.reserve(bytes.length);
      core.put(bytes, 0);
    } else {
      let response;
      ({ response, store, putting } = await responseOf(source, options));
      putting?.catch(() => {});  // a full cache is no reason to fail
      await receive(core, response, options);
    }
    const description = core.load();
    await putting?.catch(() => {});
    return [core, { ...description, info }];
  } catch (error) {
    core.dispose();
    // A damaged or incomplete entry must not stay.
    await putting?.catch(() => {});
    await store?.delete(source);
    throw error;
  }
}

// The functions of a core in a worker, as promises.
class Remote {
  constructor() {
    this.worker = newWorker();
    this.calls = new Map();
    this.count = 0;
    this.worker.onmessage = ({ data: { id, result, error, progress } }) => {
      const call = this.calls.get(id);
      if (progress) return call?.onprogress?.(progress);
      this.calls.delete(id);
      if (!error) return call?.resolve(result);
      const Kind = errors[error.name] ?? SamaraError;
      call?.reject(error.name === 'AbortError' ? new DOMException(error.message, 'AbortError')
        : new Kind(error.message, error.fix));
    };
    this.worker.onerror = (event) => {
      for (const call of this.calls.values()) call.reject(new SamaraError(`the worker failed: ${event.message}`));
      this.calls.clear();
    };
  }
  call(name, args, onprogress) {
    return new Promise((resolve, reject) => {
      const id = ++this.count;
      this.calls.set(id, { resolve, reject, onprogress });
      this.worker.postMessage({ id, name, args });
    });
  }
  dispose() {
    this.worker.terminate();
    for (const call of this.calls.values()) call.reject(new SamaraError('the model is disposed', 'load it again'));
    this.calls.clear();
  }
}

// What a worker can be given: absolute addresses, because its own are other ones.
const absolute = (source) => source instanceof WebAssembly.Module ? source : new URL(source, globalThis.location?.href).href;

async function openRemote(source, { onprogress, signal, worker: _worker, wasm = {}, ...options }) {
  const remote = new Remote();
  const abort = () => remote.worker.postMessage({ name: 'abort' });
  signal?.addEventListener('abort', abort);
  try {
    signal?.throwIfAborted();
    const bytes = bytesFrom(source) ?? (source instanceof Response ? await source.arrayBuffer() : undefined);
    options.wasm = Object.fromEntries(Object.entries(wasm).map(([name, place]) => [name, absolute(place)]));
    return [remote, await remote.call('open', [bytes ?? absolute(source), options], onprogress)];
  } catch (error) {
    remote.dispose();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

let sessions = 0;

export class Model {
  static async load(source, options = {}) {
    const [core, description] = options.worker ? await openRemote(source, options) : await openHere(source, options);
    return Object.assign(new Model(), description, {
      call: (name, ...args) => {
        if (!core.c && !core.worker) throw new SamaraError('the model is disposed', 'load it again');
        return core.worker ? core.call(name, args) : core[name](...args);
      },
      dispose: () => {
        core.dispose();
        core.worker = undefined;
      },
    });
  }
  [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() { this.dispose(); }
}

export class Session {
  constructor(model, options = {}) {
    const name = options.function ?? Object.keys(model.functions)[0];
    if (!model.functions[name]) {
      throw new errors.UnknownNameError(`there is no function '${name}'`,
        `functions are ${Object.keys(model.functions).join(', ')}`);
    }
    Object.assign(this, { model, id: ++sessions, function: name, info: model.info }, model.functions[name]);
    this.ready = (async () => { await model.call('session', this.id, options); })();
    this.ready.catch(() => {});  // the first run reports it
  }
  async call(name, ...args) {
    await this.ready;
    return this.model.call(name, this.id, ...args);
  }
  run(feeds = {}) { return this.call('run', feeds); }
  async predict(source, { feeds, rotation, mirror } = {}) {
    if (typeof source.getChannelData === 'function') return this.listen(source, { feeds, end: true });
    return this.call('predict', { ...await pixelsOf(source), rotation, mirror }, feeds);
  }
  listen(sound, { feeds, end = false } = {}) {
    const [samples, rate] = samplesOf(sound);
    return this.call('listen', samples, rate, end, feeds);
  }
  reset() { return this.call('reset'); }
  totalBytes() { return this.call('totalBytes'); }
  dispose() { this.call('close').catch(() => {}); }
  [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() { this.dispose(); }
}

// The pixels of anything that a canvas can draw, as RGBA.
async function pixelsOf(source) {
  if (source.data && source.width) return { data: source.data, width: source.width, height: source.height };
  await source.decode?.().catch(() => {});  // of an image that cannot be decoded the size is 0
  const width = source.displayWidth ?? source.videoWidth ?? source.naturalWidth ?? source.width;
  const height = source.displayHeight ?? source.videoHeight ?? source.naturalHeight ?? source.height;
  if (!width || !height) throw new errors.ShapeError('the picture has no pixels yet', 'wait until it is loaded');
  const canvas = new OffscreenCanvas(width, height), context = canvas.getContext('2d', { willReadFrequently: true });
  context.drawImage(source, 0, 0, width, height);
  return { data: context.getImageData(0, 0, width, height).data, width, height };
}

// Samples of one channel, the mean of all, and their rate.
function samplesOf(sound) {
  if (typeof sound.getChannelData !== 'function') return [sound.samples, sound.rate ?? 0];
  const mean = Float32Array.from(sound.getChannelData(0)), count = sound.numberOfChannels;
  for (let channel = 1; channel < count; channel++) {
    sound.getChannelData(channel).forEach((sample, i) => { mean[i] += sample; });
  }
  return [count > 1 ? mean.map((sample) => sample / count) : mean, sound.sampleRate];
}
