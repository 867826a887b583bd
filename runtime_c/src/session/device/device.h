// SPDX-License-Identifier: Apache-2.0
// Nodes that run on devices: which ones, where their values are, and how they run.
//
// A value is made in one space: 0 is the host, 1 and above are the session's devices. Consecutive
// nodes of one space in a stage form a *region*, which its device computes as a whole. Inputs of a
// region from other spaces are copied to the device before it; its values that the host reads are
// copied to the host after it. Each value is copied once per space.
//
// Frames without regions have no struct smr_frame_devices.
#ifndef SMR_SESSION_DEVICE_DEVICE_H
#define SMR_SESSION_DEVICE_DEVICE_H

#include "session/plan/plan.h"

#include <samara/samara_backend.h>

#include "base/os.h"

enum { SMR_MAX_DEVICES = 8 };  // of a session

struct smr_device_region;

/* ---- device_backend.c: an open device ---- */

/// A constant in a device's memory, shared by the sessions of its model.
struct smr_loaded {
  struct smr_loaded *next;
  const samara_model *model;
  int32_t constant;
  bool float16;    // float16 instead of the model's float32
  uint32_t users;  // number of sessions that use it
  void *handle;
};

/// Whether results of a device were right, by kind of node (operator, dtypes, layout of weights) or
/// by step of several nodes.
enum smr_trust { SMR_TRUST_UNKNOWN, SMR_TRUST_GOOD, SMR_TRUST_BAD };
enum { SMR_TRUST_KEY = 96 };  // bytes of a key, e.g. "conv float32 float32:1 float32"

struct smr_verdict {
  struct smr_verdict *next;
  enum smr_trust trust;
  char key[SMR_TRUST_KEY];
};

/// An open device. The table's functions are called through it.
struct samara_backend {
  const samara_backend_table *table;
  void *device;
  void *library;  // library of the table, closed with the device; or NULL
  samara_allocator allocator;
  samara_device_info info;
  samara_requirements requirements;
  char name[64];             // "opencl:0"
  char *cache, *rates;       // the folder, and the file; NULL: none
  struct smr_os_mutex lock;  // guards the fields below
  uint32_t users;            // the opener and sessions; the last one closes the device
  struct smr_loaded *loaded;
  struct smr_verdict *verdicts;
};

/// Whether this library can use the table: its version, functions and name.
samara_status smr_backend_check(const samara_backend_table *table, samara_error *error);
/// Open device `index` of `table`, which must have been checked.
samara_status smr_backend_create(const samara_backend_table *table, uint32_t index,
                                 const samara_backend_options *options, samara_backend **out,
                                 samara_error *error);
/// Add a user: samara_backend_close must be called once more.
void smr_backend_hold(samara_backend *backend);
/// The handle of a constant of `model` on the device, loaded at the first call. If `tensor` is
/// narrowed, the constant is converted with the instruction sets `isa`. Each call needs one
/// smr_backend_unload.
samara_status smr_backend_load(samara_backend *backend, const samara_model *model, int32_t constant,
                               const samara_region_tensor *tensor, uint32_t isa,
                               struct smr_loaded **out, samara_error *error);
void smr_backend_unload(samara_backend *backend, struct smr_loaded *loaded);

/* ---- trust.c: which results of a device are right ---- */

/// The key of a node.
void smr_trust_key(const struct smr_frame_node *node, char key[SMR_TRUST_KEY]);
/// The key of the step that ends with node `n` of the region's frame.
void smr_trust_step_key(const struct smr_device_region *region, uint32_t n,
                        char key[SMR_TRUST_KEY]);
enum smr_trust smr_trust_of(samara_backend *backend, const char *key);
/// Store a verdict, also in the device's cache folder if it has one. Bad verdicts are final. If
/// memory is exhausted, the verdict is lost.
void smr_trust_note(samara_backend *backend, const char *key, enum smr_trust trust);
/// Read the verdicts for this device and driver from the cache folder; malformed lines are ignored.
void smr_trust_read(samara_backend *backend);
void smr_trust_free(samara_backend *backend);

/* ---- a session's devices ---- */

/// The decision about a node by cost.
struct smr_device_choice {
  uint8_t space, other;  // where it runs, and the second best space
  bool has_other;
  const char *reason;
  double cost_us, other_us;
};

/// Memory of a device that a session holds.
struct smr_device_block {
  struct smr_device_block *next;  // of the session's
  samara_backend *backend;
  void *handle;  // NULL: none yet
  size_t size_bytes;
};

