// SPDX-License-Identifier: Apache-2.0
// Decodes a model, and checks everything outside of functions: constants, variables, goldens.
#include "base/fp.h"

#include "model/decode.h"

#include <float.h>
#include <string.h>

#include "base/checked.h"

enum {
  DECODE_MIN_ALIGNMENT = 16,  // of segments and constants, as in embedded images
  DECODE_PANEL = 16,          // channels of a weight panel
  DECODE_STRIDE = 64,         // panels start at multiples of this
};

samara_status smr_decode_bad(const struct smr_decoder *d, const char *format, int a, int b) {
  return smr_fail(d->walk.error, SAMARA_BAD_MODEL, format, a, b);
}

samara_status smr_decode_refuse(const struct smr_decoder *d, const char *text) {
  return smr_decode_bad(d, text, 0, 0);
}

// ---- segments and constants ----

static samara_status decode_segment(struct smr_decoder *d, const struct smr_segment *s) {
  if (s->offset < d->segment_end || s->offset % DECODE_MIN_ALIGNMENT != 0) {
    return smr_decode_refuse(d, "it overlaps what precedes it, or is misaligned");
  }
  const uint64_t bytes = d->image->size_bytes;
  if (s->offset > bytes || s->size > bytes - s->offset) {
    return smr_decode_refuse(d, "out of bounds");
  }
  d->segment_end = s->offset + s->size;
  // The segment is within the file, so the sum cannot overflow.
  const uint64_t sums = d->image->sealed ? (s->size + SMR_SUM_CHUNK - 1) / SMR_SUM_CHUNK : 0;
  if (SMR_HAS(verify) && s->sum_count != sums) {
    return smr_decode_bad(d, "%d checksums of %d", (int)s->sum_count, (int)sums);
  }
  return SAMARA_OK;
}

static samara_status decode_bad_dims(const struct smr_decoder *d) {
  return smr_decode_refuse(d, "a dim is out of range");
}

bool smr_decode_same_type(const struct smr_constant *c, uint8_t dtype, uint8_t rank,
                          const int64_t *dims) {
  return c->dtype == dtype && c->rank == rank && memcmp(c->dims, dims, sizeof c->dims) == 0;
}

// Whether stride and size fit `groups` stacks of panels over [n][k], as kernels address them. The
// rows of a panel are padded to a multiple of `row_unit`.
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

// The order of axes depends on the operator, so accept every order that an operator uses:
// convolution [N, taps..., K], product [..., K, N] or [..., N, K], depthwise [N, taps...].
static bool decode_panels(const struct smr_constant *c) {
  const int64_t *dims = c->dims;
  const uint32_t rank = c->rank;
  int64_t rest = 1, batch = 1;  // the product of all dims does not overflow (smr_dims_bytes)
  if (rank < 2) return false;
  for (uint32_t i = 1; i < rank; i++) rest *= dims[i];
  for (uint32_t i = 0; i + 2 < rank; i++) batch *= dims[i];
  if (c->layout == SMR_LAYOUT_DWPANEL) {
    return (c->groups == 1 || c->groups == (uint64_t)dims[0]) &&
           decode_panels_fit(c, 1, dims[0], rest, 1);
  }
  // int8: [k / 4][16][4]; 4 bits: [k / 32][4][16][4] bytes.
  const uint64_t unit = smr_dtype_packed(c->dtype) ? 32 : smr_dtype_bytes(c->dtype) == 1 ? 4 : 1;
  const int64_t row = dims[rank - 2], column = dims[rank - 1];
  return decode_panels_fit(c, c->groups, dims[0], rest, unit) ||
         (c->groups == 1 && (decode_panels_fit(c, batch, batch * column, row, unit) ||
                             decode_panels_fit(c, batch, batch * row, column, unit)));
}

// An image is aligned to 4 bytes only, so constants with 8-byte elements, which are small, are
// copied. Constants may share bytes, so that copies could need more memory than the file has: one
// copy of the file is then used for all of them.
static void decode_copy(struct smr_decoder *d, struct smr_constant *c, size_t at) {
  if (d->copied <= d->image->size_bytes) {
    void *copy = smr_bump_take(&d->walk.bump, 1, c->size_bytes);
    c->data = memcpy(copy, c->data, c->size_bytes);
    return;
  }
  if (d->image_copy == NULL) {
    d->image_copy = smr_bump_take(&d->walk.bump, 1, (size_t)d->image->size_bytes);
    memcpy(d->image_copy, d->image->data, (size_t)d->image->size_bytes);
  }
  c->data = d->image_copy + at;
}

