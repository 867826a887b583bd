// SPDX-License-Identifier: Apache-2.0
// Launches of every operator that the OpenCL backend computes, against the CPU.
#include "base/fp.h"

#include "backends/one_node.h"
#include "harness.h"

enum { PLAIN, PACKED };

// ---- convolutions ----

struct conv_case {
  int64_t n, h, w, c, o, kh, kw, stride, dilation, pad, groups;
};

static void conv(const char *op, struct conv_case t, samara_dtype x, samara_dtype w, int packed,
                 int more, int64_t post) {
  const bool transposed = strcmp(op, "conv_transpose") == 0;
  const int64_t eh = (t.kh - 1) * t.dilation + 1, ew = (t.kw - 1) * t.dilation + 1;
  const int64_t oh =
      transposed ? (t.h - 1) * t.stride + eh - 2 * t.pad : (t.h + 2 * t.pad - eh) / t.stride + 1;
  const int64_t ow =
      transposed ? (t.w - 1) * t.stride + ew - 2 * t.pad : (t.w + 2 * t.pad - ew) / t.stride + 1;
  one_begin(op);
  one_input(x, DIMS(t.n, t.h, t.w, t.c));
  struct one_tensor *weights = one_input(w, DIMS(t.o, t.kh, t.kw, t.c / t.groups));
  float scales[128];
  int32_t zeros[128];
  if (w == SAMARA_QINT8) one_per_channel(weights, 0, scales, zeros);
  if (packed) one_pack(weights, (uint32_t)t.groups, false);
  if (more & 1)
    one_input(x, DIMS(t.o));
  else if (more & 2)
    one_absent();
  if (more & 2) one_input(x, DIMS(t.n, oh, ow, t.o));
  one_output(x, DIMS(t.n, oh, ow, t.o));
  one_ints("strides", LIST(t.stride, t.stride));
  one_ints("dilations", LIST(t.dilation, t.dilation));
  one_ints("pads", LIST(t.pad, t.pad, t.pad, t.pad));
  if (transposed) one_ints("output_padding", LIST(0, 0));
  one_int("groups", t.groups);
  if (post < 0) {
    one_number("lo", 0.0f);
    one_number("hi", 6.0f);
  } else {
    one_int("post", post);
    one_number("post_alpha", 0.25f);
    one_number("post_beta", 0.5f);
  }
  one_check(x == F16 ? 2e-3 : 1e-4);
}

SMR_TEST(conv_shapes) {
  static const struct conv_case cases[] = {
      {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1},    {1, 5, 7, 3, 17, 1, 1, 1, 1, 0, 1},
      {2, 6, 5, 16, 33, 1, 1, 1, 1, 0, 1},  {1, 5, 5, 16, 8, 1, 1, 2, 1, 0, 1},
      {1, 8, 9, 3, 16, 3, 3, 2, 1, 1, 1},   {1, 7, 7, 8, 15, 3, 3, 1, 1, 1, 1},
      {2, 9, 8, 5, 40, 3, 2, 1, 2, 2, 1},   {1, 6, 6, 8, 12, 3, 3, 1, 1, 1, 4},
      {1, 6, 6, 6, 9, 1, 1, 1, 1, 0, 3},    {1, 7, 8, 33, 33, 3, 3, 2, 1, 1, 33},
      {1, 9, 9, 16, 16, 5, 5, 1, 1, 2, 16}, {2, 6, 6, 4, 8, 3, 3, 1, 1, 1, 4},
      {1, 5, 5, 3, 4, 3, 3, 1, 1, 4, 1},    {1, 9, 9, 24, 24, 3, 3, 1, 2, 0, 24},
      {1, 4, 24, 5, 50, 3, 3, 1, 1, 1, 1},  {1, 4, 37, 3, 33, 2, 3, 2, 1, 1, 1},
      {1, 2, 19, 4, 17, 1, 3, 1, 2, 2, 1},  {1, 3, 20, 6, 70, 2, 2, 1, 1, 0, 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int packed = PLAIN; packed <= PACKED; packed++) {
      conv("conv", cases[i], F32, F32, packed, 1, 0);
      conv("conv", cases[i], F32, F16, packed, 2, -1);
      if (packed && (cases[i].groups == 1 || cases[i].groups != cases[i].c))
        conv("conv", cases[i], F32, SAMARA_QINT8, packed, 3, -1);
      conv("conv", cases[i], F16, F16, packed, 3, -1);
    }
  }
  CHECK(one_from_images > 0);
}

