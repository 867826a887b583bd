// SPDX-License-Identifier: Apache-2.0
// concat and split: rows of several tensors side by side.
#include "base/fp.h"

#include "ops/move.h"

// The joined tensor is [rows][the parts' blocks one after the other]. Work is cut by its bytes.
struct join_state {
  struct smr_units units;  // of JOIN_UNIT_BYTES of the joined tensor
  uint32_t axis;
  size_t total_bytes;
};

enum { JOIN_UNIT_BYTES = 256 };  // a multiple of every element size

static samara_status join_prepare(struct smr_job *job, const struct smr_tensor *joined) {
  struct join_state *state = (struct join_state *)job->state;
  state->axis = smr_move_axis(job, "axis", joined->rank);
  state->total_bytes = (size_t)smr_numel(joined) * smr_dtype_bytes(joined->dtype);
  const size_t count =
      state->total_bytes / JOIN_UNIT_BYTES + (state->total_bytes % JOIN_UNIT_BYTES != 0);
  state->units = smr_units_make(job, count, JOIN_UNIT_BYTES);
  job->kernel = "join";
  return SAMARA_OK;
}

// Copies bytes [first, last) of the joined tensor from or to the parts.
static void join_copy(const struct join_state *state, char *joined, struct smr_tensor *const *parts,
                      uint32_t part_count, size_t first, size_t last, bool split) {
  const struct smr_tensor *any = parts[0];
  const size_t inner = smr_extent(any, state->axis + 1, any->rank) * smr_dtype_bytes(any->dtype);
  size_t row_bytes = 0;
  for (uint32_t p = 0; p < part_count; p++)
    row_bytes += (size_t)parts[p]->dims[state->axis] * inner;
  size_t row = first / row_bytes, skip = first % row_bytes;
  while (first < last) {
    for (uint32_t p = 0; p < part_count && first < last; p++) {
      const size_t block = (size_t)parts[p]->dims[state->axis] * inner;
      if (skip >= block) {
        skip -= block;
        continue;
      }
      const size_t rest = block - skip, bytes = rest < last - first ? rest : last - first;
      char *part = (char *)parts[p]->data + row * block + skip;
      if (split)
        smr_copy_block(part, joined + first, bytes);
      else
        smr_copy_block(joined + first, part, bytes);
      first += bytes;
      skip = 0;
    }
    row++;
  }
}

static void join_run(const struct smr_job *job, struct smr_tensor *joined,
                     struct smr_tensor *const *parts, uint32_t part_count, size_t begin, size_t end,
                     bool split) {
  const struct join_state *state = (const struct join_state *)job->state;
  const size_t first = smr_units_begin(&state->units, begin) * JOIN_UNIT_BYTES;
  const size_t stop = smr_units_begin(&state->units, end) * JOIN_UNIT_BYTES;
  const size_t last = stop < state->total_bytes ? stop : state->total_bytes;
  if (first < last) join_copy(state, (char *)joined->data, parts, part_count, first, last, split);
}

static samara_status concat_prepare(struct smr_job *job) {
  return join_prepare(job, job->outputs[0]);
}

static samara_status concat_run(const struct smr_job *job, size_t begin, size_t end,
                                void *scratch) {
  (void)scratch;
  join_run(job, job->outputs[0], job->inputs, job->input_count, begin, end, false);
  return SAMARA_OK;
}

static samara_status split_prepare(struct smr_job *job) {
  return join_prepare(job, job->inputs[0]);
}

static samara_status split_run(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  (void)scratch;
  join_run(job, job->inputs[0], job->outputs, job->output_count, begin, end, true);
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_concat_funcs = {.check = smr_move_check_all,
                                                 .prepare = concat_prepare,
                                                 .run = concat_run,
                                                 .state_bytes = sizeof(struct join_state)};
const struct smr_op_funcs smr_op_split_funcs = {.check = smr_move_check,
                                                .prepare = split_prepare,
                                                .run = split_run,
                                                .state_bytes = sizeof(struct join_state)};
