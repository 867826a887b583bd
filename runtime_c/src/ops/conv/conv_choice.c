// SPDX-License-Identifier: Apache-2.0
// Which algorithm computes a convolution of floats.
#include "base/fp.h"

#include "ops/conv/conv_choice.h"

#include "ops/check/check.h"
#include "ops/conv/conv_winograd.h"
#include "ops/matmul/linear.h"

enum {
  CONV_DIRECT_MOST_DEPTH = 1024,        // taps * channels
  CONV_ROUNDED_COLUMNS = 48,            // of a tile that meets a rounded row
  CONV_DIRECT_MOST_UNFOLDED = 1 << 16,  // quantized weights that may become floats as a whole
};

// Work per multiply-add, by what the kernels take longer for than for a plain product: direct looks
// up an offset for each, indirect starts anew with every tap. They meet at 16 channels.
static const smr_work conv_direct_work = 1.1875, conv_tap_start = 3.0, conv_depthwise_work = 2.0;
// Products in bfloat16 beside those of float32: two terms an instruction, and rows to be rounded.
static const smr_work conv_rounded_work = 0.5625, conv_tap_rounding = 192.0;
// Transformed weights take memory and time to load, which a small gain is not worth.
static const smr_work conv_transform_gain = 0.875;

bool smr_conv_is_padded(const struct smr_window *w) {
  bool padded = false;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++)
    padded = padded || w->pad_begin[i] || w->pad_end[i];
  return padded;
}

// Whether the direct kernel can do it: one group, and byte offsets that add up in 32 bits.
static bool conv_can_be_direct(const struct smr_job *job, const struct smr_window *w, bool dense,
                               int64_t channels) {
  const struct smr_tensor *weights = job->inputs[1];
  const int64_t pixels = w->in[1] * w->in[2];
  const int64_t stride = dense ? w->channels_in : job->inputs[0]->pixel_stride;
  const bool near = stride < INT32_MAX / 4 && pixels < INT32_MAX / 4 / (stride ? stride : 1);
  const bool small =
      weights->dtype != SAMARA_QINT8 || smr_numel(weights) <= CONV_DIRECT_MOST_UNFOLDED;
  return w->spatial < 3 && SMR_ATTR(job, conv, groups)->i == 1 && near && small && channels != 0 &&
         smr_window_taps(w) * channels <= CONV_DIRECT_MOST_DEPTH;
}

// Transforms that fit and take less than `most`: where dims vary one form alone, whose weights are
// made whatever the dims.
static uint32_t conv_list_transforms(const struct smr_job *job, const struct smr_window *w,
                                     smr_work most, struct smr_candidate *list) {
  uint32_t count = 0;
  if (!smr_conv_winograd_fits(job, w)) return 0;
  const smr_work f43 = smr_conv_winograd_work(SMR_WINOGRAD_F43, w);
  if (f43 < most || job->dims_vary)
    list[count++] = (struct smr_candidate){"winograd_f43", f43, SMR_CONV_WINOGRAD_F43};
  const smr_work f23 = smr_conv_winograd_work(SMR_WINOGRAD_F23, w);
  if (f23 < most && !job->dims_vary)
    list[count++] = (struct smr_candidate){"winograd_f23", f23, SMR_CONV_WINOGRAD_F23};
  return count;
}

// What rounding the pixels of a tap adds to it: they are rounded anew for every group of columns.
static smr_work conv_rounding_work(int64_t n) {
  return conv_tap_rounding / smr_work_of(n < CONV_ROUNDED_COLUMNS ? n : CONV_ROUNDED_COLUMNS);
}

bool smr_conv_may_round(const struct smr_job *job, enum smr_conv_path path) {
  if (job->dims_vary || !smr_linear_may_round(job)) return false;
  if (path != SMR_CONV_INDIRECT) return path == SMR_CONV_POINT || path == SMR_CONV_CONTIGUOUS;
  const struct smr_tensor *w = job->inputs[1];
  const int64_t channels = w->dims[w->rank - 1], n = w->dims[0] / SMR_ATTR(job, conv, groups)->i;
  return channels % 2 == 0 && n > 0 &&
         (1 - conv_rounded_work) * smr_work_of(channels) > conv_rounding_work(n);
}

