/* SPDX-License-Identifier: Apache-2.0 */
/* samara's interface to devices: GPUs, NPUs, DSPs, and whatever else has a memory of its own.
 *
 *   1. Using one    open a device, give it to sessions, read what happened
 *   2. Writing one  the ten functions of a backend, and the slice of a model that they work on
 *
 * A session that has devices computes on them what they support. Where a device fails, in whatever
 * way, the run is repeated on the CPU: its answer is right, and samara_session_backend_report()
 * says what happened.
 *
 * A backend is compiled against this header alone, outside of samara: docs/guides/backends.md, and
 * examples/backend_npu for a complete one.
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

/* What opening a device needs. */
typedef struct samara_backend_options {
  size_t struct_size;
  const char *name;    /* "opencl", or "opencl:1" for the second device. With a table
                          or a library NULL, or the name of the backend in it */
  const char *library; /* path of a shared library that brings a backend; NULL: none */
  const samara_backend_table *table; /* a backend that the program brings; it must outlive the
                                        device. NULL: none */
  const char *cache_folder; /* where compiled programs and measured rates are kept; NULL: nowhere */
  const char *rates; /* path of a file of rates to take as they are (docs/guides/backends.md); NULL:
                        they are measured when a session asks for them */
  const samara_allocator *allocator; /* copied; NULL: malloc. Called from any thread that uses the
                                        device, by several at once */
  samara_log_fn log;                 /* NULL: silent */
  void *log_user;
} samara_backend_options;

/* How fast a device is, by kinds of work. 0: not known. samara measures what a backend does not
 * state. */
typedef struct samara_rates {
  uint64_t launch_ns;  /* what one node costs beside its work */
  uint64_t wait_ns;    /* what a region costs: submitting it and waiting for it */
  uint64_t copy_ns;    /* what a copy costs beside its bytes */
  uint64_t product_ns; /* what a product or convolution costs beside launch_ns, however small */
  uint64_t product_float32; /* multiply-adds per millisecond of products and convolutions */
  uint64_t product_float16; /* the same with float16 weights */
  uint64_t product_int8;    /* the same of int8 */
  uint64_t depthwise;       /* multiply-adds per millisecond of depthwise convolutions */
  uint64_t memory;          /* bytes per millisecond that other kernels read and write */
  uint64_t to_device;       /* bytes per millisecond that are copied from the host */
  uint64_t from_device;     /* and to it */
} samara_rates;

/* What a device is. Strings live as long as the device. */
typedef struct samara_device_info {
  size_t struct_size;
  const char *backend; /* "opencl" */
  const char *name;    /* of the device, as its driver says */
  const char *driver;  /* its version */
  uint64_t memory_bytes;
  uint32_t compute_units;
  bool shares_memory;                /* with the host */
  samara_rates rates;                /* that the backend states */
  const samara_backend_table *table; /* the functions behind the device: a program may open it by a
                                        table of its own that calls them. Not filled by probe */
} samara_device_info;

/* Open a device: of the table, the library, or the backends that this library has, the first of
 * these that is set. The device may be given to any number of sessions, in any threads.
 * SAMARA_NOT_FOUND where there is no such device (no driver, no library of that name, or no device
 * of that number), SAMARA_UNSUPPORTED for a device or table that this library cannot use.
 * Allocates; may take as long as the driver takes to start. On failure `*out` is NULL. */
SAMARA_API samara_status samara_backend_open(const samara_backend_options *options,
                                             samara_backend **out, samara_error *error);
/* Close, or have the last session that was given it close it. NULL is a no-op. */
SAMARA_API void samara_backend_close(samara_backend *backend);
/* What the device is. Any thread. */
SAMARA_API samara_status samara_backend_device(const samara_backend *backend,
                                               samara_device_info *out);

