// SPDX-License-Identifier: Apache-2.0
// The engine: one instance of the WebAssembly module, of web/native/samara_web.c, and one model in it. All of it but
// openEngine is synchronous. The page calls it, or samara-worker.js in a worker.

import { KINDS, LimitError, SamaraError, ShapeError, UnknownNameError } from './errors.js';
import { Bytes, DTYPES, ELEMENTS, QINT8, Words, asTensor, bytesOf } from './tensors.js';

const decoder = new TextDecoder(), encoder = new TextEncoder();

// What the module imports. workers: taken in order by the threads of its pool. canWait: whether this thread may block.
export const imports = (memoryOf, canWait, workers = []) => {
  let started = 0;
  const words = () => new Words(memoryOf().buffer);
  return {
    env: { memory: memoryOf() },
    samara: {
      now: () => performance.now(),
      number: (at, value, digits) => encoder.encodeInto(+value.toPrecision(digits) + '\0', new Bytes(memoryOf().buffer, at)),
      spawn: (thread, stack) => {
        workers[started]?.postMessage({ thread, stack });
        return started++ < workers.length;
      },
      wait: (at, value) => canWait && Atomics.wait(words(), at >> 2, value),
      notify: (at) => Atomics.notify(words(), at >> 2),
    },
  };
};

