// SPDX-License-Identifier: Apache-2.0
// samara in the browser: load a model, make a session, run it. samara.d.ts documents every name.

import { SamaraError, UnknownNameError, UnsupportedError, errors } from './errors.js';
import { noWorkers, openHere } from './loading.js';
import { pixelsOf, samplesOf } from './media.js';
import { bytesOf } from './tensors.js';

export { FileError, LimitError, ModelFormatError, SamaraError, ShapeError, UnknownNameError, UnsupportedError }
  from './errors.js';

const newWorker = () => {
  if (noWorkers) throw new UnsupportedError(noWorkers, 'leave worker out');
  return new Worker(new URL('./samara-worker.js', import.meta.url), { type: 'module' });
};
const gone = () => new SamaraError('the model is disposed', 'load it again');
const unsupported = (what, when) => new UnsupportedError(what, `export with ${when}process=, or call run`);

class Disposable {
  [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() { this.dispose(); }
}

export class Model extends Disposable {
  static async load(source, options = {}) {
    const open = options.worker ? (await import('./samara-remote.js')).openRemote : openHere;
    const [engine, description] = await open(source, options, newWorker, false, { gone, errors, bytesOf });
    let isOpen = true;
    return Object.assign(new Model(), description, {
      _call: (name, ...args) => {
        if (!isOpen) throw gone();
        return engine.call ? engine.call(name, ...args) : engine[name](...args);
      },
      dispose: () => {
        isOpen = false;
        engine.dispose();
      },
    });
  }
}

let sessions = 0;

export class Session extends Disposable {
  constructor(model, options = {}) {
    super();
    const names = Object.keys(model.functions), name = options.function ?? names[0];
    if (!names.includes(name)) throw new UnknownNameError(`there is no function '${name}'`, `functions are ${names}`);
    const id = ++sessions, ready = (async () => { await model._call('session', id, options); })();
    ready.catch(() => {});  // the first run reports it
    this._call = async (call, ...args) => {
      await ready;
      return model._call(call, id, ...args);
    };
    Object.assign(this, { ...model.functions[name], model, ready, function: name, info: model.info });
  }
  run(feeds) { return this._call('run', feeds); }
  async predict(source, options = {}) {
    if (source.getChannelData) return this.listen(source, { ...options, end: true });
    const i = this._taker('image', 'a picture');
    if (!this.answer) throw unsupported('the file does not say what the outputs mean', 'post');
    return this._call('predict', i, await pixelsOf(source), options);
  }
  async listen(source, options = {}) { return this._call('listen', this._taker('rate', 'sound'), ...samplesOf(source), options); }
  // The input whose record has the key.
  _taker(key, what) {
    const i = this.inputs.findIndex((spec) => spec[key]);
    if (i < 0) throw unsupported(`no input takes ${what}`, 'pre');
    return i;
  }
  reset() { return this._call('reset'); }
  totalBytes() { return this._call('totalBytes'); }
  dispose() { this._call('close').catch(() => {}); }
}
