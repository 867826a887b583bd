// SPDX-License-Identifier: Apache-2.0
// The checksum of files' data: test vectors, alignment, and changes that it must detect.
#include "base/sum.h"

#include "harness.h"

enum { BYTES = 512 };

static void fill(uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(i * i * 7 + i / 3);
}

// As docs/reference/format.md defines it, a word at a time.
static uint64_t slow_step(uint64_t lane, uint64_t word) {
  lane = (lane ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return lane ^ lane >> 32;
}

static uint64_t slow_sum(const uint8_t *bytes, size_t size) {
  uint64_t lanes[8], sum = size;
  for (uint64_t i = 0; i < 8; i++) lanes[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  for (size_t word = 0; word * 8 < (size + 63) / 64 * 64; word++) {
    uint64_t value = 0;
    for (size_t k = 0; k < 8 && word * 8 + k < size; k++)
      value |= (uint64_t)bytes[word * 8 + k] << 8 * k;
    lanes[word % 8] = slow_step(lanes[word % 8], value);
  }
  for (int i = 0; i < 8; i++) sum = slow_step(sum, lanes[i]);
  return sum;
}

// The vectors of docs/reference/format.md: bytes 0, 1, 2, ...
SMR_TEST(published_vectors) {
  uint8_t bytes[200];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)i;
  CHECK(smr_sum(bytes, 0) == UINT64_C(0xfb26c96523120cc5));
  CHECK(smr_sum(bytes, 1) == UINT64_C(0x9d963db49b8f7122));
  CHECK(smr_sum(bytes, 8) == UINT64_C(0x740e72fb592f6dec));
  CHECK(smr_sum(bytes, 64) == UINT64_C(0x25f41fbb442d570a));
  CHECK(smr_sum(bytes, 200) == UINT64_C(0x27ff84c27ea01caa));
  CHECK(smr_sum("samara", 6) == UINT64_C(0x56cb2aa23fb3b88c));
}

SMR_TEST(any_length_and_alignment) {
  uint8_t bytes[BYTES + 8], moved[BYTES + 8];
  fill(bytes, sizeof bytes);
  for (size_t size = 0; size <= BYTES; size++) {
    const uint64_t sum = slow_sum(bytes, size);
    memcpy(moved + size % 8, bytes, size);
    CHECK(smr_sum(bytes, size) == sum);
    CHECK(smr_sum(moved + size % 8, size) == sum);
  }
}

SMR_TEST(every_bit_and_the_length_count) {
  uint8_t bytes[BYTES] = {0};
  const uint64_t sum = smr_sum(bytes, BYTES - 5);
  for (size_t bit = 0; bit < (BYTES - 5) * 8; bit++) {
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    CHECK(smr_sum(bytes, BYTES - 5) != sum);
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  for (size_t size = 0; size < BYTES; size++)  // all of them zeros
    CHECK(size == BYTES - 5 || smr_sum(bytes, size) != sum);
}

// A product alone leaves bit 63 where it is, and a rotation after it moves it to where one bit of
// the lane's next word undoes it.
SMR_TEST(no_two_bits_of_a_lane_cancel) {
  uint8_t bytes[3 * 64];
  fill(bytes, sizeof bytes);
  const uint64_t sum = smr_sum(bytes, sizeof bytes);
  size_t missed = 0;
  for (int step = 1; step <= 2; step++) {
    for (int first = 0; first < 64; first++) {
      for (int second = 0; second < 64; second++) {
        bytes[8 + first / 8] ^= (uint8_t)(1 << first % 8);
        bytes[8 + 64 * step + second / 8] ^= (uint8_t)(1 << second % 8);
        missed += smr_sum(bytes, sizeof bytes) == sum;
        bytes[8 + first / 8] ^= (uint8_t)(1 << first % 8);
        bytes[8 + 64 * step + second / 8] ^= (uint8_t)(1 << second % 8);
      }
    }
  }
  CHECK_EQ_INT(missed, 0);
}

SMR_TEST(order_counts) {
  uint8_t bytes[BYTES];
  fill(bytes, sizeof bytes);
  const uint64_t sum = smr_sum(bytes, sizeof bytes);
  for (size_t a = 0; a < BYTES; a += 8) {
    for (size_t b = a + 8; b < BYTES; b += 8) {
      uint8_t other[BYTES];
      memcpy(other, bytes, sizeof other);
      memcpy(other + a, bytes + b, 8);
      memcpy(other + b, bytes + a, 8);
      CHECK(memcmp(bytes + a, bytes + b, 8) == 0 || smr_sum(other, sizeof other) != sum);
    }
  }
}

SMR_TEST_MAIN(RUN(published_vectors); RUN(any_length_and_alignment);
              RUN(every_bit_and_the_length_count); RUN(no_two_bits_of_a_lane_cancel);
              RUN(order_counts))
