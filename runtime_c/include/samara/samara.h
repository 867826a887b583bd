/* SPDX-License-Identifier: Apache-2.0 */
/* samara's public C interface: open a model, make a session, run it.
 *
 * In twelve lines, for a model with an input "image" and an output "scores":
 *
 *   #include <samara/samara.h>
 *   #include <stdio.h>
 *
 *   int main(void) {
 *     float image[64] = {0}, scores[10];
 *     const samara_feed in = {"image", image, sizeof image, NULL};
 *     const samara_fetch out = {"scores", scores, sizeof scores};
 *     samara_error error;
 *     samara_model *model = NULL;
 *     samara_session *session = NULL;
 *     if (samara_model_open_path("digits.samara", NULL, &model, &error) ||
 *         samara_session_create(model, NULL, &session, &error)) return puts(error.text), 1;
 *     if (samara_session_run_named(session, &in, 1, &out, 1))
 *       return puts(samara_session_error(session)), 1;
 *     for (int i = 0; i < 10; i++) printf("%g\n", scores[i]);
 *     samara_session_destroy(session), samara_model_close(model);
 *   }
 *
 * What follows, in the order in which one needs it:
 *
 *   1. the simple way     open, run with names, close
 *   2. step by step       other sources of models, what a model holds, shapes, buffers
 *   3. advanced           threads, memory, logs, state, looking inside, custom operators
 *   4. experimental       samara_experimental.h: tuning, memory maps, single operators
 *
 * Rules that hold for every function unless it says otherwise:
 *
 *  - Fallible functions return a samara_status; SAMARA_OK is 0. On failure no output parameter is
 *    touched except a created-object pointer, which becomes NULL.
 *  - Functions that work before their object exists write a message to `error` (may be NULL).
 *    Session functions keep theirs in the session: samara_session_error().
 *  - A samara_model is immutable after open and may be used by any number of threads and sessions.
 *    A samara_session belongs to one thread at a time; samara_session_cancel() alone may be called
 *    from another.
 *  - A library built with SMR_NO_ATOMICS (implied by __STDC_NO_ATOMICS__), for compilers and cores
 *    without <stdatomic.h>, is for one thread: "any thread" below means that one, pools have one
 *    thread, and a model is shared by the sessions of one thread only. Answers are the same bits.
 *  - The library never prints, aborts, exits or installs anything process-wide.
 *  - Option structs start with `struct_size`; set it to sizeof the struct; a zero field means the
 *    default.
 *  - What later versions may change, and what never: docs/reference/abi.md.
 */
#ifndef SAMARA_SAMARA_H_
#define SAMARA_SAMARA_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define SAMARA_API
#elif defined(__GNUC__)
#define SAMARA_API __attribute__((visibility("default")))
#else
#define SAMARA_API
#endif

/* The version of this header; CMake and the Python package take theirs from this line. */
#define SAMARA_VERSION "0.17.0"

/* ==== 1. The simple way: open, run with names, close ============================================
 */

/* Status codes; grouped in decades, pinned for ever. */
#define SAMARA_STATUS_MAP(X)                               \
  X(OK, 0, "success")                                      \
  X(BAD_ARGUMENT, 10, "invalid argument")                  \
  X(BAD_SHAPE, 11, "shape or dtype does not fit")          \
  X(NOT_FOUND, 12, "no such name")                         \
  X(BAD_STATE, 13, "called in the wrong state")            \
  X(BAD_MODEL, 20, "malformed model")                      \
  X(BAD_VERSION, 21, "model needs a newer runtime")        \
  X(BAD_CHECKSUM, 22, "model checksum does not match")     \
  X(SELFTEST_FAILED, 23, "golden outputs do not match")    \
  X(UNSUPPORTED, 30, "not supported here")                 \
  X(OUT_OF_MEMORY, 40, "out of memory")                    \
  X(LIMIT, 41, "a limit of the session was reached")       \
  X(CANCELLED, 42, "cancelled")                            \
  X(IO, 50, "input/output error")                          \
  X(BAD_DATA, 60, "data outside what the operator allows") \
  X(TRAP, 61, "the model reached a trap")                  \
  X(CUSTOM_OP, 62, "a custom operator failed")             \
  X(BACKEND, 70, "a device failed")

