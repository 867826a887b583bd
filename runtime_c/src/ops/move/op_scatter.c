// SPDX-License-Identifier: Apache-2.0
// scatter_elements and scatter_nd: copies the input and updates the elements named by indices.
//
// Updates are applied in the order of the index tensor. Two updates of the same element always
// belong to the same tile, so the result does not depend on threads. Tiles of scatter_elements are
// slabs of axis 0, unless indices refer to that axis. Tiles of scatter_nd are ranges of blocks;
// each tile scans all index tuples for its own.
#include "base/fp.h"

#include "kernels/f32_vbinary/f32_vbinary.h"
#include "ops/check/check.h"
#include "ops/move/move.h"
#include "ops/table/attrs.h"
#include "simd/half.h"

#include <inttypes.h>

enum { SCATTER_NONE, SCATTER_ADD, SCATTER_MUL, SCATTER_MAX, SCATTER_MIN, SCATTER_REDUCTIONS };
enum {
  SCATTER_TUPLE_BYTES = 64,  // cost of skipping a tuple of another tile, in bytes moved
  SCATTER_ROW = 8,           // fewest elements of a block that justify the call of a vector kernel
};

// y[i] = y[i] combined with updates[i].
typedef void (*scatter_combine)(int64_t reduction, size_t n, const char *updates, char *y);

struct scatter_state {
  struct smr_units units;       // slabs along axis 0, or a single unit; scatter_nd: blocks
  scatter_combine combine;      // NULL: replace
  smr_f32_vbinary_ukernel add;  // sums of float32 rows; NULL: other cases
  int64_t reduction;
  uint32_t axis;  // of scatter_elements
  bool wrap;      // negative indices count from the end
  bool slabs;     // indices refer to another axis than the first: slabs are independent
  size_t block;   // elements per index tuple of scatter_nd
  size_t strides[SAMARA_MAX_RANK];
};

// max and min give NaN when either is NaN, as numpy's do.
static inline float scatter_float(int64_t reduction, float a, float b) {
  if (reduction == SCATTER_ADD) return a + b;
  if (reduction == SCATTER_MUL) return a * b;
  if (a != a) return a;
  if (reduction == SCATTER_MAX) return a > b ? a : b;
  return a < b ? a : b;
}

static inline double scatter_double(int64_t reduction, double a, double b) {
  if (reduction == SCATTER_ADD) return a + b;
  if (reduction == SCATTER_MUL) return a * b;
  if (a != a) return a;
  if (reduction == SCATTER_MAX) return a > b ? a : b;
  return a < b ? a : b;
}

static inline uint64_t scatter_uint(int64_t reduction, uint64_t a, uint64_t b) {
  if (reduction == SCATTER_ADD) return a + b;
  if (reduction == SCATTER_MUL) return a * b;
  if (reduction == SCATTER_MAX) return a > b ? a : b;
  return a < b ? a : b;
}

// Sums and products wrap in the width of the dtype.
static inline int64_t scatter_int(int64_t reduction, int64_t a, int64_t b) {
  if (reduction == SCATTER_ADD) return (int64_t)((uint64_t)a + (uint64_t)b);
  if (reduction == SCATTER_MUL) return (int64_t)((uint64_t)a * (uint64_t)b);
  if (reduction == SCATTER_MAX) return a > b ? a : b;
  return a < b ? a : b;
}

#define SCATTER_COMBINE(name, type, pick, widen, narrow)                                          \
  static void scatter_combine_##name(int64_t reduction, size_t n, const char *updates, char *y) { \
    for (size_t i = 0; i < n; i++, updates += sizeof(type), y += sizeof(type)) {                  \
      type a, b;                                                                                  \
      memcpy(&a, y, sizeof a);                                                                    \
      memcpy(&b, updates, sizeof b);                                                              \
      a = (type)narrow(pick(reduction, widen(a), widen(b)));                                      \
      memcpy(y, &a, sizeof a);                                                                    \
    }                                                                                             \
  }
