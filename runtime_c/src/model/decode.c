// SPDX-License-Identifier: Apache-2.0
// Decodes what does not belong to one function: constants, variables, goldens, metadata, sources.
#include "base/fp.h"

#include "model/decode.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/checked.h"

enum {
  DECODE_MIN_ALIGNMENT = 16,  // of segments and constants: what embedded images have
  DECODE_PANEL = 16,          // channels of a weight panel
  DECODE_STRIDE = 64,         // panels start at multiples of this
};

static struct smr_fb_vec decode_list(const struct smr_decoder *d, uint32_t id) {
  return smr_fb_vector(&d->fb, d->root, id);
}

// ---- segments and constants ----

static samara_status decode_segments(struct smr_decoder *d) {
  const struct smr_fb_vec list = decode_list(d, SMR_FB_MODEL_segments);
  uint64_t end = d->fb.size;
  for (uint32_t i = 0; i < list.count; i++) {
    const uint32_t at = smr_fb_element(&d->fb, list, i);
    const uint64_t offset = smr_fb_u64(&d->fb, at, SMR_FB_SEGMENT_offset, 0);
    const uint64_t size = smr_fb_u64(&d->fb, at, SMR_FB_SEGMENT_size, 0);
    if (offset < end) {
      SMR_FAIL(d->error, BAD_MODEL,
               "segment %u starts at %" PRIu64 ", before the end of what precedes it, %" PRIu64, i,
               offset, end);
    }
    if (offset % DECODE_MIN_ALIGNMENT != 0) {
      SMR_FAIL(d->error, BAD_MODEL, "segment %u is misaligned: it starts at %" PRIu64, i, offset);
    }
    if (offset > d->image_bytes || size > d->image_bytes - offset) {
      SMR_FAIL(d->error, BAD_MODEL,
               "segment %u (%" PRIu64 " bytes at %" PRIu64 ") leaves the file of %" PRIu64 " bytes",
               i, size, offset, d->image_bytes);
    }
    end = offset + size;
  }
  return SAMARA_OK;
}

// Copy file dims; *bytes is their product times the bytes of an element.
static samara_status decode_dims(struct smr_decoder *d, struct smr_fb_vec list, uint8_t dtype,
                                 const char *name, int64_t *dims, uint8_t *rank, size_t *bytes) {
  if (list.count > SAMARA_MAX_RANK) {
    SMR_FAIL(d->error, BAD_MODEL, "'" SMR_NAME "' has rank %u, at most %d", name, list.count,
             SAMARA_MAX_RANK);
  }
  const size_t element = smr_dtype_bytes(dtype);
  if (element == 0) {
    SMR_FAIL(d->error, UNSUPPORTED, "'" SMR_NAME "' has dtype %u, unknown to this version", name,
             (unsigned)dtype);
  }
  // Dims of 0 must not hide others whose product does not fit.
  size_t nonzero = element;
  bool empty = false;
  for (uint32_t i = 0; i < list.count; i++) {
    dims[i] = ((const int64_t *)list.data)[i];
    const bool fits = dims[i] >= 0 && (uint64_t)dims[i] <= SIZE_MAX / 2 &&
                      smr_mul_size(nonzero, dims[i] != 0 ? (size_t)dims[i] : 1, &nonzero) &&
                      nonzero <= SIZE_MAX / 2;
    if (!fits) {
      SMR_FAIL(d->error, BAD_MODEL, "'" SMR_NAME "': dim %u is %" PRId64 ", out of range", name, i,
               dims[i]);
    }
    if (dims[i] == 0) empty = true;
  }
  *rank = (uint8_t)list.count;
  *bytes = empty ? 0 : smr_packed_bytes(dtype, nonzero);
  return SAMARA_OK;
}

