// SPDX-License-Identifier: Apache-2.0
// The functions of f32_exact.h over the vocabulary. They define what exact models compute, so no
// coefficient and no order of operations may change. simd/math.h has the faster ones with a fused
// multiply-add, which are free to.

// a * b + c, rounded twice.
#define TWICE(a, b, c) N(add)(N(mul)((a), (b)), (c))

SMR_INLINE N(vf) N(f32_exact_exp_of)(N(vf) x) {
  x = N(clamp)(x, SMR_LITERAL(-87.25f), SMR_LITERAL(89.0f));
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
  const N(vf) magic = SMR_LITERAL(0x1.8p23f);
  const N(vf) t = TWICE(x, SMR_LITERAL(0x1.715476p+0f), magic), n = N(sub)(t, magic);
  // ln 2 in two parts; n times the first is exact, and so is the difference.
  N(vf) r = N(sub)(x, N(mul)(n, SMR_LITERAL(0x1.62e4p-1f)));
  r = N(add)(r, N(mul)(n, SMR_LITERAL(-0x1.7f7d1cp-20f)));
  N(vf) q = TWICE(SMR_LITERAL(0x1.6a4b98p-10f), r, SMR_LITERAL(0x1.123e5cp-7f));
  q = TWICE(q, r, SMR_LITERAL(0x1.5558bap-5f));
  q = TWICE(q, r, SMR_LITERAL(0x1.55548cp-3f));
  q = TWICE(q, r, SMR_LITERAL(0x1.fffffcp-2f));
  const N(vf) y = N(add)(TWICE(q, N(mul)(r, r), r), SMR_LITERAL(1.0f));
  // 2^(n - 1): the exponent is n + 126, which is 0 for n = -126, the least.
  const N(vi) power = N(ishl)(N(iadd)(N(bits)(t), N(iset1)(126)), 23);
  return N(mul)(N(add)(y, y), N(from_bits)(power));
}

SMR_INLINE N(vf) N(f32_exact_log_of)(N(vf) x) {
  const N(vm) small = N(lt)(x, SMR_LITERAL(0x1p-126f));
  const N(vf) scaled = N(select)(small, N(mul)(x, SMR_LITERAL(0x1p23f)), x);
  // Remove 2^e, so that the rest is in [sqrt(1/2), sqrt(2)).
  const N(vi) e = N(isra)(N(isub)(N(bits)(scaled), N(iset1)(0x3f3504f3)), 23);
  const N(vf) f = N(sub)(N(from_bits)(N(isub)(N(bits)(scaled), N(ishl)(e, 23))), SMR_LITERAL(1.0f));
  N(vf) n = N(to_float)(e);
  n = N(select)(small, N(sub)(n, SMR_LITERAL(23.0f)), n);
  N(vf) q = TWICE(SMR_LITERAL(-0x1.38cf2p-4f), f, SMR_LITERAL(0x1.05602ep-3f));
  q = TWICE(q, f, SMR_LITERAL(-0x1.0d81f2p-3f));
  q = TWICE(q, f, SMR_LITERAL(0x1.22d8f8p-3f));
  q = TWICE(q, f, SMR_LITERAL(-0x1.54728cp-3f));
  q = TWICE(q, f, SMR_LITERAL(0x1.99a01ep-3f));
  q = TWICE(q, f, SMR_LITERAL(-0x1.000226p-2f));
  q = TWICE(q, f, SMR_LITERAL(0x1.555554p-2f));
  const N(vf) f2 = N(mul)(f, f);
  N(vf) y = TWICE(N(mul)(f2, f), q, N(mul)(f2, SMR_LITERAL(-0.5f)));
  y = N(add)(TWICE(n, SMR_LITERAL(0x1.7f7d1cp-20f), y), f);
  y = TWICE(n, SMR_LITERAL(0x1.62e4p-1f), y);
  const N(vf) infinity = N(from_bits)(N(iset1)(0x7f800000));
  y = N(select)(N(eq)(x, infinity), x, y);
  y = N(select)(N(eq)(x, N(zero)()), N(neg)(infinity), y);
  y = N(select)(N(lt)(x, N(zero)()), N(from_bits)(N(iset1)(0x7fc00000)), y);
  return N(select)(N(ne)(x, x), x, y);
}

// e = exp(-|x|); (1 or, for x < 0, e) / (1 + e)
SMR_INLINE N(vf) N(f32_exact_sigmoid_of)(N(vf) x) {
  const N(vf) one = SMR_LITERAL(1.0f);
  const N(vf) e = N(f32_exact_exp_of)(N(neg)(N(abs)(x)));
  return N(div)(N(select)(N(lt)(x, N(zero)()), e, one), N(add)(one, e));
}