/// How fast host and device are; rates.h.
struct smr_rates;

/// Progress of a session with backend_auto. Slow steps run in a separate thread; the session's
/// thread checks `done` before each run.
enum smr_settling_phase {
  SMR_SETTLING_IDLE,       // shapes are not known yet
  SMR_SETTLING_MEASURING,  // rates of host and devices
  SMR_SETTLING_COMPILING,  // the regions
  SMR_SETTLING_COMPARING,  // runs on the CPU alone and on devices (compare.c)
  SMR_SETTLING_OVER,
};
/// Timed runs, on the CPU or on devices.
struct smr_compared {
  uint32_t runs;
  uint64_t least_ns;
};
struct smr_settling {
  enum smr_settling_phase phase;
  bool wait;  // runs wait until settling is over
  bool threaded;
  struct smr_os_thread thread;
  SMR_ATOMIC(int) done;
  samara_status status;
  samara_error error;
  struct smr_rates *rates;          // by device
  struct smr_compared compared[2];  // runs on the CPU only and on devices, with the same dims
  uint32_t comparing;               // all runs since the comparison began
  uint64_t dims;                    // hash of the dims of the compared runs
  bool lost;                        // runs on devices took longer
};

/// Whether a device may report invalid data: OpenCL kernels that read indices do, and so may other
/// backends.
enum { SMR_DEVICES_BLAME = SMR_HAS(cl_indexed) || !SMR_HAS(backend_opencl) };

/// A session's devices and their state.
struct smr_devices {
  samara_backend **backends;
  uint32_t count;
  bool automatic;    // backend_auto: use devices only if they are faster
  bool float16;      // devices store float32 values as float16 where possible
  bool overflowed;   // float16 could not hold a value: rebuild the devices' frames in float32
  bool looks;        // this run checks all float16 values
  bool active;       // the frames in use have regions
  bool failed;       // a device failed: switch to the CPU
  bool blames_data;  // the failed device reported invalid data
  uint32_t alarms;   // how often the CPU found that data valid
  bool returns;      // the next run returns to the devices
  bool left;         // a device failed, and its frames are still in use because there are no others
  struct smr_device_choice **choices;  // backend_auto: by function and node; NULL: all on the CPU
  struct smr_settling settling;        // backend_auto
  uint64_t check_every;                // runs between checks of a random node; 0: no checks
  struct smr_device_region *checked;   // region of the node that this run checks, or NULL
  uint32_t checked_node;
  uint64_t checks, wrong;         // checked nodes, and how many were wrong
  struct smr_block check;         // copies for checks
  struct smr_block staging;       // the host's floats before they are converted to float16 for a
                                  // device
  struct smr_frames others;       // frames that are not in use: with regions if those in use have
                                  // none, and vice versa
  struct smr_frame *other_entry;  // NULL: there are none
  uint64_t runs, repeated;
  uint64_t launching, launches;  // kernels counted by backends: in this run, in the last one
  uint64_t device_bytes;
  uint64_t copies, copied_bytes;      // between the host and devices
  struct smr_device_region *regions;  // of all frames
  struct smr_resident *residents;     // of the entry frame
  uint32_t turn;                      // which of their two buffers holds the current values: 0 or 1
  struct smr_device_block *blocks;    // that have memory
  samara_error failure;               // why the CPU took over
};

/* ---- of a frame ---- */

/// A value on a device.
struct smr_device_value {
  uint32_t root;         // value whose bytes it shares on the device; itself if none
  uint32_t first, last;  // of a root: first and last node, over all stages, that need it
  uint32_t stage;        // stage whose memory holds it
  bool here;
  bool float16;   // stored as float16
  size_t offset;  // in that memory
};

/// One device as a frame sees it.
struct smr_device_space {
  samara_backend *backend;
  struct smr_device_value *values;  // by value of the frame
  struct smr_device_block *blocks;  // by stage; they grow
};

/// A resident: a variable that stays on a device between runs, because only nodes of that device
/// read and write it. It has two buffers, those of the values `reads` and `root`. A run reads one
/// and writes the other; a successful run swaps them, so a stopped run keeps the old value. Both
/// are in the memory of the first stage, which changes only with new dims.
struct smr_resident {
  struct smr_resident *next;  // of the session's
  uint32_t input;             // input of the entry function that reads the variable
  uint32_t reads;             // the value of that input
  int32_t output;             // output that becomes its next value; -1: none
  int32_t root;               // value whose bytes that output has on the device; -1: none
  uint8_t space;
  bool fresh;  // the buffer holds the current value
};

