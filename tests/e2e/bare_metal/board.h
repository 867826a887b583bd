// SPDX-License-Identifier: Apache-2.0
// What the test images ask of the emulator: text out, the end, and instructions counted.
#ifndef TESTS_BARE_METAL_BOARD_H
#define TESTS_BARE_METAL_BOARD_H

#include <stdint.h>

#if defined(__riscv)
static inline int board_call(int operation, const void *argument) {
  register int a0 __asm__("a0") = operation;
  register const void *a1 __asm__("a1") = argument;
  __asm__ volatile(
      ".option push\n .option norvc\n .balign 16\n"  // the three lie in one page, uncompressed
      "slli zero, zero, 0x1f\n ebreak\n srai zero, zero, 7\n .option pop"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
  return a0;
}
#else
static inline int board_call(int operation, const void *argument) {
  register int r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}
#endif

static inline void board_write(const char *text) { board_call(0x04, text); }

__attribute__((noreturn)) static inline void board_exit(int status) {
  const uint32_t block[2] = {0x20026, (uint32_t)status};  // the application ends
  board_call(0x20, block);
  for (;;) {
  }
}

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
