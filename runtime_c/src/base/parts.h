/* SPDX-License-Identifier: Apache-2.0 */
/* Parts: what a selective build can leave out of the runtime.
 *
 * parts.inc lists all parts. The full library has every part. A selective build has its own
 * parts.inc with the parts that its models need, and the compiler drops unreachable code. A node
 * that needs a missing part is refused: no part replaces another.
 *
 * While an operator prepares, SMR_WAY or SMR_NEED (ops/op.h) guard the code of a part. Functions
 * that SMR_WAY selects need no other guard; functions called by name are guarded by SMR_HAS.
 * Whether a part is needed must not depend on the instruction set, because the parts of a model are
 * determined on another machine than the one that runs it.
 *
 * The value of a row is 0 (left out), 1, or 2 (portable C only). Builds use 2 for kernels that give
 * the same bits on all instruction sets, if vectors would not speed up their models noticeably.
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

/// 1 if this build has the part, otherwise 0: a constant expression.
#define SMR_HAS(name) (SMR_HAS_##name != 0)
/// 1 if it also has the part's vector kernels.
#define SMR_HAS_VECTORS(name) (SMR_HAS_##name == 1)
/// An entry of a table of kernels: NULL if the part is left out.
#define SMR_KERNEL_OF(name, vectors, portable) \
  (SMR_HAS_VECTORS(name) ? (vectors) : SMR_HAS(name) ? (portable) : NULL)

enum {
  /// Whether a node may call functions, or may be the program's own operator.
  SMR_HAS_CONTROL = SMR_HAS(control_if) || SMR_HAS(control_loop) || SMR_HAS(control_call) ||
      SMR_HAS(control_trap) || SMR_HAS(custom),
  /// Whether some dims may only be known within bounds when a session is planned.
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

/// Fails because this build lacks the part. `name` is that of a part or of a family of kernels.
samara_status smr_part_missing(samara_error *error, const char *name);

/// In a function that returns a status: fail if this build lacks the part, else add it to `parts`
/// (a struct smr_parts *; NULL: nobody asks).
#define SMR_NEED_IN(parts, error, name)                                   \
  do {                                                                    \
    if (!SMR_HAS(name)) return smr_part_missing((error), #name);          \
    if (SMR_HAS(survey)) smr_parts_add((parts), (size_t)SMR_PART_##name); \
  } while (0)

#endif /* SMR_BASE_PARTS_H_ */
