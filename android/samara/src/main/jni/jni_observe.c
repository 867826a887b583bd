// SPDX-License-Identifier: Apache-2.0
// Kept tensors, profile, memory and placement of a session.
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
  jni_put_tensor(&blob, &tensor);
  return jni_take(env, &blob);
}

#else
JNI_ABSENT(keep)
#define kept without_keep
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
  // Without a buffer it returns the needed size and an error.
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

// ---- memory and devices ----

static jlong arena_bytes(JNIEnv *env, jclass type, jlong session) {
  (void)env, (void)type;
  return (jlong)samara_session_arena_bytes(jni_session(session));
}

static jlong total_bytes(JNIEnv *env, jclass type, jlong session) {
  (void)env, (void)type;
  return (jlong)samara_session_total_bytes(jni_session(session));
}

#if SAMARA_WITH_BACKENDS
static void put_placement(struct jni_blob *blob, const samara_placement_row *row) {
  jni_put_text(blob, row->function);
  jni_put_text(blob, row->node);
  jni_put_text(blob, row->op);
  jni_put_text(blob, row->device);
  jni_put_text(blob, row->reason);
  jni_put_text(blob, row->runner_up);
  jni_put(blob, &row->cost_us, sizeof row->cost_us);
  jni_put(blob, &row->runner_up_us, sizeof row->runner_up_us);
  jni_put_int(blob, row->region);
}

static jbyteArray placement(JNIEnv *env, jclass type, jlong handle) {
  (void)type;
  samara_session *session = jni_session(handle);
  struct jni_blob blob = {0};
  size_t count = 0;
  if (!jni_ok(env, session, samara_session_placement(session, NULL, 0, &count))) return NULL;
  samara_placement_row *rows = calloc(count + 1, sizeof *rows);
  if (rows == NULL) {
    jni_throw(env, SAMARA_OUT_OF_MEMORY, "no memory for the placement", NULL);
    return NULL;
  }
  if (jni_ok(env, session, samara_session_placement(session, rows, count, &count))) {
    jni_put_int(&blob, (int64_t)count);
    for (size_t i = 0; i < count; i++) put_placement(&blob, &rows[i]);
  }
  free(rows);
  return jni_take(env, &blob);
}

static jbyteArray backend_report(JNIEnv *env, jclass type, jlong handle) {
  (void)type;
  samara_session *session = jni_session(handle);
  struct jni_blob blob = {0};
  samara_backend_report report = {.struct_size = sizeof report};
  if (!jni_ok(env, session, samara_session_backend_report(session, &report))) return NULL;
  const uint64_t numbers[] = {report.active,       report.settled,     report.regions,
                              report.nodes,        report.device_runs, report.repeated,
                              report.device_bytes, report.checks,      report.launches,
                              report.copies,       report.copied_bytes};
  jni_put(&blob, numbers, sizeof numbers);
  jni_put_text(&blob, report.failure);
  return jni_take(env, &blob);
}

#else
JNI_ABSENT(backends)
#define placement without_backends
#define backend_report without_backends
#endif

static const JNINativeMethod methods[] = {
    {"kept", "(J[B)[B", (void *)kept},           {"setProfiling", "(JZ)V", (void *)set_profiling},
    {"profile", "(J)[B", (void *)profile},       {"trace", "(J)[B", (void *)trace},
    {"arenaBytes", "(J)J", (void *)arena_bytes}, {"totalBytes", "(J)J", (void *)total_bytes},
    {"placement", "(J)[B", (void *)placement},   {"backendReport", "(J)[B", (void *)backend_report},
};
const struct jni_table jni_observe_table = {methods, sizeof methods / sizeof *methods};
