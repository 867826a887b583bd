// SPDX-License-Identifier: Apache-2.0
// Views: concat, split and slice whose parts lie in the larger tensor. Known graphs, then random
// ones, as the entry and as a called function, with tensors kept and watched.
#include "base/fp.h"

#include "harness.h"

#include <assert.h>
#include <stdlib.h>

#include "ops/table/opattrs.h"
#include "session/model_literal.h"
#include "session/plan/plan.h"

enum { VIEWS_NODES = 26, VIEWS_ROWS = 4, VIEWS_COLS = 24, VIEWS_GRAPHS = 400, VIEWS_DIMS = 64 };

static size_t views_strided_reads, views_strided_writes;

static float views_wrap(float y) { return y - 1024.0f * (float)(int)(y / 1024.0f); }

// Element `k` of the dense tensor.
static float *views_at(const struct smr_tensor *t, size_t k) {
  const size_t cols = (size_t)t->dims[t->rank - 1];
  return (float *)t->data + k / cols * (size_t)t->pixel_stride + k % cols;
}

static samara_status views_prepare(struct smr_job *job) {
  job->tiles = 1;
  return SAMARA_OK;
}

// Every output is a mix of all inputs, written after rubbish.
static samara_status views_mix(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  (void)begin, (void)end, (void)scratch;
  for (uint32_t i = 0; i < job->input_count; i++)
    views_strided_reads += job->inputs[i]->pixel_stride != job->inputs[i]->dims[1];
  struct smr_tensor *y = job->outputs[0];
  views_strided_writes += y->pixel_stride != y->dims[1];
  const size_t n = (size_t)smr_numel(y);
  for (size_t k = 0; k < n; k++) *views_at(y, k) = -7777;
  for (size_t k = 0; k < n; k++) {
    float sum = (float)k;
    for (uint32_t i = 0; i < job->input_count; i++) {
      const size_t m = (size_t)smr_numel(job->inputs[i]);
      sum += m != 0 ? *views_at(job->inputs[i], k % m) * (float)(i + 1) : 1;
    }
    *views_at(y, k) = views_wrap(sum);
  }
  return SAMARA_OK;
}

static samara_status views_flat(const struct smr_job *job, size_t begin, size_t end,
                                void *scratch) {
  for (uint32_t i = 0; i < job->input_count; i++)
    if (job->inputs[i]->pixel_stride != job->inputs[i]->dims[1])
      SMR_FAIL(job->error, BAD_DATA, "'%s' is not dense", job->inputs[i]->name);
  if (job->outputs[0]->pixel_stride != job->outputs[0]->dims[1])
    SMR_FAIL(job->error, BAD_DATA, "'%s' is not dense", job->outputs[0]->name);
  return views_mix(job, begin, end, scratch);
}

static samara_status views_bump(const struct smr_job *job, size_t begin, size_t end,
                                void *scratch) {
  (void)begin, (void)end, (void)scratch;
  const float *x = job->inputs[0]->data;
  float *y = job->outputs[0]->data;
  // Backwards, so that a shifted overlap gives a wrong result.
  for (size_t k = (size_t)smr_numel(job->outputs[0]); k-- > 0;) y[k] = views_wrap(x[k] + 1);
  return SAMARA_OK;
}

static const struct smr_op_funcs views_mix_funcs = {.prepare = views_prepare, .run = views_mix};
static const struct smr_op_funcs views_flat_funcs = {.prepare = views_prepare, .run = views_flat};
static const struct smr_op_funcs views_bump_funcs = {.prepare = views_prepare, .run = views_bump};
static const struct smr_op mix_op = {.dtypes = UINT32_MAX,
                                     .name = "mix",
                                     .code = 9996,
                                     .max_inputs = 255,
                                     .min_outputs = 1,
                                     .max_outputs = 1,
                                     .flags = SMR_OP_STRIDED_OUT | SMR_OP_STRIDED(0xffffu),
                                     .funcs = &views_mix_funcs};
static const struct smr_op flat_op = {.dtypes = UINT32_MAX,
                                      .name = "flat",
                                      .code = 9995,
                                      .max_inputs = 255,
                                      .min_outputs = 1,
                                      .max_outputs = 1,
                                      .funcs = &views_flat_funcs};
static const struct smr_op bump_op = {.dtypes = UINT32_MAX,
                                      .name = "bump",
                                      .code = 9994,
                                      .min_inputs = 1,
                                      .max_inputs = 1,
                                      .min_outputs = 1,
                                      .max_outputs = 1,
                                      .flags = SMR_OP_INPLACE,
                                      .funcs = &views_bump_funcs};

// A graph and, beside it, what every value must be.
struct views_graph {
  struct literal *literal;
  struct literal_function *f;
  size_t rows[LITERAL_VALUES], cols[LITERAL_VALUES];
  float *want[LITERAL_VALUES];
  char text[LITERAL_VALUES][8];
  uint32_t dims[VIEWS_DIMS];  // expression + 1 of a number
  uint32_t outputs[4], output_count;
};

static void graph_begin(struct views_graph *g, bool is_entry) {
  *g = (struct views_graph){.literal = literal_new()};
  g->f = literal_add(g->literal, is_entry ? "main" : "part", is_entry);
}

