/* SPDX-License-Identifier: Apache-2.0 */
/* The operator interface: what the session hands an operator and what an operator hands back.
 *
 * A node goes through
 *
 * - check: dims and dtypes are consistent (the check class first, then the operator's own); every
 *   time dims change.
 * - measure (optional): computes output dims that depend on data; right before run.
 * - prepare: picks kernels, declares tiles and scratch; every time dims change.
 * - pack (optional): derives another layout of a constant input; once per model.
 * - run: computes tiles [begin, end); any thread, disjoint ranges.
 *
 * check establishes everything the kernels' addressing relies on, whatever the file said;
 * afterwards prepare and run trust it. Index *values* are checked in run, which therefore returns a
 * status.
 */
#ifndef SMR_OPS_OP_H_
#define SMR_OPS_OP_H_

#include "base/error.h"
#include "base/parts.h"
#include "ops/choice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  SMR_MAX_DERIVED = 4,   // constant inputs one operator may want in another layout
  SMR_MAX_BARRIERS = 2,  // phases of one operator, less one
};

/// How a tensor's bytes are arranged. Codes are those of the file.
enum smr_layout {
  SMR_LAYOUT_PLAIN = 0,    // row-major
  SMR_LAYOUT_PANEL = 1,    // float [N/16][K][16] per group; int8 [N/16][K/4][16][4] per group
  SMR_LAYOUT_DWPANEL = 2,  // [C/16][taps][16]
};

/// Quantization parameters of one tensor: one pair per tensor, or one per index of `axis`.
struct smr_quant {
  const float *scales;
  const int32_t *zero_points;
  uint32_t count;
  int32_t axis;  // -1: per tensor
};

/// A tensor as an operator sees it. dims are the real ones of this run. `data` is NULL during check
/// and prepare unless constant.
struct smr_tensor {
  void *data;
  /// Elements between consecutive rows of the last axis (between NHWC pixels); dims[rank-1] when
  /// dense. Only operators whose table row carries SMR_OP_STRIDED ever see anything else.
  int64_t pixel_stride;
  size_t size_bytes;              // of the dense tensor (or of the packed constant)
  const struct smr_quant *quant;  // NULL unless quantized
  const char *name;
  int32_t constant;  // index of the model's constant, or -1
  uint8_t dtype;     // samara_dtype
  uint8_t rank;
  uint8_t layout;  // enum smr_layout; anything but PLAIN only for constants
  uint8_t padded;  // 1: a plain constant whose bytes go on to a multiple of 16 elements
  uint8_t open;    // a bit for each axis whose dim is not a constant: see smr_job.dims_vary
  int64_t dims[SAMARA_MAX_RANK];
};

/// Whether one of the dims of axes [first, end) is symbolic, so that a resize may change it.
static inline bool smr_dims_open(const struct smr_tensor *t, uint32_t first, uint32_t end) {
  return SMR_HAS(symbolic) && (t->open & ((1u << end) - (1u << first))) != 0;
}

/// A value under a name of its own: an attribute of a custom operator, as files hold it.
struct smr_named {
  const char *name, *text;
  const int64_t *ints;
  const float *floats;
  uint32_t int_count, float_count;
  uint8_t kind;  // enum smr_named_kind: which of the three it is
};
enum smr_named_kind { SMR_NAMED_INTS, SMR_NAMED_FLOATS, SMR_NAMED_TEXT, SMR_NAMED_KINDS };

/// An attribute, decoded; which field holds it follows from its type in the table.
struct smr_attr {
  int64_t i;  // int, bool, enum (index of the choice), dtype, function, dim (evaluated)
  float f;    // f32
  union {
    const int64_t *ints;  // ints, dims (evaluated)
    const float *floats;  // floats
    const char *text;     // string
    const struct smr_named *named;
  };
  uint32_t count;  // of ints / floats / bytes of text / named
  bool present;    // written in the file (else the default)
  bool varies;     // some of `ints`, or `i`, is not a constant: see smr_job.dims_vary
};

struct smr_job;

/// When a run gives up: limit_ns after start_ns on the clock of smr_os_now_ns; limit_ns 0: never.
struct smr_deadline {
  uint64_t start_ns, limit_ns;
};

/// A packed or otherwise derived copy of a constant input, made once per model by the operator's
/// pack().
struct smr_derived {
  int32_t input;    // index of the input; -1 ends the list
  uint32_t layout;  // operator-private code, the key together with the constant
  size_t size_bytes;
  const void *data;  // set by the session before run
};

