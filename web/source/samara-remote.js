// SPDX-License-Identifier: Apache-2.0
// The page's side of a model in a worker; loaded when one is asked for.


// What a worker can be given: absolute addresses, because its own are other ones.
const absolute = (source) => source instanceof WebAssembly.Module ? source : new URL(source, globalThis.location?.href).href;

// A model in a worker: the functions of the engine as promises.
export const openRemote = async (source, { onprogress, signal, worker: _, wasm = {}, ...options }, newWorker, _canWait, { gone, errors, bytesOf }) => {
  const worker = newWorker(), calls = new Map();
  let count = 0;
  const failAll = (error) => {
    for (const { reject } of calls.values()) reject(error);
    calls.clear();
  };
  worker.onmessage = ({ data: { id, result, error, progress } }) => {
    if (progress) return onprogress?.(progress);
    const { resolve, reject } = calls.get(id) ?? {};
    calls.delete(id);
    if (!error) return resolve?.(result);
    const { name, message, fix } = error;
    reject?.(name === 'AbortError' ? new DOMException(message, name) : new (errors[name] ?? errors.SamaraError)(message, fix));
  };
  worker.onerror = (event) => failAll(new errors.SamaraError(`the worker failed: ${event.message}`));
  const call = (name, ...args) => new Promise((resolve, reject) => {
    calls.set(++count, { resolve, reject });
    worker.postMessage({ id: count, name, args });
  });
  const dispose = () => {
    worker.terminate();
    failAll(gone());
  };
  const abort = () => worker.postMessage({ name: 'abort' });
  signal?.addEventListener('abort', abort);
  try {
    signal?.throwIfAborted();
    const bytes = bytesOf(source) ?? (source instanceof Response ? await source.arrayBuffer() : undefined);
    for (const name in wasm) options.wasm = { ...options.wasm, [name]: absolute(wasm[name]) };
    return [{ call, dispose }, await call('open', bytes ?? absolute(source), options)];
  } catch (error) {
    dispose();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
};
