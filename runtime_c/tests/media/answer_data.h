// SPDX-License-Identifier: Apache-2.0
// Test data for answers: outputs of random bytes in heap buffers of their exact size.
#ifndef SMR_TESTS_ANSWER_DATA_H
#define SMR_TESTS_ANSWER_DATA_H

#include "kernels/kernel_data.h"
#include "media/answer_elements.h"
#include "media/answer_geometry.h"

/// Draws 0 .. n - 1.
static inline uint32_t answer_below(uint32_t n, uint32_t *seed) { return kernel_random(seed) % n; }

/// An output of any type, whose elements are random bytes: any bits of floats, any integers. Half
/// of the floats are small instead, so that comparisons have something to do. Free with
/// answer_free.
static inline samara_tensor answer_random(int32_t rank, const int64_t *shape, uint32_t *seed) {
  static const samara_dtype dtypes[] = {SAMARA_FLOAT32, SAMARA_FLOAT16, SAMARA_INT8, SAMARA_QINT8,
                                        SAMARA_UINT8,   SAMARA_INT32,   SAMARA_INT64};
  static const size_t widths[] = {4, 2, 1, 1, 1, 4, 8};
  const uint32_t kind = answer_below(7, seed);
  samara_tensor t = {.rank = rank, .dtype = dtypes[kind]};
  size_t n = 1;
  for (int32_t i = 0; i < rank; i++) {
    t.shape[i] = shape[i];
    n *= (size_t)shape[i];
  }
  if (t.dtype == SAMARA_QINT8) {
    t.scale = answer_below(2, seed) ? 0.05f : INFINITY;
    t.zero_point = (int32_t)answer_below(256, seed) - 128;
  }
  t.size_bytes = n * widths[kind];
  unsigned char *bytes = (unsigned char *)kernel_alloc(t.size_bytes, 8);
  t.data = bytes;
  for (size_t i = 0; i < t.size_bytes; i++) bytes[i] = (unsigned char)kernel_random(seed);
  if (t.dtype == SAMARA_FLOAT32)
    for (size_t i = 0; i < n; i++)
      if (answer_below(2, seed)) {
        const float small = (float)answer_below(64, seed) / 16;
        memcpy(bytes + 4 * i, &small, 4);
      }
  return t;
}

static inline void answer_free(samara_tensor *t) { kernel_free(t->data, 8); }

/// A picture of up to 30 pixels a side, of which a rectangle is an input of `width` by `height`.
static inline struct smr_answer_geometry answer_picture(int32_t width, int32_t height,
                                                        uint32_t *seed) {
  struct smr_answer_geometry g = {.tensor = {width, height}};
  g.width = 1 + (int32_t)answer_below(30, seed);
  g.height = 1 + (int32_t)answer_below(30, seed);
  g.crop[0] = (int32_t)answer_below((uint32_t)g.width, seed);
  g.crop[1] = (int32_t)answer_below((uint32_t)g.height, seed);
  g.crop[2] = 1 + (int32_t)answer_below((uint32_t)(g.width - g.crop[0]), seed);
  g.crop[3] = 1 + (int32_t)answer_below((uint32_t)(g.height - g.crop[1]), seed);
  g.quarters = (int32_t)answer_below(4, seed);
  g.mirror = answer_below(2, seed) != 0;
  for (uint32_t i = 0; i < 2; i++) {
    g.resized[i] = 1 + (int32_t)answer_below(60, seed);
    g.offset[i] = (int32_t)answer_below(41, seed) - 20;
  }
  return g;
}

static inline uint32_t answer_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

#endif
