// SPDX-License-Identifier: Apache-2.0
// What opening a file and creating a session take, as counted on this machine:
// `memory_probe FILE ISA THREADS` prints pointer_bits, program and model together, derived,
// session, then the sums of the rows: arena, blocks, variables, structures.
#include <samara/samara_experimental.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBE_ROWS = 8192 };

static int probe_fail(const samara_error *error) {
  fprintf(stderr, "%s\n", error->text);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  static samara_memory_row rows[PROBE_ROWS];
  samara_meter of_model, of_session;
  samara_meter_start(&of_model, NULL);
  samara_meter_start(&of_session, NULL);
  samara_error error;
  samara_model *model = NULL;
  samara_session *session = NULL;
  samara_pool *pool = NULL;
  const samara_model_options opening = {.struct_size = sizeof opening,
                                        .allocator = &of_model.allocator};
  if (samara_model_open_path(argv[1], &opening, &model, &error) != SAMARA_OK)
    return probe_fail(&error);
  const unsigned long long opened = of_model.live_bytes;
  const samara_pool_options threads = {.struct_size = sizeof threads,
                                       .threads = strtoul(argv[3], NULL, 10)};
  if (samara_pool_create(&threads, &pool, &error) != SAMARA_OK) return probe_fail(&error);
  const samara_session_options options = {.struct_size = sizeof options,
                                          .pool = pool,
                                          .allocator = &of_session.allocator,
                                          .isa = argv[2]};
  if (samara_session_create(model, &options, &session, &error) != SAMARA_OK)
    return probe_fail(&error);
  size_t count = 0;
  if (samara_session_memory(session, rows, PROBE_ROWS, &count) != SAMARA_OK || count > PROBE_ROWS)
    return 3;
  unsigned long long sums[SAMARA_MEMORY_STRUCTURE + 1] = {0};
  for (size_t i = 0; i < count; i++) sums[rows[i].kind] += rows[i].size_bytes;
  printf("%u %llu %llu %llu %llu %llu %llu %llu\n", (unsigned)(8 * sizeof(void *)), opened,
         (unsigned long long)of_model.live_bytes - opened,
         (unsigned long long)of_session.live_bytes, sums[SAMARA_MEMORY_ARENA],
         sums[SAMARA_MEMORY_BLOCK], sums[SAMARA_MEMORY_VARIABLE], sums[SAMARA_MEMORY_STRUCTURE]);
  samara_session_destroy(session);
  samara_pool_destroy(pool);
  samara_model_close(model);
  return of_model.live_bytes == 0 && of_session.live_bytes == 0 ? 0 : 4;
}
