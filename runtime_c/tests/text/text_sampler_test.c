// SPDX-License-Identifier: Apache-2.0
// Samplers: against a reference that sorts, recorded tokens, memory, and what callers get wrong.
#include "base/fp.h"

#include <samara/samara_text.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "kernels/philox/philox.h"
#include "text/text_weight.h"

enum { TESTED = 600 };

// Numbers that are the same everywhere.
static uint32_t lcg_state;

static uint32_t lcg(void) {
  lcg_state = lcg_state * 1664525u + 1013904223u;
  return lcg_state >> 8;
}

// Sums of twelve numbers, exact in float, some of them equal.
static void fill(float *logits, size_t n, uint32_t seed, float scale) {
  lcg_state = seed;
  for (size_t i = 0; i < n; i++) {
    int32_t sum = -6 * 4096;
    for (int k = 0; k < 12; k++) sum += (int32_t)(lcg() % 4096);
    logits[i] = (float)sum / 4096 * scale;
  }
}

static samara_sampler *created(const samara_sampler_options *given, size_t n) {
  samara_sampler_options o = *given;
  o.struct_size = sizeof o;
  samara_sampler *s = NULL;
  samara_error error = {SAMARA_OK, ""};
  if (!CHECK_EQ_INT(samara_sampler_create(&o, n, NULL, &s, &error), SAMARA_OK))
    fprintf(stderr, "%s\n", error.text);
  return s;
}

static int32_t next_of(samara_sampler *s, const float *logits, size_t n) {
  int32_t token = -1;
  CHECK_EQ_INT(samara_sampler_next(s, logits, n, &token, NULL), SAMARA_OK);
  return token;
}

// ---- arithmetic ----

SMR_TEST(weights_fall_and_are_powers_of_two) {
  const uint32_t octave = UINT32_C(1) << SMR_TEXT_OCTAVE;
  uint64_t before = smr_text_weight(0);
  uint32_t rising = 0;
  double worst = 0;
  CHECK(before == UINT64_C(1) << SMR_TEXT_UNIT);
  for (uint32_t depth = 1; depth <= octave; depth++) {
    const uint64_t own = smr_text_weight(depth);
    rising += own >= before;
    before = own;
    if (depth % 64 != 0) continue;
    const double exact = exp2((int)SMR_TEXT_UNIT - (double)depth / octave);
    worst = fmax(worst, fabs((double)own - exact) / exact);
  }
  CHECK_EQ_INT(rising, 0);
  CHECK(worst < 0x1p-27);
  // Other octaves are shifted copies, so weights never rise at a border either.
  for (uint32_t k = 1; k <= SMR_TEXT_UNIT + 1; k++)
    CHECK(smr_text_weight(k * octave) == (UINT64_C(1) << SMR_TEXT_UNIT) >> k &&
          smr_text_weight(k * octave - 1) >= smr_text_weight(k * octave));
  CHECK(smr_text_weight(SMR_TEXT_DEPTHS) == 0);
}

