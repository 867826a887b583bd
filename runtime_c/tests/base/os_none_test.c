// SPDX-License-Identifier: Apache-2.0
// The layer for machines without an operating system, compiled into this test and tried here.
#define SMR_OS_NONE 1
#include "base/os_none.c"

#include "harness.h"

SMR_TEST(memory_is_aligned) {
  for (size_t size = 0; size < 500; size += 13) {
    unsigned char *p = smr_os_allocate(size);
    if (!CHECK(p != NULL)) return;
    CHECK_EQ_INT((uintptr_t)p % SMR_ALIGNMENT, 0);
    memset(p, 1, size);
    smr_os_release(p);
  }
  smr_os_release(NULL);
  CHECK(smr_os_allocate(SIZE_MAX - 8) == NULL);
}

SMR_TEST(files_are_refused) {
  struct smr_os_file file = {0};
  samara_error error;
  CHECK_EQ_INT(smr_os_open_path("x", false, NULL, &file, &error), SAMARA_UNSUPPORTED);
  CHECK_EQ_INT(smr_os_open_fd(0, 0, 0, false, NULL, &file, &error), SAMARA_UNSUPPORTED);
  smr_os_close(&file, NULL);
  CHECK_EQ_INT(smr_os_read_path("x", 1, NULL, &file, &error), SAMARA_UNSUPPORTED);
  CHECK_EQ_INT(smr_os_write_path("x", "y", 1, NULL, &error), SAMARA_UNSUPPORTED);
  CHECK_EQ_INT(smr_os_make_folder("x", NULL, &error), SAMARA_UNSUPPORTED);
}

SMR_TEST(there_are_no_libraries) {
  CHECK(smr_os_library_open("libc.so.6") == NULL);
  CHECK(smr_os_library_function(NULL, "malloc") == NULL);
  smr_os_library_close(NULL);
}

SMR_TEST(locks_without_threads) {
  struct smr_os_mutex mutex;
  struct smr_os_cond cond;
  struct smr_os_thread thread;
  REQUIRE(smr_os_mutex_init(&mutex) && smr_os_cond_init(&cond));
  smr_os_mutex_lock(&mutex);
  smr_os_cond_wait(&cond, &mutex);
  smr_os_cond_broadcast(&cond);
  smr_os_mutex_unlock(&mutex);
  smr_os_cond_destroy(&cond);
  smr_os_mutex_destroy(&mutex);
  CHECK(!smr_os_thread_start(&thread, NULL, NULL));
  smr_os_thread_sleep_ns(1);
  CHECK_EQ_INT(smr_os_processor_count(), 1);
  CHECK_EQ_INT(smr_os_now_ns(), 0);
}

SMR_TEST_MAIN(RUN(memory_is_aligned); RUN(files_are_refused); RUN(there_are_no_libraries);
              RUN(locks_without_threads))