SCATTER_COMBINE(f32, float, scatter_float, , )
SCATTER_COMBINE(f16, uint16_t, scatter_float, smr_f16_to_f32, smr_f32_to_f16)
SCATTER_COMBINE(bf16, uint16_t, scatter_float, smr_bf16_to_f32, smr_f32_to_bf16)
SCATTER_COMBINE(i8, int8_t, scatter_int, , )
SCATTER_COMBINE(i16, int16_t, scatter_int, , )
SCATTER_COMBINE(i32, int32_t, scatter_int, , )
SCATTER_COMBINE(i64, int64_t, scatter_int, , )
SCATTER_COMBINE(u8, uint8_t, scatter_uint, , )
SCATTER_COMBINE(u16, uint16_t, scatter_uint, , )
SCATTER_COMBINE(u32, uint32_t, scatter_uint, , )
SCATTER_COMBINE(u64, uint64_t, scatter_uint, , )
SCATTER_COMBINE(f64, double, scatter_double, , )
#undef SCATTER_COMBINE

static const scatter_combine scatter_combines[] = {
    [SAMARA_FLOAT32] = scatter_combine_f32, [SAMARA_FLOAT16] = scatter_combine_f16,
    [SAMARA_INT8] = scatter_combine_i8,     [SAMARA_UINT8] = scatter_combine_u8,
    [SAMARA_INT32] = scatter_combine_i32,   [SAMARA_INT64] = scatter_combine_i64,
    [SAMARA_FLOAT64] = scatter_combine_f64, [SAMARA_INT16] = scatter_combine_i16,
    [SAMARA_UINT16] = scatter_combine_u16,  [SAMARA_UINT32] = scatter_combine_u32,
    [SAMARA_UINT64] = scatter_combine_u64,  [SAMARA_BFLOAT16] = scatter_combine_bf16,
};

// A reduction requires numbers.
static samara_status scatter_check(const struct smr_job *job, int64_t reduction) {
  if (reduction < SCATTER_NONE || reduction >= SCATTER_REDUCTIONS)
    SMR_FAIL(job->error, BAD_SHAPE, "%s: reduction %" PRId64 " is unknown", job->op->name,
             reduction);
  SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "input and output"));
  if (reduction == SCATTER_NONE) return SAMARA_OK;
  return smr_expect_dtype(job, job->inputs[0], "the input of a reduction",
                          SMR_DTYPES_EVERY_NUMBER | SMR_DTYPE_BF16);
}

static void scatter_prepare(struct smr_job *job, int64_t reduction, bool wrap) {
  struct scatter_state *state = (struct scatter_state *)job->state;
  const struct smr_tensor *x = job->inputs[0];
  *state = (struct scatter_state){.reduction = reduction, .wrap = wrap};
  if (state->reduction != SCATTER_NONE) state->combine = scatter_combines[x->dtype];
  smr_dense_strides(x, state->strides);
  job->kernel = "scatter";
}

static void scatter_block(const struct scatter_state *state, char *y, const char *updates,
                          size_t elements, size_t element_bytes) {
  if (state->combine != NULL)
    state->combine(state->reduction, elements, updates, y);
  else
    smr_copy_block(y, updates, elements * element_bytes);
}

// Copy bytes [first, last) of the input to the output. Nothing to do in place.
static void scatter_copy(const struct smr_job *job, size_t first, size_t last) {
  const char *x = (const char *)job->inputs[0]->data;
  char *y = (char *)job->outputs[0]->data;
  if (x != y && first < last) memcpy(y + first, x + first, last - first);
}

static samara_status scatter_elements_check(const struct smr_job *job) {
  return scatter_check(job, SMR_ATTR(job, scatter_elements, reduction)->i);
}

