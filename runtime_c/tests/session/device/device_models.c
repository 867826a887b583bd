// SPDX-License-Identifier: Apache-2.0
// The models of device_rig.h.
#include "base/fp.h"

#include <stdlib.h>

#include "ops/table/opattrs.h"
#include "session/device/device_rig.h"

static const float weights[] = {0.5f, -1, 2, 0.25f, 1, -0.5f};

// A node of the operator with this code.
static uint32_t add_node(struct literal_function *f, uint16_t code, const char *name,
                         const int64_t *inputs, uint32_t output) {
  return literal_node(f, smr_op_find(code), name, inputs, LITERAL_LIST(output));
}

static uint32_t unary(struct literal_function *f, uint16_t code, const char *name, uint32_t x,
                      uint32_t dim) {
  const uint32_t y = literal_value(f, name, f->values[x].dtype, 1, dim);
  add_node(f, code, name, LITERAL_LIST(x), y);
  return y;
}

static uint32_t binary(struct literal_function *f, uint16_t code, const char *name, uint32_t a,
                       uint32_t b, uint32_t dim) {
  const uint32_t y = literal_value(f, name, f->values[a].dtype, 1, dim);
  add_node(f, code, name, LITERAL_LIST(a, b), y);
  return y;
}

static uint32_t input(struct literal_function *f, const char *name, uint8_t dtype, uint32_t dim) {
  const uint32_t x = literal_input(f, literal_value(f, name, dtype, 1, dim));
  return x;
}

// x [6] -> +w -> relu (device) -> neg (host) -> *w -> sigmoid (device 1) -> + -> reshape -> tanh
static struct literal *chain(void) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t six = literal_int(f, 6), two = literal_int(f, 2), three = literal_int(f, 3);
  const uint32_t x = input(f, "x", SAMARA_FLOAT32, six);
  const uint32_t w = literal_constant(l, f, "w", SAMARA_FLOAT32, weights, 1, 6);
  const uint32_t a = binary(f, SMR_CODE_ADD, "one_add", x, w, six);
  const uint32_t b = unary(f, SMR_CODE_RELU, "one_relu", a, six);
  const uint32_t c = unary(f, SMR_CODE_NEG, "host_neg", b, six);
  const uint32_t d = binary(f, SMR_CODE_MUL, "one_mul", c, w, six);
  const uint32_t e = unary(f, SMR_CODE_SIGMOID, "two_sigmoid", d, six);
  const uint32_t g = binary(f, SMR_CODE_ADD, "two_add", e, b, six);
  const uint32_t h = binary(f, SMR_CODE_SUB, "sub", g, b, six);
  const uint32_t r = literal_value(f, "reshaped", SAMARA_FLOAT32, 2, two, three);
  const uint32_t node = add_node(f, SMR_CODE_RESHAPE, "reshape", LITERAL_LIST(h), r);
  literal_attr_dims(f, node, "shape", 2, two, three);
  const uint32_t y = literal_value(f, "y", SAMARA_FLOAT32, 2, two, three);
  add_node(f, SMR_CODE_TANH, "tanh", LITERAL_LIST(r), y);
  const uint32_t z = binary(f, SMR_CODE_MUL, "last", h, a, six);
  literal_output(f, y, "y");
  literal_output(f, b, "relu");
  literal_output(f, z, "z");
  return l;
}

static struct literal *symbolic(int64_t most) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_symbol(f, "n", 0, 0, most);
  const uint32_t x = input(f, "x", SAMARA_FLOAT32, n);
  const uint32_t a = unary(f, SMR_CODE_RELU, "relu", x, n);
  const uint32_t b = unary(f, SMR_CODE_SIGMOID, "sigmoid", a, n);
  const uint32_t c = binary(f, SMR_CODE_ADD, "add", b, x, n);
  const uint32_t d = unary(f, SMR_CODE_NEG, "host_neg", c, n);
  literal_output(f, binary(f, SMR_CODE_MUL, "mul", d, a, n), "y");
  return l;
}