// The work of a product on that path: of `outputs` outputs times taps.
static smr_work conv_product_work(const struct smr_job *job, enum smr_conv_path path,
                                  const struct smr_window *w, smr_work outputs) {
  const struct smr_tensor *weights = job->inputs[1];
  const int64_t channels = weights->dims[weights->rank - 1];
  const bool through = path == SMR_CONV_INDIRECT;
  const smr_work start = through ? conv_tap_start : 0.0;
  const bool rounds = smr_conv_may_round(job, path) && smr_linear_rounds(job) &&
                      channels * smr_window_taps(w) >= SMR_LINEAR_ROUNDED_SUM;
  if (!rounds) return outputs * (smr_work_of(channels) + start);
  const int64_t n = weights->dims[0] / SMR_ATTR(job, conv, groups)->i;
  const smr_work rounding = through ? conv_rounding_work(n) : 0.0;
  return outputs * (conv_rounded_work * smr_work_of(channels) + start + rounding);
}

enum smr_conv_path smr_conv_choose(struct smr_job *job, const struct smr_window *w, bool padded,
                                   bool transforms) {
  const struct smr_tensor *x = job->inputs[0], *weights = job->inputs[1];
  const int64_t groups = SMR_ATTR(job, conv, groups)->i, taps = smr_window_taps(w);
  const int64_t channels = weights->dims[weights->rank - 1];
  const bool widens = SMR_HAS(type_float16) && x->dtype == SAMARA_FLOAT16;
  const bool dense = widens || x->pixel_stride == w->channels_in;
  const int64_t numel = smr_numel(job->outputs[0]);
  const smr_work outputs = smr_work_of(numel ? numel : 1) * smr_work_of(taps);
  const smr_work macs = outputs * smr_work_of(channels);
  struct smr_candidate list[6];
  uint32_t count = 0;
  if (weights->layout == SMR_LAYOUT_DWPANEL ||
      (weights->layout == SMR_LAYOUT_PLAIN && groups == w->channels_in &&
       groups == w->channels_out && groups > 1)) {
    list[0] = (struct smr_candidate){"depthwise", conv_depthwise_work * macs,
                                     w->spatial < 3 ? SMR_CONV_DEPTHWISE : SMR_CONV_DEPTHWISE_3D};
    return (enum smr_conv_path)smr_choose(job, list, 1);
  }
  bool strided = false, dilated = false;
  for (uint32_t i = 0; i < SMR_MAX_SPATIAL; i++) {
    strided = strided || w->stride[i] != 1;
    dilated = dilated || (w->dilation[i] != 1 && w->kernel[i] != 1);
  }
  if (taps == 1 && !padded && !strided)
    list[count++] = (struct smr_candidate){
        "point", conv_product_work(job, SMR_CONV_POINT, w, outputs), SMR_CONV_POINT};
  else if (w->spatial == 1 && groups == 1 && dense && !padded && !dilated)
    list[count++] = (struct smr_candidate){
        "contiguous", conv_product_work(job, SMR_CONV_CONTIGUOUS, w, outputs), SMR_CONV_CONTIGUOUS};
  list[count++] = (struct smr_candidate){
      "indirect", conv_product_work(job, SMR_CONV_INDIRECT, w, outputs), SMR_CONV_INDIRECT};
  if (conv_can_be_direct(job, w, dense, channels))
    list[count++] = (struct smr_candidate){"direct", conv_direct_work * macs, SMR_CONV_DIRECT};
  if (transforms)
    count += conv_list_transforms(job, w, conv_transform_gain * list[0].work, list + count);
  return (enum smr_conv_path)smr_choose(job, list, count);
}
