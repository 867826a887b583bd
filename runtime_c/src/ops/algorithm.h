// SPDX-License-Identifier: Apache-2.0
// Algorithms: the ways to compute an operator, one table row each.
//
// The row is the only source for choosing, tuning, profiling and running, and for the list of what
// a selective build must keep. An operator with several algorithms sets smr_op_funcs.prepare to
// smr_prepare_algorithm and `algorithms` to its table. The table's `begin` reads what all rows
// share (geometry, attributes) into the job's state. Of the rows that fit the node, the one with
// the least work then runs.
//
// `fits` and `work` must not depend on the instruction set, so that every machine chooses the same
// algorithm. A build keeps the rows that its own models choose. If another model would choose a row
// that the build left out, the table decides what happens:
//
// - All rows give the same bits (integers): SMR_ALGORITHM drops the whole row, and another row that
//   fits runs instead.
// - Rows differ in bits (floats): the row stays and can be chosen, but SMR_ALGORITHM_DOES drops its
//   functions. The node is refused, because another row would change the result.
//
// Loose rows are faster but less precise than accuracy=strict allows. They stand last in their
// table. A build that keeps a loose row also keeps the row that strict sessions take instead.
#ifndef SMR_OPS_ALGORITHM_H
#define SMR_OPS_ALGORITHM_H

#include "base/parts.h"
#include "ops/choice.h"
#include "ops/op.h"

struct smr_algorithm {
  const char *name;  // in choices, profiles and tuning files; no spaces; at most one row of a name
                     // fits a node
  uint16_t part;     // what a selective build keeps: enum smr_part
  uint8_t space;     // of its operands; 0: host memory
  bool loose;        // less precise than accuracy=strict allows
  uint32_t dtypes;   // SMR_DTYPE_* bits allowed for input 0; 0: any that the operator takes
  /// Whether the row can compute this node. NULL: any node.
  bool (*fits)(const struct smr_job *job);
  /// Whether a resize of symbolic dims could lead to this row. NULL: the same as `fits`.
  bool (*fits_any)(const struct smr_job *job);
  /// Work of the node in multiply-adds (ops/choice.h). NULL in tables where only one row fits a
  /// node: there is no choice to make, and the node's work is unknown.
  smr_work (*work)(const struct smr_job *job);
  /// Record the micro-kernels that the row calls for this node (SMR_NEED), for all sizes of
  /// symbolic dims. NULL: the part already determines them.
  samara_status (*kernels)(struct smr_job *job);
  /// Declare tiles, scratch and derived weights. NULL: the row is not in this build.
  samara_status (*prepare)(struct smr_job *job);
  /// Only in loose rows that fit symbolic dims. Called when the present sizes take another row,
  /// which is prepared first. Declare scratch and derived weights for sizes up to these, so that no
  /// run allocates, whichever row a resize selects.
  samara_status (*reserve)(struct smr_job *job);
  /// As smr_op_funcs.run.
  samara_status (*run)(const struct smr_job *job, size_t begin, size_t end, void *thread_scratch);
};

/// The algorithms of an operator, at most eight.
struct smr_algorithms {
  samara_status (*begin)(struct smr_job *job);
  size_t count;
  const struct smr_algorithm *const *rows;  // NULL for a row that is not in this build
};

enum {
  /// Whether this build has loose rows.
  SMR_HAS_LOOSE_ROWS = SMR_HAS(conv_winograd),
};

/// An entry of `rows`: NULL if the build leaves out the part.
#define SMR_ALGORITHM(part, row) (SMR_HAS(part) ? &(row) : NULL)
/// A row's `fits_any`.
#define SMR_ALGORITHM_ANY(function) (SMR_HAS(symbolic) ? (function) : NULL)
/// A row's `kernels`, `prepare` or `run` in a table whose rows differ in bits.
#define SMR_ALGORITHM_DOES(part, function) (SMR_HAS(part) ? (function) : NULL)

/// smr_op_funcs.prepare of operators with a table. Sets job->algorithm and job->run. Fails with
/// UNSUPPORTED if this build lacks every row that fits, or lacks the chosen one.
samara_status smr_prepare_algorithm(struct smr_job *job);

#endif /* SMR_OPS_ALGORITHM_H */
