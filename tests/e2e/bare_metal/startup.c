// SPDX-License-Identifier: Apache-2.0
// Start-up of an image without a C library: vectors or the first instruction, the FPU, constants
// and variables.
#include "board.h"

#include <stddef.h>
#include <stdint.h>

extern uint32_t image_data_from[], image_data[], image_data_end[], image_bss[], image_bss_end[],
    image_stack_top[];

int main(void);

static void startup_fault(void) {
  board_write("fault\n");
  board_exit(3);
}

__attribute__((noreturn, used)) static void startup_main(void) {
  const uint32_t *from = image_data_from;
  for (uint32_t *to = image_data; to < image_data_end;) *to++ = *from++;
  for (uint32_t *to = image_bss; to < image_bss_end;) *to++ = 0;
  board_exit(main());
}

#if defined(__riscv)

#include "bare_strings.h"  // the compiler has no library

float ldexpf(float x, int exponent) {
  for (; exponent > 0; exponent--) x *= 2;
  for (; exponent < 0; exponent++) x /= 2;
  return x;
}

// Where the machine begins; faults go to the last instructions.
__attribute__((naked, section(".vectors"), used)) void startup_reset(void);
__attribute__((naked, section(".vectors"), used)) void startup_reset(void) {
  __asm__ volatile(
      ".option push\n .option arch, +zicsr\n"
      "la sp, image_stack_top\n"
      "la t0, 1f\n csrw mtvec, t0\n"
      "li t0, 0x6000\n csrs mstatus, t0\n"  // the FPU, where there is one
      "j startup_main\n"
      ".balign 4\n 1: la sp, image_stack_top\n j %0\n .option pop"
      :
      : "i"(startup_fault));
}

#else

__attribute__((noreturn)) void startup_reset(void);
__attribute__((noreturn)) void startup_reset(void) {
  *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20;  // CPACR: full access to the FPU
  __asm__ volatile("dsb\n isb" ::: "memory");
  startup_main();
}

__attribute__((section(".vectors"), used)) static const void *const startup_vectors[16] = {
    image_stack_top, startup_reset, startup_fault, startup_fault,
    startup_fault,   startup_fault, startup_fault, startup_fault,
};

#endif
