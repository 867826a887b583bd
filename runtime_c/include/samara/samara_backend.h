/* SPDX-License-Identifier: Apache-2.0 */
/* samara's interface to devices: GPUs, NPUs, DSPs and other processors with their own memory.
 *
 *   1. Using one    open a device, give it to sessions, read what happened
 *   2. Writing one  the ten functions of a backend, and the slice of a model that they work on
 *
 * A session with devices computes on them the nodes that they support. If a device fails, the
 * session repeats the run on the CPU, so the results are correct; samara_session_backend_report()
 * says what happened.
 *
 * A backend needs this header only and is compiled outside of samara: see docs/guides/backends.md,
 * and examples/backend_npu for a complete one.
 */
#ifndef SAMARA_SAMARA_BACKEND_H_
#define SAMARA_SAMARA_BACKEND_H_

#include <samara/samara.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ==== 1. Using a device =========================================================================
 */

/* The ten functions of a backend (part 2). */
typedef struct samara_backend_table samara_backend_table;

/* Options of samara_backend_open. */
typedef struct samara_backend_options {
  size_t struct_size;
  const char *name;    /* "opencl", or "opencl:1" for the second device. With `table` or `library`:
                          NULL or the backend's name */
  const char *library; /* path of a shared library with a backend; NULL: none */
  const samara_backend_table *table; /* a backend of the application, which must outlive the device;
                                        NULL: none */
  const char *cache_folder; /* where to store compiled programs and measured rates; NULL: nowhere */
  const char *rates; /* path of a file of rates (docs/guides/backends.md); NULL: rates are measured
                        when a session needs them */
  const samara_allocator *allocator; /* copied; NULL: malloc. Called from any thread that uses the
                                        device, concurrently */
  samara_log_fn log;                 /* NULL: silent */
  void *log_user;
} samara_backend_options;

/* Speed of a device by kind of work. 0: unknown; samara measures these. */
typedef struct samara_rates {
  uint64_t launch_ns;       /* fixed cost of a node */
  uint64_t wait_ns;         /* fixed cost of a region: to submit it and to wait for it */
  uint64_t copy_ns;         /* fixed cost of a copy */
  uint64_t product_ns;      /* fixed cost of a product or convolution, in addition to launch_ns */
  uint64_t product_float32; /* multiply-adds per millisecond of products and convolutions */
  uint64_t product_float16; /* the same with float16 weights */
  uint64_t product_int8;    /* the same in int8 */
  uint64_t depthwise;       /* multiply-adds per millisecond of depthwise convolutions */
  uint64_t memory;          /* bytes per millisecond read and written by other kernels */
  uint64_t to_device;       /* bytes per millisecond copied from the host */
  uint64_t from_device;     /* bytes per millisecond copied to the host */
} samara_rates;

/* Description of a device. Strings live as long as the device. */
typedef struct samara_device_info {
  size_t struct_size;
  const char *backend; /* "opencl" */
  const char *name;    /* of the device, from its driver */
  const char *driver;  /* version of the driver */
  uint64_t memory_bytes;
  uint32_t compute_units;
  bool shares_memory;                /* the device uses the host's memory */
  samara_rates rates;                /* stated by the backend */
  const samara_backend_table *table; /* functions of the device, so that an application can wrap
                                        them in its own table. Not filled by probe */
} samara_device_info;

/* Open a device of `table` if set, else of `library` if set, else of a backend built into samara.
 * Any number of sessions in any threads may use the device. SAMARA_NOT_FOUND if there is no driver,
 * no such library or no device of that number. SAMARA_UNSUPPORTED if samara cannot use the device
 * or table. Allocates; blocks while the driver starts. On failure `*out` is NULL. */
SAMARA_API samara_status samara_backend_open(const samara_backend_options *options,
                                             samara_backend **out, samara_error *error);
/* Close the device; if sessions still use it, it is closed with the last of them. NULL is a
 * no-op. */
SAMARA_API void samara_backend_close(samara_backend *backend);
/* Describe the device. Any thread. */
SAMARA_API samara_status samara_backend_device(const samara_backend *backend,
                                               samara_device_info *out);

