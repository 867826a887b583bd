// SPDX-License-Identifier: Apache-2.0
// The engine: one instance of the WebAssembly module and one model. Everything here is synchronous but
// `open`; samara.js calls it in the page, samara-worker.js in a worker.

export class SamaraError extends Error {
  constructor(message, fix) {
    super(fix ? `${message}\n  fix: ${fix}` : message);
    this.name = new.target.name;
    this.fix = fix;
  }
}
export class ModelFormatError extends SamaraError {}
export class UnsupportedError extends SamaraError {}
export class ShapeError extends SamaraError {}
export class UnknownNameError extends ShapeError {}
export class LimitError extends SamaraError {}
export class FileError extends SamaraError {}
export const errors = {
  SamaraError, ModelFormatError, UnsupportedError, ShapeError, UnknownNameError, LimitError, FileError,
};
// By samara_status, or by its tens.
const KINDS = { 10: ShapeError, 11: ShapeError, 12: UnknownNameError, 2: ModelFormatError,
  3: UnsupportedError, 40: LimitError, 41: LimitError };

// [name, array of elements]; the index is the code of samara_dtype.
const DTYPES = [, ['float32', Float32Array], ['float16', Uint16Array], ['int8', Int8Array],
  ['qint8', Int8Array], ['uint8', Uint8Array], ['int32', Int32Array], ['int64', BigInt64Array],
  ['bool', Uint8Array], ['float64', Float64Array], ['bfloat16', Uint16Array],
  ['int16', Int16Array], ['uint16', Uint16Array], ['uint32', Uint32Array],
  ['uint64', BigUint64Array], ['int4', Uint8Array], ['uint4', Uint8Array]];

const utf8 = new TextDecoder(), bytesOf = new TextEncoder();
const volume = (shape) => shape.reduce((product, dim) => product * dim, 1);

const byteView = (data) => data instanceof ArrayBuffer ? new Uint8Array(data)
  : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

export class Core {
  // wasm: the compiled module. memory: the one that it shares with workers, which are ready to start.
  // canWait: whether this thread may block.
  static async open({ wasm, memory, workers = [], canWait = false }) {
    const core = new Core();
    core.memory = memory;
    core.workers = [...workers];
    const instance = await WebAssembly.instantiate(wasm, imports(core, canWait));
    core.c = instance.exports;
    core.memory ??= core.c.memory;
    core.c._initialize?.();
    core.sessions = new Map();
    return core;
  }

  // ---- memory: every use makes its view, because a view goes stale when the memory grows ----

  u8() { return new Uint8Array(this.memory.buffer); }
  i32() { return new Int32Array(this.memory.buffer); }
  f32() { return new Float32Array(this.memory.buffer); }
  text(at) {
    if (!at) return undefined;
    const bytes = this.u8();
    return utf8.decode(bytes.slice(at, bytes.indexOf(0, at)));
  }
  take(size) {
    const at = this.c.allocate(size) >>> 0;
    if (!at) throw new LimitError(`no memory for ${size} bytes`, 'close models that are not needed');
    return at;
  }
  // The address of bytes that the callee reads, for the time of the call.
  lend(bytes, call) {
    const at = this.take(bytes.length);
    try {
      this.u8().set(bytes, at);
      return call(at);
    } finally {
      this.c.release(at);
    }
  }
  named(name, call) {
    return name === undefined ? call(0) : this.lend(bytesOf.encode(`${name}\0`), call);
  }
  fail() {
    const at = this.c.error(), status = this.i32()[at >> 2];
    const [message, fix] = this.text(at + 4).split('\n  fix: ');
    throw new (KINDS[status] ?? KINDS[Math.trunc(status / 10)] ?? SamaraError)(message, fix);
  }
  check(status) { if (status) this.fail(); }

  // ---- the model ----