/* Where a node runs. Strings live as long as the session. */
typedef struct samara_placement_row {
  const char *function;
  const char *node;
  const char *op;
  const char *device;    /* "cpu", or the name that the device was opened by, as in "opencl:0" */
  const char *reason;    /* why it runs there */
  double cost_us;        /* what it is estimated to take there; 0: not estimated */
  const char *runner_up; /* the place that was second, or NULL */
  double runner_up_us;
  uint32_t region; /* nodes of one number run as a whole; 0 on the CPU */
} samara_placement_row;

/* Where the nodes of the session run. Writes at most `capacity` rows and sets *count to their
 * number. Between runs, in the session's thread. */
SAMARA_API samara_status samara_session_placement(const samara_session *session,
                                                  samara_placement_row *rows, size_t capacity,
                                                  size_t *count);

/* What the session's devices did. Strings live until the next call on the session. */
typedef struct samara_backend_report {
  size_t struct_size;
  bool active;           /* the next run uses a device */
  bool settled;          /* of backend_auto: what runs where is decided, and will not change; it
                            takes some runs where devices are worth a try */
  uint32_t regions;      /* that run on devices */
  uint32_t nodes;        /* in them */
  uint64_t device_runs;  /* runs that devices took part in */
  uint64_t repeated;     /* runs that were repeated on the CPU */
  uint64_t device_bytes; /* memory that the session holds on devices, without constants */
  uint64_t checks;       /* nodes that were computed on the CPU as well */
  uint64_t launches;     /* of the last run with devices, as far as backends count them */
  const char *failure;   /* why the CPU took over; "" if it did not */
  uint64_t copies;       /* between the host and devices, those of checks included */
  uint64_t copied_bytes; /* in them */
} samara_backend_report;

/* Read it. Between runs, in the session's thread. */
SAMARA_API samara_status samara_session_backend_report(const samara_session *session,
                                                       samara_backend_report *out);

/* ==== 2. Writing a backend ======================================================================
 */

/* What a backend sees of a model is a *region*: nodes that follow each other, which it is to
 * compute as a whole. Everything about it has been verified: operators exist, attributes have
 * their types, dims fit each other. It is read-only, and owned by the session.
 *
 * A value of the region is a tensor. Constants of the model have `data`. The others live in memory
 * of the device that `allocate` made: `memory` and `offset_bytes` say where, as soon as the session
 * has planned for its dims. Values that enter or leave the region are copied by the session.
 *
 * The output of a reshape or identity whose input is no constant lies where that input does: there
 * is nothing to compute. No other output overlaps an input of its node. */

/* How the bytes of a tensor are arranged; docs/reference/format.md defines the packed layouts. */
typedef enum samara_layout {
  SAMARA_LAYOUT_PLAIN = 0,  /* dense, row-major */
  SAMARA_LAYOUT_PANEL = 1,  /* weights of products, in panels of 16 output channels */
  SAMARA_LAYOUT_DWPANEL = 2 /* weights of depthwise convolutions */
} samara_layout;

typedef struct samara_region_tensor {
  const char *name;
  samara_dtype dtype;
  int32_t rank;
  int64_t shape[SAMARA_MAX_RANK]; /* as it is now; -1 while it is not known */
  uint32_t symbolic;              /* a bit for each axis that a resize may change */
  samara_layout layout;           /* anything but PLAIN for constants only */
  size_t size_bytes;              /* as it is now; of constants as stored, packing included */
  const float *scales;            /* SAMARA_QINT8: `quant_count` of them, else NULL */
  const int32_t *zero_points;     /* as many; NULL: all are 0 */
  uint32_t quant_count;           /* 1: of the tensor; else the dim of quant_axis */
  int32_t quant_axis;
  const void *data;            /* of constants, for the model's lifetime; else NULL. Of narrowed
                                  ones in `load` alone, and during that call */
  uint64_t panel_stride_bytes; /* packed constants: bytes from panel to panel */
  uint32_t groups;             /* packed constants: groups of the convolution */
  void *memory;          /* handle of `allocate`, or of `load` for constants; NULL: not yet, or
                            where size_bytes is 0 none at all */
  uint64_t offset_bytes; /* in it; a multiple of the required alignment */
  bool narrowed; /* float32 in the model and float16 here: the session asked for float16 storage,
                    and `supports` took the node in this form */
  bool used_outside; /* the host or another region reads it, too; known where nodes may be
                        joined (samara_region.joins) */
} samara_region_tensor;

