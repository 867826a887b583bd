// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions of all types: output phases, and how they are computed.
//
// Along an axis, output pixel o uses tap t of the kernel if o + pad - t * dilation is a multiple of
// the stride. Outputs with the same remainder of o + pad are a "phase". They use the same taps, a
// "class", and form an ordinary convolution with them. Weights are packed class by class. A row of
// outputs is computed as one product over pointers per phase, written with a step of `stride`
// pixels. No work is spent on taps that contribute nothing, and no second pass is needed to
// scatter.
#ifndef SMR_OPS_CONV_PHASES_H
#define SMR_OPS_CONV_PHASES_H

#include "ops/conv/window.h"
#include "ops/deadline.h"

/// First member of the state of conv_transpose, conv_grad_input and qconv_transpose.
struct smr_conv_phases {
  struct smr_window window;         // in: x; out: the output
  size_t groups, channels, n;       // channels of one group, in and out
  bool depthwise;                   // one channel in and out per group, of more than one group
  bool flipped;                     // taps of a class are packed in descending order
  int64_t period[SMR_MAX_SPATIAL];  // taps t and t + period are in one class
  size_t rows;                      // output rows per tile
};

/// Read the geometry into the start of job->state. Channels are per group.
samara_status smr_conv_phases_read(struct smr_job *job, const struct smr_attrs_window *attrs,
                                   int64_t groups, int64_t channels, int64_t n);

/// The layout key of weights in packed order, made from strides and dilations; 0 if these are too
/// large. `by_channel`: depthwise weights, whose shape already determines the number of groups.
uint32_t smr_conv_phases_key(const struct smr_conv_phases *phases, bool by_channel);

/// Along an axis, the taps t, t + period, t + 2 period ... and no others leave the same remainder:
/// they are class t mod period.
int64_t smr_conv_phases_period(const struct smr_window *w, uint32_t axis);

/// Number of taps of a class; class 0 has most.
size_t smr_conv_phases_count(const struct smr_conv_phases *phases, uint32_t axis, int64_t class);

/// Whether some phase along an axis has no taps.
bool smr_conv_phases_has_empty(const struct smr_conv_phases *phases, uint32_t axis);

/// The kernel tap at a position in the packed weights.
size_t smr_conv_phases_source_tap(const struct smr_job *job, size_t packed);

/// The taps of one output phase, as a box.
struct smr_conv_phases_box {
  int64_t class[SMR_MAX_SPATIAL];
  size_t count[SMR_MAX_SPATIAL];
  size_t taps;
  size_t first;  // packed index of its first tap
};

/// The box of the phase that output pixel `out` belongs to; counts are 0 if it has no taps.
struct smr_conv_phases_box smr_conv_phases_box_of(const struct smr_conv_phases *phases,
                                                  const int64_t *out);

/// Input position that output position `at` reads through tap `index` of the box. It may lie
/// outside the input.
int64_t smr_conv_phases_meets(const struct smr_conv_phases *phases,
                              const struct smr_conv_phases_box *box, uint32_t axis, int64_t at,
                              size_t index);

/// Divide the output into tiles of whole rows, with all their phases, so that products are planned
/// once. Takes thread scratch for the pointers of a row, sets tiles. `work`: multiply-adds of one
/// tap of a pixel.
samara_status smr_conv_phases_cut(struct smr_job *job, double work);

/// A tile of output rows, as passed to the products.
struct smr_conv_phases_tile {
  struct smr_deadline_watch *watch;
  size_t image;        // index in x
  size_t first_pixel;  // output pixel of row 0 of the image
  int64_t first_row;
  int64_t end_row;
  void *pointers;  // in thread scratch
};

/// The functions that compute tiles.
struct smr_conv_phases_product {
  /// Called once per tile, before its phases. NULL: nothing to do.
  void (*clear)(const struct smr_conv_phases_tile *tile);
  /// Computes one phase: in rows out[1], out[1] + stride ... up to the end of the tile, the pixels
  /// out[2], out[2] + stride ... It may modify `out`.
  samara_status (*phase)(const struct smr_conv_phases_tile *tile,
                         const struct smr_conv_phases_box *box, int64_t *out);
};

/// Run tiles [begin, end).
samara_status smr_conv_phases_run(const struct smr_job *job,
                                  const struct smr_conv_phases_product *product, size_t begin,
                                  size_t end, void *thread_scratch);

/// Number of output pixels in a row of the phase of `out`.
size_t smr_conv_phases_pixels(const struct smr_conv_phases *phases, const int64_t *out);

#endif
