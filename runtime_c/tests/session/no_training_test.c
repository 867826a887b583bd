// SPDX-License-Identifier: Apache-2.0
// A library without the operators of training: this program is linked with such an op table.
#include "base/fp.h"

#include "session/eager/eager_data.h"

#include "ops/op.h"

enum { BUILT_PATH = 4096 };

static samara_status built_open(const char *folder, const char *name, samara_model **model,
                                samara_error *error) {
  char path[BUILT_PATH];
  snprintf(path, sizeof path, "%s/%s/%s.samara", SMR_REPO_DIR, folder, name);
  return samara_model_open_path(path, NULL, model, error);
}

SMR_TEST(models_run) {
  samara_model *model = NULL;
  samara_error error = {.text = ""};
  CHECK_EQ_INT(built_open("tests/golden", "0.1.0", &model, &error), SAMARA_OK);
  CHECK_EQ_INT(samara_model_selftest(model, &error), SAMARA_OK);
  CHECK_STR(error.text, "");
  samara_model_close(model);
}

SMR_TEST(files_that_train_are_refused_by_name) {
  size_t count, refused = 0;
  const struct smr_op *rows = smr_op_rows(&count);
  for (size_t i = 0; i < count; i++) {
    const bool training = (rows[i].flags & SMR_OP_TRAINING) != 0;
    const bool control = (rows[i].flags & SMR_OP_CONTROL) != 0;
    CHECK_EQ_INT(rows[i].funcs == NULL, training || control);
    if (control) continue;
    samara_model *model = NULL;
    samara_error error = {.text = ""};
    const samara_status status =
        built_open("runtime_c/fuzz/corpus/run", rows[i].name, &model, &error);
    CHECK_EQ_INT(status, training ? SAMARA_UNSUPPORTED : SAMARA_OK);
    CHECK((model == NULL) == training);
    samara_model_close(model);
    if (!training) continue;
    refused++;
    char text[64];
    snprintf(text, sizeof text, "operator %s is not in this build", rows[i].name);
    CHECK_CONTAINS(error.text, text);
  }
  CHECK(refused >= 25);
}

SMR_TEST(a_prepared_operator_is_refused_too) {
  const samara_op_tensor two[] = {EAGER_F32(2), EAGER_F32(2)}, one[] = {EAGER_F32(2)};
  const samara_op_desc grad = EAGER_PLAIN("softmax_grad", two, one);
  const samara_op_desc plain = EAGER_PLAIN("add", two, one);
  samara_op *op = NULL;
  samara_error error = {.text = ""};
  CHECK_EQ_INT(samara_op_create(&grad, &op, &error), SAMARA_UNSUPPORTED);
  CHECK_CONTAINS(error.text, "operator softmax_grad is not in this build");
  CHECK(op == NULL);
  CHECK_EQ_INT(samara_op_create(&plain, &op, &error), SAMARA_OK);
  samara_op_destroy(op);
}

SMR_TEST_MAIN(RUN(models_run); RUN(files_that_train_are_refused_by_name);
              RUN(a_prepared_operator_is_refused_too))
