// SPDX-License-Identifier: Apache-2.0
/// Variables of a session: one by name, all as a file.
#include "jni_features.h"
#include "jni_values.h"

#include <stdlib.h>
#include <string.h>

// ---- all as a file ----

#if SAMARA_WITH_CHECKPOINTS
static jbyteArray save_state(JNIEnv *env, jclass type, jlong handle) {
  (void)type;
  samara_session *session = jni_session(handle);
  size_t size = 0;
  if (!jni_ok(env, session, samara_session_state_save_memory(session, NULL, 0, &size))) return NULL;
  void *data = malloc(size);
  if (data == NULL) {
    jni_throw(env, SAMARA_OUT_OF_MEMORY, "no memory for the state", NULL);
    return NULL;
  }
  jbyteArray made = NULL;
  if (jni_ok(env, session, samara_session_state_save_memory(session, data, size, &size)))
    made = jni_bytes(env, data, size);
  free(data);
  return made;
}

static void load_state(JNIEnv *env, jclass type, jlong handle, jbyteArray file) {
  (void)type;
  samara_session *session = jni_session(handle);
  const jsize size = (*env)->GetArrayLength(env, file);
  jbyte *data = (*env)->GetByteArrayElements(env, file, NULL);
  if (data == NULL) return;
  const samara_status status = samara_session_state_load_memory(session, data, (size_t)size);
  (*env)->ReleaseByteArrayElements(env, file, data, JNI_ABORT);
  jni_ok(env, session, status);
}

#else
JNI_ABSENT(checkpoints)
#define save_state without_checkpoints
#define load_state without_checkpoints
#endif

// ---- one by name ----

#if SAMARA_WITH_STATE
static void reset_state(JNIEnv *env, jclass type, jlong session) {
  (void)type;
  jni_ok(env, jni_session(session), samara_session_reset(jni_session(session)));
}

static jbyteArray state_names(JNIEnv *env, jclass type, jlong handle) {
  (void)type;
  const samara_session *session = jni_session(handle);
  struct jni_blob blob = {0};
  const size_t count = samara_session_state_count(session);
  jni_put_int(&blob, (int64_t)count);
  for (size_t i = 0; i < count; i++) jni_put_text(&blob, samara_session_state_name(session, i));
  return jni_take(env, &blob);
}

static jbyteArray get_state(JNIEnv *env, jclass type, jlong handle, jbyteArray name) {
  (void)type;
  samara_session *session = jni_session(handle);
  struct jni_blob blob = {0};
  samara_tensor tensor;
  char *text = jni_text(env, name);
  if (text == NULL) return NULL;
  void *data = NULL;
  if (jni_ok(env, session, samara_session_state_info(session, text, &tensor))) {
    data = malloc(tensor.size_bytes + 1);
    tensor.data = data;
    if (data == NULL) {
      jni_throw(env, SAMARA_OUT_OF_MEMORY, "no memory for a variable", NULL);
    } else if (jni_ok(env, session,
                      samara_session_state_read(session, text, data, tensor.size_bytes))) {
      jni_put_tensor(&blob, &tensor);
    }
  }
  free(data);
  free(text);
  return jni_take(env, &blob);
}

/// Whether the shape from Java is the variable's; else throw.
static bool shape_fits(JNIEnv *env, const samara_tensor *tensor, jlongArray shape) {
  jlong dims[SAMARA_MAX_RANK] = {0};
  const jsize rank = (*env)->GetArrayLength(env, shape);
  bool same = rank == tensor->rank;
  if (same) (*env)->GetLongArrayRegion(env, shape, 0, rank, dims);
  for (int32_t i = 0; same && i < tensor->rank; i++) same = dims[i] == tensor->shape[i];
  if (!same)
    jni_throw(env, SAMARA_BAD_SHAPE, "the tensor has another shape than the variable",
              "give one of the shape that the variable has when it is read");
  return same;
}

static void set_state(JNIEnv *env, jclass type, jlong handle, jbyteArray name, jobject array,
                      jint kind, jlongArray shape) {
  (void)type;
  samara_session *session = jni_session(handle);
  samara_tensor to;
  char *text = jni_text(env, name);
  if (text == NULL) return;
  const jsize length = (*env)->GetArrayLength(env, array);
  if (jni_ok(env, session, samara_session_state_info(session, text, &to)) &&
      jni_array_fits(env, &to, &(struct jni_place){"variable", 0, name}, kind, length) &&
      shape_fits(env, &to, shape)) {
    void *own = malloc(to.size_bytes + 1);
    void *data = own != NULL ? (*env)->GetPrimitiveArrayCritical(env, array, NULL) : NULL;
    if (own == NULL) jni_throw(env, SAMARA_OUT_OF_MEMORY, "no memory for a variable", NULL);
    if (data != NULL) {  // not written from the array itself, because writing may wait for a device
      memcpy(own, data, to.size_bytes);
      (*env)->ReleasePrimitiveArrayCritical(env, array, data, JNI_ABORT);
      jni_ok(env, session, samara_session_state_write(session, text, own, to.size_bytes));
    }
    free(own);
  }
  free(text);
}

#else
JNI_ABSENT(state)
#define reset_state without_state
#define state_names without_state
#define get_state without_state
#define set_state without_state
#endif

static const JNINativeMethod methods[] = {
    {"saveState", "(J)[B", (void *)save_state},
    {"loadState", "(J[B)V", (void *)load_state},
    {"resetState", "(J)V", (void *)reset_state},
    {"stateNames", "(J)[B", (void *)state_names},
    {"getState", "(J[B)[B", (void *)get_state},
    {"setState", "(J[BLjava/lang/Object;I[J)V", (void *)set_state},
};
const struct jni_table jni_state_table = {methods, sizeof methods / sizeof *methods};
