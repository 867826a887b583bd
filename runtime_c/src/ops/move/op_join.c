// SPDX-License-Identifier: Apache-2.0
// concat and split: concatenated rows of several tensors.
#include "base/fp.h"

#include "base/cut.h"
#include "ops/check/check.h"
#include "ops/deadline.h"
#include "ops/move/move.h"

// The joined tensor is [rows][blocks of all operands]. Along the last axis, where rows are pixels,
// tiles are ranges of rows; otherwise ranges of the joined tensor's bytes.
struct join_state {
  struct smr_units units;  // rows, or JOIN_UNIT_BYTES of the joined tensor
  uint32_t axis;
  bool by_rows;
  size_t total_bytes, row_bytes;
};

enum { JOIN_UNIT_BYTES = 256 };  // a multiple of every element size

static samara_status join_prepare(struct smr_job *job, const struct smr_tensor *joined) {
  struct join_state *state = (struct join_state *)job->state;
  const size_t element = smr_dtype_bytes(joined->dtype);
  state->axis = smr_move_axis(SMR_ATTR(job, concat, axis)->i, joined->rank);
  state->total_bytes = (size_t)smr_numel(joined) * element;
  state->row_bytes = smr_extent(joined, state->axis, joined->rank) * element;
  state->by_rows = state->axis + 1u == joined->rank && state->row_bytes <= SMR_MOVE_TILE_BYTES;
  const size_t unit = state->by_rows ? state->row_bytes : JOIN_UNIT_BYTES;
  const size_t count = unit != 0 ? smr_ceil_div(state->total_bytes, unit) : 0;
  state->units = smr_units_make(job, count, unit);
  job->kernel = "join";
  return SAMARA_OK;
}

#define JOIN_ROWS_OF(n) \
  for (size_t i = 0; i < rows; i++) memcpy(dst + i * dst_pitch, src + i * src_pitch, (n))

static void join_rows(char *dst, size_t dst_pitch, const char *src, size_t src_pitch, size_t rows,
                      size_t bytes) {
  switch (bytes) {
    case 4:
      JOIN_ROWS_OF(4);
      break;
    case 8:
      JOIN_ROWS_OF(8);
      break;
    case 16:
      JOIN_ROWS_OF(16);
      break;
    default:
      JOIN_ROWS_OF(bytes);
      break;
  }
}
#undef JOIN_ROWS_OF

// Copies rows [first, last) of pixels. Skips operands that are views of the joined tensor.
static void join_pixels(const struct smr_tensor *joined, struct smr_tensor *const *parts,
                        uint32_t part_count, size_t first, size_t last, bool split) {
  const size_t element = smr_dtype_bytes(joined->dtype);
  const size_t pitch = (size_t)joined->pixel_stride * element;
  char *whole = (char *)joined->data + first * pitch;
  for (uint32_t p = 0; p < part_count; p++) {
    const size_t bytes = (size_t)parts[p]->dims[parts[p]->rank - 1] * element;
    const size_t part_pitch = (size_t)parts[p]->pixel_stride * element;
    if (bytes == 0) continue;
    char *part = (char *)parts[p]->data + first * part_pitch;
    if (part != whole && split) join_rows(part, part_pitch, whole, pitch, last - first, bytes);
    if (part != whole && !split) join_rows(whole, pitch, part, part_pitch, last - first, bytes);
    whole += bytes;
  }
}

static bool join_is_dense(const struct smr_tensor *t) {
  return t->pixel_stride == t->dims[t->rank - 1];
}

// Address of byte `at` of the dense tensor. Shortens `bytes` to what follows contiguously.
static char *join_at(const struct smr_tensor *t, size_t at, size_t *bytes) {
  const size_t element = smr_dtype_bytes(t->dtype), row = (size_t)t->dims[t->rank - 1] * element;
  if (join_is_dense(t)) return (char *)t->data + at;
  const size_t skip = at % row;
  if (row - skip < *bytes) *bytes = row - skip;
  return (char *)t->data + at / row * (size_t)t->pixel_stride * element + skip;
}

