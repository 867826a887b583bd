// SPDX-License-Identifier: Apache-2.0
// Tables outside of functions: segments, constants in every layout, variables, goldens.
#include "model/decode.h"

#include "harness.h"
#include "model/sample.h"

SMR_TEST(decodes_the_sample) {
  const struct mb_file file = mb_accept(mb_sample());
  samara_model *model = file.model;
  CHECK_EQ_INT(model->constant_count, 4);
  const struct smr_constant *w = &model->constants[0];
  CHECK_STR(w->name, "w");
  CHECK(w->dtype == SAMARA_FLOAT32 && w->rank == 2 && w->dims[0] == 4 && w->size_bytes == 64);
  CHECK(w->layout == SMR_LAYOUT_PLAIN && w->groups == 1 && (uintptr_t)w->data % 4 == 0);
  CHECK_EQ_INT(model->variable_count, 1);
  const struct smr_variable *s = &model->variables[0];
  CHECK_STR(s->name, "s");
  CHECK(s->rank == 1 && s->dims[0] == 4 && s->size_bytes == 16 && s->initial == 1 && !s->quant);
  CHECK_EQ_INT(model->golden_count, 1);
  const struct smr_golden *golden = &model->goldens[0];
  CHECK(golden->function == 0 && golden->input_count == 1 && golden->output_count == 2);
  CHECK(golden->inputs[0].constant == 2 && golden->inputs[0].dims[1] == 4);
  CHECK(golden->outputs[0].constant == 3 && golden->outputs[0].abs_tol == 1e-6f);
  CHECK(golden->outputs[1].constant == -1 && golden->outputs[1].digest != 0);
  CHECK_EQ_INT(model->source_count, 1);
  CHECK_STR(model->sources[0].file, "model.py");
  CHECK_EQ_INT(model->sources[0].line, 12);
  CHECK_STR(model->metadata[0].key, "license");
  CHECK(model->functions[0].is_entry);
  mb_close(&file);
}

// The sample, changed in one way, must be refused with this text.
#define REFUSED_AS(status, part, ...)          \
  do {                                         \
    struct mb_model *m = mb_sample();          \
    struct mb_constant *w = &m->constants[0];  \
    struct mb_golden *golden = &m->goldens[0]; \
    (void)w, (void)golden;                     \
    __VA_ARGS__;                               \
    CHECK_REFUSED(m, status, part);            \
  } while (0)
#define REFUSED(part, ...) REFUSED_AS(SAMARA_BAD_MODEL, part, __VA_ARGS__)

SMR_TEST(refuses_what_is_wrong) {
  REFUSED("misaligned", m->segments[0].offset = 1);
  REFUSED("overlaps what precedes it",
          m->segments[0] = (struct mb_segment){.offset = 64, .absolute = true});
  REFUSED("out of bounds", m->segments[0].offset = 1 << 20);
  REFUSED("out of bounds", m->segments[0].size = UINT64_MAX);
  REFUSED("overlaps what precedes it",
          m->segments[m->segment_count++] = (struct mb_segment){.size = 16});
  REFUSED("constant 'w': segment is 1 of 1", w->segment = 1);
  REFUSED("outside of its segment", w->offset = 1 << 20);
  REFUSED("outside of its segment", w->size = UINT64_MAX);
  REFUSED("misaligned", w->offset = 4);
  REFUSED("shorter than its dims", w->size = 63);
  REFUSED("out of range", w->dims[0] = -1);
  REFUSED("out of range", w->dims[0] = w->dims[1] = INT64_C(1) << 40);
  REFUSED("rank above 8", w->rank = 9);
  REFUSED_AS(SAMARA_UNSUPPORTED, "dtype 77", w->dtype = 77);
  REFUSED_AS(SAMARA_UNSUPPORTED, "layout 9", w->layout = 9);
  REFUSED("initial is 50 of 4", m->variables[0].initial = 50);
  REFUSED("differs in type", m->variables[0].initial = 0);
  REFUSED("differs in type", m->variables[0].dtype = SAMARA_INT32);
  REFUSED("differs in type", m->variables[0].dims[0] = 5);
  REFUSED_AS(SAMARA_UNSUPPORTED, "none can have dtype int4",
             m->variables[0].dtype = m->constants[m->variables[0].initial].dtype = SAMARA_INT4);
  REFUSED("function is 3 of 1", golden->function = 3);
  REFUSED("golden 'main': input 1", golden->inputs[0].index = 1);
  REFUSED("does not fit", golden->inputs[0].constant = -1);
  REFUSED("constant is 77 of 4", golden->inputs[0].constant = 77);
  REFUSED("does not fit", golden->inputs[0].constant = 1);
  REFUSED("does not fit", golden->outputs[0].constant = -1);
  REFUSED("does not fit", golden->outputs[0].abs_tol = -1);
  REFUSED("does not fit", golden->outputs[0].rel_tol = NAN);
  REFUSED("golden 'main': output 2", golden->outputs[1].index = 2);
  REFUSED("does not fit", golden->outputs[0].rank = 2);
  REFUSED("has 0 inputs", golden->input_count = 0);
  REFUSED("entries is 1 of 1", m->entries[0] = 1);
  REFUSED("no function", m->entry_count = 0);
  REFUSED("out of range", w->dims[0] = 0; w->dims[1] = INT64_MAX);
  REFUSED("scale 0", mb_quantize(&m->variables[0].quant, 0.0f, 0));
  REFUSED("no quantization parameters", m->variables[0].dtype = SAMARA_QINT8;
          m->constants[1].dtype = SAMARA_QINT8);
  REFUSED("entries is 9 of 1", m->functions[0]->name = "renamed"; m->entries[m->entry_count++] = 9);
  REFUSED("has 2 inputs", golden->inputs[1] = golden->inputs[0]; golden->input_count = 2);
}

