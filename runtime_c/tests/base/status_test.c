// SPDX-License-Identifier: Apache-2.0
// Status texts, the version, and the sizes that bindings compare.
#include <samara/samara_backend.h>
#include <samara/samara_experimental.h>
#include <samara/samara_media.h>
#include <samara/samara_text.h>

#include "harness.h"

SMR_TEST(texts) {
  CHECK_STR(samara_status_text(SAMARA_OK), "success");
  CHECK_STR(samara_status_text(SAMARA_CUSTOM_OP), "a custom operator failed");
  CHECK_STR(samara_status_text((samara_status)9999), "unknown status");
}

// Files and bindings hold these numbers.
SMR_TEST(codes_are_pinned) {
  CHECK_EQ_INT(SAMARA_BAD_ARGUMENT, 10);
  CHECK_EQ_INT(SAMARA_BAD_MODEL, 20);
  CHECK_EQ_INT(SAMARA_UNSUPPORTED, 30);
  CHECK_EQ_INT(SAMARA_OUT_OF_MEMORY, 40);
  CHECK_EQ_INT(SAMARA_IO, 50);
  CHECK_EQ_INT(SAMARA_BAD_DATA, 60);
}

SMR_TEST(version) { CHECK_STR(samara_version(), SAMARA_VERSION); }

SMR_TEST(abi_lists_every_struct) {
  const size_t expected[] = {
      sizeof(samara_error),
      sizeof(samara_feed),
      sizeof(samara_fetch),
      sizeof(samara_tensor),
      sizeof(samara_tensor_info),
      sizeof(samara_model_options),
      sizeof(samara_reader),
      sizeof(samara_session_options),
      sizeof(samara_allocator),
      sizeof(samara_pool_options),
      sizeof(samara_writer),
      sizeof(samara_profile_row),
      sizeof(samara_attribute),
      sizeof(samara_custom_call),
      sizeof(samara_custom_op),
      sizeof(samara_algorithm_row),
      sizeof(samara_memory_row),
      sizeof(samara_derived_row),
      sizeof(samara_meter),
      sizeof(samara_op_tensor),
      sizeof(samara_op_desc),
      sizeof(samara_op_context_options),
      sizeof(samara_backend_options),
      sizeof(samara_device_info),
      sizeof(samara_placement_row),
      sizeof(samara_backend_report),
      sizeof(samara_plane),
      sizeof(samara_image),
      sizeof(samara_image_record),
      sizeof(samara_audio_record),
      sizeof(samara_audio),
      sizeof(samara_class),
      sizeof(samara_box),
      sizeof(samara_point),
      sizeof(samara_answer),
      sizeof(samara_sampler_options),
      sizeof(samara_text_options),
  };
  enum { STRUCTS = sizeof expected / sizeof expected[0] };
  size_t sizes[STRUCTS + 1] = {0};
  CHECK_EQ_INT(samara_abi(NULL, 0), STRUCTS);
  CHECK_EQ_INT(samara_abi(sizes, 2), STRUCTS);
  CHECK_EQ_INT(sizes[2], 0);
  CHECK_EQ_INT(samara_abi(sizes, STRUCTS + 1), STRUCTS);
  CHECK_MEM(sizes, expected, sizeof expected);
  CHECK_EQ_INT(sizes[STRUCTS], 0);
}

SMR_TEST_MAIN(RUN(texts); RUN(codes_are_pinned); RUN(version); RUN(abi_lists_every_struct))
