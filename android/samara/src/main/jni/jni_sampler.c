// SPDX-License-Identifier: Apache-2.0
/// Samplers, and their options.
#include "jni_sampler.h"

#include <stdlib.h>

#if SAMARA_WITH_TEXT
static samara_sampler *sampler_of(jlong handle) { return (samara_sampler *)(intptr_t)handle; }

static bool sampler_ok(JNIEnv *env, samara_status status, const samara_error *error) {
  if (status != SAMARA_OK) jni_throw_error(env, status, error);
  return status == SAMARA_OK;
}

bool jni_sampler_options(JNIEnv *env, jlongArray numbers, jfloatArray shares,
                         samara_sampler_options *out) {
  jlong whole[3] = {0};
  jfloat real[4] = {0};
  (*env)->GetLongArrayRegion(env, numbers, 0, 3, whole);
  if ((*env)->ExceptionCheck(env)) return false;
  (*env)->GetFloatArrayRegion(env, shares, 0, 4, real);
  if ((*env)->ExceptionCheck(env)) return false;
  *out = (samara_sampler_options){.struct_size = sizeof *out,
                                  .repetition_penalty = real[0],
                                  .temperature = real[1],
                                  .top_p = real[2],
                                  .min_p = real[3],
                                  .top_k = (size_t)whole[0],
                                  .repetition_window = (size_t)whole[1],
                                  .seed = (uint64_t)whole[2]};
  return true;
}

static jlong create_sampler(JNIEnv *env, jclass type, jint vocabulary, jlongArray numbers,
                            jfloatArray shares) {
  (void)type;
  samara_sampler_options options;
  samara_error error = {0};
  samara_sampler *sampler = NULL;
  if (!jni_sampler_options(env, numbers, shares, &options)) return 0;
  sampler_ok(env, samara_sampler_create(&options, (size_t)vocabulary, NULL, &sampler, &error),
             &error);
  return jni_handle(sampler);
}

static void destroy_sampler(JNIEnv *env, jclass type, jlong sampler) {
  (void)env, (void)type;
  samara_sampler_destroy(sampler_of(sampler));
}

static jint next_token(JNIEnv *env, jclass type, jlong sampler, jfloatArray logits) {
  (void)type;
  samara_error error = {0};
  int32_t token = -1;
  const jsize count = (*env)->GetArrayLength(env, logits);
  jfloat *own = (*env)->GetFloatArrayElements(env, logits, NULL);
  if (own == NULL) return -1;
  const samara_status status =
      samara_sampler_next(sampler_of(sampler), own, (size_t)count, &token, &error);
  (*env)->ReleaseFloatArrayElements(env, logits, own, JNI_ABORT);
  return sampler_ok(env, status, &error) ? token : -1;
}

static void accept_tokens(JNIEnv *env, jclass type, jlong sampler, jintArray tokens) {
  (void)type;
  samara_error error = {0};
  size_t count;
  int32_t *own = jni_read_ints(env, tokens, &count);
  if (own == NULL) return;
  for (size_t i = 0; i < count; i++)
    if (!sampler_ok(env, samara_sampler_accept(sampler_of(sampler), own[i], &error), &error)) break;
  free(own);
}

static void reset_sampler(JNIEnv *env, jclass type, jlong sampler) {
  (void)env, (void)type;
  samara_sampler_reset(sampler_of(sampler));
}

#else
JNI_ABSENT(text)
#define create_sampler without_text
#define destroy_sampler without_text
#define next_token without_text
#define accept_tokens without_text
#define reset_sampler without_text
#endif

static const JNINativeMethod methods[] = {
    {"createSampler", "(I[J[F)J", (void *)create_sampler},
    {"destroySampler", "(J)V", (void *)destroy_sampler},
    {"nextToken", "(J[F)I", (void *)next_token},
    {"acceptTokens", "(J[I)V", (void *)accept_tokens},
    {"resetSampler", "(J)V", (void *)reset_sampler},
};
const struct jni_table jni_sampler_table = {methods, sizeof methods / sizeof *methods};
