// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of two inputs.
#include "base/fp.h"

#include "kernels/f32_vbinary/f32_vbinary.h"
#include "kernels/vbinary/vbinary.h"
#include "ops/check/check.h"
#include "ops/pointwise/elementwise.h"
#include "ops/table/funcs.h"

#include <string.h>

// Whether this build can divide integers.
enum { BINARY_DIVIDES = SMR_HAS(vbinary_div) || SMR_HAS(vbinary_mod) || SMR_HAS(vbinary_fmod) };

enum {
  BINARY_SHORT = 128,      // rows with fewer elements cost more in overhead than in work
  BINARY_REPEATED = 1024,  // elements that such a row is repeated to
};

struct binary_state {
  struct smr_broadcast broadcast;
  smr_f32_vbinary_ukernel f32;  // NULL: use `any`
  struct smr_vbinary_kernel any;
  smr_f16_to_f32_ukernel widen;  // float16 inputs
  smr_f32_to_f16_ukernel narrow;
  bool divides;   // integer division: a divisor of 0 is an error
  size_t repeat;  // length of the short row of operand `repeated` that every row of the other one
                  // uses; 0: none
  uint32_t repeated;
};

// Both inputs have one dtype out of `set`. The output has the same, or bool.
static samara_status binary_check(const struct smr_job *job, uint32_t set, bool to_bool) {
  SMR_TRY(smr_expect_dtype(job, job->inputs[0], "input 0", set));
  SMR_TRY(smr_expect_same_dtype(job, job->inputs[0], job->inputs[1], "inputs"));
  if (to_bool) return smr_expect_dtype(job, job->outputs[0], "output", SMR_DTYPE_BOOL);
  return smr_expect_same_dtype(job, job->inputs[0], job->outputs[0], "input and output");
}

// Find an operand that is a short row per channel beside dense rows. It is repeated to span many of
// them.
static void binary_find_short(struct binary_state *s) {
  const struct smr_broadcast *b = &s->broadcast;
  if (b->rank != 2 || b->dims[1] >= BINARY_SHORT || b->dims[0] < 8) return;
  for (uint32_t k = 0; k < 2; k++) {
    if (b->strides[k][0] != 0 || b->strides[k][1] != 1 || b->strides[!k][0] != b->dims[1] ||
        b->strides[!k][1] != 1)
      continue;
    s->repeat = (size_t)b->dims[1];
    s->repeated = k;
  }
}

static samara_status binary_prepare(struct smr_job *job, enum smr_vbinary function) {
  struct binary_state *s = job->state;
  const uint8_t dtype = job->inputs[0]->dtype;
  const bool is_float = dtype == SAMARA_FLOAT32 || dtype == SAMARA_FLOAT16;
  const struct smr_tensor *operands[2] = {job->inputs[0], job->inputs[1]};
  *s = (struct binary_state){.f32 = NULL};
  smr_broadcast_make(&s->broadcast, job->outputs[0], operands, 2);
  if (is_float && function < (enum smr_vbinary)SMR_F32_VBINARY_COUNT) {
    s->f32 = smr_f32_vbinary_kernel(job->isa, (enum smr_f32_vbinary)function);
    SMR_NEED_KERNEL(job, f32_vbinary_add, (int)function - SMR_F32_VBINARY_ADD, s->f32);
    if (job->dims_vary || !smr_broadcast_step(&s->broadcast, 0) ||
        !smr_broadcast_step(&s->broadcast, 1))
      SMR_NEED(job, f32_vbinary_broadcast);
    if (dtype == SAMARA_FLOAT32) binary_find_short(s);
    if (s->repeat || (job->dims_vary && dtype == SAMARA_FLOAT32)) SMR_NEED(job, binary_short);
    if (s->repeat) job->thread_scratch_bytes = (s->repeat + BINARY_REPEATED) * sizeof(float);
    job->kernel = smr_f32_vbinary_kernel_name(job->isa);
  } else {
    SMR_NEED(job, vbinary);
    s->any = smr_vbinary_kernel(function, is_float ? SAMARA_FLOAT32 : dtype);
    SMR_NEED_KERNEL(job, vbinary_add, (int)function - SMR_VBINARY_ADD, s->any.blocks);
    job->kernel = "vbinary";
  }
  if (dtype == SAMARA_FLOAT16) {
    s->widen = smr_f16_to_f32_kernel(job->isa);
    s->narrow = smr_f32_to_f16_kernel(job->isa);
    job->thread_scratch_bytes = 3 * SMR_WIDEN_CHUNK * sizeof(float);
  }
  s->divides =
      !is_float && dtype != SAMARA_FLOAT64 &&
      (function == SMR_VBINARY_DIV || function == SMR_VBINARY_MOD || function == SMR_VBINARY_FMOD);
  job->tiles = smr_grain_tiles((size_t)smr_numel(job->outputs[0]));
  return SAMARA_OK;
}

