/* SPDX-License-Identifier: Apache-2.0 */
/* The operator interface: what a session passes to an operator and what it gets back.
 *
 * The steps of a node are
 *
 * - check: verifies that dims and dtypes are consistent, first by the check class, then by the
 *   operator's own function. Runs each time dims change.
 * - measure (optional): computes output dims that depend on data. Runs right before run.
 * - prepare: picks kernels, declares tiles and scratch. Runs each time dims change.
 * - pack (optional): derives another layout of a constant input. Runs once per model.
 * - run: computes tiles [begin, end). Threads call it with disjoint ranges.
 *
 * check trusts nothing in the file and establishes everything that the kernels' addressing relies
 * on; prepare and run trust check. Index *values* are data, so run checks them and returns a
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
  SMR_MAX_DERIVED = 4,   // constant inputs that one operator may derive another layout of
  SMR_MAX_BARRIERS = 2,  // phases of one operator, minus one
};

/// Order of a tensor's elements. The values are part of the file format.
enum smr_layout {
  SMR_LAYOUT_PLAIN = 0,    // row-major
  SMR_LAYOUT_PANEL = 1,    // float [N/16][K][16] per group; int8 [N/16][K/4][16][4] per group
  SMR_LAYOUT_DWPANEL = 2,  // [C/16][taps][16]
};

/// Quantization parameters of one tensor: one pair, or one pair per index of `axis`.
struct smr_quant {
  const float *scales;
  const int32_t *zero_points;
  uint32_t count;
  int32_t axis;  // -1: one pair for the tensor
};

/// A tensor as an operator sees it, with the dims of this run. `data` is NULL during check and
/// prepare unless the tensor is constant.
struct smr_tensor {
  void *data;
  /// Elements between the starts of consecutive rows of the last axis (NHWC pixels); dims[rank-1]
  /// if dense. Other values occur only with operators that carry SMR_OP_STRIDED.
  int64_t pixel_stride;
  size_t size_bytes;              // of the dense tensor (or of the packed constant)
  const struct smr_quant *quant;  // NULL unless quantized
  const char *name;
  int32_t constant;  // index of the model's constant, or -1
  uint8_t dtype;     // samara_dtype
  uint8_t rank;
  uint8_t layout;  // enum smr_layout; anything but PLAIN only for constants
  uint8_t padded;  // 1: a plain constant, readable up to a multiple of 16 elements
  uint8_t open;    // a bit per axis whose dim is symbolic: see smr_job.dims_vary
  int64_t dims[SAMARA_MAX_RANK];
};

/// Whether a dim of axes [first, end) is symbolic, so that a resize may change it.
static inline bool smr_dims_open(const struct smr_tensor *t, uint32_t first, uint32_t end) {
  return SMR_HAS(symbolic) && (t->open & ((1u << end) - (1u << first))) != 0;
}

/// A named value: an attribute of a custom operator, as the file holds it.
struct smr_named {
  const char *name, *text;
  const int64_t *ints;
  const float *floats;
  uint32_t int_count, float_count;
  uint8_t kind;  // enum smr_named_kind
};
enum smr_named_kind { SMR_NAMED_INTS, SMR_NAMED_FLOATS, SMR_NAMED_TEXT, SMR_NAMED_KINDS };

/// A decoded attribute. Its type in the table determines which field holds the value.
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
  bool present;    // written in the file; otherwise this is the default
  bool varies;     // `i` or one of `ints` is symbolic: see smr_job.dims_vary
};

struct smr_job;

/// The deadline of a run: limit_ns after start_ns on the clock of smr_os_now_ns. limit_ns 0: none.
struct smr_deadline {
  uint64_t start_ns, limit_ns;
};

/// A packed or otherwise derived copy of a constant input, made once per model by the operator's
/// pack().
struct smr_derived {
  int32_t input;    // index of the input; -1 ends the list
  uint32_t layout;  // private to the operator; the cache key is (constant, layout)
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
  uint32_t threads;  // threads that may share the tiles; 0 and 1: single-threaded (ops/partition.h)
  bool strict;       // accuracy=strict
  bool bfloat16;     // accuracy=bfloat16: float32 products may round their operands
  bool exact;        // accuracy=exact: float32 results must be those of the exact form
  /// A dim of the node's tensors or attributes is symbolic. prepare may choose another algorithm
  /// after a resize, so SMR_NEED must name every part that it could choose.
  bool dims_vary;
  struct smr_parts *parts;  // collects the parts that the node needs; NULL: not asked for
  const char *tuned;        // the algorithm that was measured fastest, ended by a newline or NUL;
                            // or NULL
  samara_error *error;
  void *state;  // funcs->state_bytes, 16-aligned; zeroed when the session is created, filled by
                // prepare
  const struct smr_algorithm *algorithm;  // the row that runs, if the operator has a table
  /* funcs->run, or set by prepare */
  samara_status (*run)(const struct smr_job *job, size_t begin, size_t end, void *thread_scratch);
  /* set by prepare */
  size_t tiles;  // run is called for disjoint ranges that cover [0, tiles); 0: nothing to do
  /// First tiles of the second and later phases, ascending; 0 (the preset) ends the list. A phase
  /// starts when all tiles before it are done. One run call may span phases, in order.
  size_t barriers[SMR_MAX_BARRIERS];
  /// Tiles per phase after the last barrier; the last phase takes the remainder. 0: one phase.
  size_t phase_tiles;
  size_t scratch_bytes;         // shared by all threads of this node
  size_t thread_scratch_bytes;  // per thread
  const char *kernel;           // static string: what runs, for profiles
  struct smr_choice choice;     // by smr_choose
  smr_work work;                // multiply-adds (ops/choice.h), set by smr_choose; 0: few, or
                                // unknown
  struct smr_derived derived[SMR_MAX_DERIVED];
  /* set by the session before run */
  void *scratch;  // 64-aligned
  struct smr_deadline deadline;
};

