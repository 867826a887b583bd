// SPDX-License-Identifier: Apache-2.0
// samara in the browser: load a model, make a session, run it.
//
//   const model = await Model.load('./digits.samara');
//   const session = new Session(model);
//   const { scores } = await session.run({ image: pixels });   // a Float32Array
//   model.dispose();

/** Element types as in Python; float16, bfloat16 and packed int4 elements are given as raw bits. */
export type DType =
  | 'float32' | 'float16' | 'int8' | 'qint8' | 'uint8' | 'int32' | 'int64' | 'bool' | 'float64'
  | 'bfloat16' | 'int16' | 'uint16' | 'uint32' | 'uint64' | 'int4' | 'uint4';

export type Elements =
  | Float32Array | Float64Array | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array
  | Uint32Array | BigInt64Array | BigUint64Array;

/** An input or output as the file declares it. */
export interface TensorSpec {
  readonly name: string;
  readonly dtype: DType;
  /** A number per dim; the name of a symbolic dim, or -1 where it has none. */
  readonly shape: readonly (number | string)[];
  /** Of qint8: real = scale * (q - zeroPoint). */
  readonly scale?: number;
  readonly zeroPoint?: number;
  /** Of inputs: whether `predict` makes it of a picture. */
  readonly image?: boolean;
  /** Of inputs: samples per second of the sound that `listen` makes it of. */
  readonly rate?: number;
}

/** A dense tensor, row-major. `data` belongs to the caller. */
export interface Tensor {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: Elements;
  readonly scale?: number;
  readonly zeroPoint?: number;
}

/** Elements in a typed array of the input's dtype, numbers in nested arrays, or both with a shape. Without a
 * shape at most one dim of the input may be symbolic. */
export type Feed = Elements | number | readonly unknown[] | { data: Elements | readonly unknown[]; shape: readonly number[] };
export type Feeds = { readonly [input: string]: Feed };

export type Variant = 'simd' | 'threads' | 'relaxed' | 'relaxed_threads';

export interface Info {
  /** The module in use: with vectors, with threads, with relaxed SIMD (fused multiply-adds, dot products of bytes), or both. */
  readonly variant: Variant;
  readonly threads: number;
  /** Why there is one thread only, or a module without relaxed SIMD where the package has one with it. */
  readonly reason?: string;
}

export interface LoadOptions {
  /** Called as the file arrives, with bytes. */
  onprogress?: (progress: { loaded: number; total: number }) => void;
  /** Abort the load; it then rejects with an AbortError. */
  signal?: AbortSignal;
  /** Keep the file in the Cache API, in the cache of that name (true: "samara"). */
  cache?: boolean | string;
  /** Run everything in a worker, so that the page never blocks. */
  worker?: boolean;
  /** Default: min(4, cores) where the page is cross-origin isolated, else 1. */
  threads?: number;
  /** With threads: the most bytes the memory may grow to, which the browser reserves. Default: 1 GiB. */
  maxMemory?: number;
  /** Where the modules are, or the compiled modules; default: beside samara.js. A module without relaxed SIMD alone
   * is used in every engine. */
  wasm?: { readonly [variant in Variant]?: string | URL | WebAssembly.Module };
}

/** A model, verified, in a memory of its own. */
export class Model {
  /** Load and verify a model: every byte is compared with the checksums of the file.
   *
   * Rejects with FileError where it cannot be fetched, ModelFormatError where it is damaged, UnsupportedError
   * where the browser lacks WebAssembly SIMD, LimitError where memory is short. */
  static load(source: string | URL | Response | ArrayBuffer | ArrayBufferView, options?: LoadOptions): Promise<Model>;
  readonly functions: {
    readonly [name: string]: { readonly inputs: readonly TensorSpec[]; readonly outputs: readonly TensorSpec[]; readonly answer: boolean };
  };
  readonly metadata: { readonly [key: string]: string };
  /** The version of the runtime. */
  readonly version: string;
  readonly info: Info;
  /** Give back the memory and end the workers. Sessions of the model cannot run any more. */
  dispose(): void;
}

export interface SessionOptions {
  /** The function to run; default: the first. */
  function?: string;
  /** No transformed algorithms. */
  strict?: boolean;
  /** The most bytes of activations; a run beyond fails with LimitError. */
  maxArenaBytes?: number;
  /** The most milliseconds of a run. */
  deadlineMs?: number;
}

export interface Guess { readonly label: string; readonly index: number; readonly score: number }
/** `box` is x0, y0, x1, y1 in pixels of the picture. */
export interface Detection extends Guess {
  readonly box: readonly number[];
  readonly points?: readonly (readonly number[])[];
}
export interface Point { readonly label: string; readonly x: number; readonly y: number; readonly score: number }
export type Answer =
  | { readonly kind: 'classes'; readonly classes: readonly Guess[] }
  | { readonly kind: 'boxes'; readonly boxes: readonly Detection[] }
  | { readonly kind: 'keypoints'; readonly points: readonly Point[] }
  | { readonly kind: 'mask'; readonly width: number; readonly height: number; readonly mask: Uint8Array | Uint16Array };

/** Pixels as RGBA, row by row, or what createImageBitmap takes: also a file of a picture. */
export type Picture =
  | ImageBitmapSource
  | { data: Uint8Array | Uint8ClampedArray; width: number; height: number };

/** Runs one function of a model; holds its activations and its state. */
export class Session {
  /** Throws UnknownNameError for a function that the model does not have. */
  constructor(model: Model, options?: SessionOptions);
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  readonly info: Info;
  /** Resolves when the session can run; rejects where memory is short or the runtime lacks an operator. */
  readonly ready: Promise<void>;
  /** Run on inputs by name; inputs that are not given keep their values. Rejects with UnknownNameError, ShapeError
   * or LimitError. */
  run(feeds?: Feeds): Promise<{ [output: string]: Tensor }>;
  /** Run on a picture, by the records of the file. */
  predict(picture: Picture, options?: { feeds?: Feeds; rotation?: 0 | 90 | 180 | 270; mirror?: boolean }): Promise<Answer>;
  /** Run on all tensors that a sound makes. */
  predict(sound: AudioBuffer, options?: { feeds?: Feeds }): Promise<(Answer | { [output: string]: Tensor })[]>;
  /** Run on each tensor that samples complete. Without `end`, samples that are left wait for the next call. */
  listen(
    sound: AudioBuffer | { samples: Float32Array; rate?: number },
    options?: { feeds?: Feeds; end?: boolean },
  ): Promise<(Answer | { [output: string]: Tensor })[]>;
  /** Set all variables to their first values. */
  reset(): Promise<void>;
  totalBytes(): Promise<number>;
  dispose(): void;
}

/** What failed; `fix` says what to do. */
export class SamaraError extends Error { readonly fix?: string }
/** The file is not a model, or is damaged. */
export class ModelFormatError extends SamaraError {}
/** The browser or this build of the runtime cannot do it. */
export class UnsupportedError extends SamaraError {}
/** A dtype or shape does not fit. */
export class ShapeError extends SamaraError {}
/** There is no input, output or function of that name. */
export class UnknownNameError extends ShapeError {}
/** Memory or a limit of the session was reached. */
export class LimitError extends SamaraError {}
/** The file cannot be fetched. */
export class FileError extends SamaraError {}