typedef enum samara_status {
#define SAMARA_STATUS_ENUM(name, code, text) SAMARA_##name = (code),
  SAMARA_STATUS_MAP(SAMARA_STATUS_ENUM)
#undef SAMARA_STATUS_ENUM
} samara_status;

/* Text of a status code; a static string, "unknown status" for a code this version does not know.
 * Any thread. */
SAMARA_API const char *samara_status_text(samara_status status);

/* Why a call failed: the status it returned, and a text for people. */
typedef struct samara_error {
  samara_status status;
  char text[508]; /* NUL-terminated UTF-8, cut at the end when too long */
} samara_error;

/* A file, opened and verified. */
typedef struct samara_model samara_model;
/* A place to run one function of a model. */
typedef struct samara_session samara_session;
/* Defaults do for most: pass NULL. Section 2 has their fields. */
typedef struct samara_model_options samara_model_options;
typedef struct samara_session_options samara_session_options;

/* Open a model file. The file is mapped, unless `copy` is set: it must not change while the model
 * is open, and a file that shrinks ends the process when a page that is gone is read (SIGBUS).
 * Replace a model by renaming another file to its name, which leaves the open one as it is; where a
 * file may be written to or cut in place, set `copy`. */
SAMARA_API samara_status samara_model_open_path(const char *path,
                                                const samara_model_options *options,
                                                samara_model **out, samara_error *error);
/* Close. No session of the model may be alive. NULL is a no-op. */
SAMARA_API void samara_model_close(samara_model *model);

/* Create a session. Borrows `model` until destroy. Options may be NULL. If all input dims are
 * static or bounded the session is ready to run; otherwise samara_session_resize() comes first.
 * Allocates. Any number per model. */
SAMARA_API samara_status samara_session_create(const samara_model *model,
                                               const samara_session_options *options,
                                               samara_session **out, samara_error *error);
/* NULL is a no-op. Must not be called while a run is going on. */
SAMARA_API void samara_session_destroy(samara_session *session);

/* An input of samara_session_run_named: `size_bytes` bytes at `data`, of any alignment, dense and
 * row-major, which are copied. */
typedef struct samara_feed {
  const char *name;
  const void *data;
  size_t size_bytes;
  const int64_t *shape; /* its dims, as many as the input has; NULL: as they are */
} samara_feed;
/* An output of it: where the values are copied, of any alignment. */
typedef struct samara_fetch {
  const char *name;
  void *data;
  size_t size_bytes; /* of `data`: those of the output */
} samara_fetch;

/* Run on inputs by name, and copy outputs by name. Inputs that are not listed keep their values
 * (zeros at first), outputs that are not listed are read with samara_session_output. Resizes where
 * a feed brings other dims, and allocates for that alone.
 *
 * SAMARA_NOT_FOUND lists the names there are; SAMARA_BAD_SHAPE for bytes that are too many or too
 * few, and for an output whose size depends on data: that one is read with samara_session_output.
 * On failure inputs may have been taken already. */
SAMARA_API samara_status samara_session_run_named(samara_session *session,
                                                  const samara_feed *inputs, size_t input_count,
                                                  const samara_fetch *outputs, size_t output_count);
/* Text of the last failure; "" if none. Valid until the next call on the session. */
SAMARA_API const char *samara_session_error(const samara_session *session);

/* ==== 2. Step by step ===========================================================================
 */

/* ---- tensors ---- */

#define SAMARA_MAX_RANK 8

/* Element types. Codes are those of the file format. */
typedef enum samara_dtype {
  SAMARA_FLOAT32 = 1,
  SAMARA_FLOAT16 = 2,
  SAMARA_INT8 = 3,
  SAMARA_QINT8 = 4, /* int8 with scale and zero point */
  SAMARA_UINT8 = 5,
  SAMARA_INT32 = 6,
  SAMARA_INT64 = 7,
  SAMARA_BOOL = 8, /* one byte, 0 or 1 */
  SAMARA_FLOAT64 = 9,
  SAMARA_BFLOAT16 = 10,
  SAMARA_INT16 = 11,
  SAMARA_UINT16 = 12,
  SAMARA_UINT32 = 13,
  SAMARA_UINT64 = 14,
  SAMARA_INT4 = 15, /* two to a byte, the first in the low half */
  SAMARA_UINT4 = 16
} samara_dtype;