static uint32_t graph_dim(struct views_graph *g, size_t dim) {
  assert(dim < VIEWS_DIMS);
  if (g->dims[dim] == 0) g->dims[dim] = literal_int(g->f, (int64_t)dim) + 1;
  return g->dims[dim] - 1;
}

static uint32_t graph_value(struct views_graph *g, size_t rows, size_t cols) {
  const uint32_t id = g->f->f.value_count;
  snprintf(g->text[id], sizeof g->text[id], "v%u", (unsigned)id);
  g->rows[id] = rows;
  g->cols[id] = cols;
  g->want[id] = calloc(rows * cols + 1, sizeof(float));
  return literal_value(g->f, g->text[id], SAMARA_FLOAT32, 2, graph_dim(g, rows),
                       graph_dim(g, cols));
}

static uint32_t graph_input(struct views_graph *g, size_t rows, size_t cols) {
  const uint32_t x = graph_value(g, rows, cols);
  for (size_t k = 0; k < rows * cols; k++) g->want[x][k] = (float)((k * 37 + x * 11) % 101);
  literal_input(g->f, x);
  return x;
}

// An entry with one input. Returns that.
static uint32_t graph_start(struct views_graph *g, size_t rows, size_t cols) {
  graph_begin(g, true);
  return graph_input(g, rows, cols);
}

static uint32_t graph_mix(struct views_graph *g, const struct smr_op *op, size_t rows, size_t cols,
                          uint32_t a, uint32_t b) {
  const uint32_t y = graph_value(g, rows, cols);
  const size_t na = g->rows[a] * g->cols[a], nb = g->rows[b] * g->cols[b];
  for (size_t k = 0; k < rows * cols; k++)
    g->want[y][k] = views_wrap((float)k + (na != 0 ? g->want[a][k % na] : 1) +
                               (nb != 0 ? g->want[b][k % nb] * 2 : 1));
  literal_node(g->f, op, op->name, LITERAL_LIST(a, b), LITERAL_LIST(y));
  return y;
}

static uint32_t graph_one(struct views_graph *g, const struct smr_op *op, uint32_t x) {
  const uint32_t y = graph_value(g, g->rows[x], g->cols[x]);
  for (size_t k = 0; k < g->rows[x] * g->cols[x]; k++)
    g->want[y][k] = op == &bump_op ? views_wrap(g->want[x][k] + 1) : g->want[x][k];
  literal_node(g->f, op, op->name, LITERAL_LIST(x), LITERAL_LIST(y));
  return y;
}

// Copy a block of `rows` x `cols` from row r, column c of `from` to those of `to`.
static void graph_copy(struct views_graph *g, uint32_t to, size_t to_r, size_t to_c, uint32_t from,
                       size_t r, size_t c, size_t rows, size_t cols) {
  for (size_t i = 0; i < rows; i++)
    for (size_t k = 0; k < cols; k++)
      g->want[to][(to_r + i) * g->cols[to] + to_c + k] =
          g->want[from][(r + i) * g->cols[from] + c + k];
}

static uint32_t graph_concat(struct views_graph *g, int axis, const uint32_t *parts,
                             uint32_t count) {
  size_t rows = axis == 0 ? 0 : g->rows[parts[0]], cols = axis == 0 ? g->cols[parts[0]] : 0, at = 0;
  int64_t in[6];
  for (uint32_t p = 0; p < count; p++) {
    in[p] = parts[p];
    if (axis == 0)
      rows += g->rows[parts[p]];
    else
      cols += g->cols[parts[p]];
  }
  in[count] = LITERAL_END;
  const uint32_t y = graph_value(g, rows, cols);
  for (uint32_t p = 0; p < count; p++) {
    graph_copy(g, y, axis == 0 ? at : 0, axis == 0 ? 0 : at, parts[p], 0, 0, g->rows[parts[p]],
               g->cols[parts[p]]);
    at += axis == 0 ? g->rows[parts[p]] : g->cols[parts[p]];
  }
  const uint32_t node =
      literal_node(g->f, smr_op_find(SMR_CODE_CONCAT), "join", in, LITERAL_LIST(y));
  literal_attr(g->f, node, "axis", (struct smr_attr){.i = axis});
  return y;
}

static uint32_t graph_slice(struct views_graph *g, uint32_t x, size_t r, size_t c, size_t rows,
                            size_t cols) {
  const uint32_t y = graph_value(g, rows, cols);
  graph_copy(g, y, 0, 0, x, r, c, rows, cols);
  const uint32_t node =
      literal_node(g->f, smr_op_find(SMR_CODE_SLICE), "cut", LITERAL_LIST(x), LITERAL_LIST(y));
  literal_attr_dims(g->f, node, "begin", 2, graph_dim(g, r), graph_dim(g, c));
  literal_attr_dims(g->f, node, "end", 2, graph_dim(g, r + rows), graph_dim(g, c + cols));
  literal_attr_dims(g->f, node, "step", 2, graph_dim(g, 1), graph_dim(g, 1));
  return y;
}

