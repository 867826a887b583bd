// SPDX-License-Identifier: Apache-2.0
// cross_entropy and its gradient against the definition, and targets that are no class.
#include "base/fp.h"

#include "ops/matmul/linear_data.h"

#include <math.h>

#define DIMS(...) \
  (const int64_t[]) { __VA_ARGS__ }

struct rows {
  size_t n, classes;
  float *x, *weight, *dloss, *log_sum;
  int64_t *target;
  bool weighted;
  double smoothing;
};

static struct rows rows_make(size_t n, size_t classes, bool weighted, double smoothing) {
  struct rows r = {.n = n, .classes = classes, .weighted = weighted, .smoothing = smoothing};
  r.x = linear_floats(n * classes, 1), r.weight = linear_floats(classes, 2);
  r.dloss = linear_floats(n, 3), r.log_sum = linear_floats(n, 4);
  r.target = malloc(n * sizeof *r.target);
  for (size_t c = 0; c < classes; c++) r.weight[c] += 1.5f;
  for (size_t i = 0; i < n; i++) {
    double sum = 0;
    for (size_t c = 0; c < classes; c++) sum += exp((double)r.x[i * classes + c]);
    r.log_sum[i] = (float)log(sum);
    r.target[i] = i % 5 == 3 ? -7 : (int64_t)(i * 31 % classes);
  }
  return r;
}

static void rows_free(const struct rows *r) {
  free(r->x), free(r->weight), free(r->dloss), free(r->log_sum), free(r->target);
}

static void begin(struct op_test *t, const char *op, const struct rows *r, uint32_t isa) {
  op_begin(t, op);
  t->job.isa &= isa;
  op_int(t, "ignore_index", -7);
  op_f32(t, "label_smoothing", (float)r->smoothing);
}

static void in_targets(struct op_test *t, const struct rows *r, uint8_t dtype) {
  int32_t *narrow = malloc(r->n * sizeof *narrow);
  for (size_t i = 0; i < r->n; i++) narrow[i] = (int32_t)r->target[i];
  const bool wide = dtype == SAMARA_INT64;
  op_in(t, dtype, 1, DIMS((int64_t)r->n), wide ? (const void *)r->target : narrow);
  free(narrow);
}

static void forward_case(size_t n, size_t classes, bool weighted, double smoothing, uint32_t isa) {
  const struct rows r = rows_make(n, classes, weighted, smoothing);
  const int64_t *dims = DIMS((int64_t)n, (int64_t)classes);
  struct op_test t;
  begin(&t, "cross_entropy", &r, isa);
  op_in(&t, SAMARA_FLOAT32, 2, dims, r.x);
  in_targets(&t, &r, weighted ? SAMARA_INT32 : SAMARA_INT64);
  if (weighted) op_in(&t, SAMARA_FLOAT32, 1, dims + 1, r.weight);
  for (int i = 0; i < 3; i++) op_out(&t, SAMARA_FLOAT32, 1, dims);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t i = 0; i < n; i++) {
      const float *x = r.x + i * classes;
      const bool kept = r.target[i] != -7;
      const size_t target = kept ? (size_t)r.target[i] : 0;
      const double own = !kept ? 0 : weighted ? (double)r.weight[target] : 1;
      double sum = 0, far = 0;
      for (size_t c = 0; c < classes; c++) sum += exp((double)x[c]);
      for (size_t c = 0; c < classes; c++)
        far += (weighted ? (double)r.weight[c] : 1) * (log(sum) - (double)x[c]);
      const double loss = (1 - smoothing) * own * (log(sum) - (double)x[target]) +
                          (kept ? smoothing / (double)classes * far : 0);
      CHECK_NEAR(linear_out(&t, i), loss, 4e-6 * (1 + loss));
      CHECK_NEAR(((const float *)t.out[1].data)[i], log(sum), 2e-6 * (1 + fabs(log(sum))));
      CHECK_NEAR(((const float *)t.out[2].data)[i], own, 0);
    }
  op_end(&t);
  rows_free(&r);
}

