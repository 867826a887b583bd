// SPDX-License-Identifier: Apache-2.0
// Runs one operator the way a session would: whole, then cut into tiles, and compares the bits.
//
//   struct op_test t;
//   op_begin(&t, "transpose");
//   op_in(&t, SAMARA_FLOAT32, 2, (int64_t[]){2, 3}, values);   // data is copied
//   op_out(&t, SAMARA_FLOAT32, 2, (int64_t[]){3, 2});
//   op_ints(&t, "perm", 2, (int64_t[]){1, 0});
//   if (CHECK_EQ_INT(op_run(&t), SAMARA_OK)) CHECK_MEM(t.out[0].data, expected, 24);
//   op_end(&t);
//
// Inputs lie in heap buffers that end where the data ends, aligned to 4 bytes or to the element
// if that is larger, as a session aligns them at least; outputs and scratch are exact too, aligned
// as the session aligns them. Before every run they are filled with 0xff, which is NaN in floats:
// an unwritten element is not taken for 0. Data pointers are NULL during check and prepare
// unless constant.
#ifndef SMR_TESTS_OP_HARNESS_H
#define SMR_TESTS_OP_HARNESS_H

#include "base/isa.h"
#include "harness.h"
#include "ops/attr_index.h"
#include "ops/algorithm.h"
#include "ops/check/check.h"
#include "ops/op.h"
#include "ops/table/attrs.h"

#include <assert.h>

/// Dims, or any list of integers, in place.
#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

enum { OP_TEST_TENSORS = 16, OP_TEST_ATTRS = 32, OP_TEST_VALUES = 512 };

struct op_test {
  struct smr_job job;
  struct smr_tensor in[OP_TEST_TENSORS], out[OP_TEST_TENSORS];
  struct smr_tensor *in_list[OP_TEST_TENSORS], *out_list[OP_TEST_TENSORS];
  void *in_data[OP_TEST_TENSORS], *out_data[OP_TEST_TENSORS];  // op_run shows them to the operator
  void *allocated[OP_TEST_TENSORS];                            // of inputs
  struct smr_attr attrs[OP_TEST_ATTRS];
  int64_t ints[OP_TEST_VALUES];  // of list attributes
  float floats[OP_TEST_VALUES];
  size_t int_count, float_count;
  struct smr_quant quants[2 * OP_TEST_TENSORS];
  size_t quant_count;
  samara_error error;
  size_t tiles;   // of the last run
  bool in_place;  // output 0 in the buffer of input 0
};

static inline void *op_test_alloc(size_t bytes, size_t alignment) {
  void *p = NULL;
  if (posix_memalign(&p, alignment, bytes ? bytes : 1) != 0) abort();
  memset(p, 0xff, bytes ? bytes : 1);
  return p;
}

static inline const struct smr_op *op_test_find(const char *name) {
  for (uint32_t code = 0; code <= UINT16_MAX; code++) {
    const struct smr_op *op = smr_op_find((uint16_t)code);
    if (op != NULL && strcmp(op->name, name) == 0) return op;
  }
  fprintf(stderr, "there is no operator %s\n", name);
  abort();
}

/// Start a node of operator `name`, all attributes at their defaults.
static inline void op_begin(struct op_test *t, const char *name) {
  *t = (struct op_test){.job = {.op = op_test_find(name), .name = "node"}};
  t->job.attrs = t->attrs;
  t->job.inputs = t->in_list;
  t->job.outputs = t->out_list;
  t->job.error = &t->error;
  t->job.isa = smr_cpu_isa();
  t->job.state = op_test_alloc(t->job.op->funcs->state_bytes, 16);
  memset(t->job.state, 0, t->job.op->funcs->state_bytes);
  assert(t->job.op->attr_count <= OP_TEST_ATTRS);
  const struct smr_attr_desc *descs = smr_attr_descs + t->job.op->attr_first;
  for (uint32_t i = 0; i < t->job.op->attr_count; i++)
    t->attrs[i] = (struct smr_attr){.i = descs[i].default_int, .f = descs[i].default_f32};
}

