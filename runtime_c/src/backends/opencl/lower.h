// SPDX-License-Identifier: Apache-2.0
// Shared by the operators' rows: checks, boxes of elements, and the rows of each family.
#ifndef SMR_BACKENDS_OPENCL_LOWER_H
#define SMR_BACKENDS_OPENCL_LOWER_H

#include "backends/opencl/launch.h"
#include "base/parts.h"

/// A row whose kernels are in file `part`; absent if the build leaves that out.
#define SMR_CL_ROW(part, op, fits, kernels, lower)                    \
  {SMR_HAS(cl_##part) ? #op : "", SMR_HAS(cl_##part) ? (fits) : NULL, \
   SMR_HAS(cl_##part) ? (kernels) : NULL, SMR_HAS(cl_##part) ? (lower) : NULL, SMR_PART_cl_##part}

enum {
  SMR_CL_AXES = 6,      // most axes of elementwise loops
  SMR_CL_OPERANDS = 4,  // most operands of a box
};

/// A box of elements and its strides in some tensors. The last axis is the row.
struct smr_cl_box {
  int32_t rank, operands;
  int64_t dims[SAMARA_MAX_RANK];
  int64_t strides[SMR_CL_OPERANDS][SAMARA_MAX_RANK];  // in elements
};

/// Bytes of an element; 0 for types of 4 bits.
size_t smr_cl_element(samara_dtype dtype);
/// 0 for float32, 1 for float16; -1 for others.
int smr_cl_float(samara_dtype dtype);
/// Whether all tensors of the node have at most `rank` axes and, for known dims, fewer than 2^31
/// elements; else *why.
bool smr_cl_sizes_fit(const struct smr_cl_node *node, int32_t rank, const char **why);
/// Whether all tensors have the plain layout and elements of whole bytes.
bool smr_cl_plain(const struct smr_cl_node *node, const char **why);
/// `axis` of an attribute, counted from the front.
int32_t smr_cl_axis(const struct smr_cl_node *node, const char *name, int32_t rank);
int64_t smr_cl_int(const struct smr_cl_node *node, const char *name);
float smr_cl_number(const struct smr_cl_node *node, const char *name);

/// Dense strides of a tensor, 0 for axes of size 1; right-aligned in `rank` axes.
void smr_cl_strides(const samara_region_tensor *tensor, int32_t rank, int64_t *strides);
/// The box with the dims of `y`, and operands that broadcast to it.
void smr_cl_box_of(struct smr_cl_box *box, const samara_region_tensor *y,
                   const samara_region_tensor *const *operands, int32_t count);
/// On a CPU, make the longest axis the row if rows are short, so that items have more work.
void smr_cl_box_turn(const struct smr_cl_node *node, struct smr_cl_box *box);
/// Merge axes that are contiguous in all operands, and pad to SMR_CL_AXES axes with leading axes of
/// size 1. At most SMR_CL_AXES axes may have other sizes.
void smr_cl_box_join(struct smr_cl_box *box);
/// Set ints 0 to 6 (length of a row, items of a row, dims of rows) and the items of the launch.
void smr_cl_rows_of(const struct smr_cl_node *node, struct smr_cl_launch *launch,
                    const struct smr_cl_box *box);
/// Set the items of a launch that share `n` elements; each advances by the number of items.
int32_t smr_cl_walkers(const struct smr_cl_node *node, int64_t n);
/// Set ints [first, first + 5) to the strides of rows, and ints[along] to the stride along the row.
void smr_cl_put_strides(struct smr_cl_launch *launch, const struct smr_cl_box *box, int32_t operand,
                        int32_t first, int32_t along);
/// Add a launch over all elements of output 0 and input 0 (ints 0 and 1). NULL: nothing to compute.
struct smr_cl_launch *smr_cl_walk(const struct smr_cl_node *node, struct smr_cl_launches *out,
                                  uint16_t kernel);
/// Add a launch over rows of output 0, to which the first `count` inputs (at most SMR_CL_OPERANDS)
/// broadcast: ints 0 to 12, and from 16 on for further operands, as in binary.cl and where.cl.
/// NULL: nothing to compute.
struct smr_cl_launch *smr_cl_broadcast(const struct smr_cl_node *node, struct smr_cl_launches *out,
                                       uint16_t kernel, int32_t count);
void smr_cl_set_items(struct smr_cl_launch *launch, int64_t a, int64_t b, int64_t c);
/// Set lo, hi, activation, alpha, beta, bias and residual for kernels of products.
void smr_cl_epilogue(const struct smr_cl_node *node, struct smr_cl_launch *launch);
/// The type of a product: f32, f32 with f16 weights, f16, f32 with int8 panels; else -1 and *why.
int smr_cl_product_types(const struct smr_cl_node *node, const char **why);
/// Add the table of scales and zero points of int8 weights in float products, as buffer 4.
void smr_cl_narrow(const struct smr_cl_node *node, struct smr_cl_launches *out,
                   struct smr_cl_launch *launch);
/// Add the product of matrix x [rows, depth] with panels w.
void smr_cl_panel_product(const struct smr_cl_node *node, struct smr_cl_launches *out, int64_t rows,
                          int64_t depth, int64_t columns);
void smr_cl_panel_kernels(const struct smr_cl_node *node, bool *kernels);

enum { SMR_CL_TILED = 3 };  // types of products with small tiles

/// The tile that an item of a product or convolution computes, and its kernel.
struct smr_cl_tile {
  uint16_t kernel;
  uint8_t rows, columns;
  bool turned;  // adjacent items compute columns of one row, not rows
};
/// Whether the weights fit in the cache of a CPU core.
bool smr_cl_stays(const struct smr_cl_node *node);
/// Whether 4 x 4 tiles of `outputs` outputs are enough to keep the device busy.
bool smr_cl_is_much(const struct smr_cl_node *node, int64_t outputs);
/// Let the lanes of a subgroup share the work of an item, which loops over `n` elements, if device
/// and kernel support it and the device would otherwise idle.
void smr_cl_share(const struct smr_cl_node *node, struct smr_cl_launch *launch, int64_t n);
/// Set kernels[kernel], and the kernel that smr_cl_share may replace it with.
void smr_cl_set_kernel(const struct smr_cl_node *node, bool *kernels, uint16_t kernel);
/// Set the items of a launch that computes `rows` x `columns` outputs, and the int for their order.
void smr_cl_set_tiles(struct smr_cl_launch *launch, const struct smr_cl_tile *tile, int64_t rows,
                      int64_t columns, int64_t batch);
/// Set ints, buffers (except residual) and items of a matrix product with `tall` rows per item.
void smr_cl_multiply(const struct smr_cl_node *node, struct smr_cl_launch *launch, int64_t tall);
/// Set ints, buffers (except residual) and items of a convolution.
void smr_cl_convolve(const struct smr_cl_node *node, struct smr_cl_launch *launch, bool depthwise,
                     const struct smr_cl_tile *tile);
/// Whether the weights have no symbolic dim, because the choice of a convolution's kernel depends
/// on them.
bool smr_cl_knows_weights(const struct smr_cl_node *node, const char **why);
/// Whether every group of a convolution has one input and one output channel.
bool smr_cl_is_depthwise(const struct smr_cl_node *node);
/// Set the ints of a pool's window: 0 to 25.
void smr_cl_pool(const struct smr_cl_node *node, struct smr_cl_launch *launch);
/// Set ints 0 to 27 of a reduction along `axes`.
void smr_cl_reduction(const struct smr_cl_node *node, struct smr_cl_launch *launch);
/// Whether every value of the list attribute is the constant `value`.
bool smr_cl_all(const struct smr_cl_node *node, const char *name, int64_t value);

/// The rows of each family; lists end with a row without op.
const struct smr_cl_row *smr_cl_conv_rows(void);
const struct smr_cl_row *smr_cl_matmul_rows(void);
const struct smr_cl_row *smr_cl_pointwise_rows(void);
const struct smr_cl_row *smr_cl_move_rows(void);
const struct smr_cl_row *smr_cl_pool_rows(void);
const struct smr_cl_row *smr_cl_reduce_rows(void);
const struct smr_cl_row *smr_cl_norm_rows(void);
const struct smr_cl_row *smr_cl_integer_rows(void);
const struct smr_cl_row *smr_cl_qproduct_rows(void);
const struct smr_cl_row *smr_cl_sample_rows(void);
const struct smr_cl_row *smr_cl_attention_rows(void);
const struct smr_cl_row *smr_cl_recurrent_rows(void);
const struct smr_cl_row *smr_cl_indexed_rows(void);

#endif
