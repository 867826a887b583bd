// SPDX-License-Identifier: Apache-2.0
// The layer for web pages, compiled into this test and tried here: the heap over a memory that
// grows in pages, and numbers, locks and threads over functions that JavaScript would bring.
#define SMR_OS_WEB 1
#include "base/format.c"
#include "base/os_none.c"
#include "base/os_web.c"

#include "harness.h"

enum { MOST_PAGES = 64, FIRST_BYTES = 3000 };

// A memory as the engine's: it grows at its end, and begins with the module's own data.
static _Alignas(64) unsigned char memory[MOST_PAGES * WEB_PAGE_BYTES];
static size_t pages = 1;
static size_t waits, wakes;
static bool has_worker = true;

uintptr_t web_heap_start(void) { return (uintptr_t)memory + FIRST_BYTES; }
uintptr_t web_memory_bytes(void) { return (uintptr_t)memory + pages * WEB_PAGE_BYTES; }
bool web_memory_grow(size_t more) {
  if (more > MOST_PAGES - pages) return false;
  pages += more;
  return true;
}
double smr_web_now(void) { return 1.5; }
void smr_web_number(char *text, double value, size_t digits) {
  (void)snprintf(text, SMR_OS_NUMBER_BYTES, "%.*g", (int)digits, value);
}
// A worker that has ended before the call returns.
int smr_web_spawn(struct smr_os_thread *thread, void *stack_end) {
  CHECK((uintptr_t)stack_end % 16 == 0);
  if (!has_worker) return 0;
  smr_web_thread(thread);
  return 1;
}
void smr_web_wait(const void *word, int value) {
  int now;
  memcpy(&now, word, sizeof now);
  if (now == value) waits++;
}
void smr_web_notify(const void *word) {
  (void)word;
  wakes++;
}

SMR_TEST(memory_grows_by_what_is_missing) {
  unsigned char *first = smr_os_allocate(WEB_PAGE_BYTES);
  REQUIRE(first != NULL);
  CHECK_EQ_INT((uintptr_t)first % SMR_ALIGNMENT, 0);
  CHECK_EQ_INT(pages, 2);  // the first page has less than a page to give
  smr_os_release(first);
  unsigned char *larger = smr_os_allocate(3 * WEB_PAGE_BYTES);
  REQUIRE(larger != NULL);
  CHECK(larger == first);  // the free end of the heap is used
  CHECK_EQ_INT(pages, 4);
  smr_os_release(larger);
  CHECK(smr_os_allocate(MOST_PAGES * WEB_PAGE_BYTES) == NULL);
  CHECK(smr_os_allocate(SIZE_MAX - 8) == NULL);
  CHECK_EQ_INT(pages, 4);  // a refusal takes nothing
  smr_os_release(NULL);
}

// Blocks of all sizes, released in another order: none overlaps another, and all becomes one again.
SMR_TEST(blocks_do_not_overlap_and_join) {
  enum { COUNT = 50 };
  unsigned char *blocks[COUNT];
  for (size_t round = 0; round < 4; round++) {
    for (size_t i = 0; i < COUNT; i++) {
      blocks[i] = smr_os_allocate(i * i);
      REQUIRE(blocks[i] != NULL);
      CHECK_EQ_INT((uintptr_t)blocks[i] % SMR_ALIGNMENT, 0);
      memset(blocks[i], (int)i, i * i);
    }
    for (size_t k = 0; k < COUNT; k++) {
      const size_t i = (k * 7 + round) % COUNT;
      for (size_t j = 0; j < i * i; j++) REQUIRE(blocks[i][j] == i);
      smr_os_release(blocks[i]);
    }
    CHECK(web_free != NULL && web_free->next == NULL);
    CHECK_EQ_INT(web_block_end(web_free), web_end);
  }
  CHECK_EQ_INT(pages, 4);
}

SMR_TEST(numbers_are_printed_by_the_engine) {
  char text[80];
  (void)smr_format(text, sizeof text, "%g, %.3g, %.0g and %.99g of %d", 0.5, 1.23456, 7.0, 1.5, -2);
  CHECK_STR(text, "0.5, 1.23, 7 and 1.5 of -2");
}

static void set(void *argument) { *(int *)argument = 7; }

SMR_TEST(threads_and_locks) {
  struct smr_os_mutex mutex;
  struct smr_os_cond cond;
  struct smr_os_thread thread;
  REQUIRE(smr_os_mutex_init(&mutex) && smr_os_cond_init(&cond));
  smr_os_mutex_lock(&mutex);
  smr_os_cond_wait(&cond, &mutex);
  CHECK_EQ_INT(waits, 1);
  smr_os_cond_broadcast(&cond);
  CHECK_EQ_INT(wakes, 1);
  smr_os_mutex_unlock(&mutex);
  CHECK_EQ_INT(wakes, 1);  // nobody waited for the mutex
  const size_t before = web_free->size_bytes;
  int value = 0;
  REQUIRE(smr_os_thread_start(&thread, set, &value));
  smr_os_thread_join(&thread);
  CHECK_EQ_INT(value, 7);
  has_worker = false;
  CHECK(!smr_os_thread_start(&thread, set, &value));
  CHECK_EQ_INT(web_free->size_bytes, before);  // the stacks are back
  smr_os_cond_destroy(&cond);
  smr_os_mutex_destroy(&mutex);
  CHECK_EQ_INT(smr_os_now_ns(), 1500000);
}

SMR_TEST_MAIN(RUN(memory_grows_by_what_is_missing); RUN(blocks_do_not_overlap_and_join);
              RUN(numbers_are_printed_by_the_engine); RUN(threads_and_locks))
