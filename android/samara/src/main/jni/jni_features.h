// SPDX-License-Identifier: Apache-2.0
// Features of the linked runtime, and native methods for missing ones.
#ifndef SAMARA_JNI_FEATURES_H_
#define SAMARA_JNI_FEATURES_H_

#include "jni_util.h"

#if !SAMARA_SELECTIVE  // the header of the whole runtime
#define SAMARA_WITH_FILES 1
#define SAMARA_WITH_CALLBACKS 1
#define SAMARA_WITH_METADATA 1
#define SAMARA_WITH_SELFTEST 1
#define SAMARA_WITH_THREADS 1
#define SAMARA_WITH_STATE 1
#define SAMARA_WITH_CHECKPOINTS 1
#define SAMARA_WITH_KEEP 1
#define SAMARA_WITH_PROFILE 1
#define SAMARA_WITH_IMAGES 1
#define SAMARA_WITH_AUDIO 1
#define SAMARA_WITH_ANSWERS 1
#define SAMARA_WITH_BACKENDS 1
#define SAMARA_WITH_BIND 1
#define SAMARA_WITH_TEXT 1
#endif

#if SAMARA_WITH_IMAGES || SAMARA_WITH_AUDIO || SAMARA_WITH_ANSWERS
#include <samara/samara_media.h>
#endif
#if SAMARA_WITH_BACKENDS
#include <samara/samara_backend.h>
#endif
#if SAMARA_WITH_TEXT
#include <samara/samara_text.h>
#endif

/// Replaces native methods whose feature is missing: ignores its arguments, throws, and returns 0,
/// false or null.
#define JNI_ABSENT(feature)                                  \
  static jlong without_##feature(JNIEnv *env, jclass type) { \
    (void)type;                                              \
    return jni_throw_absent(env, #feature);                  \
  }

#endif  // SAMARA_JNI_FEATURES_H_
