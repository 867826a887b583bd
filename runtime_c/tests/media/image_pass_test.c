// SPDX-License-Identifier: Apache-2.0
// Tests the pass against the arithmetic pixel by pixel: random pictures and records, in memory of
// exactly their size, every instruction set, one thread and several.
#include "base/fp.h"

#include "media/image.h"

#include <math.h>

#include "base/isa.h"
#include "harness.h"
#include "kernels/kernel_data.h"
#include "media/image_naive.h"
#include "simd/half.h"

enum { CASES = 10000, EDGES = 64 };

static uint32_t pick(uint32_t *seed, uint32_t n) { return kernel_random(seed) % n; }

static bool coin(uint32_t *seed, uint32_t n) { return pick(seed, n) == 0; }

// ---- random pictures ----

// Planes of a picture, in blocks that end with their last sample.
struct drawn {
  samara_image image;
  uint8_t *blocks[3];
};

static uint8_t *noise(size_t n, uint32_t *seed) {
  uint8_t *block = kernel_alloc(n, 1);
  const uint32_t kind = pick(seed, 4);
  for (size_t i = 0; i < n; i++) {
    const uint32_t r = kernel_random(seed);
    block[i] = (uint8_t)(kind == 0 ? (r & 1) * 255 : r >> 8);
  }
  return block;
}

static void draw_plane(struct drawn *d, int index, uint32_t width, uint32_t height, size_t bytes,
                       uint32_t *seed) {
  samara_plane *p = &d->image.planes[index];
  p->pixel_stride = bytes + (coin(seed, 4) ? pick(seed, 3) : 0);
  p->row_stride = (size_t)(width - 1) * p->pixel_stride + bytes;
  if (coin(seed, 2)) p->row_stride += pick(seed, 9);
  p->size_bytes = (height - 1) * p->row_stride + (width - 1) * p->pixel_stride + bytes;
  d->blocks[index] = noise(p->size_bytes, seed);
  p->data = d->blocks[index];
}

// Interleaved U and V, as Android delivers them.
static void draw_twins(struct drawn *d, uint32_t width, uint32_t height, uint32_t *seed) {
  draw_plane(d, 1, width, height, 2, seed);
  d->image.planes[1].size_bytes--;
  d->image.planes[2] = d->image.planes[1];
  d->image.planes[2].data = (const uint8_t *)d->image.planes[1].data + 1;
}

static uint32_t side(uint32_t *seed) {
  const uint32_t kind = pick(seed, 8);
  return 1 + pick(seed, kind == 0 ? 2 : kind == 1 ? 200 : 40);
}

static void draw_crop(samara_image *i, uint32_t *seed) {
  i->crop_width = i->width, i->crop_height = i->height;
  if (coin(seed, 2)) return;
  i->crop_x = pick(seed, i->width), i->crop_y = pick(seed, i->height);
  i->crop_width = 1 + pick(seed, i->width - i->crop_x);
  i->crop_height = 1 + pick(seed, i->height - i->crop_y);
}

static void draw_picture(struct drawn *d, uint32_t width, uint32_t height, uint32_t *seed) {
  static const size_t bytes[] = {0, 3, 3, 4, 4, 1, 1, 1, 1};
  samara_image *i = &d->image;
  *d = (struct drawn){.image = {.struct_size = sizeof *i, .width = width, .height = height}};
  i->format = (samara_image_format)(1 + pick(seed, 8));
  draw_plane(d, 0, width, height, bytes[i->format], seed);
  const uint32_t half = (width + 1) / 2, low = (height + 1) / 2;
  if (i->format == SAMARA_NV21 || i->format == SAMARA_NV12) {
    draw_plane(d, 1, half, low, 2, seed);
  } else if (i->format == SAMARA_I420 && coin(seed, 2)) {
    draw_twins(d, half, low, seed);
  } else if (i->format == SAMARA_I420) {
    draw_plane(d, 1, half, low, 1, seed);
    draw_plane(d, 2, half, low, 1, seed);
  }
  draw_crop(i, seed);
  i->rotation = 90 * pick(seed, 4);
  i->mirror = coin(seed, 2);
  i->matrix = (samara_yuv_matrix)(1 + pick(seed, 2));
  i->range = (samara_yuv_range)(1 + pick(seed, 2));
}

static void drop_picture(struct drawn *d) {
  for (int p = 0; p < 3; p++)
    if (d->blocks[p] != NULL) kernel_free(d->blocks[p], 1);
}

// ---- random records ----

static float draw_number(uint32_t *seed, float least, float most) {
  return least + (most - least) * (float)(pick(seed, 10001)) / 10000.0f;
}

