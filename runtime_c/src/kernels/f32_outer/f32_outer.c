// SPDX-License-Identifier: Apache-2.0
// Dispatch of outer products.
#include "base/fp.h"

#include "kernels/f32_outer/f32_outer.h"

#include "base/isa.h"
#include "kernels/f32_outer/kernels.h"

static const struct {
  uint32_t isa;
  struct smr_f32_outer_config config;
} f32_outer_rows[] = {
#define SMR_UKERNEL(isa, suffix, mr, nr, tall, narrow)                                           \
  {isa,                                                                                          \
   {"f32_outer_" #mr "x" #nr "__" #suffix, "f32_outer_diagonal__" #suffix, mr, nr, tall, narrow, \
    smr_f32_outer_ukernel_##mr##x##nr##__##suffix, smr_f32_outer_diagonal_ukernel__##suffix}},
#include "kernels/f32_outer/kernels.inc"
#undef SMR_UKERNEL
};

const struct smr_f32_outer_config *smr_f32_outer_config(uint32_t isa) {
  size_t i = 0;
  while ((f32_outer_rows[i].isa & isa) != f32_outer_rows[i].isa) i++;  // the last row needs nothing
  return &f32_outer_rows[i].config;
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