static void branch(struct literal *l, const char *name, uint16_t first, uint16_t second) {
  struct literal_function *f = literal_add(l, name, false);
  const uint32_t four = literal_int(f, 4);
  const uint32_t x = input(f, "x", SAMARA_FLOAT32, four);
  const uint32_t a = unary(f, first, "first", x, four);
  const uint32_t b = unary(f, second, "second", a, four);
  literal_output(f, binary(f, SMR_CODE_ADD, "host_sum", a, b, four), "y");
}

static struct literal *choice(void) {
  struct literal *l = literal_new();
  branch(l, "then", SMR_CODE_NEG, SMR_CODE_SIGMOID);
  branch(l, "else", SMR_CODE_TANH, SMR_CODE_RELU);
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t four = literal_int(f, 4);
  const uint32_t c = literal_input(f, literal_value(f, "c", SAMARA_BOOL, 0));
  const uint32_t x = input(f, "x", SAMARA_FLOAT32, four);
  const uint32_t a = unary(f, SMR_CODE_ABS, "before", x, four);
  const uint32_t y = literal_vector(f, "y", four);
  const uint32_t node = add_node(f, SMR_CODE_IF, "choose", LITERAL_LIST(c, a), y);
  literal_attr(f, node, "then", (struct smr_attr){.i = 0});
  literal_attr(f, node, "orelse", (struct smr_attr){.i = 1});
  literal_output(f, binary(f, SMR_CODE_ADD, "after", y, a, four), "z");
  return l;
}

// body(i, c, x [4], k [4]) -> (sum(x + k) < 100, x + k, (stacked) x * k)
static struct literal *loop(void) {
  static const float hundred = 100;
  static const int64_t axes[] = {0};
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "body", false);
  uint32_t four = literal_int(f, 4);
  literal_input(f, literal_value(f, "i", SAMARA_INT64, 0));
  literal_input(f, literal_value(f, "c", SAMARA_BOOL, 0));
  uint32_t x = input(f, "x", SAMARA_FLOAT32, four), k = input(f, "k", SAMARA_FLOAT32, four);
  const uint32_t sum = binary(f, SMR_CODE_ADD, "step", x, k, four);
  const uint32_t product = binary(f, SMR_CODE_MUL, "product", x, k, four);
  const uint32_t s = literal_value(f, "s", SAMARA_FLOAT32, 0);
  const uint32_t go = literal_value(f, "go", SAMARA_BOOL, 0);
  const uint32_t most = literal_constant(l, f, "most", SAMARA_FLOAT32, &hundred, 0);
  uint32_t node = add_node(f, SMR_CODE_REDUCE_SUM, "sum", LITERAL_LIST(sum), s);
  literal_attr(f, node, "axes", (struct smr_attr){.ints = axes, .count = 1});
  add_node(f, SMR_CODE_LT, "less", LITERAL_LIST(s, most), go);
  literal_output(f, go, "go");
  literal_output(f, sum, "y");
  literal_output(f, product, "p");
  f = literal_add(l, "main", true);
  four = literal_int(f, 4);
  const uint32_t t = literal_value(f, "t", SAMARA_INT64, 0);
  literal_input(f, t);
  x = input(f, "x", SAMARA_FLOAT32, four);
  k = input(f, "k", SAMARA_FLOAT32, four);
  const uint32_t start = unary(f, SMR_CODE_NEG, "start", x, four);
  const uint32_t born = literal_expr(f, SMR_EXPR_BORN, 1, 1, 0, (int64_t)literal_int(f, 6));
  const uint32_t last = literal_vector(f, "last", four);
  const uint32_t all = literal_value(f, "all", SAMARA_FLOAT32, 2, born, four);
  node = literal_node(f, smr_op_find(SMR_CODE_LOOP), "loop", LITERAL_LIST(t, -1, start, k),
                      LITERAL_LIST(last, all));
  literal_attr(f, node, "body", (struct smr_attr){.i = 0});
  literal_attr(f, node, "carried", (struct smr_attr){.i = 1});
  const uint32_t out = literal_value(f, "out", SAMARA_FLOAT32, 2, born, four);
  add_node(f, SMR_CODE_NEG, "negated", LITERAL_LIST(all), out);
  literal_output(f, unary(f, SMR_CODE_RELU, "relu", last, four), "last");
  literal_output(f, out, "all");
  return l;
}

