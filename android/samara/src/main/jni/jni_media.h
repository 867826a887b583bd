// SPDX-License-Identifier: Apache-2.0
// Converts a dev.samara.Image to C.
#ifndef SAMARA_JNI_MEDIA_H_
#define SAMARA_JNI_MEDIA_H_

#include "jni_features.h"

#if SAMARA_WITH_IMAGES
enum { JNI_IMAGE_NUMBERS = 11 };  // of dev.samara.Image

/// Convert everything except planes; false with an exception pending.
bool jni_read_image(JNIEnv *env, jintArray numbers, samara_image *image);
/// Set input `index` to the picture, or throw.
void jni_set_image(JNIEnv *env, samara_session *session, jint index, const samara_image *image);
#endif

#endif  // SAMARA_JNI_MEDIA_H_
