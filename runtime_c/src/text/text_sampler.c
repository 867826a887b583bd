// SPDX-License-Identifier: Apache-2.0
// Samplers: logits to tokens (docs/guides/text.md).
//
// Nothing is sorted. Tokens are ordered by depth (text_weight.h), then by id. What top_k and top_p
// keep are all tokens above one place of that order, which is found by counting, ten bits of the
// depth at a time. All sums are of integers, so their order does not matter.
#include "base/fp.h"

#include <samara/samara_text.h>

#include <float.h>
#include <string.h>

#include "base/alloc.h"
#include "text/text_weight.h"

enum {
  SAMPLER_MOST = 1 << 23,  // tokens: the sum of all weights fits 63 bits
  SAMPLER_DIGIT = 10,      // bits of a depth that are counted at a time
  SAMPLER_BINS = 1 << SAMPLER_DIGIT,
  SAMPLER_DIGITS = 3,
  SAMPLER_LANES = 16,
};

struct samara_sampler {
  samara_allocator memory;
  uint64_t seed, drawn;  // tokens drawn
  uint64_t top_p;        // in units of 2^-32, or 0 for all
  size_t window, seen_count, slot;
  uint32_t vocabulary, top_k;
  uint32_t deepest;  // depth up to which min_p keeps tokens
  float penalty;     // 1: none
  float depth_per;   // depths of a logit's difference of 1; 0: take the highest
  float *scores;     // logits with penalties
  uint32_t *depths, *ids;
  uint32_t *recent;  // ring of `window` tokens
  uint32_t *seen;    // a bit for each token; with a window all are 0 between calls
  uint64_t *bins;    // SAMPLER_BINS
};

// ---- create ----

static bool sampler_in(float value, float low, float high) { return value >= low && value <= high; }

static samara_status sampler_check(const samara_sampler_options *o, size_t vocabulary,
                                   samara_error *error) {
  if (vocabulary == 0 || vocabulary > SAMPLER_MOST)
    SMR_FAIL(error, BAD_ARGUMENT, "a vocabulary of %zu tokens, expected 1 to %d", vocabulary,
             (int)SAMPLER_MOST);
  const struct {
    const char *name;
    float value, high;
  } ranges[] = {
      {"repetition_penalty", o->repetition_penalty, FLT_MAX},
      {"temperature", o->temperature, FLT_MAX},
      {"top_p", o->top_p, 1},
      {"min_p", o->min_p, 1},
  };
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (!sampler_in(ranges[i].value, 0, ranges[i].high))
      SMR_FAIL(error, BAD_ARGUMENT, "%s is %g, expected 0 to %g", ranges[i].name,
               smr_g(ranges[i].value), smr_g(ranges[i].high));
  return SAMARA_OK;
}

