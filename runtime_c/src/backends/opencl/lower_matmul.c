// SPDX-License-Identifier: Apache-2.0
// Matrix products, and code shared by all float products.
#include "base/fp.h"

#include "backends/opencl/lower.h"

enum { CL_PANEL_LANES = 16, CL_WIDE_LANES = 32, CL_TALL_ROWS = 8, CL_FLAT_ROWS = 2 };

int smr_cl_product_types(const struct smr_cl_node *node, const char **why) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *w = smr_cl_input(node, 1);
  if (x->dtype == SAMARA_FLOAT32 && w->dtype == SAMARA_FLOAT32) return 0;
  if (x->dtype == SAMARA_FLOAT32 && w->dtype == SAMARA_FLOAT16) return 1;
  if (x->dtype == SAMARA_FLOAT16 && w->dtype == SAMARA_FLOAT16) return 2;
  if (x->dtype == SAMARA_FLOAT32 && w->dtype == SAMARA_QINT8 && w->layout == SAMARA_LAYOUT_PANEL)
    return 3;
  *why = "products are of float32 or float16 only";
  return -1;
}

void smr_cl_narrow(const struct smr_cl_node *node, struct smr_cl_launches *out,
                   struct smr_cl_launch *launch) {
  const samara_region_tensor *w = smr_cl_input(node, 1), *y = smr_cl_output(node, 0);
  const size_t columns = (size_t)y->shape[y->rank - 1];
  if (!SMR_HAS(type_qint8) || w->dtype != SAMARA_QINT8) return;
  float *table = (float *)smr_cl_table(out, launch, 4, 2 * columns * sizeof *table);
  for (size_t i = 0; i < columns && table != NULL; i++) {
    const size_t at = w->quant_count > 1 ? i : 0;
    table[i] = w->scales[at];
    table[columns + i] = w->zero_points == NULL ? 0.0f : (float)w->zero_points[at];
  }
}

void smr_cl_epilogue(const struct smr_cl_node *node, struct smr_cl_launch *launch) {
  const samara_region_tensor *bias = smr_cl_input(node, 2), *residual = smr_cl_input(node, 3);
  smr_cl_bind(launch, 2, bias);
  smr_cl_bind(launch, 3, residual);
  launch->ints[16 + 9] = (int32_t)smr_cl_int(node, "post");
  launch->ints[16 + 10] = (bias != NULL ? 1 : 0) | (residual != NULL ? 2 : 0);
  launch->floats[0] = smr_cl_number(node, "lo");
  launch->floats[1] = smr_cl_number(node, "hi");
  launch->floats[2] = smr_cl_number(node, "post_alpha");
  launch->floats[3] = smr_cl_number(node, "post_beta");
}

static const uint16_t cl_panel_tall[4] = {SMR_CL_matmul_f32, SMR_CL_matmul_f32_f16,
                                          SMR_CL_matmul_f16, SMR_CL_matmul_f32_i8};
static const uint16_t cl_panel_4x4[SMR_CL_TILED] = {
    SMR_CL_matmul_f32_4x4, SMR_CL_matmul_f32_f16_4x4, SMR_CL_matmul_f16_4x4};
static const uint16_t cl_panel_1x4[SMR_CL_TILED] = {
    SMR_CL_matmul_f32_1x4, SMR_CL_matmul_f32_f16_1x4, SMR_CL_matmul_f16_1x4};
static const uint16_t cl_panel_flat[4] = {SMR_CL_matvec_f32, SMR_CL_matvec_f32_f16,
                                          SMR_CL_matvec_f16, SMR_CL_matvec_f32_i8};
static const uint16_t cl_plain_product[3] = {SMR_CL_matmul_plain_f32, SMR_CL_matmul_plain_f32_f16,
                                             SMR_CL_matmul_plain_f16};
static const uint16_t cl_any_product[3] = {SMR_CL_matmul_any_f32, SMR_CL_matmul_any_f32_f16,
                                           SMR_CL_matmul_any_f16};

static int64_t cl_blocks(int64_t n, int64_t block) { return (n + block - 1) / block; }

static bool cl_panel_has_small(const struct smr_cl_node *node, int types) {
  return !node->features->cpu && types < SMR_CL_TILED;
}

static struct smr_cl_tile cl_panel_wide(const struct smr_cl_node *node, int types) {
  if (types >= SMR_CL_TILED)
    return (struct smr_cl_tile){cl_panel_tall[types], CL_TALL_ROWS, CL_PANEL_LANES, false};
  return (struct smr_cl_tile){cl_panel_tall[types], CL_TALL_ROWS, CL_WIDE_LANES,
                              smr_cl_stays(node)};
}

