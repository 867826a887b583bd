// SPDX-License-Identifier: Apache-2.0
// Launches against the CPU: pools, reductions, norms, sums along an axis, resizing, attention.
#include "base/fp.h"

#include "backends/one_node.h"
#include "harness.h"

static double near(samara_dtype d) { return d == F16 ? 3e-3 : d == F32 ? 2e-5 : 0; }

// ---- pools ----

static void pool(const char *op, samara_dtype d, int64_t k, int64_t stride, int64_t dilation,
                 int64_t pad, int64_t extend, int64_t include) {
  const int64_t h = 9, w = 7, e = (k - 1) * dilation + 1;
  const int64_t oh = (h + 2 * pad + extend - e) / stride + 1,
                ow = (w + 2 * pad + extend - e) / stride + 1;
  one_begin(op);
  struct one_tensor *x = one_input(d, DIMS(2, h, w, 19));
  if (d == Q8) one_quantized(x, 0.05f, 3);
  struct one_tensor *y = one_output(d, DIMS(2, oh, ow, 19));
  one_ints("kernel", LIST(k, k));
  one_ints("strides", LIST(stride, stride));
  one_ints("dilations", LIST(dilation, dilation));
  one_ints("pads", LIST(pad, pad, pad, pad));
  if (strcmp(op, "max_pool") != 0) {
    one_ints("extend", LIST(extend, extend));
    one_int("count_include_pad", include);
  } else if (d == Q8) {
    y->scale = 0.05f;
    y->zero_point = 3;
  }
  if (strcmp(op, "qavg_pool") == 0) {
    one_number("scale", 0.03f);
    one_int("zero_point", -7);
    one_int("dequantized", include == 0 && extend == 0);
    y->scale = 0.03f;
    y->zero_point = -7;
  }
  one_check(near(d));
}

SMR_TEST(pools) {
  static const samara_dtype types[] = {F32, F16, SAMARA_INT8, SAMARA_UINT8, Q8};
  for (size_t i = 0; i < 5; i++) {
    pool("max_pool", types[i], 3, 2, 1, 1, 0, 0);
    pool("max_pool", types[i], 2, 1, 3, 0, 0, 0);
    pool("max_pool", types[i], 2, 1, 1, 3, 0, 0);  // windows of padding only
  }
  for (size_t i = 0; i < 3; i++) {
    const samara_dtype d = i == 2 ? Q8 : types[i];
    for (int64_t include = 0; include < 2; include++) {
      pool(i == 2 ? "qavg_pool" : "avg_pool", d, 3, 2, 1, 1, 0, include);
      pool(i == 2 ? "qavg_pool" : "avg_pool", d, 3, 2, 1, 1, 1, include);
      pool(i == 2 ? "qavg_pool" : "avg_pool", d, 2, 1, 2, 3, 0, include);
    }
  }
  one_begin("max_pool");
  one_input(F32, DIMS(2, 11, 5));
  one_output(F32, DIMS(2, 5, 5));
  one_ints("kernel", LIST(3));
  one_ints("strides", LIST(2));
  one_ints("dilations", LIST(1));
  one_ints("pads", LIST(0, 0));
  one_check(0);
  one_begin("avg_pool");
  one_input(F32, DIMS(1, 4, 5, 6, 2));
  one_output(F32, DIMS(1, 3, 4, 5, 2));
  one_ints("kernel", LIST(2, 2, 2));
  one_ints("strides", LIST(1, 1, 1));
  one_ints("dilations", LIST(1, 1, 1));
  one_ints("pads", LIST(0, 0, 0, 0, 0, 0));
  one_ints("extend", LIST(0, 0, 0));
  one_check(1e-5);
}

// ---- reductions ----

