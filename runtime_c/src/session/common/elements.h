// SPDX-License-Identifier: Apache-2.0
// Elements of float tensors of any dtype, to compare outputs.
#ifndef SMR_SESSION_COMMON_ELEMENTS_H
#define SMR_SESSION_COMMON_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether a samara_dtype is a float dtype.
bool smr_is_float(uint8_t dtype);
/// Element `i` of the floats at `data`.
double smr_float_at(const void *data, uint8_t dtype, size_t i);

#endif
