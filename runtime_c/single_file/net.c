// SPDX-License-Identifier: Apache-2.0
// A model and its session in one object, for the functions of a generated single-file model.
#include "base/fp.h"

#include "net.h"

#include <string.h>

#include "base/alloc.h"

struct samara_net {
  const struct smr_net_function *function;
  samara_model *model;
  samara_session *session;
  samara_allocator allocator;
  samara_error error;      // failures outside the session
  samara_custom_op ops[];  // of the function
};

// ---- opening ----

static samara_status net_check_port(const struct smr_net_port *port, const char *what, size_t index,
                                    const samara_tensor_info *info, samara_error *error) {
  bool same = info->dtype == port->dtype && info->rank == port->rank;
  for (int32_t axis = 0; same && axis < port->rank; axis++)
    same = port->shape[axis] == info->shape[axis];
  if (same) return SAMARA_OK;
  SMR_FAIL(error, BAD_SHAPE,
           "%s %zu, '%s', has another type or shape than the model that this code was written for",
           what, index, info->name);
}

// Check that a model has the inputs and outputs that the generated functions assume.
static samara_status net_check(const samara_model *model, const struct smr_net_function *f,
                               samara_error *error) {
  if (f->inputs == NULL) return SAMARA_OK;
  if (samara_model_input_count(model, f->name) != f->input_count ||
      samara_model_output_count(model, f->name) != f->output_count)
    SMR_FAIL(
        error, BAD_MODEL,
        "function '%s' does not have the %zu inputs and %zu outputs of the model that this code "
        "was written for",
        f->name, f->input_count, f->output_count);
  samara_tensor_info info;
  for (size_t i = 0; i < f->input_count; i++) {
    SMR_TRY(samara_model_input_info(model, f->name, i, &info));
    SMR_TRY(net_check_port(&f->inputs[i], "input", i, &info, error));
  }
  for (size_t i = 0; i < f->output_count; i++) {
    SMR_TRY(samara_model_output_info(model, f->name, i, &info));
    SMR_TRY(net_check_port(&f->outputs[i], "output", i, &info, error));
  }
  return SAMARA_OK;
}

static samara_status net_open_model(struct samara_net *net, const struct smr_net_source *source,
                                    const samara_session_options *session, samara_error *error) {
  const samara_model_options options = {
      .struct_size = sizeof options,
      .allocator = &net->allocator,
      .log = session->log,
      .log_user = session->log_user,
      .constant = source->constant,
  };
  if (SMR_NET_FILES && source->path != NULL)
    return samara_model_open_path(source->path, &options, &net->model, error);
  return samara_model_open_memory(source->data, source->size_bytes, &options, &net->model, error);
}

static samara_status net_fill(struct samara_net *net, const struct smr_net_source *source,
                              const samara_session_options *given, samara_error *error) {
  samara_session_options options = *given;
  options.struct_size = sizeof options;
  options.allocator = &net->allocator;
  options.function = net->function->name;
  if (net->function->op_count != 0 && options.custom_op_count == 0) {
    for (size_t i = 0; i < net->function->op_count; i++) net->ops[i] = *net->function->ops[i];
    options.custom_ops = net->ops;
    options.custom_op_count = net->function->op_count;
  }
  SMR_TRY(net_open_model(net, source, &options, error));
  SMR_TRY(net_check(net->model, net->function, error));
  return samara_session_create(net->model, &options, &net->session, error);
}

samara_status smr_net_open(const struct smr_net_function *function,
                           const struct smr_net_source *source,
                           const samara_session_options *options, samara_net **out,
                           samara_error *error) {
  if (out == NULL) SMR_FAIL(error, BAD_ARGUMENT, "no place for the result");
  *out = NULL;
  samara_session_options own;
  SMR_TRY(smr_options_read(options, &own, sizeof own, "session options", error));
  const samara_allocator allocator = smr_allocator(own.allocator);
  const size_t bytes = sizeof(struct samara_net) + function->op_count * sizeof(samara_custom_op);
  struct samara_net *net = (struct samara_net *)smr_allocate(&allocator, bytes);
  if (net == NULL) SMR_FAIL(error, OUT_OF_MEMORY, "no memory for a model");
  memset(net, 0, bytes);
  net->function = function;
  net->allocator = allocator;
  const samara_status status = net_fill(net, source, &own, error);
  if (status != SAMARA_OK)
    samara_close(net);
  else
    *out = net;
  return status;
}

void samara_close(samara_net *net) {
  if (net == NULL) return;
  samara_session_destroy(net->session);
  samara_model_close(net->model);
  const samara_allocator allocator = net->allocator;
  smr_release(&allocator, net);
}

// ---- running ----

// Resize the session if the shapes of this run differ from the last run's.
static samara_status net_resize(struct samara_net *net, const int64_t *const *shapes) {
  const size_t count = net->function->input_count;
  for (size_t i = 0; i < count; i++) {
    samara_tensor now;
    const samara_status known = samara_session_input(net->session, i, &now);
    const size_t bytes = known == SAMARA_OK ? (size_t)now.rank * sizeof now.shape[0] : 0;
    if (known != SAMARA_OK || memcmp(now.shape, shapes[i], bytes) != 0)
      return samara_session_resize(net->session, shapes, count);
  }
  return SAMARA_OK;
}

static samara_status net_check_room(struct samara_net *net, void *const *outputs,
                                    const size_t *room) {
  for (size_t i = 0; i < net->function->output_count; i++) {
    samara_tensor shape;
    if (outputs[i] == NULL) continue;
    SMR_TRY(samara_session_output_shape(net->session, i, &shape));
    if (shape.size_bytes > room[i])
      SMR_FAIL(&net->error, BAD_SHAPE, "output %zu takes %zu bytes, there is room for %zu", i,
               shape.size_bytes, room[i]);
  }
  return SAMARA_OK;
}

samara_status smr_net_run(samara_net *net, const struct smr_net_function *function,
                          const int64_t *const *shapes, const void *const *inputs,
                          void *const *outputs, const size_t *room) {
  if (net == NULL) return SAMARA_BAD_ARGUMENT;
  net->error.text[0] = '\0';
  if (net->function != function)
    SMR_FAIL(&net->error, BAD_STATE, "this runs function '%s', the net is of '%s'", function->name,
             net->function->name);
  if (shapes != NULL) SMR_TRY(net_resize(net, shapes));
  if (room != NULL) SMR_TRY(net_check_room(net, outputs, room));
  return samara_session_run_with(net->session, inputs, outputs);
}

const char *samara_message(const samara_net *net) {
  if (net == NULL) return "no model";
  return net->error.text[0] != '\0' ? net->error.text : samara_session_error(net->session);
}

samara_session *samara_net_session(samara_net *net) { return net != NULL ? net->session : NULL; }