static void reduce(const char *op, samara_dtype d, uint32_t count, const int64_t *axes,
                   int64_t keep) {
  const int64_t dims[4] = {3, 5, 7, 18};
  int64_t shape[4];
  int32_t rank = 0;
  for (int32_t i = 0; i < 4; i++) {
    int goes = 0;
    for (uint32_t k = 0; k < count; k++) goes |= axes[k] == i;
    if (!goes)
      shape[rank++] = dims[i];
    else if (keep)
      shape[rank++] = 1;
  }
  one_begin(op);
  struct one_tensor *x = one_input(d, 4, dims);
  if (d == Q8) one_quantized(x, 0.05f, 3);
  if (strcmp(op, "reduce_prod") == 0) one_fill(x, 0.95f, 1.05f);
  struct one_tensor *y = one_output(d, rank, shape);
  one_ints("axes", count, axes);
  one_int("keepdims", keep);
  if (d == Q8) {
    one_number("scale", 0.02f);
    one_int("zero_point", 9);
    y->scale = 0.02f;
    y->zero_point = 9;
  }
  one_check(5 * near(d));
}

SMR_TEST(reductions) {
  static const struct {
    const char *op;
    samara_dtype types[5];
  } rows[] = {{"reduce_sum", {F32, F16, SAMARA_INT32, SAMARA_INT64}},
              {"reduce_mean", {F32, F16}},
              {"reduce_prod", {F32, F16}},
              {"reduce_max", {F32, F16, SAMARA_INT32, SAMARA_INT64}},
              {"reduce_min", {F32, F16, SAMARA_INT32, SAMARA_INT64}},
              {"qmean", {Q8}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (size_t k = 0; k < 5 && rows[i].types[k] != 0; k++) {
      reduce(rows[i].op, rows[i].types[k], LIST(1, 2), 1);
      reduce(rows[i].op, rows[i].types[k], LIST(3), 0);
      reduce(rows[i].op, rows[i].types[k], LIST(0, 2), 0);
      reduce(rows[i].op, rows[i].types[k], LIST(0, 1, 2, 3), 0);
      reduce(rows[i].op, rows[i].types[k], 0, NULL, 0);
    }
  }
  static const samara_dtype types[] = {F32, F16, SAMARA_INT32, SAMARA_INT64};
  for (size_t i = 0; i < 4; i++) {
    for (int64_t last = 0; last < 2; last++) {
      one_begin(last ? "argmin" : "argmax");
      one_fill(one_input(types[i], DIMS(3, 40, 5)), -4.0f, 4.0f);  // integers: many equal ones
      one_output(SAMARA_INT64, DIMS(3, 5));
      one_int("axis", 1);
      one_int("select_last", last);
      one_check(0);
    }
  }
  one_begin("argmax");
  memcpy(one_input(F32, DIMS(4))->data, (float[]){1, NAN, 7, NAN}, 16);
  one_output(SAMARA_INT64, 0, NULL);
  one_check(0);
  one_begin("reduce_max");
  memcpy(one_input(F32, DIMS(4))->data, (float[]){1, NAN, 7, 3}, 16);
  one_output(F32, 0, NULL);
  one_ints("axes", LIST(0));
  one_check(0);
}

// Sums of many similar numbers keep their last digits, because models subtract such sums.
SMR_TEST(long_sums) {
  for (int64_t n = 512; n <= 32768; n *= 8) {
    one_begin("reduce_mean");
    one_fill(one_input(F32, DIMS(n, 16)), 0.9f, 1.1f);
    one_output(F32, DIMS(16));
    one_ints("axes", LIST(0));
    one_int("keepdims", 0);
    one_check(2e-7);
  }
}

SMR_TEST(softmax) {
  for (int i = 0; i < 2; i++) {
    const samara_dtype d = i ? F16 : F32;
    for (int64_t axis = -1; axis < 2; axis++) {
      one_begin("softmax");
      one_input(d, DIMS(3, 17, 5));
      one_output(d, DIMS(3, 17, 5));
      one_int("axis", axis);
      one_check(near(d));
      one_begin("log_softmax");
      one_input(d, DIMS(3, 17, 5));
      one_output(d, DIMS(3, 17, 5));
      one_int("axis", axis);
      one_check(near(d));
    }
  }
}

SMR_TEST(norms) {
  for (int i = 0; i < 2; i++) {
    const samara_dtype d = i ? F16 : F32;
    one_begin("layer_norm");
    one_input(d, DIMS(3, 4, 33));
    one_input(d, DIMS(33));
    one_input(d, DIMS(33));
    one_output(d, DIMS(3, 4, 33));
    one_check(3 * near(d));
    one_begin("layer_norm");
    one_input(d, DIMS(3, 4, 33));
    one_output(d, DIMS(3, 4, 33));
    one_int("axis", 1);
    one_check(3 * near(d));
    one_begin("rms_norm");
    one_input(d, DIMS(5, 40));
    one_input(d, DIMS(40));
    one_output(d, DIMS(5, 40));
    one_check(3 * near(d));
    one_begin("instance_norm");
    one_input(d, DIMS(2, 5, 6, 7));
    one_input(d, DIMS(7));
    one_input(d, DIMS(7));
    one_output(d, DIMS(2, 5, 6, 7));
    one_check(3 * near(d));
    one_begin("group_norm");
    one_input(d, DIMS(2, 5, 6, 12));
    one_input(d, DIMS(12));
    one_input(d, DIMS(12));
    one_output(d, DIMS(2, 5, 6, 12));
    one_int("groups", 3);
    one_check(3 * near(d));
  }
}

// ---- lanes of a subgroup together ----

// Only the device with subgroups launches groups.
static void shared(double tolerance, int launches) {
  one_check(tolerance);
  CHECK_EQ_INT(one.grouped, launches);
}

static void share_softmax(samara_dtype d, int64_t n, int64_t inner) {
  for (int logs = 0; logs < 2; logs++) {
    one_begin(logs ? "log_softmax" : "softmax");
    one_fill(one_input(d, DIMS(3, n, inner)), -6.0f, 6.0f);
    one_output(d, DIMS(3, n, inner));
    one_int("axis", 1);
    shared(near(d), n >= 2 * SMR_CL_GROUP);
  }
}

static void share_reduce(const char *op, samara_dtype d, int launches) {
  for (int last = 0; last < 2; last++) {  // lanes lie beside each other, or a row apart
    one_begin(op);
    one_fill(one_input(d, DIMS(3, last ? 5 : 701, last ? 701 : 5)), -2.0f, 3.0f);
    one_output(d, DIMS(3, 5));
    one_ints("axes", LIST(last ? 2 : 1));
    one_int("keepdims", 0);
    shared(5 * near(d), launches);
  }
}

static void share_norms(samara_dtype d) {
  for (int rms = 0; rms < 2; rms++) {
    one_begin(rms ? "rms_norm" : "layer_norm");
    one_input(d, DIMS(7, 259));
    one_input(d, DIMS(259));
    if (!rms) one_input(d, DIMS(259));
    one_output(d, DIMS(7, 259));
    shared(4 * near(d), 1);
  }
  for (int64_t groups = 0; groups < 4; groups += 3) {
    one_begin(groups ? "group_norm" : "instance_norm");
    one_input(d, DIMS(2, 15, 9, 12));
    one_input(d, DIMS(12));
    one_input(d, DIMS(12));
    one_output(d, DIMS(2, 15, 9, 12));
    if (groups) one_int("groups", groups);
    shared(4 * near(d), 1);
  }
}

static void share_product(samara_dtype x, samara_dtype w, int64_t rows, int64_t depth,
                          int64_t columns, int launches) {
  one_begin("matmul");
  one_input(x, DIMS(rows, depth));
  one_pack(one_input(w, DIMS(depth, columns)), 1, true);
  one_input(x, DIMS(columns));
  one_output(x, DIMS(rows, columns));
  shared(10 * near(w), launches);
}

SMR_TEST(lanes) {
  static const int counts[] = {1, 5, 16, SMR_CL_GROUP};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    smr_reference_lanes = counts[c];
    for (int i = 0; i < 2; i++) {
      const samara_dtype d = i ? F16 : F32;
      share_softmax(d, 127, 1);
      share_softmax(d, 128, 1);
      share_softmax(d, 1501, 2);
      share_norms(d);
      share_reduce("reduce_sum", d, 1);
      share_reduce("reduce_mean", d, 1);
      share_reduce("reduce_max", d, 1);
      share_reduce("reduce_min", d, 1);
      share_reduce("reduce_prod", d, 0);
      share_product(d, d, 1, 333, 37, 1);
      share_product(d, d, 2, 130, 16, 1);
      share_product(d, d, 3, 130, 16, 0);
      share_product(d, F16, 1, 257, 9, 1);
    }
    share_reduce("reduce_sum", SAMARA_INT32, 0);
    share_reduce("reduce_max", SAMARA_INT64, 0);
  }
  smr_reference_lanes = 5;
}

