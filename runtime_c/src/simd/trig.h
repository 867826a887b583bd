// SPDX-License-Identifier: Apache-2.0
// Trigonometric and hyperbolic functions over the vocabulary; included like simd/math.h.
//
//   sin cos tan asin acos atan sinh cosh asinh acosh atanh
//
// Polynomials are minimax fits made for this file. Errors stay below 4 ulp of the result, plus
// 1e-10 (tan: times 1 + tan^2) where sin, cos and tan cross zero far from 0. NaN, and values
// outside a function's domain, give NaN. Each width defines the functions once.
#include "simd/math.h"

#if VF == 1 && !defined(SMR_SIMD_TRIG_SCALAR)
#define SMR_SIMD_TRIG_SCALAR
#define SMR_SIMD_TRIG_NOW
#elif VF == 4 && !defined(SMR_SIMD_TRIG_NEON)
#define SMR_SIMD_TRIG_NEON
#define SMR_SIMD_TRIG_NOW
#elif VF == 8 && !defined(SMR_SIMD_TRIG_AVX2)
#define SMR_SIMD_TRIG_AVX2
#define SMR_SIMD_TRIG_NOW
#elif VF == 16 && !defined(SMR_SIMD_TRIG_AVX512)
#define SMR_SIMD_TRIG_AVX512
#define SMR_SIMD_TRIG_NOW
#endif

#ifdef SMR_SIMD_TRIG_NOW
#undef SMR_SIMD_TRIG_NOW

// The magnitude of y with the sign of x.
SMR_INLINE N(vf) N(trig_signed)(N(vf) y, N(vf) x) {
  const N(vi) sign = N(iset1)(INT32_MIN);
  return N(from_bits)(N(ior)(N(bits)(y), N(iand)(N(bits)(x), sign)));
}

