// SPDX-License-Identifier: Apache-2.0
// The session: all its parts together.
//
// Each part is a folder with one header. A header may include only those before it in this order:
//
//   common/   memory, limits, errors, options
//   frame/    the memory of one function: its values and nodes; reading a value on the host
//   plan/     memory planning: bounds of dims, views, offsets in the arena
//   device/   nodes that run on devices: regions, and copies at their borders
//   stage/    dims evaluated, nodes checked and prepared, tensors pointed at memory
//   control/  if, loop, call, trap and custom
//   state/    variables
//   observe/  profiles, kept tensors, algorithms, memory
//   session/  this folder: creation, planning of all frames, runs, the public functions
//
// Files of the first six folders do not use samara_session; they work on frames and smr_common.
// Those of state/ and observe/ define public functions, so they include this header too. Nodes call
// functions, so some functions are defined in a later folder: headers list them separately.
//
// eager/ prepares and runs single operators without a session; it uses common/ only.
//
// tests/meta/test_session.py checks these rules.
#ifndef SMR_SESSION_SESSION_H
#define SMR_SESSION_SESSION_H

#include "media/answer_geometry.h"
#include "session/common/common.h"
#include "session/control/control.h"
#include "session/device/device.h"
#include "session/frame/frame.h"
#include "session/observe/observe.h"
#include "session/state/state.h"
#include "session/threads.h"

/// An input of the entry function, by position, including those bound to variables.
struct smr_session_input {
  int64_t dims[SAMARA_MAX_RANK];
  int64_t former[SAMARA_MAX_RANK];  // dims to restore if a resize fails
  bool known, was_known;            // whether dims are known
  struct smr_block own;
  struct smr_block image;  // state of set_image.c
  struct smr_block audio;  // state of push_audio.c
  const void *data;        // own.data or the caller's
  size_t size_bytes;
  int32_t variable;  // index into samara_session.state.variables, or -1 (smr_bound)
};

/// An output of the entry function.
struct smr_session_output {
  struct smr_block copy;  // its bytes, if the frame does not keep them
  struct samara_tensor result;
  int32_t variable;
};

struct samara_session {
  struct smr_common common;             // first, because small offsets make shorter instructions
  const struct smr_function *function;  // the function that it runs, of the entry frame
  struct smr_frame *entry;
  struct smr_session_input *inputs;
  struct smr_session_output *outputs;
  struct smr_tensor *entry_inputs;
  bool ready;  // shapes are set and planned
  bool ran;    // outputs are valid
  bool warned_growing;
  struct smr_frames frames;
  const struct smr_frames *former;  // previous frames, while new ones are built
  struct smr_block arena;
  struct smr_state state;
  struct smr_profile profile;
  struct smr_team team;
  struct smr_keep keep;
  struct smr_custom_ops custom;
  const char *choices;                 // measured choices, one line per node; or NULL
  struct smr_async *async;             // NULL until the first asynchronous run
  struct smr_away away;                // of variables on devices
  struct smr_block answer;             // session_answer.c
  struct smr_answer_geometry picture;  // geometry of the last picture,
  bool pictured;                       // if an image was set
  samara_error error;                  // common.error points here
};

/* ---- create.c ---- */

/// samara_session_create with a complete options struct, which a web page's C layer has: a compiler
/// then drops what no option asks for. `*out` is only written on success.
samara_status smr_session_create(const samara_model *model, const samara_session_options *options,
                                 samara_session **out, samara_error *error);
/// Create a session for the same model, function, options and dims, on the CPU only. It shares the
/// pool, so only one of both may run at a time.
samara_status smr_session_twin(const samara_session *of, samara_session **out, samara_error *error);

/* ---- frame_build.c ---- */

/// Build the frames of `function` and of all functions it calls, without what depends on dims.
samara_status smr_frame_build(samara_session *session, uint32_t function, struct smr_frame **out);
/// The same for the entry function, including the table of frames.
samara_status smr_session_frames(samara_session *session);

/* ---- session_plan.c ---- */

/// Plan everything for the dims in session->inputs.
samara_status smr_session_plan(samara_session *session);

/* ---- session_api.c ---- */

/// Plan for the dims in session->inputs, and allocate the inputs.
samara_status smr_session_shape(samara_session *session);

/// User input `index` and its tensor. Fails if there is none or shapes are not set.
samara_status smr_session_input(samara_session *session, size_t index,
                                struct smr_session_input **input, const struct smr_tensor **out);

/// Note that input `index` is no longer set from an image.
static inline void smr_session_unpicture(samara_session *session, size_t index) {
  const struct smr_answer_fields *answer = session->function->answer;
  if (SMR_HAS(image) && SMR_HAS(answer) && answer != NULL && answer->input == index)
    session->pictured = false;
}

/* ---- bind.c: outputs computed into the caller's memory ---- */

/// Whether these bytes overlap a bound output.
bool smr_bind_overlaps(const samara_session *session, const void *data, size_t size_bytes);
/// Unbind all outputs.
void smr_bind_clear(samara_session *session);

/* ---- devices.c ---- */

/// Add the devices of the options.
samara_status smr_session_take_devices(samara_session *session,
                                       const samara_session_options *options);