  // Where to put a file of `size` bytes, before load(size).
  reserve(size) {
    this.file = this.take(size);
    this.size = size;
    return this.file;
  }
  put(bytes, offset) { this.u8().set(bytes, this.file + offset); }
  load() {
    this.model = this.c.open(this.file, this.size);
    if (!this.model) this.fail();
    if (this.workers.length) {
      this.pool = this.c.pool(this.workers.length + 1);
      if (!this.pool) this.fail();
    }
    const functions = {}, metadata = {};
    for (let i = 0, name; (name = this.text(this.c.function(this.model, i))) !== undefined; i++) {
      functions[name] = this.named(name, (at) => ({
        inputs: this.declared(at, 0), outputs: this.declared(at, 1), answer: this.hasAnswer(at),
      }));
    }
    for (let i = 0, key; (key = this.text(this.c.metadata?.(this.model, i, 0))) !== undefined; i++) {
      metadata[key] = this.text(this.c.metadata(this.model, i, 1));
    }
    return { functions, metadata, version: this.text(this.c.version()) };
  }
  hasAnswer(fn) { return Boolean(this.c.answer_kind?.(this.model, fn)); }
  declared(fn, output) {
    const specs = [];
    for (let at; (at = this.c.declared(this.model, fn, output, specs.length));) {
      const i = specs.length, spec = this.tensor(at);
      spec.shape = spec.shape.map((dim, k) => dim < 0 ? this.text(this.i32()[(at >> 2) + 15 + k]) ?? -1 : dim);
      if (!output) {
        spec.image = Boolean(this.c.takes_image?.(this.model, fn, i));
        spec.rate = this.c.takes_audio?.(this.model, fn, i) || undefined;
      }
      specs.push(spec);
    }
    return specs;
  }
  // The words of struct web_tensor.
  tensor(at) {
    const w = this.i32().subarray(at >> 2, (at >> 2) + 23), f = this.f32();
    const spec = { name: this.text(w[0]), dtype: DTYPES[w[1]][0], shape: [...w.subarray(7, 7 + w[2])] };
    if (w[1] === 4) Object.assign(spec, { scale: f[(at >> 2) + 5], zeroPoint: w[6] });
    return spec;
  }

  // ---- sessions ----

