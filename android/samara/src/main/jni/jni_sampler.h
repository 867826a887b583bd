// SPDX-License-Identifier: Apache-2.0
/// Options of samplers from Java.
#ifndef SAMARA_JNI_SAMPLER_H_
#define SAMARA_JNI_SAMPLER_H_

#include "jni_features.h"

#if SAMARA_WITH_TEXT
/// The options in the arrays of dev.samara.TextOptions; false with an exception pending.
bool jni_sampler_options(JNIEnv *env, jlongArray numbers, jfloatArray shares,
                         samara_sampler_options *out);
#endif

#endif  // SAMARA_JNI_SAMPLER_H_
