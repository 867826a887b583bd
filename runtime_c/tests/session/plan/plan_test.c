// SPDX-License-Identifier: Apache-2.0
// The memory plan: random graphs, views and in-place nodes included, whose nodes overwrite all they
// may.
#include "base/fp.h"

#include "harness.h"

#include <samara/samara_experimental.h>

#include <stdlib.h>

#include "ops/table/opattrs.h"
#include "session/model_literal.h"

enum { PLAN_NODES = 30, PLAN_MAX = 300, PLAN_GRAPHS = 300, PLAN_TIGHT = 100 };

static float plan_term(const float *x, size_t n, size_t i, size_t k) {
  return n != 0 ? x[i % n] * (float)(k + 1) : 1.0f;
}

static samara_status mix_prepare(struct smr_job *job) {
  job->tiles = 1;
  job->scratch_bytes = (size_t)smr_numel(job->outputs[0]) * 7 % 1000;
  job->thread_scratch_bytes = job->scratch_bytes / 3;
  return SAMARA_OK;
}

// Every output gets a mix of all inputs, after scratch and outputs were filled with rubbish.
static samara_status mix_run(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  (void)begin, (void)end;
  if (job->scratch_bytes != 0) memset(job->scratch, 0xee, job->scratch_bytes);
  if (job->thread_scratch_bytes != 0) memset(scratch, 0xdd, job->thread_scratch_bytes);
  for (uint32_t o = 0; o < job->output_count; o++) {
    float *y = job->outputs[o]->data;
    memset(y, 0xcc, job->outputs[o]->size_bytes);
    for (size_t i = 0; i < (size_t)smr_numel(job->outputs[o]); i++) {
      y[i] = (float)(i + o);
      for (uint32_t k = 0; k < job->input_count; k++)
        y[i] += plan_term(job->inputs[k]->data, (size_t)smr_numel(job->inputs[k]), i, k);
      y[i] = y[i] - 1024.0f * (float)(int)(y[i] / 1024.0f);
    }
  }
  return SAMARA_OK;
}

// x -> x + 1, or x, o -> x + o backwards, where the output may be the buffer of x and no other's.
static float bump_term(float x, const float *o, size_t m, size_t i) {
  const float y = m == 0 ? x + 1 : x + o[m - 1 - i % m];
  return y - 1024.0f * (float)(int)(y / 1024.0f);
}

static samara_status bump_prepare(struct smr_job *job) {
  job->tiles = 1;
  return SAMARA_OK;
}

static samara_status bump_run(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  (void)begin, (void)end, (void)scratch;
  const float *x = job->inputs[0]->data;
  float *y = job->outputs[0]->data;
  const size_t n = (size_t)smr_numel(job->outputs[0]);
  for (size_t i = 0; i < n; i++) {
    const float *o = job->input_count == 2 ? job->inputs[1]->data : NULL;
    const size_t m = o != NULL ? (size_t)smr_numel(job->inputs[1]) : 0;
    y[i] = bump_term(x[i], o, m, i);
  }
  return SAMARA_OK;
}

static const struct smr_op_funcs mix_funcs = {.prepare = mix_prepare, .run = mix_run};
static const struct smr_op_funcs bump_funcs = {.prepare = bump_prepare, .run = bump_run};
static const struct smr_op mix_op = {.dtypes = UINT32_MAX,
                                     .name = "mix",
                                     .code = 9998,
                                     .max_inputs = 255,
                                     .min_outputs = 1,
                                     .max_outputs = 255,
                                     .funcs = &mix_funcs};
static const struct smr_op bump_op = {.dtypes = UINT32_MAX,
                                      .name = "bump",
                                      .code = 9997,
                                      .min_inputs = 1,
                                      .max_inputs = 255,
                                      .min_outputs = 1,
                                      .max_outputs = 1,
                                      .flags = SMR_OP_INPLACE,
                                      .funcs = &bump_funcs};

struct plan_random {
  uint32_t state;
};
static uint32_t draw(struct plan_random *r, uint32_t below) {
  r->state = r->state * 1664525u + 1013904223u;
  return (r->state >> 8) % below;
}

// A random graph and, beside it, what every value must be.
struct graph {
  struct literal *literal;
  struct literal_function *f;
  float *want[LITERAL_VALUES];
  size_t n[LITERAL_VALUES];
  const char *names[LITERAL_VALUES];
  char text[LITERAL_VALUES][8];
  uint32_t outputs[4], output_count;
};