SMR_TEST(conv_posts) {
  for (int64_t post = 0; post < 10; post++) {
    conv("conv", (struct conv_case){1, 3, 4, 5, 18, 2, 2, 1, 1, 0, 1}, F32, F32, PACKED, 3, post);
    conv("conv", (struct conv_case){1, 3, 4, 8, 8, 3, 3, 1, 1, 1, 8}, F32, F32, PACKED, 3, post);
  }
}

SMR_TEST(conv_transpose) {
  static const struct conv_case cases[] = {
      {1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1},  {1, 5, 4, 3, 8, 3, 3, 1, 1, 0, 1},
      {2, 5, 4, 3, 17, 2, 2, 2, 1, 0, 1}, {1, 5, 4, 8, 8, 4, 4, 2, 1, 1, 1},
      {1, 4, 5, 6, 9, 3, 2, 2, 2, 0, 3},  {1, 4, 5, 8, 8, 3, 3, 2, 1, 1, 8},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    conv("conv_transpose", cases[i], F32, F32, PLAIN, 1, 0);
    conv("conv_transpose", cases[i], F32, F16, PLAIN, 0, 0);
    conv("conv_transpose", cases[i], F16, F16, PLAIN, 3, -1);
  }
}

SMR_TEST(conv_axes) {
  for (int packed = PLAIN; packed <= PACKED; packed++) {
    one_begin("conv");
    one_input(F32, DIMS(2, 17, 3));
    struct one_tensor *w = one_input(F32, DIMS(8, 5, 3));
    if (packed) one_pack(w, 1, false);
    one_output(F32, DIMS(2, 10, 8));
    one_ints("strides", LIST(2));
    one_ints("dilations", LIST(1));
    one_ints("pads", LIST(3, 4));
    one_check(1e-4);
    one_begin("conv");
    one_input(F32, DIMS(1, 4, 5, 6, 2));
    w = one_input(F32, DIMS(5, 3, 2, 3, 2));
    if (packed) one_pack(w, 1, false);
    one_output(F32, DIMS(1, 4, 5, 6, 5));
    one_ints("strides", LIST(1, 1, 1));
    one_ints("dilations", LIST(1, 1, 1));
    one_ints("pads", LIST(1, 0, 1, 1, 1, 1));
    one_check(1e-4);
  }
}

// Enough outputs for tiles of 4 x 4 on a device of one unit, with cut tiles at the ends.
SMR_TEST(conv_large) {
  static const samara_dtype types[][2] = {{F32, F32}, {F32, F16}, {F16, F16}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    const struct conv_case window = {.n = 1,
                                     .h = 43,
                                     .w = 39,
                                     .c = 6,
                                     .o = 38,
                                     .kh = 3,
                                     .kw = 3,
                                     .stride = 1,
                                     .dilation = 1,
                                     .pad = 1,
                                     .groups = 2};
    struct conv_case point = window;
    point.kh = point.kw = point.groups = 1;
    point.pad = 0;
    conv("conv", window, types[i][0], types[i][1], PACKED, 3, 0);
    conv("conv", point, types[i][0], types[i][1], PACKED, 3, 1);
  }
  // Weights of more than 512 KB: items iterate over pixels before columns.
  conv("conv", (struct conv_case){1, 2, 9, 128, 120, 3, 3, 1, 1, 1, 1}, F32, F32, PACKED, 3, 0);
}

