/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of this build: the full library. A selective build replaces this header
 * (docs/guides/selective-builds.md). */
#ifndef SMR_BASE_BUILD_H_
#define SMR_BASE_BUILD_H_

#include <samara/samara.h>

#include "base/isa.h"

/// Instruction sets required of every CPU that runs this build. It has no kernels for less.
#define SMR_ISA_FLOOR SMR_ISA_NONE

#if SMR_ARCH_X86_64
#define SMR_BUILD_ISA "avx2,avx512,avx512-vnni,avx512-bf16,amx-int8"
#elif SMR_ARCH_AARCH64
#define SMR_BUILD_ISA "neon,neon-fp16,neon-dot,neon-i8mm,neon-bf16"
#else
#define SMR_BUILD_ISA "scalar"
#endif
#ifdef SMR_NO_TRAINING
#define SMR_BUILD_OPS "inference"
#else
#define SMR_BUILD_OPS "all"
#endif

/// Whether there are kernels for AMX's tiles: only then is the system asked for them.
#define SMR_WITH_TILES 1

/// Whether records of inputs in models are read.
#define SMR_WITH_RECORDS 1

/// The text of samara_manifest.
#define SMR_MANIFEST        \
  "samara-manifest 1\n"     \
  "version " SAMARA_VERSION \
  "\n"                      \
  "format 1\n"              \
  "isa " SMR_BUILD_ISA      \
  "\n"                      \
  "floor scalar\n"          \
  "ops " SMR_BUILD_OPS      \
  "\n"                      \
  "parts all\n"

#endif /* SMR_BASE_BUILD_H_ */
