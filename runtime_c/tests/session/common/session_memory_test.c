// SPDX-License-Identifier: Apache-2.0
// Regions and blocks of a session: zeroed, aligned, counted, limited.
#include "base/fp.h"

#include "harness.h"

#include "session/model_literal.h"
#include "session/common/common.h"

SMR_TEST(regions_are_zeroed_aligned_and_apart) {
  struct literal_memory memory;
  literal_memory_init(&memory);
  samara_error error = {.status = SAMARA_OK};
  struct smr_common s = {.error = &error};
  s.memory.allocator = memory.allocator;
  uint8_t *blocks[50];
  for (size_t i = 0; i < 50; i++) {
    const size_t size = i * i * 13 % 4000;
    blocks[i] = smr_session_take(&s, size, 1);
    REQUIRE(blocks[i] != NULL);
    CHECK((uintptr_t)blocks[i] % 64 == 0);
    for (size_t k = 0; k < size; k++) CHECK_EQ_INT(blocks[i][k], 0);
    memset(blocks[i], (int)i + 1, size);
  }
  for (size_t i = 0; i < 50; i++)
    for (size_t k = 0; k < i * i * 13 % 4000; k++) CHECK_EQ_INT(blocks[i][k], i + 1);
  CHECK(memory.calls < 20);
  CHECK(smr_session_take(&s, SIZE_MAX / 2, 3) == NULL);
  CHECK(smr_session_take(&s, SIZE_MAX, 1) == NULL);
  CHECK_EQ_INT(error.status, SAMARA_OUT_OF_MEMORY);
  CHECK_CONTAINS(error.text, "bytes");
  CHECK(smr_session_take(&s, 100000, 1) != NULL);
  memory.fail_at = memory.calls + 1;
  CHECK(smr_session_take(&s, 100000, 1) == NULL);
  smr_session_release(&s);
  CHECK_EQ_INT(memory.live, 0);
}

SMR_TEST(lazy_memory_is_zeroed_aligned_and_counted) {
  for (int own = 0; own < 2; own++) {  // a caller's allocator, and the default
    struct literal_memory memory;
    literal_memory_init(&memory);
    samara_error error = {.status = SAMARA_OK};
    struct smr_common s = {.error = &error};
    s.memory.allocator = own != 0 ? smr_allocator(NULL) : memory.allocator;
    size_t before = 0;
    for (size_t size = 1; size < 9000000; size = size * 7 + 5) {
      void *out = NULL;
      REQUIRE(smr_session_take_lazily(&s, size, &out) == SAMARA_OK);
      CHECK((uintptr_t)out % SMR_ALIGNMENT == 0);
      uint8_t sum = 0;
      for (size_t i = 0; i < size; i++) sum |= ((const uint8_t *)out)[i];
      CHECK_EQ_INT(sum, 0);
      memset(out, 0x77, size);
      CHECK(s.memory.total_bytes >= before + size);
      before = s.memory.total_bytes;
    }
    void *out = &s;
    CHECK_EQ_INT(smr_session_take_lazily(&s, SIZE_MAX, &out), SAMARA_OUT_OF_MEMORY);
    CHECK_EQ_INT(smr_session_take_lazily(&s, SIZE_MAX / 2, &out), SAMARA_OUT_OF_MEMORY);
    CHECK_CONTAINS(error.text, "bytes");
    if (own == 0) memory.fail_at = memory.calls + 1;
    if (own == 0) CHECK_EQ_INT(smr_session_take_lazily(&s, 100000, &out), SAMARA_OUT_OF_MEMORY);
    CHECK(out == &s);
    smr_session_release(&s);
    CHECK_EQ_INT(memory.live, 0);
  }
}

SMR_TEST(blocks_grow_keep_and_obey_the_limit) {
  struct literal_memory memory;
  literal_memory_init(&memory);
  samara_error error = {.status = SAMARA_OK};
  struct smr_common s = {.error = &error};
  s.memory.allocator = memory.allocator;
  s.memory.max_arena_bytes = 1024;
  struct smr_block block = {0};
  CHECK_EQ_INT(smr_block_ensure(&s, &block, 0, 0, "b"), SAMARA_OK);
  CHECK(block.data != NULL);
  CHECK_EQ_INT(smr_block_ensure(&s, &block, 100, 0, "b"), SAMARA_OK);
  CHECK_EQ_INT(block.size_bytes, 128);
  CHECK_EQ_INT(s.memory.arena_bytes, 128);
  memset(block.data, 9, 100);
  CHECK_EQ_INT(smr_block_ensure(&s, &block, 1000, 100, "b"), SAMARA_OK);
  for (int i = 0; i < 100; i++) CHECK_EQ_INT(((uint8_t *)block.data)[i], 9);
  CHECK_EQ_INT(s.memory.arena_bytes, 1024);
  void *data = block.data;
  CHECK_EQ_INT(smr_block_ensure(&s, &block, 10, 0, "b"), SAMARA_OK);
  CHECK(block.data == data);
  CHECK_EQ_INT(smr_block_ensure(&s, &block, 1025, 0, "b"), SAMARA_LIMIT);
  CHECK_EQ_INT(smr_block_ensure(&s, &block, SIZE_MAX, 0, "b"), SAMARA_OUT_OF_MEMORY);
  s.memory.max_arena_bytes = 0;
  memory.fail_at = memory.calls + 1;
  CHECK_EQ_INT(smr_block_ensure(&s, &block, 5000, 0, "b"), SAMARA_OUT_OF_MEMORY);
  CHECK(block.data == data);
  CHECK_EQ_INT(block.size_bytes, 1024);
  CHECK_EQ_INT(memory.live, 1);
  smr_session_release(&s);
  CHECK_EQ_INT(memory.live, 0);
  CHECK_EQ_INT(smr_align64(1), 64);
  CHECK_EQ_INT(smr_align64(64), 64);
  CHECK(smr_align64(SIZE_MAX - 3) == SIZE_MAX);
}

SMR_TEST(blocks_are_freed_in_any_order) {
  for (int order = 0; order < 3; order++) {
    struct literal_memory memory;
    samara_error error;
    literal_memory_init(&memory);
    struct smr_common s = {.error = &error, .memory = {.allocator = memory.allocator}};
    struct smr_block blocks[3] = {{.data = NULL}, {.data = NULL}, {.data = NULL}};
    smr_block_free(&s, &blocks[0]);  // has none
    for (size_t i = 0; i < 3; i++)
      CHECK_EQ_INT(smr_block_ensure(&s, &blocks[i], (size_t)64 << i, 0, "b"), SAMARA_OK);
    smr_block_free(&s, &blocks[order]);
    CHECK(blocks[order].data == NULL && blocks[order].size_bytes == 0);
    CHECK_EQ_INT(s.memory.arena_bytes, 7 * 64 - (64 << order));
    CHECK_EQ_INT(s.memory.total_bytes, 7 * 64 - (64 << order));
    CHECK_EQ_INT(memory.live, 2);
    CHECK_EQ_INT(smr_block_ensure(&s, &blocks[order], 64, 0, "b"), SAMARA_OK);
    CHECK_EQ_INT(memory.live, 3);
    smr_session_release(&s);
    CHECK_EQ_INT(memory.live, 0);
  }
}

SMR_TEST_MAIN(RUN(regions_are_zeroed_aligned_and_apart); RUN(blocks_grow_keep_and_obey_the_limit);
              RUN(blocks_are_freed_in_any_order); RUN(lazy_memory_is_zeroed_aligned_and_counted))
