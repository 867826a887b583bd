// SPDX-License-Identifier: Apache-2.0
// Inside the imaginary NPU: its device, its memory, its queue, and the commands that it executes.
#ifndef NPU_H
#define NPU_H

#include <samara/samara_backend.h>

#include <pthread.h>

enum {
  NPU_ALIGNMENT = 256,  // of all blocks in its memory
  NPU_HANDLES = 4096,   // blocks at once; below the first address that a process may map
  NPU_QUEUE = 64,       // waiting jobs
  NPU_PANEL = 16,       // output channels that are computed together, as in weight panels
  NPU_AXES = 3,         // spatial axes, padded with leading axes of size 1
  NPU_INPUTS = 3,       // of a node
};
#define NPU_MEMORY_BYTES (UINT64_C(1) << 30)
#define NPU_ALLOCATION_BYTES (UINT64_C(256) << 20)  // of one allocation

// ---- commands: what the worker executes ----

struct npu_command;

/// An operator's functions. The first three run in the thread that calls the backend.
struct npu_op {
  const char *name;
  bool in_place;  // whether its output may be its first input
  /// Whether the NPU can compute the node for any values of its symbolic dims.
  bool (*supports)(const samara_region *region, const samara_region_node *node, char *reason,
                   size_t reason_size);
  /// Set fields that depend neither on symbolic dims nor on addresses.
  void (*compile)(const samara_region *region, const samara_region_node *node,
                  struct npu_command *command);
  /// Set fields that depend on dims. Addresses are set already.
  void (*place)(const samara_region *region, const samara_region_node *node,
                struct npu_command *command);
  /// Compute, in the worker. It reads only the command and the NPU's memory.
  void (*run)(const struct npu_command *command);
};

/// A window that slides over NHWC pictures.
struct npu_window {
  int64_t batch, in_channels, out_channels;
  int64_t in[NPU_AXES], out[NPU_AXES], kernel[NPU_AXES], stride[NPU_AXES], dilation[NPU_AXES];
  int64_t before[NPU_AXES], after[NPU_AXES];  // padding
};

/// The last step of every integer operator: q = round(clamp(p, lo - z, hi - z)) + z.
struct npu_output {
  float scale;
  int32_t zero_point, lo, hi;
};

/// A node, ready to run.
struct npu_command {
  const struct npu_op *op;
  const void *in[NPU_INPUTS];  // addresses in the NPU's memory; NULL: absent or empty
  void *out;
  size_t out_bytes;
  int32_t in_zero[2];
  struct npu_output output;
  struct npu_window window;
  // qconv
  float *multiplier;     // per output channel
  int32_t *weight_zero;  // per output channel
  int64_t groups;
  samara_layout layout;   // of the weights
  uint64_t panel_stride;  // bytes
  bool to_int32;
  // qadd
  int32_t factor[2];
  int32_t rank;
  int64_t dims[SAMARA_MAX_RANK];
  int64_t step[2][SAMARA_MAX_RANK];  // stride of each axis in elements; 0: broadcast
  // qadd, requantize, qavg_pool
  float ratio;
  bool counts_padding;
};

/// The operator with this name; NULL if the NPU does not have it.
const struct npu_op *npu_find_op(const char *name);
extern const struct npu_op npu_op_qconv;

// ---- shared by operators: npu_ops.c ----

const samara_region_tensor *npu_input(const samara_region *region, const samara_region_node *node,
                                      uint32_t index);  // NULL: absent
const samara_region_tensor *npu_output(const samara_region *region, const samara_region_node *node);
/// The attribute with this name. Nodes have all attributes of docs/reference/ops.md.
const samara_region_attribute *npu_attribute(const samara_region_node *node, const char *name);
/// Write why a node is refused. Returns false.
bool npu_refuse(char *reason, size_t reason_size, const char *text);
int32_t npu_zero_point(const samara_region_tensor *tensor);
/// Scale, zero point and limits from the node's attributes.
struct npu_output npu_output_of(const samara_region_node *node);
/// The window of a node over `x`. `kernel` has its sizes.
void npu_set_window(const samara_region_node *node, const samara_region_tensor *x,
                    const samara_region_tensor *y, const int64_t *kernel,
                    struct npu_window *window);
/// Whether x of a window operator is an image with 1 to 3 spatial axes and one scale.
bool npu_is_picture(const samara_region_tensor *x, char *reason, size_t reason_size);
int8_t npu_requantize(float p, const struct npu_output *output);

// ---- memory: npu_memory.c ----

/// A block of the NPU's memory. The host has only its number.
struct npu_memory {
  unsigned char *bytes;  // NULL: the number is free
  size_t size;
};

// ---- the queue: npu_queue.c ----

struct npu_program;

struct npu_job {
  struct npu_program *program;  // NULL: a copy
  uint32_t first, count;
  void *to;
  const void *from;
  size_t size_bytes;
};

struct npu_device {
  samara_allocator allocator;  // for structures on the host; used with `lock` held
  pthread_mutex_t lock;        // protects all following fields
  pthread_cond_t begin;        // signalled when a job is queued, or the device closes
  pthread_cond_t end;          // signalled when a job is done
  pthread_t worker;
  bool closing;
  struct npu_memory memories[NPU_HANDLES];
  uint64_t used_bytes;
  struct npu_job jobs[NPU_QUEUE];  // ticket t is jobs[t % NPU_QUEUE]
  uint64_t queued, finished;       // tickets
  uint64_t fail_at;                // for tests: the ticket that fails; 0: none
  uint64_t lost_at;                // the ticket at which the device was lost; 0: it works
};

/// A compiled region.
struct npu_program {
  uint64_t generation;   // of the addresses in the commands; 0: not set yet
  uint64_t last_ticket;  // the last one that uses the commands
  uint32_t count;
  struct npu_command commands[];
};

/// Start the worker. Returns false if no thread could be started.
bool npu_queue_start(struct npu_device *device);
/// Let the worker finish its jobs, then end it.
void npu_queue_stop(struct npu_device *device);
/// Queue a job and return its ticket. Waits while the queue is full.
uint64_t npu_queue_push(struct npu_device *device, const struct npu_job *job);
/// Wait for a ticket as the backend's `wait` does. Returns whether it is done.
bool npu_queue_wait(struct npu_device *device, uint64_t ticket, uint64_t timeout_ns);

/// Zeroed memory for a structure on the host; NULL if there is none.
void *npu_host_allocate(struct npu_device *device, size_t size_bytes);
void npu_host_release(struct npu_device *device, void *pointer);

samara_status npu_memory_allocate(struct npu_device *device, size_t size_bytes, void **handle,
                                  samara_error *error);
void npu_memory_release(struct npu_device *device, void *handle);
/// The address of [offset, offset + size) in a block; NULL and an error text if it is not inside.
unsigned char *npu_memory_at(struct npu_device *device, void *handle, uint64_t offset_bytes,
                             size_t size_bytes, samara_error *error);

/// Write a text into `error`, which may be NULL; returns the status.
samara_status npu_fail(samara_error *error, samara_status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

#endif
