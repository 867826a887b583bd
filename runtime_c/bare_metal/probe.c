// SPDX-License-Identifier: Apache-2.0
// Opens and runs a bare-metal model once and prints its use of arena and stack in three lines:
// `arena N`, `open_stack N`, `run_stack N`. A failure is written to standard error. If the sizes of
// inputs and outputs are known, lines `answer0 N` and `answer1 N` follow: checksums of the outputs
// of runs on made-up inputs. With PROBE_LAYOUT the lines of layout.c come last. Runs on Linux
// (32-bit x86, or qemu-user for Arm and RISC-V) without a C library, so that the model is compiled
// exactly as on the core.
#include "bare_libc.h"
#include PROBE_HEADER

#include <stddef.h>
#include <stdint.h>

enum { PROBE_STACK_BYTES = 256 * 1024, PROBE_PAINT = 0xa5 };

static _Alignas(16) unsigned char probe_stack[PROBE_STACK_BYTES];
static _Alignas(16) unsigned char probe_arena[PROBE_ARENA_ROOM];

#if defined(__i386__)
static long probe_call(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
  return result;
}
__asm__(
    ".globl _start\n_start:\n lea probe_stack+262144-16, %esp\n and $-16, %esp\n call "
    "probe_main\n");
enum { PROBE_EXIT = 1, PROBE_WRITE = 4 };
#elif defined(__arm__)
static long probe_call(long number, long a, long b, long c) {
  register long r0 __asm__("r0") = a;
  register long r1 __asm__("r1") = b;
  register long r2 __asm__("r2") = c;
  __asm__ volatile("push {r7}\n mov r7, %3\n svc 0\n pop {r7}"
                   : "+r"(r0)
                   : "r"(r1), "r"(r2), "r"(number)
                   : "memory");
  return r0;
}
__asm__(
    ".syntax unified\n .thumb\n .globl _start\n .type _start, %function\n .thumb_func\n_start:\n"
    " ldr r0, =probe_stack+262144-16\n mov sp, r0\n bl probe_main\n .ltorg\n");
enum { PROBE_EXIT = 1, PROBE_WRITE = 4 };
#elif defined(__riscv)
static long probe_call(long number, long a, long b, long c) {
  register long a0 __asm__("a0") = a;
  register long a1 __asm__("a1") = b;
  register long a2 __asm__("a2") = c;
  register long a7 __asm__("a7") = number;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
  return a0;
}
__asm__(
    ".globl _start\n_start:\n .option push\n .option norelax\n la gp, __global_pointer$\n"
    " .option pop\n la sp, probe_stack+262144-16\n call probe_main\n");
enum { PROBE_EXIT = 93, PROBE_WRITE = 64 };
#else
#error "the probe supports 32-bit x86, Arm and RISC-V only"
#endif

