// SPDX-License-Identifier: Apache-2.0
// The dialect that kernels are written in: one text for OpenCL C 1.2 and for C11. This is the C11
// side, for tests; dialect.cl is that of OpenCL.
//
//   KERNEL(NAME) { GLOBAL const f32 *x = IN(0, f32); … }
//
// Inside are ITEM(d), the work-item's index along dimension d; IN(i, T) and OUT(i, T), pointers to
// the launch's buffers; P(i) and Q(i), integers 0 to 15 and 16 to 31 (i is a hexadecimal digit);
// F(i), floats. Pointers into buffers are GLOBAL. A work-item may not write what another one reads:
// there are no barriers and no local memory. Element types are f32, f16, i8 to i64 and u8 to u64;
// LD(T, p, i) and ST(T, v, p, i) read and write one, f16 as a float. Vectors are f32x16, f32x4 and
// i32x16; LOAD(16, T, p) and STORE(16, T, v, p) read and write them. They know + - * and what is
// defined below: no elements by name.
//
// The defines of a kernel's row (rows.inc) come before its file, which is included once for each:
// functions of a file are called FN(name), which differs from row to row.
//
// Constant weights in panels of 16 columns are PANEL(T) w = PANEL_IN(T), a place in buffer 1.
// READ(n, T, p) reads n columns at a place; TEXEL(e) is how far e elements, a multiple of 4, take
// it, computed as PLACE. Kernels of 4 columns may be given an image over that buffer (cl_texels.c):
// they are compiled with TEXELS then, and places count texels of four elements.
//
// No contraction: a * b + c rounds twice. FMA(a, b, c) rounds once or twice, whatever is faster.
#ifndef SMR_BACKENDS_OPENCL_KERNELS_DIALECT_H
#define SMR_BACKENDS_OPENCL_KERNELS_DIALECT_H

#include "simd/half.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float f32;
typedef uint16_t f16;
typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x16 __attribute__((vector_size(64)));
typedef int32_t i32x4 __attribute__((vector_size(16)));
typedef int32_t i32x16 __attribute__((vector_size(64)));

#define GLOBAL
#define HELPER static inline
#define UNROLL
#define KERNEL(name) static void name(void)
/// What the work-item that runs was given.
struct smr_cl_item {
  int item[3], group[3], groups[3], subgroup, lane, lanes;
  unsigned char *buffers[8];
  struct {
    int s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, sa, sb, sc, sd, se, sf;
  } p, q;
  struct {
    float s0, s1, s2, s3, s4, s5, s6, s7;
  } f;
};
static struct smr_cl_item smr_cl_now;
/// The sum of what all lanes give, or the largest; whoever runs the lanes defines it.
static float smr_cl_of_lanes(float v, int largest);
#define IN(i, T) ((const T *)(const void *)smr_cl_now.buffers[i])
#define OUT(i, T) ((T *)(void *)smr_cl_now.buffers[i])
#define ITEM(d) smr_cl_now.item[d]
#ifndef TEXELS
#define TEXELS 0
#endif
#define PANEL(T) CAT(PANEL_, TEXELS)(T)
#define PANEL_IN(T) CAT(PANEL_IN_, TEXELS)(T)
#define PLACE CAT(PLACE_, TEXELS)
#define TEXEL(n) CAT(TEXEL_, TEXELS)(n)
#define READ(n, T, p) CAT(READ_, TEXELS)(n, T, p)
#define PANEL_0(T) const T *
#define PANEL_1(T) int
#define PANEL_IN_0(T) IN(1, T)
#define PANEL_IN_1(T) 0
#define PLACE_0 size_t
#define PLACE_1 int
#define TEXEL_0(n) (n)
#define TEXEL_1(n) ((n) >> 2)
#define READ_0(n, T, p) LOAD(n, T, p)
#define READ_1(n, T, p) LOAD(n, T, IN(1, T) + (size_t)(p) * 4)
// Of the lane that runs, for kernels whose lanes share an item (common.cl).
#define get_group_id(d) smr_cl_now.group[d]
#define get_num_groups(d) smr_cl_now.groups[d]
#define get_sub_group_id() smr_cl_now.subgroup
#define get_sub_group_local_id() smr_cl_now.lane
#define get_sub_group_size() smr_cl_now.lanes
#define sub_group_reduce_add(v) smr_cl_of_lanes(v, 0)
#define sub_group_reduce_max(v) smr_cl_of_lanes(v, 1)
#define P(i) smr_cl_now.p.s##i
#define Q(i) smr_cl_now.q.s##i
#define F(i) smr_cl_now.f.s##i
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define CAT3(a, b, c) CAT(CAT(a, b), c)
#define CAT4(a, b, c, d) CAT(CAT3(a, b, c), d)

