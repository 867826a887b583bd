// SPDX-License-Identifier: Apache-2.0
// Weights of 8 or 4 bits, once over the vocabulary.
//
// A vector holds VF columns, and NARROW_VECTORS of them form a panel. Every loop over them is
// unrolled.

#define NARROW_VECTORS (SMR_NARROW_COLUMNS / VF)
#define NARROW_GROUP_BYTES 64  // [16][4]

// Without vectors, reading a float16 takes many instructions, so it is a function instead of code
// per column.
#if VF == 1
#define NARROW_LOADS static __attribute__((noinline))
#else
#define NARROW_LOADS SMR_INLINE
#endif

// Scales and zero points of a block: one vector for VF columns.
NARROW_LOADS N(vf) N(narrow_scale)(const struct smr_f32_narrow_panel *p, size_t block, size_t v) {
  const size_t at = block * SMR_NARROW_COLUMNS + v * VF;
  return p->scales_are_f16 ? N(load_f16)((const uint16_t *)p->scales + at)
                           : N(load)((const float *)p->scales + at);
}
NARROW_LOADS N(vf) N(narrow_zero)(const struct smr_f32_narrow_panel *p, size_t block, size_t v) {
  if (p->zeros == NULL) return N(zero)();
  return N(load_f16)(p->zeros + block * SMR_NARROW_COLUMNS + v * VF);
}

// All of a block. WebAssembly has no instruction for float16, so this is a function there; not for
// a single row, whose sums it would move from registers to memory.
struct N(narrow_by) {
  N(vf) scale[NARROW_VECTORS], zero[NARROW_VECTORS];
};
#if defined(SMR_SIMD_WASM)
#define NARROW_BLOCK SMR_APART
#define NARROW_EACH SMR_ROLLED
#else
#define NARROW_BLOCK SMR_INLINE
#define NARROW_EACH SMR_UNROLL
#endif
NARROW_BLOCK void N(narrow_read)(const struct smr_f32_narrow_panel *p, size_t block,
                                 struct N(narrow_by) * by) {
  NARROW_EACH for (size_t v = 0; v < NARROW_VECTORS; v++) {
    by->scale[v] = N(narrow_scale)(p, block, v);
    by->zero[v] = N(narrow_zero)(p, block, v);
  }
}

SMR_INLINE N(vi) N(narrow_load)(const char *w, size_t group, size_t v) {
  return N(iload)((const int32_t *)(const void *)(w + group * NARROW_GROUP_BYTES + v * VF * 4));
}

// Row `i` of the four (with 4 bits: eight) in a vector, as floats.
SMR_INLINE N(vf) N(narrow_value)(const smr_narrow_type type, N(vi) q, const int i) {
  if (type == SMR_NARROW_I8) return N(to_float)(N(isra)(N(ishl)(q, 24 - 8 * i), 24));
  const int left = (i < 4 ? 28 : 24) - 8 * (i & 3);
  if (type == SMR_NARROW_I4) return N(to_float)(N(isra)(N(ishl)(q, left), 28));
  return N(to_float)(N(isrl)(N(ishl)(q, left), 28));
}

// ---- unfolding ----

// One row at any position in its group.
SMR_INLINE void N(narrow_expand_one)(const smr_narrow_type type,
                                     const struct smr_f32_narrow_panel *p, size_t row, float *out) {
  const size_t block = row / p->block;
  for (size_t n = 0; n < SMR_NARROW_COLUMNS; n++) {
    const size_t at = block * SMR_NARROW_COLUMNS + n;
    int32_t q;
    if (type == SMR_NARROW_I8) {
      q = ((const int8_t *)p->w)[row / 4 * NARROW_GROUP_BYTES + n * 4 + row % 4];
    } else {
      const size_t within = row % SMR_NARROW_ROWS_4, j = within % 16 / 4;
      const uint8_t byte =
          ((const uint8_t *)
               p->w)[(row / SMR_NARROW_ROWS_4 * 4 + j) * NARROW_GROUP_BYTES + n * 4 + within % 4];
      q = within < 16 ? byte & 15 : byte >> 4;
      if (type == SMR_NARROW_I4 && q > 7) q -= 16;
    }
    const float scale = p->scales_are_f16 ? smr_f16_to_f32(((const uint16_t *)p->scales)[at])
                                          : ((const float *)p->scales)[at];
    const float zero = p->zeros != NULL ? smr_f16_to_f32(p->zeros[at]) : 0.0f;
    out[n] = ((float)q - zero) * scale;
  }
}

