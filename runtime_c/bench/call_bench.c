// SPDX-License-Identifier: Apache-2.0
// Prints what one run of a model costs a C caller, in nanoseconds:  call_bench MODEL.samara [calls]
// Bindings compare their own run with it. Inputs must have static shapes; they are zeros.
#include "base/fp.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <samara/samara.h>

enum { CALL_TENSORS = 8, CALL_ROUNDS = 31 };

static double call_now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int call_compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int call_fail(const char *what, const char *text) {
  fprintf(stderr, "call_bench: %s: %s\n", what, text);
  return 1;
}

// Buffers of the session's inputs and outputs for samara_session_run_with.
static samara_status call_buffers(samara_session *session, size_t inputs, size_t outputs,
                                  const void **in, void **out) {
  samara_tensor tensor;
  samara_status status = SAMARA_OK;
  for (size_t i = 0; i < inputs && !status; i++) {
    status = samara_session_input(session, i, &tensor);
    if (!status) in[i] = calloc(tensor.size_bytes + 1, 1);
  }
  if (!status) status = samara_session_run(session);
  for (size_t i = 0; i < outputs && !status; i++) {
    status = samara_session_output(session, i, &tensor);
    if (!status) out[i] = calloc(tensor.size_bytes + 1, 1);
  }
  return status;
}

// The median over rounds of the time of one call.
static samara_status call_measure(samara_session *session, size_t calls, const void **in,
                                  void **out, double *nanoseconds) {
  double rounds[CALL_ROUNDS];
  for (size_t r = 0; r < CALL_ROUNDS; r++) {
    const double start = call_now();
    for (size_t i = 0; i < calls; i++) {
      const samara_status status = samara_session_run_with(session, in, out);
      if (status) return status;
    }
    rounds[r] = (call_now() - start) / (double)calls;
  }
  qsort(rounds, CALL_ROUNDS, sizeof rounds[0], call_compare);
  *nanoseconds = rounds[CALL_ROUNDS / 2];
  return SAMARA_OK;
}

int main(int argc, char **argv) {
  if (argc < 2) return call_fail("usage", "call_bench MODEL.samara [calls]");
  const long calls = argc > 2 ? atol(argv[2]) : 1000;
  samara_error error = {0};
  samara_model *model = NULL;
  samara_session *session = NULL;
  if (calls < 1) return call_fail(argv[2], "not a number of calls");
  if (samara_model_open_path(argv[1], NULL, &model, &error)) return call_fail(argv[1], error.text);
  int code = 1;
  const size_t inputs = samara_model_input_count(model, NULL);
  const size_t outputs = samara_model_output_count(model, NULL);
  const void *in[CALL_TENSORS] = {0};
  void *out[CALL_TENSORS] = {0};
  double nanoseconds = 0;
  if (inputs > CALL_TENSORS || outputs > CALL_TENSORS) {
    call_fail(argv[1], "too many inputs or outputs");
  } else if (samara_session_create(model, NULL, &session, &error)) {
    call_fail(argv[1], error.text);
  } else if (call_buffers(session, inputs, outputs, in, out) ||
             call_measure(session, (size_t)calls, in, out, &nanoseconds)) {
    call_fail(argv[1], samara_session_error(session));
  } else {
    printf("%.1f ns per run\n", nanoseconds);
    code = 0;
  }
  for (size_t i = 0; i < CALL_TENSORS; i++) {
    free((void *)(size_t)in[i]);
    free(out[i]);
  }
  samara_session_destroy(session);
  samara_model_close(model);
  return code;
}