struct smr_device_region {
  struct smr_device_region *next;  // of the session's
  struct smr_device_region *twin;  // the same nodes for the other turn, if they read or write
                                   // residents; else NULL
  uint32_t turn;                   // value of smr_devices.turn that this region is for
  samara_region region;
  struct smr_frame *frame;
  struct smr_device_space *space;
  uint32_t begin, end;  // nodes of the frame
  void *program;        // NULL: not compiled
  samara_region_tensor *tensors;
  uint32_t *value_of;             // by tensor: value of the frame
  struct smr_loaded **loaded;     // by tensor: constants on the device, NULL of others
  uint32_t *to_device, *to_host;  // tensors copied before and after the region
  uint32_t to_device_count, to_host_count;
  uint64_t ticket;  // of the last computation
  uint64_t copied;  // of the last copy to the device
  // By node: the steps made by the backend (node numbers within the region), and nodes that it must
  // not join. NULL: it must not join any.
  samara_region_join *joins, *tried;  // tried: what compile writes to
  bool *apart;
  bool joined;  // lifetimes of values fit these steps; later steps are the same or fewer
  // All checkable kinds were checked: [0] of steps, [1] of single nodes.
  bool trusted[2];
};

struct smr_frame_devices {
  bool *read;                                       // by value: of smr_region_outside
  struct smr_device_space spaces[SMR_MAX_DEVICES];  // by space - 1
  struct smr_device_region **region_of;             // by node; NULL on the host
};

/* ---- place.c ---- */

/// Whether device `device` of the session computes node `n`, and why or why not.
samara_status smr_device_supports(struct smr_frame *frame, uint32_t n, uint32_t device,
                                  bool *supported, const char **reason);
/// Decide in which space each node of a frame runs, and note where values are made and read.
/// Operands must be built. Does nothing if the session uses no device.
samara_status smr_devices_place(struct smr_frame *frame);

/* ---- device_float16.c: sessions that store float32 values as float16 on devices ---- */

/// Whether a tensor of a region is float32 in the model and float16 there.
static inline bool smr_is_narrowed(const samara_region_tensor *tensor) {
  return SMR_HAS(backends_float16) && tensor->narrowed;
}
/// Whether the float32 operands of a node are float16 on its device.
static inline bool smr_is_float16(const struct smr_frame_node *node) {
  return SMR_HAS(backends_float16) && node->float16;
}

/// Decide for the nodes of a frame that were placed on devices whether their floats are float16
/// there: frame->nodes[n].float16. A node has all its floats in one form, so that a value has one
/// form on a device. A node that keeps float32 therefore forces float32 on nodes that share values
/// with it.
samara_status smr_devices_choose_float16(struct smr_frame *frame);
/// Change the description of a float32 tensor to its float16 form.
void smr_float16_describe(samara_region_tensor *tensor);
/// Write a float32 constant to `out` as described by `tensor`. Finite values stay finite and
/// nonzero values nonzero: magnitudes are clamped to 2^-24..65504.
void smr_float16_constant(uint32_t isa, const struct smr_constant *constant,
                          const samara_region_tensor *tensor, void *out);
/// Round `count` floats of a constant as smr_float16_constant does, and write them to `to` as
/// floats.
void smr_float16_round_weights(uint32_t isa, const void *from, size_t count, void *to);
/// Round `count` floats to float16: to nearest, ties to even; beyond 65504 to infinity.
void smr_float16_narrow(uint32_t isa, const void *from, size_t count, void *to);
/// Convert `count` float16 in the second half of `floats` to floats in place.
void smr_float16_widen(uint32_t isa, void *floats, size_t count);

/* ---- resident.c ---- */

/// Find the variables of an entry frame that stay on devices. All nodes must have been placed.
samara_status smr_residents_find(struct smr_frame *frame);
/// The variable that output `output` of the frame becomes, if it stays on a device; or NULL.
const struct smr_resident *smr_resident_written(const struct smr_frame *frame, uint32_t output);
/// The resident of that device with value `root` as one of its buffers; or NULL.
struct smr_resident *smr_resident_of(const struct smr_frame *frame,
                                     const struct smr_device_space *space, uint32_t root);
/// The value whose buffer holds value `root` for regions of a turn. The two values of a resident
/// swap buffers every turn.
uint32_t smr_resident_place(const struct smr_frame *frame, const struct smr_device_space *space,
                            uint32_t root, uint32_t turn);
