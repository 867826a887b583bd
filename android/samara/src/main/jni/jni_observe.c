// SPDX-License-Identifier: Apache-2.0
/// State, kept tensors, and the profile of a run.
#include "jni_features.h"

#include <stdlib.h>

#if SAMARA_WITH_KEEP
static jbyteArray kept(JNIEnv *env, jclass type, jlong handle, jbyteArray name) {
  (void)type;
  samara_session *session = jni_session(handle);
  struct jni_blob blob = {0};
  samara_tensor tensor;
  char *text = jni_text(env, name);
  if (text == NULL) return NULL;
  const bool right = jni_ok(env, session, samara_session_kept(session, text, &tensor));
  free(text);
  if (!right) return NULL;
  jni_put_int(&blob, tensor.dtype);
  jni_put_int(&blob, tensor.rank);
  for (int32_t i = 0; i < tensor.rank; i++) jni_put_long(&blob, tensor.shape[i]);
  jni_put_float(&blob, tensor.scale);
  jni_put_int(&blob, tensor.zero_point);
  jni_put_block(&blob, tensor.data, tensor.size_bytes);
  return jni_take(env, &blob);
}

#else
JNI_ABSENT(keep)
#define kept without_keep
#endif

// ---- state ----

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

#if SAMARA_WITH_STATE
static void reset_state(JNIEnv *env, jclass type, jlong session) {
  (void)type;
  jni_ok(env, jni_session(session), samara_session_reset(jni_session(session)));
}

#else
JNI_ABSENT(state)
#define reset_state without_state
#endif

// ---- times ----

#if SAMARA_WITH_PROFILE
static void set_profiling(JNIEnv *env, jclass type, jlong session, jboolean on) {
  (void)type;
  jni_ok(env, jni_session(session),
         samara_session_set_profiling(jni_session(session), on == JNI_TRUE));
}

static jbyteArray profile(JNIEnv *env, jclass type, jlong handle) {
  (void)type;
  samara_session *session = jni_session(handle);
  struct jni_blob blob = {0};
  size_t count = 0;
  if (!jni_ok(env, session, samara_session_profile(session, NULL, 0, &count))) return NULL;
  samara_profile_row *rows = calloc(count + 1, sizeof *rows);
  if (rows == NULL) {
    jni_throw(env, SAMARA_OUT_OF_MEMORY, "no memory for the profile", NULL);
    return NULL;
  }
  if (jni_ok(env, session, samara_session_profile(session, rows, count, &count))) {
    jni_put_int(&blob, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
      jni_put_text(&blob, rows[i].node);
      jni_put_text(&blob, rows[i].op);
      jni_put_text(&blob, rows[i].kernel);
      jni_put_text(&blob, rows[i].function);
      jni_put_long(&blob, (int64_t)rows[i].start_ns);
      jni_put_long(&blob, (int64_t)rows[i].total_ns);
      jni_put_long(&blob, (int64_t)rows[i].count);
    }
  }
  free(rows);
  return jni_take(env, &blob);
}

static jbyteArray trace(JNIEnv *env, jclass type, jlong handle) {
  (void)type;
  samara_session *session = jni_session(handle);
  size_t needed = 0;
  // Without a buffer it says what it takes, and that it got too little.
  const samara_status asked = samara_session_profile_trace(session, NULL, 0, &needed);
  if (needed == 0) {
    jni_ok(env, session, asked == SAMARA_OK ? SAMARA_BAD_STATE : asked);
    return NULL;
  }
  char *text = malloc(needed);
  if (text == NULL) {
    jni_throw(env, SAMARA_OUT_OF_MEMORY, "no memory for the trace", NULL);
    return NULL;
  }
  jbyteArray made = NULL;
  if (jni_ok(env, session, samara_session_profile_trace(session, text, needed, &needed)))
    made = jni_bytes(env, text, needed - 1);
  free(text);
  return made;
}

#else
JNI_ABSENT(profile)
#define set_profiling without_profile
#define profile without_profile
#define trace without_profile
#endif

static const JNINativeMethod methods[] = {
    {"kept", "(J[B)[B", (void *)kept},
    {"saveState", "(J)[B", (void *)save_state},
    {"loadState", "(J[B)V", (void *)load_state},
    {"resetState", "(J)V", (void *)reset_state},
    {"setProfiling", "(JZ)V", (void *)set_profiling},
    {"profile", "(J)[B", (void *)profile},
    {"trace", "(J)[B", (void *)trace},
};
const struct jni_table jni_observe_table = {methods, sizeof methods / sizeof *methods};
