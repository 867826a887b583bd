// SPDX-License-Identifier: Apache-2.0
// Coordinates, weights and slopes of grid_sample, with the conventions of PyTorch's grid_sample.
#include "base/fp.h"

#include "ops/resample/grid_taps.h"

#include <math.h>

enum { GRID_AXIS_TAPS = 4 };

static const double grid_cubic_a = -0.75;  // as in PyTorch and ONNX

// Taps along one axis.
struct grid_axis {
  uint32_t count;
  int64_t index[GRID_AXIS_TAPS];
  double weight[GRID_AXIS_TAPS], slope[GRID_AXIS_TAPS];
};

// floor(x) in a few instructions.
static inline double grid_floor(double x) {
  if (!(x > -0x1p52 && x < 0x1p52)) return x;  // already an integer, or NaN
  const double whole = (double)(int64_t)x;
  return whole - (double)(whole > x);
}

// Reflect x at low and high until it is between them. `slope` changes sign with each reflection.
static double grid_reflect(double x, double low, double high, double *slope) {
  const double span = high - low;
  if (span <= 0) {
    *slope = 0;
    return 0;
  }
  x -= low;
  if (x < 0) {
    x = -x;
    *slope = -*slope;
  }
  const double beyond = fmod(x, span);
  if (fmod(grid_floor(x / span), 2) == 0) return beyond + low;
  *slope = -*slope;
  return span - beyond + low;
}

// The coordinate after padding.
static double grid_pad(const struct smr_grid_spec *spec, double size, double x, double *slope) {
  if (spec->padding == SMR_GRID_ZEROS) return x;
  if (spec->padding == SMR_GRID_REFLECTION)
    x = spec->align_corners ? grid_reflect(x, 0, size - 1, slope)
                            : grid_reflect(x, -0.5, size - 0.5, slope);
  if (x > 0 && x < size - 1) return x;
  *slope = 0;
  return x <= 0 ? 0 : x >= size - 1 ? size - 1 : x;  // NaN passes through
}

// Add a tap unless it is outside; NaN is outside.
static void grid_tap(struct grid_axis *axis, double size, double at, double weight, double slope) {
  if (!(at >= 0 && at < size)) return;
  axis->index[axis->count] = (int64_t)at;
  axis->weight[axis->count] = weight;
  axis->slope[axis->count] = slope;
  axis->count++;
}

// The cubic convolution kernel and its slope at distance d.
static double grid_cubic(double d, double *slope) {
  const double a = grid_cubic_a, x = fabs(d), sign = d < 0 ? -1 : 1;
  if (x <= 1) {
    *slope = sign * ((3 * (a + 2) * x - 2 * (a + 3)) * x);
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  }
  *slope = sign * ((3 * a * x - 10 * a) * x + 8 * a);
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

static void grid_axis_taps(const struct smr_grid_spec *spec, uint32_t axis, double given,
                           struct grid_axis *taps) {
  const double size = (double)spec->sizes[axis];
  const double x =
      spec->align_corners ? (given + 1) / 2 * (size - 1) : ((given + 1) * size - 1) / 2;
  double slope = spec->align_corners ? (size - 1) / 2 : size / 2;
  taps->count = 0;
  if (spec->mode == SMR_GRID_NEAREST) {
    // Rounds half to even in any rounding mode, without data-dependent branches.
    const double padded = grid_pad(spec, size, x, &slope);
    double at = grid_floor(padded + 0.5);
    const double up = at - padded;
    if (up > 0.5 || (up == 0.5 && fmod(at, 2) != 0)) at -= 1;
    grid_tap(taps, size, at, 1, 0);
  } else if (spec->mode == SMR_GRID_LINEAR) {
    const double padded = grid_pad(spec, size, x, &slope), below = grid_floor(padded);
    grid_tap(taps, size, below, below + 1 - padded, -slope);
    grid_tap(taps, size, below + 1, padded - below, slope);
  } else {
    // Weights depend on the coordinate itself; padding applies to the elements.
    const double below = grid_floor(x);
    for (int i = -1; i <= 2; i++) {
      double cubic, unused = 0;
      const double weight = grid_cubic(x - below - i, &cubic);
      grid_tap(taps, size, grid_pad(spec, size, below + i, &unused), weight, slope * cubic);
    }
  }
}

// Add the products of tap `i` of the first axis, tap `j` of the second, and each tap of the third.
static inline void grid_row(const struct smr_grid_spec *spec, const struct grid_axis *along,
                            uint32_t i, uint32_t j, bool slopes, struct smr_grid_taps *taps) {
  const size_t at =
      (size_t)along[0].index[i] * spec->strides[0] + (size_t)along[1].index[j] * spec->strides[1];
  const double both = along[0].weight[i] * along[1].weight[j];
  const double first = along[0].slope[i] * along[1].weight[j];
  const double second = along[0].weight[i] * along[1].slope[j];
  if (spec->axes == 2) {
    const size_t to = taps->count++;
    taps->offsets[to] = at;
    taps->weights[to] = (float)both;
    if (!slopes) return;
    taps->slopes[0][to] = (float)second;
    taps->slopes[1][to] = (float)first;
    return;
  }
  const struct grid_axis *inner = &along[2];
  for (uint32_t k = 0; k < inner->count; k++) {
    const size_t to = taps->count++;
    taps->offsets[to] = at + (size_t)inner->index[k] * spec->strides[2];
    taps->weights[to] = (float)(both * inner->weight[k]);
    if (!slopes) continue;
    taps->slopes[0][to] = (float)(both * inner->slope[k]);
    taps->slopes[1][to] = (float)(second * inner->weight[k]);
    taps->slopes[2][to] = (float)(first * inner->weight[k]);
  }
}

static inline void grid_taps_of(const struct smr_grid_spec *spec, const float *point, bool slopes,
                                struct smr_grid_taps *taps) {
  struct grid_axis along[SMR_GRID_AXES];
  for (uint32_t axis = 0; axis < spec->axes; axis++)
    grid_axis_taps(spec, axis, (double)point[spec->axes - 1 - axis], &along[axis]);
  taps->count = 0;
  for (uint32_t i = 0; i < along[0].count; i++)
    for (uint32_t j = 0; j < along[1].count; j++) grid_row(spec, along, i, j, slopes, taps);
}

void smr_grid_taps(const struct smr_grid_spec *spec, const float *point,
                   struct smr_grid_taps *taps) {
  grid_taps_of(spec, point, false, taps);
}

void smr_grid_taps_and_slopes(const struct smr_grid_spec *spec, const float *point,
                              struct smr_grid_taps *taps) {
  grid_taps_of(spec, point, true, taps);
}
