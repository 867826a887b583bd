// SPDX-License-Identifier: Apache-2.0
/// Compiler support routines that the NDK's runtime library would provide, for 32-bit CPUs: 64-bit
/// division, and on arm also 32-bit division and conversions between 64-bit integers and floats.
#include <stdint.h>

#if defined(__i386__) || defined(__arm__)

#define KEPT __attribute__((used, visibility("hidden")))
#if defined(__arm__)
#define BASE __attribute__((used, visibility("hidden"), pcs("aapcs")))
#endif

// ---- division: one bit of the quotient at a time ----

KEPT uint32_t samara_divide_32(uint32_t a, uint32_t b, uint32_t *rest) {
#if defined(__i386__)
  *rest = b == 0 ? 0 : a % b;
  return b == 0 ? 0 : a / b;
#else
  uint32_t quotient = 0;
  if (b != 0 && a >= b) {
    int shift = __builtin_clz(b) - __builtin_clz(a);
    for (uint32_t step = b << shift; shift >= 0; shift--, step >>= 1) {
      quotient <<= 1;
      if (a < step) continue;
      a -= step;
      quotient |= 1;
    }
  }
  *rest = a;
  return quotient;
#endif
}

static int leading_zeros(uint64_t value) {
  const uint32_t high = (uint32_t)(value >> 32);
  return high != 0 ? __builtin_clz(high) : 32 + __builtin_clz((uint32_t)value);
}

KEPT uint64_t samara_divide_64(uint64_t a, uint64_t b, uint64_t *rest) {
  if ((a | b) >> 32 == 0) {
    uint32_t left;
    const uint32_t quotient = samara_divide_32((uint32_t)a, (uint32_t)b, &left);
    *rest = left;
    return quotient;
  }
  uint64_t quotient = 0;
  if (b != 0 && a >= b) {
    int shift = leading_zeros(b) - leading_zeros(a);
    for (uint64_t step = b << shift; shift >= 0; shift--, step >>= 1) {
      quotient <<= 1;
      if (a < step) continue;
      a -= step;
      quotient |= 1;
    }
  }
  *rest = a;
  return quotient;
}

static uint64_t size_of(int64_t value) { return value < 0 ? 0 - (uint64_t)value : (uint64_t)value; }

static int64_t signed_as(uint64_t size, int64_t sign) {
  return (int64_t)(sign < 0 ? 0 - size : size);
}

KEPT int64_t samara_divide_signed_64(int64_t a, int64_t b, int64_t *rest) {
  uint64_t left;
  const uint64_t quotient = samara_divide_64(size_of(a), size_of(b), &left);
  *rest = signed_as(left, a);
  return signed_as(quotient, a ^ b);
}

#endif

#if defined(__i386__)

KEPT uint64_t __udivdi3(uint64_t a, uint64_t b) {
  uint64_t rest;
  return samara_divide_64(a, b, &rest);
}

KEPT uint64_t __umoddi3(uint64_t a, uint64_t b) {
  uint64_t rest;
  samara_divide_64(a, b, &rest);
  return rest;
}

KEPT int64_t __divdi3(int64_t a, int64_t b) {
  int64_t rest;
  return samara_divide_signed_64(a, b, &rest);
}

KEPT int64_t __moddi3(int64_t a, int64_t b) {
  int64_t rest;
  samara_divide_signed_64(a, b, &rest);
  return rest;
}

#elif defined(__arm__)

KEPT uint32_t __aeabi_uidiv(uint32_t a, uint32_t b) {
  uint32_t rest;
  return samara_divide_32(a, b, &rest);
}

// The ABI returns quotient and remainder in r0 and r1, which is how it returns a 64-bit integer.
KEPT uint64_t __aeabi_uidivmod(uint32_t a, uint32_t b) {
  uint32_t rest;
  const uint32_t quotient = samara_divide_32(a, b, &rest);
  return (uint64_t)rest << 32 | quotient;
}

static uint32_t size_of_32(int32_t value) {
  return value < 0 ? 0 - (uint32_t)value : (uint32_t)value;
}

KEPT uint64_t __aeabi_idivmod(int32_t a, int32_t b) {
  uint32_t rest;
  uint32_t quotient = samara_divide_32(size_of_32(a), size_of_32(b), &rest);
  if ((a ^ b) < 0) quotient = 0 - quotient;
  if (a < 0) rest = 0 - rest;
  return (uint64_t)rest << 32 | quotient;
}

KEPT int32_t __aeabi_idiv(int32_t a, int32_t b) { return (int32_t)(uint32_t)__aeabi_idivmod(a, b); }

// The ABI returns the quotient in r0 and r1 and the remainder in r2 and r3. C cannot express that.
#define DIVMOD(name, function)                  \
  __attribute__((naked)) KEPT void name(void) { \
    __asm__(                                    \
        "push {r11, lr}\n"                      \
        "sub sp, sp, #16\n"                     \
        "add r12, sp, #8\n"                     \
        "str r12, [sp]\n"                       \
        "bl " #function                         \
        "\n"                                    \
        "ldr r2, [sp, #8]\n"                    \
        "ldr r3, [sp, #12]\n"                   \
        "add sp, sp, #16\n"                     \
        "pop {r11, pc}\n");                     \
  }
DIVMOD(__aeabi_uldivmod, samara_divide_64)
DIVMOD(__aeabi_ldivmod, samara_divide_signed_64)

// ---- conversions, built from the 32-bit ones, which are instructions ----

static const double two_32 = 4294967296.0;

// The product is exact, so only the sum rounds.
BASE double __aeabi_ul2d(uint64_t value) {
  return (double)(uint32_t)(value >> 32) * two_32 + (double)(uint32_t)value;
}

BASE double __aeabi_l2d(int64_t value) {
  return (double)(int32_t)(value >> 32) * two_32 + (double)(uint32_t)value;
}

// Bits that a double's 53 cannot hold only affect rounding, so one bit stands for all of them.
static uint64_t shortened(uint64_t value) {
  if (value >> 53 == 0) return value;
  return (value & ~(uint64_t)0x7ff) | (uint64_t)((value & 0x7ff) != 0) << 11;
}

BASE float __aeabi_ul2f(uint64_t value) { return (float)__aeabi_ul2d(shortened(value)); }

BASE float __aeabi_l2f(int64_t value) {
  const float size = __aeabi_ul2f(size_of(value));
  return value < 0 ? -size : size;
}

// Values out of range saturate and NaN becomes 0, as with arm64's instructions.
BASE uint64_t __aeabi_d2ulz(double value) {
  if (!(value >= 1.0)) return 0;
  if (value >= two_32 * two_32) return UINT64_MAX;
  const uint32_t high = (uint32_t)(value * (1.0 / two_32));
  const uint32_t low = (uint32_t)(value - (double)high * two_32);
  return (uint64_t)high << 32 | low;
}

BASE int64_t __aeabi_d2lz(double value) {
  const double limit = two_32 * 2147483648.0;
  if (value >= limit) return INT64_MAX;
  if (value <= -limit) return INT64_MIN;
  return signed_as(__aeabi_d2ulz(value < 0 ? -value : value), value < 0 ? -1 : 1);
}

BASE uint64_t __aeabi_f2ulz(float value) { return __aeabi_d2ulz(value); }

BASE int64_t __aeabi_f2lz(float value) { return __aeabi_d2lz(value); }

#endif
