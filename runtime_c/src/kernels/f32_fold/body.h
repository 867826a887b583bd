// SPDX-License-Identifier: Apache-2.0
// Adding runs of floats, over the vocabulary.

static void N(f32_fold)(size_t count, size_t turns, size_t length, const float *from,
                        size_t from_step, float *to, size_t to_step) {
  const size_t whole = length - length % VF, rest = length % VF;
  for (size_t turn = 0; turn < turns && turn < count; turn++) {
    const float *f = from + turn * from_step;
    float *t = to + turn * to_step;
    for (size_t i = turn; i < count; i += turns, f += turns * from_step, t += turns * to_step) {
      for (size_t j = 0; j < whole; j += VF)
        N(store)(t + j, N(add)(N(load)(t + j), N(load)(f + j)));
      if (rest)
        N(store_n)(t + whole, N(add)(N(load_n)(t + whole, rest), N(load_n)(f + whole, rest)), rest);
    }
  }
}
