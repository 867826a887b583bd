// SPDX-License-Identifier: Apache-2.0
// Registers the functions of dev.samara.Native. The library exports nothing else.
#include "jni_util.h"

static bool registers(JNIEnv *env) {
  const struct jni_table *const tables[] = {
      &jni_model_table,      &jni_session_table, &jni_values_table, &jni_media_table,
      &jni_state_table,      &jni_observe_table, &jni_text_table,   &jni_sampler_table,
      &jni_text_model_table, &jni_system_table};
  const jclass native = (*env)->FindClass(env, "dev/samara/Native");
  bool right = native != NULL;
  for (size_t i = 0; right && i < sizeof tables / sizeof *tables; i++)
    right = (*env)->RegisterNatives(env, native, tables[i]->methods, tables[i]->count) == JNI_OK;
  if (native != NULL) (*env)->DeleteLocalRef(env, native);
  return right;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved) {
  (void)reserved;
  void *found = NULL;
  if ((*vm)->GetEnv(vm, &found, JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
  JNIEnv *env = found;
  // An exception is pending: a method is missing, so the classes have another version.
  return jni_util_load(env) && registers(env) ? JNI_VERSION_1_6 : JNI_ERR;
}

JNIEXPORT void JNICALL JNI_OnUnload(JavaVM *vm, void *reserved) {
  (void)reserved;
  void *found = NULL;
  if ((*vm)->GetEnv(vm, &found, JNI_VERSION_1_6) == JNI_OK) jni_util_unload(found);
}