// Whether `groups` stacks of panels over [n][k] fit stride and size exactly as kernels address
// them. The rows of a panel are filled up to a multiple of `row_unit`.
static bool decode_panels_fit(const struct smr_constant *c, int64_t groups, int64_t n, int64_t k,
                              uint64_t row_unit) {
  if (groups <= 0 || n % groups != 0 || k > INT64_MAX / 1024) return false;
  const uint64_t rows = ((uint64_t)k + row_unit - 1) / row_unit * row_unit;
  const uint64_t elements = rows * DECODE_PANEL;
  const uint64_t bytes =
      smr_dtype_packed(c->dtype) ? elements / 2 : elements * smr_dtype_bytes(c->dtype);
  const uint64_t stride = (bytes + DECODE_STRIDE - 1) / DECODE_STRIDE * DECODE_STRIDE;
  const uint64_t stack = ((uint64_t)(n / groups) + DECODE_PANEL - 1) / DECODE_PANEL;
  uint64_t total;
  return c->panel_stride_bytes == stride &&
         !__builtin_mul_overflow(stride, (uint64_t)groups * stack, &total) &&
         total <= c->size_bytes;
}

// The operator decides which axis is which, so each reading of the dims that some operator has may
// be meant: convolution [N, taps..., K], product [..., K, N] or [..., N, K], depthwise [N,
// taps...].
static samara_status decode_panels(struct smr_decoder *d, const struct smr_constant *c) {
  const int64_t *dims = c->dims;
  const uint32_t rank = c->rank;
  int64_t rest = 1, batch = 1;  // the product of all dims fits, see decode_dims
  for (uint32_t i = 1; i < rank; i++) rest *= dims[i];
  for (uint32_t i = 0; i + 2 < rank; i++) batch *= dims[i];
  bool fits = false;
  if (rank >= 2 && c->layout == SMR_LAYOUT_DWPANEL) {
    fits = (c->groups == 1 || c->groups == (uint64_t)dims[0]) &&
           decode_panels_fit(c, 1, dims[0], rest, 1);
  } else if (rank >= 2) {
    // int8: [k / 4][16][4]; 4 bits: [k / 32][4][16][4] bytes.
    const uint64_t unit = smr_dtype_packed(c->dtype) ? 32 : smr_dtype_bytes(c->dtype) == 1 ? 4 : 1;
    const int64_t row = dims[rank - 2], column = dims[rank - 1];
    fits = decode_panels_fit(c, c->groups, dims[0], rest, unit) ||
           (c->groups == 1 && (decode_panels_fit(c, batch, batch * column, row, unit) ||
                               decode_panels_fit(c, batch, batch * row, column, unit)));
  }
  if (fits) return SAMARA_OK;
  SMR_FAIL(d->error, BAD_MODEL,
           "constant '" SMR_NAME "': panels every %" PRIu64
           " bytes, %u groups, %zu bytes in all do "
           "not fit its dims",
           c->name, c->panel_stride_bytes, c->groups, c->size_bytes);
}

// Where the bytes lie. They are mapped and not looked at here.
static samara_status decode_constant_place(struct smr_decoder *d, uint32_t at,
                                           struct smr_constant *c) {
  const struct smr_fb_vec segments = decode_list(d, SMR_FB_MODEL_segments);
  const uint32_t segment = smr_fb_u32(&d->fb, at, SMR_FB_CONSTANT_segment, 0);
  const uint64_t offset = smr_fb_u64(&d->fb, at, SMR_FB_CONSTANT_offset, 0);
  const uint64_t size = smr_fb_u64(&d->fb, at, SMR_FB_CONSTANT_size, 0);
  if (segment >= segments.count) {
    SMR_FAIL(d->error, BAD_MODEL, "constant '" SMR_NAME "' is in segment %u of %u", c->name,
             segment, segments.count);
  }
  const uint32_t place = smr_fb_element(&d->fb, segments, segment);
  const uint64_t start = smr_fb_u64(&d->fb, place, SMR_FB_SEGMENT_offset, 0);
  const uint64_t room = smr_fb_u64(&d->fb, place, SMR_FB_SEGMENT_size, 0);
  if (offset > room || size > room - offset) {
    SMR_FAIL(d->error, BAD_MODEL,
             "constant '" SMR_NAME "' (%" PRIu64 " bytes at %" PRIu64
             ") leaves its segment of %" PRIu64 " bytes",
             c->name, size, offset, room);
  }
  if (offset % DECODE_MIN_ALIGNMENT != 0) {
    SMR_FAIL(d->error, BAD_MODEL, "constant '" SMR_NAME "' is misaligned: offset %" PRIu64, c->name,
             offset);
  }
  c->data = d->image + start + offset;
  c->size_bytes = (size_t)size;  // within the image, which is in memory
  return SAMARA_OK;
}