/// Wait for background work, and release the devices and all that the session holds on them.
void smr_session_drop_devices(samara_session *session);
/// Compile the regions of new frames, if the session starts on its devices.
samara_status smr_session_compile(samara_session *session);
/// Build a second set of frames: with regions if those in use have none, and vice versa.
samara_status smr_session_build_others(samara_session *session);
/// Retry to switch to the CPU, after a device failed and memory was exhausted.
samara_status smr_session_leave(samara_session *session);
/// Free the frames that are not in use, with their memory on devices.
void smr_session_drop_others(samara_session *session);
/// Swap the frames in use with the others. The new ones must then be planned.
void smr_session_swap(samara_session *session);
/// Switch to the other frames and plan them. On failure the frames in use stay, or those for the
/// CPU. Variables must be on the host.
samara_status smr_session_go_over(samara_session *session);
/// Return to the devices with new frames, after a failure that was not theirs. If that fails, the
/// session stays on the CPU. An error only if the session has no shapes afterwards.
samara_status smr_session_return(samara_session *session);
/// If `status` is the failure of a device, switch to frames for the CPU, and plan them if `plans`.
/// Else return `status`. If memory is exhausted, the session has no shapes afterwards.
samara_status smr_session_take_over(samara_session *session, samara_status status, bool plans);
static inline samara_status smr_session_recover(samara_session *session, samara_status status,
                                                bool plans) {
  return SMR_HAS(backends) ? smr_session_take_over(session, status, plans) : status;
}

/// Between runs: switch to the CPU if a device has failed since the last run.
samara_status smr_session_go_on(samara_session *session);

/* ---- away.c: variables whose newest values are on a device (state.h) ---- */

/// For new dims or frames: decide which variables stay on devices, and what to keep of runs.
void smr_away_plan(samara_session *session);
/// Whether runs write the variable and the host always has its newest value.
bool smr_away_follows(const struct smr_session_variable *v);
/// Before a run on devices: copy the variables that the host has set to them.
samara_status smr_away_begin(samara_session *session);
/// After a run on devices: wait for the new values of variables, and make them current. They stay
/// on the device, or are fetched if no more runs can be kept. On failure nothing changes.
samara_status smr_away_commit(samara_session *session);
/// Fetch the newest values from devices; if a device fails, recompute them.
samara_status smr_away_fetch(samara_session *session);
/// Called before the host sets a variable, or all (NULL), after smr_away_fetch.
void smr_away_overwrite(samara_session *session, const struct smr_session_variable *v);
/// Called before every host read of variables. Writes errors and fetched values to the const
/// session.
static inline samara_status smr_state_fetch(const samara_session *session) {
  return SMR_HAS(backends) ? smr_away_fetch((samara_session *)(uintptr_t)session) : SAMARA_OK;
}

/* ---- away_replay.c ---- */

/// Recompute the newest values on the CPU, in a temporary session: from the last values that the
/// host had, and the inputs of the runs since. All variables then have the CPU's values.
samara_status smr_away_replay(samara_session *session);

/* ---- device_check.c: devices are not trusted ---- */

/// Before a run: choose the node that it checks, if one is due.
void smr_check_begin(samara_session *session);
/// Whether this run checks the step that ends with node `n` of the region's frame: because it
/// contains the chosen node (*whole is false), or because its kind was never checked on this device
/// (*whole is true). False if no step ends there.
bool smr_check_is_due(struct smr_device_region *region, uint32_t n, bool *whole);
/// Recompute that step on the CPU and compare: a random tile of its node or the whole; several
/// nodes always as a whole. SAMARA_BACKEND if they differ: the device has failed, and such steps no
/// longer run on it.
samara_status smr_check_step(struct smr_device_region *region, uint32_t n, bool whole);
/// Whether this run checks the float16 values of node `n`. Nodes are then computed one by one,
/// because a step would hide an overflow.
bool smr_check_looks(const struct smr_device_region *region, uint32_t n);
/// Check that float16 can hold the outputs of node `n`: if they are not finite, the CPU recomputes
/// them. SAMARA_BACKEND if those of the CPU are finite: the session then continues in float32.
samara_status smr_check_float16(struct smr_device_region *region, uint32_t n);

/* ---- settle.c: backend_auto ---- */

/// Take the steps that are due, once shapes are known. After a failure the session stays on the
/// CPU.
samara_status smr_session_settle(samara_session *session);
/// Wait for the background thread.
void smr_session_settle_end(samara_session *session);

/* ---- compare.c: timed runs on the CPU and on devices, for backend_auto ---- */

/// Begin the comparison with the frames in use.
void smr_compare_begin(samara_session *session);
/// Record a successful run that began at `start_ns`.
void smr_compare_note(samara_session *session, uint64_t start_ns);
/// Whether the frames in use have enough timed runs, or there are no other frames.
bool smr_compare_is_due(const struct smr_devices *devices);
/// Switch to the other frames, or decide. An error only if the session has no shapes afterwards.
samara_status smr_compare_step(samara_session *session);

/* ---- async.c ---- */

/// Wait for the asynchronous run, if any, and end its thread.
void smr_async_end(samara_session *session);

/* ---- run_region.c ---- */

/// Run the nodes of a region on its device.
samara_status smr_session_run_region(struct smr_device_region *region);
/// After a run: count it, and repeat it on the CPU if a device failed.
samara_status smr_session_run_again(samara_session *session, samara_status status);

/* ---- run.c ---- */

/// After a node: record its time, and call observers of its outputs.
samara_status smr_session_note(struct smr_frame *frame, struct smr_frame_node *node, bool timed,
                               uint64_t start);
/// Run the entry function once, and set the results.
samara_status smr_session_run_once(samara_session *session);

/// Run the entry function on the inputs given to its frame, and set the results.
samara_status smr_session_run_entry(samara_session *session);

#endif