SMR_TEST(products_have_upper_halves) {
  CHECK(smr_text_high(UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1);
  CHECK(smr_text_high(UINT64_C(1) << 63, 2) == 1);
  CHECK(smr_text_high(UINT64_MAX, 1) == 0);
  CHECK(smr_text_high(UINT64_C(0x123456789abcdef0), UINT64_C(0xfedcba9876543210)) ==
        UINT64_C(0x121fa00ad77d7422));
}

SMR_TEST(numbers_are_philox) {
  for (uint64_t block = 0; block < 5; block++) {
    const struct smr_philox stream = {
        .key = UINT64_C(0x123456789abcdef), .block = block << 31, .high = UINT64_C(0x746f6b656e)};
    uint32_t words[4];
    smr_philox_kernels(0)->words(4, &stream, words);
    CHECK(smr_text_random(stream.key, stream.block) == ((uint64_t)words[1] << 32 | words[0]));
  }
}

// ---- a reference that sorts ----

struct ranked {
  uint64_t weight;
  uint32_t depth, id;
};

static int by_rank(const void *a, const void *b) {
  const struct ranked *x = a, *y = b;
  if (x->depth != y->depth) return x->depth < y->depth ? -1 : 1;
  return x->id < y->id ? -1 : 1;
}

static int by_id(const void *a, const void *b) {
  const struct ranked *x = a, *y = b;
  return x->id < y->id ? -1 : 1;
}

// As docs/guides/text.md defines it; `seen` holds the `seen_count` tokens that are penalised.
static int32_t reference(const samara_sampler_options *o, const float *logits, size_t n,
                         const int32_t *seen, size_t seen_count, uint64_t drawn) {
  static struct ranked rows[TESTED];
  static float scores[TESTED];
  memcpy(scores, logits, n * sizeof *logits);
  for (size_t i = 0; i < seen_count && o->repetition_penalty != 0; i++) {
    const float x = logits[seen[i]], p = o->repetition_penalty;
    scores[seen[i]] = x < 0 ? x * p : x / p;
  }
  size_t best = 0;
  for (size_t i = 1; i < n; i++) best = scores[i] > scores[best] ? i : best;
  if (o->temperature == 0) return (int32_t)best;
  const float per =
      (float)fmin(1.4426950408889634 * 16777216 / (double)o->temperature, (double)FLT_MAX);
  for (size_t i = 0; i < n; i++) {
    const float depth = (scores[best] - scores[i]) * per;
    rows[i].depth = depth < (float)SMR_TEXT_DEPTHS ? (uint32_t)depth : SMR_TEXT_DEPTHS;
    rows[i].weight = smr_text_weight(rows[i].depth);
    rows[i].id = (uint32_t)i;
  }
  qsort(rows, n, sizeof *rows, by_rank);
  size_t kept = o->top_k != 0 && o->top_k < n ? o->top_k : n;
  uint64_t sum = 0, before = 0;
  for (size_t i = 0; i < kept; i++) sum += rows[i].weight;
  if (o->top_p != 0 && o->top_p < 1) {
    const uint64_t share = (uint64_t)((double)o->top_p * 4294967296.0);
    const uint64_t whole = smr_text_high(sum, share << 32), rest = sum * (share << 32);
    size_t i = 0;
    while (before < whole || (before == whole && rest != 0)) before += rows[i++].weight;
    kept = i;
  }
  while (o->min_p != 0 && kept > 1 && (double)rows[kept - 1].weight < (double)o->min_p * 0x1p40)
    kept--;
  qsort(rows, kept, sizeof *rows, by_id);
  sum = 0;
  for (size_t i = 0; i < kept; i++) sum += rows[i].weight;
  uint64_t left = smr_text_high(smr_text_random(o->seed, drawn), sum);
  size_t at = 0;
  while (left >= rows[at].weight) left -= rows[at++].weight;
  return (int32_t)rows[at].id;
}

static float pick_float(const float *values, size_t count) { return values[lcg() % count]; }

SMR_TEST(tokens_are_those_of_the_reference) {
  static const float temperatures[] = {0, 0.01f, 0.7f, 1, 1.5f, 50, 1e-38f, 1e38f};
  static const float top_ps[] = {0, 0.0009765625f, 0.5f, 0.90625f, 0.9375f, 1};
  static const float min_ps[] = {0, 0.001f, 0.05f, 0.5f, 1};
  static const float penalties[] = {0, 1, 1.3f, 0.5f, 4};
  static const size_t top_ks[] = {0, 1, 2, 7, 40, 599, 5000};
  for (uint32_t seed = 1; seed <= 1500; seed++) {
    const size_t n = seed <= 70 ? seed : 1 + seed * 7919u % TESTED;
    float *logits = (float *)malloc(n * sizeof *logits);  // exact, for sanitizers
    fill(logits, n, seed, seed % 3 == 0 ? 0.25f : 4);
    for (size_t i = 0; seed % 5 == 0 && i + 1 < n; i += 3) logits[i] = -INFINITY;
    const samara_sampler_options o = {.temperature = pick_float(temperatures, 8),
                                      .top_p = pick_float(top_ps, 6),
                                      .min_p = pick_float(min_ps, 5),
                                      .repetition_penalty = pick_float(penalties, 5),
                                      .top_k = top_ks[lcg() % 7],
                                      .repetition_window = lcg() % 4,
                                      .seed = seed * UINT64_C(0x9E3779B97F4A7C15)};
    samara_sampler *s = created(&o, n);
    int32_t seen[16];
    size_t count = 0;
    for (; count < 5; count++) {
      seen[count] = (int32_t)(lcg() % n);
      CHECK_EQ_INT(samara_sampler_accept(s, seen[count], NULL), SAMARA_OK);
    }
    for (uint64_t drawn = 0; drawn < 6; drawn++, count++) {
      const size_t window =
          o.repetition_window == 0 || o.repetition_window > count ? count : o.repetition_window;
      const int32_t want = reference(&o, logits, n, seen + count - window, window, drawn);
      seen[count] = next_of(s, logits, n);
      if (!CHECK_EQ_INT(seen[count], want)) fprintf(stderr, "seed %u, draw %d\n", seed, (int)drawn);
    }
    samara_sampler_destroy(s);
    free(logits);
  }
}

// ---- recorded ----

SMR_TEST(tokens_are_those_recorded) {
  static const struct {
    samara_sampler_options options;
    int32_t tokens[8];
  } rows[] = {
      {{.temperature = 0}, {23267, 23267, 23267, 23267, 23267, 23267, 23267, 23267}},
      {{.temperature = 1, .seed = 1}, {9983, 6137, 28523, 559, 31485, 16373, 22020, 6506}},
      {{.temperature = 0.7f, .top_k = 40, .seed = 2},
       {19337, 20668, 22258, 23267, 17588, 30576, 30576, 22086}},
      {{.temperature = 1.2f, .top_p = 0.9f, .seed = 3},
       {31711, 23267, 29207, 20854, 25905, 22024, 23756, 3409}},
      {{.temperature = 2, .min_p = 0.02f, .seed = 4},
       {782, 19765, 1349, 13181, 5116, 13252, 16627, 31092}},
      {{.temperature = 0.9f,
        .top_k = 100,
        .top_p = 0.95f,
        .min_p = 0.01f,
        .repetition_penalty = 1.2f,
        .repetition_window = 64,
        .seed = UINT64_MAX},
       {11153, 13876, 25501, 15040, 321, 9583, 10362, 30817}},
  };
  enum { N = 32000 };
  float *logits = (float *)malloc(N * sizeof *logits);
  fill(logits, N, 7, 2);
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    samara_sampler *s = created(&rows[r].options, N);
    for (int again = 0; again < 2; again++) {
      for (int i = 0; i < 8; i++) {
        const int32_t token = next_of(s, logits, N);
        if (!CHECK_EQ_INT(token, rows[r].tokens[i])) fprintf(stderr, "row %zu, token %d\n", r, i);
      }
      samara_sampler_reset(s);
    }
    samara_sampler_destroy(s);
  }
  free(logits);
}