static samara_status scatter_elements_prepare(struct smr_job *job) {
  scatter_prepare(job, SMR_ATTR(job, scatter_elements, reduction)->i,
                  SMR_ATTR(job, scatter_elements, wrap)->i != 0);
  struct scatter_state *state = (struct scatter_state *)job->state;
  const struct smr_tensor *x = job->inputs[0];
  state->axis = smr_move_axis(SMR_ATTR(job, scatter_elements, axis)->i, x->rank);
  state->slabs = state->axis > 0;
  const size_t elements = (size_t)smr_numel(x);
  const size_t count = elements == 0 ? 0 : state->slabs ? (size_t)x->dims[0] : 1;
  state->units = smr_units_make(job, count, state->strides[0]);
  return SAMARA_OK;
}

// Apply row `row` of the updates. Rows run along their last axis.
static samara_status scatter_elements_row(const struct smr_job *job, size_t row) {
  const struct scatter_state *state = (const struct scatter_state *)job->state;
  const struct smr_tensor *x = job->inputs[0], *indices = job->inputs[1];
  const size_t element_bytes = smr_dtype_bytes(x->dtype);
  const uint32_t last_axis = indices->rank - 1u;
  const size_t step = state->axis == last_axis ? 0 : element_bytes;
  const size_t n = (size_t)indices->dims[last_axis];
  char *y = (char *)job->outputs[0]->data;
  size_t rest = row;
  for (uint32_t i = last_axis; i-- > 0;) {
    if (i != state->axis) y += rest % (size_t)indices->dims[i] * state->strides[i];
    rest /= (size_t)indices->dims[i];
  }
  const size_t extent = (size_t)x->dims[state->axis], by = state->strides[state->axis];
  const char *updates = (const char *)job->inputs[2]->data + row * n * element_bytes;
  for (size_t j = 0; j < n; j++, y += step, updates += element_bytes) {
    const size_t position = row * n + j;
    const int64_t value = smr_index_at(indices, position);
    size_t index = (size_t)value;  // the usual case; others count from the end or are refused
    if ((uint64_t)value >= extent)
      SMR_TRY(smr_move_index(job, value, position, (int64_t)extent, state->wrap, &index));
    scatter_block(state, y + index * by, updates, 1, element_bytes);
  }
  return SAMARA_OK;
}

static samara_status scatter_elements_run(const struct smr_job *job, size_t begin, size_t end,
                                          void *scratch) {
  (void)scratch;
  const struct scatter_state *state = (const struct scatter_state *)job->state;
  const struct smr_tensor *x = job->inputs[0], *indices = job->inputs[1];
  const size_t first = smr_units_begin(&state->units, begin);
  size_t last = smr_units_begin(&state->units, end);
  if (first >= last) return SAMARA_OK;
  const size_t slab =
      state->slabs ? state->strides[0] : (size_t)smr_numel(x) * smr_dtype_bytes(x->dtype);
  scatter_copy(job, first * slab, last * slab);
  if (smr_numel(indices) == 0) return SAMARA_OK;
  const size_t rows = smr_extent(indices, 0, indices->rank - 1u);
  if (!state->slabs) {
    for (size_t row = 0; row < rows; row++) SMR_TRY(scatter_elements_row(job, row));
    return SAMARA_OK;
  }
  if (last > (size_t)indices->dims[0]) last = (size_t)indices->dims[0];
  const size_t per_slab = rows / (size_t)indices->dims[0];
  for (size_t row = first * per_slab; row < last * per_slab; row++)
    SMR_TRY(scatter_elements_row(job, row));
  return SAMARA_OK;
}

static samara_status scatter_nd_check(const struct smr_job *job) {
  return scatter_check(job, SMR_ATTR(job, scatter_nd, reduction)->i);
}

