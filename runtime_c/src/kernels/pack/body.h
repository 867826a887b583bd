// SPDX-License-Identifier: Apache-2.0
// The transposing packer, which every instruction set writes in its own way.
#if VF == 8
#include "kernels/pack/avx2.h"
#elif VF == 4
#include "kernels/pack/neon.h"
#else
#include "kernels/pack/scalar.h"
#endif