// The first `first` rows or columns, and the rest; returns the first of two outputs.
static uint32_t graph_split(struct views_graph *g, int axis, uint32_t x, size_t first) {
  const size_t rows = g->rows[x], cols = g->cols[x], rest = (axis == 0 ? rows : cols) - first;
  const uint32_t a = axis == 0 ? graph_value(g, first, cols) : graph_value(g, rows, first);
  const uint32_t b = axis == 0 ? graph_value(g, rest, cols) : graph_value(g, rows, rest);
  graph_copy(g, a, 0, 0, x, 0, 0, g->rows[a], g->cols[a]);
  graph_copy(g, b, 0, 0, x, axis == 0 ? first : 0, axis == 0 ? 0 : first, g->rows[b], g->cols[b]);
  const uint32_t node =
      literal_node(g->f, smr_op_find(SMR_CODE_SPLIT), "split", LITERAL_LIST(x), LITERAL_LIST(a, b));
  literal_attr(g->f, node, "axis", (struct smr_attr){.i = axis});
  literal_attr_dims(g->f, node, "sizes", 2, graph_dim(g, first), graph_dim(g, rest));
  return a;
}

static void graph_output(struct views_graph *g, uint32_t value) {
  g->outputs[g->output_count++] = value;
  literal_output(g->f, value, "out");
}

static bool graph_check(const struct views_graph *g, uint32_t value, const samara_tensor *got) {
  const size_t n = g->rows[value] * g->cols[value];
  bool same = got->rank == 2 && got->shape[0] == (int64_t)g->rows[value] &&
              got->shape[1] == (int64_t)g->cols[value] && got->size_bytes == n * sizeof(float);
  for (size_t k = 0; same && k < n; k++) same = ((const float *)got->data)[k] == g->want[value][k];
  return same;
}

// An entry that calls the function.
static void graph_wrap(struct views_graph *g) {
  struct literal_function *main = literal_add(g->literal, "main", true);
  int64_t in[LITERAL_PORTS], out[LITERAL_PORTS];
  uint32_t count = 0;
  for (; count < g->f->f.input_count; count++) {
    const uint32_t x = g->f->inputs[count];
    in[count] = literal_value(main, "x", SAMARA_FLOAT32, 2, literal_int(main, (int64_t)g->rows[x]),
                              literal_int(main, (int64_t)g->cols[x]));
    literal_input(main, (uint32_t)in[count]);
  }
  in[count] = LITERAL_END;
  for (uint32_t o = 0; o < g->output_count; o++)
    out[o] = literal_value(main, "y", SAMARA_FLOAT32, 2,
                           literal_int(main, (int64_t)g->rows[g->outputs[o]]),
                           literal_int(main, (int64_t)g->cols[g->outputs[o]]));
  out[g->output_count] = LITERAL_END;
  const uint32_t node = literal_node(main, smr_op_find(SMR_CODE_CALL), "call", in, out);
  literal_attr(main, node, "body", (struct smr_attr){.i = 0});
  for (uint32_t o = 0; o < g->output_count; o++) literal_output(main, (uint32_t)out[o], "out");
}

struct views_watch {
  const struct views_graph *graph;
  bool same;
};

static int views_watch_node(void *user, const char *node, const char *const *names,
                            const samara_tensor *tensors, size_t count) {
  (void)node;
  struct views_watch *w = user;
  for (size_t i = 0; i < count; i++)
    if (names[i][0] == 'v')
      w->same = w->same && graph_check(w->graph, (uint32_t)atoi(names[i] + 1), &tensors[i]);
  return 0;
}

static samara_session *graph_session(const struct views_graph *g,
                                     const samara_session_options *options) {
  samara_session *s = literal_session(&g->literal->model, *options);
  for (size_t i = 0; i < g->f->f.input_count; i++) {
    const uint32_t x = g->f->inputs[i];
    CHECK_EQ_INT(
        samara_session_set_input(s, i, g->want[x], g->rows[x] * g->cols[x] * sizeof(float)),
        SAMARA_OK);
  }
  return s;
}

static bool graph_outputs_right(const struct views_graph *g, samara_session *s) {
  bool right = true;
  for (uint32_t o = 0; o < g->output_count; o++) {
    samara_tensor got;
    right = samara_session_output(s, o, &got) == SAMARA_OK && right;
    right = right && graph_check(g, g->outputs[o], &got);
  }
  return right;
}

// Have the outputs computed into buffers[o], of exactly their sizes.
static void graph_bind(const struct views_graph *g, samara_session *s, void **buffers) {
  for (uint32_t o = 0; o < g->output_count; o++) {
    const uint32_t y = g->outputs[o];
    const size_t bytes = g->rows[y] * g->cols[y] * sizeof(float);
    buffers[o] = malloc(bytes);
    CHECK_EQ_INT(samara_session_bind_output(s, o, buffers[o], bytes), SAMARA_OK);
  }
}

