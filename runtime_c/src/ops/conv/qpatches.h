// SPDX-License-Identifier: Apache-2.0
// Gathers the bytes that output pixels of a convolution meet into rows.
#ifndef SMR_OPS_QPATCHES_H
#define SMR_OPS_QPATCHES_H

#include "ops/conv/window.h"
#include "ops/deadline.h"

/// What rows are made of.
struct smr_qpatches {
  const struct smr_window *window;
  const int8_t *x;          // [N, in, groups * channels]
  size_t pixel_stride;      // bytes between pixels of x
  size_t groups, channels;  // channels of one group
  int8_t zero;              // padding
  size_t row_stride;        // bytes between rows
};

/// For output pixels [first, first + count) in the order (n, depth, height, width): a row
/// [groups][taps][channels] each.
samara_status smr_qpatches_gather(struct smr_deadline_watch *watch,
                                  const struct smr_qpatches *patches, size_t first, size_t count,
                                  int8_t *rows);

#endif
