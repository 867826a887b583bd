// SPDX-License-Identifier: Apache-2.0
// Tests the plan that pictures of one layout share: memory, taps, tables.
#include "base/fp.h"

#include "media/image.h"

#include <math.h>

#include "base/isa.h"
#include "harness.h"
#include "kernels/kernel_data.h"

static uint8_t pixels[4 * 100 * 100];

static samara_image picture(samara_image_format format, uint32_t width, uint32_t height) {
  samara_image i = {.struct_size = sizeof i, .format = format, .width = width, .height = height};
  for (int p = 0; p < 3; p++)
    i.planes[p] = (samara_plane){.data = pixels, .size_bytes = sizeof pixels};
  return i;
}

static samara_image_record resized(uint32_t width, uint32_t height, samara_image_filter filter) {
  return (samara_image_record){.struct_size = sizeof(samara_image_record),
                               .colour = SAMARA_COLOUR_RGB,
                               .dtype = SAMARA_UINT8,
                               .layout = SAMARA_NHWC,
                               .filter = filter,
                               .resize = SAMARA_RESIZE_SIZE,
                               .resize_width = width,
                               .resize_height = height};
}

struct made {
  struct smr_image_source source;
  struct smr_image_plan plan;
  uint8_t *block;
  size_t bytes;
};

static struct made make(const samara_image_record *r, const samara_image *image, size_t threads) {
  struct made m;
  struct smr_image_sizes sizes;
  struct smr_bump bump = {.base = NULL};
  CHECK_EQ_INT(smr_image_source(image, r, &m.source, NULL), SAMARA_OK);
  CHECK_EQ_INT(smr_image_sizes(r, smr_image_old_width(&m.source), smr_image_old_height(&m.source),
                               &sizes, NULL),
               SAMARA_OK);
  smr_image_plan(r, &sizes, &m.source, smr_cpu_isa(), threads, &bump, &m.plan);
  m.bytes = bump.used;
  m.block = kernel_alloc(m.bytes, 0);
  bump = (struct smr_bump){.base = m.block, .capacity = m.bytes};
  smr_image_plan(r, &sizes, &m.source, smr_cpu_isa(), threads, &bump, &m.plan);
  CHECK(!bump.overflow && bump.used == m.bytes);
  return m;
}

// Every thread has scratch of its own, in the block, cleared.
SMR_TEST(memory) {
  for (int k = 0; k < 3 * 4 * 3; k++) {
    const samara_image_record r = resized(31, 9, (samara_image_filter)(k % 3 + 1));
    samara_image image = picture(SAMARA_NV12, 64, 50);
    image.rotation = 90 * (uint32_t)(k / 3 % 4);
    const size_t threads = (size_t)(1 + k / 12);
    const struct made m = make(&r, &image, threads);
    const uint8_t *end = m.plan.scratch + threads * m.plan.thread_bytes;
    CHECK(m.plan.thread_bytes % 8 == 0 && (uintptr_t)m.plan.scratch % 8 == 0);
    CHECK(m.plan.scratch > m.block && end <= m.block + m.bytes);
    int clear = 1;
    for (const uint8_t *at = m.plan.scratch; at < end; at++) clear = clear && *at == 0;
    CHECK(clear);
    CHECK(m.plan.turned == (k / 3 % 2 != 0) && m.plan.lines == (m.plan.turned ? 31u : 9u));
    CHECK(m.plan.tiles * SMR_IMAGE_LINES >= m.plan.lines);
    kernel_free(m.block, 0);
  }
}

// Pairs hold the weights of both axes' taps, and offsets lead to the taps: in the order of the
// source where no tap is alone.
SMR_TEST(taps_along_rows) {
  for (int k = 0; k < 3 * 8; k++) {
    const samara_image_record r = resized(21, 17, (samara_image_filter)(k % 3 + 1));
    samara_image image = picture(SAMARA_I420, 77, 60);
    image.rotation = 90 * (uint32_t)(k / 3 % 4), image.mirror = k >= 12;
    image.crop_x = 5, image.crop_y = 3, image.crop_width = 70, image.crop_height = 55;
    image.planes[1].pixel_stride = 2;
    const struct made m = make(&r, &image, 1);
    const struct smr_image_axis *axis = &m.plan.along;
    const struct smr_image_axis_source *along = &m.source.along;
    int right = axis->count == (m.plan.turned ? 17u : 21u) && m.plan.stride >= axis->count;
    const uint32_t turns = axis->taps % 2 == 0 && along->step < 0;
    right = right && m.plan.adjacent == (axis->taps % 2 == 0) && !m.plan.fours;
    for (uint32_t d = 0; d < axis->count; d++) {
      int sum = 0;
      for (uint32_t tap = 0; tap < 2 * smr_image_pairs(axis); tap++) {
        const uint32_t pair = (uint32_t)m.plan.weights[tap / 2 * m.plan.stride + d];
        const uint32_t place = tap % 2 ^ turns;
        const int weight = (int)(place == 0 ? pair & 0xffff : pair >> 16);
        const bool real = tap < axis->taps;
        right = right && weight == (real ? axis->weights[d * axis->taps + tap] : 0);
        sum += weight;
        if (!real) continue;
        const int at = along->first + along->step * (int)(axis->starts[d] + tap);
        right = right && at >= 5 && at < 75;
        const size_t offset = 2 * (tap / 2 * m.plan.stride + d) + place;
        right = right && m.plan.offsets[0][offset] == at &&
                m.plan.offsets[1][offset] == at / 2 * 2 && m.plan.offsets[2][offset] == at / 2;
      }
      right = right && sum == 1 << SMR_IMAGE_WEIGHT_BITS;
    }
    if (!CHECK(right)) fprintf(stderr, "  filter %d, turn %d\n", k % 3 + 1, k / 3);
    kernel_free(m.block, 0);
  }
}

