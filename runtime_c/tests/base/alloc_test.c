// SPDX-License-Identifier: Apache-2.0
// The default allocator, a caller's allocator, options structs of other sizes, and the bump arena.
#include "base/alloc.h"

#include <stdlib.h>

#include "base/fnv.h"
#include "harness.h"

SMR_TEST(default_blocks_are_aligned) {
  const samara_allocator allocator = smr_allocator(NULL);
  for (size_t size = 0; size < 300; size += 7) {
    unsigned char *p = smr_allocate(&allocator, size);
    if (!CHECK(p != NULL)) return;
    CHECK_EQ_INT((uintptr_t)p % SMR_ALIGNMENT, 0);
    memset(p, 1, size);
    smr_release(&allocator, p);
  }
  smr_release(&allocator, NULL);
}

SMR_TEST(zeroed_blocks) {
  const samara_allocator allocator = smr_allocator(NULL);
  unsigned char *p = smr_allocate_zeroed(&allocator, 10, 13), sum = 0;
  REQUIRE(p != NULL);
  for (int i = 0; i < 130; i++) sum |= p[i];
  CHECK_EQ_INT(sum, 0);
  smr_release(&allocator, p);
  CHECK(smr_allocate_zeroed(&allocator, SIZE_MAX / 2, 3) == NULL);
}

SMR_TEST(lazy_blocks_are_zeroed) {
  const samara_allocator allocator = smr_allocator(NULL);
  for (size_t size = 1; size < 9000000; size = size * 5 + 3) {
    unsigned char *p = smr_allocate_lazily(&allocator, size), sum = 0;
    REQUIRE(p != NULL);
    for (size_t i = 0; i < size; i++) sum |= p[i];
    CHECK_EQ_INT(sum, 0);
    memset(p, 1, size);
    smr_release(&allocator, p);
  }
  CHECK(smr_allocate_lazily(&allocator, SIZE_MAX / 2) == NULL);
}

static void *counting_allocate(void *user, size_t size) {
  ++*(int *)user;
  void *pointer = aligned_alloc(64, (size + 63) / 64 * 64);
  if (pointer != NULL) memset(pointer, 0xa5, size);
  return pointer;
}
static void counting_release(void *user, void *pointer) {
  --*(int *)user;
  free(pointer);
}

SMR_TEST(callers_allocator) {
  int live = 0;
  const samara_allocator given = {counting_allocate, counting_release, &live};
  const samara_allocator allocator = smr_allocator(&given);
  void *p = smr_allocate(&allocator, 0);
  CHECK_EQ_INT(live, 1);
  smr_release(&allocator, p);
  CHECK_EQ_INT(live, 0);
  // Lazy blocks come from it, too; what it gives need not be zero.
  unsigned char *lazy = smr_allocate_lazily(&allocator, 777), sum = 0;
  REQUIRE(lazy != NULL);
  CHECK_EQ_INT(live, 1);
  for (size_t i = 0; i < 777; i++) sum |= lazy[i];
  CHECK_EQ_INT(sum, 0);
  smr_release(&allocator, lazy);
  CHECK_EQ_INT(live, 0);
}

struct own_options {
  size_t struct_size;
  int a, b;
};
struct newer_options {
  size_t struct_size;
  int a, b;
  long c;
};

SMR_TEST(options_of_any_size) {
  struct own_options own;
  samara_error error;
  own.a = 5;
  CHECK_EQ_INT(smr_options_read(NULL, &own, sizeof own, "x", &error), SAMARA_OK);
  CHECK(own.struct_size == 0 && own.a == 0 && own.b == 0);
  const struct own_options older = {offsetof(struct own_options, b), 3, 4};
  CHECK_EQ_INT(smr_options_read(&older, &own, sizeof own, "x", &error), SAMARA_OK);
  CHECK(own.a == 3 && own.b == 0);
  struct newer_options newer;
  memset(&newer, 0, sizeof newer);
  newer.struct_size = sizeof newer;
  newer.a = 7;
  CHECK_EQ_INT(smr_options_read(&newer, &own, sizeof own, "x", &error), SAMARA_OK);
  CHECK_EQ_INT(own.a, 7);
  newer.c = 1;
  CHECK_EQ_INT(smr_options_read(&newer, &own, sizeof own, "x", &error), SAMARA_BAD_ARGUMENT);
  newer.struct_size = 0;
  CHECK_EQ_INT(smr_options_read(&newer, &own, sizeof own, "the options", &error),
               SAMARA_BAD_ARGUMENT);
  CHECK_CONTAINS(error.text, "the options: struct_size");
}

static size_t take_some(struct smr_bump *bump) {
  unsigned char *a = smr_bump_take(bump, 3, 1);
  uint64_t *b = smr_bump_take(bump, 2, sizeof *b);
  CHECK(smr_bump_take(bump, 0, 8) == NULL);
  if (a != NULL && b != NULL) {
    memset(a, 0xff, 3);
    b[0] = b[1] = 0;
    CHECK_EQ_INT((uintptr_t)b % 8, 0);
    CHECK_EQ_INT(a[2], 0xff);
  }
  return bump->used;
}

SMR_TEST(bump_measures_and_fills) {
  struct smr_bump measure = {0};
  const size_t bytes = take_some(&measure);
  CHECK(!measure.overflow);
  const samara_allocator allocator = smr_allocator(NULL);
  struct smr_bump fill = {.base = smr_allocate(&allocator, bytes), .capacity = bytes};
  CHECK_EQ_INT(take_some(&fill), bytes);
  CHECK(!fill.overflow);
  CHECK(smr_bump_take(&fill, 1, 1) == NULL && fill.overflow);
  smr_release(&allocator, fill.base);
  CHECK(smr_bump_take(&measure, SIZE_MAX / 4, 8) == NULL && measure.overflow);
  struct smr_bump sum = {.used = SIZE_MAX - 8};
  CHECK(smr_bump_take(&sum, 16, 1) == NULL && sum.overflow);
}

// Published test vectors of FNV-1a 64.
SMR_TEST(fnv_vectors) {
  CHECK(smr_fnv(SMR_FNV_START, "", 0) == UINT64_C(0xcbf29ce484222325));
  CHECK(smr_fnv(SMR_FNV_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
  CHECK(smr_fnv(SMR_FNV_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
  CHECK(smr_fnv(smr_fnv(SMR_FNV_START, "foo", 3), "bar", 3) == UINT64_C(0x85944171f73967e8));
}

SMR_TEST_MAIN(RUN(default_blocks_are_aligned); RUN(zeroed_blocks); RUN(lazy_blocks_are_zeroed);
              RUN(callers_allocator); RUN(options_of_any_size); RUN(bump_measures_and_fills);
              RUN(fnv_vectors))
