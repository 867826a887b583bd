/* SPDX-License-Identifier: Apache-2.0 */
/* Experimental functions. Unlike in samara.h, names and structs may change between minor versions
 * (docs/reference/abi.md). The rules of samara.h hold here too.
 *
 *   1. tuning             which algorithms nodes use, and choices by measurement
 *   2. looking inside     what a model needs, where its memory is, sources of nodes
 *   3. single operators   without a model, on the caller's buffers
 *   4. writing files      checksums
 */
#ifndef SAMARA_SAMARA_EXPERIMENTAL_H_
#define SAMARA_SAMARA_EXPERIMENTAL_H_

#include <samara/samara.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ==== 1. Tuning =================================================================================
 */

/* An algorithm of a node. The rows of a node are consecutive: the algorithm in use, then the others
 * by increasing cost. A node whose operator has no choice of algorithms has one row. Strings live
 * as long as the session. */
typedef struct samara_algorithm_row {
  const char *function;
  const char *node;
  const char *op;
  const char *kernel;    /* the kernel that runs the node */
  const char *algorithm; /* NULL if the operator has no choice */
  double estimate_us;    /* for one thread at 3 GHz; 0 if algorithm is NULL */
  uint32_t rank;         /* 0: in use */
  uint32_t tuned;        /* 1: chosen by measurement (samara_session_options.tuned), 0: by cost */
} samara_algorithm_row;

/* The algorithms that the session's nodes use and could use. Nodes on devices and nodes that
 * compute nothing have no rows. Writes at most `capacity` rows and sets *count to their number.
 * Between runs, in the session's thread. */
SAMARA_API samara_status samara_session_algorithms(const samara_session *session,
                                                   samara_algorithm_row *rows, size_t capacity,
                                                   size_t *count);
/* The same as text. Deprecated since 0.7, kept until 0.9: use samara_session_algorithms. Writes
 * lines of tab-separated fields, cut to `size` bytes with the terminating zero, and sets *length to
 * the full length. A line per node: function, node, operator, kernel, "cost" or "tuned", and
 * algorithms as "name:us" separated by commas. */
SAMARA_API samara_status samara_session_choices(const samara_session *session, char *text,
                                                size_t size, size_t *length);
/* The header of a file of measured choices (samara_session_options.tuned) for this model and this
 * CPU with the instruction sets up to `isa` (NULL: samara_isa()). It is followed by a line per
 * node: function, node and algorithm, separated by tabs. Any thread. */
SAMARA_API samara_status samara_tuned_header(const samara_model *model, const char *isa, char *text,
                                             size_t size, size_t *length);

/* ==== 2. Looking inside =========================================================================
 */

/* Source locations of the rows of samara_session_profile, in the same order: file ("" if the model
 * has none) and line of the author's code, and details: the path of the module, or "node (operator)
 * in module" from an importer. Writes at most `capacity` of each and sets *count to the number of
 * rows. Strings live as long as the model. */
SAMARA_API samara_status samara_session_profile_sources(const samara_session *session,
                                                        const char **files, uint32_t *lines,
                                                        const char **details, size_t capacity,
                                                        size_t *count);

/* What the session's model needs from a library: the input of selective builds
 * (docs/guides/selective-builds.md). Writes lines of tab-separated fields, truncated to `size`
 * bytes including the terminating zero, and sets *length to the full length. A line per node:
 * function, node, operator, state, element types, parts of the runtime, multiply-adds (0: few or
 * unknown), elements of the first output; lists are separated by commas. The first line is for the
 * model itself and has only parts. States: "prepared"; "view", "placed" (nothing to run);
 * "control"; "device" (runs on a device, so the needs on the CPU are unknown); "unprepared" (its
 * dims, and therefore its parts, are not known yet). Parts do not depend on the session's
 * instruction sets. Between runs, in the session's thread. */
SAMARA_API samara_status samara_session_needs(const samara_session *session, char *text,
                                              size_t size, size_t *length);

/* What a library needs in addition so that the session's nodes can run on a built-in backend
 * ("opencl"): names of parts and of kernels, the latter prefixed with the backend's name
 * ("opencl.conv_f32"), separated by commas. Written and truncated like the list above.
 * SAMARA_NOT_FOUND for another backend, and in libraries without such lists. Between runs, in the
 * session's thread. */
SAMARA_API samara_status samara_session_backend_needs(samara_session *session, const char *backend,
                                                      char *text, size_t size, size_t *length);

/* Purpose of a range of a session's memory. */
typedef enum samara_memory_kind {
  SAMARA_MEMORY_TENSOR = 1,  /* a tensor, or several that share bytes, in its function's arena */
  SAMARA_MEMORY_SCRATCH = 2, /* scratch of a node, in the same arena; of `if`, `loop` and `call`:
                                the frame of the called function */
  SAMARA_MEMORY_ARENA = 3,   /* the allocation that holds the entry function's arena */
  SAMARA_MEMORY_BLOCK = 4,   /* a separate allocation: an input, a result, a kept tensor, a chunk */
  SAMARA_MEMORY_VARIABLE = 5, /* a buffer of a variable */
  SAMARA_MEMORY_STRUCTURE = 6 /* data structures of the session */
} samara_memory_kind;

