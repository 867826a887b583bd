// SPDX-License-Identifier: Apache-2.0
/// Compares Java values with the tensors that they fill.
#ifndef SAMARA_JNI_VALUES_H_
#define SAMARA_JNI_VALUES_H_

#include "jni_util.h"

/// A tensor's name in messages: "input 'x'", or "input 3" if the name is null.
struct jni_place {
  const char *what;
  jint index;
  jbyteArray name;  // UTF-8 that ends with a zero
};

/// Check that an array of `kind` with `length` elements fits the tensor; throw if not.
bool jni_array_fits(JNIEnv *env, const samara_tensor *tensor, const struct jni_place *place,
                    int kind, jsize length);

#endif  // SAMARA_JNI_VALUES_H_
