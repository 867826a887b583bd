// SPDX-License-Identifier: Apache-2.0
// The library's own data: texts of status codes, its version, the sizes of its structs.
#include "base/fp.h"

#include <string.h>

#include "base/build.h"
#include "base/isa.h"

#include <samara/samara_backend.h>
#include <samara/samara_experimental.h>
#include <samara/samara_media.h>
#include <samara/samara_text.h>

// All texts in one block; the last one is for unknown codes.
static const char status_texts[] =
#define STATUS_TEXT(name, code, text) text "\0"
    SAMARA_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
        "unknown status";

static const uint8_t status_codes[] = {
#define STATUS_CODE(name, code, text) (code),
    SAMARA_STATUS_MAP(STATUS_CODE)
#undef STATUS_CODE
};

const char *samara_status_text(samara_status status) {
  const char *text = status_texts;
  for (size_t i = 0; i < sizeof status_codes; i++, text += strlen(text) + 1) {
    if (status_codes[i] == (int)status) break;
  }
  return text;
}

const char *samara_version(void) { return SAMARA_VERSION; }

const char *samara_manifest(void) { return SMR_MANIFEST; }

size_t samara_isa(char *text, size_t size) { return smr_isa_format(smr_cpu_isa(), text, size); }

size_t samara_abi(size_t *sizes, size_t capacity) {
  // In units of 4 bytes; all sizes are multiples of 4 where this is used.
#define ABI_SIZE(type) ((sizeof(type) + 3) / 4)
  static const uint8_t all[] = {
      ABI_SIZE(samara_error),
      ABI_SIZE(samara_feed),
      ABI_SIZE(samara_fetch),
      ABI_SIZE(samara_tensor),
      ABI_SIZE(samara_tensor_info),
      ABI_SIZE(samara_model_options),
      ABI_SIZE(samara_reader),
      ABI_SIZE(samara_session_options),
      ABI_SIZE(samara_allocator),
      ABI_SIZE(samara_pool_options),
      ABI_SIZE(samara_writer),
      ABI_SIZE(samara_profile_row),
      ABI_SIZE(samara_attribute),
      ABI_SIZE(samara_custom_call),
      ABI_SIZE(samara_custom_op),
      ABI_SIZE(samara_algorithm_row),
      ABI_SIZE(samara_memory_row),
      ABI_SIZE(samara_derived_row),
      ABI_SIZE(samara_meter),
      ABI_SIZE(samara_op_tensor),
      ABI_SIZE(samara_op_desc),
      ABI_SIZE(samara_op_context_options),
      ABI_SIZE(samara_backend_options),
      ABI_SIZE(samara_device_info),
      ABI_SIZE(samara_placement_row),
      ABI_SIZE(samara_backend_report),
      ABI_SIZE(samara_plane),
      ABI_SIZE(samara_image),
      ABI_SIZE(samara_image_record),
      ABI_SIZE(samara_audio_record),
      ABI_SIZE(samara_audio),
      ABI_SIZE(samara_class),
      ABI_SIZE(samara_box),
      ABI_SIZE(samara_point),
      ABI_SIZE(samara_answer),
      ABI_SIZE(samara_sampler_options),
      ABI_SIZE(samara_text_options),
  };
#undef ABI_SIZE
  const size_t count = sizeof all / sizeof all[0];
  if (sizes == NULL) return count;
  for (size_t i = 0; i < count && i < capacity; i++) sizes[i] = 4u * all[i];
  return count;
}

// 512 bytes, unless enums are smaller than int (the Arm bare-metal ABI).
_Static_assert(sizeof(samara_error) == 508 + sizeof(samara_status), "samara_error has no padding");
