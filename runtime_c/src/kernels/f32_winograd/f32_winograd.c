// SPDX-License-Identifier: Apache-2.0
// Winograd convolution: the division into blocks of tiles, and the steps of a block.
#include "base/fp.h"

#include "kernels/f32_winograd/f32_winograd.h"

#include "base/cut.h"
#include "base/isa.h"
#include "base/lean.h"
#include "base/parts.h"
#include "kernels/rows.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/f32_winograd/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

enum {
  WINOGRAD_ROOM_BYTES = 512 * 1024,  // points and products of a block: half of an L2
  WINOGRAD_FEWEST_TILES = 24,        // fewest tiles per block: each block reads the weights once
  WINOGRAD_ENOUGH_TILES = 64,        // the same if there are many weights
  WINOGRAD_SHARED_TILES = 8,         // fewest tiles of a block that is made smaller for threads
  WINOGRAD_LINE = 16,                // floats per cache line
  WINOGRAD_PAGE = 1024,              // floats; rows this far apart fall into the same set of the L1
                                     // cache
};

static const struct {
  uint32_t isa;
  const struct smr_f32_winograd_ukernels *table;
  const char *names[SMR_WINOGRAD_FORMS];
} f32_winograd_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) \
  {bit,                                 \
   smr_f32_winograd_kernels_##suffix,   \
   {"f32_winograd_f23__" #suffix, "f32_winograd_f43__" #suffix}},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

static size_t f32_winograd_row(uint32_t isa) {
  size_t i = 0;
  while ((f32_winograd_rows[i].isa & isa) != f32_winograd_rows[i].isa) i++;  // the last needs none
  return i;
}

// First tile of block i.
static size_t f32_winograd_first(const struct smr_f32_winograd_plan *plan, size_t i) {
  return smr_cut(plan->tiles, plan->blocks, i);
}

size_t smr_f32_winograd_tiles(const struct smr_f32_winograd_plan *plan, size_t block) {
  return f32_winograd_first(plan, block + 1) - f32_winograd_first(plan, block);
}

// Most tiles of a block.
static size_t f32_winograd_most(enum smr_winograd_form form, size_t channels, size_t n) {
  // Rereading the weights or keeping points in the next cache level: choose what moves fewer bytes.
  size_t most = 2 * channels * n / (5 * (channels + n));
  most = most > WINOGRAD_ENOUGH_TILES   ? WINOGRAD_ENOUGH_TILES
         : most < WINOGRAD_FEWEST_TILES ? WINOGRAD_FEWEST_TILES
                                        : most;
  const size_t tile = smr_winograd_points(form) * (channels + n) * sizeof(float);
  const size_t fit = WINOGRAD_ROOM_BYTES / tile;
  return fit > most ? fit : most;
}

size_t smr_f32_winograd_block_tiles(enum smr_winograd_form form, size_t tiles, size_t channels,
                                    size_t n) {
  const size_t most = f32_winograd_most(form, channels, n);
  if (tiles == 0) return 1;
  return smr_ceil_div(tiles, smr_ceil_div(tiles, most));
}

// Stride of rows of `width` floats; not a page.
static size_t f32_winograd_stride(size_t width) {
  return width % WINOGRAD_PAGE == 0 ? width + WINOGRAD_LINE : width;
}

// Stride of points with `tiles` rows: an odd number of cache lines, so that the same tile of all
// points does not fall into one set.
static size_t f32_winograd_point(size_t tiles, size_t stride) {
  return (smr_ceil_div(tiles * stride, WINOGRAD_LINE) | 1) * WINOGRAD_LINE;
}

static struct smr_f32_gemm_args f32_winograd_gemm(const struct smr_f32_winograd_plan *plan,
                                                  const struct smr_f32_winograd_args *args,
                                                  size_t tiles) {
  const size_t panel = args->channels * SMR_PANEL * sizeof(float);
  return (struct smr_f32_gemm_args){
      .batch = smr_winograd_points(plan->form),
      .m = tiles,
      .n = args->n,
      .k = args->channels,
      .taps = 1,
      .a_stride = plan->in_stride,
      .a_batch_stride = plan->in_point,
      .w = args->weights,
      .w_type = SMR_GEMM_F32,
      .panel_stride_bytes = panel,
      .w_batch_stride_bytes = panel * smr_panels(args->n),
      .out_type = SMR_GEMM_F32,
      .out_stride = plan->out_stride,
      .out_batch_stride = plan->out_point,
      .lo = -__builtin_inff(),
      .hi = __builtin_inff(),
  };
}

void smr_f32_winograd_plan_make(enum smr_winograd_form form, uint32_t isa,
                                const struct smr_f32_gemm_config *config,
                                const struct smr_f32_winograd_args *args,
                                struct smr_f32_winograd_plan *plan) {
  const size_t row = f32_winograd_row(isa), side = smr_winograd_side(form);
  *plan = (struct smr_f32_winograd_plan){
      .form = form,
      .ukernels = &f32_winograd_rows[row].table[form],
      .tiles_h = smr_ceil_div(args->out_h, side),
      .tiles_w = smr_ceil_div(args->out_w, side),
      .in_stride = f32_winograd_stride(args->channels),
      .out_stride = f32_winograd_stride(args->n),
      .kernel = f32_winograd_rows[row].names[form],
  };
  plan->tiles = args->batch * plan->tiles_h * plan->tiles_w;
  plan->block_tiles = smr_f32_winograd_block_tiles(form, plan->tiles, args->channels, args->n);
  plan->blocks = smr_ceil_div(plan->tiles, plan->block_tiles);
  const size_t threads = args->threads > 1 ? args->threads : 1;
  const size_t shared = smr_ceil_div(plan->blocks, threads) * threads;
  if (plan->tiles / shared >= WINOGRAD_SHARED_TILES) {
    plan->blocks = shared;
    plan->block_tiles = smr_ceil_div(plan->tiles, shared);
  }
  plan->in_point = f32_winograd_point(plan->block_tiles, plan->in_stride);
  plan->out_point = f32_winograd_point(plan->block_tiles, plan->out_stride);
  struct smr_f32_gemm_args gemm = f32_winograd_gemm(plan, args, plan->block_tiles);
  smr_f32_gemm_plan_make(config, &gemm, &plan->products);
  gemm.m = plan->block_tiles - 1;
  smr_f32_gemm_plan_make(config, &gemm, &plan->products_1);
}

size_t smr_f32_winograd_block_floats(const struct smr_f32_winograd_plan *plan) {
  return smr_winograd_points(plan->form) * (plan->in_point + plan->out_point);
}

size_t smr_f32_winograd_most_floats(enum smr_winograd_form form, size_t tiles, size_t channels,
                                    size_t n) {
  const size_t most = f32_winograd_most(form, channels, n), block = tiles < most ? tiles : most;
  return smr_winograd_points(form) * (f32_winograd_point(block, f32_winograd_stride(channels)) +
                                      f32_winograd_point(block, f32_winograd_stride(n)));
}

size_t smr_f32_winograd_weight_bytes(enum smr_winograd_form form, size_t channels, size_t n) {
  return smr_winograd_points(form) * smr_panels(n) * channels * SMR_PANEL * sizeof(float);
}

void smr_f32_winograd_weights(enum smr_winograd_form form, uint32_t isa,
                              const struct smr_f32_winograd_weights *args, size_t begin,
                              size_t end) {
  f32_winograd_rows[f32_winograd_row(isa)].table[form].weights(args, begin, end);
}

static const struct smr_f32_gemm_plan *f32_winograd_plan_of(
    const struct smr_f32_winograd_plan *plan, size_t block) {
  return smr_f32_winograd_tiles(plan, block) == plan->block_tiles ? &plan->products
                                                                  : &plan->products_1;
}

size_t smr_f32_winograd_units(const struct smr_f32_winograd_plan *plan, size_t block) {
  return f32_winograd_plan_of(plan, block)->units;
}

// Position of tile `tile`, counted over all images.
struct f32_winograd_place {
  size_t image, y, x;  // y, x: its first output
};

static struct f32_winograd_place f32_winograd_place(const struct smr_f32_winograd_plan *plan,
                                                    size_t tile) {
  const size_t side = smr_winograd_side(plan->form), line = tile / plan->tiles_w;
  return (struct f32_winograd_place){.image = line / plan->tiles_h,
                                     .y = line % plan->tiles_h * side,
                                     .x = tile % plan->tiles_w * side};
}

void smr_f32_winograd_input(const struct smr_f32_winograd_plan *plan,
                            const struct smr_f32_winograd_args *args, size_t block, float *room,
                            size_t begin, size_t end) {
  const size_t side = smr_winograd_side(plan->form) + 2, first = f32_winograd_first(plan, block);
  for (size_t t = begin; t < end; t++) {
    const struct f32_winograd_place at = f32_winograd_place(plan, first + t);
    const float *image = args->in + at.image * args->in_batch_stride;
    const float *pixels[SMR_WINOGRAD_MOST_POINTS];
    for (size_t i = 0; i < side; i++) {
      const size_t y = at.y + i - args->pad_top;  // wraps above the image
      for (size_t j = 0; j < side; j++) {
        const size_t x = at.x + j - args->pad_left;
        pixels[i * side + j] = y < args->in_h && x < args->in_w
                                   ? image + y * args->in_row_stride + x * args->in_pixel_stride
                                   : args->zero;
      }
    }
    plan->ukernels->input(args->channels, pixels, room + t * plan->in_stride, plan->in_point);
  }
}

void smr_f32_winograd_products(const struct smr_f32_winograd_plan *plan,
                               const struct smr_f32_winograd_args *args, size_t block, float *room,
                               size_t begin, size_t end) {
  struct smr_f32_gemm_args gemm =
      f32_winograd_gemm(plan, args, smr_f32_winograd_tiles(plan, block));
  gemm.a = room;
  gemm.out = room + smr_winograd_points(plan->form) * plan->in_point;
  smr_f32_gemm_run(f32_winograd_plan_of(plan, block), &gemm, begin, end);
}

void smr_f32_winograd_output(const struct smr_f32_winograd_plan *plan,
                             const struct smr_f32_winograd_args *args, size_t block,
                             const float *room, size_t begin, size_t end) {
  const size_t side = smr_winograd_side(plan->form), first = f32_winograd_first(plan, block);
  const float *products = room + smr_winograd_points(plan->form) * plan->in_point;
  for (size_t t = begin; t < end; t++) {
    const struct f32_winograd_place at = f32_winograd_place(plan, first + t);
    const size_t rows = args->out_h - at.y, columns = args->out_w - at.x;
    float *out = args->out + at.image * args->out_batch_stride + at.y * args->out_row_stride +
                 at.x * args->out_pixel_stride;
    const struct smr_f32_winograd_output tile = {
        .channels = args->n,
        .rows = rows < side ? rows : side,
        .columns = columns < side ? columns : side,
        .products = products + t * plan->out_stride,
        .point_stride = plan->out_point,
        .bias = args->bias,
        .out = out,
        .out_pixel_stride = args->out_pixel_stride,
        .out_row_stride = args->out_row_stride,
        .residual = args->residual != NULL
                        ? args->residual + at.image * args->residual_batch_stride +
                              at.y * args->residual_row_stride + at.x * args->residual_pixel_stride
                        : NULL,
        .residual_pixel_stride = args->residual_pixel_stride,
        .residual_row_stride = args->residual_row_stride,
        .lo = args->lo,
        .hi = args->hi,
    };
    plan->ukernels->output(&tile);
    for (size_t i = 0; args->post != NULL && i < tile.rows; i++)
      args->post(args->post_context, out + i * args->out_row_stride, tile.columns, args->n,
                 args->out_pixel_stride, SMR_GEMM_F32);
  }
}
