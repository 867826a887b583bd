// SPDX-License-Identifier: Apache-2.0
// The class of every pixel of a picture: docs/guides/postprocessing.md, step 6.
#ifndef SMR_MEDIA_ANSWER_MASK_H
#define SMR_MEDIA_ANSWER_MASK_H

#include "media/answer_elements.h"
#include "media/answer_geometry.h"

#include <stddef.h>

enum smr_answer_layout {
  SMR_ANSWER_NCHW = 0,
  SMR_ANSWER_NHWC = 1,
  SMR_ANSWER_NHW = 2  ///< no channels: class numbers, or numbers for a threshold
};

struct smr_answer_mask {
  uint32_t output;
  enum smr_answer_layout layout;
  bool sigmoid;
  bool limited;  ///< class 1 above `threshold`, else 0
  float threshold;
};

/// Memory that a mask takes.
struct smr_answer_mask_size {
  size_t element_bytes;  /// 1 or 2; 1 or 2; the largest value marks pixels outside of the model's
                         /// view
  size_t classes_bytes;  /// for all pixels of the picture
  size_t scratch_bytes;
};

/// Memory for the mask of a picture. BAD_SHAPE if the output does not fit the record or has a side
/// above 16384. BAD_ARGUMENT for an invalid geometry.
samara_status smr_answer_mask_size(const struct smr_answer_mask *record,
                                   const struct smr_answer_outputs *outputs,
                                   const struct smr_answer_geometry *geometry,
                                   struct smr_answer_mask_size *size, samara_error *error);

/// Write the class of each pixel, row by row, to `classes`: aligned uint8 or uint16 according to
/// element_bytes. `scratch` is aligned to 8 bytes. BAD_ARGUMENT if either is too small. BAD_DATA
/// for class numbers that do not fit the type.
samara_status smr_answer_mask(const struct smr_answer_mask *record,
                              const struct smr_answer_outputs *outputs,
                              const struct smr_answer_geometry *geometry, void *scratch,
                              size_t scratch_bytes, void *classes, size_t classes_bytes,
                              samara_error *error);

#endif