// Group `group` of vectors. Its row `i` is written to row `i` of `out`; the group belongs to one
// block or, with 4 bits and different high halves, two.
SMR_INLINE void N(narrow_expand_rows)(const smr_narrow_type type, const void *w, size_t group,
                                      const struct N(narrow_by) * by, const int first, float *out) {
  SMR_UNROLL for (size_t v = 0; v < NARROW_VECTORS; v++) {
    const N(vi) q = N(narrow_load)(w, group, v);
    SMR_UNROLL for (int i = 0; i < 4; i++) {
      const N(vf) value = N(sub)(N(narrow_value)(type, q, first + i), by->zero[v]);
      N(store)(out + (size_t)i * SMR_NARROW_COLUMNS + v * VF, N(mul)(value, by->scale[v]));
    }
  }
}

// Half of 32 rows with 4 bits: the low halves of four groups (first 0), or the high ones (first 4).
SMR_INLINE void N(narrow_expand_half)(const smr_narrow_type type,
                                      const struct smr_f32_narrow_panel *p, size_t row,
                                      const int first, float *out) {
  const size_t within = 4 * (size_t)first;
  struct N(narrow_by) by;
  N(narrow_read)(p, (row + within) / p->block, &by);
  out += within * SMR_NARROW_COLUMNS;
  for (size_t j = 0; j < 4; j++, out += 4 * SMR_NARROW_COLUMNS)
    N(narrow_expand_rows)(type, p->w, row / 8 + j, &by, first, out);
}

SMR_INLINE void N(narrow_expand)(const smr_narrow_type type, const struct smr_f32_narrow_panel *p,
                                 size_t first, size_t count, float *out) {
  const size_t together = type == SMR_NARROW_I8 ? SMR_NARROW_ROWS_8 : SMR_NARROW_ROWS_4;
  const size_t end = first + count;
  for (size_t row = first; row < end;) {
    float *to = out + (row - first) * SMR_NARROW_COLUMNS;
    if (row % together != 0 || end - row < together) {
      N(narrow_expand_one)(type, p, row, to);
      row++;
      continue;
    }
    if (type == SMR_NARROW_I8) {
      struct N(narrow_by) by;
      N(narrow_read)(p, row / p->block, &by);
      N(narrow_expand_rows)(type, p->w, row / 4, &by, 0, to);
    } else {
      N(narrow_expand_half)(type, p, row, 0, to);
      N(narrow_expand_half)(type, p, row, 4, to);
    }
    row += together;
  }
}

// ---- one row of x ----

// Sums over the rows of one block: [halves][two chains][vectors].
struct N(narrow_sums) {
  N(vf) v[2][2][NARROW_VECTORS];
};

// One group of vectors: rows a[0..3] of the panel (with 4 bits also a[16..19]).
SMR_INLINE void N(narrow_multiply)(const smr_narrow_type type, const char *w, size_t group,
                                   const float *a, const N(vf) * zero, const int has_zero,
                                   struct N(narrow_sums) * sums) {
  SMR_UNROLL for (size_t v = 0; v < NARROW_VECTORS; v++) {
    const N(vi) q = N(narrow_load)(w, group, v);
    SMR_UNROLL for (int i = 0; i < 4; i++) {
      N(vf) value = N(narrow_value)(type, q, i);
      if (has_zero) value = N(sub)(value, zero[v]);
      sums->v[0][i & 1][v] = N(fma)(N(set1)(a[i]), value, sums->v[0][i & 1][v]);
    }
    if (type != SMR_NARROW_I8) {
      SMR_UNROLL for (int i = 0; i < 4; i++) {
        N(vf) value = N(narrow_value)(type, q, 4 + i);
        if (has_zero) value = N(sub)(value, zero[NARROW_VECTORS + v]);
        sums->v[1][i & 1][v] = N(fma)(N(set1)(a[16 + i]), value, sums->v[1][i & 1][v]);
      }
    }
  }
}

// Adds the sums of a block times its scale, and clears them. With 4 bits, `high` is the block of
// the high halves.
SMR_INLINE void N(narrow_flush)(const smr_narrow_type type, const struct smr_f32_narrow_panel *p,
                                size_t low, size_t high, struct N(narrow_sums) * sums,
                                N(vf) * total) {
  SMR_UNROLL for (size_t v = 0; v < NARROW_VECTORS; v++) {
    const N(vf) a = N(add)(sums->v[0][0][v], sums->v[0][1][v]);
    total[v] = N(fma)(a, N(narrow_scale)(p, low, v), total[v]);
    if (type != SMR_NARROW_I8) {
      const N(vf) b = N(add)(sums->v[1][0][v], sums->v[1][1][v]);
      total[v] = N(fma)(b, N(narrow_scale)(p, high, v), total[v]);
    }
    SMR_UNROLL for (int i = 0; i < 4; i++) sums->v[i / 2][i % 2][v] = N(zero)();
  }
}

