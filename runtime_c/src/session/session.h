// SPDX-License-Identifier: Apache-2.0
// A session as a whole: what its concerns hold, put together.
//
// Each concern is a folder with one header. They stand in this order, and a header knows those
// before it only:
//
//   common/   memory, limits, errors, and what was chosen at creation
//   frame/    the memory of one function: its values and nodes; reading a value on the host
//   plan/     where values lie: bounds of dims, views, offsets in the arena
//   device/   nodes that run on devices: regions, and copies at their borders
//   stage/    dims evaluated, nodes checked and prepared, tensors pointed at memory
//   control/  if, loop, call, trap and custom
//   state/    variables
//   observe/  what a user may see besides the outputs
//   session/  this folder: creation, planning of all frames, runs, the public functions
//
// The files of the first six know no samara_session: they work on frames, and on what is common.
// Those of state/ and observe/ hold public functions, so they include this header too. Functions
// call functions, so two calls go up: a header lists them under "provided by".
//
// eager/ prepares and runs single operators without a session; it knows common/ alone.
//
// tests/meta/test_session.py holds all of this.
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

/// An input of the entry function, by position (also those bound to variables).
struct smr_session_input {
  int64_t dims[SAMARA_MAX_RANK];
  int64_t former[SAMARA_MAX_RANK];  // dims to go back to when a resize fails
  bool known, was_known;            // dims are
  struct smr_block own;
  struct smr_block image;  // what set_image.c keeps
  struct smr_block audio;  // and push_audio.c
  const void *data;        // own.data or the caller's
  size_t size_bytes;
  int32_t variable;  // index into samara_session.state.variables, or -1 (smr_bound)
};

/// An output of the entry function.
struct smr_session_output {
  struct smr_block copy;  // where its bytes are not the frame's to keep
  struct samara_tensor result;
  int32_t variable;
};

struct samara_session {
  struct smr_common common;             // first: near fields take shorter instructions
  const struct smr_function *function;  // that it runs: the entry frame's
  struct smr_frame *entry;
  struct smr_session_input *inputs;
  struct smr_session_output *outputs;
  struct smr_tensor *entry_inputs;
  bool ready;  // shapes are set and planned
  bool ran;    // outputs are there
  bool warned_growing;
  struct smr_frames frames;
  const struct smr_frames *former;  // while others take their place
  struct smr_block arena;
  struct smr_state state;
  struct smr_profile profile;
  struct smr_team team;
  struct smr_keep keep;
  struct smr_custom_ops custom;
  const char *choices;                 // measured ones, one line per node; or NULL
  struct smr_async *async;             // once a run was begun in a thread of its own
  struct smr_away away;                // of variables on devices
  struct smr_block answer;             // session_answer.c
  struct smr_answer_geometry picture;  // that the answer is about,
  bool pictured;                       // if one was set
  samara_error error;                  // common.error points here
};

/* ---- create.c ---- */

/// Make a session of the same model, function and choices for the CPU alone, with the same dims.
/// Shares the pool, so that only one of both may run at a time.
samara_status smr_session_twin(const samara_session *of, samara_session **out, samara_error *error);

/* ---- frame_build.c ---- */

/// Make the frames of `function` and of all it calls, with everything that does not depend on dims.
samara_status smr_frame_build(samara_session *session, uint32_t function, struct smr_frame **out);
/// The same for the entry function, and the table of them.
samara_status smr_session_frames(samara_session *session);

/* ---- session_plan.c ---- */

/// Plan everything for the dims in session->inputs.
samara_status smr_session_plan(samara_session *session);

/* ---- session_api.c ---- */

/// Plan for the dims in session->inputs, and make room for the inputs.
samara_status smr_session_shape(samara_session *session);

/// User input `index` and its tensor. Fails where there is none, or no shapes yet.
samara_status smr_session_input(samara_session *session, size_t index,
                                struct smr_session_input **input, const struct smr_tensor **out);

/// The input `index` has another tensor now, which is of no picture.
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

/// Take the devices that the options name.
samara_status smr_session_take_devices(samara_session *session,
                                       const samara_session_options *options);
/// Wait for what goes on, and give back the devices with all that the session holds on them.
void smr_session_drop_devices(samara_session *session);
/// Compile the regions of new frames, where the session begins on its devices.
samara_status smr_session_compile(samara_session *session);
/// Make frames of the other kind beside those in use: with regions, or without.
samara_status smr_session_build_others(samara_session *session);
/// Where a device failed and memory was out then: try once more to go over to the CPU.
samara_status smr_session_leave(samara_session *session);
/// Free what the frames that are not in use hold, on devices too. They cannot be used any more.
void smr_session_drop_others(samara_session *session);
/// Put the other frames in the place of those in use, which become the others. They are to be
/// planned.
void smr_session_swap(samara_session *session);
/// Put the other frames in the place of those in use, and plan them. Where that fails those in use
/// stay, or those for the CPU alone. Variables are to be on the host.
samara_status smr_session_go_over(samara_session *session);
/// On the CPU after a failure that says nothing of the devices: go back to them, with new frames.
/// Where that fails the session stays on the CPU. An error only where it has no shapes then.
samara_status smr_session_return(samara_session *session);
/// Where `status` is the failure of a device: go over to frames for the CPU alone, and plan them
/// where `plans`. Else returns `status`. Where there is no memory for that the session has no
/// shapes.
samara_status smr_session_take_over(samara_session *session, samara_status status, bool plans);
static inline samara_status smr_session_recover(samara_session *session, samara_status status,
                                                bool plans) {
  return SMR_HAS(backends) ? smr_session_take_over(session, status, plans) : status;
}