static inline int smr_cl_bits(float v) {
  int bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}
static inline float smr_cl_float(int bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
#define BITS_OF(v) smr_cl_bits(v)
#define FLOAT_OF(v) smr_cl_float(v)
#define FMA(a, b, c) ((a) * (b) + (c))
#define VEC4(...) ((f32x4){__VA_ARGS__})
#define VEC16(...) ((f32x16){__VA_ARGS__})
#define SPLAT4(v) ((v) - (f32x4){0})
#define SPLAT16(v) ((v) - (f32x16){0})
#define SPLATI16(v) ((v) + (i32x16){0})

// Vectors go by address: targets differ in how they return them.
#define SMR_CL_VECTOR(n, V)                                      \
  static inline void smr_cl_ld##n##_f16(V *v, const f16 *p) {    \
    for (int i = 0; i < n; i++) (*v)[i] = smr_f16_to_f32(p[i]);  \
  }                                                              \
  static inline void smr_cl_ld##n##_i8(V *v, const i8 *p) {      \
    for (int i = 0; i < n; i++) (*v)[i] = p[i];                  \
  }                                                              \
  static inline void smr_cl_st##n##_f16(const V *v, f16 *p) {    \
    for (int i = 0; i < n; i++) p[i] = smr_f32_to_f16((*v)[i]);  \
  }                                                              \
  static inline void smr_cl_clamp##n(V *v, float lo, float hi) { \
    for (int i = 0; i < n; i++) {                                \
      (*v)[i] = (*v)[i] < lo ? lo : (*v)[i];                     \
      (*v)[i] = (*v)[i] > hi ? hi : (*v)[i];                     \
    }                                                            \
  }
SMR_CL_VECTOR(4, f32x4)
SMR_CL_VECTOR(16, f32x16)
#undef SMR_CL_VECTOR
#define SMR_CL_MADE(V, name, call) \
  __extension__({                  \
    V name;                        \
    call;                          \
    name;                          \
  })
#define LD4_f32(p) SMR_CL_MADE(f32x4, ld4_f32_, memcpy(&ld4_f32_, (p), 16))
#define LD4_f16(p) SMR_CL_MADE(f32x4, ld4_f16_, smr_cl_ld4_f16(&ld4_f16_, (p)))
#define LD16_f32(p) SMR_CL_MADE(f32x16, ld16_f32_, memcpy(&ld16_f32_, (p), 64))
#define LD16_f16(p) SMR_CL_MADE(f32x16, ld16_f16_, smr_cl_ld16_f16(&ld16_f16_, (p)))
#define ST4_f32(v, p) memcpy((p), &(v), 16)
#define ST4_f16(v, p) smr_cl_st4_f16(&(v), (p))
#define ST16_f32(v, p) memcpy((p), &(v), 64)
#define ST16_f16(v, p) smr_cl_st16_f16(&(v), (p))
#define CLAMP4(v, lo, hi) \
  SMR_CL_MADE(f32x4, clamp4_, (clamp4_ = (v), smr_cl_clamp4(&clamp4_, (lo), (hi))))