static struct literal *call(void) {
  struct literal *l = literal_new();
  branch(l, "twice", SMR_CODE_NEG, SMR_CODE_SIGMOID);
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t four = literal_int(f, 4);
  uint32_t x = input(f, "x", SAMARA_FLOAT32, four);
  for (int i = 0; i < 2; i++) {
    x = unary(f, SMR_CODE_ABS, "before", x, four);
    const uint32_t y = literal_vector(f, "called", four);
    const uint32_t node = add_node(f, SMR_CODE_CALL, "call", LITERAL_LIST(x), y);
    literal_attr(f, node, "body", (struct smr_attr){.i = 0});
    x = y;
  }
  literal_output(f, unary(f, SMR_CODE_NEG, "after", x, four), "y");
  return l;
}

// x [6], count [2] -> k = (count + count)[1] -> relu(x)[:k] + tanh(x[:k])
static struct literal *read_dims(bool bounded) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t six = literal_int(f, 6), zero = literal_int(f, 0), one = literal_int(f, 1);
  const uint32_t two = literal_int(f, 2);
  const uint32_t x = input(f, "x", SAMARA_FLOAT32, six);
  const uint32_t count = input(f, "count", SAMARA_INT64, two);
  const uint32_t twice = binary(f, SMR_CODE_ADD, "twice", count, count, two);
  const uint32_t a = unary(f, SMR_CODE_RELU, "relu", x, six);
  const uint32_t k =
      literal_expr(f, SMR_EXPR_READ, (int32_t)twice, 1, bounded ? (int32_t)six : -1, 0);
  uint32_t parts[2];
  for (int i = 0; i < 2; i++) {
    const uint32_t from = i == 0 ? a : x;
    const char *name = i == 0 ? "cut_relu" : "cut_x";
    parts[i] = literal_vector(f, name, k);
    const uint32_t node = add_node(f, SMR_CODE_SLICE, name, LITERAL_LIST(from), parts[i]);
    literal_attr_dims(f, node, "begin", 1, zero);
    literal_attr_dims(f, node, "end", 1, k);
    literal_attr_dims(f, node, "step", 1, one);
  }
  const uint32_t t = unary(f, SMR_CODE_TANH, "host_tanh", parts[1], k);
  literal_output(f, binary(f, SMR_CODE_ADD, "sum", parts[0], t, k), "y");
  return l;
}

// x [6] -> nonzero(relu(x)) [1, k] -> cast -> * 0.5 -> [k, 1] + neg(x), which was made before
static struct literal *born(void) {
  static const float half[] = {0.5f};
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t six = literal_int(f, 6), one = literal_int(f, 1);
  const uint32_t x = input(f, "x", SAMARA_FLOAT32, six);
  const uint32_t a = unary(f, SMR_CODE_RELU, "relu", x, six);
  const uint32_t early = unary(f, SMR_CODE_NEG, "early", x, six);
  const uint32_t k = literal_expr(f, SMR_EXPR_BORN, 2, 0, 1, (int64_t)six);
  const uint32_t at = literal_value(f, "at", SAMARA_INT64, 2, one, k);
  add_node(f, SMR_CODE_NONZERO, "where", LITERAL_LIST(a), at);
  const uint32_t h = literal_constant(l, f, "half", SAMARA_FLOAT32, half, 1, 1);
  const uint32_t c = literal_value(f, "cast", SAMARA_FLOAT32, 2, one, k);
  const uint32_t node = add_node(f, SMR_CODE_CAST, "cast", LITERAL_LIST(at), c);
  literal_attr(f, node, "to", (struct smr_attr){.i = SAMARA_FLOAT32});
  const uint32_t m = literal_value(f, "scaled", SAMARA_FLOAT32, 2, one, k);
  add_node(f, SMR_CODE_MUL, "scale", LITERAL_LIST(c, h), m);
  const uint32_t turned = literal_value(f, "turned", SAMARA_FLOAT32, 2, k, one);
  const uint32_t reshape = add_node(f, SMR_CODE_RESHAPE, "reshape", LITERAL_LIST(m), turned);
  literal_attr_dims(f, reshape, "shape", 2, k, one);
  const uint32_t y = literal_value(f, "y", SAMARA_FLOAT32, 2, k, six);
  add_node(f, SMR_CODE_ADD, "add", LITERAL_LIST(turned, early), y);
  literal_output(f, y, "y");
  return l;
}

