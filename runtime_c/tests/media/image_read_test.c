// SPDX-License-Identifier: Apache-2.0
// Tests samples read from every format, in planes of exactly their size.
#include "base/fp.h"

#include "media/image.h"

#include "base/isa.h"
#include "harness.h"
#include "kernels/kernel_data.h"
#include "media/image_naive.h"

enum { MOST = 40, ROOM = SMR_IMAGE_BLOCK };

// ---- pictures ----

struct drawn {
  samara_image image;
  uint8_t *blocks[3];
};

static void draw_plane(struct drawn *d, int index, uint32_t width, uint32_t height, size_t bytes,
                       uint32_t *seed) {
  samara_plane *p = &d->image.planes[index];
  p->pixel_stride = bytes + kernel_random(seed) % 2;
  p->row_stride = width * p->pixel_stride + kernel_random(seed) % 3;
  p->size_bytes = (height - 1) * p->row_stride + (width - 1) * p->pixel_stride + bytes;
  d->blocks[index] = kernel_alloc(p->size_bytes, 1);
  for (size_t i = 0; i < p->size_bytes; i++) d->blocks[index][i] = (uint8_t)kernel_random(seed);
  p->data = d->blocks[index];
}

// `twins`: U and V of I420 interleaved in one plane; 2: V first.
static struct drawn draw(samara_image_format format, uint32_t width, uint32_t height, int twins,
                         uint32_t *seed) {
  static const size_t bytes[] = {0, 3, 3, 4, 4, 1, 1, 1, 1};
  struct drawn d = {.image = {.struct_size = sizeof d.image,
                              .format = format,
                              .width = width,
                              .height = height,
                              .crop_width = width,
                              .crop_height = height,
                              .matrix = SAMARA_BT709,
                              .range = SAMARA_LIMITED_RANGE}};
  const uint32_t half = (width + 1) / 2, low = (height + 1) / 2;
  draw_plane(&d, 0, width, height, bytes[format], seed);
  if (format < SAMARA_NV21) return d;
  draw_plane(&d, 1, half, low, format != SAMARA_I420 || twins != 0 ? 2 : 1, seed);
  if (format == SAMARA_I420 && twins == 0) draw_plane(&d, 2, half, low, 1, seed);
  if (format != SAMARA_I420 || twins == 0) return d;
  d.image.planes[1].size_bytes--;
  d.image.planes[2] = d.image.planes[1];
  d.image.planes[twins == 1 ? 2 : 1].data = d.blocks[1] + 1;
  return d;
}

static void drop(struct drawn *d) {
  for (int p = 0; p < 3; p++)
    if (d->blocks[p] != NULL) kernel_free(d->blocks[p], 1);
}

// ---- reading ----

// Whether pixels at .. at + n of row `row` of the source are those of docs/guides/preprocessing.md.
static int row_is_right(const struct smr_image_run *run, const samara_image *image, uint32_t row,
                        size_t at, size_t n) {
  const struct smr_image_plan *p = run->plan;
  uint8_t *x[3];
  for (int c = 0; c < 3; c++) x[c] = kernel_alloc((2 * n + 15) / 16 * 16, 1);
  const uint32_t next = row + 1 < p->over.count ? row + 1 : row;
  smr_image_read(run, row, next, 0, at, n, x);
  int right = 1;
  for (uint32_t c = 0; c < smr_image_channels(&p->record); c++)
    for (size_t i = 0; i < n; i++) {
      const int along = (int)(at + i), over = (int)row;
      const int want = naive_value(&p->record, image, (int)c, p->turned ? along : over,
                                   p->turned ? over : along);
      right = right && x[c][2 * i] == want && x[c][2 * i + 1] == want;  // it has no other
    }
  for (int c = 0; c < 3; c++) kernel_free(x[c], 1);
  return right;
}

static struct smr_image_plan plan_of(const samara_image_record *r, const samara_image *image,
                                     uint32_t isa, struct smr_image_source *source,
                                     uint8_t **block) {
  struct smr_image_sizes sizes;
  struct smr_image_plan plan;
  struct smr_bump bump = {.base = NULL};
  CHECK_EQ_INT(smr_image_source(image, r, source, NULL), SAMARA_OK);
  CHECK_EQ_INT(
      smr_image_sizes(r, smr_image_old_width(source), smr_image_old_height(source), &sizes, NULL),
      SAMARA_OK);
  smr_image_plan(r, &sizes, source, isa, 1, &bump, &plan);
  *block = kernel_alloc(bump.used, 0);
  bump = (struct smr_bump){.base = *block, .capacity = bump.used};
  smr_image_plan(r, &sizes, source, isa, 1, &bump, &plan);
  return plan;
}

static void check_picture(const struct drawn *d, samara_colour colour, uint32_t isa) {
  const samara_image_record r = {.struct_size = sizeof r,
                                 .colour = colour,
                                 .dtype = SAMARA_UINT8,
                                 .layout = SAMARA_NCHW,
                                 .filter = SAMARA_NEAREST};
  const samara_image *image = &d->image;
  struct smr_image_source source;
  uint8_t *block;
  const struct smr_image_plan plan = plan_of(&r, image, isa, &source, &block);
  const struct smr_image_run run = {.plan = &plan, .source = &source};
  const size_t n = plan.along.count, part = n > 20 ? 17 : n;
  int right = 1;
  for (uint32_t row = 0; row < plan.over.count; row += row + 1 < plan.over.count ? 1 : 2) {
    right = right && row_is_right(&run, image, row, 0, n);
    right = right && row_is_right(&run, image, row, n - part, part);
  }
  if (!CHECK(right))
    fprintf(stderr, "  format %d, %ux%u, rotation %u, colour %d\n", (int)image->format,
            (unsigned)image->width, (unsigned)image->height, (unsigned)image->rotation,
            (int)colour);
  kernel_free(block, 0);
}

