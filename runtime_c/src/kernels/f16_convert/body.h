// SPDX-License-Identifier: Apache-2.0
// The conversion loops, once over the vocabulary. F16_SUFFIX is the ISA as kernels.inc names it.

#define F16_KERNEL_(name, suffix) smr_##name##_ukernel__##suffix
#define F16_KERNEL(name, suffix) F16_KERNEL_(name, suffix)

void F16_KERNEL(f16_to_f32, F16_SUFFIX)(size_t n, const uint16_t *src, float *dst) {
  size_t i = 0;
  for (; i + VF <= n; i += VF) N(store)(dst + i, N(load_f16)(src + i));
  if (i < n) N(store_n)(dst + i, N(load_f16_n)(src + i, n - i), n - i);
}

void F16_KERNEL(f32_to_f16, F16_SUFFIX)(size_t n, const float *src, uint16_t *dst) {
  size_t i = 0;
  for (; i + VF <= n; i += VF) N(store_f16)(dst + i, N(load)(src + i));
  if (i < n) N(store_f16_n)(dst + i, N(load_n)(src + i, n - i), n - i);
}

#undef F16_KERNEL_
#undef F16_KERNEL
#undef F16_SUFFIX