// A row of at most SMR_WIDEN_CHUNK float16 elements.
static void binary_row_f16(const struct binary_state *s, size_t n, const uint16_t *a, size_t a_step,
                           const uint16_t *b, size_t b_step, void *y, bool to_bool, float *chunk) {
  float *wide_a = chunk, *wide_b = chunk + SMR_WIDEN_CHUNK, *wide_y = wide_b + SMR_WIDEN_CHUNK;
  s->widen(a_step ? n : 1, a, wide_a);
  s->widen(b_step ? n : 1, b, wide_b);
  if (s->f32 != NULL)
    s->f32(n, wide_a, a_step, wide_b, b_step, wide_y);
  else if (SMR_HAS(vbinary))
    smr_vbinary_run(&s->any, n, wide_a, a_step, wide_b, b_step, to_bool ? y : wide_y);
  if (!to_bool) s->narrow(n, wide_y, y);
}

// Elements [begin, end), where `row` is the repeated operand. All runs but the first start where
// the row starts.
static void binary_run_short(const struct smr_job *job, size_t begin, size_t end, float *row) {
  const struct binary_state *s = job->state;
  const float *once = job->inputs[s->repeated]->data, *other = job->inputs[!s->repeated]->data;
  float *y = job->outputs[0]->data;
  const size_t whole = BINARY_REPEATED / s->repeat * s->repeat, phase = begin % s->repeat;
  for (size_t i = 0; i < whole + s->repeat; i += s->repeat)
    memcpy(row + i, once, s->repeat * sizeof *row);
  row += phase;
  while (begin < end) {
    const size_t n = end - begin < whole ? end - begin : whole;
    if (s->repeated == 0)
      s->f32(n, row, 1, other + begin, 1, y + begin);
    else
      s->f32(n, other + begin, 1, row, 1, y + begin);
    begin += n;
  }
}

static samara_status binary_run(const struct smr_job *job, size_t begin, size_t end,
                                void *thread_scratch) {
  const struct binary_state *s = job->state;
  const struct smr_tensor *ta = job->inputs[0], *tb = job->inputs[1], *ty = job->outputs[0];
  const size_t element = smr_dtype_bytes(ta->dtype), y_element = smr_dtype_bytes(ty->dtype);
  const size_t a_step = smr_broadcast_step(&s->broadcast, 0);
  const size_t b_step = smr_broadcast_step(&s->broadcast, 1);
  const size_t most = s->widen != NULL ? SMR_WIDEN_CHUNK : SIZE_MAX;
  char *y = (char *)ty->data + begin * SMR_GRAIN * y_element;
  if (SMR_HAS(binary_short) && s->repeat) {
    binary_run_short(job, begin * SMR_GRAIN, smr_grain_end((size_t)smr_numel(ty), end),
                     thread_scratch);
    return SAMARA_OK;
  }
  struct smr_broadcast_cursor cursor;
  smr_broadcast_start(&s->broadcast, &cursor, begin * SMR_GRAIN,
                      smr_grain_end((size_t)smr_numel(ty), end));
  size_t at[SMR_BROADCAST_OPERANDS], n;
  while ((n = smr_broadcast_next(&s->broadcast, &cursor, most, at)) > 0) {
    const void *a = (const char *)ta->data + at[0] * element;
    const void *b = (const char *)tb->data + at[1] * element;
    if (BINARY_DIVIDES && s->divides && smr_vbinary_has_zero(ta->dtype, b_step ? n : 1, b))
      SMR_FAIL(job->error, BAD_DATA, "%s: division of an integer by zero", job->op->name);
    if (SMR_HAS(type_float16) && s->widen != NULL)
      binary_row_f16(s, n, a, a_step, b, b_step, y, ty->dtype == SAMARA_BOOL, thread_scratch);
    else if (s->f32 != NULL)
      s->f32(n, a, a_step, b, b_step, (float *)(void *)y);
    else if (SMR_HAS(vbinary))
      smr_vbinary_run(&s->any, n, a, a_step, b, b_step, y);
    y += n * y_element;
  }
  return SAMARA_OK;
}

