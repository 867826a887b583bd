// SPDX-License-Identifier: Apache-2.0
// The input elements of each output of resize along an axis, for all modes and coordinate rules.
#ifndef SMR_OPS_RESIZE_AXIS_H
#define SMR_OPS_RESIZE_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum smr_resize_mode { SMR_RESIZE_NEAREST, SMR_RESIZE_LINEAR, SMR_RESIZE_CUBIC };

enum smr_resize_coordinate {
  SMR_RESIZE_HALF_PIXEL,
  SMR_RESIZE_HALF_PIXEL_SYMMETRIC,
  SMR_RESIZE_PYTORCH_HALF_PIXEL,
  SMR_RESIZE_ALIGN_CORNERS,
  SMR_RESIZE_ASYMMETRIC,
  SMR_RESIZE_TF_HALF_PIXEL_FOR_NN,
  SMR_RESIZE_TF_CROP_AND_RESIZE,
};

enum smr_resize_rounding {
  SMR_RESIZE_ROUND_PREFER_FLOOR,
  SMR_RESIZE_ROUND_PREFER_CEIL,
  SMR_RESIZE_FLOOR,
  SMR_RESIZE_CEIL,
};

/// One spatial axis. Computed in float64, as the operator is defined.
struct smr_resize_spec {
  enum smr_resize_mode mode;
  enum smr_resize_coordinate coordinate;
  enum smr_resize_rounding rounding;  // of NEAREST
  int64_t in, out;                    // extents; in >= 1
  double scale;                       // output by input; finite and positive
  double begin, end;                  // TF_CROP_AND_RESIZE: the region, relative to the input
  double cubic_a;
  bool exclude_outside;
  bool antialias;
};

/// The most input elements that one output reads.
int64_t smr_resize_width(const struct smr_resize_spec *spec);

/// Steps of smr_resize_taps: elements covered by the filter, including those beyond the input's
/// ends.
size_t smr_resize_reach(const struct smr_resize_spec *spec);

/// Compute the taps of output `o`: the first input element, the number of elements, and their
/// weights. A count of 0 means that the output is outside (only TF_CROP_AND_RESIZE). `weights` and
/// `scratch` need room for smr_resize_width elements; NEAREST uses neither.
void smr_resize_taps(const struct smr_resize_spec *spec, int64_t o, int32_t *first, int32_t *count,
                     float *weights, double *scratch);

/// The inverted taps of an axis: the outputs that read each input element. Outputs first[i] to
/// first[i] + count[i] - 1 read input i, with weights from weights[offset[i]] on (0 for an output
/// in between that does not read it). `first`, `count` and `offset` have an element per input;
/// `weights` needs room for smr_resize_adjoint_weights elements.
struct smr_resize_adjoint {
  int32_t *first, *count;
  size_t *offset;
  float *weights;
};

/// Most weights that an adjoint needs; 0 on overflow.
size_t smr_resize_adjoint_weights(const struct smr_resize_spec *spec);

/// Bytes of scratch for smr_resize_adjoint_extend and _fill, aligned like double.
size_t smr_resize_adjoint_scratch(const struct smr_resize_spec *spec);

/// Call in this order: begin; extend for every output in turn; place; fill for every output.
void smr_resize_adjoint_begin(const struct smr_resize_spec *spec,
                              const struct smr_resize_adjoint *adjoint);
void smr_resize_adjoint_extend(const struct smr_resize_spec *spec,
                               const struct smr_resize_adjoint *adjoint, int64_t o, void *scratch);
void smr_resize_adjoint_place(const struct smr_resize_spec *spec,
                              const struct smr_resize_adjoint *adjoint);
void smr_resize_adjoint_fill(const struct smr_resize_spec *spec,
                             const struct smr_resize_adjoint *adjoint, int64_t o, void *scratch);

#endif
