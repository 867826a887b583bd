// SPDX-License-Identifier: Apache-2.0
// The formatter for machines without an operating system, compiled into this test: messages come
// out as the C library's snprintf writes them.
#if defined(__MINGW32__)
#define __USE_MINGW_ANSI_STDIO 1  // sizes as %zu
#endif
#define SMR_OS_NONE 1
#include "base/format.c"

#include <float.h>
#include <stdint.h>
#include <stdio.h>

#include "harness.h"

static int format_differs(char *ours, size_t length, const char *theirs, int expected) {
  const int same = (int)length == expected && strcmp(ours, theirs) == 0;
  if (!same) fprintf(stderr, "'%s' is not '%s'\n", ours, theirs);
  return !same;
}

#define SAME(size, ...)                                                            \
  do {                                                                             \
    char ours[200], theirs[200];                                                   \
    volatile size_t room = (size); /* that compilers do not warn of what is cut */ \
    const size_t length = smr_format(ours, room, __VA_ARGS__);                     \
    const int expected = snprintf(theirs, room, __VA_ARGS__);                      \
    CHECK_EQ_INT(format_differs(ours, length, theirs, expected), 0);               \
  } while (0)

SMR_TEST(strings) {
  SAME(200, "%s", "plain");
  SAME(200, "100 %% of %s and %c", "it", 'x');
  SAME(200, "[%.3s] [%.*s] [%.0s] [%.200s]", "abcdef", 2, "xyz", "gone", "short");
  SAME(200, "[%8s]", "right");
}

SMR_TEST(integers) {
  SAME(200, "%d %d %d %i", 0, -1, 2147483647, (int)INT32_MIN);
  SAME(200, "%u %x %04x %016llx", 4000000000u, 0xbeefu, 0x1fu, 0x123456789abcdefull);
  SAME(200, "%zu %zu %ld %lu", (size_t)0, SIZE_MAX, -5L, 5UL);
  SAME(200, "%lld %llu", (long long)INT64_MIN, (unsigned long long)UINT64_MAX);
  SAME(200, "%" PRId64 " %" PRIu64 " %" PRIx64 " %" PRId32, (int64_t)-7, (uint64_t)7, (uint64_t)255,
       (int32_t)-9);
  SAME(200, "[%5d] [%05d] [%03u] [%2d]", -42, -42, 7u, 12345);
}

SMR_TEST(floats) {
  static const double values[] = {0.0,       1.0,           -1.0,     0.5,       2.5,
                                  10.0,      100000.0,      999999.0, 999999.5,  1e6,
                                  1e-4,      1e-5,          0.1,      -0.001,    3.14159265358979,
                                  1234567.0, 1e30,          1e300,    5e-324,    1e-300,
                                  FLT_MIN,   FLT_MAX,       0.3f,     1.0 / 3.0, 123.456,
                                  99999.95,  0.00012345678, 1e9,      42.0,      1e100,
                                  DBL_MAX,   DBL_MIN,       65504.0,  1e-45,     120.0,
                                  1e5,       1e15};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    SAME(200, "%g", values[i]);
    SAME(200, "%.3g", values[i]);
    SAME(200, "%.9g", values[i]);
    SAME(200, "%g", -values[i]);
  }
  SAME(200, "%g %g %g", (double)INFINITY, (double)-INFINITY, -0.0);
  char text[8];
  smr_format(text, sizeof text, "%g", (double)fabsf(NAN));
  CHECK_STR(text, "nan");
}

// Over all magnitudes.
SMR_TEST(random_floats) {
  uint64_t state = 0x9e3779b97f4a7c15;
  int wrong = 0;
  for (int i = 0; i < 100000; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    double value;
    memcpy(&value, &state, sizeof value);
    if (value != value || i % 2) value = (double)(float)(int32_t)state / 1024;
    char ours[40], theirs[40];
    const size_t length = smr_format(ours, sizeof ours, "%.9g", value);
    wrong += format_differs(ours, length, theirs, snprintf(theirs, sizeof theirs, "%.9g", value));
  }
  CHECK_EQ_INT(wrong, 0);
}

SMR_TEST(cut_texts) {
  SAME(1, "%s", "abc");
  SAME(4, "%s", "abc");
  SAME(3, "%d", 12345);
  SAME(5, "%s", "abc");
  char untouched = 'x';
  CHECK_EQ_INT(smr_format(&untouched, 0, "%d", 42), 2);
  CHECK_EQ_INT(untouched, 'x');
}

static size_t format_unchecked(char *text, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const size_t length = smr_format_list(text, size, format, arguments);
  va_end(arguments);
  return length;
}

SMR_TEST(unknown_conversions_end_the_text) {
  char text[20];
  const char *format = "%d %q %d";
  CHECK_EQ_INT(format_unchecked(text, sizeof text, format, 1, 2), 2);
  CHECK_STR(text, "1 ");
  format = "half %";
  CHECK_EQ_INT(format_unchecked(text, sizeof text, format), 5);
}

int main(int argc, char **argv) {
  SMR_TEST_BEGIN(argc, argv);
  RUN(strings);
  RUN(integers);
  RUN(floats);
  RUN(random_floats);
  RUN(cut_texts);
  RUN(unknown_conversions_end_the_text);
  return SMR_TEST_END();
}
#undef SAME
