// SPDX-License-Identifier: Apache-2.0
// Tests lines of elements: every dtype and layout, rows and columns, and no writes beside them.
#include "base/fp.h"

#include "media/image.h"

#include <math.h>

#include "base/isa.h"
#include "harness.h"
#include "kernels/kernel_data.h"
#include "simd/half.h"

static samara_image_record record_of(samara_dtype dtype, samara_image_layout layout, bool gray) {
  samara_image_record r = {.struct_size = sizeof r, .dtype = dtype, .layout = layout};
  r.colour = gray ? SAMARA_COLOUR_GRAY : SAMARA_COLOUR_RGB;
  r.filter = SAMARA_NEAREST;
  if (dtype == SAMARA_UINT8) return r;
  r.normalize = true, r.quant_scale = 2, r.quant_zero = 3;
  for (int c = 0; c < 3; c++) r.mean[c] = (float)(100 + 20 * c), r.scale[c] = 0.5f * (float)(c + 1);
  return r;
}

// A plan for pictures of width x height, in *block.
static struct smr_image_plan plan_of(const samara_image_record *r, uint32_t width, uint32_t height,
                                     uint32_t rotation, uint32_t isa, uint8_t **block) {
  static uint8_t pixels[64 * 64 * 3];
  const samara_image image = {.struct_size = sizeof image,
                              .format = SAMARA_RGB,
                              .width = width,
                              .height = height,
                              .rotation = rotation,
                              .planes = {{.data = pixels, .size_bytes = sizeof pixels}}};
  struct smr_image_source source;
  struct smr_image_sizes sizes;
  struct smr_image_plan plan;
  struct smr_bump bump = {.base = NULL};
  CHECK_EQ_INT(smr_image_source(&image, r, &source, NULL), SAMARA_OK);
  CHECK_EQ_INT(
      smr_image_sizes(r, smr_image_old_width(&source), smr_image_old_height(&source), &sizes, NULL),
      SAMARA_OK);
  smr_image_plan(r, &sizes, &source, isa, 1, &bump, &plan);
  *block = kernel_alloc(bump.used, 0);
  bump = (struct smr_bump){.base = *block, .capacity = bump.used};
  smr_image_plan(r, &sizes, &source, isa, 1, &bump, &plan);
  return plan;
}

// The bytes of value v in channel c.
static size_t element(const samara_image_record *r, int c, uint8_t v, uint8_t out[4]) {
  const float y = r->normalize ? ((float)v - r->mean[c]) * r->scale[c] : (float)v;
  if (r->dtype == SAMARA_FLOAT32) {
    memcpy(out, &y, 4);
    return 4;
  }
  if (r->dtype == SAMARA_FLOAT16) {
    const uint16_t half = smr_f32_to_f16(y);
    memcpy(out, &half, 2);
    return 2;
  }
  const float q = rintf(fminf(fmaxf(y / 2, -131), 124)) + 3;
  out[0] = r->dtype == SAMARA_UINT8 ? v : (uint8_t)(int)q;
  return 1;
}

// Emits line `line` with random values; whether those elements are right and no others changed.
static int line_is_right(const struct smr_image_plan *p, size_t line, uint32_t *seed) {
  const samara_image_record *r = &p->record;
  const size_t width = p->sizes.width, height = p->sizes.height,
               channels = smr_image_channels(&p->record);
  const size_t n = p->turned ? height : width, stride = smr_image_room(n);
  const size_t bytes = smr_image_bytes(r, &p->sizes);
  uint8_t *values = kernel_alloc(channels * stride, 1), *room = kernel_alloc(3 * n * 4, 4);
  uint8_t *out = kernel_alloc(bytes, 4), *want = kernel_alloc(bytes, 4);
  for (size_t i = 0; i < channels * stride; i++) values[i] = (uint8_t)kernel_random(seed);
  const struct smr_image_run run = {.plan = p, .out = out};
  smr_image_emit(&run, line, values, stride, room);
  const bool last = r->layout == SAMARA_NHWC || r->layout == SAMARA_HWC;
  for (size_t c = 0; c < channels; c++) {
    for (size_t i = 0; i < n; i++) {
      const size_t y = p->turned ? i : line, x = p->turned ? line : i;
      const size_t at = last ? (y * width + x) * channels + c : (c * height + y) * width + x;
      uint8_t own[4];
      const size_t size = element(r, (int)c, values[c * stride + i], own);
      memcpy(want + at * size, own, size);
    }
  }
  const int right = memcmp(out, want, bytes) == 0;
  kernel_free(values, 1), kernel_free(room, 4), kernel_free(out, 4), kernel_free(want, 4);
  return right;
}

static void check_lines(const samara_image_record *r, uint32_t width, uint32_t height,
                        uint32_t rotation, uint32_t isa, uint32_t *seed) {
  uint8_t *block;
  const struct smr_image_plan plan = plan_of(r, width, height, rotation, isa, &block);
  const size_t lines = plan.turned ? plan.sizes.width : plan.sizes.height;
  int right = CHECK_EQ_INT(plan.lines, lines);
  for (size_t line = 0; line < lines; line += lines > 3 ? lines / 3 : 1)
    right &= CHECK(line_is_right(&plan, line, seed));
  if (!right)
    fprintf(stderr, "  dtype %d, layout %d, %ux%u turned %u, %s\n", (int)r->dtype, (int)r->layout,
            (unsigned)width, (unsigned)height, (unsigned)rotation, plan.rows->name);
  kernel_free(block, 0);
}

SMR_TEST(every_dtype_and_layout) {
  static const samara_dtype dtypes[] = {SAMARA_FLOAT32, SAMARA_FLOAT16, SAMARA_UINT8, SAMARA_INT8};
  static const uint32_t sides[][2] = {{1, 1}, {7, 3}, {3, 7}, {16, 2}, {49, 33}, {33, 64}};
  const uint32_t isas[2] = {0, smr_cpu_isa()};
  uint32_t seed = 3;
  for (int k = 0; k < 4 * 10 * 6 * 4; k++) {
    const int layout = k / 4 % 10;
    const samara_image_record r =
        record_of(dtypes[k % 4], (samara_image_layout)(layout % 6 + 1), layout < 6);
    const uint32_t *side = sides[k / 40 % 6];
    check_lines(&r, side[0], side[1], k / 240 % 2 != 0 ? 270 : 0, isas[k / 480], &seed);
  }
}

SMR_TEST_MAIN(RUN(every_dtype_and_layout))