// NaN wins, whichever lane has it; infinities are ordinary numbers.
SMR_TEST(lanes_and_not_a_number) {
  for (int least = 0; least < 2; least++) {
    for (int64_t at = 0; at < 300; at += 77) {
      one_begin(least ? "reduce_min" : "reduce_max");
      float *x = (float *)one_input(F32, DIMS(2, 300))->data;
      x[at] = NAN;
      x[300 + at] = least ? -INFINITY : INFINITY;
      one_output(F32, DIMS(2));
      one_ints("axes", LIST(1));
      one_int("keepdims", 0);
      shared(0, 1);
    }
  }
}

SMR_TEST(lrn) {
  for (int i = 0; i < 2; i++) {
    const samara_dtype d = i ? F16 : F32;
    for (int64_t size = 1; size < 7; size += 2) {
      one_begin("lrn");
      one_input(d, DIMS(2, 3, 4, 11));
      one_output(d, DIMS(2, 3, 4, 11));
      one_int("size", size);
      one_number("alpha", 0.3f);
      one_check(near(d));
    }
  }
}

SMR_TEST(sum_to) {
  one_begin("sum_to");
  one_input(F32, DIMS(2, 3, 4, 5));
  one_ints("shape", LIST(3, 1, 5));
  one_output(F32, DIMS(3, 1, 5));
  one_check(2e-5);
}

