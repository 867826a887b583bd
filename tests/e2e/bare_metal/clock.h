// SPDX-License-Identifier: Apache-2.0
// Instructions that the test images count.
#ifndef TESTS_BARE_METAL_CLOCK_H
#define TESTS_BARE_METAL_CLOCK_H

#include <stdint.h>

#if defined(__riscv)

static inline void board_clock_start(void) {}

// Instructions retired.
static inline uint32_t board_clock_ticks(void) {
  uint32_t count;
  __asm__ volatile(".option push\n .option arch, +zicsr\n csrr %0, minstret\n .option pop"
                   : "=r"(count));
  return count;
}

#else

// SysTick counts the emulator's clock, which -icount ties to instructions. 24 bits, downwards.
#define BOARD_SYSTICK ((volatile uint32_t *)0xe000e010u)

static inline void board_clock_start(void) {
  BOARD_SYSTICK[1] = 0xffffff;
  BOARD_SYSTICK[2] = 0;
  BOARD_SYSTICK[0] = 5;            // the processor's clock, on
  while (BOARD_SYSTICK[2] == 0) {  // until it has been reloaded
  }
}

static inline uint32_t board_clock_ticks(void) { return 0xffffff - BOARD_SYSTICK[2]; }

#endif

#endif