// Whether the constant at `at` is copied, and how much memory that takes: an image may lie at any
// multiple of 4, and data of 8 bytes an element, which is small, is put where it can be read as
// such.
static bool decode_wants_copy(const struct smr_decoder *d, uint32_t at, size_t *bytes) {
  const uint64_t size = smr_fb_u64(&d->fb, at, SMR_FB_CONSTANT_size, 0);
  *bytes = (size_t)(size < d->image_bytes ? size : d->image_bytes);  // larger ones are refused
  return smr_dtype_bytes(smr_fb_u8(&d->fb, at, SMR_FB_CONSTANT_dtype, 0)) == 8 &&
         (uintptr_t)d->image % 8 != 0;
}

// Reserve the copies, which wait in `data`. Constants may share bytes, but not buy more memory than
// the file has: where they would, one copy of the file serves all of them.
static void decode_copies_take(struct smr_decoder *d, struct smr_fb_vec constants) {
  uint64_t total = 0;
  size_t bytes;
  for (uint32_t i = 0; i < constants.count && total <= d->image_bytes; i++) {
    if (decode_wants_copy(d, smr_fb_element(&d->fb, constants, i), &bytes)) total += bytes;
  }
  const bool share = total > d->image_bytes;
  if (share) d->image_copy = smr_bump_take(&d->bump, 1, (size_t)d->image_bytes);
  if (d->image_copy != NULL) memcpy(d->image_copy, d->image, (size_t)d->image_bytes);
  for (uint32_t i = 0; i < constants.count; i++) {
    void *copy = NULL;
    if (decode_wants_copy(d, smr_fb_element(&d->fb, constants, i), &bytes)) {
      copy = share ? d->image_copy : smr_bump_take(&d->bump, 1, bytes);
    }
    if (d->constants != NULL) d->constants[i].data = copy;
  }
}

static samara_status decode_constant(struct smr_decoder *d, uint32_t at, struct smr_constant *c) {
  void *const copy = (void *)c->data;
  memset(c, 0, sizeof *c);
  c->name = smr_fb_text(&d->fb, at, SMR_FB_CONSTANT_name);
  c->dtype = smr_fb_u8(&d->fb, at, SMR_FB_CONSTANT_dtype, 0);
  c->layout = smr_fb_u8(&d->fb, at, SMR_FB_CONSTANT_layout, 0);
  c->groups = smr_fb_u32(&d->fb, at, SMR_FB_CONSTANT_groups, 1);
  c->panel_stride_bytes = smr_fb_u64(&d->fb, at, SMR_FB_CONSTANT_panel_stride, 0);
  size_t needed;
  SMR_TRY(decode_dims(d, smr_fb_vector(&d->fb, at, SMR_FB_CONSTANT_dims), c->dtype, c->name,
                      c->dims, &c->rank, &needed));
  SMR_TRY(decode_constant_place(d, at, c));
  if (needed > c->size_bytes) {
    SMR_FAIL(d->error, BAD_MODEL, "constant '" SMR_NAME "' stores %zu bytes, its dims need %zu",
             c->name, c->size_bytes, needed);
  }
  if (copy != NULL && copy == d->image_copy) {
    c->data = d->image_copy + ((const uint8_t *)c->data - d->image);
  } else if (copy != NULL) {
    c->data = memcpy(copy, c->data, c->size_bytes);
  }
  switch (c->layout) {
    case SMR_LAYOUT_PLAIN:
      return SAMARA_OK;
    case SMR_LAYOUT_PANEL:
    case SMR_LAYOUT_DWPANEL:
      return decode_panels(d, c);
    default:
      SMR_FAIL(d->error, UNSUPPORTED,
               "constant '" SMR_NAME "' has layout %u, unknown to this version", c->name,
               (unsigned)c->layout);
  }
}

