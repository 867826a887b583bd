// SPDX-License-Identifier: Apache-2.0
// Dispatch of column normalisation.
#include "base/fp.h"

#include "kernels/f32_channel_norm/f32_channel_norm.h"

#include "base/isa.h"
#include "kernels/f32_channel_norm/kernels.h"

static const struct {
  uint32_t isa;
  const struct smr_f32_channel_norm *table;
} f32_channel_norm_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_channel_norm_ukernels__##suffix},
#include "kernels/f32_channel_norm/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_channel_norm *smr_f32_channel_norm_config(uint32_t isa) {
  size_t i = 0;
  while ((f32_channel_norm_rows[i].isa & isa) != f32_channel_norm_rows[i].isa)
    i++;  // the last needs nothing
  return f32_channel_norm_rows[i].table;
}

static const struct {
  uint32_t isa;
  const struct smr_f32_channel_norm_grad *table;
} f32_channel_norm_grad_rows[] = {
#define SMR_UKERNEL(bit, suffix, lanes) {bit, &smr_f32_channel_norm_grad_ukernels__##suffix},
#include "kernels/f32_channel_norm/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_channel_norm_grad *smr_f32_channel_norm_grad_config(uint32_t isa) {
  size_t i = 0;
  while ((f32_channel_norm_grad_rows[i].isa & isa) != f32_channel_norm_grad_rows[i].isa) i++;
  return f32_channel_norm_grad_rows[i].table;
}