static inline struct smr_attr *op_test_attr(struct op_test *t, const char *name) {
  const int index = attr_index(t->job.op, name);
  assert(index >= 0);
  struct smr_attr *attr = &t->attrs[index];
  attr->present = true;
  return attr;
}

static inline void op_int(struct op_test *t, const char *name, int64_t value) {
  op_test_attr(t, name)->i = value;
}

static inline void op_f32(struct op_test *t, const char *name, float value) {
  op_test_attr(t, name)->f = value;
}

/// An enum attribute by the name of the choice.
static inline void op_enum(struct op_test *t, const char *name, const char *choice) {
  struct smr_attr *attr = op_test_attr(t, name);
  const char *at = smr_attr_choices(&smr_attr_descs[t->job.op->attr_first + (attr - t->attrs)]);
  for (int64_t i = 0; *at; i++) {
    const size_t length = strcspn(at, ",");
    if (length == strlen(choice) && strncmp(at, choice, length) == 0) {
      attr->i = i;
      return;
    }
    at += length + (at[length] == ',');
  }
  fprintf(stderr, "%s: %s has no choice %s\n", t->job.op->name, name, choice);
  abort();
}

static inline void op_ints(struct op_test *t, const char *name, uint32_t count,
                           const int64_t *values) {
  struct smr_attr *attr = op_test_attr(t, name);
  assert(t->int_count + count <= OP_TEST_VALUES);
  attr->ints = t->ints + t->int_count;
  attr->count = count;
  if (count) memcpy(t->ints + t->int_count, values, count * sizeof *values);
  t->int_count += count;
}

static inline void op_floats(struct op_test *t, const char *name, uint32_t count,
                             const float *values) {
  struct smr_attr *attr = op_test_attr(t, name);
  assert(t->float_count + count <= OP_TEST_VALUES);
  attr->floats = t->floats + t->float_count;
  attr->count = count;
  if (count) memcpy(t->floats + t->float_count, values, count * sizeof *values);
  t->float_count += count;
}

static inline void op_test_tensor(struct smr_tensor *tensor, uint8_t dtype, uint32_t rank,
                                  const int64_t *dims, const char *name) {
  *tensor = (struct smr_tensor){
      .name = name, .constant = -1, .dtype = dtype, .rank = (uint8_t)rank, .pixel_stride = 1};
  size_t elements = 1;
  for (uint32_t i = 0; i < rank; i++) {
    tensor->dims[i] = dims[i];
    elements *= dims[i] > 0 ? (size_t)dims[i] : 0;
  }
  if (rank > 0) tensor->pixel_stride = dims[rank - 1];
  tensor->size_bytes = smr_packed_bytes(dtype, elements * smr_dtype_bytes(dtype));
}

/// The next input, a copy of `data` (zeros where NULL). Dims may be wrong on purpose: a negative
/// one counts as 0 here.
static inline struct smr_tensor *op_in(struct op_test *t, uint8_t dtype, uint32_t rank,
                                       const int64_t *dims, const void *data) {
  const uint32_t i = t->job.input_count++;
  assert(i < OP_TEST_TENSORS);
  op_test_tensor(&t->in[i], dtype, rank, dims, "input");
  const size_t shift = smr_dtype_bytes(dtype) > 4 ? smr_dtype_bytes(dtype) : 4;
  t->allocated[i] = malloc(t->in[i].size_bytes + shift);
  if (t->allocated[i] == NULL) abort();
  t->in_data[i] = (char *)t->allocated[i] + shift;
  if (data != NULL)
    memcpy(t->in_data[i], data, t->in[i].size_bytes);
  else
    memset(t->in_data[i], 0, t->in[i].size_bytes);
  t->in_list[i] = &t->in[i];
  return &t->in[i];
}

/// The next input is absent.
static inline void op_absent(struct op_test *t) { t->in_list[t->job.input_count++] = NULL; }

