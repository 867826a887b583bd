// SPDX-License-Identifier: Apache-2.0
// Takes back the macros of core.h and of the file that included it.
#undef I8_CHUNK
#undef I8_PITCH
#undef I8_KERNELS
#undef I8_NAME
#undef I8_MR
#undef I8_NR
#undef I8_STAGED
#undef I8_OFFSET
#undef I8_WOVEN
#undef I8_DIRECT
#undef I8_ROW_SUM