// ---- products ----

static void matmul(int32_t rank_x, const int64_t *x, int32_t rank_w, const int64_t *w,
                   int32_t rank_y, const int64_t *y, int turned, samara_dtype dx, samara_dtype dw,
                   int packed, int more) {
  one_begin("matmul");
  one_input(dx, rank_x, x);
  struct one_tensor *weights = one_input(dw, rank_w, w);
  float scales[128];
  int32_t zeros[128];
  if (dw == SAMARA_QINT8) one_per_channel(weights, turned & 2 ? 0 : 1, scales, zeros);
  if (packed) one_pack(weights, 1, (turned & 2) == 0);
  const int64_t n = y[rank_y - 1];
  if (more & 1)
    one_input(dx, DIMS(n));
  else if (more & 2)
    one_absent();
  if (more & 2) one_input(dx, rank_y, y);
  one_output(dx, rank_y, y);
  one_int("transpose_x", turned & 1);
  one_int("transpose_w", turned >> 1);
  if (more & 1) one_number("lo", -1.0f);
  if (more & 2) one_int("post", 5);
  one_check(dx == F16 ? 2e-3 : 1e-4);
}

SMR_TEST(matmul_flat) {
  one_from_images = 0;
  static const int64_t sizes[][3] = {{1, 1, 1},    {1, 7, 33},  {2, 3, 16},
                                     {7, 16, 15},  {8, 33, 17}, {31, 9, 32},
                                     {3, 64, 100}, {0, 3, 4},   {3, 0, 4}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int64_t m = sizes[i][0], k = sizes[i][1], n = sizes[i][2];
    for (int turned = 0; turned < 4; turned++) {
      const int64_t *x = turned & 1 ? (int64_t[]){k, m} : (int64_t[]){m, k};
      const int64_t *w = turned & 2 ? (int64_t[]){n, k} : (int64_t[]){k, n};
      for (int packed = PLAIN; packed <= PACKED; packed++) {
        matmul(2, x, 2, w, DIMS(m, n), turned, F32, F32, packed, (int)i % 4);
        matmul(2, x, 2, w, DIMS(m, n), turned, F32, F16, packed, (int)i % 3);
        matmul(2, x, 2, w, DIMS(m, n), turned, F16, F16, packed, (int)i % 2);
        if (packed) matmul(2, x, 2, w, DIMS(m, n), turned, F32, SAMARA_QINT8, packed, (int)i % 4);
      }
    }
  }
  CHECK(one_from_images > 0);
}

SMR_TEST(matmul_batches) {
  matmul(DIMS(2, 3, 9), DIMS(9, 17), DIMS(2, 3, 17), 0, F32, F32, PACKED, 3);
  matmul(DIMS(2, 3, 9), DIMS(2, 9, 5), DIMS(2, 3, 5), 0, F32, F32, PLAIN, 3);
  matmul(DIMS(2, 1, 3, 9), DIMS(4, 9, 5), DIMS(2, 4, 3, 5), 0, F32, F32, PLAIN, 3);
  matmul(DIMS(4, 9), DIMS(2, 9, 5), DIMS(2, 4, 5), 0, F32, F32, PLAIN, 0);
  matmul(DIMS(2, 9, 4), DIMS(2, 17, 9), DIMS(2, 4, 17), 3, F32, F32, PLAIN, 1);
  matmul(DIMS(2, 9, 4), DIMS(9, 17), DIMS(2, 4, 17), 1, F32, F32, PACKED, 1);
  matmul(DIMS(11, 512), DIMS(512, 273), DIMS(11, 273), 0, F32, F32, PACKED, 3);
  matmul(DIMS(2, 3, 1, 5, 4), DIMS(3, 6, 17, 4), DIMS(2, 3, 6, 5, 17), 2, F16, F16, PLAIN, 1);
}

