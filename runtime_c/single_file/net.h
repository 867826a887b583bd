/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions of a generated single-file model are made of: one function of a model, opened,
 * with its session. */
#ifndef SMR_SINGLE_FILE_NET_H_
#define SMR_SINGLE_FILE_NET_H_

#include <samara/samara.h>

#ifndef SMR_NET_FILES
#define SMR_NET_FILES 1  // models are opened by path, too
#endif

typedef struct samara_net samara_net;

/// An input or output as the generated code was written for; -1 for a dim that may be anything.
struct smr_net_port {
  samara_dtype dtype;
  int32_t rank;
  int64_t shape[SAMARA_MAX_RANK];
};

/// A function of the model. Without ports (NULL) a model is taken to be the one that the generated
/// code was written for.
struct smr_net_function {
  const char *name;
  const struct smr_net_port *inputs, *outputs;
  size_t input_count, output_count;
  const samara_custom_op *const *ops;  // that sessions get unless they are given others
  size_t op_count;
};

/// Where a model comes from: a path, or memory.
struct smr_net_source {
  const char *path;  // NULL: memory
  const void *data;
  size_t size_bytes;
  bool constant;  // nobody can change that memory: weights and program are read where they lie
};

/// Open a model and make a session of `function`. `options` may be NULL; its allocator serves all
/// of it, its function is not looked at. On failure `*out` is NULL and `error` (may be NULL) says
/// why.
samara_status smr_net_open(const struct smr_net_function *function,
                           const struct smr_net_source *source,
                           const samara_session_options *options, samara_net **out,
                           samara_error *error);

/// Run `net`, which must be one of `function`. `shapes` (NULL: all dims are constants) are those of
/// the inputs; changing one may allocate. `room` (NULL: outputs are of constant size) are the bytes
/// that outputs[i] takes. An output that is NULL stays in the session.
samara_status smr_net_run(samara_net *net, const struct smr_net_function *function,
                          const int64_t *const *shapes, const void *const *inputs,
                          void *const *outputs, const size_t *room);

// The same for every model; described in the generated header.
SAMARA_API void samara_close(samara_net *net);
SAMARA_API const char *samara_message(const samara_net *net);
SAMARA_API samara_session *samara_net_session(samara_net *net);

#endif
