// SPDX-License-Identifier: Apache-2.0
// Packs a strided matrix into weight panels, for operands that are not constants: the contract.
#ifndef SMR_KERNELS_PACK_F32_H
#define SMR_KERNELS_PACK_F32_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/f32_gemm/f32_gemm.h"

/// Source element (k, n) is `src[k * k_stride + n * n_stride]` (strides in elements): [K][N] has
/// strides (N, 1), [N][K] has (1, K). Destination: panels `[ceil(n / 16)][k][16]`, panel p at
/// `dst + p * panel_stride_bytes`, columns beyond n zero; bytes between the end of a panel and the
/// next are left alone. Source and destination must not overlap. No alignment beyond the elements'.
/// Depthwise weights [taps][channels] pack the same way with k = taps, n = channels.
struct smr_pack_f32_args {
  size_t k, n;
  const void *src;
  smr_gemm_type type;  ///< of source and destination: packing never converts
  size_t k_stride, n_stride;
  void *dst;
  size_t panel_stride_bytes;
};

/// Pack panels [begin, end) of smr_panels(n). Disjoint ranges may run concurrently. `isa` holds
/// SMR_ISA_* bits.
void smr_pack_f32(const struct smr_pack_f32_args *args, uint32_t isa, size_t begin, size_t end);

/// dst[i * 16 + j] = src[j * n_stride + i] for i < k and j < 16: the panel of a transposed matrix.
typedef void (*smr_pack_f32_transpose)(size_t k, const float *src, size_t n_stride, float *dst);

/// The best one among the instruction sets `isa`; never NULL.
smr_pack_f32_transpose smr_pack_f32_transpose_kernel(uint32_t isa);

#endif
