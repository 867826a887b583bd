// SPDX-License-Identifier: Apache-2.0
// Strided views against a loop over every index.
#include "base/fp.h"

#include "harness.h"
#include "kernels/view_copy/view_copy.h"
#include "../kernel_data.h"

// Source position of element `i` of the view.
static ptrdiff_t source_of(const struct smr_view *view, size_t i) {
  ptrdiff_t at = 0;
  for (uint32_t axis = view->rank; axis-- > 0;) {
    at += (ptrdiff_t)(i % view->dims[axis]) * view->stride_bytes[axis];
    i /= view->dims[axis];
  }
  return at;
}

// Copies whole and tile by tile out of a source that ends exactly where the view does.
static void check_view(const struct smr_view *view) {
  size_t count = 1;
  ptrdiff_t least = 0, most = 0;
  for (uint32_t i = 0; i < view->rank; i++) {
    count *= view->dims[i];
    const ptrdiff_t reach =
        view->dims[i] ? (ptrdiff_t)(view->dims[i] - 1) * view->stride_bytes[i] : 0;
    if (reach < 0) least += reach;
    if (reach > 0) most += reach;
  }
  const size_t bytes = (size_t)(most - least) + view->element_bytes;
  unsigned char *source = (unsigned char *)kernel_alloc(bytes, 1);
  uint32_t seed = 7;
  for (size_t i = 0; i < bytes; i++) source[i] = (unsigned char)kernel_random(&seed);
  const unsigned char *origin = source - least;

  struct smr_view_plan plan;
  smr_view_plan_make(view, &plan);
  CHECK_EQ_INT(plan.tiles > 0, count > 0);
  unsigned char *whole = (unsigned char *)kernel_alloc(count * view->element_bytes, 1);
  unsigned char *split = (unsigned char *)kernel_alloc(count * view->element_bytes, 1);
  smr_view_copy(&plan, origin, whole, 0, plan.tiles);
  for (size_t tile = plan.tiles; tile-- > 0;) smr_view_copy(&plan, origin, split, tile, tile + 1);
  for (size_t i = 0; i < count; i++)
    if (!CHECK_MEM(whole + i * view->element_bytes, origin + source_of(view, i),
                   view->element_bytes))
      break;
  CHECK_MEM(split, whole, count * view->element_bytes);
  kernel_free(source, 1);
  kernel_free(whole, 1);
  kernel_free(split, 1);
}

// A view of the dense tensor `dims` through the permutation `perm`.
static void check_permuted(size_t element, uint32_t rank, const size_t *dims,
                           const uint32_t *perm) {
  size_t strides[SMR_VIEW_MAX_RANK], stride = element;
  for (uint32_t i = rank; i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  struct smr_view view = {.element_bytes = element, .rank = rank};
  for (uint32_t i = 0; i < rank; i++) {
    view.dims[i] = dims[perm[i]];
    view.stride_bytes[i] = (ptrdiff_t)strides[perm[i]];
  }
  check_view(&view);
}

SMR_TEST(permutations) {
  static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33};
  enum { N_SIZES = sizeof sizes / sizeof sizes[0] };
  uint32_t seed = 3;
  for (int round = 0; round < 800; round++) {
    const uint32_t rank = kernel_random(&seed) % 5;
    size_t dims[5];
    uint32_t perm[5];
    for (uint32_t i = 0; i < rank; i++) {
      dims[i] = sizes[kernel_random(&seed) % (rank > 3 ? 6 : N_SIZES)];
      const uint32_t other = kernel_random(&seed) % (i + 1);
      perm[i] = other == i ? i : perm[other];
      perm[other] = i;
    }
    check_permuted((size_t)1 << round % 4, rank, dims, perm);
  }
}

SMR_TEST(planes_of_bytes_become_pixels) {
  for (size_t pixels = 4; pixels < 70; pixels++)
    for (size_t bytes = 1; bytes <= 4; bytes *= 2)
      check_permuted(bytes, 3, (const size_t[]){2, 3, pixels}, (const uint32_t[]){0, 2, 1});
  check_permuted(1, 2, (const size_t[]){3, 25000}, (const uint32_t[]){1, 0});
  check_permuted(4, 2, (const size_t[]){3, 7000}, (const uint32_t[]){1, 0});
}

