/* SPDX-License-Identifier: Apache-2.0 */
/* Declares what a bare-metal build uses of the C library, so that compiling needs only the
 * compiler's freestanding headers. A program needs definitions only of what its model calls. */
#ifndef SMR_BARE_LIBC_H_
#define SMR_BARE_LIBC_H_

#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
size_t strspn(const char *s, const char *accept);
size_t strcspn(const char *s, const char *reject);

#ifndef INFINITY /* newer compilers define both in float.h */
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#endif
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)
#define signbit(x) __builtin_signbit(x)
/* Functions of one and of two arguments, for double and (suffix f) for float. */
#define SMR_BARE_ROUNDING(X) X(fabs) X(sqrt) X(floor) X(ceil) X(trunc) X(round) X(rint) X(nearbyint)
#define SMR_BARE_EXPONENTS(X) X(exp) X(exp2) X(expm1) X(log) X(log2) X(log1p) X(erf)
#define SMR_BARE_CIRCULAR(X) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan)
#define SMR_BARE_HYPERBOLIC(X) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh)
#define SMR_BARE_OF_TWO(X) X(pow) X(fmod) X(atan2) X(fmin) X(fmax) X(copysign)
#define SMR_BARE_DECLARE_1(name) \
  double name(double x);         \
  float name##f(float x);
#define SMR_BARE_DECLARE_2(name)   \
  double name(double x, double y); \
  float name##f(float x, float y);
SMR_BARE_ROUNDING(SMR_BARE_DECLARE_1)
SMR_BARE_EXPONENTS(SMR_BARE_DECLARE_1)
SMR_BARE_CIRCULAR(SMR_BARE_DECLARE_1)
SMR_BARE_HYPERBOLIC(SMR_BARE_DECLARE_1)
SMR_BARE_OF_TWO(SMR_BARE_DECLARE_2)
double ldexp(double x, int exponent);
float ldexpf(float x, int exponent);
double fma(double x, double y, double z);
float fmaf(float x, float y, float z);

#define assert(condition) ((void)0)
#if __STDC_VERSION__ < 202311L  // a keyword since C23
#define static_assert _Static_assert
#endif

/* Where int32_t is a long, it is as wide as an int, so %u prints a uint32_t despite the warning. */
#if defined(__GNUC__) && __SIZEOF_LONG__ == 4
#pragma GCC diagnostic ignored "-Wformat"
#endif
#if defined(__arm__) || (defined(__riscv) && __SIZEOF_LONG__ == 4)
#define PRId32 "ld"
#define PRIu32 "lu"
#else
#define PRId32 "d"
#define PRIu32 "u"
#endif
#if __SIZEOF_LONG__ == 8
#define PRId64 "ld"
#define PRIu64 "lu"
#define PRIx64 "lx"
#else
#define PRId64 "lld"
#define PRIu64 "llu"
#define PRIx64 "llx"
#endif

#endif