// x = n pi / 2 + r for one |x| >= 8192. Multiplies by 96 bits of 2 / pi: earlier bits give
// multiples of 4 quarter turns, later ones less than float32 resolves (M. Payne, R. Hanek, "Radian
// reduction for trigonometric functions", SIGNUM Newsletter 18, 1983).
static inline __attribute__((unused)) float N(trig_far)(float x, int32_t *n) {
  static const uint32_t two_over_pi[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                         0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  *n = 0;
  if ((bits & 0x7f800000u) == 0x7f800000u) return x - x;
  const uint64_t whole = (bits & 0x7fffffu) | 0x800000u;  // |x| = whole 2^exponent
  const int exponent = (int)(bits >> 23 & 0xff) - 150;
  const uint32_t first = exponent > 2 ? (uint32_t)exponent - 2 : 0;
  uint64_t part[3];  // 32 bits of 2 / pi each, from bit `first` on
  for (uint32_t i = 0; i < 3; i++) {
    const uint32_t *word = two_over_pi + first / 32 + i;
    part[i] = (((uint64_t)word[0] << 32 | word[1]) << first % 32) >> 32;
  }
  // Multiples of pi / 2 modulo 4, in units of 2^-62.
  uint64_t turns;
  if (exponent >= 2)
    turns = (whole * part[0] << 32) + whole * part[1] + (whole * part[2] >> 32);
  else
    turns = (whole * part[0] << (30 + exponent)) + (whole * part[1] >> (2 - exponent));
  const uint64_t nearest = (turns + (UINT64_C(1) << 61)) >> 62;
  const int64_t rest = (int64_t)(turns - (nearest << 62));
  const float r = (float)((double)rest * (0x1p-62 * 1.5707963267948966));
  *n = (int32_t)(bits >> 31 ? (4 - nearest) & 3 : nearest & 3);
  return bits >> 31 ? -r : r;
}

// x = n pi / 2 + r with |r| <= pi / 4; only the last two bits of n matter.
SMR_INLINE N(vf) N(trig_reduce)(N(vf) x, N(vi) * n) {
  const N(vf) limit = SMR_LITERAL(8192.0f);
  const N(vf) whole = N(rint)(N(mul)(x, SMR_LITERAL(0x1.45f306p-1f)));
  *n = N(to_int)(whole);
  // pi / 2 in three parts; products of the first two are exact up to the limit.
  N(vf) r = N(fma)(whole, SMR_LITERAL(-0x1.92p+0f), x);
  r = N(fma)(whole, SMR_LITERAL(-0x1.fb4p-12f), r);
  r = N(fma)(whole, SMR_LITERAL(-0x1.4442d2p-24f), r);
  if (N(any)(N(ge)(N(abs)(x), limit))) {
    float xs[VF], rs[VF];
    int32_t ns[VF];
    N(store)(xs, x);
    N(store)(rs, r);
    N(istore)(ns, *n);
    for (size_t i = 0; i < VF; i++)
      if (xs[i] >= 8192.0f || xs[i] <= -8192.0f) rs[i] = N(trig_far)(xs[i], &ns[i]);
    r = N(load)(rs);
    *n = N(iload)(ns);
  }
  return r;
}

SMR_INLINE N(vf) N(trig_sin_near)(N(vf) r) {
  const N(vf) z = N(mul)(r, r);
  N(vf) p = N(fma)(SMR_LITERAL(-0x1.994e34p-13f), z, SMR_LITERAL(0x1.11076ep-7f));
  p = N(fma)(p, z, SMR_LITERAL(-0x1.555546p-3f));
  return N(fma)(N(mul)(r, z), p, r);
}

SMR_INLINE N(vf) N(trig_cos_near)(N(vf) r) {
  const N(vf) z = N(mul)(r, r);
  N(vf) p = N(fma)(SMR_LITERAL(0x1.99e0e4p-16f), z, SMR_LITERAL(-0x1.6c0c1ap-10f));
  p = N(fma)(p, z, SMR_LITERAL(0x1.55554ap-5f));
  return N(fma)(N(mul)(z, z), p, N(fma)(SMR_LITERAL(-0.5f), z, SMR_LITERAL(1.0f)));
}

// sin(r + n pi / 2)
SMR_INLINE N(vf) N(trig_turned)(N(vf) r, N(vi) n) {
  const N(vm) odd = N(ieq)(N(iand)(n, N(iset1)(1)), N(iset1)(1));
  const N(vf) y = N(select)(odd, N(trig_cos_near)(r), N(trig_sin_near)(r));
  return N(from_bits)(N(ixor)(N(bits)(y), N(ishl)(N(iand)(n, N(iset1)(2)), 30)));
}

SMR_INLINE N(vf) N(sin)(N(vf) x) {
  N(vi) n;
  const N(vf) r = N(trig_reduce)(x, &n);
  return N(trig_turned)(r, n);
}

SMR_INLINE N(vf) N(cos)(N(vf) x) {
  N(vi) n;
  const N(vf) r = N(trig_reduce)(x, &n);
  return N(trig_turned)(r, N(iadd)(n, N(iset1)(1)));
}

SMR_INLINE N(vf) N(tan)(N(vf) x) {
  N(vi) n;
  const N(vf) r = N(trig_reduce)(x, &n);
  const N(vf) s = N(trig_sin_near)(r), c = N(trig_cos_near)(r);
  const N(vm) odd = N(ieq)(N(iand)(n, N(iset1)(1)), N(iset1)(1));
  return N(div)(N(select)(odd, N(neg)(c), s), N(select)(odd, s, c));
}

// asin(s) for 0 <= s <= 1/2 and z = s^2.
SMR_INLINE N(vf) N(trig_asin_near)(N(vf) s, N(vf) z) {
  N(vf) p = N(fma)(SMR_LITERAL(0x1.59daa8p-5f), z, SMR_LITERAL(0x1.8ba79ep-6f));
  p = N(fma)(p, z, SMR_LITERAL(0x1.748b32p-5f));
  p = N(fma)(p, z, SMR_LITERAL(0x1.330164p-4f));
  p = N(fma)(p, z, SMR_LITERAL(0x1.5555cap-3f));
  return N(fma)(N(mul)(s, z), p, s);
}

// asin(|x|), or, if *far, pi / 2 - asin(|x|) = 2 asin(sqrt((1 - |x|) / 2)).
SMR_INLINE N(vf) N(trig_asin_split)(N(vf) x, N(vm) * far) {
  const N(vf) a = N(abs)(x), half = SMR_LITERAL(0.5f);
  *far = N(gt)(a, half);
  const N(vf) z = N(select)(*far, N(mul)(half, N(sub)(SMR_LITERAL(1.0f), a)), N(mul)(a, a));
  const N(vf) y = N(trig_asin_near)(N(select)(*far, N(sqrt)(z), a), z);
  return N(select)(*far, N(add)(y, y), y);
}

SMR_INLINE N(vf) N(asin)(N(vf) x) {
  N(vm) far;
  const N(vf) y = N(trig_asin_split)(x, &far);
  return N(trig_signed)(N(select)(far, N(sub)(SMR_LITERAL(0x1.921fb6p+0f), y), y), x);
}

SMR_INLINE N(vf) N(acos)(N(vf) x) {
  N(vm) far;
  const N(vf) y = N(trig_asin_split)(x, &far), quarter = SMR_LITERAL(0x1.921fb6p+0f);
  const N(vm) below = N(lt)(x, N(zero)());
  const N(vf) near = N(sub)(quarter, N(trig_signed)(y, x));
  const N(vf) rest = N(select)(below, N(sub)(N(add)(quarter, quarter), y), y);
  return N(select)(far, rest, near);
}

SMR_INLINE N(vf) N(atan)(N(vf) x) {
  const N(vf) a = N(abs)(x), one = SMR_LITERAL(1.0f);
  const N(vm) far = N(gt)(a, one);
  const N(vf) t = N(select)(far, N(div)(one, a), a), z = N(mul)(t, t);
  N(vf) p = N(fma)(SMR_LITERAL(-0x1.d5581ap-10f), z, SMR_LITERAL(0x1.652948p-7f));
  p = N(fma)(p, z, SMR_LITERAL(-0x1.fe581cp-6f));
  p = N(fma)(p, z, SMR_LITERAL(0x1.da8a34p-5f));
  p = N(fma)(p, z, SMR_LITERAL(-0x1.5820f8p-4f));
  p = N(fma)(p, z, SMR_LITERAL(0x1.c092dep-4f));
  p = N(fma)(p, z, SMR_LITERAL(-0x1.2420fap-3f));
  p = N(fma)(p, z, SMR_LITERAL(0x1.9991eap-3f));
  p = N(fma)(p, z, SMR_LITERAL(-0x1.55553ep-2f));
  const N(vf) y = N(fma)(N(mul)(t, z), p, t);
  return N(trig_signed)(N(select)(far, N(sub)(SMR_LITERAL(0x1.921fb6p+0f), y), y), x);
}

// e^|x| / 2, as a square of e^(|x| / 2), so that it does not overflow before the results do.
SMR_INLINE N(vf) N(trig_half_power)(N(vf) x) {
  const N(vf) half = SMR_LITERAL(0.5f), root = N(exp)(N(mul)(half, N(abs)(x)));
  return N(mul)(N(mul)(half, root), root);
}

SMR_INLINE N(vf) N(sinh)(N(vf) x) {
  const N(vf) z = N(mul)(x, x), power = N(trig_half_power)(x);
  const N(vf) far = N(sub)(power, N(div)(SMR_LITERAL(0.25f), power));
  N(vf) p = N(fma)(SMR_LITERAL(0x1.75a6fp-19f), z, SMR_LITERAL(0x1.a02156p-13f));
  p = N(fma)(p, z, SMR_LITERAL(0x1.1110e2p-7f));
  p = N(fma)(p, z, SMR_LITERAL(0x1.555556p-3f));
  const N(vf) near = N(fma)(N(mul)(x, z), p, x);
  return N(select)(N(le)(N(abs)(x), SMR_LITERAL(1.0f)), near, N(trig_signed)(far, x));
}

SMR_INLINE N(vf) N(cosh)(N(vf) x) {
  const N(vf) power = N(trig_half_power)(x);
  return N(add)(power, N(div)(SMR_LITERAL(0.25f), power));
}

// log(1 + t) for t >= 0; NaN for t < -1.
SMR_INLINE N(vf) N(trig_log1p)(N(vf) t) {
  const N(vf) infinity = N(from_bits)(N(iset1)(0x7f800000));
  return N(select)(N(eq)(t, infinity), t, N(log1p_unit)(t));
}

// log(2 x), for x so large that the root equals x.
SMR_INLINE N(vf) N(trig_log_twice)(N(vf) x) {
  return N(add)(N(log)(x), SMR_LITERAL(0x1.62e43p-1f));
}

SMR_INLINE N(vf) N(asinh)(N(vf) x) {
  const N(vf) a = N(abs)(x), one = SMR_LITERAL(1.0f), square = N(mul)(a, a);
  // a + sqrt(1 + a^2) - 1, without the cancellation.
  const N(vf) t = N(add)(a, N(div)(square, N(add)(one, N(sqrt)(N(add)(one, square)))));
  const N(vm) far = N(gt)(a, SMR_LITERAL(8192.0f));
  return N(trig_signed)(N(select)(far, N(trig_log_twice)(a), N(log1p_unit)(t)), x);
}

SMR_INLINE N(vf) N(acosh)(N(vf) x) {
  const N(vf) one = SMR_LITERAL(1.0f), t = N(sub)(x, one);
  const N(vf) root = N(sqrt)(N(mul)(t, N(add)(t, SMR_LITERAL(2.0f))));
  const N(vm) far = N(gt)(x, SMR_LITERAL(8192.0f));
  const N(vf) y = N(select)(far, N(trig_log_twice)(x), N(log1p_unit)(N(add)(t, root)));
  return N(select)(N(lt)(x, one), N(from_bits)(N(iset1)(0x7fc00000)), y);
}

SMR_INLINE N(vf) N(atanh)(N(vf) x) {
  const N(vf) a = N(abs)(x), t = N(div)(N(add)(a, a), N(sub)(SMR_LITERAL(1.0f), a));
  return N(trig_signed)(N(mul)(SMR_LITERAL(0.5f), N(trig_log1p)(t)), x);
}

#endif