enum smr_op_flag {
  SMR_OP_CONTROL = 1,           // implemented in session/: if, loop, call, trap, custom
  SMR_OP_STRIDED_OUT = 4,       // outputs may have a pixel_stride that is not dense
  SMR_OP_INPLACE = 8,           // output 0 may share the buffer of input 0 if sizes agree
  SMR_OP_SERIAL_PROLOGUE = 16,  // run(begin=0,end=0) is called once, alone, before the tiles
  SMR_OP_TRAINING = 32,         // only used in training; listed separately, and its size is counted
                                // separately
  SMR_OP_PACKED_IN = 64,        // input 1 may be in a packed layout
  SMR_OP_COPIES = 128,          // float results are bit-exact copies of input elements
  SMR_OP_READS_BITS = 256,      // depends on the bits of a float, not only on its value
  SMR_OP_SETTLED = 512,         // every float operation is specified: the same bits everywhere
  SMR_OP_EXACT = 1024,  // float32 and float16 have an exact form, chosen if job->exact is set
};
enum { SMR_OP_STRIDED_SHIFT = 16, SMR_OP_STRIDED_LAST = 15 };
/// Flags of a row: one bit per input whose pixel_stride need not be dense. The last bit covers all
/// further inputs.
#define SMR_OP_STRIDED(inputs) ((inputs) << SMR_OP_STRIDED_SHIFT)

/// One row of the op table.
struct smr_op {
  const char *name;
  uint16_t code;
  uint8_t min_inputs, max_inputs;  // 255: any number
  uint8_t min_outputs, max_outputs;
  uint16_t attr_count;
  uint16_t attr_first;  // in the attribute descriptor table
  uint16_t shapes;      // smr_op_shapes
  uint32_t flags;
  uint32_t dtypes;     // SMR_DTYPE_* bits that its tensors may have in this build
  uint8_t check_form;  // selects a variant of the check class, which defines the meaning
  // Both NULL for control operators and for operators that are not in this build.
  samara_status (*check_class)(const struct smr_job *job);
  const struct smr_op_funcs *funcs;
};

/// The hand-written part of a row. Each family file exports `smr_op_<name>_funcs` for its
/// operators; ops.c joins it with the generated row. Only `prepare` is mandatory.
struct smr_op_funcs {
  samara_status (*check)(const struct smr_job *job);  // NULL: the check class suffices
  samara_status (*measure)(
      struct smr_job *job);  // writes outputs[i]->dims; NULL: dims are expressions
  samara_status (*prepare)(struct smr_job *job);
  samara_status (*pack)(const struct smr_job *job, const struct smr_derived *what,
                        void *out);  // NULL: none
  /// NULL if prepare sets job->run.
  samara_status (*run)(const struct smr_job *job, size_t begin, size_t end, void *thread_scratch);
  union {
    const struct smr_algorithms *algorithms;                // read by smr_prepare_algorithm
    samara_status (*float32_prepare)(struct smr_job *job);  // read by smr_widen_prepare
  };
  uint32_t state_bytes;  // of job->state
  /// SMR_DTYPE_* bits of the dtypes beyond SAMARA_BOOL that inputs and outputs may have. Others are
  /// refused before the check class runs, so that an operator written for the first eight dtypes
  /// never sees a newer one. `check` decides which input takes which dtype.
  uint32_t more_dtypes;
  /// A bit per input that may be in a packed layout, besides input 1 of rows with
  /// SMR_OP_PACKED_IN. `check` tests their sizes.
  uint32_t packed_inputs;
};