/* A tensor the caller sees. `data` is dense, row-major (last axis fastest), little-endian.
 * From samara_session_output(): valid until the next run, resize or destroy of that session. */
typedef struct samara_tensor {
  void *data;
  size_t size_bytes;
  int64_t shape[SAMARA_MAX_RANK];
  int32_t rank;
  samara_dtype dtype;
  float scale; /* SAMARA_QINT8, per tensor: real = scale * (q - zero_point); else 0 */
  int32_t zero_point;
} samara_tensor;

/* An input or output as the file declares it. Strings live as long as the model. */
typedef struct samara_tensor_info {
  const char *name;
  samara_dtype dtype;
  int32_t rank;                           /* number of dims, 0 for a single element */
  int64_t shape[SAMARA_MAX_RANK];         /* `rank` dims; -1 where one is symbolic */
  const char *dim_names[SAMARA_MAX_RANK]; /* of symbolic dims; NULL where they have none */
  float scale; /* SAMARA_QINT8, per tensor, as in samara_tensor; else 0 */
  int32_t zero_point;
} samara_tensor_info;

/* ---- models: where they come from ---- */

/* Memory from the caller (section 3). */
typedef struct samara_allocator samara_allocator;
typedef enum samara_log_level {
  SAMARA_LOG_ERROR = 1,
  SAMARA_LOG_WARNING = 2,
  SAMARA_LOG_INFO = 3
} samara_log_level;
/* `text` is valid during the call only. Called from the thread that calls the library. */
typedef void (*samara_log_fn)(void *user, samara_log_level level, const char *text);

/* Files of version 0.6 and later hold checksums of every byte. That of the program part (the graph)
 * is compared by every open; those of the data (weights, golden data, the bytes between them) for
 * files of at most SAMARA_VERIFY_BYTES, and whenever asked. Exempt, unless asked, is memory
 * declared `constant`; files older than 0.6 have no checksums of their data.
 * samara_model_verified() says what was done. */
typedef enum samara_verify {
  SAMARA_VERIFY_SMALL = 0, /* the data of files of at most SAMARA_VERIFY_BYTES */
  SAMARA_VERIFY_ALWAYS = 1,
  SAMARA_VERIFY_NEVER = 2
} samara_verify;
#define SAMARA_VERIFY_BYTES 67108864 /* 64 MiB */

struct samara_model_options {
  size_t struct_size;
  const samara_allocator *allocator; /* copied; NULL: malloc */
  samara_log_fn log;                 /* NULL: silent */
  void *log_user;
  bool trust_checksum; /* skip the checksum of the program part (never the verification) */
  bool constant;       /* of memory that nobody can change (const data, flash): the program part is
                          read where it lies, too, instead of being copied before it is verified */
  size_t verify;       /* a samara_verify: when the data is compared with its checksums;
                          trust_checksum is about the program part alone */
  bool copy;           /* read all of the file, or the memory, into memory of the allocator, and
                          leave it alone afterwards */
};

/* Open from memory, which must stay valid and constant until close (`copy`: until the call
 * returns); any alignment from 4 bytes up is right. Weights are read where they lie. Data of 8-byte
 * elements (float64, int64, uint64) is copied with the model's allocator where it is not aligned to
 * them; it is where the image is. size_bytes is that of the file; only `constant` memory may be
 * larger. */
SAMARA_API samara_status samara_model_open_memory(const void *data, size_t size_bytes,
                                                  const samara_model_options *options,
                                                  samara_model **out, samara_error *error);
/* Open `size_bytes` bytes at `offset`, a multiple of 4, of a descriptor (an Android asset); the
 * descriptor may be closed afterwards. size_bytes 0: to the end of the file. SAMARA_UNSUPPORTED
 * where the system has no descriptors. */
SAMARA_API samara_status samara_model_open_fd(int fd, uint64_t offset, uint64_t size_bytes,
                                              const samara_model_options *options,
                                              samara_model **out, samara_error *error);

