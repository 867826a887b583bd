// SPDX-License-Identifier: Apache-2.0
// How tensors of channels are partitioned, and joining partial sums.
#include "base/fp.h"

#include "ops/norm/channel_norm.h"

#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Every element lies in exactly one piece, in the column of its channel, and partial sums of
// different pieces do not meet.
static void check_cover(size_t images, size_t pixels, size_t channels) {
  const struct smr_channel_plan plan = smr_channel_plan_make(images, pixels, channels);
  const size_t n = images * pixels * channels, partials = smr_channel_partials(&plan);
  unsigned char *seen = calloc(n + 1, 1), *taken = calloc(partials + 1, 1);
  for (size_t p = 0; p < smr_channel_pieces(&plan); p++) {
    const struct smr_channel_piece piece = smr_channel_piece_at(&plan, p);
    CHECK(piece.rows >= 1 && piece.columns >= 1 && piece.columns <= SMR_CHANNEL_COLUMNS);
    for (size_t r = 0; r < piece.rows; r++)
      for (size_t j = 0; j < piece.columns; j++) {
        const size_t at = piece.offset + r * plan.width + j;
        if (!CHECK(at < n)) return;
        seen[at]++;
        CHECK_EQ_INT(at / (pixels * channels), piece.image);
        CHECK_EQ_INT(at % channels, (piece.column + j) % channels);
      }
    for (size_t j = 0; j < piece.columns; j++) taken[piece.partial + j]++;
  }
  for (size_t i = 0; i < n; i++) CHECK_EQ_INT(seen[i], 1);
  for (size_t i = 0; i < partials; i++) CHECK(taken[i] <= 1);
  // Sums in scratch stay in proportion.
  CHECK(partials <= 2 * n + 1);
  free(seen), free(taken);
}

SMR_TEST(pieces_cover) {
  check_cover(1, 1, 1);
  check_cover(3, 1, 1);
  check_cover(2, 33, 8);
  check_cover(1, 3000, 4);
  check_cover(2, 700, 6);
  check_cover(1, 200, 130);
  check_cover(1, 70, 64);
  check_cover(2, 65, 300);
  check_cover(1, 9, 33);
  CHECK_EQ_INT(smr_channel_pieces(&(struct smr_channel_plan){0}), 0);
  const struct smr_channel_plan empty = smr_channel_plan_make(2, 0, 5);
  CHECK_EQ_INT(smr_channel_pieces(&empty), 0);
  const struct smr_channel_plan none = smr_channel_plan_make(2, 5, 0);
  CHECK_EQ_INT(smr_channel_pieces(&none), 0);
}

// Narrow rows are folded to full vectors, and large tensors have pieces for many threads.
SMR_TEST(pieces_are_many_and_wide) {
  const struct smr_channel_plan plan = smr_channel_plan_make(1, 32 * 32 * 32, 16);
  CHECK_EQ_INT(plan.width, 64);
  CHECK(smr_channel_pieces(&plan) >= 32);
  const struct smr_channel_plan flat = smr_channel_plan_make(1, 64, 2048);
  CHECK_EQ_INT(smr_channel_pieces(&flat), 16);
}

static float value_at(size_t i) { return (float)(i * 2654435761u % 1000) / 250.0f - 2.0f; }

// Joined moments and products of all pieces equal those of whole channels.
static void check_join(size_t images, size_t pixels, size_t channels) {
  const struct smr_channel_plan plan = smr_channel_plan_make(images, pixels, channels);
  const size_t partials = smr_channel_partials(&plan);
  float *parts[5];
  for (int i = 0; i < 5; i++) {
    parts[i] = malloc(partials * sizeof(float));
    memset(parts[i], 0xff, partials * sizeof(float));  // what no piece writes must not be read
  }
  for (size_t p = 0; p < smr_channel_pieces(&plan); p++) {
    const struct smr_channel_piece piece = smr_channel_piece_at(&plan, p);
    for (size_t j = 0; j < piece.columns; j++) {
      double mean = 0, rest = 0, square = 0, sum = 0, product = 0;
      for (size_t r = 0; r < piece.rows; r++)
        mean += (double)value_at(piece.offset + r * plan.width + j) / (double)piece.rows;
      for (size_t r = 0; r < piece.rows; r++) {
        const size_t at = piece.offset + r * plan.width + j;
        const double d = (double)value_at(at) - (double)(float)mean;
        rest += d;
        square += d * d;
        sum += (double)value_at(at + 7);
        product += d * (double)value_at(at + 7);
      }
      parts[0][piece.partial + j] = (float)mean;
      parts[1][piece.partial + j] = (float)square;
      parts[2][piece.partial + j] = (float)sum;
      parts[3][piece.partial + j] = (float)product;
      parts[4][piece.partial + j] = (float)rest;
    }
  }
  for (size_t image = 0; image < images; image++)
    for (size_t block = 0; block < plan.blocks; block++) {
      double mean[SMR_CHANNEL_COLUMNS], square[SMR_CHANNEL_COLUMNS];
      double sum[SMR_CHANNEL_COLUMNS], product[SMR_CHANNEL_COLUMNS];
      smr_channel_moments(&plan, image, block, parts[0], parts[4], parts[1], mean, square);
      smr_channel_products(&plan, image, block, parts[2], parts[3], parts[0], mean, sum, product);
      for (size_t c = 0; c < smr_channel_count(&plan, block); c++) {
        double want[4] = {0};
        const size_t first = image * pixels * channels + smr_channel_first(block) + c;
        for (size_t p = 0; p < pixels; p++)
          want[0] += (double)value_at(first + p * channels) / (double)pixels;
        for (size_t p = 0; p < pixels; p++) {
          const double d = (double)value_at(first + p * channels) - want[0];
          const double dy = (double)value_at(first + p * channels + 7);
          want[1] += d * d, want[2] += dy, want[3] += d * dy;
        }
        CHECK_NEAR(mean[c], want[0], 1e-9);
        CHECK_NEAR(square[c], want[1], 1e-6 * (1 + want[1]));
        CHECK_NEAR(sum[c], want[2], 1e-6 * (double)(pixels + 10));
        CHECK_NEAR(product[c], want[3], 1e-6 * (double)(pixels + 10));
      }
    }
  for (int i = 0; i < 5; i++) free(parts[i]);
}

SMR_TEST(joined_sums) {
  check_join(1, 3000, 4);
  check_join(2, 33, 8);
  check_join(1, 200, 130);
  check_join(3, 1, 70);
}

SMR_TEST(spread) {
  const struct smr_channel_plan folded = smr_channel_plan_make(1, 40, 3);
  const struct smr_channel_piece piece = smr_channel_piece_at(&folded, 0);
  const float values[3] = {5, 6, 7};
  float room[SMR_CHANNEL_COLUMNS];
  const float *got = smr_channel_spread(&folded, &piece, values, room);
  for (size_t j = 0; j < piece.columns; j++) CHECK_EQ_INT((int)got[j], 5 + (int)(j % 3));
}

SMR_TEST_MAIN(RUN(pieces_cover); RUN(pieces_are_many_and_wide); RUN(joined_sums); RUN(spread))
