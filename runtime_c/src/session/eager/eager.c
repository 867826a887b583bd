// SPDX-License-Identifier: Apache-2.0
// Prepares an operator without a model: checks its operands and chooses kernels. Everything is in
// one block.
#include "base/fp.h"

#include "session/eager/eager.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "ops/check/check.h"
#include "ops/table/attrs.h"

size_t samara_op_count(void) {
  size_t count;
  smr_op_rows(&count);
  return count;
}

const char *samara_op_name(size_t index) {
  size_t count;
  const struct smr_op *rows = smr_op_rows(&count);
  return index < count ? rows[index].name : NULL;
}

const char *samara_op_kernel(const samara_op *op) { return op->job.kernel; }

static samara_status eager_row(const samara_op_desc *desc, const struct smr_op **out,
                               samara_error *error) {
  size_t count;
  const struct smr_op *rows = smr_op_rows(&count), *row = NULL;
  for (size_t i = 0; i < count && row == NULL; i++)
    if (desc->name != NULL ? strcmp(rows[i].name, desc->name) == 0 : rows[i].code == desc->code)
      row = &rows[i];
  if (row == NULL && desc->name != NULL)
    SMR_FAIL(error, NOT_FOUND, "there is no operator '%s'", desc->name);
  if (row == NULL) SMR_FAIL(error, NOT_FOUND, "there is no operator %u", (unsigned)desc->code);
  SMR_TRY(smr_op_expect_built(row, error));
  if (row->funcs == NULL)
    SMR_FAIL(error, UNSUPPORTED, "%s only has a meaning in a model", row->name);
  if (row->funcs->measure != NULL)
    SMR_FAIL(error, UNSUPPORTED, "%s: the dims of its output depend on data", row->name);
  *out = row;
  return SAMARA_OK;
}

// ---- operands ----

struct eager_build {
  const samara_op_desc *desc;
  const struct smr_op *row;
  uint32_t isa;
  samara_error *error;
  struct smr_bump bump;
  struct smr_attr *attrs;  // NULL while the bump measures
  bool turned;             // input 1 is passed with its last two axes swapped
};

static bool eager_is_absent(const samara_op_tensor *operand) { return operand->dtype == 0; }

// Fail unless a quantized operand's parameters are valid and complete.
static samara_status eager_check_quant(const struct eager_build *b, const samara_op_tensor *operand,
                                       const char *role, size_t index) {
  const bool per_axis = operand->scales != NULL;
  const size_t count = per_axis ? operand->quant_count : 1;
  const float *scales = per_axis ? operand->scales : &operand->scale;
  const int32_t *zero_points = per_axis ? operand->zero_points : &operand->zero_point;
  if (per_axis && (operand->quant_axis < 0 || operand->quant_axis >= operand->rank))
    SMR_FAIL(b->error, BAD_ARGUMENT, "%s: %s %zu is quantized along axis %d of rank %d",
             b->row->name, role, index, (int)operand->quant_axis, (int)operand->rank);
  if (per_axis && (count > UINT32_MAX || (int64_t)count != operand->shape[operand->quant_axis]))
    SMR_FAIL(b->error, BAD_ARGUMENT, "%s: %s %zu has %zu scales along axis %d, expected %" PRId64,
             b->row->name, role, index, count, (int)operand->quant_axis,
             operand->shape[operand->quant_axis]);
  for (size_t i = 0; i < count; i++) {
    if (!isnormal(scales[i]) || scales[i] <= 0)
      SMR_FAIL(b->error, BAD_ARGUMENT, "%s: %s %zu has the scale %g", b->row->name, role, index,
               (double)scales[i]);
    if (zero_points != NULL && (zero_points[i] < INT8_MIN || zero_points[i] > INT8_MAX))
      SMR_FAIL(b->error, BAD_ARGUMENT, "%s: %s %zu has the zero point %" PRId32, b->row->name, role,
               index, zero_points[i]);
  }
  return SAMARA_OK;
}

