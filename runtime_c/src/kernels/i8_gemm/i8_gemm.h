// SPDX-License-Identifier: Apache-2.0
// Contract of the int8 matrix product over weight panels. Rows of A are direct, windows in a common
// buffer, or reached through an indirection buffer.
//
// For every batch b, row i < m and column j < n, in int32 arithmetic modulo 2^32,
//
//   acc = start[b][j] + sum_t sum_c (A_b(i, t, c) + config->a_offset) * W_b[t * k + c][j]
//         - w_zero[b][j] * sum_t sum_c (A_b(i, t, c) + config->a_offset)        (if w_zero is set)
//
// with t < taps and c < k, and then by the kind of output
//
//   SMR_I8_TO_I8   out = int8(round_half_even(clamp(float(acc) * multiplier[b][j], lo - zero, hi -
//   zero)) + zero) SMR_I8_TO_I32  out = acc SMR_I8_TO_F32  out = clamp(float(acc) * (row_scale[i] *
//   multiplier[b][j]) + bias[b][j], lo, hi)
//
// float() rounds half to even, and every product and sum of floats is rounded once (never fused),
// so all instruction sets give the same bits. `a_offset` is 128 if the instruction takes unsigned
// bytes, otherwise 0. The caller's `start` compensates for it and for the zero points (see
// smr_i8_gemm_start).
//
// Weights: panels `[ceil(n / 16)][ceil(taps * k / 4)][16][4]` of int8, the last group of four rows
// filled up with zeros, channels beyond n zero, panel p at `w + p * panel_stride_bytes`. Indirect
// products need k to be a multiple of 4. Weights of -128 are allowed.
//
// Up to 15 bytes after a window's tap may be read. Windows in a kernel's own form
// (smr_i8_gemm_native) must be written by smr_i8_gemm_copy.
//
// start, w_zero, multiplier, bias, row_scale and an int32 or float out must be 4-aligned; other
// pointers need no alignment. Nothing is read outside A's rows `[k]`, the panels and the padded
// arrays; nothing is written outside out's `[m][n]`.
#ifndef SMR_KERNELS_I8_GEMM_H
#define SMR_KERNELS_I8_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cut.h"
#include "base/parts.h"

enum { SMR_I8_PANEL = 16, SMR_I8_GROUP = 4 };  // channels of a panel, rows that lie together

/// Rows of A that are windows in a common buffer: row i is at i / line * line_bytes + i % line *
/// step_bytes.
struct smr_i8_gemm_windows {
  size_t line, line_bytes, step_bytes;
  const size_t *taps;  ///< [taps]: bytes from a row to the k bytes of each tap
  bool native;         ///< written by smr_i8_gemm_copy; otherwise plain
};

typedef enum { SMR_I8_TO_I8 = 0, SMR_I8_TO_I32 = 1, SMR_I8_TO_F32 = 2 } smr_i8_output;

/// Bytes of an element of the output.
static inline size_t smr_i8_output_bytes(smr_i8_output to) {
  const bool wide = SMR_HAS(i8_gemm_to_i32) || SMR_HAS(i8_gemm_to_f32);
  return wide && to != SMR_I8_TO_I8 ? sizeof(int32_t) : sizeof(int8_t);
}

/// Arguments shared by all calls of a batch entry.
struct smr_i8_gemm_params {
  size_t k;                                   ///< channels per tap
  size_t taps;                                ///< 1 when direct
  size_t a_stride;                            ///< direct: bytes between rows of A
  size_t a_offset_bytes;                      ///< indirect: added to every pointer but `pad`
  const struct smr_i8_gemm_windows *windows;  ///< or NULL
  size_t first;                               ///< windows: the call's first row
  const int8_t *pad;          ///< indirect: [k] bytes of A's zero point (padding), or NULL
  size_t panel_stride_bytes;  ///< between weight panels
  size_t out_stride;          ///< elements between rows of out
  smr_i8_output to;
  int32_t zero, lo, hi;  ///< SMR_I8_TO_I8: -128 <= lo <= hi <= 127
  float f32_lo, f32_hi;  ///< SMR_I8_TO_F32; NaN propagates
};

/// Arrays over a call's columns, starting at its first column, each padded to whole panels.
struct smr_i8_gemm_columns {
  const int32_t *start;
  const int32_t *w_zero;    ///< NULL if all are 0
  const float *multiplier;  ///< not with SMR_I8_TO_I32
  const float *bias;        ///< SMR_I8_TO_F32 only, NULL for none
};

struct smr_i8_gemm_funcs;  // kernels.h