/* Where samara_model_open_callbacks and samara_session_state_load read. */
typedef struct samara_reader {
  /* Copy `size_bytes` bytes at `offset` to `buffer`; 0 on success. Called only by the function that
   * the reader is given to. */
  int (*read)(void *user, uint64_t offset, void *buffer, size_t size_bytes);
  uint64_t size_bytes; /* of the whole image */
  void *user;
} samara_reader;
/* Open through a callback: everything is read once into memory of the model's allocator. */
SAMARA_API samara_status samara_model_open_callbacks(const samara_reader *reader,
                                                     const samara_model_options *options,
                                                     samara_model **out, samara_error *error);

/* ---- models: whether they are sound ---- */

/* Compare all that the model is made of with the checksums in its file, now. SAMARA_BAD_CHECKSUM
 * names the segment, the MiB in it and a tensor there; SAMARA_NOT_FOUND when the file is older than
 * 0.6 and has no checksums of its data. Reads every byte. Any thread, also while sessions run. */
SAMARA_API samara_status samara_model_verify(const samara_model *model, samara_error *error);

typedef enum samara_verified {
  SAMARA_VERIFIED = 0,              /* every byte matched its checksum */
  SAMARA_NOT_VERIFIED_OLD = 1,      /* the file is older than 0.6: its data has no checksums */
  SAMARA_NOT_VERIFIED_LARGE = 2,    /* more than SAMARA_VERIFY_BYTES, and nobody asked */
  SAMARA_NOT_VERIFIED_CONSTANT = 3, /* memory declared `constant`, and nobody asked */
  SAMARA_NOT_VERIFIED_TRUSTED = 4,  /* SAMARA_VERIFY_NEVER or `trust_checksum` */
  SAMARA_NOT_VERIFIED_DAMAGED = 5   /* samara_model_verify found damage */
} samara_verified;
/* What the last comparison gave: that of open, or of samara_model_verify. Any thread. */
SAMARA_API samara_verified samara_model_verified(const samara_model *model);

/* Run the golden inputs stored in the file and compare the outputs: integers by digest, floats
 * within the stored tolerance. SAMARA_NOT_FOUND if the file has no golden inputs. The message of
 * SAMARA_SELFTEST_FAILED names the function, the output and the difference. */
SAMARA_API samara_status samara_model_selftest(const samara_model *model, samara_error *error);

/* ---- models: functions, inputs, outputs ---- */

/* Functions that a session can run. */
SAMARA_API size_t samara_model_function_count(const samara_model *model);
/* Name of a function, NULL beyond the count. All strings of a model live as long as the model. */
SAMARA_API const char *samara_model_function_name(const samara_model *model, size_t index);
/* Inputs and outputs of a function (NULL: the first), without those bound to variables. */
SAMARA_API size_t samara_model_input_count(const samara_model *model, const char *function);
SAMARA_API size_t samara_model_output_count(const samara_model *model, const char *function);
SAMARA_API samara_status samara_model_input_info(const samara_model *model, const char *function,
                                                 size_t index, samara_tensor_info *out);
SAMARA_API samara_status samara_model_output_info(const samara_model *model, const char *function,
                                                  size_t index, samara_tensor_info *out);
/* True if a dim has no known bound: a run may then allocate. */
SAMARA_API bool samara_model_is_growing(const samara_model *model, const char *function);
/* Metadata of the file: keys, e.g. "labels", with their values. */
SAMARA_API size_t samara_model_metadata_count(const samara_model *model);
SAMARA_API samara_status samara_model_metadata(const samara_model *model, size_t index,
                                               const char **key, const char **value);

/* ---- sessions: options ---- */

/* Threads (section 3). */
typedef struct samara_pool samara_pool;
/* An operator implemented by the application (section 3). */
typedef struct samara_custom_op samara_custom_op;
/* A GPU or other device (samara_backend.h). */
typedef struct samara_backend samara_backend;

/* Whether results of floats are the same bits on every instruction set, compiler and number of
 * threads (docs/reference/numerics.md). Such a session runs on the CPU only and ignores bfloat16
 * and `tuned`; creating it fails with SAMARA_UNSUPPORTED if a node has no exact form. */
