// SPDX-License-Identifier: Apache-2.0
// cast: converts elements to another dtype.
#include "base/fp.h"

#include "kernels/vcast/vcast_wide.h"
#include "ops/check/check.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"

#include <string.h>

// Chunks start at even elements, because two elements may share a byte.
_Static_assert(SMR_WIDEN_CHUNK % 2 == 0 && SMR_GRAIN % SMR_WIDEN_CHUNK == 0, "odd chunks");

// One step, or two through thread scratch. All NULL: copy bytes.
struct cast_state {
  smr_vcast_ukernel cast;         // treats float16 as float32
  smr_f16_to_f32_ukernel widen;   // float16 input
  smr_f32_to_f16_ukernel narrow;  // float16 output
  struct smr_vcast_steps steps;   // for pairs that `cast` does not support
};

static samara_status cast_check(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  const uint32_t set = SMR_DTYPES_PLAIN | SMR_DTYPES_MORE | SMR_DTYPES_PACKED;
  SMR_TRY(smr_expect_dtype(job, x, "input", set));
  SMR_TRY(smr_expect_dtype(job, y, "output", set));
  if (SMR_ATTR(job, cast, to)->i != y->dtype)
    SMR_FAIL(job->error, BAD_SHAPE, "cast: the output has dtype %s, not that of `to`",
             smr_dtype_name(y->dtype));
  return SAMARA_OK;
}

// The unsigned dtype with the same bits, if wrapping leaves them unchanged; otherwise the dtype
// itself.
static uint8_t cast_bits(uint8_t dtype) {
  switch (dtype) {
    case SAMARA_INT8:
      return SAMARA_UINT8;
    case SAMARA_INT16:
      return SAMARA_UINT16;
    case SAMARA_INT32:
      return SAMARA_UINT32;
    case SAMARA_INT64:
      return SAMARA_UINT64;
    case SAMARA_INT4:
      return SAMARA_UINT4;
    default:
      return dtype;
  }
}

static samara_status cast_prepare(struct smr_job *job) {
  struct cast_state *s = job->state;
  const uint8_t from = job->inputs[0]->dtype, to = job->outputs[0]->dtype;
  *s = (struct cast_state){.cast = NULL};
  job->kernel = "vcast";
  job->tiles = smr_grain_tiles((size_t)smr_numel(job->outputs[0]));
  if (cast_bits(from) == cast_bits(to)) return SAMARA_OK;
  const smr_vcast_ukernel cast = smr_vcast_kernel(from == SAMARA_FLOAT16 ? SAMARA_FLOAT32 : from,
                                                  to == SAMARA_FLOAT16 ? SAMARA_FLOAT32 : to);
  // float16 to bfloat16 passes through float32, in either direction.
  const bool two = (from == SAMARA_FLOAT16 && to == SAMARA_BFLOAT16) ||
                   (from == SAMARA_BFLOAT16 && to == SAMARA_FLOAT16);
  if (cast == NULL || two) {
    SMR_NEED(job, vcast_wide);
    s->steps = smr_vcast_steps(from, to);
    job->thread_scratch_bytes = SMR_WIDEN_CHUNK * sizeof(double);
    return SAMARA_OK;
  }
  s->cast = cast;
  if (from == SAMARA_FLOAT16) s->widen = smr_f16_to_f32_kernel(job->isa);
  if (to == SAMARA_FLOAT16) s->narrow = smr_f32_to_f16_kernel(job->isa);
  if (s->widen != NULL || s->narrow != NULL)
    job->thread_scratch_bytes = SMR_WIDEN_CHUNK * sizeof(float);
  return SAMARA_OK;
}

static void cast_chunk(const struct cast_state *s, size_t n, const void *x, void *y,
                       void *scratch) {
  if (SMR_HAS(vcast_wide) && s->steps.widen != NULL) {
    s->steps.widen(n, x, scratch);
    s->steps.narrow(n, scratch, y);
  } else if (s->narrow != NULL) {
    s->cast(n, x, scratch);  // float16 to float16 does not get here, so scratch is free
    s->narrow(n, (const float *)scratch, (uint16_t *)y);
  } else if (s->widen != NULL) {
    s->widen(n, (const uint16_t *)x, (float *)scratch);
    s->cast(n, scratch, y);
  } else {
    s->cast(n, x, y);
  }
}

static samara_status cast_run(const struct smr_job *job, size_t begin, size_t end,
                              void *thread_scratch) {
  const struct cast_state *s = job->state;
  const struct smr_tensor *tx = job->inputs[0], *ty = job->outputs[0];
  const size_t x_bytes = smr_dtype_bytes(tx->dtype), y_bytes = smr_dtype_bytes(ty->dtype);
  const size_t to = smr_grain_end((size_t)smr_numel(ty), end);
  for (size_t i = begin * SMR_GRAIN; i < to; i += SMR_WIDEN_CHUNK) {
    const size_t n = to - i < SMR_WIDEN_CHUNK ? to - i : SMR_WIDEN_CHUNK;
    const void *x = (const char *)tx->data + smr_packed_bytes(tx->dtype, i * x_bytes);
    void *y = (char *)ty->data + smr_packed_bytes(ty->dtype, i * y_bytes);
    if (s->cast == NULL && s->steps.widen == NULL)
      memmove(y, x, smr_packed_bytes(ty->dtype, n * y_bytes));
    else
      cast_chunk(s, n, x, y, thread_scratch);
  }
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_cast_funcs = {.check = cast_check,
                                               .prepare = cast_prepare,
                                               .run = cast_run,
                                               .state_bytes = sizeof(struct cast_state),
                                               .more_dtypes = SMR_DTYPES_MORE | SMR_DTYPES_PACKED};