/// The next input is a constant of the model: prepare sees its data, pack may be asked for.
static inline struct smr_tensor *op_constant(struct op_test *t, uint8_t dtype, uint32_t rank,
                                             const int64_t *dims, const void *data) {
  struct smr_tensor *tensor = op_in(t, dtype, rank, dims, data);
  tensor->constant = (int32_t)t->job.input_count;
  return tensor;
}

/// The next output. Dims of a measured one are replaced.
static inline struct smr_tensor *op_out(struct op_test *t, uint8_t dtype, uint32_t rank,
                                        const int64_t *dims) {
  const uint32_t i = t->job.output_count++;
  assert(i < OP_TEST_TENSORS);
  op_test_tensor(&t->out[i], dtype, rank, dims, "output");
  t->out_list[i] = &t->out[i];
  return &t->out[i];
}

/// Give a tensor quantization parameters; the arrays are borrowed.
static inline void op_quant(struct op_test *t, struct smr_tensor *tensor, uint32_t count,
                            const float *scales, const int32_t *zero_points, int32_t axis) {
  struct smr_quant *quant = &t->quants[t->quant_count++];
  *quant = (struct smr_quant){scales, zero_points, count, axis};
  tensor->quant = quant;
}

/// Put a gap of `gap` elements between the pixels of an input.
static inline void op_spread_pixels(struct op_test *t, uint32_t input, size_t gap) {
  struct smr_tensor *x = &t->in[input];
  const size_t element = smr_dtype_bytes(x->dtype), c = (size_t)x->dims[x->rank - 1];
  const size_t pixels = x->size_bytes / element / c, shift = element > 4 ? element : 4;
  const size_t bytes = ((pixels - 1) * (c + gap) + c) * element;
  char *wide = malloc(bytes + shift);
  if (wide == NULL) abort();
  memset(wide, 0xff, bytes + shift);
  for (size_t i = 0; i < pixels; i++)
    memcpy(wide + shift + i * (c + gap) * element, (char *)t->in_data[input] + i * c * element,
           c * element);
  free(t->allocated[input]);
  t->allocated[input] = wide;
  t->in_data[input] = wide + shift;
  x->pixel_stride = (int64_t)(c + gap);
}

static inline void op_test_show(struct op_test *t, bool all) {
  for (uint32_t i = 0; i < t->job.input_count; i++)
    if (t->in_list[i] != NULL) t->in[i].data = all || t->in[i].constant >= 0 ? t->in_data[i] : NULL;
  for (uint32_t i = 0; i < t->job.output_count; i++) t->out[i].data = all ? t->out_data[i] : NULL;
}

static inline void op_test_free_outputs(struct op_test *t) {
  for (uint32_t i = 0; i < t->job.output_count; i++) {
    if (!(i == 0 && t->in_place)) free(t->out_data[i]);
    t->out_data[i] = NULL;
  }
}

// Strided outputs keep their gaps: the buffer covers them.
static inline size_t op_test_bytes(const struct smr_tensor *tensor) {
  if (tensor->size_bytes == 0 || tensor->rank == 0 || smr_dtype_packed(tensor->dtype))
    return tensor->size_bytes;
  const size_t last = (size_t)tensor->dims[tensor->rank - 1];
  const size_t pixels = tensor->size_bytes / smr_dtype_bytes(tensor->dtype) / last;
  return ((pixels - 1) * (size_t)tensor->pixel_stride + last) * smr_dtype_bytes(tensor->dtype);
}

static inline samara_status op_test_tiles(struct op_test *t, size_t begin, size_t end) {
  void *scratch = op_test_alloc(t->job.thread_scratch_bytes, 64);
  const samara_status status = t->job.run(&t->job, begin, end, scratch);
  free(scratch);
  return status;
}

enum { OP_TEST_APART_BYTES = 1 << 20 };  // of outputs, over all tiles, that op_test_apart looks at