// Fail unless the operand is a tensor: known dtype, dims that fit memory, a usable scale.
static samara_status eager_check_operand(const struct eager_build *b,
                                         const samara_op_tensor *operand, const char *role,
                                         size_t index) {
  struct smr_tensor tensor;
  struct smr_view view;
  const samara_status status = smr_eager_layout(operand, true, &tensor, &view);
  if (status == SAMARA_BAD_ARGUMENT)
    SMR_FAIL(b->error, BAD_ARGUMENT, "%s: %s %zu has dtype %d and rank %d, or no shape",
             b->row->name, role, index, (int)operand->dtype, (int)operand->rank);
  if (status != SAMARA_OK) {
    const struct smr_dims_text dims = smr_dims_text(operand->shape, (uint32_t)operand->rank);
    SMR_FAIL(b->error, BAD_SHAPE, "%s: %s %zu has dims %s, or strides that leave memory",
             b->row->name, role, index, dims.text);
  }
  return operand->dtype == SAMARA_QINT8 ? eager_check_quant(b, operand, role, index) : SAMARA_OK;
}

static samara_status eager_check_operands(const struct eager_build *b) {
  const samara_op_desc *desc = b->desc;
  if ((desc->inputs == NULL && desc->input_count != 0) ||
      (desc->outputs == NULL && desc->output_count != 0) ||
      (desc->attributes == NULL && desc->attribute_count != 0))
    SMR_FAIL(b->error, BAD_ARGUMENT, "%s: a count without its array", b->row->name);
  if (desc->input_count > UINT16_MAX || desc->output_count > UINT16_MAX)
    SMR_FAIL(b->error, BAD_ARGUMENT, "%s: too many operands", b->row->name);
  for (size_t i = 0; i < desc->input_count; i++)
    if (!eager_is_absent(&desc->inputs[i]))
      SMR_TRY(eager_check_operand(b, &desc->inputs[i], "input", i));
  for (size_t i = 0; i < desc->output_count; i++)
    SMR_TRY(eager_check_operand(b, &desc->outputs[i], "output", i));
  return SAMARA_OK;
}

// Whether another input has size `dim` at axis `from_end` with a stride other than 0.
static bool eager_is_covered(const samara_op_desc *desc, size_t input, int32_t from_end,
                             int64_t dim) {
  for (size_t i = 0; i < desc->input_count; i++) {
    const samara_op_tensor *other = &desc->inputs[i];
    const int32_t axis = other->rank - 1 - from_end;
    if (i == input || eager_is_absent(other) || axis < 0 || other->shape[axis] != dim) continue;
    if (other->strides == NULL || other->strides[axis] != 0) return true;
  }
  return false;
}

// A broadcasting operator repeats axes itself, so a copy need not: an axis of stride 0 becomes size
// 1 in `dims` if another input has the full size. An axis with a scale per index keeps its size.
static samara_op_tensor eager_narrow(const struct eager_build *b, size_t input, int64_t *dims) {
  samara_op_tensor operand = b->desc->inputs[input];
  const bool broadcasts = b->row->check_class == smr_check_broadcast;
  if (!broadcasts || operand.strides == NULL) return operand;
  for (int32_t i = 0; i < operand.rank; i++) {
    const int64_t dim = dims[i] = operand.shape[i];
    if (operand.scales != NULL && operand.quant_axis == i) continue;
    if (dim > 1 && operand.strides[i] == 0 &&
        eager_is_covered(b->desc, input, operand.rank - 1 - i, dim))
      dims[i] = 1;
  }
  operand.shape = dims;
  return operand;
}

// matmul and qmatmul pack their second operand in either order. If its last two axes are swapped,
// it is passed without a copy and transpose_w is inverted.
static void eager_turn(struct eager_build *b, const samara_op_tensor *operand,
                       struct smr_tensor *tensor, struct smr_view *view) {
  const int32_t rank = operand->rank;
  int64_t dims[SAMARA_MAX_RANK], strides[SAMARA_MAX_RANK];
  const bool integer = b->row->code == SMR_CODE_QMATMUL;
  if ((b->row->code != SMR_CODE_MATMUL && !integer) || rank < 2) return;
  for (int32_t i = 0; i < rank; i++) {
    const int32_t from = i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i;
    dims[i] = operand->shape[from];
    strides[i] = operand->strides[from];
  }
  samara_op_tensor swapped = *operand;
  swapped.shape = dims;
  swapped.strides = strides;
  struct smr_tensor turned;
  struct smr_view copied;
  if (smr_eager_layout(&swapped, false, &turned, &copied) != SAMARA_OK || copied.element_bytes != 0)
    return;
  *tensor = turned;
  *view = copied;
  b->turned = true;
  if (b->attrs != NULL)
    b->attrs[integer ? SMR_ATTR_INDEX(qmatmul, transpose_w) : SMR_ATTR_INDEX(matmul, transpose_w)]
        .i ^= 1;
}