/* An attribute. Integers, booleans, enums (the position of the choice) and dtypes stand in `i`,
 * lists of integers in `ints`, floats in `f`, texts in `text`. */
typedef struct samara_region_attribute {
  const char *name;
  int64_t i;
  float f;
  const int64_t *ints;
  const float *floats;
  const char *text;
  uint32_t count; /* of ints, floats, or bytes of text */
  bool symbolic;  /* a resize may change it */
} samara_region_attribute;

/* A node. Attributes stand in the order of docs/reference/ops.md; all are there, defaults included.
 */
typedef struct samara_region_node {
  const char *name;
  const char *op; /* docs/reference/ops.md */
  uint32_t code;  /* the operator's number in the file format */
  const samara_region_attribute *attributes;
  uint32_t attribute_count;
  const int32_t *inputs; /* indices of tensors; -1: an optional one that is absent */
  uint32_t input_count;
  const int32_t *outputs;
  uint32_t output_count;
} samara_region_node;

/* How a node of a region is computed: by itself, or with others in one step. */
typedef struct samara_region_join {
  uint32_t last; /* of the nodes of the step; the node itself where it is alone */
  uint64_t kind; /* of a step of several: equal where the same code computes it, such as a hash of
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
      generation; /* grows when shapes, attributes, memory or offsets changed; 0: not planned */
  bool strict;    /* no algorithm with less precision than the plain one */
  bool separate;  /* compute every node on its own: somebody looks at all values */
  /* submit may add to it how many kernels or commands it launched; NULL: nobody counts. */
  uint64_t *launches;
  /* By node: what compile joins to steps. NULL where it may join nothing: `separate` is set, or the
   * device does not have any_range. Before compile each node is alone. The nodes of a step need not
   * follow each other. What they read stays in its place until the last of them; nothing but a step
   * of them may read what they make before that, and what nobody else reads need not be written. */
  samara_region_join *joins;
  const bool *apart; /* by node: it may not be joined. Set where `joins` is */
} samara_region;

/* What `probe` is asked for. */
typedef struct samara_probe {
  size_t struct_size;
  uint32_t index; /* the device's number, from 0 */
  const char *cache_folder;
  samara_allocator allocator;
  samara_log_fn log; /* never NULL */
  void *log_user;
} samara_probe;

/* What memory of the device must be like. */
typedef struct samara_requirements {
  size_t struct_size;
  size_t alignment_bytes;    /* of tensors in memory: a power of two, at least 4 */
  uint64_t max_memory_bytes; /* of one allocation; 0: no limit known */
  uint32_t constant_layouts; /* a bit 1 << samara_layout for each that constants may have */
  bool any_range;            /* submit takes any range of a region's nodes, at no cost, and computes
                                the steps whose last nodes are in it */
} samara_requirements;

/* A copy between the host and memory of the device. */
typedef struct samara_copy {
  void *memory;
  uint64_t offset_bytes;
  void *host; /* read where to_device is set, else written; stays valid until the copy is done */
  size_t size_bytes;
  bool to_device;
} samara_copy;

/* What a handle given to `release` is. */
typedef enum samara_handle_kind {
  SAMARA_HANDLE_DEVICE = 1,   /* of probe: the last that is released */
  SAMARA_HANDLE_PROGRAM = 2,  /* of compile */
  SAMARA_HANDLE_CONSTANT = 3, /* of load */
  SAMARA_HANDLE_MEMORY = 4    /* of allocate */
} samara_handle_kind;