/// The kernels of one ISA.
struct smr_i8_gemm_config {
  const char *isa;
  size_t mr, nr;     ///< largest call; nr is a multiple of 16
  int32_t a_offset;  ///< 0 or 128
  const struct smr_i8_gemm_funcs *funcs;
  const char *names[2];  ///< for profiles: tiles, matrix-vector
};

/// The best kernels among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
const struct smr_i8_gemm_config *smr_i8_gemm_config(uint32_t isa);

/// Called after each finished block of SMR_I8_TO_F32, on the thread that computed it, while it is
/// in cache.
typedef void (*smr_i8_gemm_post)(void *context, float *out, size_t rows, size_t columns,
                                 size_t out_stride);

/// The arguments of a product.
struct smr_i8_gemm_args {
  size_t batch, m, n, k, taps;  ///< k is channels per tap; taps 1 when direct
  const int8_t *a;              ///< direct: A_b(i, 0, c) = a[b * a_batch_stride + i * a_stride + c]
  size_t a_stride, a_batch_stride;  ///< a_batch_stride shifts the indirect pointers too (not pad)
  const struct smr_i8_gemm_windows *windows;  ///< NULL, or the windows in the buffer `a`
  const int8_t *const *indirect;  ///< NULL, or [m][taps] pointers to [k] bytes, row-major
  const int8_t *pad;              ///< indirect: pointers equal to it mean padding
  const int8_t *w;
  size_t panel_stride_bytes;
  size_t w_batch_stride_bytes;  ///< 0 shares the weights
  struct smr_i8_gemm_columns columns;
  size_t columns_batch_stride;  ///< elements between the arrays of batch entries; 0 shares them
  const float *row_scale;       ///< SMR_I8_TO_F32: [batch][m] with stride row_scale_batch_stride
  size_t row_scale_batch_stride;
  smr_i8_output to;
  void *out;
  size_t out_stride, out_batch_stride;  ///< elements
  int32_t zero, lo, hi;
  float f32_lo, f32_hi;
  smr_i8_gemm_post post;  ///< NULL, or run on every finished block
  void *post_context;
};

/// How a product is divided; depends on sizes and the config, not on pointers or threads.
struct smr_i8_gemm_plan {
  const struct smr_i8_gemm_config *config;
  size_t units;                 ///< length of the range to divide; 0 if there is nothing to do
  struct smr_tile_blocks rows;  ///< tiles over m
  size_t group_panels, groups;  ///< panels per column group; column groups over n
  const char *kernel;           ///< name for profiles, e.g. "i8_gemm_8x32__avx512vnni"
};

void smr_i8_gemm_plan_make(const struct smr_i8_gemm_config *config,
                           const struct smr_i8_gemm_args *args, struct smr_i8_gemm_plan *plan);

/// Divide the rows of a plan further, into at least `units` units if it has so many tiles.
void smr_i8_gemm_plan_share(struct smr_i8_gemm_plan *plan, size_t units);

/// Compute units [begin, end) of `plan->units`. Disjoint ranges may run concurrently, and any
/// division gives the same bits. Needs no scratch.
void smr_i8_gemm_run(const struct smr_i8_gemm_plan *plan, const struct smr_i8_gemm_args *args,
                     size_t begin, size_t end);

/// Whether kernels read windows of this product in place if these are in the kernels' own form.
/// This is the fastest way.
bool smr_i8_gemm_native(const struct smr_i8_gemm_config *config, size_t k, bool w_zero);

/// Copy n bytes to the kernels' own form. Up to 63 bytes after them may change.
void smr_i8_gemm_copy(const struct smr_i8_gemm_config *config, const int8_t *from, size_t n,
                      int8_t *to);

/// Bytes of a panel of `rows` = taps * k rows, rounded up to 64.
size_t smr_i8_panel_stride_bytes(size_t rows);

/// Pack one panel sequence: `n` columns of `rows` rows of plain int8, element (r, j) at
/// w[r * row_stride + j * column_stride], into ceil(n / 16) panels.
void smr_i8_pack(size_t rows, size_t n, const int8_t *w, size_t row_stride, size_t column_stride,
                 int8_t *panels);

/// start[j] = bias[j] - (a_zero + a_offset) * (column sum of W_j) + rows * (a_zero + a_offset) *
/// w_zero[j] modulo 2^32 for packed panels of `rows` rows and n columns, padded with zeros to whole
/// panels. `bias` and `w_zero` [n] may be NULL. With it, acc = bias + sum (A - a_zero) * (W -
/// w_zero).
void smr_i8_gemm_start(const struct smr_i8_gemm_config *config, size_t rows, size_t n,
                       const int8_t *panels, const int32_t *bias, int32_t a_zero,
                       const int32_t *w_zero, int32_t *start);

#endif
