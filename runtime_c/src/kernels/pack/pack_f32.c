// SPDX-License-Identifier: Apache-2.0
// Packs strided matrices into weight panels.
#include "base/fp.h"

#include "kernels/pack/pack_f32.h"

#include <string.h>

#include "base/isa.h"
#include "kernels/rows.h"

#define SMR_SIMD_BODY "kernels/pack/body.h"
#include "kernels/pack/kernels.inc"
#undef SMR_SIMD_BODY

static const struct pack_f32_row {
  uint32_t isa;
  smr_pack_f32_transpose transpose;
} pack_f32_rows[] = {
#define SMR_UKERNEL(isa, suffix, lanes) {isa, smr_pack_f32_transpose_##suffix},
#include "kernels/pack/kernels.inc"
#undef SMR_UKERNEL
};

smr_pack_f32_transpose smr_pack_f32_transpose_kernel(uint32_t isa) {
  size_t i = 0;
  while ((pack_f32_rows[i].isa & isa) != pack_f32_rows[i].isa) i++;  // the last row needs nothing
  return pack_f32_rows[i].transpose;
}

// Any strides, and any number of columns up to a panel's. Padding columns become zero.
static void pack_f32_strided(const struct smr_pack_f32_args *args, const float *src, size_t columns,
                             float *dst) {
  for (size_t i = 0; i < args->k; i++, src += args->k_stride, dst += SMR_PANEL) {
    for (size_t j = 0; j < columns; j++) dst[j] = src[j * args->n_stride];
    for (size_t j = columns; j < SMR_PANEL; j++) dst[j] = 0.0f;
  }
}

static void pack_f16_strided(const struct smr_pack_f32_args *args, const uint16_t *src,
                             size_t columns, uint16_t *dst) {
  for (size_t i = 0; i < args->k; i++, src += args->k_stride, dst += SMR_PANEL) {
    for (size_t j = 0; j < columns; j++) dst[j] = src[j * args->n_stride];
    for (size_t j = columns; j < SMR_PANEL; j++) dst[j] = 0;
  }
}

// Whole panels of a row-major matrix, where 16 elements of a row are contiguous. One loop per
// element size, so that the copies have constant lengths.
static void pack_f32_rows_4(const struct smr_pack_f32_args *args, const char *src, char *dst) {
  const size_t stride_bytes = args->k_stride * sizeof(float);
  for (size_t i = 0; i < args->k; i++, src += stride_bytes) {
    memcpy(dst + i * (SMR_PANEL * sizeof(float)), src, SMR_PANEL * sizeof(float));
  }
}

static void pack_f32_rows_2(const struct smr_pack_f32_args *args, const char *src, char *dst) {
  const size_t stride_bytes = args->k_stride * sizeof(uint16_t);
  for (size_t i = 0; i < args->k; i++, src += stride_bytes) {
    memcpy(dst + i * (SMR_PANEL * sizeof(uint16_t)), src, SMR_PANEL * sizeof(uint16_t));
  }
}

void smr_pack_f32(const struct smr_pack_f32_args *args, uint32_t isa, size_t begin, size_t end) {
  const int f16 = args->type == SMR_GEMM_F16;
  const size_t bytes = f16 ? sizeof(uint16_t) : sizeof(float);
  const smr_pack_f32_transpose transpose = smr_pack_f32_transpose_kernel(isa);
  for (size_t panel = begin; panel < end; panel++) {
    const size_t column = panel * SMR_PANEL;
    const size_t columns = args->n - column < SMR_PANEL ? args->n - column : SMR_PANEL;
    const char *src = (const char *)args->src + column * args->n_stride * bytes;
    char *dst = (char *)args->dst + panel * args->panel_stride_bytes;
    if (columns == SMR_PANEL && args->n_stride == 1) {
      (f16 ? pack_f32_rows_2 : pack_f32_rows_4)(args, src, dst);
    } else if (columns == SMR_PANEL && args->k_stride == 1 && !f16) {
      transpose(args->k, (const float *)(const void *)src, args->n_stride, (float *)(void *)dst);
    } else if (f16) {
      pack_f16_strided(args, (const uint16_t *)(const void *)src, columns, (uint16_t *)(void *)dst);
    } else {
      pack_f32_strided(args, (const float *)(const void *)src, columns, (float *)(void *)dst);
    }
  }
}