// Which pixels of four bytes are read in place, and which pairs of them are adjacent.
SMR_TEST(fours) {
  static const struct {
    samara_image_format format;
    uint32_t width, rotation;
    samara_image_filter filter;
    bool fours, dense;
  } cases[] = {
      {SAMARA_RGBA, 20, 0, SAMARA_BILINEAR, true, true},
      {SAMARA_BGRA, 20, 180, SAMARA_BILINEAR, true, false},  // backwards
      {SAMARA_RGBA, 21, 0, SAMARA_BILINEAR, true, false},    // more than two to one
      {SAMARA_RGBA, 20, 90, SAMARA_BILINEAR, false, false},
      {SAMARA_RGBA, 21, 0, SAMARA_AREA, false, false},  // four taps: two pairs
      {SAMARA_RGB, 20, 0, SAMARA_BILINEAR, false, true},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const samara_image_record r = resized(10, 5, cases[k].filter);
    samara_image image = picture(cases[k].format, cases[k].width, 11);
    image.rotation = cases[k].rotation;
    const struct made m = make(&r, &image, 1);
    if (!CHECK(m.plan.fours == cases[k].fours && m.plan.dense == cases[k].dense))
      fprintf(stderr, "  case %zu\n", k);
    kernel_free(m.block, 0);
  }
}

SMR_TEST(offsets) {
  const struct smr_image_axis_source forward = {
      .count = 9, .first = 3, .step = 1, .strides = {4, 2, 7}};
  const struct smr_image_axis_source back = {
      .count = 9, .first = 11, .step = -1, .strides = {1, 5, 1}};
  CHECK_EQ_INT(smr_image_offset(&forward, 0, 0), 12);
  CHECK_EQ_INT(smr_image_offset(&forward, 8, 0), 44);
  CHECK_EQ_INT(smr_image_offset(&forward, 2, 1), 4);  // sample 5 / 2
  CHECK_EQ_INT(smr_image_offset(&forward, 3, 2), 21);
  CHECK_EQ_INT(smr_image_offset(&back, 8, 0), 3);
  CHECK_EQ_INT(smr_image_offset(&back, 0, 1), 25);
  CHECK_EQ_INT(smr_image_offset(&back, 1, 1), 25);  // both belong to one sample of U
  CHECK_EQ_INT(smr_image_offset(&back, 2, 1), 20);
}

// Integer elements by value: ties round to even, and values outside are clamped.
SMR_TEST(tables) {
  samara_image_record r = resized(4, 4, SAMARA_NEAREST);
  const samara_image image = picture(SAMARA_RGB, 4, 4);
  r.dtype = SAMARA_INT8, r.quant_scale = 2, r.quant_zero = 10;
  struct made m = make(&r, &image, 1);
  for (int v = 0; v < 256; v++) {
    const int half = v / 2 + (v % 4 == 3), q = half + 10 > 127 ? 127 : half + 10;
    for (int c = 0; c < 3; c++) CHECK_EQ_INT((int8_t)m.plan.table[c][v], q);
  }
  kernel_free(m.block, 0);
  r.dtype = SAMARA_UINT8, r.normalize = true, r.quant_scale = 0.5f, r.quant_zero = 128;
  static const float means[3] = {0, 200, 100};
  for (int c = 0; c < 3; c++) r.mean[c] = means[c], r.scale[c] = c == 2 ? -3.4e38f : 1;
  m = make(&r, &image, 1);
  for (int v = 0; v < 256; v++) {
    CHECK_EQ_INT(m.plan.table[0][v], 2 * v + 128 > 255 ? 255 : 2 * v + 128);
    const int second = 2 * (v - 200) + 128;
    CHECK_EQ_INT(m.plan.table[1][v], second < 0 ? 0 : second > 255 ? 255 : second);
    CHECK_EQ_INT(m.plan.table[2][v], v < 100 ? 255 : v == 100 ? 128 : 0);
  }
  kernel_free(m.block, 0);
}

// Factors of floats: by channel, or interleaved if pixels hold all channels.
SMR_TEST(factors) {
  samara_image_record r = resized(4, 6, SAMARA_NEAREST);
  r.dtype = SAMARA_FLOAT32, r.normalize = true;
  for (int c = 0; c < 3; c++) r.mean[c] = (float)c, r.scale[c] = (float)(c + 1);
  for (int k = 0; k < 4; k++) {
    samara_image image = picture(SAMARA_RGB, 5, 5);
    image.rotation = k / 2 != 0 ? 90 : 0;
    r.layout = k % 2 != 0 ? SAMARA_NCHW : SAMARA_NHWC;
    const struct made m = make(&r, &image, 1);
    for (int c = 0; c < (k == 0 ? 1 : 3); c++)
      for (int i = 0; i < SMR_IMAGE_PERIOD; i++) {
        const int channel = k == 0 ? i % 3 : c;
        CHECK(m.plan.mean[c][i] == (float)channel && m.plan.scale[c][i] == (float)(channel + 1));
      }
    kernel_free(m.block, 0);
  }
}

SMR_TEST_MAIN(RUN(memory); RUN(taps_along_rows); RUN(fours); RUN(offsets); RUN(tables);
              RUN(factors))
