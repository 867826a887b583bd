// SPDX-License-Identifier: Apache-2.0
// Which nodes have an exact form, and the kernels of functions in it.
#include "base/fp.h"

#include "ops/exact.h"

#include "base/parts.h"

// Which floats a job's tensors have.
struct exact_floats {
  bool narrow;  // float32 or float16
  bool wide;    // float64 or bfloat16
};

static void exact_add(struct exact_floats *floats, const struct smr_tensor *t) {
  if (t == NULL) return;
  floats->narrow = floats->narrow || t->dtype == SAMARA_FLOAT32 || t->dtype == SAMARA_FLOAT16;
  floats->wide = floats->wide || t->dtype == SAMARA_FLOAT64 || t->dtype == SAMARA_BFLOAT16;
}

samara_status smr_op_expect_exact(const struct smr_job *job) {
  if ((job->op->flags & (SMR_OP_COPIES | SMR_OP_SETTLED)) != 0) return SAMARA_OK;
  struct exact_floats floats = {.narrow = false};
  for (uint32_t i = 0; i < job->input_count; i++) exact_add(&floats, job->inputs[i]);
  for (uint32_t i = 0; i < job->output_count; i++) exact_add(&floats, job->outputs[i]);
  const bool has = (job->op->flags & SMR_OP_EXACT) != 0;
  if ((!floats.narrow && !floats.wide) || (has && !floats.wide)) return SAMARA_OK;
  SMR_FAIL(job->error, UNSUPPORTED,
           "%s has no exact form%s: its floats may have other bits on another CPU; set exact = "
           "SAMARA_EXACT_OFF (accuracy=\"bounded\"), or replace the node",
           job->op->name, has ? " for float64" : "");
}

samara_status smr_exact_function(struct smr_job *job, enum smr_f32_vunary function,
                                 smr_f32_vunary_ukernel *kernel) {
  enum smr_f32_exact_function exact;
  switch (function) {
    case SMR_F32_EXP:
      exact = SMR_F32_EXACT_EXP;
      break;
    case SMR_F32_LOG:
      exact = SMR_F32_EXACT_LOG;
      break;
    case SMR_F32_SIGMOID:
      exact = SMR_F32_EXACT_SIGMOID;
      break;
    case SMR_F32_SILU:
      exact = SMR_F32_EXACT_SILU;
      break;
    case SMR_F32_TANH:
      exact = SMR_F32_EXACT_TANH;
      break;
    case SMR_F32_ERF:
      exact = SMR_F32_EXACT_ERF;
      break;
    case SMR_F32_GELU:
      exact = SMR_F32_EXACT_GELU;
      break;
    case SMR_F32_GELU_TANH:
      exact = SMR_F32_EXACT_GELU_TANH;
      break;
    case SMR_F32_RELU:
      exact = SMR_F32_EXACT_RELU;
      break;
    case SMR_F32_CLAMP:
      exact = SMR_F32_EXACT_CLAMP;
      break;
    case SMR_F32_NEG:
    case SMR_F32_ABS:
    case SMR_F32_SIGN:
    case SMR_F32_CEIL:
    case SMR_F32_FLOOR:
    case SMR_F32_ROUND:
    case SMR_F32_SQRT:
    case SMR_F32_RSQRT:
    case SMR_F32_RECIPROCAL:
    case SMR_F32_LEAKY_RELU:
      *kernel = smr_f32_vunary_kernel(job->isa, function);
      SMR_NEED_KERNEL(job, f32_vunary_neg, (int)function - SMR_F32_NEG, *kernel);
      return SAMARA_OK;
    default:
      SMR_FAIL(job->error, UNSUPPORTED,
               "%s: its activation has no exact form; set exact = SAMARA_EXACT_OFF "
               "(accuracy=\"bounded\"), or replace the node",
               job->op->name);
  }
  *kernel = smr_f32_exact_config(job->isa)->function[exact];
  SMR_NEED_KERNEL(job, f32_exact_exp, (int)exact - SMR_F32_EXACT_EXP, *kernel);
  return SAMARA_OK;
}