/// Begin to copy the value of a resident to or from the device: the current value, or if `next` is
/// set the one that the last run wrote.
samara_status smr_resident_copy(const struct smr_frame *frame, const struct smr_resident *resident,
                                bool next, void *host, bool to_device, uint64_t *ticket);
/// Wait until the last run has written all variables.
samara_status smr_residents_wait(const struct smr_frame *frame);
/// Make the values that the last run wrote the current ones.
void smr_residents_turn(struct smr_frame *frame);

/* ---- slice.c ---- */

/// Describe the nodes [begin, end) of a frame as a region: `out->region`, `tensors`, `value_of`.
samara_status smr_region_describe(struct smr_frame *frame, uint32_t begin, uint32_t end,
                                  struct smr_device_region *out);
/// Note which of the region's values are read outside of it. `read`: scratch with one element per
/// value of the frame.
void smr_region_outside(struct smr_device_region *region, bool *read);
/// Update the shapes and attributes that have become known.
void smr_region_refresh(struct smr_device_region *region);

/* ---- region.c ---- */

/// Whether the output of a node on a device is a view of its input, so that there is nothing to
/// compute. Never for a constant.
bool smr_region_is_view(const struct smr_frame *frame, const struct smr_node *node);

/// The last node of the step to which node `n` of the region's frame belongs, in the last
/// compilation.
static inline uint32_t smr_region_last(const struct smr_device_region *region, uint32_t n) {
  return !SMR_HAS(backends_steps) || region->joins == NULL || region->region.separate
             ? n
             : region->begin + region->joins[n - region->begin].last;
}

/// Whether all kinds of the region, as last compiled, have been checked.
static inline bool *smr_region_trusted(struct smr_device_region *region) {
  return &region->trusted[region->joins == NULL || region->region.separate];
}

/// Make the regions of a frame. All its nodes must be built.
samara_status smr_devices_build(struct smr_frame *frame);
/// Load the constants of all regions and compile the regions. Accesses nothing else of the session,
/// so another thread may do it.
samara_status smr_devices_compile(const struct smr_devices *devices, const samara_model *model,
                                  samara_error *error);
/// Compile one region whose constants are loaded. The first compilation sets the lifetimes of
/// values.
samara_status smr_region_compile(struct smr_device_region *region, samara_error *error);
/// Release everything that the session holds on devices, except the devices themselves.
void smr_devices_release(struct smr_devices *devices);
/// Write to `error` that a device failed at `what`, and why. Returns `status`.
samara_status smr_device_error(const samara_backend *backend, const char *what,
                               samara_status status, const samara_error *why, samara_error *error);
/// Note that a device failed at `what`, so that the session continues without it. Returns `status`.
samara_status smr_device_fail(struct smr_common *common, const samara_backend *backend,
                              const char *what, samara_status status, const samara_error *why);

/* ---- device_stage.c ---- */

/// Plan the devices' memory of a stage whose dims are known, and set the addresses of its regions'
/// tensors.
samara_status smr_devices_stage(struct smr_frame *frame, uint32_t stage);

/* ---- device_run.c ---- */

/// Wait until the work of a ticket is done. The work may access host memory, so neither a deadline
/// nor a cancel request ends the wait early.
samara_status smr_device_wait(struct smr_common *common, const samara_backend *backend,
                              uint64_t ticket);
/// Begin a copy. *ticket becomes the copy's ticket if that is later.
samara_status smr_device_copy(struct smr_common *common, const samara_backend *backend,
                              const samara_copy *copy, uint64_t *ticket);

/// The region that begins at node `n` of a frame; NULL if the host runs the node.
struct smr_device_region *smr_region_at(const struct smr_frame *frame, uint32_t n);
/// Begin to copy the region's inputs to the device. The host must not access them until
/// smr_region_end, or until a function of the region fails. Recompiles the region if `separate`
/// differs from the last compilation: nodes one by one, or as a whole.
samara_status smr_region_begin(struct smr_device_region *region, bool separate);
/// Compute nodes [first, first + count) of the region.
samara_status smr_region_compute(struct smr_device_region *region, uint32_t first, uint32_t count);
/// Wait for the last computation.
samara_status smr_region_wait(struct smr_device_region *region);
/// Copy the values that the host reads, and wait for all copies.
samara_status smr_region_end(struct smr_device_region *region);
/// Copy all outputs of node `n` of the frame to the host, for observers.
samara_status smr_region_show(struct smr_device_region *region, uint32_t n);
/// Copy tensor `index` of the region to `host`, and wait.
samara_status smr_region_fetch(struct smr_device_region *region, uint32_t index, void *host);

#endif
