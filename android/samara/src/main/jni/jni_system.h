// SPDX-License-Identifier: Apache-2.0
/// What the JNI files need of Android's own libraries.
#ifndef SAMARA_JNI_SYSTEM_H_
#define SAMARA_JNI_SYSTEM_H_

/// A line of Android's log, of a samara_log_level; nothing elsewhere.
void jni_log(int level, const char *text);

#endif  // SAMARA_JNI_SYSTEM_H_