// ---- variables ----

static samara_status decode_variable(struct smr_decoder *d, uint32_t at, struct smr_variable *v) {
  const struct smr_quant *const quant = v->quant;
  memset(v, 0, sizeof *v);
  v->quant = quant;
  v->name = smr_fb_text(&d->fb, at, SMR_FB_VARIABLE_name);
  v->dtype = smr_fb_u8(&d->fb, at, SMR_FB_VARIABLE_dtype, 0);
  v->initial = smr_fb_i32(&d->fb, at, SMR_FB_VARIABLE_initial, 0);
  SMR_TRY(decode_dims(d, smr_fb_vector(&d->fb, at, SMR_FB_VARIABLE_dims), v->dtype, v->name,
                      v->dims, &v->rank, &v->size_bytes));
  if (smr_dtype_packed(v->dtype)) {
    SMR_FAIL(d->error, UNSUPPORTED, "variable '" SMR_NAME "' has dtype %s, which none can have",
             v->name, smr_dtype_name(v->dtype));
  }
  if (v->initial < 0 || (uint32_t)v->initial >= d->model->constant_count) {
    SMR_FAIL(d->error, BAD_MODEL, "variable '" SMR_NAME "': initial constant %d of %u", v->name,
             v->initial, d->model->constant_count);
  }
  const struct smr_constant *c = &d->constants[v->initial];
  if (c->dtype != v->dtype || c->rank != v->rank || c->layout != SMR_LAYOUT_PLAIN ||
      memcmp(c->dims, v->dims, sizeof c->dims) != 0) {
    SMR_FAIL(d->error, BAD_MODEL,
             "variable '" SMR_NAME "' and its initial constant '" SMR_NAME "' differ in type",
             v->name, c->name);
  }
  const uint32_t quant_at = smr_fb_child(&d->fb, at, SMR_FB_VARIABLE_quant);
  SMR_TRY(
      smr_decode_quant_fill(d, quant_at, v->name, v->dtype, v->rank, (struct smr_quant *)quant));
  return smr_decode_quant_dims(d, v->name, quant, v->dims);
}

// ---- goldens ----

static samara_status decode_golden_tensor(struct smr_decoder *d, uint32_t at,
                                          const struct smr_function *f, bool is_input,
                                          struct smr_golden_tensor *t) {
  memset(t, 0, sizeof *t);
  t->index = smr_fb_u32(&d->fb, at, SMR_FB_GOLDEN_TENSOR_index, 0);
  t->constant = smr_fb_i32(&d->fb, at, SMR_FB_GOLDEN_TENSOR_constant, -1);
  t->digest = smr_fb_u64(&d->fb, at, SMR_FB_GOLDEN_TENSOR_digest, 0);
  t->abs_tol = smr_fb_f32(&d->fb, at, SMR_FB_GOLDEN_TENSOR_abs_tol, 0);
  t->rel_tol = smr_fb_f32(&d->fb, at, SMR_FB_GOLDEN_TENSOR_rel_tol, 0);
  const uint32_t count = is_input ? f->user_input_count : f->user_output_count;
  const char *what = is_input ? "input" : "output";
  if (t->index >= count) {
    SMR_FAIL(d->error, BAD_MODEL, "golden %s %u of '" SMR_NAME "', which has %u", what, t->index,
             f->name, count);
  }
  const uint32_t id =
      is_input ? f->inputs[f->user_inputs[t->index]] : f->outputs[f->user_outputs[t->index]];
  const struct smr_value *value = &f->values[id];
  size_t bytes;
  SMR_TRY(decode_dims(d, smr_fb_vector(&d->fb, at, SMR_FB_GOLDEN_TENSOR_dims), value->dtype,
                      value->name, t->dims, &t->rank, &bytes));
  const bool is_float = value->dtype == SAMARA_FLOAT32 || value->dtype == SAMARA_FLOAT16;
  bool good = t->rank == value->rank && t->constant >= -1 &&
              (t->constant < 0 || (uint32_t)t->constant < d->model->constant_count) &&
              isfinite(t->abs_tol) && t->abs_tol >= 0 && isfinite(t->rel_tol) && t->rel_tol >= 0;
  if (good && t->constant >= 0) {
    const struct smr_constant *c = &d->constants[t->constant];
    good = c->dtype == value->dtype && c->layout == SMR_LAYOUT_PLAIN && c->rank == t->rank &&
           memcmp(c->dims, t->dims, sizeof c->dims) == 0;
  } else if (good) {
    good = !is_input && !is_float;  // a digest says it all for integers only
  }
  if (good) return SAMARA_OK;
  SMR_FAIL(d->error, BAD_MODEL,
           "golden %s '" SMR_NAME "' of '" SMR_NAME "' does not fit its type or data", what,
           value->name, f->name);
}

