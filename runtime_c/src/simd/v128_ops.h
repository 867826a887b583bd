// SPDX-License-Identifier: Apache-2.0
// The vocabulary in the 128-bit vector types of GCC and clang. Included by simd/v128_begin.h only.
//
// Functions written lane by lane have no instruction for all lanes, or are rare.

typedef float N(vf) __attribute__((vector_size(16)));
typedef int32_t N(vi) __attribute__((vector_size(16)));
typedef int32_t N(vm) __attribute__((vector_size(16)));
typedef uint32_t N(vu) __attribute__((vector_size(16)));

SMR_INLINE N(vf) N(set1)(float x) { return (N(vf)){x, x, x, x}; }
SMR_INLINE N(vf) N(zero)(void) { return N(set1)(0.0f); }
SMR_INLINE N(vf) N(load)(const float *p) {
  N(vf) v;
  memcpy(&v, p, sizeof v);
  return v;
}
SMR_INLINE void N(store)(float *p, N(vf) v) { memcpy(p, &v, sizeof v); }

// float16 as smr_f16_to_f32 and smr_f32_to_f16 have it, bit for bit.
typedef uint16_t N(vh) __attribute__((vector_size(8)));
SMR_INLINE N(vf) N(expand_f16)(N(vh) h) {
  const N(vu) wide = __builtin_convertvector(h, N(vu)), rest = (wide & 0x7fff) << 13;
  // The product gives the exponent its bias; subnormals become normal.
  const N(vu) value = (N(vu))((N(vf))rest * 0x1p112f);
  const N(vu) is_special = (N(vu))(rest > 0x0f7fffff), is_nan = (N(vu))(rest > 0x0f800000);
  return (N(vf))(value | (is_special & 0x7f800000) | (is_nan & 0x400000) | (wide & 0x8000) << 16);
}
SMR_INLINE N(vh) N(round_f16)(N(vf) v) {
  const N(vu) bits = (N(vu))v & 0x7fffffff, odd = bits >> 13 & 1;
  const N(vu) normal = (bits - 0x38000000 + 0xfff + odd) >> 13;
  // Units of 0.5 are those of subnormals: the sum rounds to them.
  const N(vu) small = (N(vu))((N(vf))bits + 0.5f) - 0x3f000000;
  const N(vu) is_small = (N(vu))(bits < 0x38800000), is_large = (N(vu))(bits > 0x477fefff);
  const N(vu) is_nan = (N(vu))(bits > 0x7f800000), nan = 0x7e00 | (bits >> 13 & 0x3ff);
  N(vu) half = (is_small & small) | (~is_small & normal);
  half = (is_large & 0x7c00) | (~is_large & half);
  half = (is_nan & nan) | (~is_nan & half);
  return __builtin_convertvector(half | ((N(vu))v >> 16 & 0x8000), N(vh));
}
SMR_INLINE N(vf) N(load_f16)(const uint16_t *p) {
  N(vh) h;
  memcpy(&h, p, sizeof h);
  return N(expand_f16)(h);
}
SMR_INLINE void N(store_f16)(uint16_t *p, N(vf) v) {
  const N(vh) h = N(round_f16)(v);
  memcpy(p, &h, sizeof h);
}
// Ends of rows: functions, because conversions are long.
#define V128_END static __attribute__((noinline, unused))
V128_END N(vf) N(load_f16_n)(const uint16_t *p, size_t n) {
  uint16_t lanes[4] = {0};
  for (size_t i = 0; i < n; i++) lanes[i] = p[i];
  return N(load_f16)(lanes);
}
V128_END void N(store_f16_n)(uint16_t *p, N(vf) v, size_t n) {
  uint16_t lanes[4];
  N(store_f16)(lanes, v);
  for (size_t i = 0; i < n; i++) p[i] = lanes[i];
}
// Lane by lane: compilers make a loop a call of memcpy.
V128_END N(vf) N(load_n)(const float *p, size_t n) {
  N(vf) v = N(zero)();
  if (n == VF) return N(load)(p);
  if (n > 0) v[0] = p[0];
  if (n > 1) v[1] = p[1];
  if (n > 2) v[2] = p[2];
  return v;
}
V128_END void N(store_n)(float *p, N(vf) v, size_t n) {
  if (n == VF) {
    N(store)(p, v);
    return;
  }
  if (n > 0) p[0] = v[0];
  if (n > 1) p[1] = v[1];
  if (n > 2) p[2] = v[2];
}
#undef V128_END