SMR_INLINE void N(narrow_row)(const smr_narrow_type type, const int has_zero,
                              const struct smr_f32_narrow_panel *p, const float *a, float *out) {
  const size_t together = type == SMR_NARROW_I8 ? SMR_NARROW_ROWS_8 : SMR_NARROW_ROWS_4;
  const size_t groups = type == SMR_NARROW_I8 ? 1 : 4;  // of vectors; they contain `together` rows
  const char *w = p->w;
  struct N(narrow_sums) sums;
  float rest[SMR_NARROW_ROWS_4];
  N(vf) total[NARROW_VECTORS], zero[2 * NARROW_VECTORS];
  SMR_UNROLL for (size_t v = 0; v < NARROW_VECTORS; v++) {
    total[v] = N(zero)();
    SMR_UNROLL for (int i = 0; i < 4; i++) sums.v[i / 2][i % 2][v] = N(zero)();
  }
  for (size_t row = 0; row < p->rows;) {
    // Rows up to the end of the block; with 4 bits, of the two blocks of a group.
    const size_t low = row / p->block,
                 high = type == SMR_NARROW_I8 || p->block > 16 ? low : low + 1;
    const size_t last = (high + 1) * p->block, end = last < p->rows ? last : p->rows;
    if (has_zero) {
      SMR_UNROLL for (size_t v = 0; v < NARROW_VECTORS; v++) {
        zero[v] = N(narrow_zero)(p, low, v);
        // The last group may lack its second block; that one is multiplied by zeros of x.
        zero[NARROW_VECTORS + v] = high * p->block < p->rows ? N(narrow_zero)(p, high, v) : zero[v];
      }
    }
    for (; row < end; row += together) {
      const float *x = a + row;
      if (end - row < together) {  // the last rows: a partial group
        memset(rest, 0, sizeof rest);
        memcpy(rest, x, (end - row) * sizeof *x);
        x = rest;
      }
      for (size_t j = 0; j < groups; j++) {
        N(narrow_multiply)(type, w, row / together * groups + j, x + 4 * j, zero, has_zero, &sums);
      }
    }
    row = end;
    N(narrow_flush)(type, p, low, high * p->block < p->rows ? high : low, &sums, total);
  }
  SMR_UNROLL for (size_t v = 0; v < NARROW_VECTORS; v++) {
    N(store)(out + v * VF, N(add)(N(load)(out + v * VF), total[v]));
  }
}

// ---- the table ----

#define NARROW_EXPAND(name, type)                                                         \
  static void N(narrow_expand_##name)(const struct smr_f32_narrow_panel *p, size_t first, \
                                      size_t count, float *out) {                         \
    N(narrow_expand)(type, p, first, count, out);                                         \
  }
#define NARROW_ROW(name, type)                                                           \
  static void N(narrow_row_##name)(const struct smr_f32_narrow_panel *p, const float *a, \
                                   float *sums) {                                        \
    if (p->zeros == NULL)                                                                \
      N(narrow_row)(type, 0, p, a, sums);                                                \
    else                                                                                 \
      N(narrow_row)(type, 1, p, a, sums);                                                \
  }
NARROW_EXPAND(i8, SMR_NARROW_I8)
NARROW_ROW(i8, SMR_NARROW_I8)
NARROW_EXPAND(i4, SMR_NARROW_I4)
NARROW_ROW(i4, SMR_NARROW_I4)
NARROW_EXPAND(u4, SMR_NARROW_U4)
// Unsigned weights nearly always have zero points.
static void N(narrow_row_u4)(const struct smr_f32_narrow_panel *p, const float *a, float *sums) {
  N(narrow_row)(SMR_NARROW_U4, 1, p, a, sums);
}

static const struct smr_f32_narrow_config N(f32_narrow_kernels) = {
    .isa = SMR_SIMD_NAME,
    .expand = {N(narrow_expand_i8), N(narrow_expand_i4), N(narrow_expand_u4)},
    .row = {N(narrow_row_i8), N(narrow_row_i4), N(narrow_row_u4)},
};

#undef NARROW_EXPAND
#undef NARROW_ROW
#undef NARROW_LOADS
#undef NARROW_BLOCK
#undef NARROW_EACH
#undef NARROW_VECTORS
#undef NARROW_GROUP_BYTES