typedef struct samara_memory_row {
  const char *function; /* "" if it belongs to none */
  const char *name;     /* of a tensor, node or variable, or a description */
  uint32_t kind;        /* samara_memory_kind */
  uint32_t first, last; /* tensors, scratch: first and last node, from 0, that need it */
  uint64_t offset;      /* tensors, scratch: in the arena of the function */
  uint64_t size_bytes;
  uint64_t thread_bytes; /* scratch: the share of each thread */
} samara_memory_row;

/* Where a session's bytes are. Rows of kinds TENSOR and SCRATCH are the plan: ranges in the arena
 * of their function, ordered by the node that produces them. The arena of a called function is
 * scratch of the calling node. A growing function has no plan. Rows of the other kinds are the
 * session's allocations, without memory of devices (samara_backend_report.device_bytes): ARENA and
 * BLOCK add up to samara_session_arena_bytes(), all of them to samara_session_total_bytes(). Writes
 * at most `capacity` rows and sets *count to their number. Names live as long as the model.
 * SAMARA_BAD_STATE while inputs have no shapes. Between runs, in the session's thread. */
SAMARA_API samara_status samara_session_memory(const samara_session *session,
                                               samara_memory_row *rows, size_t capacity,
                                               size_t *count);

/* A layout of a constant that a session derived. A file can store it to save that work. */
typedef struct samara_derived_row {
  const void *data;
  uint64_t size_bytes;
  uint32_t constant; /* index in the order of the file, from 0 */
  uint32_t op;       /* code of the operator that reads it */
  uint32_t layout;   /* number of the layout, defined by the operator */
  uint32_t version;  /* of this library's derived layouts */
} samara_derived_row;

/* The layouts that the sessions of a model have derived, latest first, without those stored in its
 * file. Writes at most `capacity` rows and sets *count to their number. Data lives as long as the
 * model. Any thread. */
SAMARA_API samara_status samara_model_derived(const samara_model *model, samara_derived_row *rows,
                                              size_t capacity, size_t *count);

/* An allocator that counts: pass &meter.allocator to a model, a pool or a session. One thread at a
 * time. It must outlive the objects that use it. */
typedef struct samara_meter {
  samara_allocator allocator; /* set by samara_meter_start */
  samara_allocator inner;     /* the allocator that it calls */
  uint64_t live_bytes;        /* allocated and not released */
  uint64_t peak_bytes;        /* maximum of live_bytes */
  uint64_t allocations;       /* calls that succeeded */
} samara_meter;

/* Set the counters to zero. `inner` is copied; NULL: malloc. */
SAMARA_API void samara_meter_start(samara_meter *meter, const samara_allocator *inner);

/* ==== 3. Single operators =======================================================================
 */

/* For eager engines, training loops and tests of one operator.
 *
 *   samara_op          an operator prepared for attributes, dtypes, shapes and strides: small,
 *                      immutable, may run many times and in several threads at once
 *   samara_op_context  scratch that grows, a pool and the message of the last failure; one thread
 *                      at a time
 *
 * docs/reference/ops.md lists the operators with their attributes. Spatial operators take channels
 * last (NHWC). Results equal those of a session that runs the same operator on computed inputs, and
 * do not depend on the number of threads. */
typedef struct samara_op samara_op;
typedef struct samara_op_context samara_op_context;

/* Number of operators in this library. Any thread. */
SAMARA_API size_t samara_op_count(void);
/* Name of operator `index`, NULL beyond the count; a static string. Any thread. */
SAMARA_API const char *samara_op_name(size_t index);

/* Description of an operand of an operator. A SAMARA_QINT8 operand has one scale and zero point,
 * or, if `scales` is set, one of each per index of an axis. */
typedef struct samara_op_tensor {
  const int64_t *shape;   /* `rank` dims; may be NULL for rank 0 */
  const int64_t *strides; /* in elements, one per axis, may be 0 or negative; NULL: dense */
  int32_t rank;
  samara_dtype dtype; /* 0: this optional input is absent */
  float scale;        /* SAMARA_QINT8 only, as in samara_tensor */
  int32_t zero_point;
  const float *scales;        /* `quant_count` of them, instead of `scale`; NULL: per tensor */
  const int32_t *zero_points; /* `quant_count` of them; NULL: all are 0 */
  size_t quant_count;         /* the dim of `quant_axis` */
  int32_t quant_axis;         /* counted from 0 */
} samara_op_tensor;

