// SPDX-License-Identifier: Apache-2.0
// Tables of algorithms: which row runs, which parts a node needs, rows that a build left out.
#include "base/fp.h"

#include "ops/algorithm.h"

#include "harness.h"
#include "ops/check/check.h"

// The state of the job: what the rows of this test read and count.
struct node {
  bool small, could_be_small;
  int prepared;  // rows: 1 small, 2 large, 3 loose, 4 loose alone reserved; a digit for each
  smr_work loose_work;
};

static const struct node *node_of(const struct smr_job *job) { return job->state; }

static bool small_fits(const struct smr_job *job) { return node_of(job)->small; }
static bool small_fits_any(const struct smr_job *job) { return node_of(job)->could_be_small; }
static smr_work small_work(const struct smr_job *job) {
  (void)job;
  return 1;
}
static smr_work large_work(const struct smr_job *job) {
  (void)job;
  return 2;
}
static samara_status small_kernels(struct smr_job *job) {
  SMR_NEED(job, f32_gemm);
  return SAMARA_OK;
}
static samara_status small_prepare(struct smr_job *job) {
  ((struct node *)job->state)->prepared = 1;
  return SAMARA_OK;
}
static samara_status large_prepare(struct smr_job *job) {
  ((struct node *)job->state)->prepared = 2;
  return SAMARA_OK;
}
static samara_status some_run(const struct smr_job *job, size_t begin, size_t end, void *scratch) {
  (void)job, (void)begin, (void)end, (void)scratch;
  return SAMARA_OK;
}
static samara_status some_begin(struct smr_job *job) {
  (void)job;
  return SAMARA_OK;
}

static const struct smr_algorithm small = {.name = "small",
                                           .part = SMR_PART_conv_direct,
                                           .dtypes = SMR_DTYPE_F32,
                                           .fits = small_fits,
                                           .fits_any = small_fits_any,
                                           .work = small_work,
                                           .kernels = small_kernels,
                                           .prepare = small_prepare,
                                           .run = some_run};
static const struct smr_algorithm large = {.name = "large",
                                           .part = SMR_PART_conv_product,
                                           .work = large_work,
                                           .prepare = large_prepare,
                                           .run = some_run};

// Faster still; with symbolic sizes it reserves room, whichever row runs.
static bool loose_fits(const struct smr_job *job) { return !job->strict; }
static smr_work loose_work(const struct smr_job *job) { return node_of(job)->loose_work; }
static samara_status loose_prepare(struct smr_job *job) {
  struct node *node = job->state;
  node->prepared = node->prepared * 10 + 3;
  return SAMARA_OK;
}
static samara_status loose_reserve(struct smr_job *job) {
  struct node *node = job->state;
  node->prepared = node->prepared * 10 + 4;
  return SAMARA_OK;
}

static const struct smr_algorithm loose = {.name = "loose",
                                           .part = SMR_PART_conv_winograd,
                                           .loose = true,
                                           .fits = loose_fits,
                                           .work = loose_work,
                                           .prepare = loose_prepare,
                                           .reserve = loose_reserve,
                                           .run = some_run};

static const struct smr_algorithm *const large_and_loose[] = {&large, &loose};
static const struct smr_algorithm *const both[] = {&small, &large};
static const struct smr_algorithm *const without_large[] = {&small, NULL};

// A job whose first input has that dtype; prepares it with the rows.
struct prepared {
  struct node node;
  struct smr_tensor x;
  struct smr_tensor *inputs[1];
  struct smr_algorithms table;
  struct smr_op_funcs funcs;
  struct smr_op op;
  struct smr_parts parts;
  samara_error error;
  struct smr_job job;
};

static samara_status prepare(struct prepared *p, struct node node, uint8_t dtype, bool dims_vary,
                             const struct smr_algorithm *const *rows) {
  *p = (struct prepared){.node = node, .x = {.dtype = dtype}};
  p->inputs[0] = &p->x;
  p->table = (struct smr_algorithms){.begin = some_begin, .count = 2, .rows = rows};
  p->funcs = (struct smr_op_funcs){.prepare = smr_prepare_algorithm, .algorithms = &p->table};
  p->op = (struct smr_op){.name = "op", .funcs = &p->funcs};
  p->job = (struct smr_job){.op = &p->op,
                            .inputs = p->inputs,
                            .input_count = 1,
                            .dims_vary = dims_vary,
                            .parts = &p->parts,
                            .error = &p->error,
                            .state = &p->node};
  return smr_op_prepare(&p->job);
}

static bool needs(const struct prepared *p, enum smr_part part) {
  return smr_parts_have(&p->parts, part) != 0;
}

SMR_TEST(the_cheapest_that_fits_runs) {
  struct prepared p;
  CHECK_EQ_INT(prepare(&p, (struct node){.small = true}, SAMARA_FLOAT32, false, both), SAMARA_OK);
  CHECK(p.job.algorithm == &small && p.job.run == some_run);
  CHECK_EQ_INT(p.node.prepared, 1);
  CHECK_STR(p.job.choice.candidates[0].algorithm, "small");
  CHECK_STR(p.job.choice.candidates[1].algorithm, "large");
  CHECK(needs(&p, SMR_PART_conv_direct) && needs(&p, SMR_PART_f32_gemm));
  CHECK(!needs(&p, SMR_PART_conv_product));
}

