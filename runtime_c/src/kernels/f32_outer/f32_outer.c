// SPDX-License-Identifier: Apache-2.0
// Compiles outer products for every instruction set, and chooses.
#include "base/fp.h"

#include "kernels/f32_outer/f32_outer.h"

#include "base/isa.h"
#include "kernels/rows.h"

#define SMR_SIMD_BODY "kernels/f32_outer/body.h"
#include "kernels/training.inc"
#undef SMR_SIMD_BODY

static const struct smr_kernel_row f32_outer_rows[] = {
#define SMR_UKERNEL(isa, suffix, lanes) {isa, &smr_f32_outer_config_##suffix},
#include "kernels/training.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_outer_config *smr_f32_outer_config(uint32_t isa) {
  return smr_best_row(f32_outer_rows, isa)->kernels;
}

void smr_f32_outer_merge(struct smr_f32_outer_walk *w) {
  if (w->pixels == 1) {
    w->pixels = w->rows;
    w->a_step = w->a_row;
    w->b_step = w->b_row;
    w->rows = 1;
  } else if (w->rows > 1 && w->a_row == w->pixels * w->a_step &&
             w->b_row == w->pixels * w->b_step) {
    w->pixels *= w->rows;
    w->rows = 1;
  }
  if (w->rows != 1) return;
  w->rows = w->planes;
  w->a_row = w->a_plane;
  w->b_row = w->b_plane;
  w->planes = 1;
  if (w->rows > 1 && w->a_row == w->pixels * w->a_step && w->b_row == w->pixels * w->b_step) {
    w->pixels *= w->rows;
    w->rows = 1;
  }
}
