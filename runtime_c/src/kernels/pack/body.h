// SPDX-License-Identifier: Apache-2.0
// Selects the transposing packer of the instruction set.
#if VF == 8
#include "kernels/pack/avx2.h"
#elif VF == 4
#include "kernels/pack/neon.h"
#else
#include "kernels/pack/scalar.h"
#endif
