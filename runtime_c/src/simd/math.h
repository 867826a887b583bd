// SPDX-License-Identifier: Apache-2.0
// Elementary functions over the vocabulary; included between simd/<isa>_begin.h and simd/end.h.
//
//   exp expm1_negative(x <= 0) log log1p_unit(0 <= x <= 1) tanh sigmoid erf
//
// Polynomials are minimax fits made for this file. With fused multiply-add, errors stay below 2 ulp
// of the result over the whole range, including subnormals and infinities (erf: 2 ulp of 1). NaN
// gives NaN. Each width (1, 4, 8 and 16 for scalar, NEON, AVX2 and AVX-512) defines the functions
// once, however often this header is included.
#if VF == 1 && !defined(SMR_SIMD_MATH_SCALAR)
#define SMR_SIMD_MATH_SCALAR
#define SMR_SIMD_MATH_NOW
#elif VF == 4 && !defined(SMR_SIMD_MATH_NEON)
#define SMR_SIMD_MATH_NEON
#define SMR_SIMD_MATH_NOW
#elif VF == 8 && !defined(SMR_SIMD_MATH_AVX2)
#define SMR_SIMD_MATH_AVX2
#define SMR_SIMD_MATH_NOW
#elif VF == 16 && !defined(SMR_SIMD_MATH_AVX512)
#define SMR_SIMD_MATH_AVX512
#define SMR_SIMD_MATH_NOW
#endif

#ifdef SMR_SIMD_MATH_NOW
#undef SMR_SIMD_MATH_NOW

// x = n ln 2 + r. ln 2 is split in two parts; the first has trailing zeros, so that n times it is
// exact.
SMR_INLINE N(vf) N(exp_reduce)(N(vf) x, N(vi) * n) {
  const N(vf) whole = N(rint)(N(mul)(x, SMR_LITERAL(0x1.715476p+0f)));
  *n = N(to_int)(whole);
  const N(vf) r = N(fma)(whole, SMR_LITERAL(-0x1.62e4p-1f), x);
  return N(fma)(whole, SMR_LITERAL(-0x1.7f7d1cp-20f), r);
}

// e^r - 1 - r for |r| <= ln 2 / 2.
SMR_INLINE N(vf) N(exp_tail)(N(vf) r) {
  N(vf) p = N(fma)(SMR_LITERAL(0x1.6a4b98p-10f), r, SMR_LITERAL(0x1.123e5cp-7f));
  p = N(fma)(p, r, SMR_LITERAL(0x1.5558bap-5f));
  p = N(fma)(p, r, SMR_LITERAL(0x1.55548cp-3f));
  p = N(fma)(p, r, SMR_LITERAL(0x1.fffffcp-2f));
  return N(mul)(p, N(mul)(r, r));
}

SMR_INLINE N(vf) N(exp)(N(vf) x) {
  // Beyond these the result is infinite or zero; the clamp keeps n in -150 .. 128.
  x = N(clamp)(x, SMR_LITERAL(-104.0f), SMR_LITERAL(89.0f));
  N(vi) n;
  const N(vf) r = N(exp_reduce)(x, &n);
  const N(vf) p = N(add)(N(add)(N(exp_tail)(r), r), SMR_LITERAL(1.0f));
  // Two factors, because 2^n alone may not be a normal number.
  const N(vi) half = N(isra)(n, 1);
  return N(scale2)(N(scale2)(p, half), N(isub)(n, half));
}

// e^x - 1 for x <= 0, exact near 0 where e^x - 1 cancels.
SMR_INLINE N(vf) N(expm1_negative)(N(vf) x) {
  x = N(max)(SMR_LITERAL(-80.0f), x);
  N(vi) n;
  const N(vf) r = N(exp_reduce)(x, &n);
  const N(vf) p = N(add)(N(exp_tail)(r), r);
  const N(vf) power = N(scale2)(SMR_LITERAL(1.0f), n);
  return N(fma)(power, p, N(sub)(power, SMR_LITERAL(1.0f)));
}

// log(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1], without f itself.
SMR_INLINE N(vf) N(log_tail)(N(vf) f) {
  N(vf) q = N(fma)(SMR_LITERAL(-0x1.38cf2p-4f), f, SMR_LITERAL(0x1.05602ep-3f));
  q = N(fma)(q, f, SMR_LITERAL(-0x1.0d81f2p-3f));
  q = N(fma)(q, f, SMR_LITERAL(0x1.22d8f8p-3f));
  q = N(fma)(q, f, SMR_LITERAL(-0x1.54728cp-3f));
  q = N(fma)(q, f, SMR_LITERAL(0x1.99a01ep-3f));
  q = N(fma)(q, f, SMR_LITERAL(-0x1.000226p-2f));
  q = N(fma)(q, f, SMR_LITERAL(0x1.555554p-2f));
  const N(vf) f2 = N(mul)(f, f);
  return N(fma)(N(mul)(f2, f), q, N(mul)(f2, SMR_LITERAL(-0.5f)));
}