static void draw_elements(samara_image_record *r, uint32_t *seed) {
  static const samara_dtype dtypes[] = {SAMARA_FLOAT32, SAMARA_FLOAT16, SAMARA_UINT8, SAMARA_INT8};
  r->dtype = dtypes[pick(seed, 4)];
  r->normalize = coin(seed, 2);
  for (int c = 0; c < 3; c++) {
    r->fill[c] = (uint8_t)pick(seed, 256);
    r->mean[c] = draw_number(seed, -300, 300);
    r->scale[c] = draw_number(seed, 0.001f, 2) * (coin(seed, 3) ? -1 : 1);
  }
  if (r->dtype == SAMARA_FLOAT32 || r->dtype == SAMARA_FLOAT16) return;
  if (r->dtype == SAMARA_UINT8 && !r->normalize && coin(seed, 2)) return;
  r->quant_scale = draw_number(seed, 0.001f, 3);
  r->quant_zero = (int32_t)pick(seed, 256) - (r->dtype == SAMARA_INT8 ? 128 : 0);
}

static samara_image_record draw_record(uint32_t *seed) {
  samara_image_record r = {.struct_size = sizeof r};
  r.colour = (samara_colour)(1 + pick(seed, 3));
  r.layout = (samara_image_layout)(1 + pick(seed, r.colour == SAMARA_COLOUR_GRAY ? 6 : 4));
  r.filter = (samara_image_filter)pick(seed, 4);
  r.antialias = r.filter <= SAMARA_BILINEAR && coin(seed, 2);
  r.resize = (samara_image_resize)pick(seed, 4);
  if (r.resize != SAMARA_RESIZE_NONE) r.resize_width = 1 + pick(seed, 40);
  if (r.resize > SAMARA_RESIZE_SIDE) r.resize_height = 1 + pick(seed, 40);
  if (r.resize != SAMARA_RESIZE_LETTERBOX && coin(seed, 3))
    r.crop_width = 1 + pick(seed, 20), r.crop_height = 1 + pick(seed, 20);
  draw_elements(&r, seed);
  return r;
}

// ---- comparing ----

// Element `at` of the tensor as a value v says it.
static int element_is(const samara_image_record *r, const void *tensor, size_t at, int c, int v) {
  float y = (float)v;
  if (r->normalize) {
    y = y - r->mean[c];
    y = y * r->scale[c];
  }
  if (r->dtype == SAMARA_FLOAT32) return memcmp((const float *)tensor + at, &y, sizeof y) == 0;
  if (r->dtype == SAMARA_FLOAT16) return ((const uint16_t *)tensor)[at] == smr_f32_to_f16(y);
  const int low = r->dtype == SAMARA_INT8 ? -128 : 0;
  const float least = (float)(low - r->quant_zero), most = (float)(low + 255 - r->quant_zero);
  if (r->quant_scale != 0)
    y = rintf(fminf(fmaxf(y / r->quant_scale, least), most)) + (float)r->quant_zero;
  return ((const uint8_t *)tensor)[at] == (uint8_t)(int)y;
}

static size_t element_at(const samara_image_record *r, int width, int height, int c, int y, int x) {
  const int channels = r->colour == SAMARA_COLOUR_GRAY ? 1 : 3;
  const bool last = r->layout == SAMARA_NHWC || r->layout == SAMARA_HWC;
  return last ? ((size_t)y * (size_t)width + (size_t)x) * (size_t)channels + (size_t)c
              : ((size_t)c * (size_t)height + (size_t)y) * (size_t)width + (size_t)x;
}

// Whether all elements are right; of large tensors, a hundred or so.
static int right(const samara_image_record *r, const samara_image *i, const void *tensor,
                 uint32_t *seed) {
  int width, height;
  naive_size(r, i, &width, &height);
  const int channels = r->colour == SAMARA_COLOUR_GRAY ? 1 : 3;
  const uint32_t every = (uint32_t)(width * height * channels) / 100 + 1;
  for (int c = 0; c < channels; c++)
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++) {
        if (!coin(seed, every)) continue;
        const int v = naive_value(r, i, c, y, x);
        const size_t at = element_at(r, width, height, c, y, x);
        if (!element_is(r, tensor, at, c, v < 0 ? r->fill[c] : v)) {
          fprintf(stderr, "  channel %d, row %d, column %d\n", c, y, x);
          return 0;
        }
      }
  return 1;
}

// The tensor by the kernels of `isa`; NULL where the record crops more than there is.
static void *run_pass(const samara_image_record *r, const samara_image *i, uint32_t isa,
                      samara_pool *pool, size_t *bytes) {
  samara_error error;
  struct smr_image_source source;
  struct smr_image_sizes sizes;
  struct smr_image_plan plan;
  if (!CHECK_EQ_INT(smr_image_record_check(r, NULL, &error), SAMARA_OK)) return NULL;
  if (!CHECK_EQ_INT(smr_image_source(i, r, &source, &error), SAMARA_OK)) return NULL;
  if (smr_image_sizes(r, smr_image_old_width(&source), smr_image_old_height(&source), &sizes,
                      &error) != SAMARA_OK)
    return NULL;
  const size_t threads = pool != NULL ? samara_pool_threads(pool) : 1;
  struct smr_bump bump = {.base = NULL};
  smr_image_plan(r, &sizes, &source, isa, threads, &bump, &plan);
  uint8_t *block = kernel_alloc(bump.used, 0);
  bump = (struct smr_bump){.base = block, .capacity = bump.used};
  smr_image_plan(r, &sizes, &source, isa, threads, &bump, &plan);
  *bytes = smr_image_bytes(r, &sizes);
  void *tensor = kernel_alloc(*bytes, 4);
  smr_image_run(&plan, &source, pool, tensor);
  kernel_free(block, 0);
  return tensor;
}