// ---- variables that grow ----

// The sample with a cache [1, 6, 2] that grows by the int64 "count", both read by its function.
static struct mb_model *growing_sample(void) {
  static const int64_t zero = 0, dims[] = {1, 6, 2};
  struct mb_model *m = mb_sample();
  struct mb_function *f = m->functions[0];
  const int32_t initial = mb_data(m, "count.initial", SAMARA_INT64, 0, NULL, &zero, 8);
  m->variables[m->variable_count++] = (struct mb_variable){.name = "cache",
                                                           .dtype = SAMARA_FLOAT32,
                                                           .dims = {1, 6, 2},
                                                           .rank = 3,
                                                           .grows = true,
                                                           .length = 2};
  m->variables[m->variable_count++] =
      (struct mb_variable){.name = "count", .dtype = SAMARA_INT64, .initial = initial};
  mb_input(f, mb_static(f, "cache", SAMARA_FLOAT32, 3, dims));
  mb_input(f, mb_static(f, "count", SAMARA_INT64, 0, NULL));
  for (uint32_t i = 1; i < 3; i++)
    f->reads[f->read_count++] = (struct smr_binding){.position = i + 1, .variable = i};
  return m;
}

#define GROWING_REFUSED(part, change)                                    \
  do {                                                                   \
    struct mb_model *m = growing_sample();                               \
    struct mb_variable *cache = &m->variables[1], *n = &m->variables[2]; \
    (void)cache, (void)n;                                                \
    change;                                                              \
    CHECK_REFUSED(m, SAMARA_BAD_MODEL, part);                            \
  } while (0)

SMR_TEST(lengths_of_variables) {
  const struct mb_file file = mb_accept(growing_sample());
  const struct smr_variable *v = file.model->variables;
  CHECK(!smr_grows(&v[0]) && smr_grows(&v[1]) && !smr_grows(&v[2]));
  CHECK(!v[0].counts && !v[1].counts && v[2].counts);
  CHECK_EQ_INT(v[1].length, 2);
  CHECK_EQ_INT(v[1].initial, -1);
  CHECK_EQ_INT(v[1].size_bytes, 48);
  mb_close(&file);
  GROWING_REFUSED("length is 3 of 3", cache->length = 3);
  GROWING_REFUSED("length is -2 of 3", cache->length = -2);
  GROWING_REFUSED("variable 'cache'", cache->length = INT32_MIN);
  GROWING_REFUSED("'cache': it cannot grow, or its length is no integer", cache->length = 0);
  GROWING_REFUSED("cannot grow", cache->length = 1);  // itself
  GROWING_REFUSED("cannot grow", n->grows = true; n->length = 1);
  GROWING_REFUSED("cannot grow", cache->rank = 1; cache->dims[0] = 1;
                  m->functions[0]->values[8].rank = 1);
  GROWING_REFUSED("variable 1 is bound without its length, variable 2",
                  m->functions[0]->read_count = 2);
}