SMR_INLINE N(vf) N(log)(N(vf) x) {
  const N(vm) small = N(lt)(x, SMR_LITERAL(0x1p-126f));
  const N(vf) scaled = N(select)(small, N(mul)(x, SMR_LITERAL(0x1p23f)), x);
  // Remove 2^e so that the rest is in [sqrt(1/2), sqrt(2)).
  const N(vi) bits = N(isub)(N(bits)(scaled), N(iset1)(0x3f3504f3));
  const N(vi) e = N(isra)(bits, 23);
  const N(vf) f = N(sub)(N(from_bits)(N(isub)(N(bits)(scaled), N(ishl)(e, 23))), SMR_LITERAL(1.0f));
  N(vf) n = N(to_float)(e);
  n = N(select)(small, N(sub)(n, SMR_LITERAL(23.0f)), n);
  // Add the smallest terms first: n ln 2 (low part), the tail, f, n ln 2.
  N(vf) y = N(fma)(n, SMR_LITERAL(0x1.7f7d1cp-20f), N(log_tail)(f));
  y = N(add)(y, f);
  y = N(fma)(n, SMR_LITERAL(0x1.62e4p-1f), y);
  const N(vf) infinity = N(from_bits)(N(iset1)(0x7f800000));
  y = N(select)(N(eq)(x, infinity), x, y);
  y = N(select)(N(eq)(x, N(zero)()), N(neg)(infinity), y);
  y = N(select)(N(lt)(x, N(zero)()), N(from_bits)(N(iset1)(0x7fc00000)), y);
  return N(select)(N(ne)(x, x), x, y);
}

// log(1 + x), with a first-order correction for the rounding of 1 + x.
SMR_INLINE N(vf) N(log1p_unit)(N(vf) x) {
  const N(vf) one = SMR_LITERAL(1.0f), u = N(add)(one, x);
  const N(vf) lost = N(sub)(x, N(sub)(u, one));
  return N(add)(N(log)(u), N(div)(lost, u));
}

SMR_INLINE N(vf) N(tanh)(N(vf) x) {
  const N(vf) a = N(abs)(x), x2 = N(mul)(x, x), one = SMR_LITERAL(1.0f);
  N(vf) p = N(fma)(SMR_LITERAL(-0x1.696b9cp-8f), x2, SMR_LITERAL(0x1.4f5dap-6f));
  p = N(fma)(p, x2, SMR_LITERAL(-0x1.b7cfbap-5f));
  p = N(fma)(p, x2, SMR_LITERAL(0x1.1103fp-3f));
  p = N(fma)(p, x2, SMR_LITERAL(-0x1.555524p-2f));
  const N(vf) near = N(fma)(N(mul)(x2, x), p, x);
  const N(vf) e = N(exp)(N(add)(a, a));
  N(vf) far = N(sub)(one, N(div)(SMR_LITERAL(2.0f), N(add)(e, one)));
  far = N(select)(N(lt)(x, N(zero)()), N(neg)(far), far);
  return N(select)(N(lt)(a, SMR_LITERAL(0.625f)), near, far);
}

SMR_INLINE N(vf) N(sigmoid)(N(vf) x) {
  const N(vf) one = SMR_LITERAL(1.0f);
  const N(vf) e = N(exp)(N(neg)(N(abs)(x)));
  return N(div)(N(select)(N(lt)(x, N(zero)()), e, one), N(add)(one, e));
}

SMR_INLINE N(vf) N(erf)(N(vf) x) {
  const N(vf) a = N(abs)(x), x2 = N(mul)(x, x);
  N(vf) p = N(fma)(SMR_LITERAL(-0x1.20c812p-11f), x2, SMR_LITERAL(0x1.406224p-8f));
  p = N(fma)(p, x2, SMR_LITERAL(-0x1.b540ecp-6f));
  p = N(fma)(p, x2, SMR_LITERAL(0x1.ce012ep-4f));
  p = N(fma)(p, x2, SMR_LITERAL(-0x1.81263ap-2f));
  p = N(fma)(p, x2, SMR_LITERAL(0x1.20dd74p+0f));
  const N(vf) near = N(mul)(x, p);
  // Above 1: 1 - erfc, whose logarithm is nearly a parabola. At 4 the result is 1.
  const N(vf) z = N(min)(SMR_LITERAL(4.0f), a);
  N(vf) q = N(fma)(SMR_LITERAL(0x1.86debep-13f), z, SMR_LITERAL(-0x1.825bcap-9f));
  q = N(fma)(q, z, SMR_LITERAL(0x1.65cbdcp-6f));
  q = N(fma)(q, z, SMR_LITERAL(-0x1.a65372p-4f));
  q = N(fma)(q, z, SMR_LITERAL(-0x1.46bae6p-1f));
  q = N(fma)(q, z, SMR_LITERAL(-0x1.2088ecp+0f));
  q = N(fma)(q, z, SMR_LITERAL(-0x1.661a16p-12f));
  N(vf) far = N(sub)(SMR_LITERAL(1.0f), N(exp)(q));
  far = N(select)(N(lt)(x, N(zero)()), N(neg)(far), far);
  return N(select)(N(le)(a, SMR_LITERAL(1.0f)), near, far);
}

#endif
