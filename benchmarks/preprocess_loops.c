// SPDX-License-Identifier: Apache-2.0
// What follows libyuv in benchmarks/preprocess.py: from pixels of four bytes B, G, R, A to a
// tensor. Compiled for the machine that it runs on: cc -O3 -march=native.
#include <stddef.h>
#include <stdint.h>

void pixels_to_int8(size_t n, const uint8_t *restrict pixels, const int8_t table[256],
                    int8_t *restrict out) {
  for (size_t i = 0; i < n; i++)
    for (size_t c = 0; c < 3; c++) out[3 * i + c] = table[pixels[4 * i + 2 - c]];
}

void pixels_to_planes(size_t n, const uint8_t *restrict pixels, float mean, float scale,
                      float *restrict out) {
  float *restrict red = out, *restrict green = out + n, *restrict blue = out + 2 * n;
  for (size_t i = 0; i < n; i++) {
    red[i] = ((float)pixels[4 * i + 2] - mean) * scale;
    green[i] = ((float)pixels[4 * i + 1] - mean) * scale;
    blue[i] = ((float)pixels[4 * i] - mean) * scale;
  }
}
