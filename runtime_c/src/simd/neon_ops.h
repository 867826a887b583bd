// SPDX-License-Identifier: Apache-2.0
// The vocabulary in AArch64 Advanced SIMD, four lanes wide. Included by simd/neon*_begin.h only.

typedef float32x4_t N(vf);
typedef int32x4_t N(vi);
typedef uint32x4_t N(vm);
typedef uint32_t N(v4su) __attribute__((vector_size(16)));

SMR_INLINE float32x4_t N(zero)(void) { return vdupq_n_f32(0.0f); }
SMR_INLINE float32x4_t N(set1)(float x) { return vdupq_n_f32(x); }
SMR_INLINE float32x4_t N(load)(const float *p) { return vld1q_f32(p); }
SMR_INLINE void N(store)(float *p, float32x4_t v) { vst1q_f32(p, v); }
SMR_INLINE float32x4_t N(load_n)(const float *p, size_t n) {
  float lanes[4] = {0};
  for (size_t i = 0; i < n; i++) lanes[i] = p[i];
  return vld1q_f32(lanes);
}
SMR_INLINE void N(store_n)(float *p, float32x4_t v, size_t n) {
  float lanes[4];
  vst1q_f32(lanes, v);
  for (size_t i = 0; i < n; i++) p[i] = lanes[i];
}
SMR_INLINE float32x4_t N(load_f16)(const uint16_t *p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
SMR_INLINE void N(store_f16)(uint16_t *p, float32x4_t v) {
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}
SMR_INLINE float32x4_t N(load_f16_n)(const uint16_t *p, size_t n) {
  uint16_t lanes[4] = {0};
  for (size_t i = 0; i < n; i++) lanes[i] = p[i];
  return N(load_f16)(lanes);
}
SMR_INLINE void N(store_f16_n)(uint16_t *p, float32x4_t v, size_t n) {
  uint16_t lanes[4];
  N(store_f16)(lanes, v);
  for (size_t i = 0; i < n; i++) p[i] = lanes[i];
}

SMR_INLINE float32x4_t N(add)(float32x4_t a, float32x4_t b) { return vaddq_f32(a, b); }
SMR_INLINE float32x4_t N(sub)(float32x4_t a, float32x4_t b) { return vsubq_f32(a, b); }
SMR_INLINE float32x4_t N(mul)(float32x4_t a, float32x4_t b) { return vmulq_f32(a, b); }
SMR_INLINE float32x4_t N(div)(float32x4_t a, float32x4_t b) { return vdivq_f32(a, b); }
SMR_INLINE float32x4_t N(fma)(float32x4_t a, float32x4_t b, float32x4_t c) {
  return vfmaq_f32(c, a, b);
}
SMR_INLINE float32x4_t N(min)(float32x4_t a, float32x4_t b) { return vminq_f32(a, b); }
SMR_INLINE float32x4_t N(max)(float32x4_t a, float32x4_t b) { return vmaxq_f32(a, b); }
SMR_INLINE float32x4_t N(clamp)(float32x4_t x, float32x4_t lo, float32x4_t hi) {
  return vminq_f32(hi, vmaxq_f32(lo, x));
}
SMR_INLINE float32x4_t N(neg)(float32x4_t a) { return vnegq_f32(a); }
SMR_INLINE float32x4_t N(abs)(float32x4_t a) { return vabsq_f32(a); }
SMR_INLINE float32x4_t N(sqrt)(float32x4_t a) { return vsqrtq_f32(a); }
SMR_INLINE float32x4_t N(floor)(float32x4_t a) { return vrndmq_f32(a); }
SMR_INLINE float32x4_t N(ceil)(float32x4_t a) { return vrndpq_f32(a); }
SMR_INLINE float32x4_t N(trunc)(float32x4_t a) { return vrndq_f32(a); }
SMR_INLINE float32x4_t N(rint)(float32x4_t a) { return vrndnq_f32(a); }

SMR_INLINE int32x4_t N(bits)(float32x4_t v) { return vreinterpretq_s32_f32(v); }
SMR_INLINE float32x4_t N(from_bits)(int32x4_t i) { return vreinterpretq_f32_s32(i); }

SMR_INLINE uint32x4_t N(lt)(float32x4_t a, float32x4_t b) { return vcltq_f32(a, b); }
SMR_INLINE uint32x4_t N(le)(float32x4_t a, float32x4_t b) { return vcleq_f32(a, b); }
SMR_INLINE uint32x4_t N(gt)(float32x4_t a, float32x4_t b) { return vcgtq_f32(a, b); }
SMR_INLINE uint32x4_t N(ge)(float32x4_t a, float32x4_t b) { return vcgeq_f32(a, b); }
SMR_INLINE uint32x4_t N(eq)(float32x4_t a, float32x4_t b) { return vceqq_f32(a, b); }
SMR_INLINE uint32x4_t N(ne)(float32x4_t a, float32x4_t b) { return vmvnq_u32(vceqq_f32(a, b)); }
SMR_INLINE uint32x4_t N(mand)(uint32x4_t a, uint32x4_t b) { return vandq_u32(a, b); }
SMR_INLINE uint32x4_t N(mor)(uint32x4_t a, uint32x4_t b) { return vorrq_u32(a, b); }
SMR_INLINE uint32x4_t N(mnot)(uint32x4_t a) { return vmvnq_u32(a); }
SMR_INLINE int N(any)(uint32x4_t m) { return vmaxvq_u32(m) != 0; }
SMR_INLINE int N(all)(uint32x4_t m) { return vminvq_u32(m) != 0; }
SMR_INLINE float32x4_t N(select)(uint32x4_t m, float32x4_t a, float32x4_t b) {
  return vbslq_f32(m, a, b);
}

SMR_INLINE int32x4_t N(izero)(void) { return vdupq_n_s32(0); }
SMR_INLINE int32x4_t N(iset1)(int32_t x) { return vdupq_n_s32(x); }
SMR_INLINE N(vi) N(iload_i8)(const int8_t *p) {
  uint32_t four;
  memcpy(&four, p, sizeof four);
  return vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(four))));
}
SMR_INLINE int32x4_t N(iload)(const int32_t *p) { return vld1q_s32(p); }
SMR_INLINE void N(istore)(int32_t *p, int32x4_t v) { vst1q_s32(p, v); }
SMR_INLINE int32x4_t N(iload_n)(const int32_t *p, size_t n) {
  int32_t lanes[4] = {0};
  for (size_t i = 0; i < n; i++) lanes[i] = p[i];
  return vld1q_s32(lanes);
}
SMR_INLINE void N(istore_n)(int32_t *p, int32x4_t v, size_t n) {
  int32_t lanes[4];
  vst1q_s32(lanes, v);
  for (size_t i = 0; i < n; i++) p[i] = lanes[i];
}
// In unsigned lanes: GCC's signed intrinsics are C operators, whose overflow is undefined.
SMR_INLINE int32x4_t N(iadd)(int32x4_t a, int32x4_t b) {
  return (int32x4_t)((N(v4su))a + (N(v4su))b);
}
SMR_INLINE int32x4_t N(isub)(int32x4_t a, int32x4_t b) {
  return (int32x4_t)((N(v4su))a - (N(v4su))b);
}
SMR_INLINE int32x4_t N(imul)(int32x4_t a, int32x4_t b) {
  return (int32x4_t)((N(v4su))a * (N(v4su))b);
}
SMR_INLINE int32x4_t N(imin)(int32x4_t a, int32x4_t b) { return vminq_s32(a, b); }
SMR_INLINE int32x4_t N(imax)(int32x4_t a, int32x4_t b) { return vmaxq_s32(a, b); }
SMR_INLINE int32x4_t N(iand)(int32x4_t a, int32x4_t b) { return vandq_s32(a, b); }
SMR_INLINE int32x4_t N(ior)(int32x4_t a, int32x4_t b) { return vorrq_s32(a, b); }
SMR_INLINE int32x4_t N(ixor)(int32x4_t a, int32x4_t b) { return veorq_s32(a, b); }
// As a vector expression, so that a constant n becomes an immediate at every -O level.
SMR_INLINE int32x4_t N(ishl)(int32x4_t a, int n) { return (int32x4_t)((N(v4su))a << n); }
SMR_INLINE int32x4_t N(isra)(int32x4_t a, int n) { return a >> n; }
SMR_INLINE int32x4_t N(isrl)(int32x4_t a, int n) { return (int32x4_t)((N(v4su))a >> n); }
SMR_INLINE uint32x4_t N(igt)(int32x4_t a, int32x4_t b) { return vcgtq_s32(a, b); }
SMR_INLINE uint32x4_t N(ieq)(int32x4_t a, int32x4_t b) { return vceqq_s32(a, b); }
SMR_INLINE int32x4_t N(iselect)(uint32x4_t m, int32x4_t a, int32x4_t b) {
  return vbslq_s32(m, a, b);
}

