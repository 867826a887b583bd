// SPDX-License-Identifier: Apache-2.0
// cast: elements in another dtype.
#include "base/fp.h"

#include "kernels/vcast/vcast.h"
#include "ops/check.h"
#include "ops/elementwise.h"
#include "ops/funcs.h"

#include <string.h>

struct cast_state {
  smr_vcast_ukernel cast;         // between what remains when float16 counts as float32
  smr_f16_to_f32_ukernel widen;   // float16 input
  smr_f32_to_f16_ukernel narrow;  // float16 output
};

static samara_status cast_check(const struct smr_job *job) {
  const struct smr_tensor *x = job->inputs[0], *y = job->outputs[0];
  SMR_TRY(smr_expect_dtype(job, x, "input", SMR_DTYPES_PLAIN));
  SMR_TRY(smr_expect_dtype(job, y, "output", SMR_DTYPES_PLAIN));
  if (smr_op_attr_int(job, "to") != y->dtype)
    SMR_FAIL(job->error, BAD_SHAPE, "cast: the output has dtype %s, not that of `to`",
             smr_dtype_name(y->dtype));
  return SAMARA_OK;
}

static samara_status cast_prepare(struct smr_job *job) {
  struct cast_state *s = job->state;
  const uint8_t from = job->inputs[0]->dtype, to = job->outputs[0]->dtype;
  *s = (struct cast_state){.cast = NULL};
  job->kernel = "vcast";
  if (from != to) {
    if (from == SAMARA_FLOAT16) s->widen = smr_f16_to_f32_kernel(job->isa);
    if (to == SAMARA_FLOAT16) s->narrow = smr_f32_to_f16_kernel(job->isa);
    s->cast = smr_vcast_kernel(from == SAMARA_FLOAT16 ? SAMARA_FLOAT32 : from,
                               to == SAMARA_FLOAT16 ? SAMARA_FLOAT32 : to);
    job->thread_scratch_bytes = SMR_WIDEN_CHUNK * sizeof(float);
  }
  job->tiles = smr_grain_tiles((size_t)smr_numel(job->outputs[0]));
  return SAMARA_OK;
}

static samara_status cast_run(const struct smr_job *job, size_t begin, size_t end,
                              void *thread_scratch) {
  const struct cast_state *s = job->state;
  const struct smr_tensor *tx = job->inputs[0], *ty = job->outputs[0];
  const size_t x_bytes = smr_dtype_bytes(tx->dtype), y_bytes = smr_dtype_bytes(ty->dtype);
  const size_t to = smr_grain_end((size_t)smr_numel(ty), end);
  float *chunk = thread_scratch;
  for (size_t i = begin * SMR_GRAIN; i < to; i += SMR_WIDEN_CHUNK) {
    const size_t n = to - i < SMR_WIDEN_CHUNK ? to - i : SMR_WIDEN_CHUNK;
    const void *x = (const char *)tx->data + i * x_bytes;
    void *y = (char *)ty->data + i * y_bytes;
    if (s->cast == NULL) {
      memmove(y, x, n * y_bytes);
      continue;
    }
    if (s->widen != NULL) s->widen(n, x, chunk);
    if (s->narrow == NULL) {
      s->cast(n, s->widen != NULL ? chunk : x, y);
      continue;
    }
    s->cast(n, x, chunk);  // never float16 to itself, so there is no widened input here
    s->narrow(n, chunk, y);
  }
  return SAMARA_OK;
}

const struct smr_op_funcs smr_op_cast_funcs = {.check = cast_check,
                                               .prepare = cast_prepare,
                                               .run = cast_run,
                                               .state_bytes = sizeof(struct cast_state)};
