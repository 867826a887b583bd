// SPDX-License-Identifier: Apache-2.0
// Lays out the tables of an audio plan and fills them.
#include "base/fp.h"

#include "media/audio_plan.h"

#include <string.h>

#include "base/error.h"
#include "media/audio_frame.h"
#include "media/audio_stream.h"

enum { AUDIO_PLAN_ALIGN = 64 };

// Byte offsets of the tables after the plan. The checks limit all sizes to 4 MiB.
struct audio_plan_layout {
  size_t resample, window, stage_r, stage_i, fold_r, fold_i, order, bands, weights, cosines, mean,
      scale, bytes;
};

static size_t audio_plan_take(size_t *end, size_t count, size_t bytes) {
  const size_t at = *end;
  *end += (count * bytes + AUDIO_PLAN_ALIGN - 1) / AUDIO_PLAN_ALIGN * AUDIO_PLAN_ALIGN;
  return at;
}

static struct audio_plan_layout audio_plan_layout_of(const struct smr_audio_record *r,
                                                     const struct smr_audio_resampler *resampler) {
  struct audio_plan_layout made;
  size_t end = 0;
  (void)audio_plan_take(&end, 1, sizeof(struct smr_audio_plan));
  const bool spectral = smr_audio_spectral(r);
  const size_t half = spectral ? r->fft / 2 : 0, bins = smr_audio_banded(r) ? r->bins : 0;
  const size_t coefficients = smr_audio_cepstral(r) ? r->coefficients : 0;
  const size_t features = smr_audio_features(r);
  made.resample = audio_plan_take(&end, (size_t)resampler->up * 2 * resampler->half, 4);
  made.window = audio_plan_take(&end, spectral ? r->window : 0, 8);
  made.stage_r = audio_plan_take(&end, half, 8);
  made.stage_i = audio_plan_take(&end, half, 8);
  made.fold_r = audio_plan_take(&end, half + 1, 8);
  made.fold_i = audio_plan_take(&end, half + 1, 8);
  made.order = audio_plan_take(&end, half, 2);
  made.bands = audio_plan_take(&end, bins, sizeof(struct smr_audio_band));
  made.weights = audio_plan_take(&end, bins != 0 ? 2 * half + 2 : 0, 4);
  made.cosines = audio_plan_take(&end, coefficients * bins, 4);
  made.mean = audio_plan_take(&end, r->n_mean != 0 ? features : 0, 4);
  made.scale = audio_plan_take(&end, r->n_scale != 0 ? features : 0, 4);
  made.bytes = end;
  return made;
}

samara_status smr_audio_plan_bytes(const struct smr_audio_record *record,
                                   const struct smr_audio_format *format, size_t *bytes,
                                   samara_error *error) {
  *bytes = 0;
  SMR_TRY(smr_audio_check(record, format, error));
  const struct smr_audio_resampler resampler = smr_audio_resampler_of(format->rate, record->rate);
  *bytes = audio_plan_layout_of(record, &resampler).bytes;
  return SAMARA_OK;
}

static void audio_plan_fill_spectrum(const struct smr_audio_record *r, unsigned char *base,
                                     const struct audio_plan_layout *at) {
  smr_audio_window_fill(r, (int64_t *)(void *)(base + at->window));
  int64_t *re = (int64_t *)(void *)(base + at->stage_r);
  int64_t *im = (int64_t *)(void *)(base + at->stage_i);
  for (uint32_t n = 8; n <= r->fft / 2; re += n / 2, im += n / 2, n *= 2)
    smr_audio_twiddles_fill(n, n / 2, re, im);
  smr_audio_twiddles_fill(r->fft, r->fft / 2 + 1, (int64_t *)(void *)(base + at->fold_r),
                          (int64_t *)(void *)(base + at->fold_i));
  smr_audio_order_fill(r->fft / 2, (uint16_t *)(void *)(base + at->order));
}