// y = relu(a + x); A := y, B := a
static struct literal *state(void) {
  static const int64_t dims[] = {4};
  static const float start[] = {1, 2, 3, 4};
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t four = literal_int(f, 4);
  const uint32_t a = input(f, "a", SAMARA_FLOAT32, four);
  const uint32_t x = input(f, "x", SAMARA_FLOAT32, four);
  const uint32_t b = input(f, "b", SAMARA_FLOAT32, four);
  const uint32_t sum = binary(f, SMR_CODE_ADD, "add", a, x, four);
  const uint32_t y = unary(f, SMR_CODE_SIGMOID, "sigmoid", sum, four);
  literal_output(f, y, "next_a");
  literal_output(f, binary(f, SMR_CODE_MUL, "mul", y, b, four), "z");
  literal_output(f, a, "next_b");
  literal_variable(l, "A", SAMARA_FLOAT32, start, 1, dims);
  literal_variable(l, "B", SAMARA_FLOAT32, start, 1, dims);
  literal_bind(f, false, 0, 0);
  literal_bind(f, false, 2, 1);
  literal_bind(f, true, 0, 0);
  literal_bind(f, true, 2, 1);
  return l;
}

static uint32_t reshaped(struct literal_function *f, const char *name, uint32_t x, uint32_t rows,
                         uint32_t columns) {
  const bool flat = rows == columns;
  const uint32_t y = flat ? literal_value(f, name, SAMARA_FLOAT32, 2, rows, columns)
                          : literal_vector(f, name, columns);
  const uint32_t node = add_node(f, SMR_CODE_RESHAPE, name, LITERAL_LIST(x), y);
  if (flat)
    literal_attr_dims(f, node, "shape", 2, rows, columns);
  else
    literal_attr_dims(f, node, "shape", 1, columns);
  return y;
}

// H := tanh(h + x), G := sigmoid(g * p), C := relu(c - x) as [2, 2], Q := |q| (host) * G. The user
// sees G, C + H, and -v with a symbolic dim.
static struct literal *stay(void) {
  static const int64_t dims[] = {4}, square[] = {2, 2};
  static const float start[] = {1, 2, 3, 4};
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t four = literal_int(f, 4), two = literal_int(f, 2);
  const uint32_t n = literal_symbol(f, "n", 0, 0, 8);
  const uint32_t v = input(f, "v", SAMARA_FLOAT32, n);
  const uint32_t x = input(f, "x", SAMARA_FLOAT32, four);
  const uint32_t h = input(f, "h", SAMARA_FLOAT32, four), g = input(f, "g", SAMARA_FLOAT32, four);
  const uint32_t c = literal_input(f, literal_value(f, "c", SAMARA_FLOAT32, 2, two, two));
  const uint32_t q = input(f, "q", SAMARA_FLOAT32, four), p = input(f, "p", SAMARA_FLOAT32, four);
  const uint32_t sum = binary(f, SMR_CODE_ADD, "add", h, x, four);
  const uint32_t next_h = unary(f, SMR_CODE_TANH, "tanh", sum, four);
  const uint32_t product = binary(f, SMR_CODE_MUL, "mul", g, p, four);
  const uint32_t next_g = unary(f, SMR_CODE_SIGMOID, "sigmoid", product, four);
  const uint32_t abs = unary(f, SMR_CODE_ABS, "host_abs", q, four);
  const uint32_t flat = reshaped(f, "flat", c, two, four);
  const uint32_t sub = binary(f, SMR_CODE_SUB, "sub", flat, x, four);
  const uint32_t relu = unary(f, SMR_CODE_RELU, "relu", sub, four);
  const uint32_t next_c = reshaped(f, "next_c", relu, two, two);
  const uint32_t next_q = binary(f, SMR_CODE_MUL, "mul_q", abs, next_g, four);
  literal_output(f, next_h, "next_h");
  literal_output(f, next_g, "next_g");
  literal_output(f, next_g, "g");
  literal_output(f, next_c, "next_c");
  literal_output(f, next_q, "next_q");
  literal_output(f, binary(f, SMR_CODE_ADD, "last", relu, next_h, four), "z");
  literal_output(f, unary(f, SMR_CODE_NEG, "neg", v, n), "w");
  literal_variable(l, "H", SAMARA_FLOAT32, start, 1, dims);
  literal_variable(l, "G", SAMARA_FLOAT32, start, 1, dims);
  literal_variable(l, "C", SAMARA_FLOAT32, NULL, 2, square);
  literal_variable(l, "Q", SAMARA_FLOAT32, start, 1, dims);
  literal_variable(l, "P", SAMARA_FLOAT32, start, 1, dims);
  for (uint32_t i = 0; i < 5; i++) literal_bind(f, false, 2 + i, i);
  static const uint32_t outputs[] = {0, 1, 3, 4};
  for (uint32_t i = 0; i < 4; i++) literal_bind(f, true, outputs[i], i);
  return l;
}