SMR_TEST(repeats_steps_and_reversals) {
  uint32_t seed = 5;
  for (int round = 0; round < 800; round++) {
    struct smr_view view = {.element_bytes = (size_t)1 << round % 4,
                            .rank = kernel_random(&seed) % 6};
    for (uint32_t i = 0; i < view.rank; i++) {
      view.dims[i] = kernel_random(&seed) % 7;
      view.stride_bytes[i] =
          ((ptrdiff_t)(kernel_random(&seed) % 9) - 4) * (ptrdiff_t)view.element_bytes;
    }
    check_view(&view);
  }
}

SMR_TEST(long_rows_are_cut) {
  for (size_t element = 1; element <= 8; element *= 2)
    for (ptrdiff_t step = 0; step <= 2; step++) {
      const struct smr_view view = {.element_bytes = element,
                                    .rank = 1,
                                    .dims = {150001},
                                    .stride_bytes = {step * (ptrdiff_t)element}};
      struct smr_view_plan plan;
      smr_view_plan_make(&view, &plan);
      CHECK(plan.tiles > 1);
      check_view(&view);
    }
}

SMR_TEST(plans_name_what_they_do) {
  struct smr_view_plan plan;
  // NHWC to NCHW: the pixels merge, channels become the blocks' axis.
  smr_view_plan_make(
      &(struct smr_view){
          .element_bytes = 4, .rank = 4, .dims = {2, 24, 5, 6}, .stride_bytes = {2880, 4, 576, 96}},
      &plan);
  CHECK_EQ_INT(plan.kind, SMR_VIEW_TRANSPOSE);
  CHECK_EQ_INT(plan.n, 30);
  CHECK_EQ_INT(plan.across, 24);
  CHECK_EQ_INT(plan.outer_rank, 1);
  // A unit axis moved about is no move at all.
  smr_view_plan_make(
      &(struct smr_view){
          .element_bytes = 4, .rank = 3, .dims = {100, 1, 30}, .stride_bytes = {120, 7, 4}},
      &plan);
  CHECK_EQ_INT(plan.kind, SMR_VIEW_ROWS);
  CHECK_EQ_INT(plan.n, 3000);
  // Pairs that stay together are one wide element.
  smr_view_plan_make(
      &(struct smr_view){
          .element_bytes = 4, .rank = 3, .dims = {30, 20, 2}, .stride_bytes = {8, 240, 4}},
      &plan);
  CHECK_EQ_INT(plan.kind, SMR_VIEW_TRANSPOSE);
  CHECK_EQ_INT(plan.element_bytes, 8);
  smr_view_plan_make(&(struct smr_view){.element_bytes = 1, .rank = 1, .dims = {9}}, &plan);
  CHECK_EQ_INT(plan.kind, SMR_VIEW_FILL);
}

// Destination rows that lie a multiple of 1024 bytes apart go through a panel.
SMR_TEST(crowded_rows) {
  static const uint32_t perm[] = {1, 0};
  static const size_t across[] = {4, 5, 16, 17, 33, 70};
  for (size_t element = 1; element <= 8; element *= 2)
    for (size_t i = 0; i < sizeof across / sizeof across[0]; i++) {
      const size_t dims[] = {1024 / element * (i % 2 + 1), across[i]};
      check_permuted(element, 2, dims, perm);
    }
}

// Rows of every length around those that are copied without a call, more of them than a tile holds.
SMR_TEST(short_rows) {
  static const uint32_t perm[] = {1, 0, 2};
  for (size_t bytes = 1; bytes < 40; bytes++) {
    const size_t dims[] = {61, 67, bytes};
    check_permuted(1, 3, dims, perm);
  }
  check_permuted(4, 4, (const size_t[]){5, 300, 7, 3}, (const uint32_t[]){2, 0, 1, 3});
}

SMR_TEST_MAIN(RUN(permutations); RUN(short_rows); RUN(planes_of_bytes_become_pixels);
              RUN(repeats_steps_and_reversals); RUN(long_rows_are_cut); RUN(crowded_rows);
              RUN(plans_name_what_they_do))