// Run tile by tile on outputs full of 0xff: tiles may run at the same time, so no two may write one
// byte. `owner` has a byte for each byte of an output.
static inline samara_status op_test_apart(struct op_test *t, uint8_t *const *owner) {
  size_t both = 0;
  for (size_t tile = 0; tile < t->job.tiles; tile++) {
    for (uint32_t i = 0; i < t->job.output_count; i++)
      memset(t->out_data[i], 0xff, op_test_bytes(&t->out[i]));
    SMR_TRY(op_test_tiles(t, tile, tile + 1));
    for (uint32_t i = 0; i < t->job.output_count; i++) {
      const uint8_t *out = (const uint8_t *)t->out_data[i];
      for (size_t at = 0; at < op_test_bytes(&t->out[i]); at++) {
        both += out[at] != 0xff && owner[i][at];
        owner[i][at] |= out[at] != 0xff;
      }
    }
  }
  CHECK_EQ_INT(both, 0);
  return SAMARA_OK;
}

// Tiles [begin, end) in pieces from the last to the first.
static inline samara_status op_test_pieces(struct op_test *t, size_t begin, size_t end,
                                           size_t piece) {
  while (end > begin) {
    const size_t at = end - begin > piece ? end - piece : begin;
    SMR_TRY(op_test_tiles(t, at, end));
    end = at;
  }
  return SAMARA_OK;
}

// One run over fresh buffers, phase by phase in pieces of `piece` tiles (0: all in one piece).
static inline samara_status op_test_once(struct op_test *t, size_t piece) {
  for (uint32_t i = 0; i < t->job.output_count; i++)
    t->out_data[i] =
        i == 0 && t->in_place ? t->in_data[0] : op_test_alloc(op_test_bytes(&t->out[i]), 64);
  op_test_show(t, true);
  t->job.scratch = op_test_alloc(t->job.scratch_bytes, 64);
  samara_status status = SAMARA_OK;
  if (t->job.tiles > 0 && (t->job.op->flags & SMR_OP_SERIAL_PROLOGUE))
    status = op_test_tiles(t, 0, 0);
  if (piece == 0 && status == SAMARA_OK && t->job.tiles > 0)
    status = op_test_tiles(t, 0, t->job.tiles);
  for (size_t begin = 0, end; piece > 0 && status == SAMARA_OK && begin < t->job.tiles;
       begin = end) {
    end = smr_phase_end(&t->job, begin);
    status = op_test_pieces(t, begin, end, piece);
  }
  free(t->job.scratch);
  t->job.scratch = NULL;
  return status;
}

static inline samara_status op_test_plan(struct op_test *t) {
  op_test_show(t, false);
  SMR_TRY(smr_op_check(&t->job));
  if (t->job.op->funcs->measure != NULL) {
    op_test_show(t, true);
    SMR_TRY(t->job.op->funcs->measure(&t->job));
    op_test_show(t, false);
    for (uint32_t i = 0; i < t->job.output_count; i++) {
      const struct smr_tensor measured = t->out[i];
      op_test_tensor(&t->out[i], measured.dtype, measured.rank, measured.dims, "output");
    }
  }
  for (int i = 0; i < SMR_MAX_DERIVED; i++) t->job.derived[i] = (struct smr_derived){.input = -1};
  return smr_op_prepare(&t->job);
}

static inline samara_status op_test_pack(struct op_test *t) {
  for (int i = 0; i < SMR_MAX_DERIVED && t->job.derived[i].input >= 0; i++) {
    struct smr_derived *derived = &t->job.derived[i];
    assert(t->in[derived->input].constant >= 0);
    void *data = op_test_alloc(derived->size_bytes, 64);
    derived->data = data;
    SMR_TRY(t->job.op->funcs->pack(&t->job, derived, data));
  }
  return SAMARA_OK;
}