static void join_move(const struct smr_tensor *to, size_t to_at, const struct smr_tensor *from,
                      size_t from_at, size_t bytes) {
  while (bytes > 0) {
    size_t piece = bytes;
    char *dst = join_at(to, to_at, &piece);
    const char *src = join_at(from, from_at, &piece);
    if (src != dst) smr_copy_block(dst, src, piece);
    to_at += piece;
    from_at += piece;
    bytes -= piece;
  }
}

// Copies bytes [first, last) of the joined tensor from or to the operands. Many of these may be
// empty.
static samara_status join_copy(const struct smr_job *job, const struct smr_tensor *joined,
                               struct smr_tensor *const *parts, uint32_t part_count, size_t first,
                               size_t last, bool split) {
  const struct join_state *state = (const struct join_state *)job->state;
  const size_t inner =
      smr_extent(joined, state->axis + 1, joined->rank) * smr_dtype_bytes(joined->dtype);
  size_t row = first / state->row_bytes, skip = first % state->row_bytes;
  struct smr_deadline_watch watch = {.job = job};
  while (first < last) {
    SMR_TRY(smr_deadline_step(&watch, part_count));
    for (uint32_t p = 0; p < part_count && first < last; p++) {
      const size_t block = (size_t)parts[p]->dims[state->axis] * inner;
      if (skip >= block) {
        skip -= block;
        continue;
      }
      const size_t rest = block - skip, bytes = rest < last - first ? rest : last - first;
      if (split)
        join_move(parts[p], row * block + skip, joined, first, bytes);
      else
        join_move(joined, first, parts[p], row * block + skip, bytes);
      first += bytes;
      skip = 0;
    }
    row++;
  }
  return SAMARA_OK;
}

static samara_status join_run(const struct smr_job *job, struct smr_tensor *joined,
                              struct smr_tensor *const *parts, uint32_t part_count, size_t begin,
                              size_t end, bool split) {
  const struct join_state *state = (const struct join_state *)job->state;
  const size_t from = smr_units_begin(&state->units, begin);
  const size_t to = smr_units_begin(&state->units, end);
  if (state->by_rows) {
    if (from < to) join_pixels(joined, parts, part_count, from, to, split);
    return SAMARA_OK;
  }
  const size_t first = from * JOIN_UNIT_BYTES, stop = to * JOIN_UNIT_BYTES;
  const size_t last = stop < state->total_bytes ? stop : state->total_bytes;
  return first < last ? join_copy(job, joined, parts, part_count, first, last, split) : SAMARA_OK;
}

static samara_status concat_prepare(struct smr_job *job) {
  return join_prepare(job, job->outputs[0]);
}

static samara_status concat_run(const struct smr_job *job, size_t begin, size_t end,
                                void *scratch) {
  (void)scratch;
  return join_run(job, job->outputs[0], job->inputs, job->input_count, begin, end, false);
}

static samara_status split_prepare(struct smr_job *job) {
  return join_prepare(job, job->inputs[0]);
}

static samara_status split_run(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  (void)scratch;
  return join_run(job, job->inputs[0], job->outputs, job->output_count, begin, end, true);
}

const struct smr_op_funcs smr_op_concat_funcs = {.check = smr_move_check_all,
                                                 .prepare = concat_prepare,
                                                 .run = concat_run,
                                                 .state_bytes = sizeof(struct join_state),
                                                 .more_dtypes = SMR_DTYPES_MORE};
const struct smr_op_funcs smr_op_split_funcs = {.check = smr_move_check,
                                                .prepare = split_prepare,
                                                .run = split_run,
                                                .state_bytes = sizeof(struct join_state),
                                                .more_dtypes = SMR_DTYPES_MORE};
