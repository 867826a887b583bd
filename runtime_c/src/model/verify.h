// SPDX-License-Identifier: Apache-2.0
// Compares a file with its checksums. Private to this folder.
//
// The program part has a checksum in the header. Files of version 0.6 and later are *sealed*: the
// end of the program part repeats the first bytes of the header, every segment has checksums, and
// bytes between segments are zero. See docs/reference/format.md.
#ifndef SMR_MODEL_VERIFY_H
#define SMR_MODEL_VERIFY_H

#include "model/model.h"

enum {
  SMR_HEADER_BYTES = 64,
  SMR_SUM_CHUNK = 1 << 20,  // bytes per checksum of a segment
};

/// The bytes of an open model.
struct smr_image {
  const uint8_t *data;     // the whole file
  uint64_t size_bytes;     // as the header says
  const uint8_t *program;  // the program part: a copy, or in `data`
  size_t program_bytes;
  bool sealed;
};

/// Compare the program part with its checksum. BAD_CHECKSUM.
samara_status smr_verify_program(const struct smr_image *image, samara_error *error);

/// Set image->sealed from the end of the program part. BAD_CHECKSUM if it differs from the header.
samara_status smr_verify_seal(struct smr_image *image, samara_error *error);

/// Compare everything after the program part of a sealed file with its checksums. BAD_CHECKSUM
/// names what is damaged.
samara_status smr_verify_data(const samara_model *model, const struct smr_image *image,
                              samara_error *error);

#endif