typedef struct samara_op_desc {
  size_t struct_size;
  const char *name;                   /* of the operator; NULL: see `code` */
  const samara_attribute *attributes; /* those not listed take their defaults */
  size_t attribute_count;
  const samara_op_tensor *inputs; /* trailing optional ones may be left out */
  size_t input_count;
  const samara_op_tensor *outputs;
  size_t output_count;
  const char *isa;                   /* highest instruction sets allowed; NULL: samara_isa() */
  const samara_allocator *allocator; /* copied; NULL: malloc */
  uint32_t code;
  bool strict_accuracy; /* no reduced-precision or transformed algorithms */
} samara_op_desc;

/* Check an operator's operands and attributes and choose how it will run.
 *
 * Attributes (docs/reference/ops.md): integers, dims, booleans (0 or 1) and lists of them are
 * passed in `ints`, floats in `floats` (or `ints`), an enum or a dtype by name in `text` or by
 * number in `ints`. An empty list has count 0. The message of SAMARA_BAD_ARGUMENT names an
 * attribute that is unknown, of the wrong kind, given twice or missing; that of SAMARA_BAD_SHAPE
 * names the operand that does not fit. The caller must pass the output shapes that the operator
 * gives.
 *
 * Inputs may have any strides. If the operator does not support them, a run first copies the input
 * into scratch. Outputs are dense; operators marked strided_out also support a larger stride of the
 * last axis but one.
 *
 * SAMARA_UNSUPPORTED: operators that call functions, and operators whose output shapes depend on
 * data. Quantization parameters of inputs and outputs must be normal positive scales and int8 zero
 * points.
 *
 * Borrows nothing after the call (shapes, strides, scales and zero points are copied). Makes one
 * allocation. Any thread. On failure `*out` is NULL. */
SAMARA_API samara_status samara_op_create(const samara_op_desc *desc, samara_op **out,
                                          samara_error *error);
/* Must not be called while the operator runs in another thread. NULL is a no-op. */
SAMARA_API void samara_op_destroy(samara_op *op);
/* The kernel that will run; a static string. Any thread. */
SAMARA_API const char *samara_op_kernel(const samara_op *op);

typedef struct samara_op_context_options {
  size_t struct_size;
  samara_pool *pool;                 /* borrowed until destroy; NULL: one thread */
  const samara_allocator *allocator; /* copied; NULL: malloc */
} samara_op_context_options;

/* Create a context. Options may be NULL. A context belongs to one thread at a time. Contexts may
 * share a pool; while it is busy, a context computes in the calling thread alone. On failure `*out`
 * is NULL. */
SAMARA_API samara_status samara_op_context_create(const samara_op_context_options *options,
                                                  samara_op_context **out, samara_error *error);
/* NULL is a no-op. Operators stay valid. */
SAMARA_API void samara_op_context_destroy(samara_op_context *context);

/* Run on `inputs` (NULL if absent) and `outputs`, in the order of the description. Each pointer is
 * the address of the operand's first element (index 0 of every axis), aligned to the element; it is
 * used during the call only. Operands without elements may be NULL. If the operator is marked
 * inplace (docs/reference/ops.md), output 0 may be the same buffer as input 0 with the same layout.
 * Otherwise no output may overlap another operand.
 *
 * Allocates only if the operator needs more scratch than all earlier ones in this context. On
 * failure samara_op_context_error() says why, and the content of outputs is undefined. */
SAMARA_API samara_status samara_op_run(samara_op_context *context, const samara_op *op,
                                       const void *const *inputs, void *const *outputs);
/* Run `count` independent operators in any order and in parallel on the pool, e.g. one call per
 * step of an optimizer. `inputs` and `outputs` list the operands of ops[0], then those of ops[1],
 * and so on. An operator may be listed several times, with different operands. */
SAMARA_API samara_status samara_op_run_all(samara_op_context *context, size_t count,
                                           const samara_op *const *ops, const void *const *inputs,
                                           void *const *outputs);
/* Create, run and destroy an operator. */
SAMARA_API samara_status samara_op_run_once(samara_op_context *context, const samara_op_desc *desc,
                                            const void *const *inputs, void *const *outputs);

/* Text of the last failure; "" if none. Valid until the next call on the context. */
SAMARA_API const char *samara_op_context_error(const samara_op_context *context);
/* How often operator `index` (of samara_op_name) completed in this context; 0 beyond the count. Any
 * thread, while the context exists. */
SAMARA_API uint64_t samara_op_context_runs(const samara_op_context *context, size_t index);
/* Bytes of scratch the context holds now. */
SAMARA_API size_t samara_op_context_scratch_bytes(const samara_op_context *context);

/* ==== 4. Writing files ==========================================================================
 */

/* The checksum that files store for every MiB of their segments (docs/reference/format.md), for
 * programs that write files. Any alignment. Any thread. */
SAMARA_API uint64_t samara_checksum(const void *data, size_t size_bytes);

#ifdef __cplusplus
}
#endif

#endif /* SAMARA_SAMARA_EXPERIMENTAL_H_ */
