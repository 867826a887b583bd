// SPDX-License-Identifier: Apache-2.0
// The pixels that grid_sample reads for a point of its grid, with their weights and slopes.
#ifndef SMR_OPS_GRID_TAPS_H
#define SMR_OPS_GRID_TAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum smr_grid_mode { SMR_GRID_LINEAR, SMR_GRID_NEAREST, SMR_GRID_CUBIC };
enum smr_grid_padding { SMR_GRID_ZEROS, SMR_GRID_BORDER, SMR_GRID_REFLECTION };

enum {
  SMR_GRID_AXES = 3,
  SMR_GRID_TAPS = 64,  // cubic with three axes
};

/// How a tensor is sampled. Coordinates are computed in float64.
struct smr_grid_spec {
  enum smr_grid_mode mode;
  enum smr_grid_padding padding;
  bool align_corners;
  uint32_t axes;                 // 2 or 3
  int64_t sizes[SMR_GRID_AXES];  // outermost first; each >= 1
  size_t strides[SMR_GRID_AXES];
};

/// The pixels of one point. Pixels outside are omitted.
struct smr_grid_taps {
  size_t count;
  size_t offsets[SMR_GRID_TAPS];  // sums of index times stride
  float weights[SMR_GRID_TAPS];
  float slopes[SMR_GRID_AXES][SMR_GRID_TAPS];  // of the weights along each coordinate of the point
};

/// Compute the taps of `point`: `spec->axes` coordinates, innermost axis first, with -1 and 1 at
/// the ends of the tensor. Does not write slopes.
void smr_grid_taps(const struct smr_grid_spec *spec, const float *point,
                   struct smr_grid_taps *taps);
/// The same with slopes.
void smr_grid_taps_and_slopes(const struct smr_grid_spec *spec, const float *point,
                              struct smr_grid_taps *taps);

#endif
