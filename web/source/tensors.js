// SPDX-License-Identifier: Apache-2.0
// Dtypes, and the check of what an input is given.

import { ShapeError } from './errors.js';

// Long names that are said often: minifiers leave names of the browser.
export const Bytes = Uint8Array, Words = Int32Array;

// In the order of samara_dtype, which begins at 1.
export const ELEMENTS = { float32: Float32Array, float16: Uint16Array, int8: Int8Array, qint8: Int8Array,
  uint8: Bytes, int32: Words, int64: BigInt64Array, bool: Bytes, float64: Float64Array,
  bfloat16: Uint16Array, int16: Int16Array, uint16: Uint16Array, uint32: Uint32Array,
  uint64: BigUint64Array, int4: Bytes, uint4: Bytes };
export const DTYPES = [, ...Object.keys(ELEMENTS)];
export const QINT8 = 4;

// The bytes of an ArrayBuffer or of a view; undefined for anything else.
export const bytesOf = (data) => data instanceof ArrayBuffer ? new Bytes(data)
  : ArrayBuffer.isView(data) ? new Bytes(data.buffer, data.byteOffset, data.byteLength) : undefined;

// What an input is given, as {data, shape}. Without a shape, one dim of the input may be symbolic. The session checks the dims.
export const asTensor = (spec, value) => {
  const Elements = ELEMENTS[spec.dtype];
  let { data = value, shape } = value?.shape ? value : {};
  if (typeof data === 'number' || Array.isArray(data)) data = Elements.from([data].flat(Infinity), /^Big/.test(Elements.name) ? BigInt : undefined);
  if (!(data instanceof Elements)) {
    throw new ShapeError(`input '${spec.name}' is ${data?.constructor?.name}, expected ${Elements.name}`,
      `convert it: ${spec.dtype} is a ${Elements.name}`);
  }
  const volume = (dims) => dims.reduce((product, dim) => product * dim, 1), known = spec.shape.filter((dim) => dim >= 0);
  shape = shape ? Array.from(shape) : known.length + 1 < spec.shape.length ? spec.shape
    : spec.shape.map((dim) => dim >= 0 ? dim : data.length / volume(known));
  if (shape.length !== spec.shape.length || !shape.every((dim) => Number.isInteger(dim) && dim >= 0)
      || (volume(shape) !== data.length && !/int4/.test(spec.dtype))) {
    throw new ShapeError(`input '${spec.name}' has ${data.length} elements in [${shape}], expected [${spec.shape}]`, 'give {data, shape}');
  }
  return { data, shape };
};
