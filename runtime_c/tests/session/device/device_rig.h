// SPDX-License-Identifier: Apache-2.0
// For tests of sessions with devices: models of all kinds of control and dims, the mirror with
// nodes that it refuses and answers that are wrong, and sessions on it beside one on the CPU.
#ifndef SMR_TESTS_SESSION_DEVICE_RIG_H
#define SMR_TESTS_SESSION_DEVICE_RIG_H

#include "backends/mirror.h"
#include "session/model_literal.h"
#include "session/session.h"

/// The feature that a model tests. Names of nodes say where they may run: "host…" on the CPU only,
/// "one…" on the first device only, "two…" on the second only, others anywhere.
enum rig_model {
  RIG_CHAIN,     // a value used on host and device, a constant in two regions, a view
  RIG_SYMBOLIC,  // dim n, at most 8
  RIG_IF,        // regions in both branches and around
  RIG_LOOP,      // in a body of at most 6 iterations, with a condition made on the device
  RIG_CALL,      // in a callee that is called twice
  RIG_READ,      // dims read from a tensor that a device made; a value that crosses stages
  RIG_GROWING,   // the same without an upper bound
  RIG_BORN,      // dims of a nonzero
  RIG_STATE,     // variables that are outputs of themselves
  RIG_STAY,      // variables that stay on the device, and others
  RIG_GAPS,      // the host's slices and parts of a concat, whose pixels lie apart
  RIG_EMPTY,     // a tensor of 0 bytes, and a constant of 0 bytes
  RIG_MODELS,
  RIG_UNBOUNDED = RIG_MODELS,  // RIG_SYMBOLIC without an upper bound: no shapes before a resize
};

/// The model, finished; literal_free releases it.
struct literal *rig_model(enum rig_model which);

/// A model of some 20 nodes: `seed` decides operators, operands, places, views and outputs.
struct literal *rig_random_model(uint32_t seed);

/// Settings of the device, for the whole process. rig_reset sets all to 0 and calls mirror_reset.
struct rig_settings {
  const char *wrong_op;  // this operator's first element is always wrong; NULL: none
  bool any_range;        // samara_requirements.any_range
  // With any_range: the seed by which nodes are joined to steps at random; 0: none are.
  uint32_t joins;
  bool wrong_steps;           // steps of several nodes give wrong answers
  bool bad_joins;             // compile returns an invalid join
  bool lazy;                  // work is done when the session waits; one thread only
  uint64_t most_bytes;        // samara_requirements.max_memory_bytes
  const samara_rates *rates;  // stated by the device; NULL: the mirror's
  // Of devices that rig_start opens: the cache folder, and the file of rates; NULL: none.
  const char *cache_folder, *rates_file;
};
extern struct rig_settings rig_settings;
void rig_reset(void);

/// The mirror's table with these settings.
const samara_backend_table *rig_table(void);
/// Device `index` of it. NULL, with its error printed, on failure.
samara_backend *rig_open(uint32_t index, const char *cache, const char *rates);

/// A session with these options on `count` devices (0: the CPU). Accuracy is strict unless
/// backend_float16 is set, which excludes it.
samara_status rig_try(const samara_model *model, samara_backend **devices, size_t count,
                      samara_session_options options, samara_session **out);
/// The same; aborts, with the error printed, where there is none.
samara_session *rig_session(const samara_model *model, samara_backend **devices, size_t count,
                            samara_session_options options);

/// A model with a session on `count` devices of the mirror (0: none) beside one on the CPU, which
/// keeps all tensors if the first one does. rig_end releases everything.
struct rig {
  struct literal *l;
  const samara_model *model;
  samara_backend *devices[2];
  size_t count;
  samara_session *cpu, *s;
};
/// `l` is a finished model.
struct rig rig_start(enum rig_model which, size_t count, samara_session_options options);
struct rig rig_start_random(uint32_t seed, size_t count, samara_session_options options);
struct rig rig_with(struct literal *l, size_t count, samara_session_options options);
/// The same without a session on the devices: `s` is NULL.
struct rig rig_bare(struct literal *l, size_t count);
/// Replace the session on the devices by a new one. Returns it.
samara_session *rig_again(struct rig *rig, samara_session_options options);
/// End the session on the devices.
void rig_destroy(struct rig *rig);
/// Release everything. Returns whether the sessions released all handles but the devices, and the
/// devices theirs; false with a message.
bool rig_end(struct rig *rig);

/// Fill the inputs with numbers that `seed` decides. Integers are from 1 to 3.
bool rig_feed(samara_session *session, uint32_t seed);
/// Feed both, run both, and compare the bits of all outputs. False with a message.
bool rig_same(samara_session *cpu, samara_session *other, uint32_t seed);
/// Run both while one allocation of `other` fails: that run may fail for lack of memory, and must
/// then succeed after a resize, with the CPU's bits. Returns whether it did.
bool rig_hungry(samara_session *cpu, samara_session *other, uint32_t seed,
                struct literal_memory *memory);
/// Whether the outputs of two sessions that have run have the same bits. False with a message.
bool rig_compare(const samara_session *cpu, const samara_session *other);
/// The node of that name, in any frame in use. Aborts where there is none.
const struct smr_frame_node *rig_node(const samara_session *session, const char *name);
/// Read the report.
samara_backend_report rig_report(const samara_session *session);

/// A new folder in the working directory; removed with the files in it by rig_remove.
const char *rig_folder(void);
void rig_remove(const char *folder);

#endif