// x [3, 4] -> neg (host) -> [:, :2] and [:, 2:] (host) -> transposed twice, tanh -> concat
// -> concat with a third (host) -> sigmoid
static struct literal *gaps(void) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t zero = literal_int(f, 0), one = literal_int(f, 1), two = literal_int(f, 2);
  const uint32_t three = literal_int(f, 3), four = literal_int(f, 4);
  const uint32_t x = literal_input(f, literal_value(f, "x", SAMARA_FLOAT32, 2, three, four));
  const uint32_t n = literal_value(f, "host_neg", SAMARA_FLOAT32, 2, three, four);
  add_node(f, SMR_CODE_NEG, "host_neg", LITERAL_LIST(x), n);
  uint32_t ends[3];
  for (int i = 0; i < 2; i++) {
    const uint32_t part = literal_value(f, "host_part", SAMARA_FLOAT32, 2, three, two);
    const uint32_t node = add_node(f, SMR_CODE_SLICE, "host_part", LITERAL_LIST(n), part);
    literal_attr_dims(f, node, "begin", 2, zero, i == 0 ? zero : two);
    literal_attr_dims(f, node, "end", 2, three, i == 0 ? two : four);
    literal_attr_dims(f, node, "step", 2, one, one);
    ends[i] = part;
  }
  // The CPU's transpose accepts strided pixels.
  static const int64_t swap[] = {1, 0};
  const uint32_t turned = literal_value(f, "turned", SAMARA_FLOAT32, 2, two, three);
  const uint32_t turn = add_node(f, SMR_CODE_TRANSPOSE, "turn", LITERAL_LIST(ends[0]), turned);
  ends[0] = literal_value(f, "back", SAMARA_FLOAT32, 2, three, two);
  const uint32_t back = add_node(f, SMR_CODE_TRANSPOSE, "back", LITERAL_LIST(turned), ends[0]);
  literal_attr(f, turn, "perm", (struct smr_attr){.ints = swap, .count = 2});
  literal_attr(f, back, "perm", (struct smr_attr){.ints = swap, .count = 2});
  const uint32_t t = literal_value(f, "tanh", SAMARA_FLOAT32, 2, three, two);
  add_node(f, SMR_CODE_TANH, "tanh", LITERAL_LIST(ends[1]), t);
  ends[1] = t;
  ends[2] = literal_value(f, "host_abs", SAMARA_FLOAT32, 2, three, two);
  add_node(f, SMR_CODE_ABS, "host_abs", LITERAL_LIST(ends[1]), ends[2]);
  const uint32_t c = literal_value(f, "joined", SAMARA_FLOAT32, 2, three, literal_int(f, 6));
  // The CPU's concat could write into strided pixels.
  const uint32_t both = literal_value(f, "both", SAMARA_FLOAT32, 2, three, four);
  const uint32_t inner =
      add_node(f, SMR_CODE_CONCAT, "concat", LITERAL_LIST(ends[0], ends[1]), both);
  literal_attr(f, inner, "axis", (struct smr_attr){.i = 1});
  const uint32_t concat =
      add_node(f, SMR_CODE_CONCAT, "host_concat", LITERAL_LIST(both, ends[2]), c);
  literal_attr(f, concat, "axis", (struct smr_attr){.i = 1});
  const uint32_t y = literal_value(f, "y", SAMARA_FLOAT32, 2, three, literal_int(f, 6));
  add_node(f, SMR_CODE_SIGMOID, "sigmoid", LITERAL_LIST(c), y);
  const uint32_t z = literal_value(f, "z", SAMARA_FLOAT32, 2, three, two);
  add_node(f, SMR_CODE_NEG, "also", LITERAL_LIST(ends[2]), z);
  literal_output(f, y, "y");
  literal_output(f, z, "z");
  return l;
}

