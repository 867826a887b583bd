// SPDX-License-Identifier: Apache-2.0
// For tests of sessions with devices: models of all kinds of control and dims, the mirror with
// nodes that it refuses and answers that are wrong, and sessions on it beside one on the CPU.
#ifndef SMR_TESTS_SESSION_DEVICE_RIG_H
#define SMR_TESTS_SESSION_DEVICE_RIG_H

#include "backends/mirror.h"
#include "session/model_literal.h"
#include "session/session.h"

/// What a model is about. Names of nodes say where they may run: "host…" on the CPU only, "one…" on
/// the first device only, "two…" on the second only, others anywhere.
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

/// A model of some 20 nodes that `seed` decides: operators, operands, places, views, outputs.
struct literal *rig_random_model(uint32_t seed);

/// Settings of the device, of the process. rig_reset sets all to 0 and calls mirror_reset.
struct rig_settings {
  const char *wrong_op;  // every answer to such a node is wrong in its first element; NULL: none
  bool any_range;        // samara_requirements.any_range
  // Of any_range: nodes are joined to steps at random, as this seed decides; 0: none are.
  uint32_t joins;
  bool wrong_steps;           // every step of several nodes gives a wrong answer
  bool bad_joins;             // compile joins what cannot be
  bool lazy;                  // copies and submissions are done when somebody waits; for one thread
  uint64_t most_bytes;        // samara_requirements.max_memory_bytes
  const samara_rates *rates;  // that the device states; NULL: the mirror's
  // Of devices that rig_start opens: the cache folder, and the file of rates; NULL: none.
  const char *cache_folder, *rates_file;
};
extern struct rig_settings rig_settings;
void rig_reset(void);

/// The mirror's table with these settings.
const samara_backend_table *rig_table(void);
/// Device `index` of it. NULL, with its error printed, on failure.
samara_backend *rig_open(uint32_t index, const char *cache, const char *rates);

/// A session with strict accuracy on `count` devices (0: the CPU), with what `options` has besides.
/// With backend_float16 accuracy is not strict, which excludes it.
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
/// Make the session on the devices, instead of the one that is there. Returns it.
samara_session *rig_again(struct rig *rig, samara_session_options options);
/// End the session on the devices.
void rig_destroy(struct rig *rig);
/// Whether the sessions left only their devices to the mirror, and the devices nothing. False with
/// a message.
bool rig_end(struct rig *rig);

/// Fill the inputs with numbers that `seed` decides. Integers are from 1 to 3.
bool rig_feed(samara_session *session, uint32_t seed);
/// Feed both, run both, and compare the bits of all outputs. False with a message.
bool rig_same(samara_session *cpu, samara_session *other, uint32_t seed);
/// Run both where an allocation of `other` fails at one call: a run may lack memory after that
/// call, and succeeds after a resize then, with the CPU's bits. False where it does not.
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