#define CLAMP16(v, lo, hi) \
  SMR_CL_MADE(f32x16, clamp16_, (clamp16_ = (v), smr_cl_clamp16(&clamp16_, (lo), (hi))))
#define LD_f32(p, i) ((p)[i])
#define LD_f16(p, i) smr_f16_to_f32((p)[i])
#define ST_f32(v, p, i) ((p)[i] = (v))
#define ST_f16(v, p, i) ((p)[i] = smr_f32_to_f16(v))

/// Byte k of each of 16 groups of four, as floats.
static inline void smr_cl_quad_bytes(f32x16 *v, const i8 *p, int k) {
  for (int i = 0; i < 16; i++) (*v)[i] = p[4 * i + k];
}
static inline void smr_cl_ints16(i32x16 *w, const f32x16 *v) {
  for (int i = 0; i < 16; i++) (*w)[i] = (i32)(*v)[i];
}
/// Four bytes, the first one lowest, at an address that is a multiple of 4.
static inline u32 smr_cl_quad(const i8 *p) {
  u32 v;
  memcpy(&v, p, sizeof v);
  return v;
}
#define QUAD(p) smr_cl_quad(p)
#define LD4_i8(p) SMR_CL_MADE(f32x4, ld4_i8_, smr_cl_ld4_i8(&ld4_i8_, (p)))
#define LD16_i8(p) SMR_CL_MADE(f32x16, ld16_i8_, smr_cl_ld16_i8(&ld16_i8_, (p)))
#define QUAD_BYTES(p, k) SMR_CL_MADE(f32x16, quad_, smr_cl_quad_bytes(&quad_, (p), (k)))
#define LD16_i32(p) SMR_CL_MADE(i32x16, ld16_i32_, memcpy(&ld16_i32_, (p), 64))
#define ST16_i32(v, p) memcpy((p), &(v), 64)
#define INTS16(v) SMR_CL_MADE(i32x16, ints16_, smr_cl_ints16(&ints16_, &(v)))

#define SMR_CL_SATURATE(name, T, low, high, above)                                   \
  static inline T smr_cl_##name(float v) {                                           \
    return v != v ? (T)0 : v >= (above) ? (high) : v <= (float)(low) ? (low) : (T)v; \
  }
SMR_CL_SATURATE(sat_i8, i8, INT8_MIN, INT8_MAX, 127.0f)
SMR_CL_SATURATE(sat_u8, u8, 0, UINT8_MAX, 255.0f)
SMR_CL_SATURATE(sat_i32, i32, INT32_MIN, INT32_MAX, 2147483648.0f)
SMR_CL_SATURATE(sat_i64, i64, INT64_MIN, INT64_MAX, 9223372036854775808.0f)
#undef SMR_CL_SATURATE
#define I8_SAT_RTZ(v) smr_cl_sat_i8(v)
#define U8_SAT_RTZ(v) smr_cl_sat_u8(v)
#define I32_SAT_RTZ(v) smr_cl_sat_i32(v)
#define I64_SAT_RTZ(v) smr_cl_sat_i64(v)
#define F32_RTE(v) ((float)(v))

// The functions of OpenCL are of floats where their operands are.
#define exp expf
#define expm1 expm1f
#define log logf
#define log1p log1pf
#define sqrt sqrtf
#define tanh tanhf
#define sin sinf
#define cos cosf
#define tan tanf
#define asin asinf
#define acos acosf
#define atan atanf
#define atan2 atan2f
#define sinh sinhf
#define cosh coshf
#define asinh asinhf
#define acosh acoshf
#define atanh atanhf
#define erf erff
#define pow powf
#define fmod fmodf
#define fabs fabsf
#define ceil ceilf
#define floor floorf
#define rint rintf
#define ldexp ldexpf

#define INTEGERS 1
#include "backends/opencl/kernels/functions.cl"
#include "backends/opencl/kernels/common.cl"

#endif