// In the session's memory first, then with bound outputs.
static void graph_run(const struct views_graph *g, const samara_session_options *options,
                      bool watched) {
  void *buffers[LITERAL_PORTS] = {NULL};
  samara_session *s = graph_session(g, options);
  struct views_watch w = {.graph = g, .same = true};
  if (watched) samara_session_watch(s, views_watch_node, &w);
  for (int again = 0; again < 4; again++) {
    if (again == 2) graph_bind(g, s, buffers);
    if (!CHECK_EQ_INT(samara_session_run(s), SAMARA_OK))
      fprintf(stderr, "%s\n", samara_session_error(s));
    CHECK(w.same);
    CHECK(graph_outputs_right(g, s));
    for (uint32_t o = 0; again >= 2 && o < g->output_count; o++) {
      samara_tensor got;
      CHECK_EQ_INT(samara_session_output(s, o, &got), SAMARA_OK);
      CHECK(got.data == buffers[o]);
    }
    for (size_t k = 0; k < options->keep_count; k++) {
      samara_tensor got;
      CHECK_EQ_INT(samara_session_kept(s, options->keep[k], &got), SAMARA_OK);
      CHECK(graph_check(g, (uint32_t)atoi(options->keep[k] + 1), &got));
    }
  }
  samara_session_destroy(s);
  for (uint32_t o = 0; o < g->output_count; o++) free(buffers[o]);
}

static void graph_free(struct views_graph *g) {
  for (uint32_t i = 0; i < g->f->f.value_count; i++) free(g->want[i]);
  literal_free(g->literal);
}

// Runs the graph in all ways and returns the nodes of operator `op` that had nothing to copy.
static size_t graph_views(struct views_graph *g, const char *op) {
  samara_session_options options = {.struct_size = sizeof options};
  (void)literal_finish(g->literal);
  graph_run(g, &options, false);
  graph_run(g, &options, true);
  options.keep_all = true;
  graph_run(g, &options, true);
  options.keep_all = false;
  samara_session *s = graph_session(g, &options);
  samara_session_set_profiling(s, true);
  CHECK_EQ_INT(samara_session_run(s), SAMARA_OK);
  samara_profile_row rows[LITERAL_NODES];
  size_t count = 0, views = 0;
  CHECK_EQ_INT(samara_session_profile(s, rows, LITERAL_NODES, &count), SAMARA_OK);
  for (size_t i = 0; i < count; i++)
    views += strcmp(rows[i].op, op) == 0 && strcmp(rows[i].kernel, "view") == 0;
  samara_session_destroy(s);
  graph_free(g);
  return views;
}

// ---- known graphs ----

SMR_TEST(nodes_write_into_the_concat) {
  struct views_graph g;
  const uint32_t x = graph_start(&g, 3, 5);
  const uint32_t a = graph_mix(&g, &mix_op, 3, 4, x, x), b = graph_mix(&g, &mix_op, 3, 7, a, x);
  const uint32_t y = graph_concat(&g, 1, (const uint32_t[]){a, b}, 2);
  graph_output(&g, graph_mix(&g, &flat_op, 2, 9, y, x));
  CHECK_EQ_INT(graph_views(&g, "concat"), 1);
}

SMR_TEST(the_concat_is_an_output) {
  struct views_graph g;
  const uint32_t x = graph_start(&g, 3, 5);
  const uint32_t a = graph_mix(&g, &mix_op, 3, 4, x, x), b = graph_mix(&g, &mix_op, 3, 7, x, x);
  graph_output(&g, graph_concat(&g, 1, (const uint32_t[]){a, b}, 2));
  CHECK_EQ_INT(graph_views(&g, "concat"), 1);
}

SMR_TEST(what_cannot_be_placed_is_copied) {
  struct views_graph g;
  const uint32_t x = graph_start(&g, 3, 5);
  const uint32_t a = graph_mix(&g, &mix_op, 3, 4, x, x);   // placed
  const uint32_t b = graph_mix(&g, &flat_op, 3, 7, x, x);  // cannot write with gaps
  const uint32_t c = graph_mix(&g, &mix_op, 3, 2, x, b);   // has a reader that wants it dense
  const uint32_t y = graph_concat(&g, 1, (const uint32_t[]){x, a, b, c, a}, 5);
  graph_output(&g, graph_mix(&g, &mix_op, 2, 9, y, graph_mix(&g, &flat_op, 1, 1, c, c)));
  const size_t before = views_strided_writes;
  CHECK_EQ_INT(graph_views(&g, "concat"), 0);
  CHECK(views_strided_writes > before);
}

SMR_TEST(outputs_are_not_moved_into_a_concat) {
  struct views_graph g;
  const uint32_t x = graph_start(&g, 3, 5);
  const uint32_t a = graph_mix(&g, &mix_op, 3, 4, x, x), b = graph_mix(&g, &mix_op, 3, 7, x, x);
  graph_output(&g, graph_concat(&g, 1, (const uint32_t[]){a, b}, 2));
  graph_output(&g, b);
  CHECK_EQ_INT(graph_views(&g, "concat"), 0);
}

SMR_TEST(concats_nest) {
  struct views_graph g;
  const uint32_t x = graph_start(&g, 3, 5);
  const uint32_t a = graph_mix(&g, &mix_op, 3, 4, x, x), b = graph_mix(&g, &mix_op, 3, 7, x, x);
  const uint32_t ab = graph_concat(&g, 1, (const uint32_t[]){a, b}, 2);
  const uint32_t c = graph_mix(&g, &mix_op, 3, 2, ab, a);
  const uint32_t all = graph_concat(&g, 1, (const uint32_t[]){c, ab}, 2);
  graph_output(&g, graph_mix(&g, &flat_op, 3, 3, all, x));
  CHECK_EQ_INT(graph_views(&g, "concat"), 2);
}

