/* SPDX-License-Identifier: Apache-2.0 */
/* Start-up code without an operating system, for Arm Cortex-M and 32-bit RISC-V: vector table or
 * entry point, FPU, .data and .bss, then main. Text output uses semihosting. link.ld defines the
 * memory. */
#include "board.h"

#include <stddef.h>
#include <stdint.h>

/* Symbols of link.ld. */
extern uint32_t board_data_from[], board_data[], board_data_end[], board_bss[], board_bss_end[],
    board_stack_top[];

int main(void);

/* ---- semihosting: a request to the emulator or debugger ---- */

enum { BOARD_SYS_WRITE0 = 0x04, BOARD_SYS_EXIT_EXTENDED = 0x20, BOARD_EXIT = 0x20026 };

#if defined(__riscv)
__attribute__((noinline)) static int board_call(int operation, const void *argument) {
  register int a0 __asm__("a0") = operation;
  register const void *a1 __asm__("a1") = argument;
  __asm__ volatile(
      ".option push\n .option norvc\n .balign 16\n" /* all in one page, uncompressed */
      "slli zero, zero, 0x1f\n ebreak\n srai zero, zero, 7\n .option pop"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
  return a0;
}
#else
static int board_call(int operation, const void *argument) {
  register int r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}
#endif

void board_write(const char *text) { board_call(BOARD_SYS_WRITE0, text); }

void board_exit(int status) {
  const uint32_t block[2] = {BOARD_EXIT, (uint32_t)status};
  board_call(BOARD_SYS_EXIT_EXTENDED, block);
  for (;;) {
  }
}

/* ---- numbers as text ---- */

/* Write `value` with at least `digits` digits so that it ends before `at`; return its begin. */
static char *board_digits(char *at, uint32_t value, int digits) {
  for (; value != 0 || digits > 0; digits--) {
    *--at = (char)('0' + value % 10);
    value /= 10;
  }
  return at;
}

void board_integer(int64_t value) {
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  char text[24], *at = text + sizeof text - 1;
  *at = '\0';
  do {
    *--at = (char)('0' + (int)(rest % 10));
    rest /= 10;
  } while (rest != 0);
  if (value < 0) *--at = '-';
  board_write(at);
}

void board_real(float value) {
  char text[24], *at = text + sizeof text - 1;
  float rest = value < 0 ? -value : value;
  int power = 0;
  *at = '\0';
  if (value != value) {
    board_write("nan");
    return;
  }
  if (value < 0) board_write("-");
  if (rest > 3.4028234e38f) {
    board_write("inf");
    return;
  }
  /* Very large or small: scale to one digit before the point, and show the power of ten. */
  if (rest != 0 && (rest >= 1e6f || rest < 1e-3f)) {
    for (; rest >= 10; rest /= 10) power++;
    for (; rest < 1; rest *= 10) power--;
    at = board_digits(at, (uint32_t)(power < 0 ? -power : power), 2);
    *--at = power < 0 ? '-' : '+';
    *--at = 'e';
  }
  uint32_t whole = (uint32_t)rest;
  /* The fraction in units of 2^-31. */
  const uint32_t fraction = (uint32_t)((rest - (float)whole) * 2147483648.0f);
  uint32_t millionths = (uint32_t)(((uint64_t)fraction * 1000000 + (1u << 30)) >> 31);
  if (millionths >= 1000000) {
    millionths -= 1000000;
    whole++;
  }
  at = board_digits(at, millionths, 6);
  *--at = '.';
  at = board_digits(at, whole, 1);
  board_write(at);
}

/* ---- entry ---- */

static void board_fault(void) {
  board_write("fault: an illegal access or instruction, or the stack has overflowed\n");
  board_exit(3);
}

__attribute__((noreturn, used)) static void board_begin(void) {
  const uint32_t *from = board_data_from;
  for (uint32_t *to = board_data; to < board_data_end;) *to++ = *from++;
  for (uint32_t *to = board_bss; to < board_bss_end;) *to++ = 0;
  board_exit(main());
  for (;;) {
  }
}

#if defined(__riscv)

__attribute__((naked, section(".vectors"), used)) void board_reset(void);
__attribute__((naked, section(".vectors"), used)) void board_reset(void) {
  __asm__ volatile(
      ".option push\n .option arch, +zicsr\n"
      "la sp, board_stack_top\n"
      "la t0, 1f\n csrw mtvec, t0\n"
      "li t0, 0x6000\n csrs mstatus, t0\n" /* enable the FPU, if there is one */
      "j board_begin\n"
      ".balign 4\n 1: la sp, board_stack_top\n j %0\n .option pop"
      :
      : "i"(board_fault));
}

#else

__attribute__((noreturn)) void board_reset(void);
__attribute__((noreturn)) void board_reset(void) {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20; /* CPACR: full access to the FPU */
  __asm__ volatile("dsb\n isb" ::: "memory");
#endif
  board_begin();
}

/* The first vector is the initial stack pointer, the others are functions. */
union board_vector {
  uint32_t *stack;
  void (*handler)(void);
};
__attribute__((section(".vectors"), used)) static const union board_vector board_vectors[16] = {
    {.stack = board_stack_top}, {.handler = board_reset}, {.handler = board_fault},
    {.handler = board_fault},   {.handler = board_fault}, {.handler = board_fault},
    {.handler = board_fault},   {.handler = board_fault},
};

#endif