// wasm: the compiled module. memory: the one that it shares with the workers, which are ready to start.
export const openEngine = async ({ wasm, memory, workers = [], canWait }) => {
  let c = (await WebAssembly.instantiate(wasm, imports(() => memory, canWait, workers))).exports;
  memory ??= c.memory;
  c._initialize?.();
  const sessions = new Map();
  let file, size, model, pool = 0;

  // ---- memory: every use makes its view, because a view goes stale when the memory grows ----

  const u8 = () => new Bytes(memory.buffer);
  const i32 = () => new Words(memory.buffer);
  const f32 = () => new Float32Array(memory.buffer);
  const text = (at) => at ? decoder.decode(u8().slice(at, u8().indexOf(0, at))) : undefined;
  const take = (bytes) => {
    const at = c.allocate(bytes) >>> 0;
    if (!at) throw new LimitError(`no memory for ${bytes} bytes`, 'close a model');
    return at;
  };
  // The address of bytes that the callee reads, for the time of the call.
  const lend = (bytes, call) => {
    const at = take(bytes.length);
    try {
      u8().set(bytes, at);
      return call(at);
    } finally {
      c.release(at);
    }
  };
  const named = (name, call) => name === undefined ? call(0) : lend(encoder.encode(name + '\0'), call);
  // Most functions return 0 for a failure; those that return a status, its number.
  const check = (status) => {
    if (!status) return;
    const at = c.error(), code = i32()[at >> 2], [message, fix] = text(at + 4).split('\n  fix: ');
    throw new (KINDS[code] ?? KINDS[code / 10 | 0] ?? SamaraError)(message, fix);
  };
  const must = (pointer) => { check(!pointer); return pointer; };

  // ---- what the file declares ----

  // The words of struct web_tensor.
  const tensor = (at) => {
    const w = i32().subarray(at >> 2), code = w[1];
    const quantized = code === QINT8 && { scale: f32()[(at >> 2) + 5], zeroPoint: w[6] };
    return { name: text(w[0]), dtype: DTYPES[code], shape: [...w.subarray(7, 7 + w[2])], ...quantized };
  };
  const declared = (fn, output) => {
    const specs = [];
    for (let at, i = 0; (at = c.declared(model, fn, output, i)); i++) {
      const spec = specs[i] = tensor(at);
      spec.shape = spec.shape.map((dim, k) => dim < 0 ? text(i32()[(at >> 2) + 15 + k]) ?? -1 : dim);
      if (!output) {
        spec.image = !!c.takes_image?.(model, fn, i);
        spec.rate = c.takes_audio?.(model, fn, i) || undefined;
      }
    }
    return specs;
  };
  const describe = (fn) => ({ inputs: declared(fn, 0), outputs: declared(fn, 1), answer: !!c.answer_kind?.(model, fn) });

  // ---- sessions ----

  const of = (id) => {
    const own = sessions.get(id);
    if (!own) throw new SamaraError('the session is closed', 'make another');
    return own;
  };
  // shapes: of each given input, its index and shape.
  const resize = (own, shapes) => {
    if (shapes.every(([i, { shape }]) => `${shape}` === `${own.shapes[i]}`)) return;
    const words = new Words(9 * own.inputs.length).fill(-1);
    for (const [i, { shape }] of shapes) words.set([shape.length, ...shape], 9 * i);
    check(lend(bytesOf(words), (at) => c.resize(own.at, at, own.inputs.length)));
    for (const [i, { shape }] of shapes) own.shapes[i] = shape;
  };
  // Set inputs. shapes: of inputs that get their elements otherwise.
  const feed = (own, feeds = {}, shapes = []) => {
    const given = Object.entries(feeds).map(([name, value]) => {
      const i = own.inputs.findIndex((spec) => spec.name === name);
      if (i < 0) {
        throw new UnknownNameError(`there is no input '${name}'`, `inputs are ${own.inputs.map((spec) => spec.name)}`);
      }
      return [i, asTensor(own.inputs[i], value)];
    });
    resize(own, [...given, ...shapes]);
    const open = own.inputs.find((_, i) => !own.shapes[i].every((dim) => dim >= 0));
    if (open) throw new ShapeError(`input '${open.name}' has no value yet`, `give elements of [${open.shape}]`);
    for (const [i, { data }] of given) {
      const at = must(c.input(own.at, i)) >> 2, bytes = i32()[at + 4] >>> 0;
      // Only packed elements can still be too many or too few.
      if (bytes !== data.byteLength) throw new ShapeError(`input '${own.inputs[i].name}' has ${data.byteLength} bytes, expected ${bytes}`);
      u8().set(bytesOf(data), i32()[at + 3] >>> 0);
    }
  };
  const run = (own) => check(c.run(own.at));
  const outputs = (own) => Object.fromEntries(own.outputs.map(({ name }, i) => {
    const at = must(c.output(own.at, i)), [data, bytes] = i32().subarray((at >> 2) + 3), one = tensor(at);
    return [name, { ...one, name, data: new ELEMENTS[one.dtype](u8().slice(data >>> 0, (data >>> 0) + bytes).buffer) }];
  }));

  // ---- pictures, sound and answers: a package has the parts that its models have records for ----

  /*! part answers */
  // What the outputs mean: the words of samara_answer and of what it points to.
  function answerOf(own) {
    const a = must(c.answer(own.at)) >> 2, w = i32(), f = f32();
    const [kind, count, guesses, detections, points, places, mask, wide, width, height] = w.subarray(a + 1);
    const list = (start, words, each) => Array.from({ length: count }, (_, i) => each((start >> 2) + i * words));
    const guess = (label, index, score) => ({ label: text(w[label]) ?? `${w[index]}`, index: w[index], score: f[score] });
    /*! part classes */
    if (kind === 1) return { kind: 'classes', classes: list(guesses, 3, (p) => guess(p, p + 1, p + 2)) };
    /*! end */
    /*! part boxes */
    if (kind === 3) {
      const pointsAt = (at) => Array.from({ length: points }, (_, k) => [f[at + 2 * k], f[at + 2 * k + 1]]);
      return { kind: 'boxes', boxes: list(detections, 8, (p) => ({ ...guess(p, p + 7, p + 6), box: [...f.subarray(p + 2, p + 6)],
        points: points ? pointsAt(w[p + 1] >> 2) : undefined })) };
    }
    /*! end */
    /*! part keypoints */
    if (kind === 4) {
      return { kind: 'keypoints', points: list(places, 4, (p) => ({ label: text(w[p]) ?? '', x: f[p + 1], y: f[p + 2], score: f[p + 3] })) };
    }
    /*! end */
    /*! part mask */
    const bytes = u8().slice(mask, mask + wide * width * height);
    return { kind: 'mask', width, height, mask: wide === 2 ? new Uint16Array(bytes.buffer) : bytes };
    /*! end */
  }
  /*! end */

  /*! part images */
  // Set input `i` to a picture, pixels in RGBA.
  function draw(own, i, { data, width, height }, { feeds, rotation = 0, mirror }) {
    if (data.byteLength !== 4 * width * height) {
      throw new ShapeError(`the picture has ${data.byteLength} bytes`, `give ${width} x ${height} pixels of RGBA`);
    }
    lend(bytesOf(data), (pixels) => {
      const at = named(own.function, (fn) => must(c.image_shape(model, fn, i, pixels, width, height, rotation)));
      feed(own, feeds, [[i, tensor(at)]]);
      check(c.image(own.at, i, pixels, width, height, rotation, mirror));
    });
  }
  /*! end */

  /*! part audio */
  // Run on all tensors that the samples complete.
  function hear(own, i, samples, rate, { feeds, end }) {
    if (!(samples instanceof Float32Array)) throw new ShapeError('samples are no Float32Array', 'convert them: full scale is 1');
    const results = [], isReady = (state) => { check(state < 0); return state; };
    const next = () => {
      run(own);
      results.push(own.answer ? answerOf(own) : outputs(own));
    };
    // Symbolic dims are those of the tensor that the record makes.
    const shape = named(own.function, (fn) => own.inputs[i].shape.map((dim, k) => dim >= 0 ? dim : c.audio_dim(model, fn, i, k)));
    feed(own, feeds, [[i, { shape }]]);
    lend(bytesOf(samples), (at) => {
      for (let done = 0; isReady(c.push(own.at, i, at + 4 * done, samples.length - done, rate)); next()) done += c.taken();
    });
    while (end && isReady(c.push_end(own.at, i))) next();
    return results;
  }
  /*! end */

  const reserve = (bytes) => { file = take(size = bytes); };
  const put = (bytes, offset) => u8().set(bytes, file + offset);
  return {
    // Before load(): take memory for the file, and put its bytes there.
    reserve,
    put,
    take: (bytes) => {
      reserve(bytes.length);
      put(bytes, 0);
    },
    load: () => {
      model = must(c.open(file, size));
      if (workers.length) pool = must(c.pool(workers.length + 1));
      const functions = {}, metadata = {};
      for (let i = 0, at; (at = c.function(model, i)); i++) functions[text(at)] = named(text(at), describe);
      for (let i = 0, at; (at = c.metadata?.(model, i, 0)); i++) metadata[text(at)] = text(c.metadata(model, i, 1));
      return { functions, metadata, version: text(c.version()) };
    },
    session: (id, { function: name, strict, maxArenaBytes = 0, deadlineMs = 0 }) => named(name, (fn) => {
      const at = must(c.session(model, fn, pool, strict, Math.ceil(maxArenaBytes / 2 ** 20), deadlineMs));
      const own = { at, function: name, ...describe(fn) };
      sessions.set(id, { ...own, shapes: own.inputs.map(({ shape }) => shape) });
    }),
    run: (id, feeds) => {
      const own = of(id);
      feed(own, feeds);
      run(own);
      return outputs(own);
    },
    predict: (id, i, picture, options) => {
      const own = of(id);
      draw(own, i, picture, options);
      run(own);
      return answerOf(own);
    },
    listen: (id, i, samples, rate, options) => hear(of(id), i, samples, rate, options),
    reset: (id) => check(c.reset?.(of(id).at)),
    totalBytes: (id) => c.total_bytes(of(id).at),
    close: (id) => {
      if (sessions.get(id)) c.destroy(of(id).at);
      sessions.delete(id);
    },
    // The memory goes with the instance, which nothing refers to any more.
    dispose: () => {
      for (const worker of workers) worker.terminate();
      c = memory = undefined;
      sessions.clear();
    },
  };
};