SMR_TEST(a_split_is_read_where_it_is) {
  struct views_graph g;
  const uint32_t x = graph_start(&g, 3, 9);
  const uint32_t whole = graph_mix(&g, &flat_op, 3, 9, x, x);
  const uint32_t a = graph_split(&g, 1, whole, 4);
  const uint32_t c = graph_slice(&g, a + 1, 0, 1, 3, 3);
  graph_output(&g, graph_mix(&g, &mix_op, 3, 3, a, c));
  graph_output(&g, graph_mix(&g, &mix_op, 3, 3, graph_slice(&g, x, 0, 8, 3, 1), a + 1));
  const size_t before = views_strided_reads;
  CHECK_EQ_INT(graph_views(&g, "split"), 1);
  CHECK(views_strided_reads > before);
}

SMR_TEST(parts_without_gaps_need_no_flag) {
  struct views_graph g;
  const uint32_t x = graph_start(&g, 1, 9);
  const uint32_t a = graph_mix(&g, &flat_op, 1, 9, x, x), b = graph_one(&g, &bump_op, a);
  const uint32_t c = graph_one(&g, smr_op_find(SMR_CODE_IDENTITY), b);
  const uint32_t rows = graph_concat(&g, 0, (const uint32_t[]){a, c}, 2);
  const uint32_t y = graph_one(&g, &bump_op, rows);
  graph_output(&g, graph_one(&g, &bump_op, graph_split(&g, 0, y, 1) + 1));
  graph_output(&g, graph_one(&g, &bump_op, y));
  CHECK_EQ_INT(graph_views(&g, "concat"), 1);
}

SMR_TEST(rows_of_one_batch_are_placed) {
  struct views_graph g;
  const uint32_t x = graph_start(&g, 1, 9);
  const uint32_t a = graph_mix(&g, &flat_op, 1, 9, x, x), b = graph_one(&g, &bump_op, x);
  const uint32_t c = graph_one(&g, smr_op_find(SMR_CODE_IDENTITY), b);
  const uint32_t y = graph_one(&g, &bump_op, graph_concat(&g, 1, (const uint32_t[]){a, c}, 2));
  graph_output(&g, graph_one(&g, &bump_op, graph_slice(&g, y, 0, 5, 1, 6)));
  graph_output(&g, graph_one(&g, &bump_op, y));
  CHECK_EQ_INT(graph_views(&g, "concat"), 1);
}

// ---- symbolic sizes ----

// x [n, 5] and picked rows of it, [k, 5]: mixed to 4 and 3 columns side by side, sliced and mixed
// again. k is born, with the bound n or without one, which makes the function growing. With
// `across` only the second part needs the picked rows, in a later stage than the first.
static struct literal *sized_model(bool born, bool bounded, bool across) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_symbol(f, "n", 0, 0, 6), five = literal_int(f, 5);
  const uint32_t one = literal_int(f, 1), three = literal_int(f, 3), four = literal_int(f, 4);
  const uint32_t zero = literal_int(f, 0), seven = literal_int(f, 7);
  uint32_t x = literal_value(f, "x", SAMARA_FLOAT32, 2, n, five), picked = x, k = n;
  const uint32_t which = literal_vector(f, "which", n);
  literal_input(f, x);
  literal_input(f, which);
  uint32_t a = 0;
  if (across) {
    a = literal_value(f, "a", SAMARA_FLOAT32, 2, n, four);
    literal_node(f, &mix_op, "a", LITERAL_LIST(x), LITERAL_LIST(a));
  }
  if (born) {
    k = literal_expr(f, SMR_EXPR_BORN, across ? 1 : 0, 0, 1, bounded ? (int64_t)n : -1);
    const uint32_t at = literal_value(f, "at", SAMARA_INT64, 2, one, k);
    const uint32_t flat = literal_value(f, "flat", SAMARA_INT64, 1, k);
    const uint32_t rows = literal_value(f, "rows", SAMARA_FLOAT32, 2, k, five);
    literal_node(f, smr_op_find(SMR_CODE_NONZERO), "where", LITERAL_LIST(which), LITERAL_LIST(at));
    const uint32_t reshape = literal_node(f, smr_op_find(SMR_CODE_RESHAPE), "flatten",
                                          LITERAL_LIST(at), LITERAL_LIST(flat));
    literal_attr_dims(f, reshape, "shape", 1, k);
    literal_node(f, smr_op_find(SMR_CODE_GATHER), "pick", LITERAL_LIST(x, flat),
                 LITERAL_LIST(rows));
    picked = rows;
    if (across)
      k = n;
    else
      x = rows;
  }
  if (!across) a = literal_value(f, "a", SAMARA_FLOAT32, 2, k, four);
  const uint32_t b = literal_value(f, "b", SAMARA_FLOAT32, 2, k, three);
  const uint32_t ab = literal_value(f, "ab", SAMARA_FLOAT32, 2, k, seven);
  const uint32_t cut = literal_value(f, "cut", SAMARA_FLOAT32, 2, k, three);
  const uint32_t y = literal_value(f, "y", SAMARA_FLOAT32, 2, k, five);
  if (!across) literal_node(f, &mix_op, "a", LITERAL_LIST(x), LITERAL_LIST(a));
  literal_node(f, &mix_op, "b", LITERAL_LIST(picked, a), LITERAL_LIST(b));
  const uint32_t join =
      literal_node(f, smr_op_find(SMR_CODE_CONCAT), "join", LITERAL_LIST(a, b), LITERAL_LIST(ab));
  literal_attr(f, join, "axis", (struct smr_attr){.i = 1});
  const uint32_t slice =
      literal_node(f, smr_op_find(SMR_CODE_SLICE), "cut", LITERAL_LIST(ab), LITERAL_LIST(cut));
  literal_attr_dims(f, slice, "begin", 2, zero, three);
  literal_attr_dims(f, slice, "end", 2, k, literal_int(f, 6));
  literal_attr_dims(f, slice, "step", 2, one, one);
  literal_node(f, &mix_op, "y", LITERAL_LIST(cut, b), LITERAL_LIST(y));
  literal_output(f, y, "y");
  return l;
}