// The largest depth whose weight is at least `share` of the highest.
static uint32_t sampler_deepest(float share) {
  const double exact = (double)share * (double)(UINT64_C(1) << SMR_TEXT_UNIT);
  uint64_t least = (uint64_t)exact;
  least += (double)least < exact;
  uint32_t low = 0, high = SMR_TEXT_DEPTHS;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    if (smr_text_weight(middle) >= least)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static void sampler_set(samara_sampler *s, const samara_sampler_options *o, size_t vocabulary) {
  s->vocabulary = (uint32_t)vocabulary;
  s->seed = o->seed;
  s->penalty = o->repetition_penalty == 0 ? 1 : o->repetition_penalty;
  if (s->penalty != 1) s->window = o->repetition_window;
  if (o->temperature == 0) return;
  const double log2_e = 1.4426950408889634, octave = (double)(1 << SMR_TEXT_OCTAVE);
  const double per = log2_e * octave / (double)o->temperature;
  s->depth_per = per < (double)FLT_MAX ? (float)per : FLT_MAX;
  if (o->top_k < vocabulary) s->top_k = (uint32_t)o->top_k;
  if (o->top_p < 1) s->top_p = (uint64_t)((double)o->top_p * 4294967296.0);
  if (o->top_p > 0 && o->top_p < 1 && s->top_p == 0) s->top_p = 1;
  s->deepest = o->min_p > 0 ? sampler_deepest(o->min_p) : (uint32_t)SMR_TEXT_DEPTHS;
}

static size_t sampler_words(const samara_sampler *s) { return (s->vocabulary + 31) / 32; }

static bool sampler_filters(const samara_sampler *s) {
  return s->top_k != 0 || s->top_p != 0 || s->deepest < (uint32_t)SMR_TEXT_DEPTHS;
}

// Lay out the sampler's arrays behind it; with a bump that measures, only counts.
static samara_sampler *sampler_lay(const samara_sampler *s, struct smr_bump *bump) {
  samara_sampler *made = (samara_sampler *)smr_bump_take(bump, 1, sizeof *made);
  const bool penalty = s->penalty != 1, random = s->depth_per != 0;
  const size_t each = sizeof(uint32_t), n = s->vocabulary;
  void *bins = smr_bump_take(bump, random ? SAMPLER_BINS : 0, sizeof(uint64_t));
  void *scores = smr_bump_take(bump, penalty ? n : 0, sizeof(float));
  void *depths = smr_bump_take(bump, random ? n : 0, each);
  void *ids = smr_bump_take(bump, random && sampler_filters(s) ? n : 0, each);
  void *recent = smr_bump_take(bump, s->window, each);
  void *seen = smr_bump_take(bump, penalty ? sampler_words(s) : 0, each);
  if (made == NULL) return NULL;
  *made = *s;
  made->bins = (uint64_t *)bins;
  made->scores = (float *)scores;
  made->depths = (uint32_t *)depths;
  made->ids = (uint32_t *)ids;
  made->recent = (uint32_t *)recent;
  made->seen = (uint32_t *)seen;
  return made;
}

samara_status samara_sampler_create(const samara_sampler_options *options, size_t vocabulary,
                                    const samara_allocator *allocator, samara_sampler **out,
                                    samara_error *error) {
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "out is NULL");
  *out = NULL;
  samara_sampler_options own;
  SMR_TRY(smr_options_read(options, &own, sizeof own, "sampler options", error));
  SMR_TRY(sampler_check(&own, vocabulary, error));
  samara_sampler plan = {.memory = smr_allocator(allocator)};
  sampler_set(&plan, &own, vocabulary);
  struct smr_bump bump = {0};
  (void)sampler_lay(&plan, &bump);
  if (bump.overflow) return smr_no_memory(error, SIZE_MAX);
  void *block = smr_allocate(&plan.memory, bump.used);
  if (block == NULL) return smr_no_memory(error, bump.used);
  bump = (struct smr_bump){.base = (uint8_t *)block, .capacity = bump.used};
  *out = sampler_lay(&plan, &bump);
  samara_sampler_reset(*out);
  return SAMARA_OK;
}

void samara_sampler_destroy(samara_sampler *sampler) {
  if (sampler == NULL) return;
  const samara_allocator memory = sampler->memory;
  smr_release(&memory, sampler);
}

void samara_sampler_reset(samara_sampler *sampler) {
  if (sampler == NULL) return;
  sampler->drawn = 0;
  sampler->seen_count = sampler->slot = 0;
  if (sampler->seen != NULL)
    memset(sampler->seen, 0, sampler_words(sampler) * sizeof *sampler->seen);
}

// ---- repetition ----

static void sampler_remember(samara_sampler *s, uint32_t id) {
  if (s->penalty == 1) return;
  if (s->window == 0) {
    s->seen[id / 32] |= UINT32_C(1) << id % 32;
    s->seen_count = 1;
    return;
  }
  s->recent[s->slot] = id;
  s->slot = s->slot + 1 == s->window ? 0 : s->slot + 1;
  if (s->seen_count < s->window) s->seen_count++;
}

static void sampler_penalize_one(const samara_sampler *s, uint32_t id) {
  const float score = s->scores[id];
  s->scores[id] = score < 0 ? score * s->penalty : score / s->penalty;
}

// The logits, with penalties if there are any.
static const float *sampler_scores(samara_sampler *s, const float *logits) {
  if (s->penalty == 1 || s->seen_count == 0) return logits;
  memcpy(s->scores, logits, s->vocabulary * sizeof *logits);
  if (s->window == 0) {
    for (uint32_t w = 0; w < sampler_words(s); w++)
      for (uint32_t bits = s->seen[w], id = 32 * w; bits != 0; bits >>= 1, id++)
        if ((bits & 1) != 0) sampler_penalize_one(s, id);
    return s->scores;
  }
  // Each token once, however often it is in the window.
  for (size_t i = 0; i < s->seen_count; i++) {
    const uint32_t id = s->recent[i], bit = UINT32_C(1) << id % 32;
    if ((s->seen[id / 32] & bit) == 0) sampler_penalize_one(s, id);
    s->seen[id / 32] |= bit;
  }
  for (size_t i = 0; i < s->seen_count; i++) s->seen[s->recent[i] / 32] = 0;
  return s->scores;
}

