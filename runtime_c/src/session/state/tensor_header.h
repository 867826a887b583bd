// SPDX-License-Identifier: Apache-2.0
// The header of a file of named tensors in the safetensors format, read without trusting it.
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
  SMR_HEADER_MAX_BYTES = 100000000,  // what other readers of the format accept
};

/// The name that rows may not have.
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

/// Begin with the `size_bytes` bytes of JSON in `text`, which are overwritten while being read.
/// `data_bytes` follow them.
samara_status smr_header_open(struct smr_header *header, char *text, size_t size_bytes,
                              uint64_t data_bytes, samara_error *error);
/// The next tensor; *found false behind the last. Of a row it holds that its bytes lie in the data
/// and are as many as its dtype and dims say; that rows have names of their own and do not overlap
/// is for the caller to see. BAD_MODEL says at which byte what was expected; UNSUPPORTED for a
/// dtype that samara lacks.
samara_status smr_header_next(struct smr_header *header, struct smr_header_row *row, bool *found);

/// Name of a samara_dtype in a header.
const char *smr_header_dtype_name(uint8_t dtype);

#endif