// Copy the operand's parameters to the block. `turned`: its last two axes are swapped. `tensor` is
// NULL while the bump measures.
static void eager_quantized(struct eager_build *b, const samara_op_tensor *operand, bool turned,
                            struct smr_tensor *tensor) {
  if (operand->dtype != SAMARA_QINT8) return;
  const bool per_axis = operand->scales != NULL;
  const size_t count = per_axis ? operand->quant_count : 1;
  struct smr_quant *q = smr_bump_take(&b->bump, 1, sizeof *q);
  float *scales = smr_bump_take(&b->bump, count, sizeof *scales);
  int32_t *zero_points = smr_bump_take(&b->bump, count, sizeof *zero_points);
  if (q == NULL) return;
  for (size_t i = 0; i < count; i++) {
    scales[i] = per_axis ? operand->scales[i] : operand->scale;
    zero_points[i] = !per_axis                      ? operand->zero_point
                     : operand->zero_points == NULL ? 0
                                                    : operand->zero_points[i];
  }
  *q = (struct smr_quant){.scales = scales,
                          .zero_points = zero_points,
                          .count = (uint32_t)count,
                          .axis = !per_axis ? -1
                                  : turned && operand->quant_axis >= operand->rank - 2
                                      ? 2 * operand->rank - 3 - operand->quant_axis
                                      : operand->quant_axis};
  tensor->quant = q;
}

// Inputs: tensors, pointers to them, and copies of what the operator cannot read. `op` is NULL
// while the bump measures.
static samara_status eager_inputs(struct eager_build *b, samara_op *op, struct smr_tensor **list) {
  size_t total = 0;
  uint32_t copies = 0;
  for (uint32_t i = 0; i < b->desc->input_count; i++) {
    int64_t dims[SAMARA_MAX_RANK];
    struct smr_tensor tensor;
    struct smr_view view;
    if (eager_is_absent(&b->desc->inputs[i])) continue;
    const samara_op_tensor operand = eager_narrow(b, i, dims);
    SMR_TRY(smr_eager_layout(&operand, smr_op_reads_strided(b->row, i), &tensor, &view));
    if (view.element_bytes != 0 && i == 1) eager_turn(b, &operand, &tensor, &view);
    if (view.element_bytes != 0) {
      // Copies are contiguous, because this loop takes nothing else.
      struct smr_eager_copy *copy = smr_bump_take(&b->bump, 1, sizeof *copy);
      if (copy != NULL) {
        *copy = (struct smr_eager_copy){.input = i, .offset = total};
        smr_view_plan_make(&view, &copy->plan);
        if (copies++ == 0) op->copies = copy;
      }
      if (!smr_add_size(total, smr_align64(tensor.size_bytes), &total) || total > PTRDIFF_MAX / 2)
        SMR_FAIL(b->error, LIMIT, "%s: the size of the copies of its inputs overflows",
                 b->row->name);
    }
    if (op == NULL) continue;
    op->tensors[i] = tensor;
    list[i] = &op->tensors[i];
    op->present[i] = true;
  }
  for (uint32_t i = 0; i < b->desc->input_count; i++)
    eager_quantized(b, &b->desc->inputs[i], i == 1 && b->turned,
                    op != NULL ? &op->tensors[i] : NULL);
  if (op == NULL) return SAMARA_OK;
  op->copy_count = copies;
  op->copy_bytes = total;
  return SAMARA_OK;
}

static samara_status eager_outputs(struct eager_build *b, samara_op *op, struct smr_tensor **list) {
  const bool strided = (b->row->flags & SMR_OP_STRIDED_OUT) != 0;
  for (uint32_t i = 0; i < b->desc->output_count; i++) {
    struct smr_tensor tensor;
    struct smr_view view;
    SMR_TRY(smr_eager_layout(&b->desc->outputs[i], strided, &tensor, &view));
    if (view.element_bytes != 0)
      SMR_FAIL(b->error, BAD_ARGUMENT, "%s: output %u is not dense", b->row->name, (unsigned)i);
    struct smr_tensor *own = op != NULL ? &op->tensors[b->desc->input_count + i] : NULL;
    if (own != NULL) {
      *own = tensor;
      list[i] = own;
    }
    eager_quantized(b, &b->desc->outputs[i], false, own);
  }
  return SAMARA_OK;
}

// ---- the block ----