static samara_status decode_constant(struct smr_decoder *d, struct smr_constant *c) {
  const uint64_t offset = d->walk.offset, bytes = d->walk.bytes;
  const bool copies = smr_dtype_bytes(c->dtype) == 8 && (uintptr_t)d->image->data % 8 != 0;
  if (d->walk.bump.base == NULL) {
    // Ranges outside of the image are refused later.
    if (copies)
      d->copied += (bytes < d->image->size_bytes ? bytes + 7 : d->image->size_bytes) & ~UINT64_C(7);
    return SAMARA_OK;
  }
  size_t needed;
  if (!smr_dims_bytes(c->dtype, c->rank, c->dims, &needed)) return decode_bad_dims(d);
  const struct smr_segment *place = &d->walk.model->segments[d->walk.segment];
  if (offset > place->size || bytes > place->size - offset || needed > bytes) {
    return smr_decode_refuse(d, "it is outside of its segment, or shorter than its dims need");
  }
  if (offset % DECODE_MIN_ALIGNMENT != 0) return smr_decode_refuse(d, "misaligned");
  c->size_bytes = (size_t)bytes;  // fits size_t: the image is in memory
  c->data = d->image->data + place->offset + offset;
  if (c->layout != SMR_LAYOUT_PLAIN) {
    SMR_NEED_IN(&d->walk.model->parts, d->walk.error, panels);
    if (SMR_HAS(panels) && !decode_panels(c)) {
      return smr_decode_refuse(d, "its panels do not match its dims");
    }
  }
  if (copies) decode_copy(d, c, (size_t)(place->offset + offset));
  return SAMARA_OK;
}

// ---- quantization, variables ----

samara_status smr_decode_quant(const struct smr_decoder *d, const struct smr_quant *quant,
                               uint8_t dtype, uint8_t rank, const int64_t *dims) {
  if (quant == NULL) {
    if (dtype != SAMARA_QINT8) return SAMARA_OK;
    return smr_decode_refuse(d, "no quantization parameters");
  }
  SMR_NEED_IN(&d->walk.model->parts, d->walk.error, quantization);
  if (!SMR_HAS(quantization)) return SAMARA_UNSUPPORTED;
  const int32_t axis = quant->axis;
  if (axis < -1 || axis >= rank || quant->count == 0 ||
      quant->count != (axis < 0 ? 1 : dims[axis])) {
    return smr_decode_bad(d, "%d scales do not fit axis %d", (int)quant->count, axis);
  }
  for (uint32_t i = 0; i < quant->count; i++) {
    // Normal floats, so that products and quotients of scales keep their precision.
    if (!(quant->scales[i] >= FLT_MIN && quant->scales[i] <= FLT_MAX) ||
        quant->zero_points[i] != (int8_t)quant->zero_points[i]) {
      return smr_decode_bad(
          d, "scale %d is not a positive normal float, or zero point %d is not an int8", (int)i,
          quant->zero_points[i]);
    }
  }
  return SAMARA_OK;
}

static samara_status decode_variable(struct smr_decoder *d, struct smr_variable *v) {
  const struct smr_constant *c = &d->walk.model->constants[v->initial];
  if (smr_grows(v)) v->initial = -1;
  if (!smr_dims_bytes(v->dtype, v->rank, v->dims, &v->size_bytes)) return decode_bad_dims(d);
  if (smr_dtype_packed(v->dtype)) {
    SMR_FAIL(d->walk.error, UNSUPPORTED, "none can have dtype %s", smr_dtype_name(v->dtype));
  }
  if (!smr_grows(v) &&
      (c->layout != SMR_LAYOUT_PLAIN || !smr_decode_same_type(c, v->dtype, v->rank, v->dims))) {
    return smr_decode_refuse(d, "its initial constant differs in type");
  }
  return smr_decode_quant(d, v->quant, v->dtype, v->rank, v->dims);
}

// ---- goldens ----

static bool decode_tolerance(float tolerance) { return tolerance >= 0 && tolerance <= FLT_MAX; }

static bool decode_golden_tensor(struct smr_decoder *d, const struct smr_function *f, bool is_input,
                                 const struct smr_golden_tensor *t) {
  if (t->index >= (is_input ? f->user_input_count : f->user_output_count)) return false;
  const uint32_t id =
      is_input ? f->inputs[f->user_inputs[t->index]] : f->outputs[f->user_outputs[t->index]];
  const struct smr_value *value = &f->values[id];
  size_t bytes;
  if (!smr_dims_bytes(value->dtype, t->rank, t->dims, &bytes) || t->rank != value->rank ||
      !decode_tolerance(t->abs_tol) || !decode_tolerance(t->rel_tol)) {
    return false;
  }
  // A digest without data is enough for integers only.
  if (t->constant < 0) {
    return !is_input && value->dtype != SAMARA_FLOAT32 && value->dtype != SAMARA_FLOAT16;
  }
  const struct smr_constant *c = &d->walk.model->constants[t->constant];
  return c->layout == SMR_LAYOUT_PLAIN && smr_decode_same_type(c, value->dtype, t->rank, t->dims);
}

