// SPDX-License-Identifier: Apache-2.0
// Training on a device: runs the "train_step" of a model, keeps its weights in a checkpoint that
// survives a kill, and hands them to "infer". examples/finetune.py makes the files and drives it.
//
//   finetune MODEL.samara TRAIN.raw CHECKPOINT STEPS [TEST.raw]
//
// The .raw files hold batches: all of the step's first input, then all of its second (int64
// labels), and the next batch. The model counts its steps in a variable "steps", which is saved
// with the weights, so the checkpoint alone says where to go on.
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L  // fsync, fileno
#endif

#include <samara/samara.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAVE_EVERY = 5 };  // steps between two checkpoints

static int fail(const char *what, const char *text) {
  fprintf(stderr, "%s: %s\n", what, text);
  return 1;
}

// ---- files ----

static int append(void *user, const void *data, size_t size_bytes) {
  return fwrite(data, 1, size_bytes, user) == size_bytes ? 0 : 1;
}

static int copy(void *user, uint64_t offset, void *buffer, size_t size_bytes) {
  FILE *file = user;
  if (fseek(file, (long)offset, SEEK_SET) != 0) return 1;
  return fread(buffer, 1, size_bytes, file) == size_bytes ? 0 : 1;
}

static long size_of(FILE *file) { return fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1; }

// If the process is killed here, either the old or the new checkpoint is complete: the file is
// written under another name, synced and then renamed.
static int save(const samara_session *session, const char *path) {
  char other[4096];
  if (snprintf(other, sizeof other, "%s.new", path) >= (int)sizeof other)
    return fail(path, "the name is too long");
  FILE *file = fopen(other, "wb");
  if (file == NULL) return fail(other, "cannot be written");
  const samara_writer writer = {sizeof writer, append, file};
  const samara_status status = samara_session_state_save(session, &writer);
  const int written = status == SAMARA_OK && fflush(file) == 0 && fsync(fileno(file)) == 0;
  if (fclose(file) != 0 || !written) return fail(other, samara_status_text(status));
  return rename(other, path) == 0 ? 0 : fail(path, "cannot be renamed");
}

// A session starts with the weights of the model file; a checkpoint, if there is one, replaces
// them.
static int restore(samara_session *session, const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return 0;
  const samara_reader reader = {copy, (uint64_t)size_of(file), file};
  const samara_status status = samara_session_state_load(session, &reader);
  fclose(file);
  return status == SAMARA_OK ? 0 : fail(path, samara_session_error(session));
}

// ---- training ----

// Fills input 0 with batch `index` (modulo the number of batches), and its labels into `labels` or,
// if that is NULL, input 1. Returns -1 if the file ends within a batch.
static int next_batch(samara_session *session, FILE *file, int64_t index, int64_t *labels) {
  samara_tensor x, y = {.data = labels};
  if (samara_session_input(session, 0, &x) != SAMARA_OK) return -1;
  y.size_bytes = (size_t)x.shape[0] * sizeof *labels;
  if (labels == NULL && samara_session_input(session, 1, &y) != SAMARA_OK) return -1;
  const long batch_bytes = (long)(x.size_bytes + y.size_bytes);
  const long count = size_of(file) / batch_bytes;
  if (count < 1 || fseek(file, (long)(index % count) * batch_bytes, SEEK_SET) != 0) return -1;
  return fread(x.data, 1, x.size_bytes, file) == x.size_bytes &&
                 fread(y.data, 1, y.size_bytes, file) == y.size_bytes
             ? 0
             : -1;
}

static int train(samara_session *session, FILE *data, const char *checkpoint, int64_t steps) {
  int64_t done = 0;
  if (samara_session_state_read(session, "steps", &done, sizeof done) != SAMARA_OK)
    return fail("steps", samara_session_error(session));
  while (done < steps) {
    samara_tensor loss;
    if (next_batch(session, data, done, NULL) != 0) return fail("data", "no whole batch");
    if (samara_session_run(session) != SAMARA_OK ||
        samara_session_output(session, 0, &loss) != SAMARA_OK)
      return fail("step", samara_session_error(session));
    done++;
    printf("step %" PRId64 " loss %.9g\n", done, (double)*(const float *)loss.data);
    fflush(stdout);
    if ((done % SAVE_EVERY == 0 || done == steps) && save(session, checkpoint) != 0) return 1;
  }
  return 0;
}

