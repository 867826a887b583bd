// SPDX-License-Identifier: Apache-2.0
// Nodes that run on devices: which ones, where their values lie there, and how they are run.
//
// A value is made in one space: 0 is the host, 1 and up are the session's devices. Nodes of one
// space that follow each other in a stage are a *region*, which its device computes as a whole.
// What a region reads from elsewhere is copied to the device before it, and what the host reads of
// it is copied to the host after it. A copy is made once for each value and space.
//
// Frames without regions have no struct smr_frame_devices, and pay nothing.
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
  bool float16;    // in the place of the model's float32
  uint32_t users;  // sessions
  void *handle;
};

/// What is known of the answers that a device gave to nodes of one kind (operator, dtypes, layout
/// of weights), or to steps of several nodes.
enum smr_trust { SMR_TRUST_UNKNOWN, SMR_TRUST_GOOD, SMR_TRUST_BAD };
enum { SMR_TRUST_KEY = 96 };  // bytes of a key, as in "conv float32 float32:1 float32"

struct smr_verdict {
  struct smr_verdict *next;
  enum smr_trust trust;
  char key[SMR_TRUST_KEY];
};

/// An open device. The table's functions are called through it.
struct samara_backend {
  const samara_backend_table *table;
  void *device;
  void *library;  // that the table lies in, closed with the device; or NULL
  samara_allocator allocator;
  samara_device_info info;
  samara_requirements requirements;
  char name[64];             // "opencl:0"
  char *cache, *rates;       // the folder, and the file; NULL: none
  struct smr_os_mutex lock;  // of what follows
  uint32_t users;            // who opened it, and sessions; the last one closes it
  struct smr_loaded *loaded;
  struct smr_verdict *verdicts;
};

/// Whether this library can use the table: its version, functions and name.
samara_status smr_backend_check(const samara_backend_table *table, samara_error *error);
/// Open device `index` of `table`, which was checked.
samara_status smr_backend_create(const samara_backend_table *table, uint32_t index,
                                 const samara_backend_options *options, samara_backend **out,
                                 samara_error *error);
/// Keep the device open until samara_backend_close is called once more.
void smr_backend_hold(samara_backend *backend);
/// The handle of a constant of `model` on the device, loaded the first time. Where `tensor` is
/// narrowed, it is converted for that; `isa` may be used. Released by smr_backend_unload, once for
/// each call.
samara_status smr_backend_load(samara_backend *backend, const samara_model *model, int32_t constant,
                               const samara_region_tensor *tensor, uint32_t isa,
                               struct smr_loaded **out, samara_error *error);
void smr_backend_unload(samara_backend *backend, struct smr_loaded *loaded);

/* ---- trust.c: which of its answers are right ---- */

/// The key of a node.
void smr_trust_key(const struct smr_frame_node *node, char key[SMR_TRUST_KEY]);
/// The key of the step that ends with node `n` of the region's frame.
void smr_trust_step_key(const struct smr_device_region *region, uint32_t n,
                        char key[SMR_TRUST_KEY]);
enum smr_trust smr_trust_of(samara_backend *backend, const char *key);
/// Note a verdict, and write it to the device's cache folder if it has one: bad ones stay. Without
/// memory it is forgotten.
void smr_trust_note(samara_backend *backend, const char *key, enum smr_trust trust);
/// Read what the cache folder has of this device and driver; anything malformed is ignored.
void smr_trust_read(samara_backend *backend);
void smr_trust_free(samara_backend *backend);

/* ---- a session's devices ---- */

