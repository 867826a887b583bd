// SPDX-License-Identifier: Apache-2.0
// det: determinants by Gaussian elimination with partial pivoting.
//
// Columns are eliminated in panels. The columns right of a panel are updated by one sum of outer
// products (right-looking LU: G. Golub, C. Van Loan, "Matrix Computations", 3.2.10).
#include "base/fp.h"

#include "base/checked.h"
#include "kernels/f32_outer/f32_outer.h"
#include "ops/check/check.h"
#include "ops/deadline.h"
#include "ops/table/funcs.h"
#include "ops/widen.h"

#include <math.h>
#include <string.h>

enum { DET_PANEL = 32 };

struct det_state {
  const struct smr_f32_outer_config *outer;
  size_t n;
};

static samara_status det_check(const struct smr_job *job) {
  return smr_expect_one_dtype(job, SMR_DTYPES_FLOAT);
}

static samara_status det_prepare(struct smr_job *job) {
  struct det_state *s = job->state;
  const struct smr_tensor *x = job->inputs[0];
  *s = (struct det_state){.outer = smr_f32_outer_config(job->isa),
                          .n = (size_t)x->dims[x->rank - 1]};
  job->tiles = (size_t)smr_numel(job->outputs[0]);
  job->kernel = s->outer->name;
  // The matrix, and the multipliers of a panel.
  size_t floats;
  if (!smr_add_size(s->n, DET_PANEL, &floats) || !smr_mul_size(floats, s->n, &floats) ||
      !smr_mul_size(floats, sizeof(float), &job->thread_scratch_bytes))
    SMR_FAIL(job->error, LIMIT, "det: a copy of a matrix does not fit memory");
  return SAMARA_OK;
}

static void det_swap(float *a, float *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const float keep = a[i];
    a[i] = b[i];
    b[i] = keep;
  }
}

// row -= factor * from, n elements.
static void det_eliminate(float *row, const float *from, float factor, size_t n) {
  for (size_t i = 0; i < n; i++) row[i] -= factor * from[i];
}

// Eliminates column k below the diagonal, in columns k .. last. Multipliers are stored in place of
// the zeros. Returns the pivot, negated if rows were exchanged.
static double det_column(float *a, size_t n, size_t k, size_t last) {
  size_t at = k;
  for (size_t i = k + 1; i < n; i++)
    if (!(fabsf(a[i * n + k]) <= fabsf(a[at * n + k])))
      at = i;  // a NaN becomes the pivot and
               // stays it
  const float pivot = a[at * n + k];
  if (at != k) det_swap(a + at * n, a + k * n, n);
  if (pivot == 0.0f) return 0;
  for (size_t i = k + 1; i < n; i++) {
    a[i * n + k] /= pivot;
    det_eliminate(a + i * n + k + 1, a + k * n + k + 1, a[i * n + k], last - k - 1);
  }
  return at == k ? (double)pivot : -(double)pivot;
}

// Update the columns right of panel [first, last).
static void det_update(const struct det_state *s, float *a, float *factors, size_t first,
                       size_t last) {
  const size_t n = s->n, rest = n - last;
  for (size_t k = first; k < last; k++)
    for (size_t i = k + 1; i < last; i++)
      det_eliminate(a + i * n + last, a + k * n + last, a[i * n + k], rest);
  for (size_t k = first; k < last; k++)
    for (size_t i = 0; i < rest; i++) factors[(k - first) * rest + i] = -a[(last + i) * n + k];
  struct smr_f32_outer_walk walk = {
      .planes = 1, .rows = 1, .pixels = last - first, .a_step = rest, .b_step = n, .out_stride = n};
  for (size_t i = 0; i < rest; i += s->outer->mr)
    for (size_t j = 0; j < rest; j += s->outer->nr) {
      const size_t height = rest - i, width = rest - j;
      walk.a = factors + i;
      walk.b = a + first * n + last + j;
      walk.out = a + (last + i) * n + last + j;
      s->outer->ukernel(height < s->outer->mr ? height : s->outer->mr,
                        width < s->outer->nr ? width : s->outer->nr, &walk);
    }
}

static samara_status det_one(const struct det_state *s, struct smr_deadline_watch *watch, float *a,
                             double *out) {
  const size_t n = s->n;
  double product = 1;
  for (size_t first = 0; first < n && product != 0; first += DET_PANEL) {
    const size_t last = n - first < DET_PANEL ? n : first + DET_PANEL;
    for (size_t k = first; k < last && product != 0; k++) {
      SMR_TRY(smr_deadline_step(watch, (n - k) * (n - k)));
      product *= det_column(a, n, k, last);
    }
    if (last < n && product != 0) det_update(s, a, a + n * n, first, last);
  }
  *out = product;
  return SAMARA_OK;
}

static samara_status det_run(const struct smr_job *job, size_t begin, size_t end,
                             void *thread_scratch) {
  const struct det_state *s = job->state;
  const size_t size = s->n * s->n;
  struct smr_deadline_watch watch = {.job = job};  // a matrix takes more steps than its elements
  for (; begin < end; begin++) {
    double product;
    if (size)
      memcpy(thread_scratch, (const float *)job->inputs[0]->data + begin * size,
             size * sizeof(float));
    SMR_TRY(det_one(s, &watch, thread_scratch, &product));
    ((float *)job->outputs[0]->data)[begin] = (float)product;
  }
  return SAMARA_OK;
}

SMR_WIDENED_OP(det, det_check, det_prepare, det_run, sizeof(struct det_state))