// Allocate and fill all parts of the operator, in the order of its block. While the bump measures,
// *out stays NULL.
static samara_status eager_fill(struct eager_build *b, samara_op **out) {
  const samara_op_desc *desc = b->desc;
  const size_t slots = desc->input_count + desc->output_count;
  samara_op *op = smr_bump_take(&b->bump, 1, (sizeof *op + 15) & ~(size_t)15);
  void *state = smr_bump_take(&b->bump, b->row->funcs->state_bytes, 1);  // on 16 bytes
  struct smr_tensor *tensors = smr_bump_take(&b->bump, slots, sizeof *tensors);
  struct smr_tensor **list = smr_bump_take(&b->bump, slots, sizeof *list);
  bool *present = smr_bump_take(&b->bump, desc->input_count, sizeof *present);
  struct smr_attr *attrs = smr_bump_take(&b->bump, b->row->attr_count, sizeof *attrs);
  struct smr_tensor **output_list = NULL;
  if (op != NULL) {
    output_list = list != NULL ? list + desc->input_count : NULL;
    op->tensors = tensors;
    op->present = present;
    op->job = (struct smr_job){.op = b->row,
                               .name = b->row->name,
                               .attrs = attrs,
                               .inputs = list,
                               .outputs = output_list,
                               .input_count = (uint32_t)desc->input_count,
                               .output_count = (uint32_t)desc->output_count,
                               .isa = b->isa,
                               .strict = desc->strict_accuracy,
                               .state = state,
                               .kernel = b->row->name};
    op->frame_bytes = smr_align64(sizeof op->job + slots * (sizeof *list + sizeof *tensors));
  }
  SMR_TRY(smr_eager_attrs(b->row, desc, attrs, &b->bump, b->error));
  b->attrs = attrs;
  SMR_TRY(eager_inputs(b, op, list));
  SMR_TRY(eager_outputs(b, op, output_list));
  *out = op;
  return SAMARA_OK;
}

static samara_status eager_prepare(samara_op *op, samara_error *error) {
  struct smr_job *job = &op->job;
  for (uint32_t i = 0; i < SMR_MAX_DERIVED; i++) job->derived[i].input = -1;
  job->error = error;
  SMR_TRY(smr_op_check(job));
  SMR_TRY(smr_op_prepare(job));
  assert(job->derived[0].input < 0);  // only constants have derived layouts
  job->error = NULL;
  size_t bytes;
  if (!smr_add_size(smr_align64(job->scratch_bytes), op->copy_bytes, &bytes) ||
      bytes > PTRDIFF_MAX || job->thread_scratch_bytes > PTRDIFF_MAX)
    SMR_FAIL(error, LIMIT, "%s: the size of its scratch overflows", job->op->name);
  return SAMARA_OK;
}

samara_status samara_op_create(const samara_op_desc *desc, samara_op **out, samara_error *error) {
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "samara_op_create: out is NULL");
  *out = NULL;
  if (desc == NULL) SMR_FAIL(error, BAD_ARGUMENT, "samara_op_create: desc is NULL");
  samara_op_desc own;
  SMR_TRY(smr_options_read(desc, &own, sizeof own, "operator description", error));
  // Checks always write a message.
  samara_error unread = {.status = SAMARA_OK};
  struct eager_build build = {.desc = &own, .error = error != NULL ? error : &unread};
  SMR_TRY(eager_row(&own, &build.row, build.error));
  SMR_TRY(smr_isa_resolve(own.isa, &build.isa, build.error));
  SMR_TRY(eager_check_operands(&build));
  samara_op *op = NULL;
  SMR_TRY(eager_fill(&build, &op));  // measures
  const size_t bytes = build.bump.used;
  const samara_allocator allocator = smr_allocator(own.allocator);
  void *block = build.bump.overflow ? NULL : smr_allocate_zeroed(&allocator, 1, bytes);
  if (block == NULL)
    SMR_FAIL(error, OUT_OF_MEMORY, "no memory for the operator %s", build.row->name);
  build.bump = (struct smr_bump){.base = block, .capacity = bytes};
  samara_status status = eager_fill(&build, &op);
  if (status == SAMARA_OK) {
    assert(!build.bump.overflow && (void *)op == block);
    op->allocator = allocator;
    status = eager_prepare(op, build.error);
  }
  if (status != SAMARA_OK) {
    smr_release(&allocator, block);
    return status;
  }
  *out = op;
  return SAMARA_OK;
}

void samara_op_destroy(samara_op *op) {
  if (op == NULL) return;
  const samara_allocator allocator = op->allocator;
  smr_release(&allocator, op);
}
