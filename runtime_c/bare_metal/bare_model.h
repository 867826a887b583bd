/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a bare-metal build. The model's header declares it with the model's prefix. */
#ifndef SAMARA_BARE_MODEL_H_
#define SAMARA_BARE_MODEL_H_

#include <samara/samara.h>

#define SAMARA_ARENA_ALIGNMENT 8

/* A model in its arena. One thread or one interrupt may use it at a time. */
typedef struct samara_net samara_net;

/* Open the model in the caller's buffer, which must be aligned to SAMARA_ARENA_ALIGNMENT and belong
 * to the model as long as *out is used. The model uses no other memory except the stack. There is
 * nothing to close. `error` may be NULL. SAMARA_OUT_OF_MEMORY if the buffer is too small. */
samara_status samara_open(void *arena, size_t arena_bytes, samara_net **out, samara_error *error);

/* Run the model. (The model's header also has a run with typed arguments.) inputs[i] is read in
 * place and outputs[i] receives output i. A NULL entry, or NULL instead of the array, means the
 * model's own buffers (samara_input). Allocates nothing. */
samara_status samara_run_with(samara_net *net, const void *const *inputs, void *const *outputs);

/* The model's own buffer for input `index`, in its arena. It keeps its contents between runs. */
void *samara_input(samara_net *net, size_t index);

/* Reset the model's variables, if it has any, to their initial values. */
samara_status samara_reset(samara_net *net);

/* Text of the last failure; "" if none. */
const char *samara_message(const samara_net *net);

/* Peak use of the arena in bytes. */
size_t samara_arena_used(const samara_net *net);

#endif