samara_status samara_sampler_accept(samara_sampler *sampler, int32_t token, samara_error *error) {
  if (sampler == NULL) SMR_FAIL(error, BAD_ARGUMENT, "the sampler is NULL");
  if (token < 0 || (uint32_t)token >= sampler->vocabulary)
    SMR_FAIL(error, BAD_ARGUMENT, "token %d of a vocabulary of %u", (int)token,
             (unsigned)sampler->vocabulary);
  sampler_remember(sampler, (uint32_t)token);
  return SAMARA_OK;
}

// ---- one token ----

// The highest score. Several at a time, which compilers make vectors of.
static samara_status sampler_highest(const float *scores, uint32_t n, float *highest,
                                     samara_error *error) {
  float high[SAMPLER_LANES];
  int32_t good[SAMPLER_LANES];
  for (int k = 0; k < SAMPLER_LANES; k++) high[k] = -FLT_MAX, good[k] = 1;
  uint32_t i = 0;
  for (; i + SAMPLER_LANES <= n; i += SAMPLER_LANES)
    for (int k = 0; k < SAMPLER_LANES; k++) {
      const float x = scores[i + (uint32_t)k];
      good[k] &= x <= FLT_MAX;
      high[k] = x > high[k] ? x : high[k];
    }
  for (; i < n; i++) {
    good[0] &= scores[i] <= FLT_MAX;
    high[0] = scores[i] > high[0] ? scores[i] : high[0];
  }
  *highest = high[0];
  for (int k = 1; k < SAMPLER_LANES; k++) {
    good[0] &= good[k];
    *highest = high[k] > *highest ? high[k] : *highest;
  }
  for (i = 0; i < n && good[0] == 0; i++)
    if (!(scores[i] <= FLT_MAX))
      SMR_FAIL(error, BAD_DATA, "the logit of token %u is %s", (unsigned)i,
               scores[i] > 0 ? "infinity" : "NaN");
  // -FLT_MAX may also be a logit.
  for (i = 0; *highest == -FLT_MAX && i < n; i++)
    if (scores[i] == -FLT_MAX) return SAMARA_OK;
  if (*highest == -FLT_MAX) SMR_FAIL(error, BAD_DATA, "all logits are -infinity");
  return SAMARA_OK;
}

static uint32_t sampler_first(const float *scores, float highest) {
  uint32_t id = 0;
  while (scores[id] != highest) id++;
  return id;
}

static void sampler_depths(const samara_sampler *s, const float *restrict scores, float highest) {
  const uint32_t n = s->vocabulary;
  const float per = s->depth_per, most = (float)SMR_TEXT_DEPTHS;  // exact
  uint32_t *restrict depths = s->depths;
  uint32_t i = 0;
  for (; i + SAMPLER_LANES <= n; i += SAMPLER_LANES)
    for (uint32_t k = i; k < i + SAMPLER_LANES; k++) {
      const float depth = (highest - scores[k]) * per;
      depths[k] = (uint32_t)(int32_t)(depth < most ? depth : most);
    }
  for (; i < n; i++) {
    const float depth = (highest - scores[i]) * per;
    depths[i] = (uint32_t)(int32_t)(depth < most ? depth : most);
  }
}

// Add up the tokens (or weights, if `weighted`) whose depths begin with `prefix`, by the next
// digit.
static void sampler_count(samara_sampler *s, uint32_t n, bool weighted, uint32_t prefix,
                          uint32_t shift) {
  memset(s->bins, 0, SAMPLER_BINS * sizeof *s->bins);
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t depth = s->depths[i], digits = depth >> shift;
    if (depth >= (uint32_t)SMR_TEXT_DEPTHS || digits >> SAMPLER_DIGIT != prefix) continue;
    s->bins[digits % SAMPLER_BINS] += weighted ? smr_text_weight(depth) : 1;
  }
}

// How much weight top_p keeps: its share of the sum of the bins, rounded up.
static uint64_t sampler_share(const samara_sampler *s) {
  uint64_t sum = 0;
  for (uint32_t b = 0; b < SAMPLER_BINS; b++) sum += s->bins[b];
  return (sum >> 32) * s->top_p + (((sum & UINT32_MAX) * s->top_p + UINT32_MAX) >> 32);
}

