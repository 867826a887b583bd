/* SPDX-License-Identifier: Apache-2.0 */
/* What is not settled yet. Names and structs here may change between minor versions, unlike those
 * of samara.h, whose rules hold here too (docs/reference/abi.md).
 *
 *   1. tuning             which algorithms nodes take, and choices by measurement
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

/* A way to compute a node. The rows of a node follow each other: the algorithm in use, then the
 * others by rising cost. A node whose operator knows one way only has one row. Strings live as long
 * as the session. */
typedef struct samara_algorithm_row {
  const char *function;
  const char *node;
  const char *op;
  const char *kernel;    /* that runs the node now */
  const char *algorithm; /* NULL where the operator knows one way only */
  double estimate_us;    /* of one thread of a core at 3 GHz; 0 where algorithm is NULL */
  uint32_t rank;         /* 0: the one in use */
  uint32_t tuned; /* 1: a measurement decided (samara_session_options.tuned), else the cost */
} samara_algorithm_row;

/* Which algorithms the session's nodes take and could take: rows of every node for which the CPU
 * has something to run; nodes on devices have none. Writes at most `capacity` rows and sets *count
 * to their number. Between runs, in the session's thread. */
SAMARA_API samara_status samara_session_algorithms(const samara_session *session,
                                                   samara_algorithm_row *rows, size_t capacity,
                                                   size_t *count);
/* The same as text. Deprecated since 0.7, kept until 0.9: use samara_session_algorithms. Writes
 * lines of tab-separated fields, cut to `size` bytes with the terminating zero, and sets *length to
 * the full length. A line per node: function, node, operator, kernel, "cost" or "tuned", and
 * algorithms as "name:us" separated by commas. */
SAMARA_API samara_status samara_session_choices(const samara_session *session, char *text,
                                                size_t size, size_t *length);
/* The first lines of a file of measured choices (samara_session_options.tuned) for this model, with
 * the instruction sets below `isa` (NULL: what samara_isa() says) of this CPU. After them comes a
 * line per node: function, node and algorithm, separated by tabs. Any thread. */
SAMARA_API samara_status samara_tuned_header(const samara_model *model, const char *isa, char *text,
                                             size_t size, size_t *length);

/* ==== 2. Looking inside =========================================================================
 */

/* Where the nodes of samara_session_profile's rows came from, row by row: the author's file (""
 * when the model does not say) and line, and what the model says beside these: the path of the
 * module, or an importer's "node (operator) in module". Writes at most `capacity` of each and sets
 * *count to the number of rows. Strings live as long as the model. */
SAMARA_API samara_status samara_session_profile_sources(const samara_session *session,
                                                        const char **files, uint32_t *lines,
                                                        const char **details, size_t capacity,
                                                        size_t *count);

/* What the session's model needs of a library: the list that selective builds are made from
 * (docs/guides/selective-builds.md). Writes lines of tab-separated fields, cut to `size` bytes with
 * the terminating zero, and sets *length to the full length. A line per node: function, node,
 * operator, state, element types, parts of the runtime, multiply-adds (0: few, or not known),
 * elements of the first output; lists are separated by commas. The first line is the model's own:
 * only its parts are set. States: "prepared"; "view", "placed" (nothing to run); "control";
 * "device": a device runs it, so that what the CPU would need is not known; "unprepared": its dims
 * are not known yet, so its parts are not either. Parts do not depend on the session's instruction
 * sets. Between runs, in the session's thread. */
SAMARA_API samara_status samara_session_needs(const samara_session *session, char *text,
                                              size_t size, size_t *length);

/* What a library must have beside these so that the session's nodes can run on a backend that it
 * brings ("opencl"): names of parts and, with the backend's name in front ("opencl.conv_f32"), of
 * kernels, separated by commas. Written and cut like the list above. SAMARA_NOT_FOUND for another
 * backend, and in libraries that keep no such lists. Between runs, in the session's thread. */
SAMARA_API samara_status samara_session_backend_needs(samara_session *session, const char *backend,
                                                      char *text, size_t size, size_t *length);

/* What a piece of a session's memory is for. */
typedef enum samara_memory_kind {
  SAMARA_MEMORY_TENSOR = 1,   /* a tensor, or several that share bytes, in its function's arena */
  SAMARA_MEMORY_SCRATCH = 2,  /* what a node needs while it runs, there; of `if`, `loop` and `call`
                                 the arena of what they call */
  SAMARA_MEMORY_ARENA = 3,    /* the block that holds the entry function's arena */
  SAMARA_MEMORY_BLOCK = 4,    /* a block of its own: an input, a result, a kept tensor, a chunk */
  SAMARA_MEMORY_VARIABLE = 5, /* a buffer of a variable */
  SAMARA_MEMORY_STRUCTURE = 6 /* what the session needs to know */
} samara_memory_kind;

