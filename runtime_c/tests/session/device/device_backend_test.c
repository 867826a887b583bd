// SPDX-License-Identifier: Apache-2.0
// An open device: what it says of itself, constants that sessions share, and threads.
#include "base/fp.h"

#include "harness.h"

#include <stdatomic.h>

#include "base/os.h"
#include "session/device/device_rig.h"

SMR_TEST(information_fits_callers_with_a_shorter_struct) {
  rig_reset();
  samara_backend *device = rig_open(1, NULL, NULL);
  REQUIRE(device != NULL);
  samara_device_info info = {.struct_size = sizeof info};
  CHECK_EQ_INT(samara_backend_device(device, &info), SAMARA_OK);
  CHECK_STR(info.backend, "mirror");
  CHECK_STR(info.name, "Second mirror");
  CHECK_EQ_INT(info.struct_size, sizeof info);
  CHECK(info.rates.memory != 0);
  CHECK(info.table != NULL && strcmp(info.table->name, info.backend) == 0);
  samara_device_info old = {.struct_size = offsetof(samara_device_info, driver), .driver = "mine"};
  CHECK_EQ_INT(samara_backend_device(device, &old), SAMARA_OK);
  CHECK_STR(old.name, "Second mirror");
  CHECK_STR(old.driver, "mine");
  old.struct_size = 0;
  CHECK_EQ_INT(samara_backend_device(device, &old), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_backend_device(NULL, &info), SAMARA_BAD_ARGUMENT);
  CHECK_EQ_INT(samara_backend_device(device, NULL), SAMARA_BAD_ARGUMENT);
  samara_backend_close(device);
}

SMR_TEST(constants_are_loaded_once_for_all_sessions_of_a_model) {
  rig_reset();
  struct literal *other = rig_model(RIG_CHAIN);
  struct rig rig = rig_bare(rig_model(RIG_CHAIN), 2);
  samara_backend **all = rig.devices;
  samara_session *cpu = rig.cpu, *s[4];
  for (int i = 0; i < 4; i++) {
    // "w" is read in two regions of the first device, and not on the second.
    s[i] = rig_session(i == 3 ? &other->model : rig.model, all, 2, (samara_session_options){0});
    REQUIRE(s[i] != NULL);
    CHECK_EQ_INT(mirror_calls("load"), i == 3 ? 2 : 1);
  }
  const int live = mirror_live();
  samara_session_destroy(s[0]);
  samara_session_destroy(s[2]);
  CHECK(rig_same(cpu, s[1], 1));
  CHECK(all[0]->loaded != NULL && all[0]->loaded->next != NULL && all[1]->loaded == NULL);
  samara_session_destroy(s[1]);
  CHECK(all[0]->loaded != NULL && all[0]->loaded->next == NULL);
  CHECK(rig_same(cpu, s[3], 1));
  samara_session_destroy(s[3]);
  CHECK(all[0]->loaded == NULL);
  CHECK(live > 2);
  CHECK(rig_end(&rig));
  literal_free(other);
}

SMR_TEST(a_load_that_fails_leaves_nothing) {
  rig_reset();
  struct rig rig = rig_bare(rig_model(RIG_CHAIN), 1);
  const samara_model *model = rig.model;
  samara_backend *device = rig.devices[0];
  samara_error error = {.text = ""};
  struct smr_loaded *loaded = NULL;
  const samara_region_tensor tensor = {.data = "abcd", .size_bytes = 4};
  mirror_fail("load", 1);
  CHECK_EQ_INT(smr_backend_load(device, model, 0, &tensor, 0, &loaded, &error), SAMARA_BACKEND);
  CHECK(loaded == NULL && device->loaded == NULL);
  CHECK_EQ_INT(smr_backend_load(device, model, 0, &tensor, 0, &loaded, &error), SAMARA_OK);
  REQUIRE(loaded != NULL);
  CHECK_EQ_INT(loaded->users, 1);
  smr_backend_unload(device, loaded);
  smr_backend_unload(device, NULL);
  CHECK(device->loaded == NULL);
  CHECK(rig_end(&rig));
}

