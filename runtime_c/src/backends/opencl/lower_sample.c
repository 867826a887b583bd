// SPDX-License-Identifier: Apache-2.0
// Resizing.
#include "base/fp.h"

#include "backends/opencl/lower.h"

#include <math.h>
#include <string.h>

// ---- resize: docs/reference/ops.md; coordinates and weights are float64 on the host ----

enum { CL_NEAREST, CL_LINEAR, CL_CUBIC };
enum {
  CL_HALF_PIXEL,
  CL_HALF_PIXEL_SYMMETRIC,
  CL_PYTORCH_HALF_PIXEL,
  CL_ALIGN_CORNERS,
  CL_ASYMMETRIC,
  CL_TF_HALF_PIXEL,
  CL_TF_CROP
};

static int cl_resize_kernel(const struct smr_cl_node *node) {
  const samara_dtype dtype = smr_cl_input(node, 0)->dtype;
  const size_t size = smr_cl_element(dtype);
  if (smr_cl_int(node, "mode") == CL_NEAREST)
    return size == 1   ? SMR_CL_nearest_1
           : size == 2 ? SMR_CL_nearest_2
           : size == 4 ? SMR_CL_nearest_4
                       : -1;
  return dtype == SAMARA_FLOAT32   ? SMR_CL_resize_f32
         : dtype == SAMARA_FLOAT16 ? SMR_CL_resize_f16
                                   : -1;
}

static bool cl_resize_fits(const struct smr_cl_node *node, const char **why) {
  if (cl_resize_kernel(node) < 0) {
    *why = "its element type is not supported";
    return false;
  }
  if (smr_cl_int(node, "coordinate") == CL_TF_CROP || smr_cl_int(node, "antialias") != 0) {
    *why = "crops and wider filters are not supported";
    return false;
  }
  return smr_cl_sizes_fit(node, 5, why);
}

static void cl_resize_kernels(const struct smr_cl_node *node, bool *kernels) {
  kernels[cl_resize_kernel(node)] = true;
}

static double cl_resize_at(int64_t mode, int64_t i, int64_t size, int64_t out, double scale) {
  const double x = (double)i;
  switch (mode) {
    case CL_ALIGN_CORNERS:
      return out > 1 ? x * (double)(size - 1) / (double)(out - 1) : 0.0;
    case CL_ASYMMETRIC:
      return x / scale;
    case CL_TF_HALF_PIXEL:
      return (x + 0.5) / scale;
    case CL_PYTORCH_HALF_PIXEL:
      return out > 1 ? (x + 0.5) / scale - 0.5 : 0.0;
    case CL_HALF_PIXEL_SYMMETRIC:
      return (x + 0.5) / scale - 0.5 +
             (double)size / 2 * (1 - (double)out / (scale * (double)size));
    default:
      return (x + 0.5) / scale - 0.5;
  }
}

static int64_t cl_resize_within(double index, int64_t size) {
  return index<0 ? 0 : index>(double)(size - 1) ? size - 1 : (int64_t)index;
}

static int64_t cl_resize_nearest(double x, int64_t size, int64_t rule) {
  const double rounded = rule == 0   ? ceil(x - 0.5)
                         : rule == 1 ? floor(x + 0.5)
                         : rule == 2 ? floor(x)
                                     : ceil(x);
  return cl_resize_within(rounded, size);
}

static double cl_resize_weight(int64_t mode, double distance, double a) {
  const double d = fabs(distance);
  if (mode == CL_LINEAR) return d < 1 ? 1 - d : 0;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((d - 5) * d + 8) * d * a - 4 * a : 0;
}

// Compute the entries of an axis: `taps` indices and weights per output.
static void cl_resize_axis(const struct smr_cl_node *node, int32_t axis, int64_t size, int64_t out,
                           int32_t taps, int32_t *table) {
  const int64_t mode = smr_cl_int(node, "mode"), coordinate = smr_cl_int(node, "coordinate");
  const bool exclude = smr_cl_int(node, "exclude_outside") != 0;
  const int32_t bits = (int32_t)smr_cl_attribute(node, "scales")->ints[axis];
  float stated;
  memcpy(&stated, &bits, sizeof stated);
  const double scale = bits != 0 ? (double)stated : (double)out / (double)(size < 1 ? 1 : size);
  const double a = (double)smr_cl_number(node, "cubic_a");
  for (int64_t i = 0; i < out; i++, table += 2 * taps) {
    const double at = cl_resize_at(coordinate, i, size, out, scale);
    if (mode == CL_NEAREST) {
      table[0] = (int32_t)cl_resize_nearest(at, size, smr_cl_int(node, "nearest"));
      continue;
    }
    double weights[4], sum = 0;
    for (int32_t k = 0; k < taps; k++) {
      const double index = floor(at) + k - (taps / 2 - 1);
      weights[k] = cl_resize_weight(mode, index - at, a);
      if (exclude && (index < 0 || index >= (double)size)) weights[k] = 0;
      sum += weights[k];
      table[2 * k] = (int32_t)cl_resize_within(index, size);
    }
    for (int32_t k = 0; k < taps; k++) {
      const float weight = (float)(exclude ? weights[k] / sum : weights[k]);
      memcpy(&table[2 * k + 1], &weight, sizeof weight);
    }
  }
}

static void cl_resize_lower(const struct smr_cl_node *node, struct smr_cl_launches *out) {
  const samara_region_tensor *x = smr_cl_input(node, 0), *y = smr_cl_output(node, 0);
  const int64_t mode = smr_cl_int(node, "mode"), channels = x->shape[x->rank - 1];
  const int32_t spatial = x->rank - 2;
  if (smr_cl_numel(y) == 0) return;
  struct smr_cl_launch *launch =
      smr_cl_add(out, node->index, (enum smr_cl_kernel)cl_resize_kernel(node));
  int32_t *p = launch->ints;
  smr_cl_bind(launch, 0, x);
  smr_cl_bind(launch, 5, y);
  p[0] = (int32_t)channels;
  p[1] = smr_cl_walkers(node, channels);
  int64_t entries = 0;
  for (int32_t i = 0; i < 3; i++) {
    const int32_t axis = i - (3 - spatial);
    p[2 + i] = axis < 0 ? 1 : (int32_t)x->shape[1 + axis];
    p[5 + i] = axis < 0 ? 1 : (int32_t)y->shape[1 + axis];
    p[8 + i] = axis < 0 || mode == CL_NEAREST ? 1 : mode == CL_LINEAR ? 2 : 4;
    p[11 + i] = (int32_t)entries;
    entries += (int64_t)p[5 + i] * p[8 + i];
  }
  int32_t *table = (int32_t *)smr_cl_table(out, launch, 1, (size_t)entries * 8);
  if (table == NULL) return;
  for (int32_t i = 0; i < 3; i++) {
    const int32_t axis = i - (3 - spatial);
    const float whole = 1.0f;
    if (axis < 0)
      memcpy(&table[2 * p[11 + i] + 1], &whole, sizeof whole);
    else
      cl_resize_axis(node, axis, p[2 + i], p[5 + i], p[8 + i], table + 2 * p[11 + i]);
  }
  smr_cl_set_items(launch, p[1], smr_cl_numel(y) / channels, 1);
}

static const struct smr_cl_row cl_sample_rows[] = {
    SMR_CL_ROW(resize, resize, cl_resize_fits, cl_resize_kernels, cl_resize_lower),
    {.op = NULL},
};

const struct smr_cl_row *smr_cl_sample_rows(void) { return cl_sample_rows; }
