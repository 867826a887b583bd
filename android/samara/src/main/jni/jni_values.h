// SPDX-License-Identifier: Apache-2.0
/// How values of Java are compared with the tensors that they become.
#ifndef SAMARA_JNI_VALUES_H_
#define SAMARA_JNI_VALUES_H_

#include "jni_util.h"

/// What a message calls a tensor: "input 'x'", or "input 3" where the name is null.
struct jni_place {
  const char *what;
  jint index;
  jbyteArray name;  // UTF-8 that ends with a zero
};

/// Whether an array of `kind` with `length` elements is what the tensor holds; else throw.
bool jni_array_fits(JNIEnv *env, const samara_tensor *tensor, const struct jni_place *place,
                    int kind, jsize length);

#endif  // SAMARA_JNI_VALUES_H_
