// SPDX-License-Identifier: Apache-2.0
// Parts cover the whole and differ by one at most. Blocks are shared if there are enough tiles.
#include "base/cut.h"

#include <stdint.h>

#include "harness.h"

SMR_TEST(quotients_are_rounded_up) {
  CHECK_EQ_INT(smr_ceil_div(0, 3), 0);
  CHECK_EQ_INT(smr_ceil_div(1, 3), 1);
  CHECK_EQ_INT(smr_ceil_div(3, 3), 1);
  CHECK_EQ_INT(smr_ceil_div(4, 3), 2);
  CHECK(smr_ceil_div(SIZE_MAX, 2) == SIZE_MAX / 2 + 1);
}

SMR_TEST(parts_are_nearly_equal) {
  for (size_t all = 0; all < 20; all++) {
    for (size_t parts = 1; parts < 20; parts++) {
      CHECK_EQ_INT(smr_cut(all, parts, 0), 0);
      CHECK_EQ_INT(smr_cut(all, parts, parts), all);
      for (size_t i = 0; i < parts; i++) {
        const size_t size = smr_cut(all, parts, i + 1) - smr_cut(all, parts, i);
        CHECK(size == all / parts || size == smr_ceil_div(all, parts));
      }
    }
  }
}

static void check_blocks(struct smr_tile_blocks blocks, size_t tiles) {
  CHECK_EQ_INT(blocks.tiles, tiles);
  CHECK(blocks.count * blocks.each >= tiles);
  CHECK((blocks.count - 1) * blocks.each < tiles);  // none is empty
}

SMR_TEST(blocks_hold_all_tiles) {
  for (size_t tiles = 1; tiles < 40; tiles++) {
    for (size_t most = 1; most < 50; most++) {
      const struct smr_tile_blocks blocks = smr_tile_blocks_make(tiles, most);
      check_blocks(blocks, tiles);
      CHECK(blocks.count <= most);
      CHECK(blocks.each == 1 || smr_ceil_div(tiles, blocks.each - 1) > most);  // nor too large
    }
  }
}

SMR_TEST(sharing_gives_units) {
  enum { GROUPS = 3 };
  for (size_t tiles = 1; tiles < 40; tiles++) {
    for (size_t wanted = 0; wanted < 150; wanted++) {
      const struct smr_tile_blocks before = smr_tile_blocks_make(tiles, 2);
      struct smr_tile_blocks blocks = before;
      const size_t units = smr_tile_blocks_share(&blocks, GROUPS * before.count, wanted);
      check_blocks(blocks, tiles);
      CHECK_EQ_INT(units, GROUPS * blocks.count);
      CHECK(blocks.count >= before.count);
      CHECK(wanted < GROUPS * tiles || blocks.each == 1);
      const size_t count = smr_ceil_div(wanted, GROUPS);
      if (count > 0 && tiles % count == 0) CHECK(units >= wanted);  // where none is left over
      if (wanted <= GROUPS * before.count) CHECK_EQ_INT(blocks.count, before.count);
    }
  }
}

SMR_TEST(nothing_is_not_shared) {
  struct smr_tile_blocks none = {0, 0, 0};
  CHECK_EQ_INT(smr_tile_blocks_share(&none, 0, 4), 0);
  CHECK_EQ_INT(none.count, 0);
}

SMR_TEST_MAIN(RUN(quotients_are_rounded_up); RUN(parts_are_nearly_equal);
              RUN(blocks_hold_all_tiles); RUN(sharing_gives_units); RUN(nothing_is_not_shared))