SMR_TEST(bools) {
  one_begin("logical_not");
  one_input(SAMARA_BOOL, DIMS(50));
  one_output(SAMARA_BOOL, DIMS(50));
  one_check(0);
  one_begin("isnan");
  memcpy(one_input(F32, DIMS(4))->data, (float[]){1, NAN, INFINITY, -NAN}, 16);
  one_output(SAMARA_BOOL, DIMS(4));
  one_check(0);
}

// ---- attention ----

SMR_TEST(attention) {
  for (int i = 0; i < 2; i++) {
    const samara_dtype d = i ? F16 : F32;
    for (int64_t causal = 0; causal < 2; causal++) {
      for (int64_t layout = 0; layout < 2; layout++) {
        const int64_t s = 5, t = 7, h = 3;
        const int64_t a[2] = {h, h};
        one_begin("attention");
        one_input(d, DIMS(2, layout ? s : a[0], layout ? a[0] : s, 20));
        one_input(d, DIMS(2, layout ? t : a[0], layout ? a[0] : t, 20));
        one_input(d, DIMS(2, layout ? t : a[0], layout ? a[0] : t, 37));
        if (!causal) one_input(d, DIMS(2, 1, s, t));
        one_output(d, DIMS(2, layout ? s : a[0], layout ? a[0] : s, 37));
        one_number("scale", 0.2f);
        one_int("causal", causal);
        one_int("layout", layout);
        one_check(near(d));
      }
    }
  }
  one_begin("attention");
  one_input(F32, DIMS(4, 16));
  one_input(F32, DIMS(6, 16));
  one_input(F32, DIMS(6, 150));
  struct one_tensor *mask = one_input(F32, DIMS(4, 6));
  for (int i = 0; i < 9; i++)
    ((float *)mask->data)[i] = -INFINITY;  // one row, and half of the next
  one_output(F32, DIMS(4, 150));
  one_number("scale", 0.25f);
  one_check(2e-5);
  one_begin("attention");
  one_input(F32, DIMS(2, 2, 3, 2, 8));
  one_input(F32, DIMS(2, 2, 3, 5, 8));
  one_input(F32, DIMS(2, 2, 3, 5, 8));
  one_input(F32, DIMS(2, 1, 3, 1, 5));
  one_output(F32, DIMS(2, 2, 3, 2, 8));
  one_number("scale", 0.25f);
  one_check(2e-5);
}

