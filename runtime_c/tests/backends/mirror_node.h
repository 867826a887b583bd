// SPDX-License-Identifier: Apache-2.0
// A node of the mirror as a single operator: prepare, run, release.
#ifndef SMR_TESTS_MIRROR_NODE_H
#define SMR_TESTS_MIRROR_NODE_H

#include <samara/samara_backend.h>
#include <samara/samara_experimental.h>

/// A node of a program.
struct mirror_node {
  samara_op *op;             // NULL: to be prepared
  const void **inputs;       // input_count addresses
  void **outputs;            // output_count addresses, of `spare` where there is one
  unsigned char **unpacked;  // by input: the plain form of a packed constant; NULL: not packed
  unsigned char **spare;     // by output: where it is computed if it overlaps an input; else NULL
  uint32_t input_count, output_count;
};

/// The address of a tensor in the mirror's memory; NULL and a text if it has none.
typedef unsigned char *(*mirror_address_fn)(const samara_region_tensor *tensor,
                                            samara_error *error);

/// Whether the node can be a single operator; if not, `reason` says why.
bool mirror_node_supported(const samara_region *region, const samara_region_node *node,
                           char *reason, size_t reason_size);
/// Prepare the operator for the region's shapes and places. `node` is zeroed, or was prepared.
samara_status mirror_node_prepare(const samara_region *region, const samara_region_node *source,
                                  mirror_address_fn address, struct mirror_node *node,
                                  samara_error *error);
/// Compute. Addresses are those of prepare.
samara_status mirror_node_run(const samara_region *region, const samara_region_node *source,
                              samara_op_context *context, const struct mirror_node *node,
                              mirror_address_fn address, samara_error *error);
/// Free what prepare made.
void mirror_node_clear(struct mirror_node *node);

#endif