// ---- behaviour ----

SMR_TEST(the_highest_is_the_first_of_equals) {
  const float logits[] = {-1, -0.0f, 0.0f, -INFINITY};
  samara_sampler *s = NULL;
  CHECK_EQ_INT(samara_sampler_create(NULL, 4, NULL, &s, NULL), SAMARA_OK);
  CHECK_EQ_INT(next_of(s, logits, 4), 1);
  samara_sampler_destroy(s);
  s = created(&(samara_sampler_options){.temperature = 1, .top_k = 1}, 4);
  for (int i = 0; i < 20; i++) CHECK_EQ_INT(next_of(s, logits, 4), 1);
  samara_sampler_destroy(s);
}

SMR_TEST(extreme_logits) {
  const float far[] = {-3e38f, 3e38f, -INFINITY}, low[] = {-INFINITY, -3.40282347e38f};
  for (int i = 0; i < 3; i++) {
    static const float temperatures[] = {0, 1, 1e-38f};
    samara_sampler *s = created(&(samara_sampler_options){.temperature = temperatures[i]}, 3);
    CHECK_EQ_INT(next_of(s, far, 3), 1);
    samara_sampler_destroy(s);
    s = created(&(samara_sampler_options){.temperature = temperatures[i]}, 2);
    CHECK_EQ_INT(next_of(s, low, 2), 1);
    samara_sampler_destroy(s);
  }
}

