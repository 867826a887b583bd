// SPDX-License-Identifier: Apache-2.0
// Coordinates and weights of resize.
#include "base/fp.h"

#include "ops/resample/resize_axis.h"

#include "base/checked.h"

#include <assert.h>
#include <math.h>

static double resize_clamp(double x, double lo, double hi) { return x < lo ? lo : x > hi ? hi : x; }

// Coordinate of output `o` in the input.
static double resize_coordinate(const struct smr_resize_spec *spec, int64_t o) {
  const double x = (double)o, in = (double)spec->in, out = (double)spec->out;
  const double half = (x + 0.5) / spec->scale - 0.5;
  switch (spec->coordinate) {
    case SMR_RESIZE_ALIGN_CORNERS:
      return spec->out > 1 ? x * (in - 1) / (out - 1) : 0;
    case SMR_RESIZE_ASYMMETRIC:
      return x / spec->scale;
    case SMR_RESIZE_TF_HALF_PIXEL_FOR_NN:
      return (x + 0.5) / spec->scale;
    case SMR_RESIZE_TF_CROP_AND_RESIZE:
      if (spec->out > 1)
        return spec->begin * (in - 1) + x * (spec->end - spec->begin) * (in - 1) / (out - 1);
      return 0.5 * (spec->begin + spec->end) * (in - 1);
    case SMR_RESIZE_PYTORCH_HALF_PIXEL:
      return spec->out > 1 ? half : 0;
    case SMR_RESIZE_HALF_PIXEL_SYMMETRIC:
      return half + in / 2 * (1 - out / (spec->scale * in));
    default:
      return half;
  }
}

static double resize_round(enum smr_resize_rounding rounding, double x) {
  switch (rounding) {
    case SMR_RESIZE_ROUND_PREFER_FLOOR:
      return ceil(x - 0.5);
    case SMR_RESIZE_ROUND_PREFER_CEIL:
      return floor(x + 0.5);
    case SMR_RESIZE_FLOOR:
      return floor(x);
    default:
      return ceil(x);
  }
}

