// SPDX-License-Identifier: Apache-2.0
// The vocabulary in portable C, one lane wide. Included by simd/scalar_begin.h only.

typedef float N(vf);
typedef int32_t N(vi);
typedef int N(vm);

SMR_INLINE float N(zero)(void) { return 0.0f; }
SMR_INLINE float N(set1)(float x) { return x; }
SMR_INLINE float N(load)(const float *p) {
  float v;
  memcpy(&v, p, sizeof v);
  return v;
}
SMR_INLINE void N(store)(float *p, float v) { memcpy(p, &v, sizeof v); }
SMR_INLINE float N(load_n)(const float *p, size_t n) { return n ? N(load)(p) : 0.0f; }
SMR_INLINE void N(store_n)(float *p, float v, size_t n) {
  if (n) N(store)(p, v);
}
SMR_INLINE float N(load_f16)(const uint16_t *p) { return smr_f16_to_f32(*p); }
SMR_INLINE void N(store_f16)(uint16_t *p, float v) { *p = smr_f32_to_f16(v); }
SMR_INLINE float N(load_f16_n)(const uint16_t *p, size_t n) {
  return n ? smr_f16_to_f32(*p) : 0.0f;
}
SMR_INLINE void N(store_f16_n)(uint16_t *p, float v, size_t n) {
  if (n) *p = smr_f32_to_f16(v);
}

SMR_INLINE float N(add)(float a, float b) { return a + b; }
SMR_INLINE float N(sub)(float a, float b) { return a - b; }
SMR_INLINE float N(mul)(float a, float b) { return a * b; }
SMR_INLINE float N(div)(float a, float b) { return a / b; }
SMR_INLINE float N(fma)(float a, float b, float c) { return a * b + c; }
SMR_INLINE float N(min)(float a, float b) { return a < b ? a : b; }
SMR_INLINE float N(max)(float a, float b) { return a > b ? a : b; }
SMR_INLINE float N(clamp)(float x, float lo, float hi) { return N(min)(hi, N(max)(lo, x)); }
SMR_INLINE float N(neg)(float a) { return -a; }
SMR_INLINE float N(abs)(float a) { return fabsf(a); }
SMR_INLINE float N(sqrt)(float a) { return sqrtf(a); }
SMR_INLINE float N(floor)(float a) { return floorf(a); }
SMR_INLINE float N(ceil)(float a) { return ceilf(a); }
SMR_INLINE float N(trunc)(float a) { return truncf(a); }

SMR_INLINE int32_t N(bits)(float v) {
  int32_t i;
  memcpy(&i, &v, sizeof i);
  return i;
}
SMR_INLINE float N(from_bits)(int32_t i) {
  float v;
  memcpy(&v, &i, sizeof v);
  return v;
}

// Adding and subtracting 2^23 rounds in the current (nearest-even) mode; larger values are
// integers.
SMR_INLINE float N(rint)(float a) {
  const float magnitude = fabsf(a);
  if (!(magnitude < 0x1p23f)) return a;
  const float rounded = (magnitude + 0x1p23f) - 0x1p23f;
  return N(from_bits)(N(bits)(rounded) | (N(bits)(a) & INT32_MIN));
}

SMR_INLINE int N(lt)(float a, float b) { return a < b; }
SMR_INLINE int N(le)(float a, float b) { return a <= b; }
SMR_INLINE int N(gt)(float a, float b) { return a > b; }
SMR_INLINE int N(ge)(float a, float b) { return a >= b; }
SMR_INLINE int N(eq)(float a, float b) { return a == b; }
SMR_INLINE int N(ne)(float a, float b) { return a != b; }
SMR_INLINE int N(mand)(int a, int b) { return a & b; }
SMR_INLINE int N(mor)(int a, int b) { return a | b; }
SMR_INLINE int N(mnot)(int a) { return !a; }
SMR_INLINE int N(any)(int m) { return m; }
SMR_INLINE int N(all)(int m) { return m; }
SMR_INLINE float N(select)(int m, float a, float b) { return m ? a : b; }

SMR_INLINE int32_t N(izero)(void) { return 0; }
SMR_INLINE int32_t N(iset1)(int32_t x) { return x; }
SMR_INLINE int32_t N(iload)(const int32_t *p) {
  int32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}
SMR_INLINE void N(istore)(int32_t *p, int32_t v) { memcpy(p, &v, sizeof v); }
SMR_INLINE int32_t N(iload_n)(const int32_t *p, size_t n) { return n ? N(iload)(p) : 0; }
SMR_INLINE void N(istore_n)(int32_t *p, int32_t v, size_t n) {
  if (n) N(istore)(p, v);
}
SMR_INLINE int32_t N(iadd)(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
SMR_INLINE int32_t N(isub)(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); }
SMR_INLINE int32_t N(imul)(int32_t a, int32_t b) { return (int32_t)((uint32_t)a * (uint32_t)b); }
SMR_INLINE int32_t N(imin)(int32_t a, int32_t b) { return a < b ? a : b; }
SMR_INLINE int32_t N(imax)(int32_t a, int32_t b) { return a > b ? a : b; }
SMR_INLINE int32_t N(iand)(int32_t a, int32_t b) { return a & b; }
SMR_INLINE int32_t N(ior)(int32_t a, int32_t b) { return a | b; }
SMR_INLINE int32_t N(ixor)(int32_t a, int32_t b) { return a ^ b; }
SMR_INLINE int32_t N(ishl)(int32_t a, int n) { return (int32_t)((uint32_t)a << n); }
SMR_INLINE int32_t N(isra)(int32_t a, int n) { return a >> n; }
SMR_INLINE int32_t N(isrl)(int32_t a, int n) { return (int32_t)((uint32_t)a >> n); }
SMR_INLINE int N(igt)(int32_t a, int32_t b) { return a > b; }
SMR_INLINE int N(ieq)(int32_t a, int32_t b) { return a == b; }
SMR_INLINE int32_t N(iselect)(int m, int32_t a, int32_t b) { return m ? a : b; }

// Outside int32 a C conversion is undefined; the vector ISAs give INT32_MIN or saturate.
SMR_INLINE int32_t N(to_int_trunc)(float v) {
  return v >= -0x1p31f && v < 0x1p31f ? (int32_t)v : INT32_MIN;
}
SMR_INLINE int32_t N(to_int)(float v) { return N(to_int_trunc)(N(rint)(v)); }
SMR_INLINE float N(to_float)(int32_t i) { return (float)i; }
SMR_INLINE float N(scale2)(float v, int32_t i) {
  return v * N(from_bits)((int32_t)((uint32_t)(i + 127) << 23));
}

SMR_INLINE float N(reduce_add)(float v) { return v; }
SMR_INLINE float N(reduce_max)(float v) { return v; }
SMR_INLINE float N(reduce_min)(float v) { return v; }