typedef enum samara_exactness {
  SAMARA_EXACT_AS_MODEL = 0, /* if the model was exported with accuracy="exact" */
  SAMARA_EXACT_ON = 1,
  SAMARA_EXACT_OFF = 2 /* results within the documented bounds, as fast as possible */
} samara_exactness;

struct samara_session_options {
  size_t struct_size;
  const char *function;              /* NULL: the first of the file */
  samara_pool *pool;                 /* borrowed until destroy; NULL: one thread */
  const samara_allocator *allocator; /* NULL: the model's */
  const char *isa;                   /* highest instruction sets allowed, e.g. "avx2"; NULL:
                                        samara_isa() */
  const char *const *keep;           /* names of tensors to keep readable after a run */
  size_t keep_count;
  bool keep_all;
  bool strict_accuracy;               /* no reduced-precision or transformed algorithms */
  bool profile;                       /* time every node */
  uint64_t max_arena_bytes;           /* 0: no limit */
  uint64_t max_steps;                 /* node executions per run; 0: no limit */
  uint64_t deadline_us;               /* per run, counted from its start; 0: none */
  const samara_custom_op *custom_ops; /* borrowed until destroy */
  size_t custom_op_count;
  samara_log_fn log; /* NULL: the model's */
  void *log_user;
  const char *tuned; /* text of a file of `samara tune`, borrowed until destroy; ignored with a
                        warning if it is for another model, CPU or version */
  bool bfloat16;     /* float32 products with constant weights may round both operands to bfloat16
                        and accumulate in float32. Ignored with strict_accuracy and on CPUs without
                        bfloat16 instructions. `tuned` is ignored with it */
  samara_backend *const *backends; /* devices, in order of preference: a node runs on the first one
                                      that supports it, else on the CPU */
  size_t backend_count;            /* at most 8 */
  bool backend_auto; /* use devices only if they are faster: the session starts on the CPU and tries
                        its devices once they are measured and their programs compiled. It times
                        seven runs on each side and keeps the faster side */
  bool backend_wait; /* with backend_auto: wait for the devices when shapes are set, and time them
                        before the CPU */
  uint64_t backend_check_every; /* every so many runs, a random node of a device is also computed on
                                   the CPU and compared; 0: 256, UINT64_MAX: never */
  bool backend_float16;         /* devices store float32 values as float16 where possible
                                   (docs/guides/backends.md). Ignored on the CPU and with strict_accuracy */
  samara_exactness exact;       /* since 0.16.0 */
};

/* ---- sessions: shapes and inputs ---- */

/* Index of the input or output `name`, for the functions below. The message of SAMARA_NOT_FOUND
 * lists all names. */
SAMARA_API samara_status samara_session_input_index(const samara_session *session, const char *name,
                                                    size_t *index);
SAMARA_API samara_status samara_session_output_index(const samara_session *session,
                                                     const char *name, size_t *index);
/* Set the shapes of the first `count` inputs: `shapes[i]` points at the dims of input i (NULL:
 * unchanged). Allocates only if the plan is larger than every earlier one. On failure the session
 * keeps its previous shapes. */
SAMARA_API samara_status samara_session_resize(samara_session *session,
                                               const int64_t *const *shapes, size_t count);
/* Copy data, of any alignment, into input `index`. size_bytes must match its current shape. */
SAMARA_API samara_status samara_session_set_input(samara_session *session, size_t index,
                                                  const void *data, size_t size_bytes);
/* Borrow the caller's buffer as input `index` for all following runs, until set_input or resize. It
 * must stay valid during runs and is not written. Any alignment is allowed: a run reads the buffer
 * in place if it is aligned to the input's elements, and copies it first otherwise. */
SAMARA_API samara_status samara_session_bind_input(samara_session *session, size_t index,
                                                   const void *data, size_t size_bytes);
/* The input's own buffer, to be filled in place. */
SAMARA_API samara_status samara_session_input(samara_session *session, size_t index,
                                              samara_tensor *out);

/* ---- sessions: runs and outputs ---- */

