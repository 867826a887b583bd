// SPDX-License-Identifier: Apache-2.0
// The errors of the package, as in Python.

export class SamaraError extends Error {
  static kind = 'SamaraError';  // a package gives the class itself a short name
  constructor(message, fix) {
    super(fix ? `${message}\n  fix: ${fix}` : message);
    this.name = this.constructor.kind;
    this.fix = fix;
  }
}
// By name, because an error leaves a worker as its name and texts.
export const errors = { SamaraError };
const define = (kind, Base = SamaraError) => (errors[kind] = class extends Base { static kind = kind; });

export const ModelFormatError = define('ModelFormatError');
export const UnsupportedError = define('UnsupportedError');
export const ShapeError = define('ShapeError');
export const UnknownNameError = define('UnknownNameError', ShapeError);
export const LimitError = define('LimitError');
export const FileError = define('FileError');

// By samara_status, or by its tens.
export const KINDS = { 10: ShapeError, 11: ShapeError, 12: UnknownNameError, 2: ModelFormatError,
  3: UnsupportedError, 40: LimitError, 41: LimitError };