static const float *audio_plan_per_feature(const float *given, uint32_t n, uint32_t features,
                                           float *to) {
  if (n == 0) return NULL;
  for (uint32_t i = 0; i < features; i++) to[i] = given[n == 1 ? 0 : i];
  return to;
}

static void audio_plan_point(struct smr_audio_plan *plan, unsigned char *base,
                             const struct audio_plan_layout *at) {
  struct smr_audio_record *r = &plan->record;
  plan->resample = (int32_t *)(void *)(base + at->resample);
  plan->window = (int64_t *)(void *)(base + at->window);
  plan->stage_r = (int64_t *)(void *)(base + at->stage_r);
  plan->stage_i = (int64_t *)(void *)(base + at->stage_i);
  plan->fold_r = (int64_t *)(void *)(base + at->fold_r);
  plan->fold_i = (int64_t *)(void *)(base + at->fold_i);
  plan->order = (uint16_t *)(void *)(base + at->order);
  plan->bands = (struct smr_audio_band *)(void *)(base + at->bands);
  plan->weights = (uint32_t *)(void *)(base + at->weights);
  plan->cosines = (int32_t *)(void *)(base + at->cosines);
  plan->mean = audio_plan_per_feature(r->mean, r->n_mean, plan->features,
                                      (float *)(void *)(base + at->mean));
  plan->scale = audio_plan_per_feature(r->scale, r->n_scale, plan->features,
                                       (float *)(void *)(base + at->scale));
  r->mean = plan->mean;
  r->scale = plan->scale;
}

static void audio_plan_numbers(struct smr_audio_plan *plan) {
  const struct smr_audio_record *r = &plan->record;
  plan->lead = r->center ? r->fft / 2 - (r->fft - r->window) / 2 : r->lead;
  plan->fft_bits = smr_audio_spectral(r) ? smr_audio_bits(r->fft) - 1 : 0;
  plan->features = smr_audio_features(r);
  plan->floor = smr_audio_power_of(r->floor);
  plan->offset = smr_audio_power_of(r->offset);
  plan->preemphasis = smr_audio_fixed(r->preemphasis, 40);
}

samara_status smr_audio_plan_make(const struct smr_audio_record *record,
                                  const struct smr_audio_format *format, uint32_t isa, void *memory,
                                  const struct smr_audio_plan **plan, samara_error *error) {
  *plan = NULL;
  SMR_TRY(smr_audio_check(record, format, error));
  if (memory == NULL || (uintptr_t)memory % AUDIO_PLAN_ALIGN != 0)
    SMR_FAIL(error, BAD_ARGUMENT, "audio: memory of a plan must begin at a multiple of %d bytes",
             (int)AUDIO_PLAN_ALIGN);
  unsigned char *base = (unsigned char *)memory;
  struct smr_audio_plan *made = (struct smr_audio_plan *)memory;
  memset(made, 0, sizeof *made);
  made->record = *record;
  made->format = *format;
  made->kernels = smr_i64_signal_config(isa);
  made->resampler = smr_audio_resampler_of(format->rate, record->rate);
  audio_plan_numbers(made);
  const struct audio_plan_layout at = audio_plan_layout_of(record, &made->resampler);
  audio_plan_point(made, base, &at);
  made->state_bytes = smr_audio_layout(made, NULL);
  if (made->resampler.half != 0)
    smr_audio_resampler_fill(&made->resampler, (int32_t *)(void *)(base + at.resample));
  if (smr_audio_spectral(record)) audio_plan_fill_spectrum(record, base, &at);
  if (smr_audio_banded(record))
    smr_audio_bands_fill(record, (struct smr_audio_band *)(void *)(base + at.bands),
                         (uint32_t *)(void *)(base + at.weights));
  if (smr_audio_cepstral(record))
    smr_audio_cosines_fill(record, (int32_t *)(void *)(base + at.cosines));
  *plan = made;
  return SAMARA_OK;
}
