// SPDX-License-Identifier: Apache-2.0
// Where resize finds the elements of an output axis, for every mode and kind of coordinate.
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

/// One spatial axis. All arithmetic on it is float64, as in the operator's definition.
struct smr_resize_spec {
  enum smr_resize_mode mode;
  enum smr_resize_coordinate coordinate;
  enum smr_resize_rounding rounding;  // of NEAREST
  int64_t in, out;                    // extents; in >= 1
  double scale;                       // output by input, finite and positive
  double begin, end;                  // TF_CROP_AND_RESIZE: the region, in units of the input
  double cubic_a;
  bool exclude_outside;
  bool antialias;
};

/// Input elements that one output element can meet at most.
int64_t smr_resize_width(const struct smr_resize_spec *spec);

/// Steps that smr_resize_taps takes: elements that the filter spans, also beyond the input's ends.
size_t smr_resize_reach(const struct smr_resize_spec *spec);

/// The taps of output `o`: the first input element, how many, and their weights. A count of 0 says
/// that it lies outside (TF_CROP_AND_RESIZE alone). `weights` and `scratch` have room for
/// smr_resize_width; NEAREST uses neither.
void smr_resize_taps(const struct smr_resize_spec *spec, int64_t o, int32_t *first, int32_t *count,
                     float *weights, double *scratch);

/// The taps of one axis the other way round: where each input element's outputs are. Input i meets
/// outputs first[i] to first[i] + count[i] - 1 with weights[offset[i]] on (0 for one in between
/// that misses it). `first`, `count` and `offset` have an element per input; `weights` has room for
/// smr_resize_adjoint_weights.
struct smr_resize_adjoint {
  int32_t *first, *count;
  size_t *offset;
  float *weights;
};

/// Room that the weights of an adjoint need at most; 0 when they do not fit memory.
size_t smr_resize_adjoint_weights(const struct smr_resize_spec *spec);

/// Scratch of smr_resize_adjoint_extend and _fill, in bytes, aligned as a double.
size_t smr_resize_adjoint_scratch(const struct smr_resize_spec *spec);

/// In this order: begin; extend for every output in turn; place; fill for every output.
void smr_resize_adjoint_begin(const struct smr_resize_spec *spec,
                              const struct smr_resize_adjoint *adjoint);
void smr_resize_adjoint_extend(const struct smr_resize_spec *spec,
                               const struct smr_resize_adjoint *adjoint, int64_t o, void *scratch);
void smr_resize_adjoint_place(const struct smr_resize_spec *spec,
                              const struct smr_resize_adjoint *adjoint);
void smr_resize_adjoint_fill(const struct smr_resize_spec *spec,
                             const struct smr_resize_adjoint *adjoint, int64_t o, void *scratch);

#endif