#define SAMARA_BACKEND_VERSION 1

/* The functions of a backend. All are required, and may be called from any thread, by several at
 * once, but for one program one at a time. What a failing function wrote to `error` is shown to
 * people; it never reaches callers as a failed run, which is repeated on the CPU.
 *
 * Work that copy and submit were given is done in their order, whatever thread gave it. Each
 * returns a ticket; 0 means that the work is done already. */
struct samara_backend_table {
  size_t struct_size;
  uint32_t version; /* SAMARA_BACKEND_VERSION */
  const char *name; /* as in samara_backend_options.name: letters, digits and _ */

  /* Open device `request->index`: SAMARA_NOT_FOUND where there are fewer. Fills `info`, whose
   * struct_size is set, but for `backend`. */
  samara_status (*probe)(const samara_probe *request, void **device, samara_device_info *info,
                         samara_error *error);
  /* Whether the device computes node `node` of `region`, whatever its symbolic dims will be. The
   * region is a slice with this one node; nothing in it has a place yet. If not, write why, for
   * people, into `reason`: a part of a sentence such as "float64 is not supported". */
  bool (*supports)(void *device, const samara_region *region, uint32_t node, char *reason,
                   size_t reason_size);
  /* Fills `out`, whose struct_size is set. */
  void (*requirements)(void *device, samara_requirements *out);
  /* Make what computing the region needs that depends neither on its symbolic dims nor on where its
   * tensors lie. Constants are loaded already: their `memory` is set. May take long; called in a
   * thread of its own where sessions do not wait. `region` stays valid and unchanged during the
   * call, and lives as long as the program; compile writes to region->joins alone. The same region
   * may be compiled several times: each time it must join the same nodes, but those that are apart.
   */
  samara_status (*compile)(void *device, const samara_region *region, void **program,
                           samara_error *error);
  /* Bring a constant of size_bytes > 0 into the device's memory. Called before compile, once for
   * each constant of a model that regions read; sessions share the handle. A device that reads the
   * host's memory may keep constant->data instead of a copy, if the constant is not narrowed. */
  samara_status (*load)(void *device, const samara_region_tensor *constant, void **handle,
                        samara_error *error);
  /* Allocate `size_bytes` > 0 bytes of the device's memory, not initialised. */
  samara_status (*allocate)(void *device, size_t size_bytes, void **handle, samara_error *error);
  /* Give a handle back; waits for work that uses it. */
  void (*release)(void *device, samara_handle_kind kind, void *handle);
  /* Begin a copy of size_bytes > 0. */
  samara_status (*copy)(void *device, const samara_copy *copy, uint64_t *ticket,
                        samara_error *error);
  /* Begin to compute nodes [first, first + count) of the region that `program` was compiled for.
   * Its tensors have shapes and places; as long as generation is the same, so are they. Unless
   * region->separate or requirements.any_range is set, `first` is 0 and `count` all nodes.
   * SAMARA_BAD_DATA, here or from wait, blames the data, such as an index that is out of range: the
   * CPU repeats the run, as after every failure, and says what is wrong; the device stays in use.
   */
  samara_status (*submit)(void *device, void *program, const samara_region *region, uint32_t first,
                          uint32_t count, uint64_t *ticket, samara_error *error);
  /* Wait until the work of `ticket`, and all before it, is done, or `timeout_ns` have passed; 0
   * asks only. Sets *done. A failure of the work, of this or an earlier ticket, is one of wait. */
  samara_status (*wait)(void *device, uint64_t ticket, uint64_t timeout_ns, bool *done,
                        samara_error *error);
};

/* What a shared library that brings a backend exports, under this name. */
#define SAMARA_BACKEND_ENTRY "samara_backend_entry"
typedef const samara_backend_table *(*samara_backend_entry_fn)(void);

#ifdef __cplusplus
}
#endif

#endif /* SAMARA_SAMARA_BACKEND_H_ */