/// End of the phase that starts at tile `begin`.
static inline size_t smr_phase_end(const struct smr_job *job, size_t begin) {
  for (int i = 0; i < SMR_MAX_BARRIERS; i++)
    if (job->barriers[i] > begin) return job->barriers[i];
  if (job->phase_tiles == 0) return job->tiles;
  const size_t at = (begin - job->barriers[SMR_MAX_BARRIERS - 1]) % job->phase_tiles;
  const size_t left = job->tiles - (begin - at);
  return begin - at + (job->phase_tiles < left ? job->phase_tiles : left);
}

/// In prepare: fail if this build lacks the part, else record that the node needs it.
#define SMR_NEED(job, name) SMR_NEED_IN((job)->parts, (job)->error, name)

/// The same for a kernel from a table, NULL if the build lacks it. `index` counts from the kernel
/// whose part is `FIRST` and may be below it: rows of parts.inc are in the order of the table.
#define SMR_NEED_KERNEL(job, FIRST, index, kernel)                                                \
  do {                                                                                            \
    if ((kernel) == NULL) return smr_part_missing((job)->error, #FIRST);                          \
    if (SMR_HAS(survey)) smr_parts_add((job)->parts, (size_t)SMR_PART_##FIRST + (size_t)(index)); \
  } while (0)

/// For a node whose dtype or axis determines what runs: prepare has one line per way, with its
/// part, whether this node takes it (`is`), whether a resize of symbolic dims may lead to it
/// (`may_be`), and the statement that selects it. If work or measurement decides, use rows of a
/// table instead (ops/algorithm.h).
#define SMR_WAY(job, name, is, may_be, statement)                      \
  do {                                                                 \
    const bool smr_is = (is);                                          \
    if (smr_is || ((job)->dims_vary && (may_be))) SMR_NEED(job, name); \
    if (SMR_HAS(name) && smr_is) statement;                            \
  } while (0)

/// The same for parts of a table of kernels, see SMR_NEED_KERNEL. `has`: whether this build keeps
/// any of them.
#define SMR_WAY_KERNEL(job, has, FIRST, index, kernel, is, may_be, statement) \
  do {                                                                        \
    const bool smr_is = (is);                                                 \
    if (smr_is || ((job)->dims_vary && (may_be)))                             \
      SMR_NEED_KERNEL(job, FIRST, index, (has) ? (kernel) : NULL);            \
    if ((has) && smr_is) statement;                                           \
  } while (0)

/// Fail unless the checked job gives the same bits everywhere: its tensors have no floats, its
/// operator moves elements or has only specified operations, or it has an exact form for them.
samara_status smr_op_expect_exact(const struct smr_job *job);

/// Prepare a checked job: fills the fields marked "set by prepare", and job->run.
static inline samara_status smr_op_prepare(struct smr_job *job) {
  job->algorithm = NULL;
  job->run = job->op->funcs->run;
  if (SMR_HAS(exact) && job->exact) SMR_TRY(smr_op_expect_exact(job));
  const samara_status status = job->op->funcs->prepare(job);
  assert(status != SAMARA_OK || job->run != NULL);
  return status;
}

/// Number of elements. The tensor must be checked.
static inline int64_t smr_numel(const struct smr_tensor *t) {
  int64_t n = 1;
  for (uint32_t i = 0; i < t->rank; i++) n *= t->dims[i];
  return n;
}

/// Bytes of one element, which is also its alignment. 1 for int4 and uint4, which hold two elements
/// per byte (smr_packed_bytes). 0 for an unknown code.
size_t smr_dtype_bytes(uint8_t dtype);
/// Whether two elements share a byte, the first in its low half.
static inline bool smr_dtype_packed(uint8_t dtype) {
  return dtype == SAMARA_INT4 || dtype == SAMARA_UINT4;
}
/// Bytes of a dense tensor with unchecked dims. False if a dim is negative or the size exceeds the
/// address space; *bytes is then the axis at fault. Dims of 0 count as 1 here, so that they cannot
/// hide an excessive dim.
bool smr_dims_bytes(uint8_t dtype, uint32_t rank, const int64_t *dims, size_t *bytes);
/// Bytes of a tensor whose element count times smr_dtype_bytes is `bytes`.
static inline size_t smr_packed_bytes(uint8_t dtype, size_t bytes) {
  return smr_dtype_packed(dtype) ? bytes / 2 + bytes % 2 : bytes;
}
/// "float32", ... ; "?" for an unknown code.
const char *smr_dtype_name(uint8_t dtype);

/// All rows of the op table, by code.
const struct smr_op *smr_op_rows(size_t *count);
/// The dims of the operator's tensors, in the notation of the check class `shapes`.
const char *smr_op_shapes(const struct smr_op *op);
/// Whether input `input` may have a pixel stride that is not dense.
bool smr_op_reads_strided(const struct smr_op *op, uint32_t input);

/// Fails if the operator is not in this build.
samara_status smr_op_expect_built(const struct smr_op *op, samara_error *error);

/// The operator with this code, or NULL.
const struct smr_op *smr_op_find(uint16_t code);

#endif /* SMR_OPS_OP_H_ */