#define BINARY(name, set, to_bool, function)                                                     \
  static samara_status binary_check_##name(const struct smr_job *job) {                          \
    return binary_check(job, (set), (to_bool));                                                  \
  }                                                                                              \
  static samara_status binary_prepare_##name(struct smr_job *job) {                              \
    return binary_prepare(job, (function));                                                      \
  }                                                                                              \
  const struct smr_op_funcs smr_op_##name##_funcs = {.check = binary_check_##name,               \
                                                     .prepare = binary_prepare_##name,           \
                                                     .run = binary_run,                          \
                                                     .state_bytes = sizeof(struct binary_state), \
                                                     .more_dtypes = (set) & SMR_DTYPES_MORE};

#define BINARY_FLOAT(name, NAME) BINARY(name, SMR_DTYPES_EVERY_FLOAT, false, SMR_VBINARY_##NAME)
#define BINARY_NUMBER(name, NAME) BINARY(name, SMR_DTYPES_EVERY_NUMBER, false, SMR_VBINARY_##NAME)
#include "ops/table/binary.inc"
#undef BINARY_FLOAT
#undef BINARY_NUMBER

BINARY(pow, SMR_DTYPES_EVERY_NUMBER, false, SMR_VBINARY_POW)
BINARY(atan2, SMR_DTYPES_EVERY_FLOAT, false, SMR_VBINARY_ATAN2)
BINARY(mod, SMR_DTYPES_EVERY_NUMBER, false,
       SMR_ATTR(job, mod, fmod)->i ? SMR_VBINARY_FMOD : SMR_VBINARY_MOD)
BINARY(eq, SMR_DTYPES_EVERY_NUMBER | SMR_DTYPE_BOOL, true, SMR_VBINARY_EQ)
BINARY(lt, SMR_DTYPES_EVERY_NUMBER, true, SMR_VBINARY_LT)
BINARY(le, SMR_DTYPES_EVERY_NUMBER, true, SMR_VBINARY_LE)
BINARY(logical_and, SMR_DTYPE_BOOL, false, SMR_VBINARY_AND)
BINARY(logical_or, SMR_DTYPE_BOOL, false, SMR_VBINARY_OR)
BINARY(logical_xor, SMR_DTYPE_BOOL, false, SMR_VBINARY_XOR)
BINARY(bitwise_and, SMR_DTYPES_EVERY_INT, false, SMR_VBINARY_BIT_AND)
BINARY(bitwise_or, SMR_DTYPES_EVERY_INT, false, SMR_VBINARY_BIT_OR)
BINARY(bitwise_xor, SMR_DTYPES_EVERY_INT, false, SMR_VBINARY_BIT_XOR)
BINARY(shift, SMR_DTYPES_EVERY_INT, false,
       SMR_ATTR(job, shift, direction)->i ? SMR_VBINARY_SHR : SMR_VBINARY_SHL)
#undef BINARY

// The slope must broadcast to x; the output has the dims of x.
static samara_status binary_check_prelu(const struct smr_job *job) {
  SMR_TRY(binary_check(job, SMR_DTYPES_EVERY_FLOAT, false));
  return smr_check_same(job);
}
static samara_status binary_prepare_prelu(struct smr_job *job) {
  return binary_prepare(job, SMR_VBINARY_PRELU);
}
const struct smr_op_funcs smr_op_prelu_funcs = {.check = binary_check_prelu,
                                                .prepare = binary_prepare_prelu,
                                                .run = binary_run,
                                                .state_bytes = sizeof(struct binary_state),
                                                .more_dtypes = SMR_DTYPE_F64};