static uint32_t graph_value(struct graph *g, size_t n) {
  const uint32_t id = g->f->f.value_count;
  snprintf(g->text[id], sizeof g->text[id], "v%u", (unsigned)id);
  g->n[id] = n;
  g->want[id] = calloc(n + 1, sizeof(float));
  return literal_value(g->f, g->text[id], SAMARA_FLOAT32, 1, literal_int(g->f, (int64_t)n));
}

static void graph_mix(struct graph *g, struct plan_random *r) {
  const uint32_t values = g->f->f.value_count;
  int64_t in[4], out[3];
  const uint32_t ins = 1 + draw(r, 3), outs = 1 + (draw(r, 4) == 0);
  for (uint32_t k = 0; k < ins; k++) in[k] = draw(r, values);
  in[ins] = LITERAL_END;
  for (uint32_t o = 0; o < outs; o++) out[o] = graph_value(g, draw(r, PLAN_MAX));
  out[outs] = LITERAL_END;
  for (uint32_t o = 0; o < outs; o++)
    for (size_t i = 0; i < g->n[out[o]]; i++) {
      float y = (float)(i + o);
      for (uint32_t k = 0; k < ins; k++) y += plan_term(g->want[in[k]], g->n[in[k]], i, k);
      g->want[out[o]][i] = y - 1024.0f * (float)(int)(y / 1024.0f);
    }
  literal_node(g->f, &mix_op, "mix", in, out);
}

static void graph_view(struct graph *g, struct plan_random *r) {
  const uint32_t x = draw(r, g->f->f.value_count), y = graph_value(g, g->n[x]);
  memcpy(g->want[y], g->want[x], g->n[x] * sizeof(float));
  literal_node(g->f, smr_op_find(SMR_CODE_IDENTITY), "view", LITERAL_LIST(x), LITERAL_LIST(y));
}

static void graph_bump(struct graph *g, struct plan_random *r) {
  const uint32_t x = draw(r, g->f->f.value_count);
  const uint32_t o = draw(r, 2) == 0 ? x : draw(r, g->f->f.value_count);
  const bool two = draw(r, 2) == 0;
  const uint32_t y = graph_value(g, g->n[x]);
  for (size_t i = 0; i < g->n[x]; i++)
    g->want[y][i] = bump_term(g->want[x][i], g->want[o], two ? g->n[o] : 0, i);
  const int64_t in[] = {x, two ? (int64_t)o : LITERAL_END, LITERAL_END};
  literal_node(g->f, &bump_op, "bump", in, LITERAL_LIST(y));
}

static void graph_make(struct graph *g, struct plan_random *r) {
  *g = (struct graph){.literal = literal_new()};
  g->f = literal_add(g->literal, "main", true);
  for (uint32_t i = 0; i < 2; i++) {
    const uint32_t x = graph_value(g, 1 + draw(r, PLAN_MAX));
    for (size_t k = 0; k < g->n[x]; k++) g->want[x][k] = (float)draw(r, 100);
    literal_input(g->f, x);
  }
  for (uint32_t n = 0; n < PLAN_NODES && g->f->f.value_count + 3 < LITERAL_VALUES; n++) {
    const uint32_t kind = draw(r, 5);
    if (kind < 2)
      graph_mix(g, r);
    else if (kind < 4)
      graph_bump(g, r);
    else
      graph_view(g, r);
  }
  for (; g->output_count < 4; g->output_count++) {
    g->outputs[g->output_count] = draw(r, g->f->f.value_count);
    literal_output(g->f, g->outputs[g->output_count], "out");
  }
}

static bool graph_check(const struct graph *g, uint32_t value, const samara_tensor *got) {
  bool same = got->shape[0] == (int64_t)g->n[value];
  for (size_t i = 0; same && i < g->n[value]; i++)
    same = ((const float *)got->data)[i] == g->want[value][i];
  return same;
}

struct plan_watch {
  const struct graph *graph;
  bool same;
};

static int plan_watch_node(void *user, const char *node, const char *const *names,
                           const samara_tensor *tensors, size_t count) {
  (void)node;
  struct plan_watch *w = user;
  for (size_t i = 0; i < count; i++)
    w->same = w->same && graph_check(w->graph, (uint32_t)atoi(names[i] + 1), &tensors[i]);
  return 0;
}