static samara_status decode_golden(struct smr_decoder *d, uint32_t at, struct smr_golden *g) {
  g->function = smr_fb_u32(&d->fb, at, SMR_FB_GOLDEN_function, 0);
  if (g->function >= d->model->function_count || !d->functions[g->function].is_entry) {
    SMR_FAIL(d->error, BAD_MODEL, "a golden of function %u, which is no entry", g->function);
  }
  const struct smr_function *f = &d->functions[g->function];
  if (g->input_count != f->user_input_count) {
    SMR_FAIL(d->error, BAD_MODEL, "a golden of '" SMR_NAME "' has %u inputs, the function %u",
             f->name, g->input_count, f->user_input_count);
  }
  const struct smr_fb_vec inputs = smr_fb_vector(&d->fb, at, SMR_FB_GOLDEN_inputs);
  const struct smr_fb_vec outputs = smr_fb_vector(&d->fb, at, SMR_FB_GOLDEN_outputs);
  for (uint32_t i = 0; i < inputs.count; i++) {
    SMR_TRY(decode_golden_tensor(d, smr_fb_element(&d->fb, inputs, i), f, true,
                                 (struct smr_golden_tensor *)&g->inputs[i]));
    // Each input once: those before it are the smaller ones.
    if (g->inputs[i].index != i) {
      SMR_FAIL(d->error, BAD_MODEL, "a golden of '" SMR_NAME "' lists input %u as number %u",
               f->name, g->inputs[i].index, i);
    }
  }
  for (uint32_t i = 0; i < outputs.count; i++) {
    SMR_TRY(decode_golden_tensor(d, smr_fb_element(&d->fb, outputs, i), f, false,
                                 (struct smr_golden_tensor *)&g->outputs[i]));
  }
  return SAMARA_OK;
}

// ---- everything ----

static void decode_goldens_take(struct smr_decoder *d) {
  const struct smr_fb_vec list = decode_list(d, SMR_FB_MODEL_golden);
  d->goldens = smr_bump_take(&d->bump, list.count, sizeof *d->goldens);
  for (uint32_t i = 0; i < list.count; i++) {
    const uint32_t at = smr_fb_element(&d->fb, list, i);
    const uint32_t inputs = smr_fb_vector(&d->fb, at, SMR_FB_GOLDEN_inputs).count;
    const uint32_t outputs = smr_fb_vector(&d->fb, at, SMR_FB_GOLDEN_outputs).count;
    void *in = smr_bump_take(&d->bump, inputs, sizeof(struct smr_golden_tensor));
    void *out = smr_bump_take(&d->bump, outputs, sizeof(struct smr_golden_tensor));
    if (d->goldens != NULL) {
      d->goldens[i] = (struct smr_golden){
          .inputs = in, .outputs = out, .input_count = inputs, .output_count = outputs};
    }
  }
}

