// SPDX-License-Identifier: Apache-2.0
// Start-up of a Cortex-M image without a C library: vectors, the FPU, constants and variables.
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

__attribute__((noreturn)) void startup_reset(void);
__attribute__((noreturn)) void startup_reset(void) {
  *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20;  // CPACR: full access to the FPU
  __asm__ volatile("dsb\n isb" ::: "memory");
  const uint32_t *from = image_data_from;
  for (uint32_t *to = image_data; to < image_data_end;) *to++ = *from++;
  for (uint32_t *to = image_bss; to < image_bss_end;) *to++ = 0;
  board_exit(main());
}

__attribute__((section(".vectors"), used)) static const void *const startup_vectors[16] = {
    image_stack_top, startup_reset, startup_fault, startup_fault,
    startup_fault,   startup_fault, startup_fault, startup_fault,
};