SMR_INLINE N(vi) N(bits)(N(vf) v) { return (N(vi))v; }
SMR_INLINE N(vf) N(from_bits)(N(vi) i) { return (N(vf))i; }
SMR_INLINE N(vi) N(iset1)(int32_t x) { return (N(vi)){x, x, x, x}; }
#if defined(SMR_SIMD_RELAXED)
// Not an expression: of one with a comparison, clang makes instructions that may lose NaN and the
// sign of zero.
SMR_INLINE N(vi) N(iselect)(N(vm) m, N(vi) a, N(vi) b) { return __builtin_wasm_bitselect(a, b, m); }
#else
SMR_INLINE N(vi) N(iselect)(N(vm) m, N(vi) a, N(vi) b) { return (m & a) | (~m & b); }
#endif
SMR_INLINE N(vf) N(select)(N(vm) m, N(vf) a, N(vf) b) {
  return (N(vf))N(iselect)(m, (N(vi))a, (N(vi))b);
}

SMR_INLINE N(vf) N(add)(N(vf) a, N(vf) b) { return a + b; }
SMR_INLINE N(vf) N(sub)(N(vf) a, N(vf) b) { return a - b; }
SMR_INLINE N(vf) N(mul)(N(vf) a, N(vf) b) { return a * b; }
SMR_INLINE N(vf) N(div)(N(vf) a, N(vf) b) { return a / b; }
#if SMR_ARCH_RVV && __has_builtin(__builtin_elementwise_fma)
SMR_INLINE N(vf) N(fma)(N(vf) a, N(vf) b, N(vf) c) { return __builtin_elementwise_fma(a, b, c); }
#elif defined(SMR_SIMD_RELAXED)
SMR_INLINE N(vf) N(fma)(N(vf) a, N(vf) b, N(vf) c) {
  return __builtin_wasm_relaxed_madd_f32x4(a, b, c);
}
#else
SMR_INLINE N(vf) N(fma)(N(vf) a, N(vf) b, N(vf) c) { return a * b + c; }
#endif
#if defined(SMR_SIMD_WASM)
// Not an expression, as in iselect.
SMR_INLINE N(vf) N(min)(N(vf) a, N(vf) b) { return __builtin_wasm_pmin_f32x4(b, a); }
SMR_INLINE N(vf) N(max)(N(vf) a, N(vf) b) { return __builtin_wasm_pmax_f32x4(b, a); }
#else
SMR_INLINE N(vf) N(min)(N(vf) a, N(vf) b) { return N(select)(a < b, a, b); }
SMR_INLINE N(vf) N(max)(N(vf) a, N(vf) b) { return N(select)(a > b, a, b); }
#endif
SMR_INLINE N(vf) N(clamp)(N(vf) x, N(vf) lo, N(vf) hi) { return N(min)(hi, N(max)(lo, x)); }
SMR_INLINE N(vf) N(neg)(N(vf) a) { return -a; }
SMR_INLINE N(vf) N(abs)(N(vf) a) { return (N(vf))((N(vi))a & N(iset1)(INT32_MAX)); }