// Keep tokens up to `depth`, of that depth only the first `ties`. Returns how many remain.
static uint32_t sampler_keep(samara_sampler *s, uint32_t n, bool named, uint32_t depth,
                             uint64_t ties) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t own = s->depths[i];
    if (own > depth || (own == depth && ties == 0)) continue;
    if (own == depth) ties--;
    s->depths[kept] = own;
    s->ids[kept++] = named ? s->ids[i] : i;
  }
  return kept;
}

// Keep the first tokens in order until they make up top_p (`weighted`), or are top_k.
static uint32_t sampler_cut(samara_sampler *s, uint32_t n, bool named, bool weighted) {
  uint32_t depth = 0;
  uint64_t goal = 0, before = 0;
  for (int digit = SAMPLER_DIGITS - 1; digit >= 0; digit--) {
    const uint32_t shift = (uint32_t)(digit * SAMPLER_DIGIT);
    sampler_count(s, n, weighted, depth, shift);
    if (digit == SAMPLER_DIGITS - 1) goal = weighted ? sampler_share(s) : s->top_k;
    uint32_t b = 0;
    while (b < SAMPLER_BINS && s->bins[b] < goal - before) before += s->bins[b++];
    // Fewer tokens than top_k have weights.
    if (b == SAMPLER_BINS) return sampler_keep(s, n, named, (uint32_t)SMR_TEXT_DEPTHS - 1, n);
    depth = depth << SAMPLER_DIGIT | b;
    // Most tokens are below the first digit's place: the others are few to count again.
    if (digit == SAMPLER_DIGITS - 1) {
      n = sampler_keep(s, n, named, (depth << shift) + (UINT32_C(1) << shift) - 1, n);
      named = true;
    }
  }
  const uint64_t each = weighted ? smr_text_weight(depth) : 1;
  return sampler_keep(s, n, named, depth, (goal - before + each - 1) / each);
}

// The place of the token at which the sum of weights exceeds a random share of the whole.
static uint32_t sampler_pick(samara_sampler *s, uint32_t n) {
  const uint32_t block = n / SAMPLER_BINS + 1;
  uint64_t sum = 0;
  uint32_t b = 0, i = 0;
  for (; i < n; b++) {
    uint64_t part = 0;
    for (const uint32_t end = n - i < block ? n : i + block; i < end; i++)
      part += smr_text_weight(s->depths[i]);
    s->bins[b] = part;
    sum += part;
  }
  uint64_t left = smr_text_high(smr_text_random(s->seed, s->drawn), sum);
  for (b = 0; left >= s->bins[b]; b++) left -= s->bins[b];
  for (i = b * block;; i++) {
    const uint64_t own = smr_text_weight(s->depths[i]);
    if (left < own) return i;
    left -= own;
  }
}

static uint32_t sampler_draw(samara_sampler *s, const float *scores, float highest) {
  uint32_t n = s->vocabulary;
  bool named = false;
  sampler_depths(s, scores, highest);
  if (s->top_k != 0) n = sampler_cut(s, n, named, false), named = true;
  if (s->top_p != 0) n = sampler_cut(s, n, named, true), named = true;
  if (s->deepest < (uint32_t)SMR_TEXT_DEPTHS)
    n = sampler_keep(s, n, named, s->deepest, n), named = true;
  const uint32_t at = sampler_pick(s, n);
  return named ? s->ids[at] : at;
}

samara_status samara_sampler_next(samara_sampler *sampler, const float *logits, size_t count,
                                  int32_t *token, samara_error *error) {
  if (sampler == NULL || logits == NULL || token == NULL)
    SMR_FAIL(error, BAD_ARGUMENT, "the sampler, logits or token is NULL");
  if (count != sampler->vocabulary)
    SMR_FAIL(error, BAD_ARGUMENT, "%zu logits for a vocabulary of %u", count,
             (unsigned)sampler->vocabulary);
  const float *scores = sampler_scores(sampler, logits);
  float highest;
  SMR_TRY(sampler_highest(scores, sampler->vocabulary, &highest, error));
  const uint32_t id = sampler->depth_per == 0 ? sampler_first(scores, highest)
                                              : sampler_draw(sampler, scores, highest);
  sampler_remember(sampler, id);
  sampler->drawn++;
  *token = (int32_t)id;
  return SAMARA_OK;
}
