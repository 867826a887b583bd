/* SPDX-License-Identifier: Apache-2.0 */
/* The base of the functions of a generated single-file model: one opened function of a model with
 * its session. */
#ifndef SMR_SINGLE_FILE_NET_H_
#define SMR_SINGLE_FILE_NET_H_

#include <samara/samara.h>

#ifndef SMR_NET_FILES
#define SMR_NET_FILES 1  // models are opened by path, too
#endif

typedef struct samara_net samara_net;

/// An input or output that the generated code expects; -1 stands for any size of a dim.
struct smr_net_port {
  samara_dtype dtype;
  int32_t rank;
  int64_t shape[SAMARA_MAX_RANK];
};

/// A function of the model. If ports is NULL, the model is not checked against the generated code.
struct smr_net_function {
  const char *name;
  const struct smr_net_port *inputs, *outputs;
  size_t input_count, output_count;
  const samara_custom_op *const *ops;  // default custom operators of sessions
  size_t op_count;
};

/// The source of a model: a path or memory.
struct smr_net_source {
  const char *path;  // NULL: memory
  const void *data;
  size_t size_bytes;
  bool constant;  // the memory never changes: weights and program are read in place
};

/// Open a model and make a session of `function`. `options` may be NULL; its allocator serves model
/// and session, its function is ignored. On failure `*out` is NULL and `error` (may be NULL) says
/// why.
samara_status smr_net_open(const struct smr_net_function *function,
                           const struct smr_net_source *source,
                           const samara_session_options *options, samara_net **out,
                           samara_error *error);

/// Run `net`, which must have been opened for `function`. `shapes` are the inputs' shapes (NULL:
/// all dims are constants); a change may allocate. room[i] is the size of outputs[i] in bytes
/// (NULL: sizes are constants). An output that is NULL stays in the session.
samara_status smr_net_run(samara_net *net, const struct smr_net_function *function,
                          const int64_t *const *shapes, const void *const *inputs,
                          void *const *outputs, const size_t *room);

// These are the same for every model. The generated header documents them.
SAMARA_API void samara_close(samara_net *net);
SAMARA_API const char *samara_message(const samara_net *net);
SAMARA_API samara_session *samara_net_session(samara_net *net);

#endif
