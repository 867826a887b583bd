// SPDX-License-Identifier: Apache-2.0
// Compiles the kernels for rows of images for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/image_rows/image_rows.h"

#include "base/isa.h"
#include "kernels/rows.h"

#define SMR_SIMD_HOT
#define SMR_SIMD_BODY "kernels/image_rows/body.h"
#include "kernels/float.inc"
#undef SMR_SIMD_BODY
#undef SMR_SIMD_HOT

static const struct smr_kernel_row image_rows_rows[] = {
#define SMR_UKERNEL(isa, suffix, lanes) {isa, &smr_image_rows_kernels_##suffix},
#include "kernels/float.inc"
#undef SMR_UKERNEL
};

const struct smr_image_rows *smr_image_rows_config(uint32_t isa) {
  return smr_best_row(image_rows_rows, isa)->kernels;
}
