// SPDX-License-Identifier: Apache-2.0
// Transposes of every size around the panels: elements, strides, and nothing else touched.
#include "base/fp.h"

#include "kernels/pack/transpose_f32.h"

#include "base/isa.h"
#include "harness.h"
#include "kernels/kernel_data.h"

static void check_transpose(size_t rows, size_t columns, size_t extra, uint32_t isa) {
  uint32_t seed = (uint32_t)(rows * 1000 + columns);
  const size_t src_stride = columns + extra, dst_stride = rows + extra;
  const size_t size = rows && columns ? (rows - 1) * src_stride + columns : 0;
  const size_t out = rows && columns ? (columns - 1) * dst_stride + rows : 0;
  float *src = kernel_floats(size, &seed);
  float *dst = (float *)kernel_alloc(out * sizeof *dst, 4);
  smr_transpose_f32(rows, columns, src, src_stride, dst, dst_stride, isa);
  int same = 1;
  for (size_t c = 0; c < columns; c++) {
    for (size_t r = 0; r < rows; r++)
      same = same && memcmp(&dst[c * dst_stride + r], &src[r * src_stride + c], sizeof *src) == 0;
    const unsigned char *gap = (const unsigned char *)(dst + c * dst_stride + rows);
    for (size_t i = 0; c + 1 < columns && rows > 0 && i < extra * sizeof *dst; i++)
      same = same && gap[i] == 0xff;
  }
  if (!CHECK(same)) fprintf(stderr, "  %zu x %zu, strides + %zu\n", rows, columns, extra);
  kernel_free(src, 4);
  kernel_free(dst, 4);
}

SMR_TEST(every_size) {
  static const uint32_t ceilings[] = {SMR_ISA_NONE, ~0u};
  static const size_t sizes[] = {0, 1, 2, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 129};
  const size_t count = sizeof sizes / sizeof sizes[0];
  for (size_t i = 0; i < 2; i++)
    for (size_t r = 0; r < count; r++)
      for (size_t c = 0; c < count; c++)
        for (size_t extra = 0; extra < 4; extra += 3)
          check_transpose(sizes[r], sizes[c], extra, smr_cpu_isa() & ceilings[i]);
}

SMR_TEST_MAIN(RUN(every_size))