  session(id, { function: name, strict = false, maxArenaBytes = 0, deadlineMs = 0 } = {}) {
    const mib = Math.ceil(maxArenaBytes / 2 ** 20);
    const at = this.named(name, (fn) =>
      this.c.session(this.model, fn, this.pool ?? 0, strict, mib, deadlineMs));
    if (!at) this.fail();
    this.sessions.set(id, this.named(name, (fn) =>
      ({ at, function: name, shapes: [], answer: this.hasAnswer(fn), inputs: this.declared(fn, 0),
        outputs: this.declared(fn, 1) })));
  }
  of(id) {
    const own = this.sessions?.get(id);
    if (!own) throw new SamaraError('the session is closed', 'create another one, or close it later');
    return own;
  }
  // Set inputs; shapes: [index, {shape}] of inputs that get their elements otherwise.
  feed(own, feeds, shapes = []) {
    const given = Object.entries(feeds).map(([name, value]) => {
      const i = own.inputs.findIndex((spec) => spec.name === name);
      if (i < 0) {
        throw new UnknownNameError(`there is no input '${name}'`,
          `inputs are ${own.inputs.map((spec) => spec.name).join(', ')}`);
      }
      return [i, asTensor(own.inputs[i], value)];
    });
    this.resize(own, [...given, ...shapes]);
    const unknown = own.inputs.find((spec, i) => !own.shapes[i] && spec.shape.some((dim) => !(dim >= 0)));
    if (unknown) throw new ShapeError(`input '${unknown.name}' has no value yet`, `give elements of [${unknown.shape}]`);
    for (const [i, { data, shape }] of given) {
      const at = this.c.input(own.at, i);
      if (!at) this.fail();
      const [start, size] = this.i32().subarray((at >> 2) + 3, (at >> 2) + 5);
      // Packed elements, and shapes that a session rounds, show only here.
      if (size >>> 0 !== data.byteLength) {
        throw new ShapeError(`input '${own.inputs[i].name}' has ${data.byteLength} bytes, expected ${size}`,
          `give the elements of [${shape}]`);
      }
      this.u8().set(byteView(data), start >>> 0);
    }
  }
  resize(own, given) {
    if (given.every(([i, { shape }]) => `${shape}` === `${own.shapes[i] ?? own.inputs[i].shape}`)) return;
    const words = new Int32Array(9 * own.inputs.length).fill(-1);
    for (const [i, { shape }] of given) words.set([shape.length, ...shape], 9 * i);
    this.check(this.lend(byteView(words), (at) => this.c.resize(own.at, at, own.inputs.length)));
    for (const [i, { shape }] of given) own.shapes[i] = shape;
  }
  outputs(own) {
    const result = {};
    own.outputs.forEach((spec, i) => {
      const at = this.c.output(own.at, i);
      if (!at) this.fail();
      const w = this.i32(), data = w[(at >> 2) + 3] >>> 0, size = w[(at >> 2) + 4];
      const tensor = this.tensor(at), Elements = DTYPES.find((type) => type?.[0] === tensor.dtype)[1];
      tensor.data = new Elements(this.u8().slice(data, data + size).buffer);
      result[spec.name] = Object.assign(tensor, { name: spec.name });
    });
    return result;
  }
  run(id, feeds) {
    const own = this.of(id);
    this.feed(own, feeds);
    this.check(this.c.run(own.at));
    return this.outputs(own);
  }
  predict(id, { data, width, height, rotation = 0, mirror = false }, feeds = {}) {
    const own = this.of(id), i = own.inputs.findIndex((spec) => spec.image);
    if (i < 0) throw new UnsupportedError('no input takes a picture', 'export with preprocess=, or call run');
    if (data.byteLength !== 4 * width * height) {
      throw new ShapeError(`the picture has ${data.byteLength} bytes`, `give ${width} x ${height} pixels of RGBA`);
    }
    this.lend(byteView(data), (pixels) => {
      const at = this.named(own.function, (fn) =>
        this.c.image_shape(this.model, fn, i, pixels, width, height, rotation));
      if (!at) this.fail();
      const { shape } = this.tensor(at);
      this.feed(own, feeds, [[i, { shape }]]);
      this.check(this.c.image(own.at, i, pixels, width, height, rotation, mirror));
    });
    this.check(this.c.run(own.at));
    return this.answer(own);
  }
  // Results of all tensors that the samples complete.
  listen(id, samples, rate, end, feeds = {}) {
    const own = this.of(id), i = own.inputs.findIndex((spec) => spec.rate), results = [];
    if (i < 0) throw new UnsupportedError('no input takes sound', 'export with preprocess=, or call run');
    if (!(samples instanceof Float32Array)) throw new ShapeError('samples are no Float32Array', 'convert them: full scale is 1');
    this.feed(own, feeds);
    const next = () => {
      this.check(this.c.run(own.at));
      results.push(own.answer ? this.answer(own) : this.outputs(own));
    };
    const ready = (state) => { if (state < 0) this.fail(); return state; };
    this.lend(byteView(samples), (at) => {
      for (let done = 0; ready(this.c.push(own.at, i, at + 4 * done, samples.length - done, rate));) {
        done += this.c.taken();
        next();
      }
    });
    while (end && ready(this.c.push_end(own.at, i))) next();
    return results;
  }
  // The words of samara_answer and of what it points to.
  answer(own) {
    if (!own.answer) throw new UnsupportedError('the file does not say what the outputs mean', 'export with postprocess=, or call run');
    const at = this.c.answer(own.at);
    if (!at) this.fail();
    const w = this.i32(), f = this.f32(), a = at >> 2, count = w[a + 2], kind = w[a + 1];
    const list = (start, words, each) => Array.from({ length: count }, (_, i) => each((start >> 2) + i * words));
    const label = (p, index) => this.text(w[p]) ?? (index === undefined ? '' : `${index}`);
    if (kind === 1) {
      return { kind: 'classes', classes: list(w[a + 3], 3, (p) =>
        ({ label: label(p, w[p + 1]), index: w[p + 1], score: f[p + 2] })) };
    }
    if (kind === 3) {
      const pairs = (p) => Array.from({ length: w[a + 5] }, (_, k) => [f[p + 2 * k], f[p + 2 * k + 1]]);
      return { kind: 'boxes', boxes: list(w[a + 4], 8, (p) => ({ label: label(p, w[p + 7]),
        index: w[p + 7], score: f[p + 6], box: [...f.subarray(p + 2, p + 6)],
        points: w[a + 5] ? pairs(w[p + 1] >> 2) : undefined })) };
    }
    if (kind === 4) {
      return { kind: 'keypoints', points: list(w[a + 6], 4, (p) =>
        ({ label: label(p), x: f[p + 1], y: f[p + 2], score: f[p + 3] })) };
    }
    const width = w[a + 9], height = w[a + 10], bytes = w[a + 8];
    const mask = this.u8().slice(w[a + 7], w[a + 7] + bytes * width * height);
    return { kind: 'mask', width, height, mask: bytes === 2 ? new Uint16Array(mask.buffer) : mask };
  }
  reset(id) { this.check(this.c.reset?.(this.of(id).at)); }
  totalBytes(id) { return this.c.total_bytes(this.of(id).at); }
  close(id) {
    const own = this.sessions?.get(id);
    if (own) this.c.destroy(own.at);
    this.sessions?.delete(id);
  }
  // The memory goes with the instance, which nothing refers to any more.
  dispose() {
    for (const worker of this.workers ?? []) worker.terminate();
    this.c = this.memory = this.workers = this.sessions = undefined;
  }
}