// ---- pointwise ----

SMR_TEST(unary) {
  static const char *const any[] = {"neg",     "abs",          "sign",       "ceil",  "floor",
                                    "round",   "exp",          "sin",        "cos",   "atan",
                                    "sinh",    "cosh",         "tanh",       "asinh", "erf",
                                    "sigmoid", "relu",         "leaky_relu", "elu",   "softplus",
                                    "gelu",    "hard_sigmoid", "hard_swish", "silu",  "clamp"};
  static const char *const positive[] = {"log", "sqrt", "rsqrt", "reciprocal"};
  static const char *const unit[] = {"tan", "asin", "acos", "atanh"};
  for (int type = 0; type < 2; type++) {
    const samara_dtype d = type ? F16 : F32;
    for (size_t i = 0; i < sizeof any / sizeof *any; i++) {
      one_begin(any[i]);
      one_input(d, DIMS(3, 37));
      one_output(d, DIMS(3, 37));
      one_check(type ? 2e-3 : 1e-5);
    }
    for (size_t i = 0; i < 4; i++) {
      one_begin(positive[i]);
      one_fill(one_input(d, DIMS(5)), 0.1f, 9.0f);
      one_output(d, DIMS(5));
      one_check(type ? 2e-3 : 1e-5);
      one_begin(unit[i]);
      one_fill(one_input(d, DIMS(400)), -0.95f, 0.95f);
      one_output(d, DIMS(400));
      one_check(type ? 2e-3 : 1e-5);
    }
  }
  one_begin("acosh");
  one_fill(one_input(F32, DIMS(20)), 1.0f, 9.0f);
  one_output(F32, DIMS(20));
  one_check(1e-5);
  one_begin("gelu");
  one_input(F32, DIMS(20));
  one_output(F32, DIMS(20));
  one_int("approximate", 1);
  one_check(1e-5);
  one_begin("clamp");
  one_input(F32, DIMS(20));
  one_output(F32, DIMS(20));
  one_number("lo", -0.5f);
  one_number("hi", 1.0f);
  one_check(1e-6);
}

static void binary(const char *op, samara_dtype d, samara_dtype y, float low, double tolerance) {
  for (int i = 0; i < 6; i++) {
    one_begin(op);
    struct one_tensor *a, *b;
    switch (i) {
      case 0:
        a = one_input(d, 0, NULL), b = one_input(d, 0, NULL), one_output(y, 0, NULL);
        break;
      case 1:
        a = one_input(d, DIMS(70)), b = one_input(d, DIMS(70)), one_output(y, DIMS(70));
        break;
      case 2:
        a = one_input(d, DIMS(3, 1, 5)), b = one_input(d, DIMS(4, 5)), one_output(y, DIMS(3, 4, 5));
        break;
      case 3:
        a = one_input(d, DIMS(2, 8, 1)), b = one_input(d, DIMS(2, 1, 31)),
        one_output(y, DIMS(2, 8, 31));
        break;
      case 4:
        a = one_input(d, DIMS(2, 1, 3, 1, 2, 5)), b = one_input(d, DIMS(4, 1, 6, 1, 5)),
        one_output(y, DIMS(2, 4, 3, 6, 2, 5));
        break;
      default:
        a = one_input(d, DIMS(0, 4)), b = one_input(d, DIMS(4)), one_output(y, DIMS(0, 4));
        break;
    }
    if (low > 0) {
      one_fill(a, low, 4.0f);
      one_fill(b, low, 3.0f);
    }
    one_check(tolerance);
  }
}