/* Run. Inputs keep their values between runs. Allocates nothing unless the model is growing. */
SAMARA_API samara_status samara_session_run(samara_session *session);
/* Run once on the caller's buffers. inputs[i] (dense, of the input's current shape) is bound as by
 * bind_input, but for this run only. outputs[i] receives a copy of output i, whose size must be
 * known after resize. A NULL entry or array means the session's own buffers. Any alignment is
 * allowed. */
SAMARA_API samara_status samara_session_run_with(samara_session *session, const void *const *inputs,
                                                 void *const *outputs);
/* Called when a run of samara_session_run_async has ended, in the thread that ran it. `status` is
 * what samara_session_run would have returned. The callback may use the session, read outputs and
 * begin the next run, but must not destroy the session. */
typedef void (*samara_done_fn)(void *user, samara_session *session, samara_status status);
/* Begin a run in the session's own thread and return. Unless this function fails, `done` (may be
 * NULL) is called exactly once. Until then the session is in use: other threads may only call
 * samara_session_cancel and samara_session_wait, and bound input and output memory must stay valid.
 * SAMARA_BAD_STATE during another run of the session. SAMARA_UNSUPPORTED if the system has no
 * threads. The first call allocates and starts the thread; destroy ends it. */
SAMARA_API samara_status samara_session_run_async(samara_session *session, samara_done_fn done,
                                                  void *user);
/* Wait until the run of samara_session_run_async, if any, has ended and `done` has returned. Any
 * thread except the one of the run. */
SAMARA_API void samara_session_wait(samara_session *session);
/* Output `index` of the last run. */
SAMARA_API samara_status samara_session_output(const samara_session *session, size_t index,
                                               samara_tensor *out);
/* Shape of output `index` for the current input shapes, before or after a run. A dim that depends
 * on data is -1 before a run. `data` is NULL. */
SAMARA_API samara_status samara_session_output_shape(const samara_session *session, size_t index,
                                                     samara_tensor *out);
/* Have all following runs compute output `index` directly into the caller's buffer, until another
 * buffer is bound, NULL unbinds it, or resize is called. size_bytes must match the output's current
 * shape (samara_session_output_shape). The buffer must be aligned to the output's elements; 64
 * bytes are fastest. It stays the caller's, and must stay valid until it is unbound or the session
 * is destroyed. It may be read and written between runs; its content is undefined after a failed
 * run. It may be the buffer of an input, which is then copied before it is overwritten, but must
 * not overlap another bound output or memory of this session.
 *
 * The output is instead copied at the end of the run if it is an unchanged input, constant or
 * variable, a value returned as several outputs, or a kept tensor.
 *
 * SAMARA_BAD_SHAPE if the size differs, or depends on data and is unknown. SAMARA_BAD_ARGUMENT if
 * the buffer is misaligned or overlaps. On failure the previous binding stays. Invalidates the
 * results of the last run. Allocates nothing. In the session's thread. */
SAMARA_API samara_status samara_session_bind_output(samara_session *session, size_t index,
                                                    void *data, size_t size_bytes);
/* Ask a run in another thread to stop: it returns SAMARA_CANCELLED at the next node. Any thread.
 * Without a current run the request has no effect; a run of samara_session_run_async is current
 * once that call has returned. Without atomics (above): call it from an interrupt, a signal handler
 * or a callback of the run, but from no other thread. */
SAMARA_API void samara_session_cancel(samara_session *session);
/* Bytes of activations and scratch this session holds now. */
SAMARA_API size_t samara_session_arena_bytes(const samara_session *session);
/* All bytes the session holds from its allocator. */
SAMARA_API size_t samara_session_total_bytes(const samara_session *session);

/* ==== 3. Advanced ===============================================================================
 */

/* ---- the library ---- */

/* SAMARA_VERSION of the header the library was built with; a static string. Any thread. */
SAMARA_API const char *samara_version(void);
/* The content of this library, line by line: version, instruction sets, operators with their
 * element types, and parts. The text is stored verbatim in the library file: tools find it by its
 * first line, "samara-manifest 1", even in a library for another machine. A static string. Any
 * thread. */
SAMARA_API const char *samara_manifest(void);
/* Sizes in bytes of the public structs in the order of the headers (samara_experimental.h last), so
 * that bindings can compare them with their own at load. Copies at most `capacity` sizes to `sizes`
 * (may be NULL) and returns their number. Any thread. */