static void decode_take(struct smr_decoder *d) {
  const struct smr_fb_vec functions = decode_list(d, SMR_FB_MODEL_functions);
  const struct smr_fb_vec variables = decode_list(d, SMR_FB_MODEL_variables);
  const struct smr_fb_vec constants = decode_list(d, SMR_FB_MODEL_constants);
  const struct smr_fb_vec sources = decode_list(d, SMR_FB_MODEL_sources);
  const struct smr_fb_vec metadata = decode_list(d, SMR_FB_MODEL_metadata);
  const struct smr_fb_vec entries = decode_list(d, SMR_FB_MODEL_entries);
  d->constants = smr_bump_take(&d->bump, constants.count, sizeof *d->constants);
  decode_copies_take(d, constants);
  d->sources = smr_bump_take(&d->bump, sources.count, sizeof *d->sources);
  d->metadata = smr_bump_take(&d->bump, metadata.count, sizeof *d->metadata);
  d->variable_mark = smr_bump_take(&d->bump, variables.count, sizeof *d->variable_mark);
  d->variables = smr_bump_take(&d->bump, variables.count, sizeof *d->variables);
  for (uint32_t i = 0; i < variables.count; i++) {
    const uint32_t at = smr_fb_element(&d->fb, variables, i);
    struct smr_quant *quant =
        smr_decode_quant_take(d, smr_fb_child(&d->fb, at, SMR_FB_VARIABLE_quant));
    if (d->variables != NULL) d->variables[i].quant = quant;
  }
  d->functions = smr_bump_take(&d->bump, functions.count, sizeof *d->functions);
  for (uint32_t i = 0; i < functions.count; i++) {
    smr_decode_function_take(d, smr_fb_element(&d->fb, functions, i),
                             d->functions != NULL ? &d->functions[i] : NULL);
  }
  decode_goldens_take(d);

  samara_model *model = d->model;
  model->functions = d->functions;
  model->variables = d->variables;
  model->constants = d->constants;
  model->goldens = d->goldens;
  model->sources = d->sources;
  model->metadata = d->metadata;
  model->entries = (const uint32_t *)entries.data;
  model->function_count = functions.count;
  model->variable_count = variables.count;
  model->constant_count = constants.count;
  model->source_count = sources.count;
  model->metadata_count = metadata.count;
  model->entry_count = entries.count;
  model->golden_count = decode_list(d, SMR_FB_MODEL_golden).count;
}

static void decode_texts(struct smr_decoder *d) {
  const struct smr_fb_vec metadata = decode_list(d, SMR_FB_MODEL_metadata);
  for (uint32_t i = 0; i < metadata.count; i++) {
    const uint32_t at = smr_fb_element(&d->fb, metadata, i);
    d->metadata[i].key = smr_fb_text(&d->fb, at, SMR_FB_KEY_VALUE_key);
    d->metadata[i].value = smr_fb_text(&d->fb, at, SMR_FB_KEY_VALUE_value);
  }
  const struct smr_fb_vec sources = decode_list(d, SMR_FB_MODEL_sources);
  for (uint32_t i = 0; i < sources.count; i++) {
    const uint32_t at = smr_fb_element(&d->fb, sources, i);
    d->sources[i].file = smr_fb_text(&d->fb, at, SMR_FB_SOURCE_file);
    d->sources[i].line = smr_fb_u32(&d->fb, at, SMR_FB_SOURCE_line, 0);
    d->sources[i].detail = smr_fb_text(&d->fb, at, SMR_FB_SOURCE_detail);
  }
}

static samara_status decode_tensors(struct smr_decoder *d) {
  SMR_TRY(decode_segments(d));
  const struct smr_fb_vec constants = decode_list(d, SMR_FB_MODEL_constants);
  for (uint32_t i = 0; i < constants.count; i++) {
    SMR_TRY(decode_constant(d, smr_fb_element(&d->fb, constants, i), &d->constants[i]));
  }
  const struct smr_fb_vec variables = decode_list(d, SMR_FB_MODEL_variables);
  for (uint32_t i = 0; i < variables.count; i++) {
    SMR_TRY(decode_variable(d, smr_fb_element(&d->fb, variables, i), &d->variables[i]));
    d->variable_mark[i] = 0;
  }
  return SAMARA_OK;
}

