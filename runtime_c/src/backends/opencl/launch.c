// SPDX-License-Identifier: Apache-2.0
// Lists of launches that grow.
#include "base/fp.h"

#include "backends/opencl/launch.h"

#include <string.h>

#include "base/alloc.h"

struct smr_cl_launch *smr_cl_add(struct smr_cl_launches *list, uint32_t node,
                                 enum smr_cl_kernel kernel) {
  if (list->count == list->capacity || list->launches == NULL) {
    const size_t capacity = list->capacity * 2 + 16;
    struct smr_cl_launch *launches =
        (struct smr_cl_launch *)smr_allocate_zeroed(list->allocator, capacity, sizeof *launches);
    if (launches == NULL) list->failed = true;
    if (launches == NULL && list->launches == NULL) return NULL;
    if (launches == NULL) {
      list->count--;
    } else {
      if (list->count > 0) memcpy(launches, list->launches, list->count * sizeof *launches);
      smr_release(list->allocator, list->launches);
      list->launches = launches;
      list->capacity = capacity;
    }
  }
  struct smr_cl_launch *launch = &list->launches[list->count++];
  memset(launch, 0, sizeof *launch);
  launch->node = node;
  launch->kernel = (uint16_t)kernel;
  return launch;
}