/* Where a node runs. Strings live as long as the session. */
typedef struct samara_placement_row {
  const char *function;
  const char *node;
  const char *op;
  const char *device;    /* "cpu", or the name with which the device was opened, e.g. "opencl:0" */
  const char *reason;    /* why it runs there */
  double cost_us;        /* estimated time on that device; 0: not estimated */
  const char *runner_up; /* the second best device, or NULL */
  double runner_up_us;
  uint32_t region; /* number of the node's region; 0 on the CPU */
} samara_placement_row;

/* List where the nodes of the session run. Writes at most `capacity` rows and sets *count to their
 * number. Between runs, in the session's thread. */
SAMARA_API samara_status samara_session_placement(const samara_session *session,
                                                  samara_placement_row *rows, size_t capacity,
                                                  size_t *count);

/* Counters of the session's devices. Strings live until the next call on the session. */
typedef struct samara_backend_report {
  size_t struct_size;
  bool active;           /* the next run uses a device */
  bool settled;          /* with backend_auto: the choice between CPU and devices is final; takes
                            some runs if devices are tried */
  uint32_t regions;      /* regions that run on devices */
  uint32_t nodes;        /* nodes in these regions */
  uint64_t device_runs;  /* runs that used a device */
  uint64_t repeated;     /* runs that were repeated on the CPU */
  uint64_t device_bytes; /* device memory held by the session, without constants */
  uint64_t checks;       /* nodes that were also computed on the CPU, to compare */
  uint64_t launches;     /* kernels or commands of the last run with devices, if the backend counts
                            them */
  const char *failure;   /* why the CPU took over; "" if it did not */
  uint64_t copies;       /* copies between host and devices, including those of checks */
  uint64_t copied_bytes; /* bytes of these copies */
} samara_backend_report;

/* Read the report. Between runs, in the session's thread. */
SAMARA_API samara_status samara_session_backend_report(const samara_session *session,
                                                       samara_backend_report *out);

/* ==== 2. Writing a backend ======================================================================
 */

/* A backend computes *regions*: consecutive nodes of a model that run as a whole. A region is
 * validated: operators exist, attributes have their types, dims are consistent. It is read-only and
 * owned by the session.
 *
 * A value of the region is a tensor. Constants of the model have `data`. Other tensors live in
 * device memory from `allocate`, at `memory` and `offset_bytes`, which are set once the session has
 * planned for its dims. The session copies values that enter or leave the region.
 *
 * The output of a reshape or identity shares the memory of its input, unless that is a constant:
 * there is nothing to compute. No other output overlaps an input of its node. */

/* Memory layout of a tensor; docs/reference/format.md defines the packed layouts. */
typedef enum samara_layout {
  SAMARA_LAYOUT_PLAIN = 0,  /* dense, row-major */
  SAMARA_LAYOUT_PANEL = 1,  /* weights of products, in panels of 16 output channels */
  SAMARA_LAYOUT_DWPANEL = 2 /* weights of depthwise convolutions */
} samara_layout;

typedef struct samara_region_tensor {
  const char *name;
  samara_dtype dtype;
  int32_t rank;
  int64_t shape[SAMARA_MAX_RANK]; /* current dims; -1 while unknown */
  uint32_t symbolic;              /* bit i: a resize may change axis i */
  samara_layout layout;           /* always PLAIN except for constants */
  size_t size_bytes;          /* current size; for constants the stored size, including packing */
  const float *scales;        /* SAMARA_QINT8: `quant_count` of them, else NULL */
  const int32_t *zero_points; /* `quant_count` of them; NULL: all are 0 */
  uint32_t quant_count;       /* 1: per tensor; else the dim of quant_axis */
  int32_t quant_axis;
  const void *data;            /* constants: valid for the model's lifetime, or if narrowed only
                                  during `load`; else NULL */
  uint64_t panel_stride_bytes; /* packed constants: bytes from one panel to the next */
  uint32_t groups;             /* packed constants: groups of the convolution */
  void *memory;                /* handle from `allocate`, or from `load` for constants; NULL: not
                                  allocated yet, or size_bytes is 0 */
  uint64_t offset_bytes;       /* offset in `memory`, a multiple of the required alignment */
  bool narrowed; /* float32 in the model, float16 here: the session asked for float16 storage and
                    `supports` accepted the node in this form */
  bool used_outside; /* the host or another region also reads it; only set if nodes may be joined
                        (samara_region.joins) */
} samara_region_tensor;

