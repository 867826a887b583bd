// SPDX-License-Identifier: Apache-2.0
// What the library says about itself: texts of status codes, its version, the sizes of its structs.
#include "base/fp.h"

#include "base/isa.h"

#include <samara/samara_experimental.h>

const char *samara_status_text(samara_status status) {
  switch (status) {
#define STATUS_TEXT_CASE(name, code, text) \
  case SAMARA_##name:                      \
    return text;
    SAMARA_STATUS_MAP(STATUS_TEXT_CASE)
#undef STATUS_TEXT_CASE
  }
  return "unknown status";
}

const char *samara_version(void) { return SAMARA_VERSION; }

size_t samara_isa(char *text, size_t size) { return smr_isa_format(smr_cpu_isa(), text, size); }

size_t samara_abi(size_t *sizes, size_t capacity) {
  static const uint16_t all[] = {
      sizeof(samara_error),           sizeof(samara_tensor),
      sizeof(samara_tensor_info),     sizeof(samara_allocator),
      sizeof(samara_model_options),   sizeof(samara_reader),
      sizeof(samara_pool_options),    sizeof(samara_attribute),
      sizeof(samara_custom_call),     sizeof(samara_custom_op),
      sizeof(samara_session_options), sizeof(samara_writer),
      sizeof(samara_profile_row),     sizeof(samara_op_tensor),
      sizeof(samara_op_desc),         sizeof(samara_op_context_options),
  };
  const size_t count = sizeof all / sizeof all[0];
  for (size_t i = 0; sizes != NULL && i < count && i < capacity; i++) sizes[i] = all[i];
  return count;
}

_Static_assert(sizeof(samara_error) == 512, "samara_error is 512 bytes everywhere");
