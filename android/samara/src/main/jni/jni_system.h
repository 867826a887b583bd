// SPDX-License-Identifier: Apache-2.0
// Access to Android's own libraries.
#ifndef SAMARA_JNI_SYSTEM_H_
#define SAMARA_JNI_SYSTEM_H_

/// Write a line with a samara_log_level to Android's log; does nothing elsewhere.
void jni_log(int level, const char *text);

#endif  // SAMARA_JNI_SYSTEM_H_