// Values that live together must not overlap. Returns whether the plan is as small as the largest
// sum of live values.
static bool plan_is_tight(const samara_session *s) {
  enum { PLAN_ROWS = 2 * LITERAL_VALUES + LITERAL_NODES + 16 };
  samara_memory_row rows[PLAN_ROWS];
  size_t count = 0;
  uint64_t most = 0, end = 0;
  CHECK_EQ_INT(samara_session_memory(s, rows, PLAN_ROWS, &count), SAMARA_OK);
  for (size_t i = 0; i < count && i < PLAN_ROWS; i++) {
    if (rows[i].kind > SAMARA_MEMORY_SCRATCH) continue;
    uint64_t live = 0;
    for (size_t k = 0; k < count && k < PLAN_ROWS; k++) {
      const samara_memory_row *a = &rows[i], *b = &rows[k];
      if (b->kind > SAMARA_MEMORY_SCRATCH) continue;
      if (b->first <= a->first && a->first <= b->last) live += b->size_bytes;
      if (i == k || b->last < a->first || a->last < b->first) continue;
      CHECK(a->offset + a->size_bytes <= b->offset || b->offset + b->size_bytes <= a->offset);
    }
    if (live > most) most = live;
    if (rows[i].offset + rows[i].size_bytes > end) end = rows[i].offset + rows[i].size_bytes;
  }
  return end == most;
}

static void graph_run(const struct graph *g, const samara_session_options *options,
                      size_t *arena_bytes, uint32_t *tight) {
  samara_session *s = NULL;
  REQUIRE(samara_session_create(&g->literal->model, options, &s, NULL) == SAMARA_OK);
  struct plan_watch w = {.graph = g, .same = true};
  samara_session_watch(s, plan_watch_node, &w);
  for (size_t i = 0; i < 2; i++)
    CHECK_EQ_INT(samara_session_set_input(s, i, g->want[i], g->n[i] * sizeof(float)), SAMARA_OK);
  for (int again = 0; again < 2; again++) {
    CHECK_EQ_INT(samara_session_run(s), SAMARA_OK);
    CHECK(w.same);
    for (uint32_t o = 0; o < g->output_count; o++) {
      samara_tensor got;
      CHECK_EQ_INT(samara_session_output(s, o, &got), SAMARA_OK);
      CHECK(graph_check(g, g->outputs[o], &got));
    }
    for (size_t k = 0; k < options->keep_count; k++) {
      samara_tensor got;
      CHECK_EQ_INT(samara_session_kept(s, options->keep[k], &got), SAMARA_OK);
      CHECK(graph_check(g, (uint32_t)atoi(options->keep[k] + 1), &got));
    }
  }
  *arena_bytes = samara_session_arena_bytes(s);
  *tight += plan_is_tight(s);
  samara_session_destroy(s);
}

SMR_TEST(random_graphs_keep_every_value_while_it_lives) {
  size_t plain = 0, kept = 0;
  uint32_t tight = 0, others = 0;
  for (uint32_t seed = 0; seed < PLAN_GRAPHS; seed++) {
    struct plan_random r = {.state = seed * 7919u + 1};
    struct graph g;
    graph_make(&g, &r);
    (void)literal_finish(g.literal);
    samara_session_options options = {.struct_size = sizeof options};
    size_t bytes = 0;
    graph_run(&g, &options, &bytes, &tight);
    plain += bytes;
    const char *keep[3];
    for (size_t k = 0; k < 3; k++) keep[k] = g.text[draw(&r, g.f->f.value_count)];
    options.keep = keep;
    options.keep_count = 3;
    graph_run(&g, &options, &bytes, &others);
    options.keep_all = true;
    graph_run(&g, &options, &bytes, &others);
    kept += bytes;
    for (uint32_t i = 0; i < g.f->f.value_count; i++) free(g.want[i]);
    literal_free(g.literal);
  }
  CHECK(plain < kept * 2 / 3);  // values that die make room
  CHECK(tight >= PLAN_TIGHT);   // 62 when nothing is tried again
}

SMR_TEST(a_chain_in_place_needs_one_buffer) {
  struct literal *l = literal_new();
  struct literal_function *f = literal_add(l, "main", true);
  const uint32_t n = literal_int(f, 1000);
  uint32_t last = literal_vector(f, "x", n);
  literal_input(f, last);
  for (int i = 0; i < 20; i++) {
    const uint32_t next = literal_map(f, &bump_op, "bump", LITERAL_LIST(last), "v", n);
    last = next;
  }
  literal_output(f, last, "y");
  samara_session *s = NULL;
  REQUIRE(samara_session_create(literal_finish(l), NULL, &s, NULL) == SAMARA_OK);
  CHECK_EQ_INT(samara_session_arena_bytes(s), 4032 + 4032);  // the input's own buffer and one more
  literal_close(s, l);
}

SMR_TEST_MAIN(RUN(random_graphs_keep_every_value_while_it_lives);
              RUN(a_chain_in_place_needs_one_buffer))