// Check that the tiles of a job with one phase write different bytes.
static inline samara_status op_test_disjoint(struct op_test *t) {
  const struct smr_job *job = &t->job;
  const bool phases =
      job->op->flags & SMR_OP_SERIAL_PROLOGUE || job->barriers[0] || job->phase_tiles;
  size_t all = 0;
  for (uint32_t i = 0; i < job->output_count; i++) all += op_test_bytes(&t->out[i]);
  if (t->in_place || phases || job->tiles < 2 || all > OP_TEST_APART_BYTES / job->tiles)
    return SAMARA_OK;
  uint8_t *saved[OP_TEST_TENSORS], *owner[OP_TEST_TENSORS];
  for (uint32_t i = 0; i < job->output_count; i++) {
    const size_t bytes = op_test_bytes(&t->out[i]);
    saved[i] = (uint8_t *)op_test_alloc(bytes, 64);
    owner[i] = (uint8_t *)op_test_alloc(bytes, 64);
    memcpy(saved[i], t->out_data[i], bytes);
    memset(owner[i], 0, bytes);
  }
  t->job.scratch = op_test_alloc(job->scratch_bytes, 64);
  const samara_status status = op_test_apart(t, owner);
  free(t->job.scratch);
  t->job.scratch = NULL;
  for (uint32_t i = 0; i < job->output_count; i++) {
    memcpy(t->out_data[i], saved[i], op_test_bytes(&t->out[i]));
    free(saved[i]);
    free(owner[i]);
  }
  return status;
}

/// Check, measure, prepare, pack and run; then run again in pieces of one tile and of three, and
/// check that the outputs have the same bits, and that no two tiles write the same bytes. Outputs
/// stay readable in t->out[i].data until op_end.
static inline samara_status op_run(struct op_test *t) {
  SMR_TRY(op_test_plan(t));
  SMR_TRY(op_test_pack(t));
  t->tiles = t->job.tiles;
  SMR_TRY(op_test_once(t, 0));
  for (size_t piece = 1; piece <= 3 && !t->in_place; piece += 2) {
    void *first[OP_TEST_TENSORS];
    memcpy(first, t->out_data, sizeof first);
    const samara_status status = op_test_once(t, piece);
    CHECK_EQ_INT(status, SAMARA_OK);
    for (uint32_t i = 0; i < t->job.output_count; i++) {
      CHECK_MEM((const char *)t->out_data[i], (const char *)first[i], op_test_bytes(&t->out[i]));
      free(first[i]);
    }
  }
  return op_test_disjoint(t);
}

/// Release everything. Also after a failure.
static inline void op_end(struct op_test *t) {
  op_test_free_outputs(t);
  for (int i = 0; i < SMR_MAX_DERIVED; i++) free((void *)(uintptr_t)t->job.derived[i].data);
  for (uint32_t i = 0; i < t->job.input_count; i++) free(t->allocated[i]);
  free(t->job.state);
}

/// Run, check the status and, unless it is NULL, a part of the error text, and release everything.
static inline void op_finish(struct op_test *t, samara_status status, const char *part) {
  CHECK_EQ_INT(op_run(t), status);
  if (part != NULL) CHECK_CONTAINS(t->error.text, part);
  op_end(t);
}

/// Check output `index`, float32, against `n` values.
static inline void op_expect_f32(const struct op_test *t, uint32_t index, const float *values,
                                 size_t n, double tolerance) {
  if (!CHECK_EQ_INT(t->out[index].size_bytes, n * sizeof *values)) return;
  const float *got = (const float *)t->out[index].data;
  for (size_t i = 0; i < n; i++) CHECK_NEAR(got[i], values[i], tolerance);
}

/// Check that output `index` has exactly these bytes.
static inline void op_expect_bytes(const struct op_test *t, uint32_t index, const void *bytes,
                                   size_t size_bytes) {
  if (!CHECK_EQ_INT(t->out[index].size_bytes, size_bytes)) return;
  CHECK_MEM((const char *)t->out[index].data, (const char *)bytes, size_bytes);
}

#endif
