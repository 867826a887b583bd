// SPDX-License-Identifier: Apache-2.0
// The operator `trap`: a place the model must not reach; running it fails with its message.
#include "base/fp.h"

#include "session/session.h"

#include "ops/attrs.h"

samara_status smr_trap_run(struct smr_frame *frame, struct smr_frame_node *node) {
  const struct smr_attr *message = smr_op_attr(&node->job, "message");
  SMR_FAIL(&frame->session->error, TRAP, "%.*s", (int)(message->count < 400 ? message->count : 400),
           message->text != NULL ? message->text : "");
}
