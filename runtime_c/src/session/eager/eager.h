// SPDX-License-Identifier: Apache-2.0
// Prepared operators and their contexts: declarations shared by the eager files.
#ifndef SMR_SESSION_EAGER_H
#define SMR_SESSION_EAGER_H

#include "base/alloc.h"
#include "base/error.h"
#include "kernels/view_copy/view_copy.h"
#include "ops/op.h"
#include "session/common/common.h"

#include <samara/samara_experimental.h>

/// An input whose strides its operator cannot read: copied into scratch before every run.
struct smr_eager_copy {
  uint32_t input;
  size_t offset;  // of the dense copy, from the first byte after the operator's own scratch
  struct smr_view_plan plan;
};

/// Immutable after creation. Everything it points to lies in the same block.
struct samara_op {
  samara_allocator allocator;
  struct smr_job job;          // template of every run: no data, no scratch
  struct smr_tensor *tensors;  // inputs, then outputs; dense or pixel-strided
  struct smr_eager_copy *copies;
  bool *present;  // of the inputs
  uint32_t copy_count;
  size_t copy_bytes;   // of all copies
  size_t frame_bytes;  // of the frame of a run
};

/// The first failure of one thread in a run.
struct smr_eager_failure {
  samara_error error;
  size_t begin;  // where the range began
};

struct samara_op_context {
  samara_allocator allocator;
  samara_pool *pool;
  size_t threads;
  samara_error error;
  struct smr_eager_failure *failures;  // by thread
  SMR_ATOMIC(uint64_t) * runs;         // by row of the op table; other threads may read them
  struct smr_block scratch, frames;
};

/* ---- eager_attrs.c ---- */

/// The attributes of `row` that `desc` gives, the others at their defaults, into `attrs` (NULL
/// while `bump` measures). Lists are copied to `bump`.
samara_status smr_eager_attrs(const struct smr_op *row, const samara_op_desc *desc,
                              struct smr_attr *attrs, struct smr_bump *bump, samara_error *error);

/* ---- eager_layout.c ---- */

/// Write dims, dtype and strides of a present operand to `tensor`. If `strided`, the tensor may
/// take the operand's pixel stride. Otherwise `*view` describes the copy to make; rank 0 with
/// element_bytes 0 means no copy.
samara_status smr_eager_layout(const samara_op_tensor *operand, bool strided,
                               struct smr_tensor *tensor, struct smr_view *view);

#endif