static float sized_mix(const float *a, size_t na, const float *b, size_t nb, size_t k) {
  return views_wrap((float)k + a[k % na] + (b != NULL ? 2 * b[k % nb] : 0));
}

static void check_sized(samara_session *s, size_t n, const float *which, bool born, bool across) {
  const int64_t x_dims[] = {(int64_t)n, 5}, which_dims[] = {(int64_t)n};
  const int64_t *shapes[] = {x_dims, which_dims};
  float x[30], rows[30], a[24], b[18], cut[18], want[30];
  size_t picked = 0;
  for (size_t i = 0; i < n * 5; i++) x[i] = (float)((i * 29 + n) % 61);
  for (size_t i = 0; i < n; i++)
    if (!born || which[i] != 0) memcpy(rows + 5 * picked++, x + 5 * i, 5 * sizeof(float));
  const size_t k = across ? n : picked;
  for (size_t i = 0; i < k * 4; i++) a[i] = sized_mix(across ? x : rows, k * 5, NULL, 0, i);
  for (size_t i = 0; i < k * 3; i++) b[i] = sized_mix(rows, picked * 5, a, k * 4, i);
  for (size_t i = 0; i < k; i++) {
    cut[3 * i] = a[4 * i + 3];
    cut[3 * i + 1] = b[3 * i];
    cut[3 * i + 2] = b[3 * i + 1];
  }
  for (size_t i = 0; i < k * 5; i++) want[i] = sized_mix(cut, k * 3, b, k * 3, i);
  CHECK_EQ_INT(samara_session_resize(s, shapes, 2), SAMARA_OK);
  CHECK(literal_feed(s, 0, x, n * 5));
  CHECK(literal_feed(s, 1, which, n));
  const size_t reads = views_strided_reads, writes = views_strided_writes;
  for (int again = 0; again < 2; again++) {
    CHECK(literal_gives(s, 0, want, k * 5));
  }
  CHECK_EQ_INT(views_strided_reads - reads, across ? 4 : 6);
  CHECK_EQ_INT(views_strided_writes - writes, across ? 2 : 4);
  samara_tensor kept;
  CHECK_EQ_INT(samara_session_kept(s, "b", &kept), SAMARA_OK);
  CHECK_EQ_INT(kept.shape[0], k);
  CHECK_MEM(kept.data, b, k * 3 * sizeof(float));
}

static void check_sizes(bool born, bool bounded, bool across) {
  struct literal *l = sized_model(born, bounded, across);
  struct literal_memory memory;
  literal_memory_init(&memory);
  const char *keep[] = {"b"};
  samara_session *s = literal_session(
      literal_finish(l),
      (samara_session_options){.allocator = &memory.allocator, .keep = keep, .keep_count = 1});
  const size_t created = memory.calls;
  for (int again = 0; again < 2; again++) {
    check_sized(s, 4, (const float[]){1, 0, 0, 2}, born, across);
    check_sized(s, 6, (const float[]){1, 1, 0, 2, 3, 1}, born, across);
    check_sized(s, 1, (const float[]){7}, born, across);
  }
  if (bounded) CHECK_EQ_INT(memory.calls, created);
  samara_session_destroy(s);
  CHECK_EQ_INT(memory.live, 0);
  literal_free(l);
}

SMR_TEST(other_axes_may_have_any_size) { check_sizes(false, true, false); }
SMR_TEST(or_one_that_is_born) { check_sizes(true, true, false); }
SMR_TEST(or_one_without_a_bound) { check_sizes(true, false, false); }
SMR_TEST(parts_of_an_earlier_stage_are_copied) {
  check_sizes(true, true, true);
  check_sizes(true, false, true);
}

// ---- what must not be a view ----

