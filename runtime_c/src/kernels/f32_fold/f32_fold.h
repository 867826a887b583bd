// SPDX-License-Identifier: Apache-2.0
// Adding short runs of floats to others: the contract.
#ifndef SMR_KERNELS_F32_FOLD_H
#define SMR_KERNELS_F32_FOLD_H

#include <stddef.h>
#include <stdint.h>

/// to[i * to_step + j] += from[i * from_step + j] for i < count and j < length. Runs of `to` may
/// overlap if they are less than `turns` apart in i; runs i and i + turns must not overlap. Runs
/// are added in `turns` >= 1 turns: i = 0, turns, 2 turns ... first, then i = 1, turns + 1 ... A
/// load that follows a store to the same address waits for it, so turns that keep runs a vector
/// apart are fastest.
typedef void (*smr_f32_fold_ukernel)(size_t count, size_t turns, size_t length, const float *from,
                                     size_t from_step, float *to, size_t to_step);

/// The best kernel among the instruction sets `isa` (SMR_ISA_* bits); never NULL.
smr_f32_fold_ukernel smr_f32_fold_kernel(uint32_t isa);

#endif
