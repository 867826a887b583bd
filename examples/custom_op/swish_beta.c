// SPDX-License-Identifier: Apache-2.0
// Two custom operators that need only the public header: mydomain::swish_beta and mydomain::above.
//
//   cc -O2 -std=c11 -fPIC -shared -I runtime_c/include swish_beta.c -o libswish_beta.so -lm
#include <samara/samara.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static const samara_attribute *find_attribute(const samara_custom_call *call, const char *name) {
  for (size_t i = 0; i < call->attribute_count; i++)
    if (strcmp(call->attributes[i].name, name) == 0) return &call->attributes[i];
  return NULL;
}

static size_t element_count(const samara_tensor *t) {
  size_t count = 1;
  for (int32_t i = 0; i < t->rank; i++) count *= (size_t)t->shape[i];
  return count;
}

// A model file may be wrong: refuse here everything that `run` does not expect.
static samara_status refuse(const samara_custom_call *call, const char *why) {
  snprintf(call->error->text, sizeof call->error->text, "%s", why);
  return SAMARA_BAD_SHAPE;
}

static samara_status check_floats(const samara_custom_call *call, const char *attribute) {
  const samara_attribute *a = find_attribute(call, attribute);
  if (call->input_count != 1 || call->output_count != 1)
    return refuse(call, "one input, one output");
  if (call->inputs[0].dtype != SAMARA_FLOAT32 || call->outputs[0].dtype != SAMARA_FLOAT32)
    return refuse(call, "float32 in and out");
  if (a == NULL || a->floats == NULL || a->count != 1)
    return refuse(call, "its attribute is one float");
  return SAMARA_OK;
}

// ---- mydomain::swish_beta: y = x * sigmoid(beta * x) ----

static samara_status swish_check(const samara_custom_call *call) {
  const samara_status status = check_floats(call, "beta");
  if (status != SAMARA_OK) return status;
  const samara_tensor *x = &call->inputs[0], *y = &call->outputs[0];
  if (x->rank != y->rank) return refuse(call, "the output has another rank than the input");
  for (int32_t i = 0; i < x->rank; i++)
    if (x->shape[i] != y->shape[i]) return refuse(call, "the output has another shape");
  return SAMARA_OK;
}

static samara_status swish_run(const samara_custom_call *call) {
  const float beta = find_attribute(call, "beta")->floats[0];
  const float *x = call->inputs[0].data;
  float *y = call->outputs[0].data;
  const size_t count = element_count(&call->inputs[0]);
  for (size_t i = 0; i < count; i++) y[i] = x[i] / (1.0f + expf(-beta * x[i]));
  return SAMARA_OK;
}

const samara_custom_op swish_beta = {
    .struct_size = sizeof(samara_custom_op),
    .name = "mydomain::swish_beta",
    .check = swish_check,
    .run = swish_run,
};

// ---- mydomain::above: the elements of a vector above a threshold ----

static samara_status above_check(const samara_custom_call *call) {
  const samara_status status = check_floats(call, "threshold");
  if (status != SAMARA_OK) return status;
  if (call->inputs[0].rank != 1 || call->outputs[0].rank != 1) return refuse(call, "vectors only");
  return SAMARA_OK;
}

// Runs when the input is computed, before the output is allocated.
static samara_status above_measure(samara_custom_call *call) {
  const float threshold = find_attribute(call, "threshold")->floats[0];
  const float *x = call->inputs[0].data;
  int64_t found = 0;
  for (int64_t i = 0; i < call->inputs[0].shape[0]; i++) found += x[i] > threshold;
  call->outputs[0].shape[0] = found;
  return SAMARA_OK;
}

static samara_status above_run(const samara_custom_call *call) {
  const float threshold = find_attribute(call, "threshold")->floats[0];
  const float *x = call->inputs[0].data;
  float *y = call->outputs[0].data;
  for (int64_t i = 0; i < call->inputs[0].shape[0]; i++)
    if (x[i] > threshold) *y++ = x[i];
  return SAMARA_OK;
}

const samara_custom_op above = {
    .struct_size = sizeof(samara_custom_op),
    .name = "mydomain::above",
    .check = above_check,
    .measure = above_measure,
    .run = above_run,
};
