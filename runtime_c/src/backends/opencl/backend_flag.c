// SPDX-License-Identifier: Apache-2.0
// The flags of programs: see backend.h.
#include "base/fp.h"

#include "backends/opencl/backend.h"

#include <string.h>

#include "base/format.h"

static void flag_forget(struct smr_cl_backend *device, struct smr_cl_program *program) {
  struct smr_cl_program **link = &device->checking;
  while (*link != NULL && *link != program) link = &(*link)->next_checking;
  if (*link != NULL) *link = program->next_checking;
  program->checking = program->bad = false;
}

static samara_status flag_fail(const char *node, samara_error *error) {
  SMR_FAIL(error, BAD_DATA, "an index is out of range in node '%s', or a later one of its region",
           node);
}

samara_status smr_cl_look_at_flags(struct smr_cl_backend *device, uint64_t ticket,
                                   samara_error *error) {
  char node[SMR_CL_NODE_NAME] = "";
  bool bad = false;
  smr_os_mutex_lock(&device->mutex);
  for (struct smr_cl_program *p = device->checking, *next; p != NULL; p = next) {
    next = p->next_checking;
    if (!p->bad && p->flag_ticket > ticket) continue;
    p->bad = p->flag_value != 0;
    if (!p->bad) {
      flag_forget(device, p);
    } else if (!bad) {
      bad = true;
      memcpy(node, p->flag_node, sizeof node);
    }
  }
  smr_os_mutex_unlock(&device->mutex);
  return bad ? flag_fail(node, error) : SAMARA_OK;
}

samara_status smr_cl_settle_flag(struct smr_cl_backend *device, struct smr_cl_program *program,
                                 samara_error *error) {
  static const int32_t unset = 0;
  smr_os_mutex_lock(&device->mutex);
  const bool checking = program->checking, known = program->bad;
  smr_os_mutex_unlock(&device->mutex);
  bool done = known || !checking || program->flag_ticket == 0;
  if (!checking) return SAMARA_OK;
  while (!done)
    SMR_TRY(device->driver->wait(device->handle, program->flag_ticket, UINT64_MAX, &done, error));
  smr_os_mutex_lock(&device->mutex);
  flag_forget(device, program);
  smr_os_mutex_unlock(&device->mutex);
  if (program->flag_value == 0) return SAMARA_OK;
  const samara_copy copy = {.memory = program->flag,
                            .host = (void *)(uintptr_t)&unset,
                            .size_bytes = sizeof unset,
                            .to_device = true};
  uint64_t ticket = 0;
  SMR_TRY(device->driver->copy(device->handle, &copy, &ticket, error));
  return flag_fail(program->flag_node, error);
}

samara_status smr_cl_read_flag(struct smr_cl_backend *device, struct smr_cl_program *program,
                               uint64_t *ticket, samara_error *error) {
  const samara_copy copy = {.memory = program->flag,
                            .host = &program->flag_value,
                            .size_bytes = sizeof program->flag_value};
  SMR_TRY(device->driver->copy(device->handle, &copy, ticket, error));
  smr_os_mutex_lock(&device->mutex);
  program->flag_ticket = *ticket;
  program->checking = true;
  program->next_checking = device->checking;
  device->checking = program;
  smr_os_mutex_unlock(&device->mutex);
  return *ticket == 0 ? smr_cl_settle_flag(device, program, error) : SAMARA_OK;
}

void smr_cl_release_flag(struct smr_cl_backend *device, struct smr_cl_program *program) {
  if (program->flag == NULL) return;
  samara_error error;
  (void)smr_cl_settle_flag(device, program, &error);
  smr_os_mutex_lock(&device->mutex);
  flag_forget(device, program);  // waiting failed
  smr_os_mutex_unlock(&device->mutex);
  device->driver->release(device->handle, program->flag);
}

samara_status smr_cl_prepare_flag(struct smr_cl_backend *device, const samara_region *region,
                                  struct smr_cl_program *program, samara_error *error) {
  static const int32_t unset = 0;
  struct smr_cl_launches *launches = &program->launches;
  if (!launches->flags) return SAMARA_OK;
  size_t first = 0;
  while (!launches->launches[first].flags) first++;
  (void)smr_format(program->flag_node, sizeof program->flag_node, "%s",
                   region->nodes[launches->launches[first].node].name);
  if (program->flag == NULL)
    SMR_TRY(device->driver->allocate(device->handle, sizeof unset, &unset, &program->flag, error));
  smr_cl_bind_flag(launches, program->flag);
  return SAMARA_OK;
}

bool smr_cl_may_flag(const struct smr_cl_program *program, size_t begin, size_t end) {
  if (!program->launches.flags) return false;
  while (begin < end && !program->launches.launches[begin].flags) begin++;
  return begin < end;
}
