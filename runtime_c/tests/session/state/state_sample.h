// SPDX-License-Identifier: Apache-2.0
// Helpers of tests of saved state: a model with variables of several kinds, and files in memory.
#ifndef SMR_TESTS_SESSION_STATE_SAMPLE_H
#define SMR_TESTS_SESSION_STATE_SAMPLE_H

#include <samara/samara.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/model_literal.h"

/// A model of two functions. `train` reads and writes weights "w" (float32 [2, 3] of 1 … 6) and
/// "steps" (int64, 7), and only reads "mask" (bool [3], 1 0 1); `infer` reads "w" alone.
struct literal *state_sample(void);

/// What differs between models whose cache grows.
struct state_growing {
  bool ring;   // rows go round
  bool twice;  // another node reads the cache before the rows are written, too
};
/// A model whose `main` takes rows [1, S, 2], S at most 4, and the number `step`. It writes the
/// rows behind those of "cache" (float32 [1, 4, 2]), adds step to its "length", and gives "y", the
/// sum of the new cache and the new (of `twice`, the old) cache.
struct literal *state_growing(struct state_growing options);
/// Run it with `count` rows of the numbers first, first + 1, ...
samara_status state_growing_run(samara_session *session, int64_t count, float first);
/// Whether the cache has `length` rows in use, or 4 of a ring: first, first + 1, ... in pairs.
bool state_growing_has(samara_session *session, int64_t length, const float *rows);

/// A file in memory that a writer fills and a reader gives back. Failing calls count from 1.
struct state_file {
  uint8_t *bytes;
  size_t size_bytes, calls, fail_at;
};
void state_file_free(struct state_file *file);
samara_writer state_file_writer(struct state_file *file);
samara_reader state_file_reader(struct state_file *file);

/// A file with this header (padded by `pad` spaces) and `data_bytes` bytes of data, which count up.
void state_file_make(struct state_file *file, const char *header, size_t pad, size_t data_bytes);

/// Load a file from a block of exactly its size.
samara_status state_file_load(samara_session *session, const struct state_file *file);

/// Whether the session of `train` has its initial values.
bool state_is_initial(const samara_session *session);

#endif