// ---- resizing and gathering ----

SMR_TEST(resize) {
  for (int64_t mode = 0; mode < 3; mode++) {
    for (int64_t coordinate = 0; coordinate < 6; coordinate++) {
      for (int i = 0; i < 3; i++) {
        const samara_dtype d = i == 0 ? F32 : i == 1 ? F16 : Q8;
        if (mode != 0 && d == Q8) continue;
        one_begin("resize");
        struct one_tensor *x = one_input(d, DIMS(2, 4, 5, 3));
        if (d == Q8) one_quantized(x, 0.05f, 3);
        struct one_tensor *y = one_output(d, DIMS(2, 7, 3, 3));
        if (d == Q8) {
          y->scale = 0.05f;
          y->zero_point = 3;
        }
        one_ints("sizes", LIST(7, 3));
        one_ints("scales", LIST(0, 0));
        one_int("mode", mode);
        one_int("coordinate", coordinate);
        one_int("nearest", coordinate % 4);
        one_int("exclude_outside", coordinate == 1 && mode != 0);
        one_check(near(d));
      }
    }
  }
  one_begin("resize");
  one_input(F32, DIMS(1, 3, 4, 5, 2));
  one_output(F32, DIMS(1, 5, 3, 7, 2));
  one_ints("sizes", LIST(5, 3, 7));
  one_ints("scales", LIST(0, 0, 0));
  one_int("mode", 1);
  one_check(2e-5);
}

SMR_TEST(cumsum) {
  static const samara_dtype types[] = {F32, F16, SAMARA_INT32, SAMARA_INT64, SAMARA_UINT32};
  for (int i = 0; i < 5; i++) {
    for (int64_t axis = 0; axis < 3; axis++) {
      for (int way = 0; way < 4; way++) {
        one_begin("cumsum");
        one_input(types[i], DIMS(3, 50, 7));
        one_output(types[i], DIMS(3, 50, 7));
        one_int("axis", axis - 3);
        one_int("exclusive", way & 1);
        one_int("reverse", way >> 1);
        one_check(types[i] == F16 ? 1e-3 : 1e-6);
      }
    }
  }
  // Sums in float32 would be off by 1e-3 of these.
  one_begin("cumsum");
  one_fill(one_input(F32, DIMS(100000)), 0.0f, 1.0f);
  one_output(F32, DIMS(100000));
  one_int("axis", 0);
  one_check(2e-7);
  one_begin("cumsum");
  struct one_tensor *x = one_input(SAMARA_INT32, DIMS(3));
  memcpy(x->data, ((int32_t[]){INT32_MAX, 2, INT32_MIN}), 12);
  one_output(SAMARA_INT32, DIMS(3));
  one_int("axis", 0);
  one_check(0);
}

// NaN stays NaN; infinite sums stay infinite.
SMR_TEST(cumsum_odd) {
  static const float odd[] = {1.0f, INFINITY, 2.0f, -INFINITY, 3.0f, NAN, 1.0f};
  const struct smr_cl_features features = {.cpu = true};
  const samara_allocator allocator = {one_allocate, one_release, NULL};
  struct smr_cl_launches list = {.allocator = &allocator};
  struct smr_cl_node node;
  one_begin("cumsum");
  memcpy(one_input(F32, DIMS(7))->data, odd, sizeof odd);
  one_output(F32, DIMS(7));
  one_int("axis", 0);
  one_build(&node, &features);
  smr_cl_row("cumsum")->lower(&node, &list);
  smr_reference_launch(&list.launches[0]);
  const float *y = (const float *)built.tensors[1].memory;
  CHECK(y[0] == 1.0f && y[1] == INFINITY && y[2] == INFINITY);
  CHECK(isnan(y[3]) && isnan(y[4]) && isnan(y[6]));
  smr_cl_launches_free(&list);
  one_unbuild();
  one_free();
}