SMR_TEST(binary) {
  static const char *const names[] = {"add", "sub", "mul", "min", "max"};
  for (size_t i = 0; i < 5; i++) {
    binary(names[i], F32, F32, 0, 1e-6);
    binary(names[i], F16, F16, 0, 1e-3);
    binary(names[i], SAMARA_INT32, SAMARA_INT32, 0, 0);
    binary(names[i], SAMARA_INT64, SAMARA_INT64, 0, 0);
  }
  binary("div", F32, F32, 0.5f, 1e-6);
  binary("pow", F32, F32, 0.5f, 1e-5);
  binary("pow", F16, F16, 0.5f, 2e-3);
  binary("atan2", F32, F32, 0, 1e-5);
  static const char *const comparisons[] = {"eq", "lt", "le"};
  static const samara_dtype types[] = {F32, F16, SAMARA_INT32, SAMARA_INT64, SAMARA_UINT8};
  for (size_t i = 0; i < 3; i++)
    for (size_t k = 0; k < 5; k++) binary(comparisons[i], types[k], SAMARA_BOOL, 0, 0);
  binary("eq", SAMARA_BOOL, SAMARA_BOOL, 0, 0);
  binary("logical_and", SAMARA_BOOL, SAMARA_BOOL, 0, 0);
  binary("logical_or", SAMARA_BOOL, SAMARA_BOOL, 0, 0);
  binary("logical_xor", SAMARA_BOOL, SAMARA_BOOL, 0, 0);
  one_begin("prelu");
  one_input(F32, DIMS(2, 3, 17));
  one_input(F32, DIMS(17));
  one_output(F32, DIMS(2, 3, 17));
  one_check(1e-6);
  one_begin("add");
  one_input(SAMARA_UINT8, DIMS(3));
  one_input(SAMARA_UINT8, DIMS(3));
  one_output(SAMARA_UINT8, DIMS(3));
  one_refused("element type");
}

SMR_TEST(where) {
  static const samara_dtype types[] = {F32, F16, SAMARA_INT8, SAMARA_INT64};
  for (size_t i = 0; i < 4; i++) {
    one_begin("where");
    one_input(SAMARA_BOOL, DIMS(3, 1, 5));
    one_input(types[i], DIMS(4, 1));
    one_input(types[i], DIMS(2, 1, 1, 5));
    one_output(types[i], DIMS(2, 3, 4, 5));
    one_check(0);
  }
}

SMR_TEST(cast) {
  static const samara_dtype types[] = {F32,         F16,          SAMARA_INT32, SAMARA_INT64,
                                       SAMARA_INT8, SAMARA_UINT8, SAMARA_BOOL};
  for (size_t i = 0; i < 7; i++) {
    for (size_t k = 0; k < 7; k++) {
      if (i == k || (i == 6 && k == 5)) continue;
      one_begin("cast");
      struct one_tensor *x = one_input(types[i], DIMS(3, 50));
      if (i < 4) one_fill(x, -400.0f, 400.0f);
      if (i < 1) {
        static const float edges[] = {NAN,   INFINITY, -INFINITY, 3e9f, -3e9f,   1e19f,
                                      -0.5f, 255.9f,   -129.0f,   0.0f, 70000.0f};
        memcpy(x->data, edges, sizeof edges);
      }
      one_output(types[k], DIMS(3, 50));
      one_int("to", types[k]);
      one_check(0);
    }
  }
}

// ---- movement ----

static void move_begin(const char *op, samara_dtype d, int32_t rank, const int64_t *shape) {
  one_begin(op);
  struct one_tensor *x = one_input(d, rank, shape);
  x->zero_point = 3;
}

static void move_end(samara_dtype d, int32_t rank, const int64_t *shape) {
  one_output(d, rank, shape)->zero_point = 3;
}