// ---- inference with the weights that were trained ----

// The two functions share variables by name, but each session has its own copy. The values are
// copied through memory, in the file's format.
static int hand_over(const samara_session *from, samara_session *to) {
  size_t size_bytes = 0;
  samara_session_state_save_memory(from, NULL, 0, &size_bytes);
  void *state = malloc(size_bytes);
  if (state == NULL) return fail("state", "out of memory");
  samara_status status = samara_session_state_save_memory(from, state, size_bytes, &size_bytes);
  if (status == SAMARA_OK) status = samara_session_state_load_memory(to, state, size_bytes);
  free(state);
  return status == SAMARA_OK ? 0 : fail("state", samara_session_error(to));
}

// How many labels of a batch are the arg-max of their row of logits [batch, classes].
static int64_t right_of(const samara_tensor *logits, const int64_t *labels) {
  int64_t right = 0;
  for (int64_t n = 0; n < logits->shape[0]; n++) {
    const float *row = (const float *)logits->data + n * logits->shape[1];
    int64_t best = 0;
    for (int64_t c = 1; c < logits->shape[1]; c++)
      if (row[c] > row[best]) best = c;
    right += best == labels[n];
  }
  return right;
}

static int test(samara_session *session, FILE *data) {
  samara_tensor x, logits;
  if (samara_session_input(session, 0, &x) != SAMARA_OK) return 1;
  const size_t labels_bytes = (size_t)x.shape[0] * sizeof(int64_t);
  const long count = size_of(data) / (long)(x.size_bytes + labels_bytes);
  int64_t *labels = malloc(labels_bytes);
  if (labels == NULL) return fail("labels", "out of memory");
  int64_t right = 0;
  int result = 0;
  for (long i = 0; i < count && result == 0; i++) {
    if (next_batch(session, data, i, labels) != 0) {
      result = fail("data", "no whole batch");
    } else if (samara_session_run(session) != SAMARA_OK ||
               samara_session_output(session, 0, &logits) != SAMARA_OK) {
      result = fail("infer", samara_session_error(session));
    } else {
      right += right_of(&logits, labels);
    }
  }
  free(labels);
  if (result == 0) printf("right %" PRId64 " of %" PRId64 "\n", right, count * x.shape[0]);
  return result;
}

static int infer(const samara_model *model, const samara_session *trained, FILE *data) {
  samara_error error;
  samara_session *session = NULL;
  const samara_session_options options = {.struct_size = sizeof options, .function = "infer"};
  if (samara_session_create(model, &options, &session, &error) != SAMARA_OK)
    return fail("infer", error.text);
  int result = hand_over(trained, session);
  if (result == 0) result = test(session, data);
  samara_session_destroy(session);
  return result;
}

static int run(const samara_model *model, char **argv, FILE *data, FILE *test_data) {
  samara_error error;
  samara_session *session = NULL;
  const samara_session_options options = {.struct_size = sizeof options, .function = "train_step"};
  if (samara_session_create(model, &options, &session, &error) != SAMARA_OK)
    return fail("train_step", error.text);
  int result = restore(session, argv[3]);
  if (result == 0) result = train(session, data, argv[3], strtoll(argv[4], NULL, 10));
  if (result == 0 && test_data != NULL) result = infer(model, session, test_data);
  samara_session_destroy(session);
  return result;
}

int main(int argc, char **argv) {
  if (argc < 5 || argc > 6)
    return fail("usage", "finetune MODEL.samara TRAIN.raw CHECKPOINT STEPS [TEST.raw]");
  samara_model *model = NULL;
  samara_error error;
  if (samara_model_open_path(argv[1], NULL, &model, &error) != SAMARA_OK)
    return fail(argv[1], error.text);
  int result = 1;
  FILE *data = fopen(argv[2], "rb");
  FILE *test_data = argc == 6 ? fopen(argv[5], "rb") : NULL;
  if (data == NULL || (argc == 6 && test_data == NULL))
    fail(data == NULL ? argv[2] : argv[5], "cannot be read");
  else
    result = run(model, argv, data, test_data);
  if (data != NULL) fclose(data);
  if (test_data != NULL) fclose(test_data);
  samara_model_close(model);
  return result;
}
