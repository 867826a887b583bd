// SPDX-License-Identifier: Apache-2.0
// Runs a bare-metal model named `net` on recorded inputs. Prints its answers in hexadecimal, and
// its cost. The test writes image_inputs: IMAGE_CASES inputs of NET_INPUT_SIZE elements.
#include "board.h"
#include "clock.h"
#include "net.h"

#include <stddef.h>
#include <stdint.h>

#include "inputs.h"

enum { IMAGE_PAINT = 0xa5, IMAGE_LOOP = 1000000 };

extern unsigned char board_stack[], board_stack_top[];

static struct {
  uint64_t arena[(NET_ARENA_BYTES + 7) / 8];
  uint64_t guard;  // nothing may be written behind the arena
} image_memory = {.guard = 0x5a5a5a5a5a5a5a5au};

static void image_number(const char *name, uint32_t value) {
  char text[16], *at = text + sizeof text;
  *--at = '\0';
  *--at = '\n';
  do {
    *--at = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0);
  board_write(name);
  board_write(" ");
  board_write(at);
}

static void image_bytes(const char *name, const void *data, size_t size) {
  static const char digits[] = "0123456789abcdef";
  char two[3] = {0};
  board_write(name);
  board_write(" ");
  for (size_t i = 0; i < size; i++) {
    two[0] = digits[((const uint8_t *)data)[i] >> 4];
    two[1] = digits[((const uint8_t *)data)[i] & 15];
    board_write(two);
  }
  board_write("\n");
}

__attribute__((noinline)) static void image_paint(void) {
  volatile unsigned char *top = __builtin_frame_address(0);
  for (volatile unsigned char *p = board_stack; p < top - 64; p++) *p = IMAGE_PAINT;
}

__attribute__((noinline)) static uint32_t image_depth(void) {
  const volatile unsigned char *top = __builtin_frame_address(0), *p = board_stack;
  while (p < top && *p == IMAGE_PAINT) p++;
  return (uint32_t)(top - p);
}

// Ticks of two million instructions.
static uint32_t image_calibrate(void) {
  uint32_t count = IMAGE_LOOP;
  board_clock_start();
  const uint32_t start = board_clock_ticks();
#if defined(__riscv)
  __asm__ volatile("1: addi %0, %0, -1\n bnez %0, 1b" : "+r"(count));
#elif defined(__ARM_ARCH_6M__)
  __asm__ volatile("1: sub %0, #1\n bne 1b" : "+l"(count) : : "cc");
#else
  __asm__ volatile("1: subs %0, %0, #1\n bne 1b" : "+r"(count) : : "cc");
#endif
  return board_clock_ticks() - start;
}

static int image_refusals(net_error *error) {
  net_net *net;
  if (net_open(image_memory.arena, NET_ARENA_BYTES - 1, &net, error) != NET_OUT_OF_MEMORY) return 1;
  board_write("refused ");
  board_write(error->text);
  board_write("\n");
  return net_open((char *)image_memory.arena + 4, NET_ARENA_BYTES, &net, error) != NET_BAD_ARGUMENT;
}

int main(void) {
  static net_error error;
  static float output[NET_OUTPUT_SIZE];
  net_net *net;
  if (image_refusals(&error) != 0) return 1;
  image_paint();
  if (net_open(image_memory.arena, NET_ARENA_BYTES, &net, &error) != NET_OK) {
    board_write(error.text);
    return 2;
  }
  image_number("open_stack", image_depth());
  const uint32_t per_two_million = image_calibrate();
  for (size_t i = 0; i < IMAGE_CASES; i++) {
    image_paint();
    board_clock_start();
    const uint32_t start = board_clock_ticks();
    const net_status status = net_run(net, image_inputs[i], output);
    const uint32_t ticks = board_clock_ticks() - start;
    if (status != NET_OK) {
      board_write(net_message(net));
      return 2;
    }
    if (i == 0) {
      image_number("run_stack", image_depth());
      image_number("kilo_instructions",
                   (uint32_t)((uint64_t)ticks * (2 * IMAGE_LOOP) / per_two_million / 1000));
    }
    image_bytes("output", output, sizeof output);
  }
  image_number("arena_used", (uint32_t)net_arena_used(net));
  image_number("guard_intact", image_memory.guard == 0x5a5a5a5a5a5a5a5au);
  board_write("done\n");
  return 0;
}
