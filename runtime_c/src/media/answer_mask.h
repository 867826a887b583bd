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
  size_t element_bytes;  ///< 1 or 2; the largest number of so many bytes is *unseen*
  size_t classes_bytes;  ///< of the picture's pixels
  size_t scratch_bytes;
};

/// How much memory the mask of a picture takes. BAD_SHAPE where the output does not fit the record,
/// or a side of it is above 16384; BAD_ARGUMENT for a geometry that cannot be.
samara_status smr_answer_mask_size(const struct smr_answer_mask *record,
                                   const struct smr_answer_outputs *outputs,
                                   const struct smr_answer_geometry *geometry,
                                   struct smr_answer_mask_size *size, samara_error *error);

/// Write the class of each pixel, row by row, to `classes`: uint8 or uint16 as the size says,
/// aligned to them. `scratch` is aligned to 8 bytes. BAD_ARGUMENT where one of the two is too
/// small; BAD_DATA for class numbers that the type does not hold.
samara_status smr_answer_mask(const struct smr_answer_mask *record,
                              const struct smr_answer_outputs *outputs,
                              const struct smr_answer_geometry *geometry, void *scratch,
                              size_t scratch_bytes, void *classes, size_t classes_bytes,
                              samara_error *error);

#endif
