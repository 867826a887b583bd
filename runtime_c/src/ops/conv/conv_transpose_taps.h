// SPDX-License-Identifier: Apache-2.0
// Taps by the remainder they leave, along each axis: "classes" of taps, met by "phases" of output
// pixels. See conv_transpose.h.
#ifndef SMR_OPS_CONV_TRANSPOSE_TAPS_H
#define SMR_OPS_CONV_TRANSPOSE_TAPS_H

#include "ops/conv/conv_transpose.h"

/// Along an axis the taps t, t + period, t + 2 period ... leave the same remainder, and no others
/// do: they are class t mod period.
int64_t smr_conv_transpose_period(const struct smr_window *w, uint32_t axis);

/// Taps of a class; class 0 has most.
size_t smr_conv_transpose_count(const struct smr_conv_transpose *conv, uint32_t axis,
                                int64_t class);

/// The tap of the kernel at a position of the packed weights.
size_t smr_conv_transpose_source_tap(const struct smr_job *job, size_t packed);

/// The taps that one phase of output pixels meets, as a box.
struct smr_conv_transpose_box {
  int64_t class[SMR_MAX_SPATIAL];
  size_t count[SMR_MAX_SPATIAL];
  size_t taps;
  size_t first;  // packed index of its first tap
};

/// The box of the phase of output pixel `out`; counts are 0 where it meets none.
struct smr_conv_transpose_box smr_conv_transpose_box_of(const struct smr_conv_transpose *conv,
                                                        const int64_t *out);

#endif