static double resize_cubic(double d, double a) {
  d = fabs(d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((d - 5) * d + 8) * d * a - 4 * a : 0;
}

static double resize_linear(double d) { return fabs(d) < 1 ? 1 - fabs(d) : 0; }

// Factor by which an antialiasing filter is widened.
static double resize_shrink(const struct smr_resize_spec *spec) {
  return spec->antialias && spec->scale < 1 ? spec->scale : 1;
}

// Reach of the filter to each side. Limited to 2^20 beyond the input: there it only repeats the
// edge.
static int64_t resize_radius(const struct smr_resize_spec *spec) {
  const double reach = spec->mode == SMR_RESIZE_LINEAR ? 1 : 2;
  return (int64_t)resize_clamp(ceil(reach / resize_shrink(spec)), 1, 1 << 20);
}

size_t smr_resize_reach(const struct smr_resize_spec *spec) {
  return spec->mode == SMR_RESIZE_NEAREST ? 1 : (size_t)(2 * resize_radius(spec) + 2);
}

int64_t smr_resize_width(const struct smr_resize_spec *spec) {
  const int64_t reach = (int64_t)smr_resize_reach(spec);
  return reach < spec->in ? reach : spec->in;
}

void smr_resize_taps(const struct smr_resize_spec *spec, int64_t o, int32_t *first, int32_t *count,
                     float *weights, double *scratch) {
  const double last = (double)(spec->in - 1), given = resize_coordinate(spec, o);
  if (spec->coordinate == SMR_RESIZE_TF_CROP_AND_RESIZE && (given < 0 || given > last)) {
    *first = *count = 0;
    return;
  }
  if (spec->mode == SMR_RESIZE_NEAREST) {
    *first = (int32_t)resize_clamp(resize_round(spec->rounding, given), 0, last);
    *count = 1;
    return;
  }
  // Far outside, only the edge value counts; clamp to stay in range.
  const double at = resize_clamp(given, -0x1p40, 0x1p40), base = floor(at);
  const int64_t radius = resize_radius(spec), lowest = (int64_t)base - radius;
  const double shrink = resize_shrink(spec);
  const int64_t begin = (int64_t)resize_clamp((double)lowest, 0, last);
  const int64_t end = (int64_t)resize_clamp((double)(lowest + 2 * radius + 1), 0, last) + 1;
  for (int64_t i = 0; i < end - begin; i++) scratch[i] = 0;
  double sum = 0;
  for (int64_t i = lowest; i <= lowest + 2 * radius + 1; i++) {
    const double distance = ((double)i - at) * shrink;
    if (spec->exclude_outside && (i < 0 || i >= spec->in)) continue;
    const double w = spec->mode == SMR_RESIZE_LINEAR ? resize_linear(distance)
                                                     : resize_cubic(distance, spec->cubic_a);
    sum += w;
    scratch[(i < begin ? begin : i < end ? i : end - 1) - begin] += w;
  }
  const double by = spec->exclude_outside || spec->antialias ? sum : 1;
  int64_t from = begin, to = end;
  while (from < to - 1 && scratch[from - begin] == 0) from++;
  while (to > from + 1 && scratch[to - 1 - begin] == 0) to--;
  for (int64_t i = from; i < to; i++) weights[i - from] = (float)(scratch[i - begin] / by);
  *first = (int32_t)from;
  *count = (int32_t)(to - from);
}

// Coordinates increase from output to output, or decrease in a reversed region. So the outputs
// whose filter covers an input are consecutive, `first` and `count` give their range, and all
// ranges together have at most outputs times width entries.
size_t smr_resize_adjoint_weights(const struct smr_resize_spec *spec) {
  size_t weights;
  if (!smr_mul_size((size_t)spec->out, (size_t)smr_resize_width(spec), &weights)) return 0;
  return weights;
}

size_t smr_resize_adjoint_scratch(const struct smr_resize_spec *spec) {
  return (size_t)smr_resize_width(spec) * (sizeof(double) + sizeof(float));
}

// Compute the taps of output `o`. Returns their weights, stored in `scratch`.
static const float *resize_adjoint_taps(const struct smr_resize_spec *spec, int64_t o,
                                        int32_t *first, int32_t *count, void *scratch) {
  double *sums = (double *)scratch;
  float *weights = (float *)(void *)(sums + smr_resize_width(spec));
  smr_resize_taps(spec, o, first, count, weights, sums);
  if (spec->mode == SMR_RESIZE_NEAREST) weights[0] = 1.0f;
  return weights;
}

void smr_resize_adjoint_begin(const struct smr_resize_spec *spec,
                              const struct smr_resize_adjoint *adjoint) {
  for (int64_t i = 0; i < spec->in; i++) adjoint->first[i] = adjoint->count[i] = 0;
}

void smr_resize_adjoint_extend(const struct smr_resize_spec *spec,
                               const struct smr_resize_adjoint *adjoint, int64_t o, void *scratch) {
  int32_t first, count;
  resize_adjoint_taps(spec, o, &first, &count, scratch);
  for (int32_t i = first; i < first + count; i++) {
    if (adjoint->count[i] == 0) adjoint->first[i] = (int32_t)o;
    adjoint->count[i] = (int32_t)o - adjoint->first[i] + 1;
  }
}

void smr_resize_adjoint_place(const struct smr_resize_spec *spec,
                              const struct smr_resize_adjoint *adjoint) {
  size_t at = 0;
  for (int64_t i = 0; i < spec->in; i++) {
    adjoint->offset[i] = at;
    at += (size_t)adjoint->count[i];
  }
  assert(at <= smr_resize_adjoint_weights(spec));
  for (size_t k = 0; k < at; k++) adjoint->weights[k] = 0;
}

void smr_resize_adjoint_fill(const struct smr_resize_spec *spec,
                             const struct smr_resize_adjoint *adjoint, int64_t o, void *scratch) {
  int32_t first, count;
  const float *weights = resize_adjoint_taps(spec, o, &first, &count, scratch);
  for (int32_t i = 0; i < count; i++) {
    const size_t input = (size_t)(first + i);
    adjoint->weights[adjoint->offset[input] + (size_t)(o - adjoint->first[input])] = weights[i];
  }
}
