// SPDX-License-Identifier: Apache-2.0
// Integer weights for resizing: step 4 of docs/guides/preprocessing.md.
#include "base/fp.h"

#include "media/image.h"

// A filter that resizes `from` old pixels to `to` new ones.
struct image_filter {
  int64_t from, to;
  samara_image_filter kind;
  bool wide;  // the triangle is as wide as a new pixel
};

// The old pixels that contribute to new pixel d.
struct image_taps {
  int64_t first, count;
};

static int64_t image_clamp(int64_t x, int64_t end) { return x < 0 ? 0 : x < end ? x : end - 1; }

// Rounds down; b > 0.
static int64_t image_floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

static struct image_taps image_taps_of(const struct image_filter *f, int64_t d) {
  const int64_t n = f->from, m = f->to, centre = (2 * d + 1) * n;  // in halves of a new pixel
  int64_t first, last;
  if (f->kind == SAMARA_NEAREST) {
    first = last = centre / (2 * m);
  } else if (SMR_HAS(image_area) && f->kind == SAMARA_AREA) {
    first = d * n / m, last = ((d + 1) * n - 1) / m;
  } else if (SMR_HAS(image_antialias) && f->wide) {
    // abs((2i + 1) m - centre) < 2n
    first = image_floor_div(centre - 2 * n - m, 2 * m) + 1;
    last = image_floor_div(centre + 2 * n - m - 1, 2 * m);
  } else {
    first = image_floor_div(centre - m, 2 * m), last = first + 1;
  }
  first = image_clamp(first, n), last = image_clamp(last, n);
  return (struct image_taps){first, last - first + 1};
}

static int64_t image_raw_weight(const struct image_filter *f, int64_t d, int64_t i) {
  const int64_t n = f->from, m = f->to, centre = (2 * d + 1) * n;
  if (f->kind == SAMARA_NEAREST) return 1;
  if (SMR_HAS(image_area) && f->kind == SAMARA_AREA) {
    const int64_t low = i * m > d * n ? i * m : d * n;
    const int64_t high = (i + 1) * m < (d + 1) * n ? (i + 1) * m : (d + 1) * n;
    return high - low;
  }
  if (SMR_HAS(image_antialias) && f->wide) {
    const int64_t off = (2 * i + 1) * m - centre;
    return 2 * n - (off < 0 ? -off : off);
  }
  const int64_t t = centre - m, at = image_floor_div(t, 2 * m), rest = t - at * 2 * m;
  return (i == image_clamp(at, n) ? 2 * m - rest : 0) + (i == image_clamp(at + 1, n) ? rest : 0);
}

static void image_weights(const struct image_filter *f, int64_t d, struct image_taps taps,
                          int16_t *weights) {
  int64_t all = 0, sum = 0, before = 0;
  for (int64_t k = 0; k < taps.count; k++) all += image_raw_weight(f, d, taps.first + k);
  for (int64_t k = 0; k < taps.count; k++) {
    sum += image_raw_weight(f, d, taps.first + k);
    const int64_t rounded = ((sum << (SMR_IMAGE_WEIGHT_BITS + 1)) + all) / (2 * all);
    weights[k] = (int16_t)(rounded - before);
    before = rounded;
  }
}

void smr_image_axis(samara_image_filter filter, bool antialias, uint32_t from, uint32_t to,
                    uint32_t first, uint32_t count, struct smr_bump *bump,
                    struct smr_image_axis *out) {
  const struct image_filter f = {
      .from = from, .to = to, .kind = filter, .wide = antialias && to < from};
  int64_t taps = 1;
  for (uint32_t d = 0; d < count; d++) {
    const int64_t own = image_taps_of(&f, first + d).count;
    taps = own > taps ? own : taps;
  }
  struct smr_image_axis axis = {.count = count, .taps = (uint32_t)taps};
  axis.starts = smr_bump_take(bump, count, sizeof *axis.starts);
  axis.weights = smr_bump_take(bump, (size_t)count * axis.taps, sizeof *axis.weights);
  for (uint32_t d = 0; d < count && bump->base != NULL; d++) {
    struct image_taps own = image_taps_of(&f, first + d);
    // Near the end the taps begin earlier, so that all are inside the picture.
    const int64_t start = own.first + taps <= from ? own.first : from - taps;
    int16_t *weights = axis.weights + (size_t)d * axis.taps;
    for (int64_t k = 0; k < taps; k++) weights[k] = 0;
    image_weights(&f, first + d, own, weights + (own.first - start));
    axis.starts[d] = (uint32_t)start;
  }
  *out = axis;
}