SMR_TEST(driver) {
  const struct smr_cl_driver *d = &smr_reference_driver;
  samara_probe probe = {.struct_size = sizeof probe};
  samara_device_info info = {.struct_size = sizeof info};
  struct smr_cl_features features;
  samara_error error;
  void *device, *program, *x, *y, *prepared = NULL;
  bool kernels[SMR_CL_KERNELS + 1] = {false}, done = false;
  const float values[3] = {-1.5f, 0.25f, 3.0f};
  float got[3];
  uint64_t ticket;
  REQUIRE(d->open(&probe, &device, &info, &features, &error) == SAMARA_OK);
  kernels[SMR_CL_unary_relu_f32] = true;
  CHECK_EQ_INT(d->allocate(device, 12, values, &x, &error), SAMARA_OK);
  CHECK_EQ_INT(d->allocate(device, 16, NULL, &y, &error), SAMARA_OK);
  CHECK_EQ_INT(d->build(device, kernels, NULL, &program, &error), SAMARA_OK);
  struct smr_cl_launch launch = {.kernel = SMR_CL_unary_relu_f32, .dims = 1, .items = {2}};
  launch.buffers[0].memory = x;
  launch.buffers[5] = (struct smr_cl_place){y, 4};
  launch.ints[0] = 3;
  launch.ints[1] = 2;
  CHECK_EQ_INT(d->prepare(device, program, &launch, &prepared, &error), SAMARA_OK);
  CHECK_EQ_INT(d->run(device, &prepared, &launch, 1, &ticket, &error), SAMARA_OK);
  const samara_copy copy = {.memory = y, .offset_bytes = 4, .host = got, .size_bytes = 12};
  CHECK_EQ_INT(d->copy(device, &copy, &ticket, &error), SAMARA_OK);
  CHECK_EQ_INT(d->wait(device, ticket, 0, &done, &error), SAMARA_OK);
  CHECK(done);
  CHECK_MEM(got, ((float[]){0.0f, 0.25f, 3.0f}), 12);
  launch.kernel = SMR_CL_unary_exp_f32;  // not built
  CHECK_EQ_INT(d->prepare(device, program, &launch, &prepared, &error), SAMARA_BAD_STATE);
  probe.index = 1;
  void *second;
  CHECK_EQ_INT(d->open(&probe, &second, &info, &features, &error), SAMARA_NOT_FOUND);
  d->release_prepared(device, prepared);
  d->release_program(device, program);
  d->release(device, x);
  d->release(device, y);
  d->close(device);
}

// Every kernel has a name and a text.
SMR_TEST(texts) {
  static char text[1 << 14];
  for (int i = 0; i < SMR_CL_KERNELS; i++) {
    CHECK(smr_cl_texts[i].text != NULL);
    CHECK(smr_cl_texts[i].name[0] != '\0');
    const size_t length = smr_cl_unpack(smr_cl_texts[i].text, NULL);
    CHECK(length < sizeof text);
    if (length >= sizeof text) continue;
    CHECK_EQ_INT(smr_cl_unpack(smr_cl_texts[i].text, text), length);
    text[length] = '\0';
    CHECK_CONTAINS(text, "KERNEL(NAME)");
  }
  CHECK(smr_cl_row("conv") != NULL);
  CHECK(smr_cl_row("no_such_operator") == NULL);
}

SMR_TEST_MAIN(RUN(driver); RUN(texts); RUN(lrn); RUN(sum_to); RUN(bools); RUN(cumsum);
              RUN(cumsum_odd); RUN(pools); RUN(reductions); RUN(long_sums); RUN(softmax);
              RUN(lanes); RUN(lanes_and_not_a_number); RUN(norms); RUN(attention); RUN(resize))