// Rows of another batch entry would lie between.
SMR_TEST(one_that_grows_has_one_batch_entry) {
  struct mb_model *m = growing_sample();
  struct mb_function *f = m->functions[0];
  m->variables[1].dims[0] = 2;
  f->values[8].dims[0] = mb_const(f, 2);
  CHECK_REFUSED(m, SAMARA_BAD_MODEL, "'cache': it cannot grow");
}

// ---- packed constants ----

struct packed {
  uint8_t dtype, layout;
  uint32_t rank, groups;
  int64_t dims[5];
  uint64_t stride, size;
  bool fits;
};

SMR_TEST(packed_layouts) {
  static const struct packed rows[] = {
      // convolution [O, kh, kw, C]: 2 panels of 9 * 3 rows
      {SAMARA_FLOAT32, SMR_LAYOUT_PANEL, 4, 1, {20, 3, 3, 3}, 27 * 64, 2 * 27 * 64, true},
      {SAMARA_FLOAT32, SMR_LAYOUT_PANEL, 4, 1, {20, 3, 3, 3}, 27 * 64, 2 * 27 * 64 - 1, false},
      {SAMARA_FLOAT32, SMR_LAYOUT_PANEL, 4, 1, {20, 3, 3, 3}, 26 * 64, 2 * 27 * 64, false},
      {SAMARA_FLOAT32, SMR_LAYOUT_PANEL, 4, 1, {20, 3, 3, 3}, 0, 4 * 27 * 64, false},
      // 4 groups of 8: a panel each
      {SAMARA_FLOAT32, SMR_LAYOUT_PANEL, 4, 4, {32, 1, 1, 5}, 5 * 64, 4 * 5 * 64, true},
      {SAMARA_FLOAT32, SMR_LAYOUT_PANEL, 4, 4, {32, 1, 1, 5}, 5 * 64, 2 * 5 * 64, false},
      {SAMARA_FLOAT32, SMR_LAYOUT_PANEL, 4, 5, {32, 1, 1, 5}, 5 * 64, 20 * 5 * 64, false},
      {SAMARA_FLOAT32, SMR_LAYOUT_PANEL, 4, 0, {32, 1, 1, 5}, 5 * 64, 20 * 5 * 64, false},
      // product [K, N] and [N, K]
      {SAMARA_FLOAT32, SMR_LAYOUT_PANEL, 2, 1, {10, 33}, 10 * 64, 3 * 10 * 64, true},
      {SAMARA_FLOAT32, SMR_LAYOUT_PANEL, 2, 1, {33, 10}, 10 * 64, 3 * 10 * 64, true},
      {SAMARA_FLOAT32, SMR_LAYOUT_PANEL, 2, 1, {10, 33}, 10 * 64, 2 * 10 * 64, false},
      {SAMARA_FLOAT32, SMR_LAYOUT_PANEL, 3, 1, {2, 10, 33}, 10 * 64, 6 * 10 * 64, true},
      // float16 with an odd K: rounded up to 64 bytes
      {SAMARA_FLOAT16, SMR_LAYOUT_PANEL, 2, 1, {7, 16}, 256, 256, true},
      {SAMARA_FLOAT16, SMR_LAYOUT_PANEL, 2, 1, {7, 16}, 224, 256, false},
      // int8: K filled up to 4
      {SAMARA_INT8, SMR_LAYOUT_PANEL, 2, 1, {5, 16}, 128, 128, true},
      {SAMARA_INT8, SMR_LAYOUT_PANEL, 2, 1, {5, 16}, 80, 128, false},
      {SAMARA_FLOAT32, SMR_LAYOUT_DWPANEL, 4, 1, {20, 3, 3, 1}, 9 * 64, 2 * 9 * 64, true},
      {SAMARA_FLOAT32, SMR_LAYOUT_DWPANEL, 4, 20, {20, 3, 3, 1}, 9 * 64, 2 * 9 * 64, true},
      {SAMARA_FLOAT32, SMR_LAYOUT_DWPANEL, 4, 2, {20, 3, 3, 1}, 9 * 64, 2 * 9 * 64, false},
      {SAMARA_FLOAT32, SMR_LAYOUT_DWPANEL, 4, 1, {20, 3, 3, 1}, 9 * 64, 9 * 64, false},
      {SAMARA_FLOAT32, SMR_LAYOUT_PANEL, 1, 1, {16}, 64, 64, false},
      {SAMARA_FLOAT32, SMR_LAYOUT_PANEL, 0, 1, {0}, 64, 64, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct packed *row = &rows[i];
    struct mb_model *m = mb_sample();
    const int32_t c = mb_data(m, "packed", row->dtype, row->rank, row->dims, NULL, row->size);
    m->constants[c].layout = row->layout;
    m->constants[c].groups = row->groups;
    m->constants[c].panel_stride = row->stride;
    samara_model *model = NULL;
    uint8_t *bytes;
    samara_error error = {SAMARA_OK, ""};
    const samara_status status = mb_open(m, &model, &bytes, &error);
    if (!CHECK_EQ_INT(status, row->fits ? SAMARA_OK : SAMARA_BAD_MODEL)) {
      fprintf(stderr, "row %zu: %s\n", i, error.text);
    }
    if (status == SAMARA_OK) {
      CHECK_EQ_INT(model->constants[c].panel_stride_bytes, row->stride);
      CHECK_EQ_INT(model->constants[c].layout, row->layout);
    }
    samara_model_close(model);
    free(bytes);
  }
}

// A bias is stored longer than its dims say, so that kernels may read whole panels.
SMR_TEST(plain_constants_may_be_padded) {
  struct mb_model *m = mb_sample();
  const int64_t five = 5;
  const int32_t c = mb_data(m, "bias", SAMARA_FLOAT32, 1, &five, NULL, 64);
  const struct mb_file file = mb_accept(m);
  samara_model *model = file.model;
  CHECK_EQ_INT(model->constants[c].size_bytes, 64);
  mb_close(&file);
}

// Bytes that opening the image allocates.
static size_t open_bytes(const uint8_t *image, size_t size, const int64_t *values) {
  struct mb_memory memory = {0};
  const samara_allocator allocator = mb_allocator(&memory);
  const samara_model_options options = {.struct_size = sizeof options, .allocator = &allocator};
  samara_model *model = NULL;
  if (!CHECK_EQ_INT(samara_model_open_memory(image, size, &options, &model, NULL), SAMARA_OK))
    return 0;
  for (uint32_t i = 0; i < model->constant_count; i++) {
    const struct smr_constant *c = &model->constants[i];
    CHECK_EQ_INT((uintptr_t)c->data % smr_dtype_bytes(c->dtype), 0);
    if (c->dtype == SAMARA_FLOAT64) CHECK_MEM(c->data, values, c->size_bytes);
  }
  samara_model_close(model);
  return memory.bytes;
}

// Copies of constants that share bytes are no larger than the file.
SMR_TEST(copies_are_no_larger_than_the_file) {
  enum { N = 512, SHARERS = 12 };
  static int64_t values[N];
  static const int64_t n = N;
  for (int i = 0; i < N; i++) values[i] = i * 1000003;
  for (int many = 0; many < 2; many++) {
    struct mb_model *m = mb_sample();
    const int32_t c = mb_data(m, "wide", SAMARA_FLOAT64, 1, &n, values, 0);
    for (int i = 1; many && i < SHARERS; i++) {
      m->constants[m->constant_count] = m->constants[c];
      m->constant_count++;
    }
    size_t size;
    uint8_t *bytes = mb_write(m, &size);
    mb_free(m);
    uint8_t *room = aligned_alloc(64, (size + 4 + 63) / 64 * 64);
    memcpy(room, bytes, size);
    const size_t aligned = open_bytes(room, size, values);
    memcpy(room + 4, bytes, size);
    const size_t misaligned = open_bytes(room + 4, size, values);
    free(room);
    if (many) {
      CHECK(misaligned - aligned <= size + 8);
    } else {
      CHECK_EQ_INT(misaligned - aligned, sizeof values);
    }
    free(bytes);
  }
}

// Two inputs, each listed once and in order.
SMR_TEST(golden_inputs_stand_in_order) {
  struct mb_model *m = mb_sample();
  struct mb_golden *golden = &m->goldens[0];
  m->functions[0]->read_count = 0;  // the state becomes an input
  golden->inputs[1] = golden->inputs[0];
  golden->input_count = 2;
  CHECK_REFUSED(m, SAMARA_BAD_MODEL, "input 0, listed as number 1");
}

SMR_TEST_MAIN(RUN(lengths_of_variables); RUN(one_that_grows_has_one_batch_entry);
              RUN(golden_inputs_stand_in_order); RUN(decodes_the_sample);
              RUN(refuses_what_is_wrong); RUN(packed_layouts); RUN(plain_constants_may_be_padded);
              RUN(copies_are_no_larger_than_the_file))