// concat(neg(x [0]), w [0], relu(y [3])) -> tanh
static struct literal *empty(void) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t zero = literal_int(f, 0), three = literal_int(f, 3);
  const uint32_t x = input(f, "x", SAMARA_FLOAT32, zero);
  const uint32_t y = input(f, "y", SAMARA_FLOAT32, three);
  const uint32_t w = literal_constant(l, f, "w", SAMARA_FLOAT32, weights, 1, 0);
  const uint32_t a = unary(f, SMR_CODE_NEG, "neg", x, zero);
  const uint32_t b = unary(f, SMR_CODE_RELU, "relu", y, three);
  const uint32_t c = literal_vector(f, "joined", three);
  add_node(f, SMR_CODE_CONCAT, "concat", LITERAL_LIST(a, w, b), c);
  literal_output(f, unary(f, SMR_CODE_TANH, "tanh", c, three), "y");
  literal_output(f, a, "nothing");
  return l;
}

// ---- at random ----

static uint32_t any_of(uint32_t *seed, uint32_t count) {
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 8) % count;
}

struct literal *rig_random_model(uint32_t seed) {
  static const uint16_t unaries[] = {SMR_CODE_RELU, SMR_CODE_NEG, SMR_CODE_TANH, SMR_CODE_IDENTITY,
                                     SMR_CODE_IDENTITY};
  static const uint16_t binaries[] = {SMR_CODE_ADD, SMR_CODE_MUL, SMR_CODE_SUB};
  static const char *const places[] = {"host", "one", "two", "any", "any"};
  enum { NODES = 20, INPUTS = 2 };
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t six = literal_int(f, 6);
  uint32_t values[INPUTS + 1 + NODES], count = 0, place = 0;
  for (int i = 0; i < INPUTS; i++) values[count++] = input(f, "x", SAMARA_FLOAT32, six);
  values[count++] = literal_constant(l, f, "w", SAMARA_FLOAT32, weights, 1, 6);
  seed = seed * 2654435761u + 1;
  for (int n = 0; n < NODES; n++) {
    // Recent values are read more often, and the place changes now and then.
    const uint32_t a = values[count - 1 - any_of(&seed, count < 6 ? count : 6)];
    const uint32_t b = values[any_of(&seed, count)];
    if (any_of(&seed, 3) == 0) place = any_of(&seed, 5);
    if (any_of(&seed, 2) == 0)
      values[count] = unary(f, unaries[any_of(&seed, 5)], places[place], a, six);
    else
      values[count] = binary(f, binaries[any_of(&seed, 3)], places[place], a, b, six);
    if (any_of(&seed, 6) == 0 && f->f.output_count < 8) literal_output(f, values[count], "y");
    count++;
  }
  literal_output(f, values[count - 1], "last");
  (void)literal_finish(l);
  return l;
}

struct literal *rig_model(enum rig_model which) {
  struct literal *l = NULL;
  if (which == RIG_CHAIN) l = chain();
  if (which == RIG_SYMBOLIC) l = symbolic(8);
  if (which == RIG_UNBOUNDED) l = symbolic(INT64_MAX);
  if (which == RIG_IF) l = choice();
  if (which == RIG_LOOP) l = loop();
  if (which == RIG_CALL) l = call();
  if (which == RIG_READ || which == RIG_GROWING) l = read_dims(which == RIG_READ);
  if (which == RIG_BORN) l = born();
  if (which == RIG_STATE) l = state();
  if (which == RIG_STAY) l = stay();
  if (which == RIG_GAPS) l = gaps();
  if (which == RIG_EMPTY) l = empty();
  if (l == NULL) abort();
  (void)literal_finish(l);
  return l;
}