/* An attribute. Integers, booleans, enums (the index of the choice) and dtypes are in `i`, lists of
 * integers in `ints`, floats in `f`, strings in `text`. */
typedef struct samara_region_attribute {
  const char *name;
  int64_t i;
  float f;
  const int64_t *ints;
  const float *floats;
  const char *text;
  uint32_t count; /* of ints or floats, or bytes of text */
  bool symbolic;  /* a resize may change it */
} samara_region_attribute;

/* A node. Attributes are in the order of docs/reference/ops.md and complete, including defaults. */
typedef struct samara_region_node {
  const char *name;
  const char *op; /* docs/reference/ops.md */
  uint32_t code;  /* the operator's number in the file format */
  const samara_region_attribute *attributes;
  uint32_t attribute_count;
  const int32_t *inputs; /* indices of tensors; -1: an absent optional input */
  uint32_t input_count;
  const int32_t *outputs;
  uint32_t output_count;
} samara_region_node;

/* How a node of a region is computed: alone, or joined with others in one step. */
typedef struct samara_region_join {
  uint32_t last; /* last node of the step; the node itself if it is alone */
  uint64_t kind; /* of a step of several nodes: equal if the same code computes them, e.g. a hash of
                    the code */
} samara_region_join;

typedef struct samara_region {
  size_t struct_size;
  const char *function;
  const samara_region_node *nodes;
  uint32_t node_count;
  const samara_region_tensor *tensors;
  uint32_t tensor_count;
  uint64_t
      generation; /* increases when shapes, attributes, memory or offsets change; 0: not planned */
  bool strict;    /* no reduced-precision or transformed algorithms */
  bool separate;  /* compute every node alone: all values are observed */
  /* submit may add the number of kernels or commands that it launched. May be NULL. */
  uint64_t *launches;
  /* By node: the steps to which compile joins nodes. NULL if it must not join nodes: `separate` is
   * set, or the device does not have any_range. Before compile each node is alone. The nodes of a
   * step need not be consecutive. Their inputs stay valid until the last node of the step; only the
   * step may read their outputs before that, and outputs that only the step reads need not be
   * written. */
  samara_region_join *joins;
  const bool *apart; /* by node: must not be joined; set if `joins` is */
} samara_region;

/* Argument of `probe`. */
typedef struct samara_probe {
  size_t struct_size;
  uint32_t index; /* number of the device, from 0 */
  const char *cache_folder;
  samara_allocator allocator;
  samara_log_fn log; /* never NULL */
  void *log_user;
} samara_probe;

/* Requirements on memory of the device. */
typedef struct samara_requirements {
  size_t struct_size;
  size_t alignment_bytes;    /* of tensors in memory: a power of two, at least 4 */
  uint64_t max_memory_bytes; /* of one allocation; 0: no known limit */
  uint32_t constant_layouts; /* bit 1 << samara_layout for each layout that constants may have */
  bool any_range;            /* submit accepts any range of a region's nodes at no extra cost, and
                                computes the steps whose last nodes are in it */
} samara_requirements;

/* A copy between the host and memory of the device. */
typedef struct samara_copy {
  void *memory;
  uint64_t offset_bytes;
  void *host; /* read if to_device is set, else written; valid until the copy is done */
  size_t size_bytes;
  bool to_device;
} samara_copy;

/* Kind of a handle passed to `release`. */
typedef enum samara_handle_kind {
  SAMARA_HANDLE_DEVICE = 1,   /* from probe; released last */
  SAMARA_HANDLE_PROGRAM = 2,  /* from compile */
  SAMARA_HANDLE_CONSTANT = 3, /* from load */
  SAMARA_HANDLE_MEMORY = 4    /* from allocate */
} samara_handle_kind;

