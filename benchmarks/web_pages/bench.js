// SPDX-License-Identifier: Apache-2.0
// The engines as a page uses them. An engine is opened with {model, package, threads, input, shape} and gives
// `run`, which takes the input from JavaScript and leaves the output there, as every page must.

const ENGINES = {
  async samara({ model, package: home, threads }) {
    const { Model, Session } = await import(`${home}/samara.js`);
    const opened = await Model.load(model, { threads });
    if (opened.info.threads !== threads) throw new Error(`samara: ${opened.info.reason}`);
    const session = new Session(opened);
    const [input] = session.inputs, [output] = session.outputs;
    return async (data) => (await session.run({ [input.name]: data }))[output.name].data;
  },
  async onnxruntime({ model, threads, shape }) {
    const ort = await import('onnxruntime-web');
    ort.env.wasm.wasmPaths = '/node_modules/onnxruntime-web/dist/';
    ort.env.wasm.numThreads = threads;
    const session = await ort.InferenceSession.create(model, { executionProviders: ['wasm'] });
    const [input] = session.inputNames, [output] = session.outputNames;
    return async (data) => (await session.run({ [input]: new ort.Tensor('float32', data, shape) }))[output].data;
  },
  async litert({ model, threads, shape }) {
    const { loadLiteRt, loadAndCompile, Tensor } = await import('@litertjs/core');
    await loadLiteRt('/node_modules/@litertjs/core/wasm/', { threads: threads > 1 });
    const net = await loadAndCompile(model, { accelerator: 'wasm', cpuOptions: { numThreads: threads } });
    return async (data) => {
      const input = new Tensor(data, shape), [output] = await net.run(input);
      const answer = output.toTypedArray().slice();
      input.delete();
      output.delete();
      return answer;
    };
  },
};

const open = {};
globalThis.bench = {
  // Milliseconds until the first answer, and the answer.
  async open(name, config) {
    const input = new Float32Array(await (await fetch(config.input)).arrayBuffer());
    const start = performance.now();
    const run = await ENGINES[name](config);
    const answer = await run(input);
    const ms = performance.now() - start;
    open[name] = () => run(input);
    return { ms, answer: [...answer] };
  },
  // Milliseconds per run of every sample, after one run that warms caches and wakes threads.
  async run(name, samples, repeats) {
    const run = open[name], found = [];
    await run();
    for (let i = 0; i < samples; i++) {
      const start = performance.now();
      for (let k = 0; k < repeats; k++) await run();
      found.push((performance.now() - start) / repeats);
    }
    return found;
  },
};
