// SPDX-License-Identifier: Apache-2.0
// The mirror, a device for tests: it runs every node with samara's single operators, in its own
// memory, and fails on request. These are its exports beside samara_backend_entry.
//
// A session on it gives the bits of a CPU session with strict_accuracy and the instruction sets of
// SAMARA_ISA. Without strict_accuracy a CPU session may compute convolutions of constant weights by
// Winograd's transforms, which single operators do not; its option `isa` does not reach a device.
//
// Names of functions are those of samara_backend_table: "probe", "submit" … Settings and counts are
// of the process, and may be used from any thread.
#ifndef SMR_TESTS_MIRROR_H
#define SMR_TESTS_MIRROR_H

#include <samara/samara_backend.h>

SAMARA_API const samara_backend_table *samara_backend_entry(void);

/// Let the `at_call`-th call of `function` from here on fail, once; -1: all of them; 0: none.
/// supports then says no. requirements and release cannot fail.
SAMARA_API void mirror_fail(const char *function, int at_call);
/// Failures blame the data, SAMARA_BAD_DATA, from here on.
SAMARA_API void mirror_blame(void);
/// Flip a bit of the first output of the `node_call`-th node that is computed from here on; 0:
/// none. It is one of the first element: its largest exponent bit, or the last bit of an integer.
SAMARA_API void mirror_lie(int node_call);
/// Handles that are alive: devices, programs, constants, memory.
SAMARA_API int mirror_live(void);
/// How often `name` was called: a function; "node" counts nodes that were computed, "prepare" those
/// that were prepared for new shapes. -1: there is no such name.
SAMARA_API int mirror_calls(const char *name);
/// How long compile sleeps, in nanoseconds; a smaller number wakes it.
SAMARA_API void mirror_slow(uint64_t ns);
/// Whether copy and submit return tickets, of work that is done, so that wait is called; else 0.
SAMARA_API void mirror_tickets(bool on);
/// No faults, no delays, no tickets, counts at 0. Handles stay.
SAMARA_API void mirror_reset(void);

#endif
