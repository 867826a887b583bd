// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions of all types: phases of output pixels, and how they are computed.
//
// Along an axis, output pixel o meets tap t of the kernel where o + pad - t * dilation is a
// multiple of the stride. Outputs of one remainder of o + pad ("phase") meet the same taps
// ("class"), and form an ordinary convolution with them. Weights are packed class by class; a row
// of outputs is computed as one product over pointers per phase, written with a step of `stride`
// pixels. No work is spent on taps that meet nothing, and no scatter needs a second pass.
#ifndef SMR_OPS_CONV_PHASES_H
#define SMR_OPS_CONV_PHASES_H

#include "ops/conv/window.h"
#include "ops/deadline.h"

/// First member of the state of conv_transpose, conv_grad_input and qconv_transpose.
struct smr_conv_phases {
  struct smr_window window;         // in: x; out: the output
  size_t groups, channels, n;       // channels of one group, in and out
  bool depthwise;                   // one channel in and out per group, of more than one group
  bool flipped;                     // taps of a class are packed from the last to the first
  int64_t period[SMR_MAX_SPATIAL];  // taps t and t + period are of one class
  size_t rows;                      // of output in a tile
};

/// Read the geometry into the start of job->state; channels are those of one group.
samara_status smr_conv_phases_read(struct smr_job *job, const struct smr_attrs_window *attrs,
                                   int64_t groups, int64_t channels, int64_t n);

/// The key of weights in packed order, which follows from strides and dilations; 0 where they are
/// too large. `by_channel`: depthwise weights, whose number of groups the weights say.
uint32_t smr_conv_phases_key(const struct smr_conv_phases *phases, bool by_channel);

/// Along an axis the taps t, t + period, t + 2 period ... leave the same remainder, and no others
/// do: they are class t mod period.
int64_t smr_conv_phases_period(const struct smr_window *w, uint32_t axis);

/// Taps of a class; class 0 has most.
size_t smr_conv_phases_count(const struct smr_conv_phases *phases, uint32_t axis, int64_t class);

/// Whether some phase along an axis meets no tap: of a remainder that taps do not leave, or of more
/// than there are.
bool smr_conv_phases_has_empty(const struct smr_conv_phases *phases, uint32_t axis);

/// The tap of the kernel at a position of the packed weights.
size_t smr_conv_phases_source_tap(const struct smr_job *job, size_t packed);

/// The taps that one phase of output pixels meets, as a box.
struct smr_conv_phases_box {
  int64_t class[SMR_MAX_SPATIAL];
  size_t count[SMR_MAX_SPATIAL];
  size_t taps;
  size_t first;  // packed index of its first tap
};

/// The box of the phase of output pixel `out`; counts are 0 where it meets none.
struct smr_conv_phases_box smr_conv_phases_box_of(const struct smr_conv_phases *phases,
                                                  const int64_t *out);

/// Input position that output position `at` meets through tap `index` of the box; it may lie
/// outside.
int64_t smr_conv_phases_meets(const struct smr_conv_phases *phases,
                              const struct smr_conv_phases_box *box, uint32_t axis, int64_t at,
                              size_t index);

/// Cut the output into tiles of some rows: all phases of a row are there, and their products are
/// planned once. Takes pointers of a row from the thread's scratch, sets tiles. `work`: of one tap
/// of a pixel, in multiply-adds.
samara_status smr_conv_phases_cut(struct smr_job *job, double work);

/// A tile of output rows, as the products see it.
struct smr_conv_phases_tile {
  struct smr_deadline_watch *watch;
  size_t image;        // of x
  size_t first_pixel;  // of the output, of row 0 of the image
  int64_t first_row;
  int64_t end_row;
  void *pointers;  // the thread's scratch
};

/// What computes tiles.
struct smr_conv_phases_product {
  /// Once for a tile, before its phases. NULL: nothing.
  void (*clear)(const struct smr_conv_phases_tile *tile);
  /// A phase: of rows out[1], out[1] + stride ... below the tile's end the pixels out[2], out[2] +
  /// stride ...; `out` may be changed.
  samara_status (*phase)(const struct smr_conv_phases_tile *tile,
                         const struct smr_conv_phases_box *box, int64_t *out);
};

/// Tiles [begin, end).
samara_status smr_conv_phases_run(const struct smr_job *job,
                                  const struct smr_conv_phases_product *product, size_t begin,
                                  size_t end, void *thread_scratch);

/// Output pixels of a row of the phase of `out`.
size_t smr_conv_phases_pixels(const struct smr_conv_phases *phases, const int64_t *out);

#endif