SMR_TEST(movement) {
  static const samara_dtype types[] = {F32, F16, SAMARA_INT64, SAMARA_QINT8, SAMARA_BOOL};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    const samara_dtype d = types[i];
    move_begin("identity", d, DIMS(3, 7));
    move_end(d, DIMS(3, 7));
    one_check(0);
    move_begin("reshape", d, DIMS(3, 8));
    one_ints("shape", LIST(4, 6));
    move_end(d, DIMS(4, 6));
    one_check(0);
    move_begin("transpose", d, DIMS(2, 3, 5, 7));
    one_ints("perm", LIST(0, 3, 1, 2));
    move_end(d, DIMS(2, 7, 3, 5));
    one_check(0);
    move_begin("transpose", d, DIMS(2, 3, 2, 3, 2, 3));
    one_ints("perm", LIST(5, 3, 1, 4, 2, 0));
    move_end(d, DIMS(3, 3, 3, 2, 2, 2));
    one_check(0);
    move_begin("concat", d, DIMS(2, 3, 5));
    one_input(d, DIMS(2, 1, 5))->zero_point = 3;
    one_input(d, DIMS(2, 4, 5))->zero_point = 3;
    one_int("axis", 1);
    move_end(d, DIMS(2, 8, 5));
    one_check(0);
    move_begin("split", d, DIMS(2, 8, 5));
    one_int("axis", -2);
    one_ints("sizes", LIST(1, 7));
    move_end(d, DIMS(2, 1, 5));
    move_end(d, DIMS(2, 7, 5));
    one_check(0);
    move_begin("slice", d, DIMS(4, 9, 5));
    one_ints("begin", LIST(3, 1, 0));
    one_ints("end", LIST(-1, 8, 5));
    one_ints("step", LIST(-2, 3, 1));
    move_end(d, DIMS(2, 3, 5));
    one_check(0);
    move_begin("expand", d, DIMS(3, 1, 5));
    one_ints("shape", LIST(2, 3, 4, 5));
    move_end(d, DIMS(2, 3, 4, 5));
    one_check(0);
    move_begin("tile", d, DIMS(2, 1, 3));
    one_ints("repeats", LIST(3, 2, 4));
    move_end(d, DIMS(6, 2, 12));
    one_check(0);
    for (int64_t mode = 0; mode < 4; mode++) {
      move_begin("pad", d, DIMS(3, 4, 5));
      one_ints("pads", LIST(1, 0, 2, 2, 3, 1));
      one_int("mode", mode);
      move_end(d, DIMS(6, 7, 8));
      one_check(0);
    }
    move_begin("pad", d, DIMS(5, 4));
    one_ints("pads", LIST(-1, 2, 3, -1));
    move_end(d, DIMS(7, 5));
    one_check(0);
    move_begin("pad", d, DIMS(4));
    one_input(d, 0, NULL)->zero_point = 3;
    one_ints("pads", LIST(2, 3));
    move_end(d, DIMS(9));
    one_check(0);
  }
}

// Some drivers keep the locals of all items of a work-group on one stack, which would overflow.
SMR_TEST(groups_of_many_large_tiles_are_small) {
  static const struct {
    uint8_t rows, columns;
    int64_t down, across;
    int group;
  } cases[] = {{8, 32, 1541, 2, 1}, {8, 32, 1540, 2, 4},  {8, 16, 4096, 1, 64},
               {8, 32, 1024, 2, 0}, {4, 4, 100000, 2, 0}, {1, 16, 100000, 2, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct smr_cl_launch launch = {0};
    const struct smr_cl_tile tile = {0, cases[i].rows, cases[i].columns, false};
    smr_cl_set_tiles(&launch, &tile, cases[i].down * cases[i].rows,
                     cases[i].across * cases[i].columns, 1);
    CHECK_EQ_INT(launch.items[0], cases[i].down);
    CHECK_EQ_INT(launch.items[1], cases[i].across);
    CHECK_EQ_INT(launch.group, cases[i].group);
  }
}

SMR_TEST_MAIN(RUN(groups_of_many_large_tiles_are_small); RUN(conv_shapes); RUN(conv_posts);
              RUN(conv_transpose); RUN(conv_axes); RUN(conv_large); RUN(matmul_flat);
              RUN(matmul_batches); RUN(unary); RUN(binary); RUN(where); RUN(cast); RUN(movement))