/// Between runs: where a device has failed since the last one, go over to the CPU.
samara_status smr_session_go_on(samara_session *session);

/* ---- away.c: variables that are away (state.h) ---- */

/// For new dims, or other frames: which variables leave the host, and what is kept of runs.
void smr_away_plan(samara_session *session);
/// Whether runs write the variable, and the host has its newest value nevertheless.
bool smr_away_follows(const struct smr_session_variable *v);
/// Before a run on devices: bring them the variables that the host has set.
samara_status smr_away_begin(samara_session *session);
/// After it: wait for the new values of variables, and make them the current ones. They leave, or
/// are fetched where nothing more can be kept. On failure all is as before.
samara_status smr_away_commit(samara_session *session);
/// Fetch what is away; where the device does not give it, compute it again.
samara_status smr_away_fetch(samara_session *session);
/// The host is about to set a variable, after smr_away_fetch, or all of them (NULL).
void smr_away_overwrite(samara_session *session, const struct smr_session_variable *v);
/// Before the host reads variables: every read of them comes here. Errors are noted in sessions
/// that the caller may only read otherwise, and so are values that come back.
static inline samara_status smr_state_fetch(const samara_session *session) {
  return SMR_HAS(backends) ? smr_away_fetch((samara_session *)(uintptr_t)session) : SAMARA_OK;
}

/* ---- away_replay.c ---- */

/// Compute what is away on the CPU, in a session for that alone: from the values that the host had
/// when it left, and the inputs of the runs since. All variables have the values of the CPU then.
samara_status smr_away_replay(samara_session *session);

/* ---- device_check.c: a device is not trusted ---- */

/// Before a run: choose the node that it checks, if one is due.
void smr_check_begin(samara_session *session);
/// Whether this run checks the step that ends with node `n` of the region's frame: because the
/// chosen node is of it (*whole is false), or because its kind was never checked on this device
/// (all of it). False where no step ends there.
bool smr_check_is_due(struct smr_device_region *region, uint32_t n, bool *whole);
/// Compute that step, which the device has just computed, on the CPU as well and compare: a random
/// tile of its node or the whole; several nodes as a whole. SAMARA_BACKEND where they differ: the
/// device has failed then, and such steps do not run on it any more.
samara_status smr_check_step(struct smr_device_region *region, uint32_t n, bool whole);
/// Whether this run looks at the numbers that node `n` makes as float16. Nodes are computed one by
/// one then: a step would hide what float16 does not hold.
bool smr_check_looks(const struct smr_device_region *region, uint32_t n);
/// Whether float16 holds what node `n` has just made: where it made no finite numbers the CPU
/// computes it too. SAMARA_BACKEND where the CPU's are finite: the session goes on in float32 then.
samara_status smr_check_float16(struct smr_device_region *region, uint32_t n);

/* ---- settle.c: sessions that go over to their devices by themselves ---- */

/// Take the next steps that are due, once shapes are known. Failures end in a session that stays on
/// the CPU.
samara_status smr_session_settle(samara_session *session);
/// Wait for what goes on in another thread.
void smr_session_settle_end(samara_session *session);

/* ---- compare.c: of these, runs on the CPU and on devices ---- */

/// Begin to compare, with runs on the frames in use.
void smr_compare_begin(samara_session *session);
/// Note a run, which began at `start_ns` and succeeded.
void smr_compare_note(samara_session *session, uint64_t start_ns);
/// Whether enough is known of the frames in use, or there are no others any more.
bool smr_compare_is_due(const struct smr_devices *devices);
/// Go on with the other frames, or decide. An error only where the session has no shapes then.
samara_status smr_compare_step(samara_session *session);

/* ---- async.c ---- */

/// Wait for the run that is going on in the session's own thread, and end that thread.
void smr_async_end(samara_session *session);

/* ---- run_region.c ---- */

/// Run the nodes of a region on its device.
samara_status smr_session_run_region(struct smr_device_region *region);
/// After a run: count it, and repeat it on the CPU where a device failed.
samara_status smr_session_run_again(samara_session *session, samara_status status);

/* ---- run.c ---- */

/// After a node: its time, and who looks at its outputs.
samara_status smr_session_note(struct smr_frame *frame, struct smr_frame_node *node, bool timed,
                               uint64_t start);
/// Run the entry function once, and take its outputs.
samara_status smr_session_run_once(samara_session *session);

/// Run the entry function on the inputs given to its frame, and set the results.
samara_status smr_session_run_entry(samara_session *session);

#endif