static samara_status scatter_nd_prepare(struct smr_job *job) {
  scatter_prepare(job, SMR_ATTR(job, scatter_nd, reduction)->i,
                  SMR_ATTR(job, scatter_nd, wrap)->i != 0);
  struct scatter_state *state = (struct scatter_state *)job->state;
  const struct smr_tensor *x = job->inputs[0], *indices = job->inputs[1];
  const size_t tuples = smr_extent(indices, 0, indices->rank - 1u);
  state->block = smr_extent(x, (uint32_t)indices->dims[indices->rank - 1], x->rank);
  const bool adds = x->dtype == SAMARA_FLOAT32 && state->reduction == SCATTER_ADD;
  if (adds && (job->dims_vary || state->block >= SCATTER_ROW)) SMR_NEED(job, f32_vbinary_add);
  if (adds && state->block >= SCATTER_ROW)
    state->add = smr_f32_vbinary_kernel(job->isa, SMR_F32_VBINARY_ADD);
  job->tiles = 0;
  if (smr_numel(x) == 0) return SAMARA_OK;
  const size_t block_bytes = state->block * smr_dtype_bytes(x->dtype);
  const size_t limit = SIZE_MAX / SCATTER_TUPLE_BYTES;
  const size_t passing = (tuples < limit ? tuples : limit) * SCATTER_TUPLE_BYTES;
  const size_t tile_bytes = passing > SMR_MOVE_TILE_BYTES ? passing : SMR_MOVE_TILE_BYTES;
  state->units.count = (size_t)smr_numel(x) / state->block;
  state->units.per_tile = tile_bytes > block_bytes ? tile_bytes / block_bytes : 1;
  job->tiles = (state->units.count - 1) / state->units.per_tile + 1;
  return SAMARA_OK;
}

// The block named by tuple `tuple`.
static samara_status scatter_nd_place(const struct smr_job *job, size_t tuple, size_t *out) {
  const struct scatter_state *state = (const struct scatter_state *)job->state;
  const struct smr_tensor *x = job->inputs[0], *indices = job->inputs[1];
  const size_t depth = (size_t)indices->dims[indices->rank - 1];
  size_t place = 0;
  for (size_t i = 0; i < depth; i++) {
    const size_t position = tuple * depth + i;
    size_t index;
    SMR_TRY(smr_move_index(job, smr_index_at(indices, position), position, x->dims[i], state->wrap,
                           &index));
    place = place * (size_t)x->dims[i] + index;
  }
  *out = place;
  return SAMARA_OK;
}

static samara_status scatter_nd_run(const struct smr_job *job, size_t begin, size_t end,
                                    void *scratch) {
  (void)scratch;
  const struct scatter_state *state = (const struct scatter_state *)job->state;
  const struct smr_tensor *indices = job->inputs[1];
  const size_t first = smr_units_begin(&state->units, begin);
  const size_t last = smr_units_begin(&state->units, end);
  if (first >= last) return SAMARA_OK;
  const size_t element_bytes = smr_dtype_bytes(job->inputs[0]->dtype);
  const size_t block_bytes = state->block * element_bytes;
  char *y = (char *)job->outputs[0]->data;
  const char *updates = (const char *)job->inputs[2]->data;
  scatter_copy(job, first * block_bytes, last * block_bytes);
  const size_t tuples = smr_extent(indices, 0, indices->rank - 1u);
  for (size_t tuple = 0; tuple < tuples; tuple++, updates += block_bytes) {
    size_t place;
    SMR_TRY(scatter_nd_place(job, tuple, &place));
    if (place < first || place >= last) continue;
    char *to = y + place * block_bytes;
    if (state->add != NULL)
      state->add(state->block, (const float *)(const void *)to, 1,
                 (const float *)(const void *)updates, 1, (float *)(void *)to);
    else
      scatter_block(state, to, updates, state->block, element_bytes);
  }
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_scatter_elements_funcs = {
    .check = scatter_elements_check,
    .prepare = scatter_elements_prepare,
    .run = scatter_elements_run,
    .state_bytes = sizeof(struct scatter_state),
    .more_dtypes = SMR_DTYPES_MORE};
const struct smr_op_funcs smr_op_scatter_nd_funcs = {.check = scatter_nd_check,
                                                     .prepare = scatter_nd_prepare,
                                                     .run = scatter_nd_run,
                                                     .state_bytes = sizeof(struct scatter_state),
                                                     .more_dtypes = SMR_DTYPES_MORE};