static struct smr_cl_tile cl_panel_tile(const struct smr_cl_node *node, int types, int64_t rows,
                                        int64_t columns) {
  const bool tall = rows > CL_FLAT_ROWS;
  if (!cl_panel_has_small(node, types)) {
    if (tall) return cl_panel_wide(node, types);
    return (struct smr_cl_tile){cl_panel_flat[types], 1, CL_PANEL_LANES, false};
  }
  if (tall && smr_cl_is_much(node, rows * columns))
    return (struct smr_cl_tile){cl_panel_4x4[types], 4, 4, true};
  return (struct smr_cl_tile){cl_panel_1x4[types], 1, 4, true};
}

// Whether a product may have that few rows.
static bool cl_panel_may_be_flat(const struct smr_cl_node *node) {
  const samara_region_tensor *y = smr_cl_output(node, 0);
  int64_t rows = 1;
  for (int32_t i = 0; i + 1 < y->rank; i++) rows *= y->shape[i] < 0 ? 1 : y->shape[i];
  return rows <= CL_FLAT_ROWS;
}

void smr_cl_panel_kernels(const struct smr_cl_node *node, bool *kernels) {
  const char *why;
  const int types = smr_cl_product_types(node, &why);
  const bool small = cl_panel_has_small(node, types);
  kernels[small ? cl_panel_4x4[types] : cl_panel_tall[types]] = true;
  const uint16_t flat = small ? cl_panel_1x4[types] : cl_panel_flat[types];
  kernels[flat] = true;
  if (cl_panel_may_be_flat(node)) smr_cl_set_kernel(node, kernels, flat);
}

// Add the product of [batch..., rows, depth] and [..., depth, columns]; strides are still 0.
static struct smr_cl_launch *cl_product(const struct smr_cl_node *node, struct smr_cl_launches *out,
                                        const struct smr_cl_tile *tile, int64_t rows, int64_t depth,
                                        int64_t columns, int64_t batch) {
  struct smr_cl_launch *launch = smr_cl_add(out, node->index, (enum smr_cl_kernel)tile->kernel);
  smr_cl_bind(launch, 0, smr_cl_input(node, 0));
  smr_cl_bind(launch, 1, smr_cl_input(node, 1));
  smr_cl_bind(launch, 5, smr_cl_output(node, 0));
  smr_cl_epilogue(node, launch);
  launch->ints[0] = (int32_t)rows;
  launch->ints[1] = (int32_t)columns;
  launch->ints[2] = (int32_t)depth;
  for (int32_t i = 8; i < 12; i++) launch->ints[i] = 1;
  smr_cl_set_tiles(launch, tile, rows, columns, batch);
  return launch;
}

void smr_cl_panel_product(const struct smr_cl_node *node, struct smr_cl_launches *out, int64_t rows,
                          int64_t depth, int64_t columns) {
  if (rows == 0 || columns == 0) return;
  const char *why;
  const int types = smr_cl_product_types(node, &why);
  const samara_region_tensor *w = smr_cl_input(node, 1);
  const struct smr_cl_tile tile = cl_panel_tile(node, types, rows, columns);
  struct smr_cl_launch *launch = cl_product(node, out, &tile, rows, depth, columns, 1);
  launch->ints[3] = (int32_t)depth;
  launch->ints[4] = 1;
  launch->ints[5] = (int32_t)(w->panel_stride_bytes / smr_cl_element(w->dtype));
  if (rows <= CL_FLAT_ROWS) smr_cl_share(node, launch, depth);
  smr_cl_narrow(node, out, launch);
}

static bool cl_matmul_fits(const struct smr_cl_node *node, const char **why) {
  const samara_region_tensor *w = smr_cl_input(node, 1);
  if (!smr_cl_sizes_fit(node, 6, why) || smr_cl_product_types(node, why) < 0) return false;
  if (w->layout == SAMARA_LAYOUT_DWPANEL) {
    *why = "the layout of its weights is not supported";
    return false;
  }
  return true;
}

static void cl_matmul_kernels(const struct smr_cl_node *node, bool *kernels) {
  const char *why;
  const int types = smr_cl_product_types(node, &why);
  const samara_region_tensor *w = smr_cl_input(node, 1);
  if (w->layout == SAMARA_LAYOUT_PANEL && smr_cl_int(node, "transpose_x") == 0)
    smr_cl_panel_kernels(node, kernels);
  else if (w->layout == SAMARA_LAYOUT_PANEL)
    kernels[cl_panel_tall[types]] = true;
  else if (smr_cl_int(node, "transpose_w") == 0)
    kernels[cl_plain_product[types]] = true;
  else
    kernels[cl_any_product[types]] = true;
}