typedef struct samara_memory_row {
  const char *function; /* "" where it belongs to none */
  const char *name;     /* of a tensor, node, variable, or what it is */
  uint32_t kind;        /* samara_memory_kind */
  uint32_t first, last; /* of tensors and scratch: nodes, counted from 0, between which it lives */
  uint64_t offset;      /* of tensors and scratch, in the arena of the function */
  uint64_t size_bytes;
  uint64_t thread_bytes; /* of scratch: what each thread has of it for itself */
} samara_memory_row;

/* Where a session's bytes are. Tensors and scratch are the plan: pieces of the arena of their
 * function, by the node that makes them; the arena of a function that is called is scratch of the
 * node that calls it, and a growing function has no plan. The rows of the other kinds are what the
 * session got from its allocator, which leaves out memory of devices
 * (samara_backend_report.device_bytes): those of kinds ARENA and BLOCK add up to
 * samara_session_arena_bytes(), all of them to samara_session_total_bytes(). Writes at most
 * `capacity` rows and sets *count to their number. Names live as long as the model.
 * SAMARA_BAD_STATE while inputs have no shapes. Between runs, in the session's thread. */
SAMARA_API samara_status samara_session_memory(const samara_session *session,
                                               samara_memory_row *rows, size_t capacity,
                                               size_t *count);

/* A layout of a constant that some session derived: what a file can bring along instead. */
typedef struct samara_derived_row {
  const void *data;
  uint64_t size_bytes;
  uint32_t constant; /* counted from 0 in the order of the file */
  uint32_t op;       /* code of the operator that reads it */
  uint32_t layout;   /* the operator's own number */
  uint32_t version;  /* of this library's derived layouts */
} samara_derived_row;

/* The layouts that the sessions of a model derived so far, latest first; not those that its file
 * brought. Writes at most `capacity` rows and sets *count to their number. Data live as long as
 * the model. From any thread. */
SAMARA_API samara_status samara_model_derived(const samara_model *model, samara_derived_row *rows,
                                              size_t capacity, size_t *count);

/* An allocator that counts what goes through it: give &meter.allocator to a model, a pool or a
 * session. Of one thread at a time; lives longer than what it was given to. */
typedef struct samara_meter {
  samara_allocator allocator; /* set by samara_meter_start */
  samara_allocator inner;     /* who really allocates */
  uint64_t live_bytes;        /* asked for and not released */
  uint64_t peak_bytes;        /* the most at once */
  uint64_t allocations;       /* calls that succeeded */
} samara_meter;

/* Begin at zero. `inner` is copied; NULL: malloc. */
SAMARA_API void samara_meter_start(samara_meter *meter, const samara_allocator *inner);

/* ==== 3. Single operators =======================================================================
 */

/* What an eager engine, a training loop or a test of one operator needs.
 *
 *   samara_op          one operator prepared for attributes, dtypes, shapes and strides: small,
 *                      immutable, runs any number of times, in any number of threads at once
 *   samara_op_context  where operators run: scratch that grows, a pool, the text of the last
 *                      failure; one thread at a time
 *
 * docs/reference/ops.md lists the operators with their attributes. Spatial ones take channels last
 * (NHWC). Results are those of a session that runs the same operator on computed inputs, and never
 * depend on the number of threads. */
typedef struct samara_op samara_op;
typedef struct samara_op_context samara_op_context;

/* Number of operators this library has. Any thread. */
SAMARA_API size_t samara_op_count(void);
/* Name of operator `index`, NULL beyond the count; a static string. Any thread. */
SAMARA_API const char *samara_op_name(size_t index);

/* What an operand of a prepared operator looks like. One of SAMARA_QINT8 has a scale and a zero
 * point for all of it, or, where `scales` is set, one for each index of an axis. */
typedef struct samara_op_tensor {
  const int64_t *shape;   /* `rank` dims; may be NULL for rank 0 */
  const int64_t *strides; /* in elements, one per axis, 0 and negative ones too; NULL: dense */
  int32_t rank;
  samara_dtype dtype; /* 0: this optional input is absent */
  float scale;        /* SAMARA_QINT8 only, as in samara_tensor */
  int32_t zero_point;
  const float *scales;        /* `quant_count`, instead of `scale`; NULL: one for the tensor */
  const int32_t *zero_points; /* as many; NULL: all are 0 */
  size_t quant_count;         /* the dim of `quant_axis` */
  int32_t quant_axis;         /* counted from 0 */
} samara_op_tensor;