static samara_status decode_functions(struct smr_decoder *d) {
  const struct smr_fb_vec functions = decode_list(d, SMR_FB_MODEL_functions);
  for (uint32_t i = 0; i < functions.count; i++) {
    d->function_index = i;
    const samara_status status =
        smr_decode_function_fill(d, smr_fb_element(&d->fb, functions, i), &d->functions[i]);
    if (status != SAMARA_OK) {
      return smr_fail_prefix(d->error, status, "function '" SMR_NAME "': ", d->functions[i].name);
    }
  }
  if (functions.count == 0 || d->model->entry_count == 0) {
    SMR_FAIL(d->error, BAD_MODEL, "the file has no function to call");
  }
  for (uint32_t i = 0; i < d->model->entry_count; i++) {
    if (d->model->entries[i] >= functions.count) {
      SMR_FAIL(d->error, BAD_MODEL, "entry %u is function %u of %u", i, d->model->entries[i],
               functions.count);
    }
    d->functions[d->model->entries[i]].is_entry = true;
  }
  return SAMARA_OK;
}

// Calls, stages and growth, which need scratch that the model does not keep.
static samara_status decode_analyse(struct smr_decoder *d) {
  size_t exprs = 1;
  const uint32_t count = d->model->function_count;
  for (uint32_t i = 0; i < count; i++) {
    if (d->functions[i].expr_count > exprs) exprs = d->functions[i].expr_count;
  }
  int64_t *scratch = smr_allocate_zeroed(d->allocator, exprs, 2 * sizeof *scratch);
  uint32_t *order = smr_allocate_zeroed(d->allocator, count, sizeof *order);
  samara_status status = SAMARA_OK;
  if (scratch == NULL || order == NULL) {
    status = smr_fail(d->error, SAMARA_OUT_OF_MEMORY, "no memory to check the model");
  }
  if (status == SAMARA_OK) status = smr_decode_calls(d, order);
  for (uint32_t i = 0; i < count && status == SAMARA_OK; i++) {
    struct smr_function *f = &d->functions[order[i]];
    status = smr_decode_stages(d, f, scratch);
    if (status != SAMARA_OK) {
      status = smr_fail_prefix(d->error, status, "function '" SMR_NAME "': ", f->name);
    }
  }
  smr_release(d->allocator, order);
  smr_release(d->allocator, scratch);
  return status;
}

static samara_status decode_fill(struct smr_decoder *d) {
  decode_texts(d);
  SMR_TRY(decode_tensors(d));
  SMR_TRY(decode_functions(d));
  SMR_TRY(decode_analyse(d));
  const struct smr_fb_vec goldens = decode_list(d, SMR_FB_MODEL_golden);
  for (uint32_t i = 0; i < goldens.count; i++) {
    SMR_TRY(decode_golden(d, smr_fb_element(&d->fb, goldens, i), &d->goldens[i]));
  }
  return SAMARA_OK;
}

samara_status smr_decode(const struct smr_fb *fb, uint32_t root, const uint8_t *image,
                         uint64_t image_bytes, const samara_allocator *allocator,
                         samara_model *model, void **memory, samara_error *error) {
  struct smr_decoder d = {.fb = *fb,
                          .root = root,
                          .image = image,
                          .image_bytes = image_bytes,
                          .allocator = allocator,
                          .model = model,
                          .error = error};
  decode_take(&d);
  const size_t bytes = d.bump.used;
  if (d.bump.overflow) SMR_FAIL(error, OUT_OF_MEMORY, "the model is larger than the address space");
  void *block = smr_allocate(allocator, bytes);
  if (block == NULL) SMR_FAIL(error, OUT_OF_MEMORY, "no memory for %zu bytes of model", bytes);
  d.bump = (struct smr_bump){.base = block, .capacity = bytes};
  decode_take(&d);
  const samara_status status = decode_fill(&d);
  if (status != SAMARA_OK) {
    smr_release(allocator, block);
    return status;
  }
  *memory = block;
  return SAMARA_OK;
}