void smr_cl_multiply(const struct smr_cl_node *node, struct smr_cl_launch *launch, int64_t tall) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *w = smr_cl_input(node, 1);
  const samara_region_tensor *y = smr_cl_output(node, 0);
  const bool turned_x = smr_cl_int(node, "transpose_x") != 0;
  const bool turned_w = smr_cl_int(node, "transpose_w") != 0;
  const bool panels = w->layout == SAMARA_LAYOUT_PANEL;
  const int64_t rows = y->shape[y->rank - 2], columns = y->shape[y->rank - 1];
  const int64_t depth = x->shape[x->rank - (turned_x ? 2 : 1)];
  // At most four batch dims, right-aligned.
  int64_t batch = 1, dims[4] = {1, 1, 1, 1}, strides[2][4] = {{0}};
  const int32_t lead = y->rank - 2;
  for (int32_t i = 0; i < lead; i++) {
    dims[4 - lead + i] = y->shape[i];
    batch *= y->shape[i];
  }
  for (int32_t k = 0; k < 2; k++) {
    const samara_region_tensor *t = k == 0 ? x : w;
    int64_t stride = t->shape[t->rank - 2] * t->shape[t->rank - 1];
    for (int32_t i = t->rank - 2, at = 3; i-- > 0; at--) {
      strides[k][at] = t->shape[i] == 1 ? 0 : stride;
      stride *= t->shape[i];
    }
  }
  smr_cl_bind(launch, 0, x);
  smr_cl_bind(launch, 1, w);
  smr_cl_bind(launch, 2, smr_cl_input(node, 2));
  smr_cl_bind(launch, 5, y);
  launch->ints[0] = (int32_t)rows;
  launch->ints[1] = (int32_t)columns;
  launch->ints[2] = (int32_t)depth;
  launch->ints[3] = turned_x ? 1 : (int32_t)depth;
  launch->ints[4] = turned_x ? (int32_t)rows : 1;
  launch->ints[5] = panels ? (int32_t)(w->panel_stride_bytes / smr_cl_element(w->dtype)) : 0;
  launch->ints[6] = turned_w ? 1 : (int32_t)columns;
  launch->ints[7] = turned_w ? (int32_t)depth : 1;
  for (int32_t i = 0; i < 4; i++) {
    launch->ints[8 + i] = (int32_t)dims[i];
    launch->ints[12 + i] = (int32_t)strides[0][i];
    launch->ints[16 + i] = panels ? 0 : (int32_t)strides[1][i];
  }
  smr_cl_set_items(launch, cl_blocks(rows, tall), cl_blocks(columns, CL_PANEL_LANES), batch);
}

static void cl_matmul_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const char *why;
  const int types = smr_cl_product_types(node, &why);
  const samara_region_tensor *x = smr_cl_input(node, 0), *w = smr_cl_input(node, 1);
  const samara_region_tensor *y = smr_cl_output(node, 0);
  const bool turned_x = smr_cl_int(node, "transpose_x") != 0;
  const bool turned_w = smr_cl_int(node, "transpose_w") != 0;
  const int64_t columns = y->shape[y->rank - 1];
  const int64_t depth = x->shape[x->rank - (turned_x ? 2 : 1)];
  const bool panels = w->layout == SAMARA_LAYOUT_PANEL;
  if (smr_cl_numel(y) == 0) return;
  if (panels && !turned_x) {
    smr_cl_panel_product(node, out, smr_cl_numel(y) / columns, depth, columns);
    return;
  }
  const uint16_t kernel = panels     ? cl_panel_tall[types]
                          : turned_w ? cl_any_product[types]
                                     : cl_plain_product[types];
  struct smr_cl_launch *launch = smr_cl_add(out, node->index, (enum smr_cl_kernel)kernel);
  smr_cl_multiply(node, launch, CL_TALL_ROWS);
  if (panels) {
    const struct smr_cl_tile tile = cl_panel_wide(node, types);
    smr_cl_set_tiles(launch, &tile, y->shape[y->rank - 2], columns, (int64_t)launch->items[2]);
  }
  smr_cl_epilogue(node, launch);
  smr_cl_narrow(node, out, launch);
}

static const struct smr_cl_row cl_matmul_rows[] = {
    SMR_CL_ROW(matmul, matmul, cl_matmul_fits, cl_matmul_kernels, cl_matmul_lower),
    {.op = NULL},
};

const struct smr_cl_row *smr_cl_matmul_rows(void) { return cl_matmul_rows; }