SMR_TEST(a_penalty_is_for_the_window) {
  const float logits[] = {3, 2, 1, -1};
  const samara_sampler_options o = {.repetition_penalty = 4, .repetition_window = 2};
  samara_sampler *s = created(&o, 4);
  CHECK_EQ_INT(next_of(s, logits, 4), 0);
  CHECK_EQ_INT(next_of(s, logits, 4), 1);
  CHECK_EQ_INT(next_of(s, logits, 4), 2);  // 0.75, 0.5, 1
  CHECK_EQ_INT(next_of(s, logits, 4), 0);  // the first token has left the window
  samara_sampler_reset(s);
  CHECK_EQ_INT(samara_sampler_accept(s, 0, NULL), SAMARA_OK);
  CHECK_EQ_INT(next_of(s, logits, 4), 1);
  samara_sampler_destroy(s);
  samara_sampler_reset(NULL);
  samara_sampler_destroy(NULL);
}

SMR_TEST(bad_logits_change_nothing) {
  enum { N = 40 };
  float logits[N], bad[N];
  fill(logits, N, 3, 1);
  const samara_sampler_options o = {.temperature = 1, .repetition_penalty = 2, .seed = 9};
  samara_sampler *s = created(&o, N), *clean = created(&o, N);
  static const size_t places[] = {0, 5, 31, 32, N - 1};
  for (size_t i = 0; i < 5; i++) {
    for (int kind = 0; kind < 3; kind++) {
      samara_error error = {SAMARA_OK, ""};
      int32_t token = 77;
      memcpy(bad, logits, sizeof bad);
      bad[places[i]] = kind == 0 ? NAN : INFINITY;
      for (size_t k = 0; kind == 2 && k < N; k++) bad[k] = -INFINITY;
      CHECK_EQ_INT(samara_sampler_next(s, bad, N, &token, &error), SAMARA_BAD_DATA);
      CHECK_EQ_INT(token, 77);
      CHECK(strstr(error.text, kind == 0 ? "NaN" : "infinity") != NULL);
    }
    CHECK_EQ_INT(next_of(s, logits, N), next_of(clean, logits, N));
  }
  samara_sampler_destroy(s);
  samara_sampler_destroy(clean);
}