#if __has_builtin(__builtin_elementwise_rint) && __has_builtin(__builtin_elementwise_sqrt)
#define V128_LANES(name) \
  SMR_INLINE N(vf) N(name)(N(vf) a) { return __builtin_elementwise_##name(a); }
#else
#define V128_LANES(name)                                                  \
  SMR_INLINE N(vf) N(name)(N(vf) a) {                                     \
    return (N(vf)){__builtin_##name##f(a[0]), __builtin_##name##f(a[1]),  \
                   __builtin_##name##f(a[2]), __builtin_##name##f(a[3])}; \
  }
#endif
V128_LANES(sqrt)
V128_LANES(floor)
V128_LANES(ceil)
V128_LANES(trunc)
V128_LANES(rint)
#undef V128_LANES

SMR_INLINE N(vm) N(lt)(N(vf) a, N(vf) b) { return a < b; }
SMR_INLINE N(vm) N(le)(N(vf) a, N(vf) b) { return a <= b; }
SMR_INLINE N(vm) N(gt)(N(vf) a, N(vf) b) { return a > b; }
SMR_INLINE N(vm) N(ge)(N(vf) a, N(vf) b) { return a >= b; }
SMR_INLINE N(vm) N(eq)(N(vf) a, N(vf) b) { return a == b; }
SMR_INLINE N(vm) N(ne)(N(vf) a, N(vf) b) { return a != b; }
SMR_INLINE N(vm) N(mand)(N(vm) a, N(vm) b) { return a & b; }
SMR_INLINE N(vm) N(mor)(N(vm) a, N(vm) b) { return a | b; }
SMR_INLINE N(vm) N(mnot)(N(vm) a) { return ~a; }
#if defined(SMR_SIMD_WASM)
SMR_INLINE int N(any)(N(vm) m) { return __builtin_wasm_any_true_v128(m); }
SMR_INLINE int N(all)(N(vm) m) { return __builtin_wasm_all_true_i32x4(m); }
#else
SMR_INLINE int N(any)(N(vm) m) { return (m[0] | m[1] | m[2] | m[3]) != 0; }
SMR_INLINE int N(all)(N(vm) m) { return (m[0] & m[1] & m[2] & m[3]) != 0; }
#endif

SMR_INLINE N(vi) N(izero)(void) { return N(iset1)(0); }
SMR_INLINE N(vi) N(iload_i8)(const int8_t *p) {
  typedef int8_t bytes __attribute__((vector_size(4)));
  bytes four;
  memcpy(&four, p, sizeof four);
  return __builtin_convertvector(four, N(vi));
}
SMR_INLINE N(vi) N(iload)(const int32_t *p) {
  N(vi) v;
  memcpy(&v, p, sizeof v);
  return v;
}
SMR_INLINE void N(istore)(int32_t *p, N(vi) v) { memcpy(p, &v, sizeof v); }
SMR_INLINE N(vi) N(iload_n)(const int32_t *p, size_t n) {
  int32_t lanes[4] = {0};
  for (size_t i = 0; i < n; i++) lanes[i] = p[i];
  return N(iload)(lanes);
}
SMR_INLINE void N(istore_n)(int32_t *p, N(vi) v, size_t n) {
  int32_t lanes[4];
  N(istore)(lanes, v);
  for (size_t i = 0; i < n; i++) p[i] = lanes[i];
}
// In unsigned lanes, whose overflow is defined.
SMR_INLINE N(vi) N(iadd)(N(vi) a, N(vi) b) { return (N(vi))((N(vu))a + (N(vu))b); }
SMR_INLINE N(vi) N(isub)(N(vi) a, N(vi) b) { return (N(vi))((N(vu))a - (N(vu))b); }
SMR_INLINE N(vi) N(imul)(N(vi) a, N(vi) b) { return (N(vi))((N(vu))a * (N(vu))b); }
SMR_INLINE N(vi) N(imin)(N(vi) a, N(vi) b) { return N(iselect)(a < b, a, b); }
SMR_INLINE N(vi) N(imax)(N(vi) a, N(vi) b) { return N(iselect)(a > b, a, b); }
SMR_INLINE N(vi) N(iand)(N(vi) a, N(vi) b) { return a & b; }
SMR_INLINE N(vi) N(ior)(N(vi) a, N(vi) b) { return a | b; }
SMR_INLINE N(vi) N(ixor)(N(vi) a, N(vi) b) { return a ^ b; }
SMR_INLINE N(vi) N(ishl)(N(vi) a, int n) { return (N(vi))((N(vu))a << n); }
SMR_INLINE N(vi) N(isra)(N(vi) a, int n) { return a >> n; }
SMR_INLINE N(vi) N(isrl)(N(vi) a, int n) { return (N(vi))((N(vu))a >> n); }
SMR_INLINE N(vm) N(igt)(N(vi) a, N(vi) b) { return a > b; }
SMR_INLINE N(vm) N(ieq)(N(vi) a, N(vi) b) { return a == b; }

#if defined(SMR_SIMD_RELAXED)
SMR_INLINE N(vi) N(to_int_trunc)(N(vf) v) {
  return (N(vi))__builtin_wasm_relaxed_trunc_s_i32x4_f32x4(v);
}
#else
SMR_INLINE N(vi) N(to_int_trunc)(N(vf) v) { return __builtin_convertvector(v, N(vi)); }
#endif
SMR_INLINE N(vi) N(to_int)(N(vf) v) { return N(to_int_trunc)(N(rint)(v)); }
SMR_INLINE N(vf) N(to_float)(N(vi) i) { return __builtin_convertvector(i, N(vf)); }
SMR_INLINE N(vf) N(scale2)(N(vf) v, N(vi) i) {
  return v * N(from_bits)(N(iadd)(N(ishl)(i, 23), (N(vi))SMR_LITERAL(1.0f)));
}

// Neighbours first, as in other instruction sets of this width.
SMR_INLINE float N(reduce_add)(N(vf) v) { return (v[0] + v[1]) + (v[2] + v[3]); }
SMR_INLINE float N(reduce_max)(N(vf) v) {
  const float a = v[0] > v[1] ? v[0] : v[1], b = v[2] > v[3] ? v[2] : v[3];
  return a > b ? a : b;
}
SMR_INLINE float N(reduce_min)(N(vf) v) {
  const float a = v[0] < v[1] ? v[0] : v[1], b = v[2] < v[3] ? v[2] : v[3];
  return a < b ? a : b;
}

// Half vectors, for a last panel that is at most half full.
typedef float N(hf) __attribute__((vector_size(8)));
SMR_INLINE N(hf) N(hset1)(float x) { return (N(hf)){x, x}; }
SMR_INLINE N(hf) N(hload)(const float *p) {
  N(hf) v;
  memcpy(&v, p, sizeof v);
  return v;
}
SMR_INLINE void N(hstore)(float *p, N(hf) v) { memcpy(p, &v, sizeof v); }
SMR_INLINE N(hf) N(hload_f16)(const uint16_t *p) {
  N(vh) h = {0};
  memcpy(&h, p, sizeof h / 2);
  const N(vf) v = N(expand_f16)(h);
  return (N(hf)){v[0], v[1]};
}
#if SMR_ARCH_RVV && __has_builtin(__builtin_elementwise_fma)
SMR_INLINE N(hf) N(hfma)(N(hf) a, N(hf) b, N(hf) c) { return __builtin_elementwise_fma(a, b, c); }
#else
SMR_INLINE N(hf) N(hfma)(N(hf) a, N(hf) b, N(hf) c) { return a * b + c; }
#endif
SMR_INLINE N(hf) N(hmin)(N(hf) a, N(hf) b) {
  return (N(hf)){a[0] < b[0] ? a[0] : b[0], a[1] < b[1] ? a[1] : b[1]};
}
SMR_INLINE N(hf) N(hmax)(N(hf) a, N(hf) b) {
  return (N(hf)){a[0] > b[0] ? a[0] : b[0], a[1] > b[1] ? a[1] : b[1]};
}
SMR_INLINE N(hf) N(hlow)(N(vf) v) { return (N(hf)){v[0], v[1]}; }
