/* SPDX-License-Identifier: Apache-2.0 */
/* Parts: pieces of the runtime that a selective build can leave out.
 *
 * parts.inc names them all. The full library has every part; a selective build has those that its
 * models need, by a parts.inc of its own, and the compiler drops what nothing reaches any more.
 * What is left out refuses: no part ever stands in for another.
 *
 * Code of a part is reached through SMR_WAY or SMR_NEED (ops/op.h) once, while an operator
 * prepares. What SMR_WAY picks needs no other guard; what is called by name is guarded by SMR_HAS.
 * Whether a part is needed may not depend on the instruction sets: what a model needs is found on
 * another machine than the one it runs on.
 *
 * A row's value is 0 (left out), 1, or 2: portable C alone. Builds say 2 where vectors would not be
 * felt in any run of their models, of kernels that give the same bits on all instruction sets.
 */
#ifndef SMR_BASE_PARTS_H_
#define SMR_BASE_PARTS_H_

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum smr_part {
#define SMR_PART(name, in) SMR_PART_##name,
#include "base/parts.inc"
#undef SMR_PART
  SMR_PART_COUNT
};

enum {
#define SMR_PART(name, in) SMR_HAS_##name = (in),
#include "base/parts.inc"
#undef SMR_PART
};

/// 1 where this build has the part, else 0: a constant expression.
#define SMR_HAS(name) (SMR_HAS_##name != 0)
/// 1 where it has the part's vector kernels, too.
#define SMR_HAS_VECTORS(name) (SMR_HAS_##name == 1)
/// A row's function of a table of kernels: NULL where the part is left out.
#define SMR_KERNEL_OF(name, vectors, portable) \
  (SMR_HAS_VECTORS(name) ? (vectors) : SMR_HAS(name) ? (portable) : NULL)

enum {
  /// Whether some node may call functions, or be the program's own.
  SMR_HAS_CONTROL = SMR_HAS(control_if) || SMR_HAS(control_loop) || SMR_HAS(control_call) ||
      SMR_HAS(control_trap) || SMR_HAS(custom),
  /// Whether some dims may be known only within bounds when a session is planned.
  SMR_HAS_BOUNDS = SMR_HAS_CONTROL || SMR_HAS(late),
};

/// A set of parts.
struct smr_parts {
  uint64_t words[(SMR_PART_COUNT + 63) / 64];
};

/// Add a part to a set, which may be NULL.
static inline void smr_parts_add(struct smr_parts *parts, size_t part) {
  if (parts != NULL) parts->words[part / 64] |= UINT64_C(1) << part % 64;
}
static inline int smr_parts_have(const struct smr_parts *parts, size_t part) {
  return (int)(parts->words[part / 64] >> part % 64 & 1);
}

/// The part's name in lists of parts, e.g. "f32_gemm".
const char *smr_part_name(size_t part);

/// Fails: this build has no such part. `name` is a part's, or that of a family of kernels.
samara_status smr_part_missing(samara_error *error, const char *name);

/// In a function that returns a status: fails where this build lacks the part, else adds it to
/// `parts` (a struct smr_parts *, may be NULL) where somebody lists them.
#define SMR_NEED_IN(parts, error, name)                                   \
  do {                                                                    \
    if (!SMR_HAS(name)) return smr_part_missing((error), #name);          \
    if (SMR_HAS(survey)) smr_parts_add((parts), (size_t)SMR_PART_##name); \
  } while (0)

#endif /* SMR_BASE_PARTS_H_ */