#define SAMARA_BACKEND_VERSION 1

/* The functions of a backend. All are required. They may be called from any thread, concurrently,
 * except that calls for one program never overlap. The message that a failing function writes to
 * `error` is for people: the run does not fail, it is repeated on the CPU.
 *
 * Work of copy and submit is done in the order of the calls, whatever their threads. Each call
 * returns a ticket; 0 means that the work is done already. */
struct samara_backend_table {
  size_t struct_size;
  uint32_t version; /* SAMARA_BACKEND_VERSION */
  const char *name; /* as in samara_backend_options.name: letters, digits and _ */

  /* Open device `request->index`; SAMARA_NOT_FOUND if there are fewer devices. Fill all of `info`
   * except `backend`; its struct_size is set. */
  samara_status (*probe)(const samara_probe *request, void **device, samara_device_info *info,
                         samara_error *error);
  /* Whether the device can compute node `node` of `region` for all values of its symbolic dims. The
   * region holds this node only; its tensors have no memory yet. If not, write the reason for
   * people, such as "float64 is not supported", into `reason`. */
  bool (*supports)(void *device, const samara_region *region, uint32_t node, char *reason,
                   size_t reason_size);
  /* Fill `out`; its struct_size is set. */
  void (*requirements)(void *device, samara_requirements *out);
  /* Compile a program for the region that works for all values of its symbolic dims and all offsets
   * of its tensors. Constants are loaded: their `memory` is set. May take long; if sessions do not
   * wait for devices, it is called in a separate thread. `region` does not change during the call
   * and lives as long as the program; compile writes only to region->joins. A region may be
   * compiled several times: each time compile must join the same nodes, except those marked
   * `apart`.
   */
  samara_status (*compile)(void *device, const samara_region *region, void **program,
                           samara_error *error);
  /* Copy a constant of size_bytes > 0 into device memory. Called before compile, once for each
   * constant of a model that regions read; sessions share the handle. If the device reads the
   * host's memory and the constant is not narrowed, it may keep constant->data instead of a
   * copy. */
  samara_status (*load)(void *device, const samara_region_tensor *constant, void **handle,
                        samara_error *error);
  /* Allocate `size_bytes` > 0 bytes of device memory, uninitialised. */
  samara_status (*allocate)(void *device, size_t size_bytes, void **handle, samara_error *error);
  /* Release a handle, after waiting for work that uses it. */
  void (*release)(void *device, samara_handle_kind kind, void *handle);
  /* Begin a copy of size_bytes > 0. */
  samara_status (*copy)(void *device, const samara_copy *copy, uint64_t *ticket,
                        samara_error *error);
  /* Begin to compute nodes [first, first + count) of the region for which `program` was compiled.
   * Its tensors have shapes and memory, which are unchanged while `generation` is. Unless
   * region->separate or requirements.any_range is set, the range is all nodes. SAMARA_BAD_DATA,
   * here or from wait, means invalid data, such as an index out of range: the CPU repeats the run,
   * as after every failure, and reports the error; the device stays in use.
   */
  samara_status (*submit)(void *device, void *program, const samara_region *region, uint32_t first,
                          uint32_t count, uint64_t *ticket, samara_error *error);
  /* Wait until the work of `ticket` and all earlier work is done, or `timeout_ns` have passed; 0:
   * only poll. Set *done. If the work of this or an earlier ticket failed, return its failure. */
  samara_status (*wait)(void *device, uint64_t ticket, uint64_t timeout_ns, bool *done,
                        samara_error *error);
};

/* A shared library with a backend exports this function under this name. */
#define SAMARA_BACKEND_ENTRY "samara_backend_entry"
typedef const samara_backend_table *(*samara_backend_entry_fn)(void);

#ifdef __cplusplus
}
#endif

#endif /* SAMARA_SAMARA_BACKEND_H_ */
