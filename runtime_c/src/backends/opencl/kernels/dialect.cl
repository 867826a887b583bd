// SPDX-License-Identifier: Apache-2.0
// The dialect in OpenCL C 1.2: what comes before all kernels. dialect.h says the same in C11,
// and what it all means.
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_subgroups
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
#define GLOBAL __global
#define HELPER static
#define UNROLL _Pragma("unroll")
typedef float f32;
typedef half f16;
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float4 f32x4;
typedef float16 f32x16;
typedef int4 i32x4;
typedef int16 i32x16;
// Weights in panels; with TEXELS they are an image over the buffer, a texel being four columns.
#if TEXELS
#define WEIGHTS_1 __read_only image1d_buffer_t b1
#define PANEL(T) int
#define PANEL_IN(T) 0
#define PLACE int
#define TEXEL(n) ((n) >> 2)
#define READ(n, T, p) read_imagef(b1, p)
#else
#define WEIGHTS_1 __global const uchar *b1
#define PANEL(T) __global const T *
#define PANEL_IN(T) IN(1, T)
#define PLACE size_t
#define TEXEL(n) (n)
#define READ(n, T, p) LOAD(n, T, p)
#endif
#define KERNEL(name)                                                                            \
  __kernel __attribute__((vec_type_hint(float16))) void name(__global const uchar *b0, WEIGHTS_1, __global const uchar *b2, \
                     __global const uchar *b3, __global const uchar *b4, __global uchar *b5,     \
                     __global uchar *b6, __global uchar *b7, uint8 o, int16 p, int16 q, float8 f)
#define IN(i, T) ((__global const T *)(b##i + ((size_t)o.s##i << 2)))
#define OUT(i, T) ((__global T *)(b##i + ((size_t)o.s##i << 2)))
#define ITEM(d) ((int)get_global_id(d))
#define P(i) p.s##i
#define Q(i) q.s##i
#define F(i) f.s##i
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define CAT3(a, b, c) CAT(CAT(a, b), c)
#define CAT4(a, b, c, d) CAT(CAT3(a, b, c), d)
#define BITS_OF(v) as_int(v)
#define FLOAT_OF(v) as_float(v)
#ifdef FP_FAST_FMAF
#define FMA(a, b, c) fma(a, b, c)
#else
#define FMA(a, b, c) mad(a, b, c)
#endif
#define SPLAT4(v) ((float4)(v))
#define SPLAT16(v) ((float16)(v))
#define CLAMP4(v, lo, hi) \
  select(select(v, (float4)(lo), (v) < (float4)(lo)), (float4)(hi), (v) > (float4)(hi))
#define CLAMP16(v, lo, hi) \
  select(select(v, (float16)(lo), (v) < (float16)(lo)), (float16)(hi), (v) > (float16)(hi))
#define LD_f32(p, i) ((p)[i])
#define LD_f16(p, i) vload_half(i, p)
#define ST_f32(v, p, i) ((p)[i] = (v))
#define ST_f16(v, p, i) vstore_half_rte(v, i, p)
#define LD4_f32(p) vload4(0, p)
#define LD4_f16(p) vload_half4(0, p)
#define LD16_f32(p) vload16(0, p)
#define LD16_f16(p) vload_half16(0, p)
#define ST4_f32(v, p) vstore4(v, 0, p)
#define ST4_f16(v, p) vstore_half4_rte(v, 0, p)
#define ST16_f32(v, p) vstore16(v, 0, p)
#define ST16_f16(v, p) vstore_half16_rte(v, 0, p)
#define QUAD(p) (((__global const uint *)(p))[0])
#define VEC4(a, b, c, d) ((float4)(a, b, c, d))
#define VEC16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, q, r) \
  ((float16)(a, b, c, d, e, f, g, h, i, j, k, l, m, n, q, r))
#if INTEGERS
#define SPLATI16(v) ((int16)(v))
#define INTS16(v) convert_int16_rte(v)
#define LD4_i8(p) convert_float4(vload4(0, p))
#define LD16_i8(p) convert_float16(vload16(0, p))
#define LD16_i32(p) vload16(0, p)
#define ST16_i32(v, p) vstore16(v, 0, p)
// OpenCL only recommends that a saturating conversion of NaN gives 0: one driver's of long does not.
#define SAT_RTZ(to, v) ((v) == (v) ? convert_##to##_sat_rtz(v) : (to)0)
#define I8_SAT_RTZ(v) SAT_RTZ(char, v)
#define U8_SAT_RTZ(v) SAT_RTZ(uchar, v)
#define I32_SAT_RTZ(v) SAT_RTZ(int, v)
#define I64_SAT_RTZ(v) SAT_RTZ(long, v)
#define F32_RTE(v) convert_float_rte(v)
#define QUAD_BYTES(p, k) \
  convert_float16((vload16(0, (__global const int *)(p)) << (24 - ((k) << 3))) >> 24)
#endif
