// SPDX-License-Identifier: Apache-2.0
// Which pixels grid_sample meets at a point of its grid, with which weights and slopes.
#ifndef SMR_OPS_GRID_TAPS_H
#define SMR_OPS_GRID_TAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum smr_grid_mode { SMR_GRID_LINEAR, SMR_GRID_NEAREST, SMR_GRID_CUBIC };
enum smr_grid_padding { SMR_GRID_ZEROS, SMR_GRID_BORDER, SMR_GRID_REFLECTION };

enum {
  SMR_GRID_AXES = 3,
  SMR_GRID_TAPS = 64,  // cubic in three axes
};

/// How a tensor is sampled. All arithmetic on coordinates is float64.
struct smr_grid_spec {
  enum smr_grid_mode mode;
  enum smr_grid_padding padding;
  bool align_corners;
  uint32_t axes;                 // 2 or 3
  int64_t sizes[SMR_GRID_AXES];  // outermost first; each >= 1
  size_t strides[SMR_GRID_AXES];
};

/// The pixels of one point: those that lie outside are left out.
struct smr_grid_taps {
  size_t count;
  size_t offsets[SMR_GRID_TAPS];  // sums of index times stride
  float weights[SMR_GRID_TAPS];
  float slopes[SMR_GRID_AXES][SMR_GRID_TAPS];  // of the weight along each coordinate of the point
};

/// The taps of `point`, `spec->axes` coordinates where -1 and 1 are the tensor's ends, the
/// innermost axis first. Slopes are left alone.
void smr_grid_taps(const struct smr_grid_spec *spec, const float *point,
                   struct smr_grid_taps *taps);
/// The same with slopes.
void smr_grid_taps_and_slopes(const struct smr_grid_spec *spec, const float *point,
                              struct smr_grid_taps *taps);

#endif
