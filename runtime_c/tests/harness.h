// SPDX-License-Identifier: Apache-2.0
// The C test harness: plain functions, one executable per file, one printed line per failed check.
//
//   SMR_TEST(adds) { CHECK_EQ_INT(1 + 1, 2); }
//   int main(int argc, char **argv) {
//     SMR_TEST_BEGIN(argc, argv);   // optional: arguments select tests by substring
//     RUN(adds);
//     return SMR_TEST_END();
//   }
//
// A failed CHECK is reported and counted, and the test goes on; REQUIRE leaves the test function.
// All of them have a value, so `if (!CHECK(p != NULL)) return;` works too. A file in which nothing
// was run, because the list is empty or the filter matches nothing, fails.

#ifndef SMR_TESTS_HARNESS_H
#define SMR_TESTS_HARNESS_H

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct smr_test_state {
  int n_filters;
  char **filters;
  const char *current;
  unsigned long n_run;
  unsigned long n_checks;
  unsigned long n_failed;   // checks
  unsigned long n_skipped;  // tests left by SKIP, each with its reason
};

/// Exit status of an executable whose every test was skipped; ctest shows it as skipped.
enum { SMR_TEST_SKIPPED = 77 };

/// The one state of this executable. Checks may run on the main thread only.
static inline struct smr_test_state *smr_test_state(void) {
  static struct smr_test_state state;
  return &state;
}

/// Lines reported per executable before the harness only counts: a kernel gone wrong fails a
/// million checks, and the first ones say why.
enum { SMR_TEST_MAX_REPORTS = 50 };

static inline int smr_test_check(int ok, const char *file, int line) {
  struct smr_test_state *state = smr_test_state();
  state->n_checks++;
  if (ok) return 1;
  state->n_failed++;
  if (state->n_failed == SMR_TEST_MAX_REPORTS + 1)
    fprintf(stderr, "%s: further failures are counted, not printed\n", file);
  if (state->n_failed > SMR_TEST_MAX_REPORTS) return 0;
  fprintf(stderr, "%s:%d: %s: ", file, line, state->current ? state->current : "main");
  return 0;
}

/// Whether the failure just recorded still gets its text.
static inline int smr_test_reports(void) {
  return smr_test_state()->n_failed <= SMR_TEST_MAX_REPORTS;
}

static inline int smr_test_cond(int ok, const char *text, const char *file, int line) {
  if (smr_test_check(ok, file, line)) return 1;
  if (smr_test_reports()) fprintf(stderr, "CHECK(%s) is false\n", text);
  return 0;
}

static inline int smr_test_int(intmax_t a, intmax_t b, const char *ta, const char *tb,
                               const char *file, int line) {
  if (smr_test_check(a == b, file, line)) return 1;
  if (smr_test_reports())
    fprintf(stderr, "%s is %" PRIdMAX ", expected %s = %" PRIdMAX "\n", ta, a, tb, b);
  return 0;
}

static inline int smr_test_str(const char *a, const char *b, const char *ta, const char *tb,
                               const char *file, int line) {
  int same = a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
  if (smr_test_check(same, file, line)) return 1;
  if (smr_test_reports())
    fprintf(stderr, "%s is \"%s\", expected %s = \"%s\"\n", ta, a ? a : "(null)", tb,
            b ? b : "(null)");
  return 0;
}

static inline int smr_test_contains(const char *text, const char *part, const char *ttext,
                                    const char *file, int line) {
  int found = text != NULL && part != NULL && strstr(text, part) != NULL;
  if (smr_test_check(found, file, line)) return 1;
  if (smr_test_reports())
    fprintf(stderr, "%s is \"%s\", expected it to contain \"%s\"\n", ttext, text ? text : "(null)",
            part ? part : "(null)");
  return 0;
}

/// NaN is near NaN only, an infinity is near itself only.
static inline int smr_test_near(double a, double b, double tolerance, const char *ta,
                                const char *tb, const char *file, int line) {
  int ok;
  if (isnan(a) || isnan(b))
    ok = isnan(a) && isnan(b);
  else if (isinf(a) || isinf(b))
    ok = isinf(a) && isinf(b) && (a > 0) == (b > 0);
  else
    ok = fabs(a - b) <= tolerance;
  if (smr_test_check(ok, file, line)) return 1;
  if (smr_test_reports())
    fprintf(stderr, "%s is %.9g, expected %s = %.9g within %.3g (off by %.3g)\n", ta, a, tb, b,
            tolerance, fabs(a - b));
  return 0;
}

