// SPDX-License-Identifier: Apache-2.0
// The operator `trap`: it fails with its message; what comes before it still happens.
#include "base/fp.h"

#include "harness.h"

#include "ops/table/opattrs.h"
#include "session/model_literal.h"

static int count_nodes(void *user, const char *node, const char *const *names,
                       const samara_tensor *tensors, size_t count) {
  (void)node, (void)names, (void)tensors, (void)count;
  ++*(int *)user;
  return 0;
}

SMR_TEST(the_message_is_the_models_whatever_its_length) {
  static char message[600];
  memset(message, 'm', sizeof message);
  static const uint32_t lengths[] = {0, 1, 400, 600};
  for (size_t i = 0; i < 4; i++) {
    struct literal *l = literal_new();
    struct literal_function *f = literal_add(l, "main", true);
    const uint32_t n = literal_int(f, 2);
    const uint32_t x = literal_input(f, literal_vector(f, "x", n));
    const uint32_t z = literal_vector(f, "z", n);
    const uint32_t y = literal_map(f, smr_op_find(SMR_CODE_NEG), "neg", LITERAL_LIST(x), "y", n);
    const uint32_t node =
        literal_node(f, smr_op_find(SMR_CODE_TRAP), "stop", LITERAL_LIST(y), LITERAL_LIST(z));
    literal_attr(f, node, "message", (struct smr_attr){.text = message, .count = lengths[i]});
    literal_output(f, z, "z");
    samara_session *s = literal_open(l);
    int nodes = 0;
    samara_session_watch(s, count_nodes, &nodes);
    CHECK_EQ_INT(samara_session_run(s), SAMARA_TRAP);
    CHECK_EQ_INT(nodes, 1);
    const char *text = samara_session_error(s);
    const char *expected = "function 'main', node 'stop' (trap): ";
    CHECK(strncmp(text, expected, strlen(expected)) == 0);
    CHECK_EQ_INT(strspn(text + strlen(expected), "m"), lengths[i] < 400 ? lengths[i] : 400);
    literal_close(s, l);
  }
}

SMR_TEST_MAIN(RUN(the_message_is_the_models_whatever_its_length))