SAMARA_API size_t samara_abi(size_t *sizes, size_t capacity);
/* The instruction sets this process uses, e.g. "avx2,avx512": those of the CPU, limited by the
 * environment variable SAMARA_ISA. Writes at most `size` bytes including the NUL and returns the
 * full length. Any thread. The first call of this or of samara_session_create asks Linux for the
 * tile registers of CPUs with AMX, for the whole process, unless SAMARA_ISA excludes amx-int8. */
SAMARA_API size_t samara_isa(char *text, size_t size);

/* ---- memory ---- */

/* `allocate` returns memory aligned to at least 64 bytes, or NULL. `release` takes a pointer that
 * `allocate` returned, or NULL. The library calls both only from the thread that calls it. */
struct samara_allocator {
  void *(*allocate)(void *user, size_t size_bytes);
  void (*release)(void *user, void *pointer);
  void *user;
};

/* ---- threads ---- */

typedef struct samara_pool_options {
  size_t struct_size;
  size_t threads; /* including the caller of run; 0: min(4, cores) */
  const samara_allocator *allocator;
  /* Replace the library's own threads. spawn starts `thread(arg)` in a new thread and returns 0 on
   * success; join waits until all of them have returned. Both NULL: the library's own threads. */
  int (*spawn)(void *user, void (*thread)(void *arg), void *arg);
  void (*join)(void *user);
  void *thread_user;
} samara_pool_options;

/* Create threads that sessions may share. If the pool is busy with another session, a session
 * computes in the calling thread alone; so do all sessions in the child of a fork.
 * SAMARA_UNSUPPORTED if the system has no threads. A library without atomics (above) has pools of
 * one thread only. */
SAMARA_API samara_status samara_pool_create(const samara_pool_options *options, samara_pool **out,
                                            samara_error *error);
/* Join the threads and free the pool. Its sessions must have been destroyed. NULL is a no-op. */
SAMARA_API void samara_pool_destroy(samara_pool *pool);
/* Threads of the pool, the caller of run included. */
SAMARA_API size_t samara_pool_threads(const samara_pool *pool);

/* ---- state: variables that live in a session ---- */

/* Variables: their number, names and shapes; read copies a value out of the session, write into it,
 * and reset sets all to the initial values of the file. */
SAMARA_API size_t samara_session_state_count(const samara_session *session);
SAMARA_API const char *samara_session_state_name(const samara_session *session, size_t index);
SAMARA_API samara_status samara_session_state_info(const samara_session *session, const char *name,
                                                   samara_tensor *out);
SAMARA_API samara_status samara_session_state_read(const samara_session *session, const char *name,
                                                   void *buffer, size_t size_bytes);
SAMARA_API samara_status samara_session_state_write(samara_session *session, const char *name,
                                                    const void *data, size_t size_bytes);
SAMARA_API samara_status samara_session_reset(samara_session *session);

/* Where samara_session_state_save writes. */
typedef struct samara_writer {
  size_t struct_size;
  /* Append `size_bytes` bytes to the file; return 0 on success. Called several times, in order,
   * only during the call that takes the writer. */
  int (*write)(void *user, const void *data, size_t size_bytes);
  void *user;
} samara_writer;
/* Write all variables of the session as one safetensors file (docs/guides/checkpoints.md), which
 * Python's samara.load reads. Allocates nothing. Stops with SAMARA_IO when the writer fails. To
 * never leave an incomplete file, write to another name, sync, and rename after SAMARA_OK.
 */
SAMARA_API samara_status samara_session_state_save(const samara_session *session,
                                                   const samara_writer *writer);
/* Set all variables of the session from a safetensors file written by samara_session_state_save, by
 * Python's samara.save (a dict of arrays by name), or by another program. All or none: values
 * change only after the whole file was checked (SAMARA_BAD_MODEL says what is malformed) and read.
 * The file must hold every variable of the session with its dtype and shape (SAMARA_BAD_SHAPE). It
 * may also hold variables of other functions of the model, but nothing else (SAMARA_NOT_FOUND). A
 * quantized variable is stored as its int8 elements. Allocates one temporary block with the
 * session's allocator: the header, some bytes per variable of the model, and the size of the
 * variables that the function only reads. SAMARA_LIMIT if it exceeds max_arena_bytes. SAMARA_IO
 * when the reader fails. */