SMR_TEST(what_callers_get_wrong) {
  const samara_sampler_options bad[] = {
      {.temperature = -1}, {.temperature = NAN},       {.temperature = INFINITY},
      {.top_p = 1.5f},     {.top_p = -0.5f},           {.min_p = 2},
      {.min_p = NAN},      {.repetition_penalty = -1}, {.repetition_penalty = INFINITY},
  };
  samara_error error = {SAMARA_OK, ""};
  samara_sampler *s = (samara_sampler *)&error;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    samara_sampler_options o = bad[i];
    o.struct_size = sizeof o;
    CHECK_EQ_INT(samara_sampler_create(&o, 9, NULL, &s, &error), SAMARA_BAD_ARGUMENT);
    CHECK(s == NULL && strstr(error.text, "expected 0 to") != NULL);
  }
  samara_sampler_options o = {.struct_size = 0};
  CHECK_EQ_INT(samara_sampler_create(&o, 9, NULL, &s, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_sampler_create(NULL, 0, NULL, &s, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_sampler_create(NULL, (1 << 23) + 1, NULL, &s, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_sampler_create(NULL, 9, NULL, NULL, NULL), SAMARA_BAD_ARGUMENT);
  o = (samara_sampler_options){
      .struct_size = sizeof o, .repetition_penalty = 2, .repetition_window = SIZE_MAX / 2};
  CHECK_EQ_INT(samara_sampler_create(&o, 9, NULL, &s, NULL), SAMARA_OUT_OF_MEMORY);
  CHECK_EQ_INT(samara_sampler_create(NULL, 2, NULL, &s, NULL), SAMARA_OK);
  const float logits[] = {1, 2};
  int32_t token;
  CHECK_EQ_INT(samara_sampler_next(NULL, logits, 2, &token, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_sampler_next(s, NULL, 2, &token, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_sampler_next(s, logits, 2, NULL, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_sampler_next(s, logits, 1, &token, &error), SAMARA_BAD_ARGUMENT);
  CHECK(strstr(error.text, "1 logits for a vocabulary of 2") != NULL);
  CHECK_EQ_INT(samara_sampler_accept(NULL, 0, NULL), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_sampler_accept(s, 2, &error), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_sampler_accept(s, -1, &error), SAMARA_BAD_ARGUMENT);
  samara_sampler_destroy(s);
}

// An allocator that fails at its n-th call.
struct short_memory {
  size_t left, calls, live;
};

static void *short_allocate(void *user, size_t bytes) {
  struct short_memory *m = (struct short_memory *)user;
  m->calls++;
  if (m->left == 0) return NULL;
  m->left--;
  void *block = aligned_alloc(64, (bytes + 63) / 64 * 64);
  m->live += block != NULL;
  return block;
}

static void short_release(void *user, void *block) {
  struct short_memory *m = (struct short_memory *)user;
  if (block != NULL) m->live--;
  free(block);
}

SMR_TEST(no_memory) {
  const samara_sampler_options o = {.struct_size = sizeof o,
                                    .temperature = 1,
                                    .top_k = 2,
                                    .repetition_penalty = 2,
                                    .repetition_window = 3};
  const float logits[] = {1, 2, 3};
  samara_status status = SAMARA_OUT_OF_MEMORY;
  for (size_t k = 0; status != SAMARA_OK && k < 10; k++) {
    struct short_memory m = {k, 0, 0};
    const samara_allocator memory = {
        .allocate = short_allocate, .release = short_release, .user = &m};
    samara_error error = {SAMARA_OK, ""};
    samara_sampler *s = NULL;
    status = samara_sampler_create(&o, 3, &memory, &s, &error);
    CHECK(status == SAMARA_OK || (status == SAMARA_OUT_OF_MEMORY && s == NULL));
    CHECK_EQ_INT(status, error.status);
    const size_t calls = m.calls;
    for (int i = 0; s != NULL && i < 5; i++) (void)next_of(s, logits, 3);
    CHECK_EQ_INT(m.calls, calls);
    samara_sampler_destroy(s);
    CHECK_EQ_INT(m.live, 0);
  }
  CHECK_EQ_INT(status, SAMARA_OK);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  RUN(weights_fall_and_are_powers_of_two);
  RUN(products_have_upper_halves);
  RUN(numbers_are_philox);
  RUN(tokens_are_those_of_the_reference);
  RUN(tokens_are_those_recorded);
  RUN(the_highest_is_the_first_of_equals);
  RUN(extreme_logits);
  RUN(a_penalty_is_for_the_window);
  RUN(bad_logits_change_nothing);
  RUN(what_callers_get_wrong);
  RUN(no_memory);
  return SMR_TEST_END();
}