typedef struct samara_op_desc {
  size_t struct_size;
  const char *name;                   /* of the operator; NULL: the one with `code` */
  const samara_attribute *attributes; /* those not listed take their defaults */
  size_t attribute_count;
  const samara_op_tensor *inputs; /* trailing optional ones may be left out */
  size_t input_count;
  const samara_op_tensor *outputs;
  size_t output_count;
  const char *isa;                   /* ceiling list; NULL: what samara_isa() says */
  const samara_allocator *allocator; /* copied; NULL: malloc */
  uint32_t code;
  bool strict_accuracy; /* no reduced-precision or transformed algorithms */
} samara_op_desc;

/* Check an operator's operands and attributes and choose how it will run.
 *
 * An attribute is given as the operator's row says: integers, dims, booleans (0 or 1) and lists of
 * them in `ints`, floats in `floats` (or `ints`), an enum or a dtype by name in `text` or by number
 * in `ints`. An empty list has count 0. SAMARA_BAD_ARGUMENT names an attribute that is unknown, of
 * the wrong kind, given twice, or required and missing; SAMARA_BAD_SHAPE says which operand does
 * not fit. Output shapes are the caller's to know: they must be what the operator gives.
 *
 * Inputs may have any strides. Where the operator does not read them itself, a run copies the input
 * into scratch first. Outputs are dense; operators marked strided_out also take a larger stride of
 * the last axis but one.
 *
 * SAMARA_UNSUPPORTED: operators that run functions, and those whose output shapes depend on data.
 * Quantization parameters must be normal positive scales and int8 zero points, of inputs and
 * outputs.
 *
 * Borrows nothing after the call (shapes, strides, scales, zero points are copied); one allocation.
 * Any thread. On failure `*out` is NULL. */
SAMARA_API samara_status samara_op_create(const samara_op_desc *desc, samara_op **out,
                                          samara_error *error);
/* Must not be called while it runs in another thread. NULL is a no-op. */
SAMARA_API void samara_op_destroy(samara_op *op);
/* The kernel that will run; a static string. Any thread. */
SAMARA_API const char *samara_op_kernel(const samara_op *op);

typedef struct samara_op_context_options {
  size_t struct_size;
  samara_pool *pool;                 /* borrowed until destroy; NULL: one thread */
  const samara_allocator *allocator; /* copied; NULL: malloc */
} samara_op_context_options;

/* Create a context. Options may be NULL. A context belongs to one thread at a time; contexts may
 * share a pool, and one that finds it busy runs inline. On failure `*out` is NULL. */
SAMARA_API samara_status samara_op_context_create(const samara_op_context_options *options,
                                                  samara_op_context **out, samara_error *error);
/* NULL is a no-op. Operators do not depend on the contexts they ran in. */
SAMARA_API void samara_op_context_destroy(samara_op_context *context);

/* Run on `inputs` (NULL where absent) and `outputs`, in the order of the description: the address
 * of each operand's first element (index 0 of every axis), aligned to its element. Read and written
 * during the call only. Operands without elements may be NULL. Output 0 may be the same buffer as
 * input 0, laid out alike, where the operator is marked inplace, and as its documentation says;
 * otherwise no output may overlap another operand.
 *
 * Allocates only when the operator needs more scratch than any before it in this context. On
 * failure samara_op_context_error() says why, and outputs hold anything. */
SAMARA_API samara_status samara_op_run(samara_op_context *context, const samara_op *op,
                                       const void *const *inputs, void *const *outputs);
/* Run `count` operators that do not depend on each other, in any order and side by side over the
 * pool: one call per step of an optimizer. `inputs` and `outputs` list the operands of ops[0], then
 * those of ops[1], and so on. The same operator may be listed many times, with other operands. */
SAMARA_API samara_status samara_op_run_all(samara_op_context *context, size_t count,
                                           const samara_op *const *ops, const void *const *inputs,
                                           void *const *outputs);
/* Create, run and destroy: for an operator that runs once. */
SAMARA_API samara_status samara_op_run_once(samara_op_context *context, const samara_op_desc *desc,
                                            const void *const *inputs, void *const *outputs);

/* Text of the last failure; "" if none. Valid until the next call on the context. */
SAMARA_API const char *samara_op_context_error(const samara_op_context *context);
/* How often operator `index` (of samara_op_name) ran to its end in this context; 0 beyond the
 * count. Any thread, while the context exists. */
SAMARA_API uint64_t samara_op_context_runs(const samara_op_context *context, size_t index);
/* Bytes of scratch the context holds now. */
SAMARA_API size_t samara_op_context_scratch_bytes(const samara_op_context *context);

/* ==== 4. Writing files ==========================================================================
 */

/* The checksum that files hold of every MiB of their segments (docs/reference/format.md), for
 * programs that write files. Any alignment. Any thread. */
SAMARA_API uint64_t samara_checksum(const void *data, size_t size_bytes);

#ifdef __cplusplus
}
#endif

#endif /* SAMARA_SAMARA_EXPERIMENTAL_H_ */