SAMARA_API samara_status samara_session_state_load(samara_session *session,
                                                   const samara_reader *reader);
/* The same in memory. *needed_bytes is set to the size of the file. A NULL buffer only asks for the
 * size; SAMARA_BAD_ARGUMENT if the buffer is too small. */
SAMARA_API samara_status samara_session_state_save_memory(const samara_session *session,
                                                          void *buffer, size_t capacity,
                                                          size_t *needed_bytes);
SAMARA_API samara_status samara_session_state_load_memory(samara_session *session, const void *data,
                                                          size_t size_bytes);

/* ---- inspection: tensors and times ---- */

/* A kept tensor of the last run, by name. If a node absorbed the tensor by fusion, the message of
 * SAMARA_NOT_FOUND names that node. */
SAMARA_API samara_status samara_session_kept(const samara_session *session, const char *name,
                                             samara_tensor *out);
/* Called after each node with its outputs. Returning nonzero stops the run with SAMARA_CANCELLED.
 */
typedef int (*samara_watch_fn)(void *user, const char *node, const char *const *names,
                               const samara_tensor *tensors, size_t count);
SAMARA_API samara_status samara_session_watch(samara_session *session, samara_watch_fn watch,
                                              void *user);

/* Profile of the last run, one row per executed node. The iterations of a loop add up in the rows
 * of its nodes. Strings live as long as the session. */
typedef struct samara_profile_row {
  const char *node;
  const char *op;
  const char *kernel;
  const char *function;
  uint64_t start_ns; /* of its first execution, from the start of the run */
  uint64_t total_ns;
  uint64_t count;
} samara_profile_row;
/* Copies at most `capacity` rows and sets *count to their number. */
SAMARA_API samara_status samara_session_profile(const samara_session *session,
                                                samara_profile_row *rows, size_t capacity,
                                                size_t *count);
/* The profile as JSON (Chrome trace events). Writes at most `capacity` bytes including the NUL and
 * sets *needed_bytes to the full size. */
SAMARA_API samara_status samara_session_profile_trace(const samara_session *session, char *buffer,
                                                      size_t capacity, size_t *needed_bytes);
/* Switch per-node timing on or off between runs. */
SAMARA_API samara_status samara_session_set_profiling(samara_session *session, bool on);

/* ---- custom operators ---- */

/* An attribute of a node as stored in the file. Exactly one of text, ints and floats is set. */
typedef struct samara_attribute {
  const char *name;
  const char *text;    /* string attribute, else NULL */
  const int64_t *ints; /* integer attribute(s), else NULL */
  const float *floats; /* float attribute(s), else NULL */
  size_t count;        /* of ints or floats */
} samara_attribute;

/* One call of a custom operator. Data of inputs and outputs is aligned to its elements. */
typedef struct samara_custom_call {
  size_t struct_size;
  const samara_tensor *inputs;
  size_t input_count;
  samara_tensor *outputs;
  size_t output_count;
  const samara_attribute *attributes;
  size_t attribute_count;
  void *user;          /* samara_custom_op.user */
  void *scratch;       /* as many bytes as prepare asked for, in `run` only */
  samara_error *error; /* write a message here before returning a failure */
} samara_custom_call;

/* An operator implemented by the application; given to sessions by their options. */
struct samara_custom_op {
  size_t struct_size;
  const char *name; /* "domain::name" */
  /* Return a failure if the operator does not support the dtypes, ranks or dims of the inputs.
   * Output shapes are set for comparison. */
  samara_status (*check)(const samara_custom_call *call);
  /* Optional: if output shapes depend on data, write outputs[i].shape. */
  samara_status (*measure)(samara_custom_call *call);
  /* Optional: bytes of scratch needed for these shapes. */
  samara_status (*prepare)(const samara_custom_call *call, size_t *scratch_bytes);
  samara_status (*run)(const samara_custom_call *call);
  void *user;
};

#ifdef __cplusplus
}
#endif

#endif /* SAMARA_SAMARA_H_ */