static int same_everywhere(const samara_image_record *r, const samara_image *i, samara_pool *pool,
                           const void *tensor, size_t bytes) {
  const uint32_t have = smr_cpu_isa();
  int same = 1;
#define SMR_UKERNEL(isa, suffix, lanes)                                   \
  if ((have & (isa)) == (isa)) {                                          \
    size_t own;                                                           \
    void *again = run_pass(r, i, (isa), (lanes) % 8 ? NULL : pool, &own); \
    same = same && own == bytes && memcmp(again, tensor, bytes) == 0;     \
    kernel_free(again, 4);                                                \
  }
#include "kernels/float.inc"
#undef SMR_UKERNEL
  return same;
}

static int check_case(const samara_image_record *r, const samara_image *i, samara_pool *pool,
                      uint32_t *seed) {
  size_t bytes;
  void *tensor = run_pass(r, i, 0, NULL, &bytes);
  if (tensor == NULL) return 0;
  const int good =
      CHECK(right(r, i, tensor, seed)) & CHECK(same_everywhere(r, i, pool, tensor, bytes));
  if (!good)
    fprintf(stderr,
            "  format %d %ux%u crop %ux%u+%u+%u rotation %u mirror %d, colour %d dtype %d "
            "layout %d filter %d antialias %d resize %d %ux%u crop %ux%u\n",
            (int)i->format, (unsigned)i->width, (unsigned)i->height, (unsigned)i->crop_width,
            (unsigned)i->crop_height, (unsigned)i->crop_x, (unsigned)i->crop_y,
            (unsigned)i->rotation, (int)i->mirror, (int)r->colour, (int)r->dtype, (int)r->layout,
            (int)r->filter, (int)r->antialias, (int)r->resize, (unsigned)r->resize_width,
            (unsigned)r->resize_height, (unsigned)r->crop_width, (unsigned)r->crop_height);
  kernel_free(tensor, 4);
  return 1;
}

SMR_TEST(random_pictures) {
  uint32_t seed = 7;
  samara_pool *pool = NULL;
  samara_error error;
  const samara_pool_options options = {.struct_size = sizeof options, .threads = 3};
  REQUIRE(samara_pool_create(&options, &pool, &error) == SAMARA_OK);
  int ran = 0;
  for (int n = 0; n < CASES; n++) {
    struct drawn d;
    draw_picture(&d, side(&seed), side(&seed), &seed);
    const samara_image_record r = draw_record(&seed);
    ran += check_case(&r, &d.image, pool, &seed);
    drop_picture(&d);
  }
  CHECK(ran > CASES * 3 / 4);
  samara_pool_destroy(pool);
}

// Two pixels of four bytes to one, which are read where they are: whole steps of them and others.
SMR_TEST(halves) {
  enum { HALVES = 400 };
  uint32_t seed = 13;
  for (int n = 0; n < HALVES; n++) {
    struct drawn d;
    samara_image_record r = draw_record(&seed);
    r.filter = SAMARA_BILINEAR, r.antialias = false, r.resize = SAMARA_RESIZE_SIZE;
    r.crop_width = r.crop_height = 0;
    r.resize_width = coin(&seed, 2) ? 16 * (1 + pick(&seed, 10)) : 1 + pick(&seed, 160);
    r.resize_height = 1 + pick(&seed, 5);
    do {
      draw_picture(&d, 2 * r.resize_width, 1 + pick(&seed, 9), &seed);
      if (d.image.format == SAMARA_RGBA || d.image.format == SAMARA_BGRA) break;
      drop_picture(&d);
    } while (true);
    d.image.crop_x = d.image.crop_y = 0;
    d.image.crop_width = d.image.width, d.image.crop_height = d.image.height;
    CHECK(check_case(&r, &d.image, NULL, &seed));
    drop_picture(&d);
  }
}

SMR_TEST(largest_sides) {
  uint32_t seed = 11;
  for (int n = 0; n < EDGES; n++) {
    struct drawn d;
    const uint32_t small = 1 + pick(&seed, 3), sides[2] = {SAMARA_MAX_SIDE, small};
    draw_picture(&d, sides[n % 2], sides[1 - n % 2], &seed);
    samara_image_record r = draw_record(&seed);
    if (r.resize == SAMARA_RESIZE_SIDE || r.resize == SAMARA_RESIZE_NONE)
      r.resize = SAMARA_RESIZE_SIZE, r.resize_width = 5, r.resize_height = 3, r.crop_width = 0,
      r.crop_height = 0;
    r.crop_width = r.crop_height = 0;
    CHECK(check_case(&r, &d.image, NULL, &seed));
    drop_picture(&d);
  }
}

SMR_TEST_MAIN(RUN(random_pictures), RUN(halves), RUN(largest_sides))