static inline int smr_test_mem(const void *a, const void *b, size_t n_bytes, const char *ta,
                               const char *tb, const char *file, int line) {
  const unsigned char *pa = (const unsigned char *)a;
  const unsigned char *pb = (const unsigned char *)b;
  size_t i = 0;
  while (i < n_bytes && pa[i] == pb[i]) i++;
  if (smr_test_check(i == n_bytes, file, line)) return 1;
  if (smr_test_reports())
    fprintf(stderr, "%s differs from %s at byte %zu of %zu: %02x, expected %02x\n", ta, tb, i,
            n_bytes, (unsigned)pa[i], (unsigned)pb[i]);
  return 0;
}

/// Whether the list in SAMARA_REQUIRE names `subject` (or `all`): then it may not be missing.
static inline int smr_test_required(const char *subject) {
  const char *list = getenv("SAMARA_REQUIRE");
  while (list != NULL && *list != '\0') {
    size_t length = strcspn(list, ", ");
    if (length == strlen(subject) && strncmp(list, subject, length) == 0) return 1;
    if (length == 3 && strncmp(list, "all", 3) == 0) return 1;
    list += length + (list[length] != '\0');
  }
  return 0;
}

static inline int smr_test_not_run(const char *subject, const char *why, const char *file,
                                   int line) {
  fprintf(stderr, "NOT RUN: %s (%s)\n", subject, why);
  if (smr_test_check(!smr_test_required(subject), file, line)) return 1;
  if (smr_test_reports()) fprintf(stderr, "SAMARA_REQUIRE asks for %s\n", subject);
  return 0;
}

static inline void smr_test_begin(int argc, char **argv) {
  struct smr_test_state *state = smr_test_state();
  state->n_filters = argc > 1 ? argc - 1 : 0;
  state->filters = argc > 1 ? argv + 1 : NULL;
}

static inline void smr_test_run(void (*test)(void), const char *name, const char *file) {
  struct smr_test_state *state = smr_test_state();
  int selected = state->n_filters == 0;
  for (int i = 0; i < state->n_filters; i++)
    if (strstr(name, state->filters[i]) != NULL) selected = 1;
  if (!selected) return;
  unsigned long failed_before = state->n_failed;
  state->current = name;
  state->n_run++;
  test();
  state->current = NULL;
  if (state->n_failed != failed_before) fprintf(stderr, "%s: FAILED %s\n", file, name);
}

static inline int smr_test_end(const char *file) {
  struct smr_test_state *state = smr_test_state();
  if (state->n_run == 0) {
    fprintf(stderr, "%s: no test was run\n", file);
    return 1;
  }
  fprintf(stderr, "%s: %lu tests, %lu checks, %lu failed, %lu skipped\n", file, state->n_run,
          state->n_checks, state->n_failed, state->n_skipped);
  if (state->n_failed != 0) return 1;
  return state->n_skipped == state->n_run ? SMR_TEST_SKIPPED : 0;
}

#define SMR_TEST(name) static void smr_test_##name(void)
#define RUN(name) smr_test_run(smr_test_##name, #name, __FILE__)
#define SMR_TEST_BEGIN(argc, argv) smr_test_begin((argc), (argv))
#define SMR_TEST_END() smr_test_end(__FILE__)

#define CHECK(cond) smr_test_cond(!!(cond), #cond, __FILE__, __LINE__)
#define CHECK_EQ_INT(a, b) smr_test_int((intmax_t)(a), (intmax_t)(b), #a, #b, __FILE__, __LINE__)
#define CHECK_STR(a, b) smr_test_str((a), (b), #a, #b, __FILE__, __LINE__)
#define CHECK_CONTAINS(text, part) smr_test_contains((text), (part), #text, __FILE__, __LINE__)
#define CHECK_NEAR(a, b, tolerance) \
  smr_test_near((double)(a), (double)(b), (double)(tolerance), #a, #b, __FILE__, __LINE__)
#define CHECK_MEM(a, b, n_bytes) smr_test_mem((a), (b), (n_bytes), #a, #b, __FILE__, __LINE__)

/// Leave the test function when `cond` is false: what follows would crash.
#define REQUIRE(cond)         \
  do {                        \
    if (!CHECK(cond)) return; \
  } while (0)

/// Say that this machine cannot run `subject` ("avx512"); a failure where SAMARA_REQUIRE names it.
#define NOT_RUN(subject, why) smr_test_not_run((subject), (why), __FILE__, __LINE__)

/// Leave the test function because this machine or build cannot run it; the reason is printed.
#define SKIP(reason)                              \
  do {                                            \
    NOT_RUN(smr_test_state()->current, (reason)); \
    smr_test_state()->n_skipped++;                \
    return;                                       \
  } while (0)

/// `int main` in one line: SMR_TEST_MAIN(RUN(adds); RUN(subtracts))
#define SMR_TEST_MAIN(...)          \
  int main(int argc, char **argv) { \
    SMR_TEST_BEGIN(argc, argv);     \
    __VA_ARGS__;                    \
    return SMR_TEST_END();          \
  }

#endif
