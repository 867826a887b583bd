// SPDX-License-Identifier: Apache-2.0
// Whether the bytes of a file are those that its writer wrote; known to the files of this room
// only.
//
// The program part has a checksum in the header. A file of version 0.6 or later is *sealed*: the
// end of its program part repeats the first bytes of the header, every segment has checksums, and
// what lies between segments is zero. docs/reference/format.md has the details.
#ifndef SMR_MODEL_VERIFY_H
#define SMR_MODEL_VERIFY_H

#include "model/model.h"

enum {
  SMR_HEADER_BYTES = 64,
  SMR_SUM_CHUNK = 1 << 20,  // bytes of a segment for one checksum
};

/// The bytes that a model is made of, while it is open.
struct smr_image {
  const uint8_t *data;     // the whole file
  uint64_t size_bytes;     // as the header says
  const uint8_t *program;  // its first part: a copy, or where it lies in `data`
  size_t program_bytes;
  bool sealed;
};

/// Compare the program part with its checksum. BAD_CHECKSUM.
samara_status smr_verify_program(const struct smr_image *image, samara_error *error);

/// Set image->sealed from the end of the program part. BAD_CHECKSUM where that says another root
/// than the header.
samara_status smr_verify_seal(struct smr_image *image, samara_error *error);

/// Compare everything behind the program part of a sealed file with its checksums. BAD_CHECKSUM
/// says what is damaged.
samara_status smr_verify_data(const samara_model *model, const struct smr_image *image,
                              samara_error *error);

#endif