SMR_INLINE int32x4_t N(to_int)(float32x4_t v) { return vcvtnq_s32_f32(v); }
SMR_INLINE int32x4_t N(to_int_trunc)(float32x4_t v) { return vcvtq_s32_f32(v); }
SMR_INLINE float32x4_t N(to_float)(int32x4_t i) { return vcvtq_f32_s32(i); }
SMR_INLINE float32x4_t N(scale2)(float32x4_t v, int32x4_t i) {
  return N(mul)(v, N(from_bits)(N(ishl)(N(iadd)(i, N(iset1)(127)), 23)));
}

SMR_INLINE float N(reduce_add)(float32x4_t v) { return vaddvq_f32(v); }
SMR_INLINE float N(reduce_max)(float32x4_t v) { return vmaxvq_f32(v); }
SMR_INLINE float N(reduce_min)(float32x4_t v) { return vminvq_f32(v); }

// Half vectors, for a last panel that is at most half full.
typedef float32x2_t N(hf);
SMR_INLINE float32x2_t N(hset1)(float x) { return vdup_n_f32(x); }
SMR_INLINE float32x2_t N(hload)(const float *p) { return vld1_f32(p); }
SMR_INLINE void N(hstore)(float *p, float32x2_t v) { vst1_f32(p, v); }
SMR_INLINE float32x2_t N(hload_f16)(const uint16_t *p) {
  uint16_t lanes[4] = {p[0], p[1], 0, 0};
  return vget_low_f32(N(load_f16)(lanes));
}
SMR_INLINE float32x2_t N(hfma)(float32x2_t a, float32x2_t b, float32x2_t c) {
  return vfma_f32(c, a, b);
}
SMR_INLINE float32x2_t N(hmin)(float32x2_t a, float32x2_t b) { return vmin_f32(a, b); }
SMR_INLINE float32x2_t N(hmax)(float32x2_t a, float32x2_t b) { return vmax_f32(a, b); }
SMR_INLINE float32x2_t N(hlow)(float32x4_t v) { return vget_low_f32(v); }