/// What was decided about a node by cost.
struct smr_device_choice {
  uint8_t space, other;  // where it runs, and the place that was second
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

/// How far a session is that goes over to its devices by itself. What takes long is done by a
/// thread of its own; the session's looks at `done` before each run.
enum smr_settling_phase {
  SMR_SETTLING_IDLE,       // shapes are not known yet
  SMR_SETTLING_MEASURING,  // rates of host and devices
  SMR_SETTLING_COMPILING,  // the regions
  SMR_SETTLING_COMPARING,  // runs on the CPU alone and on devices (compare.c)
  SMR_SETTLING_OVER,
};
/// Runs of one kind that were timed.
struct smr_compared {
  uint32_t runs;
  uint64_t least_ns;
};
struct smr_settling {
  enum smr_settling_phase phase;
  bool wait;  // nobody runs before it is over
  bool threaded;
  struct smr_os_thread thread;
  SMR_ATOMIC(int) done;
  samara_status status;
  samara_error error;
  struct smr_rates *rates;          // by device
  struct smr_compared compared[2];  // runs on the CPU alone, and on devices, with the same dims
  uint32_t comparing;               // runs since it began, whether they count or not
  uint64_t dims;                    // a hash of those of the runs compared
  bool lost;                        // runs on devices took longer
};

/// Whether a device may blame the data: OpenCL does by kernels that take indices, and devices of
/// others may.
enum { SMR_DEVICES_BLAME = SMR_HAS(cl_indexed) || !SMR_HAS(backend_opencl) };

/// What a session knows of its devices, whatever it does with them at the moment.
struct smr_devices {
  samara_backend **backends;
  uint32_t count;
  bool automatic;    // they take only what pays
  bool float16;      // they store float32 values as float16, where they can
  bool overflowed;   // what failed is float16: the devices are to go on without
  bool looks;        // this run looks at all numbers that are float16
  bool active;       // the frames in use have regions
  bool failed;       // what failed is a device: the CPU is to take over
  bool blames_data;  // the device that failed says that it is the data's fault
  uint32_t alarms;   // times that the CPU found nothing wrong with it
  bool returns;      // the next run is to go back to the devices
  bool left;         // a device failed, and its frames are in use until there are others
  struct smr_device_choice **choices;  // of `automatic`: by function, by node; NULL: all on the CPU
  struct smr_settling settling;        // of `automatic`
  uint64_t check_every;                // runs from one check of a random node to the next; 0: none
  struct smr_device_region *checked;   // of the node that this run checks, or NULL
  uint32_t checked_node;
  uint64_t checks, wrong;         // nodes that were checked, and those of them that were wrong
  struct smr_block check;         // what checks copy
  struct smr_block staging;       // floats of the host on their way to a device that has float16
  struct smr_frames others;       // frames that are not in use: those with regions, or without
  struct smr_frame *other_entry;  // NULL: there are none
  uint64_t runs, repeated;
  uint64_t launching, launches;  // that backends counted: of this run, of the last one
  uint64_t device_bytes;
  uint64_t copies, copied_bytes;      // between the host and devices
  struct smr_device_region *regions;  // of all frames
  struct smr_resident *residents;     // of the entry frame
  uint32_t turn;                      // which of their places holds the current values: 0 or 1
  struct smr_device_block *blocks;    // that have memory
  samara_error failure;               // why the CPU took over
};

/* ---- of a frame ---- */

/// A value on a device. Nodes are those between which it lives there, over all stages.
struct smr_device_value {
  uint32_t root;         // value whose bytes it shares there; itself if none
  uint32_t first, last;  // of a root
  uint32_t stage;        // whose memory it lies in
  bool here;
  bool float16;   // as which it is stored there
  size_t offset;  // in that memory
};

/// One device as a frame sees it.
struct smr_device_space {
  samara_backend *backend;
  struct smr_device_value *values;  // by value of the frame
  struct smr_device_block *blocks;  // by stage; they grow
};

/// A variable that stays on a device between runs: nodes of that device make its values, and they
/// alone read them. It has two places there, those of the values `reads` and `root`. A run reads
/// one and writes the other, and they change roles when the run has succeeded, so that a run that
/// is stopped leaves the old value. Both lie in the memory of the first stage, which new dims alone
/// change.
struct smr_resident {
  struct smr_resident *next;  // of the session's
  uint32_t input;             // of the entry function, that it is read as
  uint32_t reads;             // the value of that input
  int32_t output;             // that becomes its next value; -1: none
  int32_t root;               // value whose bytes that output has on the device; -1: none
  uint8_t space;
  bool fresh;  // the place holds the current value
};

struct smr_device_region {
  struct smr_device_region *next;  // of the session's
  struct smr_device_region *twin;  // the same nodes for the other turn, where they read or write
                                   // variables that stay; else NULL
  uint32_t turn;                   // that it is for
  samara_region region;
  struct smr_frame *frame;
  struct smr_device_space *space;
  uint32_t begin, end;  // nodes of the frame
  void *program;        // NULL: not compiled
  samara_region_tensor *tensors;
  uint32_t *value_of;             // by tensor: value of the frame
  struct smr_loaded **loaded;     // by tensor: constants on the device, NULL of others
  uint32_t *to_device, *to_host;  // tensors that are copied before it, and after it
  uint32_t to_device_count, to_host_count;
  uint64_t ticket;  // of what was computed last
  uint64_t copied;  // of the last copy to the device
  // By node: the steps that the backend made, numbers being those of the region, and nodes that it
  // may not join. NULL: it may join none.
  samara_region_join *joins, *tried;  // tried: what compile writes to
  bool *apart;
  bool joined;  // values live as its steps need it; later ones are these, or fewer
  // Kinds were checked, as far as they could be: of steps; of nodes, where they are computed one by
  // one or cannot be joined.
  bool trusted[2];
};

struct smr_frame_devices {
  bool *read;                                       // by value: of smr_region_outside
  struct smr_device_space spaces[SMR_MAX_DEVICES];  // by number of the space, less one
  struct smr_device_region **region_of;             // by node; NULL on the host
};

/* ---- place.c ---- */

/// Whether device `device` of the session computes node `n`, and why or why not.
samara_status smr_device_supports(struct smr_frame *frame, uint32_t n, uint32_t device,
                                  bool *supported, const char **reason);
/// Decide for the nodes of a frame, whose operands are built, in which space they run, and note
/// where values are made and read. Does nothing where the session uses no device.
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
/// there: frame->nodes[n].float16. All floats of a node are, or none, so that a value has one form
/// on a device, and a node that keeps float32 makes those do so that it shares values with.
samara_status smr_devices_choose_float16(struct smr_frame *frame);
/// Make the description of a float32 tensor that of its float16 form.
void smr_float16_describe(samara_region_tensor *tensor);
/// Write a float32 constant to `out` in the form that `tensor` describes. What is finite stays so,
/// and what is not 0: numbers beyond 65504 become that, and the least 2^-24.
void smr_float16_constant(uint32_t isa, const struct smr_constant *constant,
                          const samara_region_tensor *tensor, void *out);
/// Write `count` floats of a constant to `to`, as floats, rounded as smr_float16_constant does.
void smr_float16_round_weights(uint32_t isa, const void *from, size_t count, void *to);
/// Round `count` floats to float16: to nearest, ties to even; beyond 65504 to infinity.
void smr_float16_narrow(uint32_t isa, const void *from, size_t count, void *to);
/// Make `count` float16, which lie in the second half of `floats`, as many floats.
void smr_float16_widen(uint32_t isa, void *floats, size_t count);

/* ---- resident.c ---- */

/// Find the variables of an entry frame that stay on devices. It is decided where all nodes run.
samara_status smr_residents_find(struct smr_frame *frame);
/// The variable that output `output` of the frame becomes, if it stays on a device; or NULL.
const struct smr_resident *smr_resident_written(const struct smr_frame *frame, uint32_t output);
/// The variable that stays on that device and has value `root` for one of its places; or NULL.
struct smr_resident *smr_resident_of(const struct smr_frame *frame,
                                     const struct smr_device_space *space, uint32_t root);
/// The value in whose place value `root` lies for regions of a turn: another one for values of
/// variables that stay, in every other turn.
uint32_t smr_resident_place(const struct smr_frame *frame, const struct smr_device_space *space,
                            uint32_t root, uint32_t turn);
/// Begin to copy the current value of a variable to the device, or where `next` is set the one that
/// the last run wrote; or from there to the host.
samara_status smr_resident_copy(const struct smr_frame *frame, const struct smr_resident *resident,
                                bool next, void *host, bool to_device, uint64_t *ticket);
/// Wait until all that the last run computed for variables is there.
samara_status smr_residents_wait(const struct smr_frame *frame);
/// What the last run wrote becomes the current values.
void smr_residents_turn(struct smr_frame *frame);

/* ---- slice.c ---- */

/// Describe the nodes [begin, end) of a frame as a region: `out->region`, `tensors`, `value_of`.
samara_status smr_region_describe(struct smr_frame *frame, uint32_t begin, uint32_t end,
                                  struct smr_device_region *out);
/// Note which of its values are read outside of it. `read`: room for all values of the frame.
void smr_region_outside(struct smr_device_region *region, bool *read);
/// Write the shapes and attributes that have become known into it.
void smr_region_refresh(struct smr_device_region *region);

/* ---- region.c ---- */

/// Whether the output of a node on a device is its input under another name or shape, so that there
/// is nothing to compute. A constant lies elsewhere.
bool smr_region_is_view(const struct smr_frame *frame, const struct smr_node *node);

/// The last node of the step that node `n` of the region's frame belongs to, as the region was
/// compiled last.
static inline uint32_t smr_region_last(const struct smr_device_region *region, uint32_t n) {
  return !SMR_HAS(backends_steps) || region->joins == NULL || region->region.separate
             ? n
             : region->begin + region->joins[n - region->begin].last;
}

/// Whether what was checked of the region's answers is known, as it was compiled last.
static inline bool *smr_region_trusted(struct smr_device_region *region) {
  return &region->trusted[region->joins == NULL || region->region.separate];
}

/// Make the regions of a frame. All nodes of it are built.
samara_status smr_devices_build(struct smr_frame *frame);
/// Bring the constants of all regions to their devices, and compile them. Touches nothing of the
/// session but the regions, so that another thread may do it.
samara_status smr_devices_compile(const struct smr_devices *devices, const samara_model *model,
                                  samara_error *error);
/// Compile one, whose constants are on its device. The first time this says how long values live.
samara_status smr_region_compile(struct smr_device_region *region, samara_error *error);
/// Give back everything that the session holds on devices, but the devices.
void smr_devices_release(struct smr_devices *devices);
/// Say in `error` that a device failed at `what`, and why. Returns `status`.
samara_status smr_device_error(const samara_backend *backend, const char *what,
                               samara_status status, const samara_error *why, samara_error *error);
/// Note that a device failed at `what`, for the session to go on without it. Returns `status`.
samara_status smr_device_fail(struct smr_common *common, const samara_backend *backend,
                              const char *what, samara_status status, const samara_error *why);

/* ---- device_stage.c ---- */

/// Plan the devices' memory of a stage whose dims are known, and tell its regions.
samara_status smr_devices_stage(struct smr_frame *frame, uint32_t stage);

/* ---- device_run.c ---- */

/// Wait until the work of a ticket is done. Memory of the host takes part in it, so that nothing,
/// neither a deadline nor a request to stop, ends the wait before.
samara_status smr_device_wait(struct smr_common *common, const samara_backend *backend,
                              uint64_t ticket);
/// Begin a copy. *ticket becomes that of its end where that is later.
samara_status smr_device_copy(struct smr_common *common, const samara_backend *backend,
                              const samara_copy *copy, uint64_t *ticket);

/// The region that begins at node `n` of a frame; NULL where the host runs it.
struct smr_device_region *smr_region_at(const struct smr_frame *frame, uint32_t n);
/// Begin to copy what the region reads to the device. The host leaves these values alone until
/// smr_region_end, or until a function of the region fails. Compiles it again where `separate` asks
/// for the other form: nodes one by one, or all as a whole.
samara_status smr_region_begin(struct smr_device_region *region, bool separate);
/// Compute nodes [first, first + count) of the region.
samara_status smr_region_compute(struct smr_device_region *region, uint32_t first, uint32_t count);
/// Wait for what was computed last.
samara_status smr_region_wait(struct smr_device_region *region);
/// Copy what the host reads of the region, and wait until no copy is under way.
samara_status smr_region_end(struct smr_device_region *region);
/// Copy all outputs of node `n` of the frame to the host, for somebody who looks at them.
samara_status smr_region_show(struct smr_device_region *region, uint32_t n);
/// Copy tensor `index` of the region to `host`, and wait for it.
samara_status smr_region_fetch(struct smr_device_region *region, uint32_t index, void *host);

#endif