// The same number added to all logits changes no loss, whatever it is.
static void far_case(float smoothing, float by) {
  enum { CLASSES = 19 };
  float x[2 * CLASSES];
  double want = 0, sum = 0;
  for (size_t c = 0; c < CLASSES; c++) {
    x[c] = (float)(c * 7 % 5);
    x[CLASSES + c] = x[c] + by;
    sum += exp((double)x[c]);
  }
  for (size_t c = 0; c < CLASSES; c++) want += (log(sum) - (double)x[c]) / (double)CLASSES;
  want = (double)smoothing * want + (1 - (double)smoothing) * (log(sum) - (double)x[3]);
  struct op_test t;
  op_begin(&t, "cross_entropy");
  op_f32(&t, "label_smoothing", smoothing);
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, CLASSES), x);
  op_in(&t, SAMARA_INT32, 1, DIMS(2), (const int32_t[]){3, 3});
  for (int i = 0; i < 3; i++) op_out(&t, SAMARA_FLOAT32, 1, DIMS(2));
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t i = 0; i < 2; i++) CHECK_NEAR(linear_out(&t, i), want, 1e-6 * want);
  op_end(&t);
}

SMR_TEST(far_logits) {
  far_case(0.0f, 8192.0f);
  far_case(0.0f, -1048576.0f);
  far_case(0.25f, 1048576.0f);
}

static void grad_case(size_t n, size_t classes, bool weighted, double smoothing, uint32_t isa) {
  const struct rows r = rows_make(n, classes, weighted, smoothing);
  const int64_t *dims = DIMS((int64_t)n, (int64_t)classes);
  double all = 0;
  for (size_t c = 0; c < classes; c++) all += weighted ? (double)r.weight[c] : 1;
  struct op_test t;
  begin(&t, "cross_entropy_grad", &r, isa);
  op_in(&t, SAMARA_FLOAT32, 1, dims, r.dloss);
  op_in(&t, SAMARA_FLOAT32, 2, dims, r.x);
  in_targets(&t, &r, weighted ? SAMARA_INT64 : SAMARA_INT32);
  op_in(&t, SAMARA_FLOAT32, 1, dims, r.log_sum);
  if (weighted) op_in(&t, SAMARA_FLOAT32, 1, dims + 1, r.weight);
  op_out(&t, SAMARA_FLOAT32, 2, dims);
  if (CHECK_EQ_INT(op_run(&t), SAMARA_OK))
    for (size_t i = 0; i < n * classes; i++) {
      const size_t row = i / classes, c = i % classes;
      const bool kept = r.target[row] != -7, hit = (int64_t)c == r.target[row];
      const size_t target = kept ? (size_t)r.target[row] : 0;
      const double own = (1 - smoothing) * (weighted ? (double)r.weight[target] : 1);
      const double part = smoothing / (double)classes,
                   p = exp((double)r.x[i] - (double)r.log_sum[row]);
      const double want =
          (double)r.dloss[row] *
          (p * (own + part * all) - part * (weighted ? (double)r.weight[c] : 1) - (hit ? own : 0));
      CHECK_NEAR(linear_out(&t, i), kept ? want : 0, 2e-6);
    }
  op_end(&t);
  rows_free(&r);
}

SMR_TEST(every_form) {
  static const size_t sizes[][2] = {{1, 1}, {13, 10}, {1000, 17}, {6, 9000}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (int form = 0; form < 4; form++) {
      const double smoothing = form & 2 ? 0.25 : 0;
      const uint32_t isa = form == 3 ? 0 : ~0u;
      forward_case(sizes[i][0], sizes[i][1], form & 1, smoothing, isa);
      grad_case(sizes[i][0], sizes[i][1], form & 1, smoothing, isa);
    }
}

static void refused_target(int64_t target, const char *text) {
  struct op_test t;
  op_begin(&t, "cross_entropy");
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 3), NULL);
  op_in(&t, SAMARA_INT64, 1, DIMS(2), (int64_t[]){0, target});
  for (int i = 0; i < 3; i++) op_out(&t, SAMARA_FLOAT32, 1, DIMS(2));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_DATA);
  CHECK_CONTAINS(t.error.text, text);
  op_end(&t);
  op_begin(&t, "cross_entropy_grad");
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(2), NULL);
  op_in(&t, SAMARA_FLOAT32, 2, DIMS(2, 3), NULL);
  op_in(&t, SAMARA_INT64, 1, DIMS(2), (int64_t[]){0, target});
  op_in(&t, SAMARA_FLOAT32, 1, DIMS(2), NULL);
  op_out(&t, SAMARA_FLOAT32, 2, DIMS(2, 3));
  CHECK_EQ_INT(op_run(&t), SAMARA_BAD_DATA);
  CHECK_CONTAINS(t.error.text, text);
  op_end(&t);
}

SMR_TEST(targets_are_checked) {
  refused_target(3, "target 3 at position 1 is out of range for 3 classes");
  refused_target(-1, "target -1 at position 1");
  refused_target(INT64_MIN, "target -9223372036854775808 at position 1");
}

SMR_TEST_MAIN(RUN(every_form); RUN(far_logits); RUN(targets_are_checked))