static void probe_say(const char *name, size_t value) {
  char line[64];
  size_t at = sizeof line;
  line[--at] = '\n';
  do {
    line[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0);
  line[--at] = ' ';
  size_t length = 0;
  while (name[length] != '\0') length++;
  while (length > 0) line[--at] = name[--length];
  probe_call(PROBE_WRITE, 1, (long)(intptr_t)(line + at), (long)(sizeof line - at));
}

// Fill the unused stack with a pattern; probe_depth finds how much of it was overwritten.
__attribute__((noinline)) static void probe_paint(void) {
  volatile unsigned char *top = __builtin_frame_address(0);
  for (volatile unsigned char *p = probe_stack; p < top - 64; p++) *p = PROBE_PAINT;
}

__attribute__((noinline)) static size_t probe_depth(void) {
  const volatile unsigned char *top = __builtin_frame_address(0), *p = probe_stack;
  while (p < top && *p == PROBE_PAINT) p++;
  return (size_t)(top - p);
}

#if PROBE_LAYOUT
void probe_write(const char *text, size_t length);
void probe_layout(PROBE_NET *net);

void probe_write(const char *text, size_t length) {
  while (length > 0) {
    const long done = probe_call(PROBE_WRITE, 1, (long)(intptr_t)text, (long)length);
    if (done <= 0) probe_call(PROBE_EXIT, 2, 0, 0);
    text += done;
    length -= (size_t)done;
  }
}
#endif

#ifdef PROBE_INPUT_BYTES
static const size_t probe_input_bytes[] = {PROBE_INPUT_BYTES 0};
static const size_t probe_output_bytes[] = {PROBE_OUTPUT_BYTES 0};
static _Alignas(16) unsigned char probe_output[PROBE_OUTPUT_ROOM];

// A checksum of the outputs of a run whose inputs are small numbers of any type.
static size_t probe_answer(PROBE_NET *net, unsigned run) {
  enum { INPUTS = sizeof probe_input_bytes / sizeof *probe_input_bytes };
  enum { OUTPUTS = sizeof probe_output_bytes / sizeof *probe_output_bytes };
  void *outputs[OUTPUTS];
  size_t at = 0;
  for (size_t i = 0; i + 1 < INPUTS; i++) {
    unsigned char *to = PROBE_INPUT(net, i);
    for (size_t k = 0; k < probe_input_bytes[i]; k++) to[k] = (unsigned char)((k + run) * 37 % 64);
  }
  for (size_t i = 0; i + 1 < OUTPUTS; i++) {
    outputs[i] = probe_output + at;
    at += (probe_output_bytes[i] + 15) / 16 * 16;
  }
  uint32_t sum = 2166136261u + (uint32_t)PROBE_RUN(net, NULL, outputs);
  for (size_t i = 0; i < at; i++) sum = (sum ^ probe_output[i]) * 16777619u;
  return sum;
}
#endif

__attribute__((used)) void probe_main(void) {
  static PROBE_ERROR error;
  PROBE_NET *net;
  probe_paint();
  int status = PROBE_OPEN(probe_arena, sizeof probe_arena, &net, &error);
  const size_t opened = probe_depth();
  if (status == 0) {
    probe_paint();
    status = PROBE_RUN(net, NULL, NULL);
    probe_say("run_stack", probe_depth());
    probe_say("open_stack", opened);
    probe_say("arena", PROBE_ARENA_USED(net));
#ifdef PROBE_INPUT_BYTES
    probe_say("answer0", probe_answer(net, 0));
    probe_say("answer1", probe_answer(net, 1));
#endif
#if PROBE_LAYOUT
    status = 0;  // even if made-up inputs made the run fail, tensors have addresses now
    probe_write("layout\n", 7);
    probe_layout(net);
#endif
  }
  if (status != 0) {
    size_t length = 0;
    while (error.text[length] != '\0') length++;
    probe_call(PROBE_WRITE, 2, (long)(intptr_t)error.text, (long)length);
  }
  probe_call(PROBE_EXIT, status != 0, 0, 0);
  for (;;) {
  }
}

// ---- for compilers without a C library for this machine ----

#if PROBE_NO_LIBRARY

#include "bare_strings.h"

// Placeholders: the probe measures memory, so the values that a run computes do not matter.
#define PROBE_1(name)                 \
  double name(double x) { return x; } \
  float name##f(float x) { return x; }
#define PROBE_2(name)                                       \
  double name(double x, double y) { return y < x ? y : x; } \
  float name##f(float x, float y) { return y < x ? y : x; }
SMR_BARE_ROUNDING(PROBE_1)
SMR_BARE_EXPONENTS(PROBE_1)
SMR_BARE_CIRCULAR(PROBE_1)
SMR_BARE_HYPERBOLIC(PROBE_1)
SMR_BARE_OF_TWO(PROBE_2)
double ldexp(double x, int exponent) { return exponent < 0 ? x / 2 : x; }
float ldexpf(float x, int exponent) { return exponent < 0 ? x / 2 : x; }
double fma(double x, double y, double z) { return x * y + z; }
float fmaf(float x, float y, float z) { return x * y + z; }

#if defined(__i386__)
uint64_t __udivmoddi4(uint64_t a, uint64_t b, uint64_t *rest);
uint64_t __udivmoddi4(uint64_t a, uint64_t b, uint64_t *rest) {
  uint64_t quotient = 0, left = 0;
  for (int i = 63; i >= 0; i--) {
    left = left << 1 | (a >> i & 1);
    if (left < b) continue;
    left -= b;
    quotient |= (uint64_t)1 << i;
  }
  if (rest != NULL) *rest = left;
  return quotient;
}
static uint64_t probe_size(int64_t v) { return v < 0 ? 0 - (uint64_t)v : (uint64_t)v; }
uint64_t __udivdi3(uint64_t a, uint64_t b);
uint64_t __udivdi3(uint64_t a, uint64_t b) { return __udivmoddi4(a, b, NULL); }
uint64_t __umoddi3(uint64_t a, uint64_t b);
uint64_t __umoddi3(uint64_t a, uint64_t b) {
  uint64_t rest;
  __udivmoddi4(a, b, &rest);
  return rest;
}
int64_t __divdi3(int64_t a, int64_t b);
int64_t __divdi3(int64_t a, int64_t b) {
  const uint64_t q = __udivmoddi4(probe_size(a), probe_size(b), NULL);
  return (int64_t)((a < 0) != (b < 0) ? 0 - q : q);
}
int64_t __moddi3(int64_t a, int64_t b);
int64_t __moddi3(int64_t a, int64_t b) {
  const uint64_t rest = __umoddi3(probe_size(a), probe_size(b));
  return (int64_t)(a < 0 ? 0 - rest : rest);
}
int64_t __divmoddi4(int64_t a, int64_t b, int64_t *rest);
int64_t __divmoddi4(int64_t a, int64_t b, int64_t *rest) {
  *rest = __moddi3(a, b);
  return __divdi3(a, b);
}
#endif
#endif