static samara_status decode_golden(struct smr_decoder *d, const struct smr_golden *g) {
  const struct smr_function *f = &d->walk.model->functions[g->function];
  if (!f->is_entry || g->input_count != f->user_input_count) {
    return smr_decode_bad(d, "it has %d inputs, its function, if it is an entry, %d",
                          (int)g->input_count, (int)f->user_input_count);
  }
  for (uint32_t i = 0; i < g->input_count; i++) {
    // Inputs must be listed once, in order.
    if (g->inputs[i].index != i || !decode_golden_tensor(d, f, true, &g->inputs[i])) {
      return smr_decode_bad(d, "input %d, listed as number %d, does not fit",
                            (int)g->inputs[i].index, (int)i);
    }
  }
  for (uint32_t i = 0; i < g->output_count; i++) {
    if (!decode_golden_tensor(d, f, false, &g->outputs[i])) {
      return smr_decode_bad(d, "output %d does not fit", (int)g->outputs[i].index, 0);
    }
  }
  return SAMARA_OK;
}

// ---- everything ----

samara_status smr_decode_part(struct smr_fb_walk *walk, enum smr_fb_table table, void *part) {
  struct smr_decoder *d = (struct smr_decoder *)walk;
  if (table == SMR_FB_FUNCTION) return smr_decode_function(d, part);
  if (table == SMR_FB_CONSTANT) return decode_constant(d, part);
  if (walk->bump.base == NULL) return SAMARA_OK;
  if (table == SMR_FB_SEGMENT) return decode_segment(d, part);
  if (SMR_HAS(variables) && table == SMR_FB_VARIABLE) return decode_variable(d, part);
  return SAMARA_OK;
}

// One that grows has one batch entry, so that its rows follow each other, and an integer that
// counts.
static samara_status decode_length(struct smr_decoder *d, const struct smr_variable *v) {
  struct smr_variable *length = (struct smr_variable *)&d->walk.model->variables[v->length];
  if (v->rank < 2 || v->dims[0] != 1 || length->rank != 0 || length->dtype != SAMARA_INT64 ||
      smr_grows(length)) {
    return smr_fb_where(&d->walk,
                        smr_decode_refuse(d, "it cannot grow, or its length is no integer"),
                        SMR_FB_VARIABLE, v->name);
  }
  length->counts = true;
  return SAMARA_OK;
}

// Checks that need the whole model.
static samara_status decode_whole(struct smr_decoder *d) {
  samara_model *model = d->walk.model;
  if (model->entry_count == 0) return smr_decode_refuse(d, "the file has no function to call");
  for (uint32_t i = 0; i < model->entry_count; i++) {
    ((struct smr_function *)model->functions)[model->entries[i]].is_entry = true;
  }
  for (uint32_t i = 0; SMR_HAS(variables) && i < model->variable_count; i++)
    if (smr_grows(&model->variables[i])) SMR_TRY(decode_length(d, &model->variables[i]));
  SMR_TRY(smr_decode_calls(d));
  for (uint32_t i = 0; SMR_HAS(selftest) && i < model->golden_count; i++) {
    const samara_status status = decode_golden(d, &model->goldens[i]);
    if (status != SAMARA_OK) {
      const char *name = model->functions[model->goldens[i].function].name;
      return smr_fb_where(&d->walk, status, SMR_FB_GOLDEN, name);
    }
  }
  return SAMARA_OK;
}

samara_status smr_decode(const struct smr_image *image, samara_model *model, void **memory,
                         samara_error *error) {
  struct smr_decoder d = {.walk = {.data = image->program,
                                   .size = image->program_bytes,
                                   .error = error,
                                   .model = model},
                          .image = image,
                          .segment_end = image->program_bytes};
  SMR_TRY(smr_fb_read(&d.walk));
  if (d.walk.schema_version == 0) return smr_decode_refuse(&d, "no schema version");
  const uint64_t copies = d.copied < image->size_bytes ? d.copied : image->size_bytes;
  size_t bytes;  // plus 7 to align copies
  if (d.walk.bump.overflow || !smr_add_size(d.walk.bump.used, (size_t)copies + 7, &bytes)) {
    return smr_no_memory(error, SIZE_MAX);
  }
  void *block = smr_allocate(&model->allocator, bytes);
  if (block == NULL) return smr_no_memory(error, bytes);
  d.walk.bump = (struct smr_bump){.base = block, .capacity = bytes};
  samara_status status = smr_fb_read(&d.walk);
  if (status == SAMARA_OK) status = decode_whole(&d);
  if (status != SAMARA_OK) {
    smr_release(&model->allocator, block);
    return status;
  }
  *memory = block;
  return SAMARA_OK;
}