// x [2, 4] -> call f -> c [1, 4] -> rows of c and of a, cut from c, kept in f: all dense, all
// exact.
SMR_TEST(results_of_calls_are_copied) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "f", false);
  const uint32_t one = literal_int(f, 1), two = literal_int(f, 2), four = literal_int(f, 4);
  const uint32_t fx = literal_input(f, literal_value(f, "fx", SAMARA_FLOAT32, 2, two, four));
  const uint32_t row = literal_value(f, "row", SAMARA_FLOAT32, 2, one, four);
  const uint32_t up = literal_value(f, "up", SAMARA_FLOAT32, 2, one, four);
  uint32_t cut =
      literal_node(f, smr_op_find(SMR_CODE_SLICE), "row", LITERAL_LIST(fx), LITERAL_LIST(row));
  literal_attr_dims(f, cut, "begin", 2, one, literal_int(f, 0));
  literal_attr_dims(f, cut, "end", 2, two, four);
  literal_attr_dims(f, cut, "step", 2, one, one);
  literal_node(f, &bump_op, "up", LITERAL_LIST(row), LITERAL_LIST(up));
  literal_output(f, up, "up");
  struct literal_function *m = literal_add(l, "main", true);
  const uint32_t m1 = literal_int(m, 1), m2 = literal_int(m, 2), m4 = literal_int(m, 4);
  const uint32_t x = literal_input(m, literal_value(m, "x", SAMARA_FLOAT32, 2, m2, m4));
  const uint32_t b = literal_value(m, "b", SAMARA_FLOAT32, 2, m2, m4);
  const uint32_t a = literal_value(m, "a", SAMARA_FLOAT32, 2, m1, m4);
  const uint32_t c = literal_value(m, "c", SAMARA_FLOAT32, 2, m1, m4);
  const uint32_t d = literal_value(m, "d", SAMARA_FLOAT32, 2, m1, m2);
  const uint32_t ac = literal_value(m, "ac", SAMARA_FLOAT32, 2, m2, m4);
  const uint32_t y = literal_value(m, "y", SAMARA_FLOAT32, 2, m2, m4);
  literal_node(m, &bump_op, "b", LITERAL_LIST(x), LITERAL_LIST(b));
  literal_node(m, &flat_op, "a", LITERAL_NONE, LITERAL_LIST(a));
  const uint32_t call =
      literal_node(m, smr_op_find(SMR_CODE_CALL), "call", LITERAL_LIST(b), LITERAL_LIST(c));
  literal_attr(m, call, "body", (struct smr_attr){.i = 0});
  cut = literal_node(m, smr_op_find(SMR_CODE_SLICE), "d", LITERAL_LIST(c), LITERAL_LIST(d));
  literal_attr_dims(m, cut, "begin", 2, literal_int(m, 0), m2);
  literal_attr_dims(m, cut, "end", 2, m1, m4);
  literal_attr_dims(m, cut, "step", 2, m1, m1);
  const uint32_t join =
      literal_node(m, smr_op_find(SMR_CODE_CONCAT), "join", LITERAL_LIST(a, c), LITERAL_LIST(ac));
  literal_attr(m, join, "axis", (struct smr_attr){.i = 0});
  literal_node(m, &flat_op, "y", LITERAL_LIST(ac, d), LITERAL_LIST(y));
  const uint32_t big = literal_value(m, "big", SAMARA_FLOAT32, 2, m2, literal_int(m, 100));
  literal_node(m, &flat_op, "big", LITERAL_LIST(y), LITERAL_LIST(big));
  literal_output(m, y, "y");
  const char *keep[] = {"row", "ac"};
  samara_session *s =
      literal_session(literal_finish(l), (samara_session_options){.keep = keep, .keep_count = 2});
  CHECK(literal_feed(s, 0, (const float[]){1, 2, 3, 4, 10, 20, 30, 40}, 8));
  CHECK_EQ_INT(literal_run(s), SAMARA_OK);
  samara_tensor got;
  CHECK_EQ_INT(samara_session_kept(s, "ac", &got), SAMARA_OK);
  CHECK_MEM(got.data, ((const float[]){0, 1, 2, 3, 12, 22, 32, 42}), 8 * sizeof(float));
  CHECK_EQ_INT(samara_session_kept(s, "row", &got), SAMARA_OK);
  CHECK_MEM(got.data, ((const float[]){11, 21, 31, 41}), 4 * sizeof(float));
  CHECK(literal_expect(s, 0, (const float[]){64, 86, 68, 90, 80, 111, 102, 133}, 8));
  literal_close(s, l);
}

SMR_TEST(sizes_are_read_from_dense_tensors) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t zero = literal_int(f, 0), one = literal_int(f, 1), two = literal_int(f, 2);
  const uint32_t three = literal_int(f, 3);
  const uint32_t x = literal_input(f, literal_value(f, "x", SAMARA_INT64, 2, two, three));
  const uint32_t cut = literal_value(f, "cut", SAMARA_INT64, 2, two, two);
  const uint32_t node =
      literal_node(f, smr_op_find(SMR_CODE_SLICE), "cut", LITERAL_LIST(x), LITERAL_LIST(cut));
  literal_attr_dims(f, node, "begin", 2, zero, one);
  literal_attr_dims(f, node, "end", 2, two, three);
  literal_attr_dims(f, node, "step", 2, one, one);
  const uint32_t n = literal_expr(f, SMR_EXPR_READ, (int32_t)cut, 2, -1, 0);
  const uint32_t y = literal_value(f, "y", SAMARA_FLOAT32, 2, one, n);
  literal_node(f, &flat_op, "y", LITERAL_NONE, LITERAL_LIST(y));
  literal_output(f, y, "y");
  samara_session *s = literal_open(l);
  const int64_t data[] = {1, 2, 3, 4, 5, 6};
  CHECK_EQ_INT(samara_session_set_input(s, 0, data, sizeof data), SAMARA_OK);
  CHECK(literal_gives(s, 0, (const float[]){0, 1, 2, 3, 4}, 5));
  literal_close(s, l);
}

