/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin for qemu-user (TCG plugin interface, version 1): counts the guest's instructions and
 * prints the count to stderr at exit.
 *
 *   cc -shared -fPIC -o count.so tools/qemu_count.c
 *   qemu-aarch64 -plugin ./count.so program
 *
 * With `-plugin ./count.so,mark=N` every system call N of the guest prints the count so far as
 * well.
 *
 * Debian ships no header of the interface, so the used part is declared here (QEMU,
 * docs/devel/tcg-plugins.rst).
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
enum { INLINE_ADD_U64 = 0 };

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
                                           void (*translated)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int operation,
                                              void *counter, uint64_t add);
void qemu_plugin_register_vcpu_syscall_cb(plugin_id id,
                                          void (*called)(plugin_id, unsigned cpu, int64_t number,
                                                         uint64_t, uint64_t, uint64_t, uint64_t,
                                                         uint64_t, uint64_t, uint64_t, uint64_t));
void qemu_plugin_register_atexit_cb(plugin_id id, void (*done)(plugin_id, void *), void *user);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t executed;
static int64_t marked = -1;

static void on_translate(plugin_id id, struct qemu_plugin_tb *block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, INLINE_ADD_U64, &executed,
                                           qemu_plugin_tb_n_insns(block));
}

static void on_call(plugin_id id, unsigned cpu, int64_t number, uint64_t a, uint64_t b, uint64_t c,
                    uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
  (void)id, (void)cpu, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
  if (number == marked) fprintf(stderr, "mark %" PRIu64 "\n", executed);
}

static void on_finish(plugin_id id, void *user) {
  (void)id;
  (void)user;
  fprintf(stderr, "instructions %" PRIu64 "\n", executed);
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void *info,
                                                               int argc, char **argv) {
  (void)info;
  if (argc > 0 && strncmp(argv[0], "mark=", 5) == 0) {
    marked = strtoll(argv[0] + 5, NULL, 10);
    qemu_plugin_register_vcpu_syscall_cb(id, on_call);
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
  qemu_plugin_register_atexit_cb(id, on_finish, NULL);
  return 0;
}
