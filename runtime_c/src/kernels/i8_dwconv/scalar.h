// SPDX-License-Identifier: Apache-2.0
// int8 depthwise convolution in portable C.

// The data of the `n` <= 16 channels of a panel.
struct i8_dwconv_panel {
  size_t n;
  const int8_t *w;
  int32_t w_zero[SMR_I8_PANEL];
  uint32_t bias[SMR_I8_PANEL];
  int32_t x_zero;
  struct smr_i8_dwconv_end end;  // of these channels
};

// `c` is a multiple of 16 below `channels`; w points to the first tap in the first panel.
static struct i8_dwconv_panel i8_dwconv_panel_at(size_t c, size_t channels, const int8_t *w,
                                                 size_t panel_stride_bytes, const int32_t *w_zero,
                                                 int32_t x_zero,
                                                 const struct smr_i8_dwconv_end *end) {
  struct i8_dwconv_panel panel = {.n = channels - c < SMR_I8_PANEL ? channels - c : SMR_I8_PANEL,
                                  .w = w + c / SMR_I8_PANEL * panel_stride_bytes,
                                  .x_zero = x_zero,
                                  .end = *end};
  if (w_zero) memcpy(panel.w_zero, w_zero + c, sizeof panel.w_zero);
  if (end->bias) memcpy(panel.bias, end->bias + c, sizeof panel.bias);
  if (end->multiplier) panel.end.multiplier = end->multiplier + c;
  return panel;
}

// Products are below 2^17, so they fit int32; sums wrap.
SMR_INLINE void i8_dwconv_tap(const struct i8_dwconv_panel *panel, size_t tap, const int8_t *x,
                              uint32_t *acc) {
  const int8_t *w = panel->w + tap * SMR_I8_PANEL;
  for (size_t i = 0; i < panel->n; i++)
    acc[i] += (uint32_t)((x[i] - panel->x_zero) * (w[i] - panel->w_zero[i]));
}

SMR_INLINE void i8_dwconv_finish(const struct i8_dwconv_panel *panel, const uint32_t *acc,
                                 void *out, size_t at) {
  const struct smr_i8_dwconv_end *end = &panel->end;
  if (end->to == SMR_I8_TO_I32) {
    memcpy((int32_t *)out + at, acc, panel->n * sizeof(int32_t));
    return;
  }
  const float low = (float)(end->lo - end->zero), high = (float)(end->hi - end->zero);
  int8_t *y = (int8_t *)out + at;
  for (size_t i = 0; i < panel->n; i++)
    y[i] = (int8_t)smr_requantized((int32_t)acc[i], end->multiplier[i], low, high, end->zero);
}

SMR_INLINE void i8_dwconv_walk(const struct smr_i8_dwconv_area *area,
                               const struct i8_dwconv_panel *panel,
                               const struct smr_i8_dwconv_piece *piece, size_t c) {
  for (size_t y = 0; y < piece->rows; y++) {
    for (size_t x = 0; x < piece->pixels; x++) {
      uint32_t acc[SMR_I8_PANEL];
      memcpy(acc, panel->bias, sizeof acc);
      const int8_t *in = piece->in + y * piece->in_row + x * piece->in_step + c;
      for (size_t ky = 0; ky < area->taps_h; ky++)
        for (size_t kx = 0; kx < area->taps_w; kx++)
          i8_dwconv_tap(panel, ky * area->w_taps + kx,
                        in + ky * piece->in_tap_row + kx * piece->in_tap, acc);
      i8_dwconv_finish(panel, acc, area->out,
                       piece->out + y * piece->out_row + x * piece->out_step + c);
    }
  }
}

SMR_VECTORIZED static void N(i8_dwconv_area)(const struct smr_i8_dwconv_area *area) {
  for (size_t c = area->first; c < area->channels; c += SMR_I8_PANEL) {
    const struct i8_dwconv_panel panel =
        i8_dwconv_panel_at(c, area->channels, area->w, area->panel_stride_bytes, area->w_zero,
                           area->x_zero, &area->end);
    for (size_t i = 0; i < area->count; i++) i8_dwconv_walk(area, &panel, &area->pieces[i], c);
  }
}

SMR_VECTORIZED static void N(i8_dwconv_indirect)(const struct smr_i8_dwconv_indirect_args *args,
                                                 size_t begin, size_t end) {
  for (size_t c = 0; c < args->channels; c += SMR_I8_PANEL) {
    const struct i8_dwconv_panel panel =
        i8_dwconv_panel_at(c, args->channels, args->w, args->panel_stride_bytes, args->w_zero,
                           args->x_zero, &args->end);
    for (size_t p = begin; p < end; p++) {
      uint32_t acc[SMR_I8_PANEL];
      memcpy(acc, panel.bias, sizeof acc);
      for (size_t t = 0; t < args->taps; t++) {
        const int8_t *x = args->indirect[p * args->taps + t];
        i8_dwconv_tap(&panel, t, (x == args->pad ? x : x + args->in_offset_bytes) + c, acc);
      }
      i8_dwconv_finish(&panel, acc, args->out, p * args->out_stride + c);
    }
  }
}
