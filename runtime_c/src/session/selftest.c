// SPDX-License-Identifier: Apache-2.0
// samara_model_selftest: run the golden inputs of a file and compare the outputs.
#include "base/fp.h"

#include <samara/samara.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fnv.h"
#include "model/model.h"
#include "session/common/elements.h"

static bool selftest_close(double got, double want, const struct smr_golden_tensor *golden) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  if (isinf(want) || isinf(got)) return got == want;
  return fabs(got - want) <= (double)golden->abs_tol + (double)golden->rel_tol * fabs(want);
}

static samara_status selftest_floats(const struct smr_function *f, const char *name,
                                     const samara_tensor *got, const void *want,
                                     const struct smr_golden_tensor *golden, samara_error *error) {
  const size_t count = got->size_bytes / smr_dtype_bytes((uint8_t)got->dtype);
  for (size_t i = 0; i < count; i++) {
    const double a = smr_float_at(got->data, (uint8_t)got->dtype, i);
    const double b = smr_float_at(want, (uint8_t)got->dtype, i);
    if (selftest_close(a, b, golden)) continue;
    SMR_FAIL(error, SELFTEST_FAILED,
             "function '%s', output '%s': element %zu is %.9g, expected %.9g, off by %.3g (allowed "
             "%.3g + %.3g relative)",
             f->name, name, i, a, b, fabs(a - b), (double)golden->abs_tol, (double)golden->rel_tol);
  }
  return SAMARA_OK;
}

static samara_status selftest_output(const samara_model *model, const struct smr_function *f,
                                     const samara_session *session,
                                     const struct smr_golden_tensor *golden, samara_error *error) {
  samara_tensor got;
  if (golden->index >= f->user_output_count)
    SMR_FAIL(error, BAD_MODEL, "golden output %u: function '%s' has %u", (unsigned)golden->index,
             f->name, (unsigned)f->user_output_count);
  const char *name = f->output_names[f->user_outputs[golden->index]];
  const samara_status status = samara_session_output(session, golden->index, &got);
  if (status != SAMARA_OK) return smr_fail(error, status, "%s", samara_session_error(session));
  bool same = got.rank == golden->rank;
  for (uint32_t i = 0; same && i < golden->rank; i++) same = got.shape[i] == golden->dims[i];
  if (!same)
    SMR_FAIL(error, SELFTEST_FAILED, "function '%s', output '%s': its shape differs", f->name,
             name);
  if (!smr_is_float((uint8_t)got.dtype)) {
    const uint64_t digest = smr_fnv(SMR_FNV_START, got.data, got.size_bytes);
    if (digest != golden->digest)
      SMR_FAIL(error, SELFTEST_FAILED,
               "function '%s', output '%s': digest is %016llx, expected %016llx", f->name, name,
               (unsigned long long)digest, (unsigned long long)golden->digest);
    return SAMARA_OK;
  }
  if (golden->constant < 0 || model->constants[golden->constant].size_bytes != got.size_bytes)
    SMR_FAIL(error, BAD_MODEL, "function '%s', output '%s': its golden data has another size",
             f->name, name);
  return selftest_floats(f, name, &got, model->constants[golden->constant].data, golden, error);
}

// Shapes and data of the golden inputs; inputs that are not stored keep what they have.
static samara_status selftest_feed(const samara_model *model, const struct smr_function *f,
                                   samara_session *session, const struct smr_golden *golden,
                                   const int64_t **shapes) {
  for (uint32_t i = 0; i < golden->input_count; i++)
    shapes[golden->inputs[i].index] = golden->inputs[i].dims;
  SMR_TRY(samara_session_resize(session, shapes, f->user_input_count));
  for (uint32_t i = 0; i < golden->input_count; i++) {
    const struct smr_golden_tensor *t = &golden->inputs[i];
    const struct smr_constant *data = &model->constants[t->constant];
    SMR_TRY(samara_session_set_input(session, t->index, data->data, data->size_bytes));
  }
  return samara_session_run(session);
}

static samara_status selftest_golden(const samara_model *model, const struct smr_golden *golden,
                                     samara_error *error) {
  if (golden->function >= model->function_count)
    SMR_FAIL(error, BAD_MODEL, "golden data for function %u, which does not exist",
             (unsigned)golden->function);
  const struct smr_function *f = &model->functions[golden->function];
  for (uint32_t i = 0; i < golden->input_count; i++)
    if (golden->inputs[i].index >= f->user_input_count || golden->inputs[i].constant < 0)
      SMR_FAIL(error, BAD_MODEL, "function '%s': golden input %u does not exist or has no data",
               f->name, (unsigned)i);
  samara_session *session = NULL;
  const samara_session_options options = {.struct_size = sizeof options, .function = f->name};
  SMR_TRY(samara_session_create(model, &options, &session, error));
  const int64_t **shapes =
      smr_allocate_zeroed(&model->allocator, (size_t)f->user_input_count + 1, sizeof *shapes);
  samara_status status = SAMARA_OUT_OF_MEMORY;
  if (shapes != NULL)
    status = selftest_feed(model, f, session, golden, shapes);
  else
    (void)smr_fail(error, status, "no memory for golden inputs");
  if (shapes != NULL && status != SAMARA_OK)
    (void)smr_fail(error, status, "%s", samara_session_error(session));
  for (uint32_t i = 0; status == SAMARA_OK && i < golden->output_count; i++)
    status = selftest_output(model, f, session, &golden->outputs[i], error);
  smr_release(&model->allocator, (void *)shapes);
  samara_session_destroy(session);
  return status;
}

samara_status samara_model_selftest(const samara_model *model, samara_error *error) {
  if (model == NULL) SMR_FAIL(error, BAD_ARGUMENT, "samara_model_selftest: model is NULL");
  if (model->golden_count == 0)
    SMR_FAIL(error, NOT_FOUND, "the file holds no golden inputs and outputs");
  for (uint32_t i = 0; i < model->golden_count; i++)
    SMR_TRY(selftest_golden(model, &model->goldens[i], error));
  return SAMARA_OK;
}
