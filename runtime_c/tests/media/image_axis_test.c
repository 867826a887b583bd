// SPDX-License-Identifier: Apache-2.0
// Tests the weights of resizing against their formulas over all old pixels.
#include "base/fp.h"

#include "media/image.h"

#include "harness.h"
#include "kernels/kernel_data.h"
#include "media/image_naive.h"

enum { MOST = SAMARA_MAX_SIDE, SAMPLED = 24, FILTERS = 4 };
static const struct {
  samara_image_filter filter;
  bool antialias;
} filters[FILTERS] = {{SAMARA_BILINEAR, false},
                      {SAMARA_BILINEAR, true},
                      {SAMARA_NEAREST, false},
                      {SAMARA_AREA, false}};

// An axis in a block of exactly its size.
struct made {
  struct smr_image_axis axis;
  uint8_t *block;
};

static struct made make(int filter, uint32_t from, uint32_t to, uint32_t first, uint32_t count) {
  struct smr_bump bump = {.base = NULL};
  struct made m;
  smr_image_axis(filters[filter].filter, filters[filter].antialias, from, to, first, count, &bump,
                 &m.axis);
  const size_t bytes = bump.used;
  const uint32_t taps = m.axis.taps;
  m.block = kernel_alloc(bytes, 0);
  bump = (struct smr_bump){.base = m.block, .capacity = bytes};
  smr_image_axis(filters[filter].filter, filters[filter].antialias, from, to, first, count, &bump,
                 &m.axis);
  CHECK(!bump.overflow && bump.used == bytes && m.axis.taps == taps && m.axis.count == count);
  return m;
}

// Whether new pixel `d`, which is entry `at`, has the weights of the formulas.
static int pixel_is(const struct smr_image_axis *axis, int filter, uint32_t from, uint32_t to,
                    uint32_t at, uint32_t d) {
  static int64_t want[MOST];
  const samara_image_record record = {.filter = filters[filter].filter,
                                      .antialias = filters[filter].antialias};
  const uint32_t start = axis->starts[at];
  const int16_t *weights = axis->weights + (size_t)at * axis->taps;
  if (axis->taps > from || start > from - axis->taps) return 0;
  naive_weights(&record, from, to, d, want);
  int64_t sum = 0;
  int right = 1;
  for (uint32_t i = 0; i < from; i++) {
    const bool inside = i >= start && i - start < axis->taps;
    const int64_t own = inside ? weights[i - start] : 0;
    right = right && own == want[i] && own >= 0;
    sum += own;
  }
  return right && sum == 1 << SMR_IMAGE_WEIGHT_BITS;
}

// The most old pixels that a new one covers.
static uint32_t covered(uint32_t from, uint32_t to) {
  uint64_t most = 0;
  for (uint64_t d = 0; d < to; d++) {
    const uint64_t own = ((d + 1) * from + to - 1) / to - d * from / to;
    most = own > most ? own : most;
  }
  return (uint32_t)most;
}

// No more taps than the filter is wide, because memory and time grow with them.
static int is_narrow(const struct smr_image_axis *axis, int filter, uint32_t from, uint32_t to) {
  const uint32_t bounds[FILTERS] = {2, 2 * ((from + to - 1) / to) + 1, 1, covered(from, to)};
  return axis->taps <= bounds[filter];
}

static void check_axis(int filter, uint32_t from, uint32_t to) {
  const struct made m = make(filter, from, to, 0, to);
  int right = CHECK(is_narrow(&m.axis, filter, from, to));
  const bool all = (uint64_t)from * to <= 1 << 16;
  for (uint32_t k = 0; k < (all ? to : SAMPLED) && k < to; k++) {
    const uint32_t spread = (uint32_t)((uint64_t)k * (to - 1) / (SAMPLED - 1));
    const uint32_t d = all ? k : spread;
    right &= CHECK(pixel_is(&m.axis, filter, from, to, d, d));
  }
  if (!right)
    fprintf(stderr, "  filter %d, %u to %u pixels\n", filter, (unsigned)from, (unsigned)to);
  kernel_free(m.block, 0);
}

SMR_TEST(small_axes) {
  for (int filter = 0; filter < FILTERS; filter++)
    for (uint32_t from = 1; from <= 40; from++)
      for (uint32_t to = 1; to <= 40; to++) check_axis(filter, from, to);
}

SMR_TEST(large_axes) {
  static const uint32_t sides[] = {1, 2, 3, 7, 127, 5461, 16383, 16384};
  enum { SIDES = sizeof sides / sizeof sides[0] };
  for (int filter = 0; filter < FILTERS; filter++)
    for (int k = 0; k < SIDES * SIDES; k++) check_axis(filter, sides[k / SIDES], sides[k % SIDES]);
}

// A crop keeps some of the new pixels, with unchanged weights.
SMR_TEST(parts_of_axes) {
  static const uint32_t parts[][4] = {{640, 341, 58, 224},    {9, 40, 39, 1}, {16384, 5, 1, 3},
                                      {5, 16384, 16000, 384}, {40, 7, 6, 1},  {3, 30, 10, 2}};
  for (int filter = 0; filter < FILTERS; filter++) {
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
      const uint32_t *p = parts[k];
      const struct made m = make(filter, p[0], p[1], p[2], p[3]);
      int right = 1;
      for (uint32_t d = 0; d < p[3]; d++)
        right = right && pixel_is(&m.axis, filter, p[0], p[1], d, p[2] + d);
      if (!CHECK(right)) fprintf(stderr, "  filter %d, part %zu\n", filter, k);
      kernel_free(m.block, 0);
    }
  }
}

// Small cases with known weights.
SMR_TEST(known_weights) {
  struct made m = make(0, 2, 4, 0, 4);  // centres at -0.25, 0.25, 0.75, 1.25
  static const int16_t doubled[4][2] = {{16384, 0}, {12288, 4096}, {4096, 12288}, {0, 16384}};
  REQUIRE(m.axis.taps == 2);
  CHECK_MEM(m.axis.weights, doubled, sizeof doubled);
  kernel_free(m.block, 0);
  m = make(3, 3, 2, 0, 2);  // a pixel and a half each
  static const int16_t thirds[2][2] = {{10923, 5461}, {5461, 10923}};
  REQUIRE(m.axis.taps == 2);
  CHECK_MEM(m.axis.weights, thirds, sizeof thirds);
  CHECK(m.axis.starts[0] == 0 && m.axis.starts[1] == 1);
  kernel_free(m.block, 0);
  m = make(2, 7, 3, 0, 3);
  CHECK(m.axis.taps == 1 && m.axis.starts[0] == 1 && m.axis.starts[1] == 3 &&
        m.axis.starts[2] == 5);
  kernel_free(m.block, 0);
  m = make(3, MOST, 1, 0, 1);  // a weight of one for every pixel
  CHECK_EQ_INT(m.axis.taps, MOST);
  for (int i = 0; i < MOST; i++) CHECK_EQ_INT(m.axis.weights[i], 1);
  kernel_free(m.block, 0);
}

SMR_TEST_MAIN(RUN(small_axes); RUN(large_axes); RUN(parts_of_axes); RUN(known_weights))
