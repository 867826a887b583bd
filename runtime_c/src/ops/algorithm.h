// SPDX-License-Identifier: Apache-2.0
// Algorithms: the ways in which an operator can be computed, one row each.
//
// Choosing, listing what a selective build must keep, tuning, profiling and running all read the
// row. The smr_op_funcs of an operator with several algorithms name smr_prepare_algorithm as
// `prepare` and a table as `algorithms`: its `begin` reads what they share (geometry, attributes)
// into the job's state, then the row that fits the node with the least work is taken.
//
// Whether a row fits and what it costs may not depend on the instruction set: every machine chooses
// the same algorithm. A build keeps the rows that its own models choose. What it does with a model
// that would choose a row it left out depends on the table:
//
// - All rows give the same bits (integers): SMR_ALGORITHM drops the row as a whole, and another one
//   that fits serves.
// - They do not (floats): the row stays and can be chosen, but SMR_ALGORITHM_DOES drops its
//   functions. The node is refused; nothing stands in with other bits.
//
// Loose rows are faster, but lose more precision than accuracy=strict allows. They are the last of
// their table. A build that keeps one keeps what the node takes without it, for strict sessions.
#ifndef SMR_OPS_ALGORITHM_H
#define SMR_OPS_ALGORITHM_H

#include "base/parts.h"
#include "ops/choice.h"
#include "ops/op.h"

struct smr_algorithm {
  const char *name;  // in choices, profiles and tuning files: no spaces; rows of one name exclude
                     // each other
  uint16_t part;     // what a selective build keeps: enum smr_part
  uint8_t space;     // where its operands lie: 0, host memory
  bool loose;        // it fits no strict session
  uint32_t dtypes;   // SMR_DTYPE_* bits that input 0 may have; 0: any that the operator takes
  /// Whether it can compute the node at hand. NULL: any node.
  bool (*fits)(const struct smr_job *job);
  /// Whether it could be chosen with other sizes of the node's symbolic dims. NULL: where it fits.
  bool (*fits_any)(const struct smr_job *job);
  /// Work of the node in multiply-adds (ops/choice.h). NULL in tables whose rows exclude each
  /// other: there is nothing to choose, and the node's work is not known.
  smr_work (*work)(const struct smr_job *job);
  /// Note the micro-kernels that it calls for this node (SMR_NEED), for all sizes of symbolic dims.
  /// NULL: the part says it all.
  samara_status (*kernels)(struct smr_job *job);
  /// Declare tiles, scratch and derived weights. NULL: this build left the row out.
  samara_status (*prepare)(struct smr_job *job);
  /// Of a loose row that fits symbolic dims, where these sizes take another one: declare the
  /// scratch and derived weights of sizes up to these, so that no run allocates, whichever row it
  /// takes. The other row is prepared before.
  samara_status (*reserve)(struct smr_job *job);
  /// As smr_op_funcs.run.
  samara_status (*run)(const struct smr_job *job, size_t begin, size_t end, void *thread_scratch);
};

/// The algorithms of an operator, at most eight.
struct smr_algorithms {
  samara_status (*begin)(struct smr_job *job);
  size_t count;
  const struct smr_algorithm *const *rows;  // NULL where this build left a row out
};

enum {
  /// Whether this build has loose rows.
  SMR_HAS_LOOSE_ROWS = SMR_HAS(conv_winograd),
};

/// An entry of the rows: the row, if the build keeps the part of that name.
#define SMR_ALGORITHM(part, row) (SMR_HAS(part) ? &(row) : NULL)
/// A row's `fits_any`.
#define SMR_ALGORITHM_ANY(function) (SMR_HAS(symbolic) ? (function) : NULL)
/// A row's `kernels`, `prepare` or `run` in a table whose rows differ in bits.
#define SMR_ALGORITHM_DOES(part, function) (SMR_HAS(part) ? (function) : NULL)

/// smr_op_funcs.prepare of operators with a table. Sets job->algorithm and job->run. Fails with
/// UNSUPPORTED where this build left out every row that fits, or the one that is chosen.
samara_status smr_prepare_algorithm(struct smr_job *job);

#endif /* SMR_OPS_ALGORITHM_H */
