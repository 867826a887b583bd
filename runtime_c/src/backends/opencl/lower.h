// SPDX-License-Identifier: Apache-2.0
// What rows of operators share: checks, boxes of elements, and the rows of each family.
#ifndef SMR_BACKENDS_OPENCL_LOWER_H
#define SMR_BACKENDS_OPENCL_LOWER_H

#include "backends/opencl/launch.h"
#include "base/parts.h"

/// A row whose kernels are in file `part`: nothing of it stays where the build leaves that out.
#define SMR_CL_ROW(part, op, fits, kernels, lower)                    \
  {SMR_HAS(cl_##part) ? #op : "", SMR_HAS(cl_##part) ? (fits) : NULL, \
   SMR_HAS(cl_##part) ? (kernels) : NULL, SMR_HAS(cl_##part) ? (lower) : NULL, SMR_PART_cl_##part}

enum {
  SMR_CL_AXES = 6,      // most axes of what is walked element by element
  SMR_CL_OPERANDS = 4,  // of a box
};

/// A box of elements and where they lie in some tensors. The last axis is the row.
struct smr_cl_box {
  int32_t rank, operands;
  int64_t dims[SAMARA_MAX_RANK];
  int64_t strides[SMR_CL_OPERANDS][SAMARA_MAX_RANK];  // in elements
};

/// Bytes of an element; 0 for types of 4 bits.
size_t smr_cl_element(samara_dtype dtype);
/// "f32", "f16" by 0 and 1; -1 for others.
int smr_cl_float(samara_dtype dtype);
/// Whether all tensors of the node have at most `rank` axes and fewer than 2^31 elements, as far as
/// their dims are known; else *why.
bool smr_cl_sizes_fit(const struct smr_cl_node *node, int32_t rank, const char **why);
/// Whether elements of all tensors have whole bytes and lie plain.
bool smr_cl_plain(const struct smr_cl_node *node, const char **why);
/// `axis` of an attribute, counted from the front.
int32_t smr_cl_axis(const struct smr_cl_node *node, const char *name, int32_t rank);
int64_t smr_cl_int(const struct smr_cl_node *node, const char *name);
float smr_cl_number(const struct smr_cl_node *node, const char *name);

/// Dense strides of a tensor, those of axes of size 1 being 0; aligned to the right of `rank` axes.
void smr_cl_strides(const samara_region_tensor *tensor, int32_t rank, int64_t *strides);
/// The box of the dims of `y`, with operands that broadcast to it.
void smr_cl_box_of(struct smr_cl_box *box, const samara_region_tensor *y,
                   const samara_region_tensor *const *operands, int32_t count);
/// On a CPU, make the longest axis the row where rows are short: its items do much each.
void smr_cl_box_turn(const struct smr_cl_node *node, struct smr_cl_box *box);
/// Join axes that lie one behind the other in all operands, and make them SMR_CL_AXES, with axes
/// of size 1 in front. The box has at most SMR_CL_AXES axes of other sizes.
void smr_cl_box_join(struct smr_cl_box *box);
/// Set ints 0 to 6 (length of a row, items of a row, dims of rows) and the items of the launch.
void smr_cl_rows_of(const struct smr_cl_node *node, struct smr_cl_launch *launch,
                    const struct smr_cl_box *box);
/// Items that walk `n` elements together, each in steps of all of them.
int32_t smr_cl_walkers(const struct smr_cl_node *node, int64_t n);
/// Five strides of rows into ints [first, first + 5), the one along the row into ints[along].
void smr_cl_put_strides(struct smr_cl_launch *launch, const struct smr_cl_box *box, int32_t operand,
                        int32_t first, int32_t along);
/// Add a launch over all elements of output 0, of input 0, in steps of the number of items: ints 0
/// and 1. NULL: there is nothing to do.
struct smr_cl_launch *smr_cl_walk(const struct smr_cl_node *node, struct smr_cl_launches *out,
                                  uint16_t kernel);
/// Add a launch over rows of output 0, to which the first `count` inputs (at most SMR_CL_OPERANDS)
/// broadcast: ints 0 to 12 and those from 16 on of further operands, as in binary.cl and where.cl.
/// NULL: there is nothing to do.
struct smr_cl_launch *smr_cl_broadcast(const struct smr_cl_node *node, struct smr_cl_launches *out,
                                       uint16_t kernel, int32_t count);
void smr_cl_set_items(struct smr_cl_launch *launch, int64_t a, int64_t b, int64_t c);
/// lo, hi, activation, its alpha and beta, bias and residual, as kernels of products take them.
void smr_cl_epilogue(const struct smr_cl_node *node, struct smr_cl_launch *launch);
/// Which of f32, f32 with f16 weights, f16, f32 with int8 panels a product is; -1: none of them,
/// and *why.
int smr_cl_product_types(const struct smr_cl_node *node, const char **why);
/// The table of scales and zero points of int8 weights beside floats, as buffer 4.
void smr_cl_narrow(const struct smr_cl_node *node, struct smr_cl_launches *out,
                   struct smr_cl_launch *launch);
/// Launch the product of matrix x [rows, depth] with panels w.
void smr_cl_panel_product(const struct smr_cl_node *node, struct smr_cl_launches *out, int64_t rows,
                          int64_t depth, int64_t columns);
void smr_cl_panel_kernels(const struct smr_cl_node *node, bool *kernels);

enum { SMR_CL_TILED = 3 };  // types of products that have small tiles

/// What an item of a product or a convolution makes, and the kernel that does it.
struct smr_cl_tile {
  uint16_t kernel;
  uint8_t rows, columns;
  bool turned;  // items beside each other make the columns of one row, not rows
};
/// Whether the weights are so few that the cache of a core of a CPU keeps them.
bool smr_cl_stays(const struct smr_cl_node *node);
/// Whether tiles of 4 x 4 are enough to keep a device busy that makes `outputs` numbers.
bool smr_cl_is_much(const struct smr_cl_node *node, int64_t outputs);
/// Have the lanes of subgroups do together what an item of the launch does, which walks along `n`
/// elements: where the device and the kernel can do that, and the device would idle else.
void smr_cl_share(const struct smr_cl_node *node, struct smr_cl_launch *launch, int64_t n);
/// Set kernels[kernel], and what smr_cl_share may make of it.
void smr_cl_set_kernel(const struct smr_cl_node *node, bool *kernels, uint16_t kernel);
/// Set the items of a launch that makes `rows` x `columns` outputs, and the int that says which way
/// they lie.
void smr_cl_set_tiles(struct smr_cl_launch *launch, const struct smr_cl_tile *tile, int64_t rows,
                      int64_t columns, int64_t batch);
/// Ints, buffers (but residual) and items of a product of matrices, `tall` rows an item.
void smr_cl_multiply(const struct smr_cl_node *node, struct smr_cl_launch *launch, int64_t tall);
/// Ints, buffers (but residual) and items of a convolution.
void smr_cl_convolve(const struct smr_cl_node *node, struct smr_cl_launch *launch, bool depthwise,
                     const struct smr_cl_tile *tile);
/// Whether no dim of the weights is symbolic: kernels of convolutions are chosen by them.
bool smr_cl_knows_weights(const struct smr_cl_node *node, const char **why);
/// Whether a convolution has one channel in and one out of every group.
bool smr_cl_is_depthwise(const struct smr_cl_node *node);
/// The ints of a pool's window: 0 to 15, and 16 to 25.
void smr_cl_pool(const struct smr_cl_node *node, struct smr_cl_launch *launch);
/// Ints 0 to 27 of a reduction along `axes`.
void smr_cl_reduction(const struct smr_cl_node *node, struct smr_cl_launch *launch);
/// Whether every value of the list attribute is `value`, and none may change.
bool smr_cl_all(const struct smr_cl_node *node, const char *name, int64_t value);

/// A family's rows: a list that ends with a row without op.
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
