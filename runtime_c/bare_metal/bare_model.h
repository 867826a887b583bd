/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a bare-metal build, under the model's own prefix in its header. */
#ifndef SAMARA_BARE_MODEL_H_
#define SAMARA_BARE_MODEL_H_

#include <samara/samara.h>

#define SAMARA_ARENA_ALIGNMENT 8

/* A model in its arena. One thread, or one interrupt, at a time. */
typedef struct samara_net samara_net;

/* Open the model in a buffer of the caller's, aligned to SAMARA_ARENA_ALIGNMENT, which is the
 * model's as long as *out is used: it holds all that the model needs beside the stack. There is
 * nothing to close. `error` may be NULL. SAMARA_OUT_OF_MEMORY when the buffer is too small. */
samara_status samara_open(void *arena, size_t arena_bytes, samara_net **out, samara_error *error);

/* Run; the header has a run by the model's own types, too. inputs[i] is read where it lies,
 * outputs[i] receives output i; a NULL entry, or NULL for all, means the model's own buffers
 * (samara_input). Allocates nothing. */
samara_status samara_run_with(samara_net *net, const void *const *inputs, void *const *outputs);

/* The model's own buffer for input `index`, in its arena. It keeps what is written to it. */
void *samara_input(samara_net *net, size_t index);

/* Give the model's variables, if it has some, their first values again. */
samara_status samara_reset(samara_net *net);

/* Text of the last failure; "" if none. */
const char *samara_message(const samara_net *net);

/* Bytes of the arena that were ever in use. */
size_t samara_arena_used(const samara_net *net);

#endif
