// SPDX-License-Identifier: Apache-2.0
// Undefines the macros of core.h.
#undef GEMM_ADDS
#undef GEMM_IN_ORDER
#undef GEMM_STEPS
#undef GEMM_TALL
#undef GEMM_ROWS
#undef GEMM_OFFSETS
#undef GEMM_STRIDED
#undef GEMM_MAX_MR
#undef GEMM_MAX_NV
#undef GEMM_PANEL_VECTORS
#undef GEMM_TILE
#undef GEMM_TILE_OFFSETS
#undef GEMM_TILE_STRIDED
#undef GEMM_NAME