SMR_TEST(others_are_not_listed) {
  struct prepared p;
  CHECK_EQ_INT(prepare(&p, (struct node){.small = false}, SAMARA_FLOAT32, false, both), SAMARA_OK);
  CHECK(p.job.algorithm == &large);
  CHECK_EQ_INT(p.job.choice.count, 1);
  CHECK_EQ_INT(prepare(&p, (struct node){.small = true}, SAMARA_INT8, false, both), SAMARA_OK);
  CHECK(p.job.algorithm == &large);  // by dtype
  CHECK(!needs(&p, SMR_PART_conv_direct));
}

// With symbolic dims a build keeps the rows that other sizes may choose.
SMR_TEST(symbolic_dims_need_what_could_fit) {
  struct prepared p;
  const struct node could = {.could_be_small = true};
  CHECK_EQ_INT(prepare(&p, could, SAMARA_FLOAT32, true, both), SAMARA_OK);
  CHECK(p.job.algorithm == &large);
  CHECK(needs(&p, SMR_PART_conv_direct) && needs(&p, SMR_PART_f32_gemm));
  CHECK_EQ_INT(prepare(&p, (struct node){.small = true}, SAMARA_FLOAT32, true, both), SAMARA_OK);
  CHECK(p.job.algorithm == &small && needs(&p, SMR_PART_conv_product));
  CHECK(needs(&p, SMR_PART_conv_direct));
  CHECK_EQ_INT(prepare(&p, could, SAMARA_FLOAT32, false, both), SAMARA_OK);
  CHECK(!needs(&p, SMR_PART_conv_direct));
}

SMR_TEST(what_a_build_left_out_is_refused) {
  struct prepared p;
  const struct node big = {.small = false};
  CHECK_EQ_INT(prepare(&p, (struct node){.small = true}, SAMARA_FLOAT32, false, without_large),
               SAMARA_OK);
  CHECK_EQ_INT(prepare(&p, big, SAMARA_FLOAT32, false, without_large), SAMARA_UNSUPPORTED);
  CHECK_CONTAINS(p.error.text, "this build leaves out how op computes this node: samara build");
}

// A row that a build leaves out and whose bits differ from the others' is not replaced.
SMR_TEST(a_row_without_functions_is_chosen_and_refused) {
  static const struct smr_algorithm small_left_out = {.name = "small",
                                                      .part = SMR_PART_conv_direct,
                                                      .fits = small_fits,
                                                      .fits_any = small_fits_any,
                                                      .work = small_work};
  static const struct smr_algorithm *const without_small[] = {&small_left_out, &large};
  struct prepared p;
  const struct node is = {.small = true}, is_not = {.small = false}, could = {.could_be_small = 1};
  CHECK_EQ_INT(prepare(&p, is, SAMARA_FLOAT32, false, without_small), SAMARA_UNSUPPORTED);
  CHECK_CONTAINS(p.error.text, "how op computes this node, small: samara build");
  CHECK_EQ_INT(p.node.prepared, 0);
  CHECK_EQ_INT(prepare(&p, is_not, SAMARA_FLOAT32, false, without_small), SAMARA_OK);
  CHECK_EQ_INT(prepare(&p, could, SAMARA_FLOAT32, true, without_small), SAMARA_UNSUPPORTED);
}

// Rows that exclude each other compare no work, so nothing is noted.
SMR_TEST(rows_without_work) {
  static const struct smr_algorithm one = {.name = "one",
                                           .part = SMR_PART_conv_direct,
                                           .fits = small_fits,
                                           .prepare = small_prepare,
                                           .run = some_run};
  static const struct smr_algorithm *const alone[] = {&one, NULL};
  struct prepared p;
  const struct node is = {.small = true}, is_not = {.small = false};
  CHECK_EQ_INT(prepare(&p, is, SAMARA_FLOAT32, false, alone), SAMARA_OK);
  CHECK(p.job.algorithm == &one && p.job.choice.count == 0 && needs(&p, SMR_PART_conv_direct));
  CHECK_EQ_INT(prepare(&p, is_not, SAMARA_FLOAT32, false, alone), SAMARA_UNSUPPORTED);
}

// A build also serves strict sessions. A run has room for whichever row its sizes choose.
SMR_TEST(loose_rows) {
  struct prepared p;
  const struct node cheap = {.loose_work = 1}, dear = {.loose_work = 3};
  CHECK_EQ_INT(prepare(&p, cheap, SAMARA_FLOAT32, false, large_and_loose), SAMARA_OK);
  CHECK(p.job.algorithm == &loose && p.node.prepared == 3);
  CHECK(needs(&p, SMR_PART_conv_winograd) && needs(&p, SMR_PART_conv_product));
  CHECK_EQ_INT(prepare(&p, dear, SAMARA_FLOAT32, false, large_and_loose), SAMARA_OK);
  CHECK(p.job.algorithm == &large && p.node.prepared == 2);
  CHECK(!needs(&p, SMR_PART_conv_winograd));
  CHECK_EQ_INT(prepare(&p, cheap, SAMARA_FLOAT32, true, large_and_loose), SAMARA_OK);
  CHECK(p.job.algorithm == &loose && p.node.prepared == 23);
  CHECK_EQ_INT(prepare(&p, dear, SAMARA_FLOAT32, true, large_and_loose), SAMARA_OK);
  CHECK(p.job.algorithm == &large && p.node.prepared == 24);
  CHECK(needs(&p, SMR_PART_conv_winograd) && needs(&p, SMR_PART_conv_product));
}

SMR_TEST_MAIN(RUN(the_cheapest_that_fits_runs); RUN(others_are_not_listed);
              RUN(symbolic_dims_need_what_could_fit); RUN(what_a_build_left_out_is_refused);
              RUN(a_row_without_functions_is_chosen_and_refused); RUN(rows_without_work);
              RUN(loose_rows))