SMR_TEST(every_format) {
  const uint32_t isas[2] = {0, smr_cpu_isa()};
  uint32_t seed = 21;
  for (int k = 0; k < 10 * 3 * 8 * 2; k++) {
    const int kind = k % 10, twins = kind < 8 ? 0 : kind - 7;
    const samara_image_format format = kind < 8 ? (samara_image_format)(kind + 1) : SAMARA_I420;
    struct drawn d =
        draw(format, 1 + kernel_random(&seed) % MOST, 1 + kernel_random(&seed) % 9, twins, &seed);
    d.image.rotation = 90 * (uint32_t)(k / 30 % 4), d.image.mirror = k / 120 % 2 != 0;
    check_picture(&d, (samara_colour)(k / 10 % 3 + 1), isas[k / 240]);
    drop(&d);
  }
}

// As many pixels as are read at once.
SMR_TEST(whole_blocks) {
  uint32_t seed = 22;
  for (int format = SAMARA_RGB; format <= SAMARA_I420; format++) {
    struct drawn d = draw((samara_image_format)format, ROOM, 2, 0, &seed);
    check_picture(&d, SAMARA_COLOUR_RGB, smr_cpu_isa());
    check_picture(&d, SAMARA_COLOUR_GRAY, smr_cpu_isa());
    drop(&d);
  }
}

// Columns hold their index: tap k of a new pixel reads the k-th one after its first.
SMR_TEST(taps) {
  uint32_t seed = 23;
  for (int k = 0; k < 2 * 3; k++) {
    struct drawn d = draw(SAMARA_GRAY, MOST, 1, 0, &seed);
    for (size_t i = 0; i < MOST; i++) d.blocks[0][i * d.image.planes[0].pixel_stride] = (uint8_t)i;
    const samara_image_record r = {.struct_size = sizeof r,
                                   .colour = SAMARA_COLOUR_GRAY,
                                   .dtype = SAMARA_UINT8,
                                   .layout = SAMARA_HW,
                                   .filter = k % 2 != 0 ? SAMARA_AREA : SAMARA_BILINEAR,
                                   .resize = SAMARA_RESIZE_SIZE,
                                   .resize_width = (uint32_t)(7 + 20 * (k / 2)),
                                   .resize_height = 1};
    struct smr_image_source source;
    uint8_t *block, spare[2 * ROOM], x[2 * ROOM];
    const struct smr_image_plan plan = plan_of(&r, &d.image, smr_cpu_isa(), &source, &block);
    const struct smr_image_run run = {.plan = &plan, .source = &source};
    uint8_t *const to[3] = {x, spare, spare};
    for (uint32_t tap = 0; tap < 2 * smr_image_pairs(&plan.along); tap++) {
      const uint32_t last = plan.along.taps - 1, own = tap < last ? tap : last;
      smr_image_read(&run, 0, 0, tap / 2, 0, plan.along.count, to);
      for (uint32_t i = 0; i < plan.along.count; i++)
        CHECK_EQ_INT(x[2 * i + tap % 2], plan.along.starts[i] + own);
    }
    kernel_free(block, 0), drop(&d);
  }
}

// Pixels of four bytes, alone and in pairs, from a copy or in place if whole steps are adjacent: at
// any address, in a block of exactly their size.
SMR_TEST(fours) {
  enum { BYTES = 4, ROWS = 3 };
  uint32_t seed = 24;
  for (int k = 0; k < 200; k++) {
    struct drawn d = draw(SAMARA_RGBA, 1 + kernel_random(&seed) % 150, ROWS, 0, &seed);
    const uint32_t from = d.image.width, to = 1 + kernel_random(&seed) % from;
    d.image.mirror = k % 4 == 3;
    const samara_image_record r = {.struct_size = sizeof r,
                                   .colour = SAMARA_COLOUR_RGB,
                                   .dtype = SAMARA_UINT8,
                                   .layout = SAMARA_NCHW,
                                   .filter = k % 5 == 4 ? SAMARA_NEAREST : SAMARA_BILINEAR,
                                   .resize = SAMARA_RESIZE_SIZE,
                                   .resize_width = k % 2 != 0 && from > 1 ? from / 2 : to,
                                   .resize_height = ROWS};
    struct smr_image_source source;
    uint8_t *block, room[BYTES * 2 * ROOM];
    const struct smr_image_plan plan = plan_of(&r, &d.image, smr_cpu_isa(), &source, &block);
    const struct smr_image_run run = {.plan = &plan, .source = &source};
    const size_t n = 2 * (size_t)(plan.along.count < ROOM ? plan.along.count : ROOM);
    const uint8_t *x = smr_image_fours(&run, 1, 2, 0, n, room);
    const bool whole = plan.dense && source.along.strides[0] == BYTES && n % 32 == 0;
    CHECK((x == room) == !whole);
    const uint8_t *row = d.blocks[0] + d.image.planes[0].row_stride;
    int right = 1;
    for (size_t i = 0; i < n; i++)
      right = right && memcmp(x + BYTES * i, row + plan.offsets[0][i], BYTES) == 0;
    CHECK(right);
    kernel_free(block, 0), drop(&d);
  }
}

SMR_TEST_MAIN(RUN(every_format); RUN(whole_blocks); RUN(taps); RUN(fours))