/// One node of a function, ready to be checked, prepared and run. The session owns it.
struct smr_job {
  const struct smr_op *op;
  const char *name;                  // of the node, for messages
  const struct smr_attr *attrs;      // op->attr_count of them
  struct smr_tensor *const *inputs;  // NULL where an optional input is absent
  struct smr_tensor *const *outputs;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t isa;      // SMR_ISA_* bits that may be used
  uint32_t threads;  // that may share the tiles; 0 and 1: nobody to share with (ops/partition.h)
  bool strict;       // accuracy=strict
  bool bfloat16;     // accuracy=bfloat16: products of float32 may round their operands
  /// Some dim of the node's tensors or attributes is symbolic: prepare may choose another way after
  /// a resize, so SMR_NEED names every part that it could choose.
  bool dims_vary;
  struct smr_parts *parts;  // what the node needs; NULL where nobody asks
  const char *tuned;        // the algorithm that was measured best, up to a newline; or NULL
  samara_error *error;
  void *state;  // funcs->state_bytes, 16-aligned, zeroed when the session is created; prepare fills
                // it
  const struct smr_algorithm *algorithm;  // the row that runs, where the operator has a table
  /* funcs->run, or set by prepare */
  samara_status (*run)(const struct smr_job *job, size_t begin, size_t end, void *thread_scratch);
  /* set by prepare */
  size_t tiles;  // run is called for [0, tiles), split arbitrarily; 0: nothing to do
  /// Ascending tiles, each the first of a phase: it starts when all tiles before it are done. 0
  /// (the session's preset) ends the list. One run call may still span phases, in order.
  size_t barriers[SMR_MAX_BARRIERS];
  /// Behind the last barrier each phase has so many tiles, the last one what is left; 0: one phase.
  size_t phase_tiles;
  size_t scratch_bytes;         // shared by all threads of this node
  size_t thread_scratch_bytes;  // per thread
  const char *kernel;           // static string: what will run, for profiles
  struct smr_choice choice;     // by smr_choose
  smr_work work;                // multiply-adds (ops/choice.h), by smr_choose; 0: few, or not known
  struct smr_derived derived[SMR_MAX_DERIVED];
  /* set by the session before run */
  void *scratch;  // 64-aligned
  struct smr_deadline deadline;
};

enum smr_op_flag {
  SMR_OP_CONTROL = 1,           // lives in session/: if, loop, call, trap, custom
  SMR_OP_STRIDED_OUT = 4,       // accepts outputs whose pixel_stride is not dense
  SMR_OP_INPLACE = 8,           // output 0 may be the same buffer as input 0 when sizes agree
  SMR_OP_SERIAL_PROLOGUE = 16,  // run(begin=0,end=0) is called once, alone, before the tiles
  SMR_OP_TRAINING = 32,         // only training needs it: listed and size-billed apart
  SMR_OP_PACKED_IN = 64,        // accepts a packed layout as input 1
  SMR_OP_COPIES = 128,          // floats of its results are elements of its inputs, bit by bit
  SMR_OP_READS_BITS = 256,      // what bits a float has matters, not its value alone
};
enum { SMR_OP_STRIDED_SHIFT = 16, SMR_OP_STRIDED_LAST = 15 };
/// Flags of a row: a bit per input that may have a pixel_stride which is not dense. The last bit
/// stands for all further inputs.
#define SMR_OP_STRIDED(inputs) ((inputs) << SMR_OP_STRIDED_SHIFT)

/// One row of the kernel table.
struct smr_op {
  const char *name;
  uint16_t code;
  uint8_t min_inputs, max_inputs;  // 255: any number
  uint8_t min_outputs, max_outputs;
  uint16_t attr_count;
  uint16_t attr_first;  // in the attribute descriptor table
  uint16_t shapes;      // smr_op_shapes
  uint32_t flags;
  uint32_t dtypes;     // SMR_DTYPE_* bits of what its tensors may be in this build
  uint8_t check_form;  // which form of the check class this operator has; the class says what it is
  // Both NULL for control operators and for those that this build leaves out.
  samara_status (*check_class)(const struct smr_job *job);
  const struct smr_op_funcs *funcs;
};

/// The hand-written part of a row: each family file exports `smr_op_<name>_funcs` for its
/// operators, ops.c joins it with the generated row. `prepare` is always there.
struct smr_op_funcs {
  samara_status (*check)(const struct smr_job *job);  // NULL: the class says it all
  samara_status (*measure)(
      struct smr_job *job);  // NULL: dims are expressions; else writes outputs[i]->dims
  samara_status (*prepare)(struct smr_job *job);
  samara_status (*pack)(const struct smr_job *job, const struct smr_derived *what,
                        void *out);  // NULL: none
  /// NULL where prepare sets job->run.
  samara_status (*run)(const struct smr_job *job, size_t begin, size_t end, void *thread_scratch);
  union {
    const struct smr_algorithms *algorithms;                // of smr_prepare_algorithm
    samara_status (*float32_prepare)(struct smr_job *job);  // of smr_widen_prepare
  };
  uint32_t state_bytes;  // of job->state; beside more_dtypes it takes no room
  /// SMR_DTYPE_* bits of the dtypes beyond SAMARA_BOOL that inputs and outputs may have. A tensor
  /// of any other of those is refused before the check class sees it: an operator written for the
  /// first eight dtypes is never reached with one that it does not know. What an input takes is for
  /// `check` to say, as ever.
  uint32_t more_dtypes;
};