SMR_TEST(the_memory_of_a_device_may_be_out_at_any_allocation) {
  static const samara_rates nothing = {.launch_ns = 0};
  rig_reset();
  struct rig rig = rig_start(RIG_CHAIN, 0, (samara_session_options){0});
  for (int automatic = 0; automatic < 2; automatic++) {
    bool failed = true;
    for (size_t k = 1; failed && k < 60; k += automatic ? 5 : 1) {
      const char *folder = rig_folder();
      struct literal_memory memory;
      literal_memory_init(&memory);
      rig_settings.rates = automatic ? &nothing : NULL;
      const samara_backend_options options = {.struct_size = sizeof options,
                                              .table = rig_table(),
                                              .cache_folder = folder,
                                              .allocator = &memory.allocator};
      samara_backend *device = NULL;
      REQUIRE(samara_backend_open(&options, &device, NULL) == SAMARA_OK);
      memory.fail_at = memory.calls + k;
      samara_session *s =
          rig_session(rig.model, &device, 1,
                      (samara_session_options){.backend_auto = automatic, .backend_wait = true});
      for (uint32_t run = 0; run < 3; run++) CHECK(rig_same(rig.cpu, s, run));
      failed = memory.calls >= memory.fail_at;
      samara_session_destroy(s);
      samara_backend_close(device);
      CHECK_EQ_INT(memory.live, 0);
      rig_remove(folder);
    }
  }
  CHECK(rig_end(&rig));
}

// ---- threads ----

enum { THREADS = 4 };

struct worker {
  const samara_model *model;
  samara_backend *device;
  uint32_t seed;
  bool automatic;
  atomic_int *ready;
  bool ok;
};

// Checks may run on the main thread only.
static void work(void *argument) {
  struct worker *w = argument;
  samara_session *cpu = rig_session(w->model, NULL, 0, (samara_session_options){0});
  for (int round = 0; round < 3 && cpu != NULL; round++) {
    samara_session *s = rig_session(
        w->model, &w->device, 1,
        (samara_session_options){.backend_check_every = 3, .backend_auto = w->automatic});
    // All sessions exist at the same time, so that a constant stays loaded.
    if (round == 0) {
      atomic_fetch_add(w->ready, 1);
      while (atomic_load(w->ready) < THREADS) continue;
    }
    w->ok = w->ok && s != NULL && samara_session_reset(cpu) == SAMARA_OK;
    for (uint32_t run = 0; run < 20 && w->ok; run++)
      w->ok = rig_same(cpu, s, w->seed + run) && rig_report(s).failure[0] == '\0';
    samara_session_destroy(s);
  }
  samara_session_destroy(cpu);
}

SMR_TEST(threads_share_a_device_and_its_constants) {
  for (int form = 0; form < 8; form++) {
    rig_reset();
    rig_settings.any_range = form & 1;
    struct rig rig = rig_bare(rig_model(form & 4 ? RIG_LOOP : RIG_CHAIN), 1);
    struct smr_os_thread threads[THREADS];
    struct worker workers[THREADS];
    atomic_int ready = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
      workers[i] =
          (struct worker){rig.model, rig.devices[0], i * 1000, form & 2 && i % 2, &ready, true};
      REQUIRE(smr_os_thread_start(&threads[i], work, &workers[i]));
    }
    for (uint32_t i = 0; i < THREADS; i++) smr_os_thread_join(&threads[i]);
    for (uint32_t i = 0; i < THREADS; i++) CHECK(workers[i].ok);
    CHECK(rig.devices[0]->loaded == NULL);
    CHECK(rig_end(&rig));
  }
}

SMR_TEST_MAIN(RUN(information_fits_callers_with_a_shorter_struct);
              RUN(constants_are_loaded_once_for_all_sessions_of_a_model);
              RUN(a_load_that_fails_leaves_nothing);
              RUN(the_memory_of_a_device_may_be_out_at_any_allocation);
              RUN(threads_share_a_device_and_its_constants))
