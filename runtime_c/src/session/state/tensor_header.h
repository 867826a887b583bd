// SPDX-License-Identifier: Apache-2.0
// The header of a file of named tensors in the safetensors format. The reader trusts nothing.
//
//   uint64 little-endian   bytes of the header
//   header                 JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0,
//   24]},
//                          "__metadata__": {"key": "text"}}, padded with spaces
//   data                   what data_offsets count in
#ifndef SMR_SESSION_TENSOR_HEADER_H
#define SMR_SESSION_TENSOR_HEADER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  SMR_HEADER_PREFIX_BYTES = 8,
  SMR_HEADER_MAX_BYTES = 100000000,  // limit of other readers of the format
};

/// A name that tensors must not have.
#define SMR_HEADER_METADATA "__metadata__"

/// One tensor. The name is decoded, NUL-terminated and valid UTF-8, and lies in the header's
/// buffer.
struct smr_header_row {
  const char *name;
  uint64_t begin, end;  // bytes of the data
  int64_t dims[SAMARA_MAX_RANK];
  uint8_t dtype;  // samara_dtype; int8 for I8, whether quantized or not
  uint8_t rank;
};

struct smr_header {
  char *text, *at, *end;
  uint64_t data_bytes;
  samara_error *error;
  bool started, metadata;
};

/// Begin to read the `size_bytes` bytes of JSON in `text`, which are overwritten. `data_bytes` of
/// data follow them in the file.
samara_status smr_header_open(struct smr_header *header, char *text, size_t size_bytes,
                              uint64_t data_bytes, samara_error *error);
/// Read the next tensor; *found is false after the last. Its bytes are inside the data and match
/// its dtype and dims; the caller must check that names are unique and that tensors do not overlap.
/// BAD_MODEL says what was expected at which byte. UNSUPPORTED for a dtype that samara lacks.
samara_status smr_header_next(struct smr_header *header, struct smr_header_row *row, bool *found);

/// Name of a samara_dtype in a header.
const char *smr_header_dtype_name(uint8_t dtype);

#endif