// What the module imports. core.workers are taken in order by the threads of its pool.
export function imports(core, canWait) {
  let started = 0;
  const words = () => new Int32Array(core.memory.buffer);
  return {
    env: { memory: core.memory },
    samara: {
      now: () => performance.now(),
      spawn(thread, stack) {
        const worker = core.workers[started];
        if (!worker) return 0;
        started++;
        worker.postMessage({ thread, stack });
        return 1;
      },
      wait(at, value) { if (canWait) Atomics.wait(words(), at >> 2, value); },
      notify(at) { Atomics.notify(words(), at >> 2); },
    },
  };
}

function asTensor(spec, value) {
  const Elements = DTYPES.find((type) => type?.[0] === spec.dtype)[1];
  const whole = value?.data !== undefined && value.shape !== undefined;
  let data = whole ? value.data : value;
  if (typeof data === 'number') data = [data];
  if (Array.isArray(data)) {
    const isBig = Elements === BigInt64Array || Elements === BigUint64Array;
    data = Elements.from(data.flat(Infinity), isBig ? BigInt : undefined);
  }
  if (!(data instanceof Elements)) {
    throw new ShapeError(`input '${spec.name}' is ${data?.constructor?.name}, expected ${Elements.name}`,
      `convert it: ${spec.dtype} is a ${Elements.name}`);
  }
  const shape = whole ? Array.from(value.shape ?? []) : inferred(spec, data.length);
  const packed = spec.dtype.endsWith('int4');
  if (shape.length !== spec.shape.length || (!packed && volume(shape) !== data.length)
      || !shape.every((dim) => Number.isInteger(dim) && dim >= 0) || spec.shape.some((dim, k) => dim >= 0 && dim !== shape[k])) {
    throw new ShapeError(`input '${spec.name}' has ${data.length} elements in shape [${shape}], expected [${spec.shape}]`,
      'give {data, shape} with a shape that fits');
  }
  return { data, shape };
}

// The shape of `count` elements, of which one dim may be symbolic.
function inferred(spec, count) {
  const known = volume(spec.shape.filter((dim) => dim >= 0));
  const open = spec.shape.filter((dim) => !(dim >= 0)).length;
  return open === 1 ? spec.shape.map((dim) => dim >= 0 ? dim : count / known) : spec.shape;
}