/// Where the phase ends that tile `begin` is the first of.
static inline size_t smr_phase_end(const struct smr_job *job, size_t begin) {
  for (int i = 0; i < SMR_MAX_BARRIERS; i++)
    if (job->barriers[i] > begin) return job->barriers[i];
  if (job->phase_tiles == 0) return job->tiles;
  const size_t at = (begin - job->barriers[SMR_MAX_BARRIERS - 1]) % job->phase_tiles;
  const size_t left = job->tiles - (begin - at);
  return begin - at + (job->phase_tiles < left ? job->phase_tiles : left);
}

/// In prepare: fails where this build lacks the part, else notes that the node needs it.
#define SMR_NEED(job, name) SMR_NEED_IN((job)->parts, (job)->error, name)

/// The same for tables of kernels by index, whose entries are NULL where the build lacks them: part
/// `FIRST` + index, which the rows of parts.inc have in the table's order.
#define SMR_NEED_KERNEL(job, FIRST, index, kernel)                                                \
  do {                                                                                            \
    if ((kernel) == NULL) return smr_part_missing((job)->error, #FIRST);                          \
    if (SMR_HAS(survey)) smr_parts_add((job)->parts, (size_t)SMR_PART_##FIRST + (size_t)(index)); \
  } while (0)

/// In the prepare of an operator whose node says how it is computed (by its dtype, or the axis), a
/// line for each way: its part, whether this node takes it (`is`), whether the node might with
/// other sizes of its symbolic dims (`may_be`), and a statement that picks what runs. Ways that are
/// to be chosen among, by work or by measurement, are rows of a table instead (ops/algorithm.h).
#define SMR_WAY(job, name, is, may_be, statement)                      \
  do {                                                                 \
    const bool smr_is = (is);                                          \
    if (smr_is || ((job)->dims_vary && (may_be))) SMR_NEED(job, name); \
    if (SMR_HAS(name) && smr_is) statement;                            \
  } while (0)

/// The same where the part is one of a table of kernels, as for SMR_NEED_KERNEL; `has` says whether
/// this build keeps any of them.
#define SMR_WAY_KERNEL(job, has, FIRST, index, kernel, is, may_be, statement) \
  do {                                                                        \
    const bool smr_is = (is);                                                 \
    if (smr_is || ((job)->dims_vary && (may_be)))                             \
      SMR_NEED_KERNEL(job, FIRST, index, (has) ? (kernel) : NULL);            \
    if ((has) && smr_is) statement;                                           \
  } while (0)

/// Prepare a checked job: all that "set by prepare" says, and job->run.
static inline samara_status smr_op_prepare(struct smr_job *job) {
  job->algorithm = NULL;
  job->run = job->op->funcs->run;
  const samara_status status = job->op->funcs->prepare(job);
  assert(status != SAMARA_OK || job->run != NULL);
  return status;
}

/// Number of elements of a checked tensor.
static inline int64_t smr_numel(const struct smr_tensor *t) {
  int64_t n = 1;
  for (uint32_t i = 0; i < t->rank; i++) n *= t->dims[i];
  return n;
}

/// Bytes of one element of a dtype, which is its alignment; 1 for int4 and uint4, of which a byte
/// holds two (smr_packed_bytes); 0 for a code this version does not know.
size_t smr_dtype_bytes(uint8_t dtype);
/// Whether two elements share a byte, the first in its low half.
static inline bool smr_dtype_packed(uint8_t dtype) {
  return dtype == SAMARA_INT4 || dtype == SAMARA_UINT4;
}
/// Bytes of a dense tensor, the dims of which may come from anywhere. False where one is negative,
/// or where with dims of 0 taken for 1, which hide no others, addressing does not reach that far:
/// *bytes is the axis then.
bool smr_dims_bytes(uint8_t dtype, uint32_t rank, const int64_t *dims, size_t *bytes);
/// Bytes that a tensor takes whose elements times smr_dtype_bytes are `bytes`.
static inline size_t smr_packed_bytes(uint8_t dtype, size_t bytes) {
  return smr_dtype_packed(dtype) ? bytes / 2 + bytes % 2 : bytes;
}
/// "float32", ... ; "?" for an unknown code.
const char *smr_dtype_name(uint8_t dtype);

/// All rows of the kernel table, by code.
const struct smr_op *smr_op_rows(size_t *count);
/// The dims of the operator's tensors, as its row states them for the check class `shapes`.
const char *smr_op_shapes(const struct smr_op *op);
/// Whether input `input` may have a pixel stride that is not dense.
bool smr_op_reads_strided(const struct smr_op *op, uint32_t input);

/// Fails where this build leaves the operator out.
samara_status smr_op_expect_built(const struct smr_op *op, samara_error *error);

/// The operator with this code, or NULL.
const struct smr_op *smr_op_find(uint16_t code);

#endif /* SMR_OPS_OP_H_ */