SMR_INLINE N(vf) N(f32_exact_silu_of)(N(vf) x) { return N(mul)(x, N(f32_exact_sigmoid_of)(x)); }

SMR_INLINE N(vf) N(f32_exact_tanh_of)(N(vf) x) {
  const N(vf) a = N(abs)(x), x2 = N(mul)(x, x), one = SMR_LITERAL(1.0f);
  N(vf) p = TWICE(SMR_LITERAL(-0x1.696b9cp-8f), x2, SMR_LITERAL(0x1.4f5dap-6f));
  p = TWICE(p, x2, SMR_LITERAL(-0x1.b7cfbap-5f));
  p = TWICE(p, x2, SMR_LITERAL(0x1.1103fp-3f));
  p = TWICE(p, x2, SMR_LITERAL(-0x1.555524p-2f));
  const N(vf) near = TWICE(N(mul)(x2, x), p, x);
  const N(vf) e = N(f32_exact_exp_of)(N(add)(a, a));
  N(vf) far = N(sub)(one, N(div)(SMR_LITERAL(2.0f), N(add)(e, one)));
  far = N(select)(N(lt)(x, N(zero)()), N(neg)(far), far);
  return N(select)(N(lt)(a, SMR_LITERAL(0.625f)), near, far);
}

SMR_INLINE N(vf) N(f32_exact_erf_of)(N(vf) x) {
  const N(vf) a = N(abs)(x), x2 = N(mul)(x, x);
  N(vf) p = TWICE(SMR_LITERAL(-0x1.20c812p-11f), x2, SMR_LITERAL(0x1.406224p-8f));
  p = TWICE(p, x2, SMR_LITERAL(-0x1.b540ecp-6f));
  p = TWICE(p, x2, SMR_LITERAL(0x1.ce012ep-4f));
  p = TWICE(p, x2, SMR_LITERAL(-0x1.81263ap-2f));
  p = TWICE(p, x2, SMR_LITERAL(0x1.20dd74p+0f));
  const N(vf) near = N(mul)(x, p);
  // Above 1: 1 - erfc, whose logarithm is nearly a parabola. At 4 the result is 1. NaN stays NaN.
  const N(vf) z = N(min)(SMR_LITERAL(4.0f), a);
  N(vf) q = TWICE(SMR_LITERAL(0x1.86debep-13f), z, SMR_LITERAL(-0x1.825bcap-9f));
  q = TWICE(q, z, SMR_LITERAL(0x1.65cbdcp-6f));
  q = TWICE(q, z, SMR_LITERAL(-0x1.a65372p-4f));
  q = TWICE(q, z, SMR_LITERAL(-0x1.46bae6p-1f));
  q = TWICE(q, z, SMR_LITERAL(-0x1.2088ecp+0f));
  q = TWICE(q, z, SMR_LITERAL(-0x1.661a16p-12f));
  N(vf) far = N(sub)(SMR_LITERAL(1.0f), N(f32_exact_exp_of)(q));
  far = N(select)(N(lt)(x, N(zero)()), N(neg)(far), far);
  return N(select)(N(le)(a, SMR_LITERAL(1.0f)), near, far);
}

SMR_INLINE N(vf) N(f32_exact_gelu_of)(N(vf) x) {
  const N(vf) e = N(f32_exact_erf_of)(N(mul)(x, SMR_LITERAL(0.70710677f)));
  return N(mul)(N(mul)(x, SMR_LITERAL(0.5f)), N(add)(e, SMR_LITERAL(1.0f)));
}

SMR_INLINE N(vf) N(f32_exact_gelu_tanh_of)(N(vf) x) {
  const N(vf) u = TWICE(N(mul)(N(mul)(x, x), x), SMR_LITERAL(0.044715f), x);
  const N(vf) t = N(f32_exact_tanh_of)(N(mul)(u, SMR_LITERAL(0.7978846f)));
  return N(mul)(N(mul)(x, SMR_LITERAL(0.5f)), N(add)(t, SMR_LITERAL(1.0f)));
}

SMR_INLINE N(vf) N(f32_exact_clamp_of)(N(vf) x, N(vf) lo, N(vf) hi) {
  x = N(select)(N(lt)(x, lo), lo, x);
  return N(select)(N(gt)(x, hi), hi, x);
}