// ---- random graphs ----

struct views_random {
  uint32_t state;
};

static uint32_t draw(struct views_random *r, uint32_t below) {
  r->state = r->state * 1664525u + 1013904223u;
  return (r->state >> 8) % below;
}

static void random_concat(struct views_graph *g, struct views_random *r) {
  const int axis = draw(r, 3) == 0 ? 0 : 1;
  uint32_t parts[4], count = 1;
  parts[0] = draw(r, g->f->f.value_count);
  size_t extent = axis == 0 ? g->rows[parts[0]] : g->cols[parts[0]];
  for (int i = 0; i < 12 && count < 4; i++) {
    const uint32_t p = draw(r, g->f->f.value_count);
    const bool fits = axis == 0 ? g->cols[p] == g->cols[parts[0]] : g->rows[p] == g->rows[parts[0]];
    const size_t more = axis == 0 ? g->rows[p] : g->cols[p];
    if (!fits || extent + more >= VIEWS_DIMS) continue;
    extent += more;
    parts[count++] = p;
  }
  graph_concat(g, axis, parts, count);
}

static void random_node(struct views_graph *g, struct views_random *r) {
  const uint32_t x = draw(r, g->f->f.value_count), o = draw(r, g->f->f.value_count);
  const size_t rows = g->rows[x], cols = g->cols[x];
  switch (draw(r, 12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      graph_mix(g, &mix_op, draw(r, 2) ? rows : draw(r, VIEWS_ROWS), draw(r, VIEWS_COLS), x, o);
      break;
    case 4:
      graph_mix(g, &flat_op, rows, draw(r, VIEWS_COLS), x, o);
      break;
    case 5:
      graph_one(g, &bump_op, x);
      break;
    case 6:
      graph_one(g, smr_op_find(SMR_CODE_IDENTITY), x);
      break;
    case 7: {
      const int axis = (int)draw(r, 2);
      graph_split(g, axis, x, draw(r, (uint32_t)(axis == 0 ? rows : cols) + 1));
      break;
    }
    case 8: {
      const bool by_rows = draw(r, 3) == 0;
      const size_t a = draw(r, (uint32_t)(by_rows ? rows : cols) + 1);
      const size_t n = draw(r, (uint32_t)((by_rows ? rows : cols) - a) + 1);
      if (by_rows)
        graph_slice(g, x, a, 0, n, cols);
      else
        graph_slice(g, x, 0, a, rows, n);
      break;
    }
    default:
      random_concat(g, r);
      break;
  }
}

static void random_graph(struct views_graph *g, struct views_random *r, bool is_entry) {
  graph_begin(g, is_entry);
  for (uint32_t i = 0; i < VIEWS_DIMS - 14; i++) graph_dim(g, i);
  const size_t rows = draw(r, 3) == 0 ? 1 : 1 + draw(r, VIEWS_ROWS);
  for (uint32_t i = 0; i < 2; i++) graph_input(g, rows, 1 + draw(r, VIEWS_COLS));
  for (uint32_t n = 0; n < VIEWS_NODES; n++) random_node(g, r);
  while (g->output_count < 3) graph_output(g, draw(r, g->f->f.value_count));
}

SMR_TEST(random_graphs_are_right_whatever_is_seen) {
  const size_t reads = views_strided_reads, writes = views_strided_writes;
  for (uint32_t seed = 0; seed < VIEWS_GRAPHS; seed++) {
    struct views_random r = {.state = seed * 7919u + 3};
    struct views_graph g;
    random_graph(&g, &r, seed % 2 == 0);
    if (seed % 2 != 0) graph_wrap(&g);
    (void)literal_finish(g.literal);
    samara_session_options options = {.struct_size = sizeof options};
    graph_run(&g, &options, false);
    const char *keep[3];
    for (size_t k = 0; k < 3; k++) {
      uint32_t id = draw(&r, g.f->f.value_count);
      if (seed % 2 != 0 && id < 2) id = 2;  // a callee's inputs are its caller's to keep
      keep[k] = g.text[id];
    }
    options.keep = keep;
    options.keep_count = 3;
    graph_run(&g, &options, seed % 4 < 2);
    options.keep_all = true;
    graph_run(&g, &options, true);
    graph_free(&g);
  }
  CHECK(views_strided_reads - reads > VIEWS_GRAPHS);
  CHECK(views_strided_writes - writes > VIEWS_GRAPHS);
}

// ---- variables that grow ----

SMR_TEST_MAIN(RUN(nodes_write_into_the_concat); RUN(the_concat_is_an_output);
              RUN(what_cannot_be_placed_is_copied); RUN(outputs_are_not_moved_into_a_concat);
              RUN(concats_nest); RUN(a_split_is_read_where_it_is);
              RUN(parts_without_gaps_need_no_flag); RUN(rows_of_one_batch_are_placed);
              RUN(other_axes_may_have_any_size); RUN(or_one_that_is_born);
              RUN(or_one_without_a_bound); RUN(parts_of_an_earlier_stage_are_copied);
              RUN(results_of_calls_are_copied); RUN(sizes_are_read_from_dense_tensors);
              RUN(random_graphs_are_right_whatever_is_seen))
