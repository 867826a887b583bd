/* SPDX-License-Identifier: Apache-2.0 */
/* What a program on a bare core can say and how it ends. startup.c has it by semihosting: the
 * emulator, or a debugger with semihosting on, shows the text. On a board of your own write
 * board_write again, for its UART. */
#ifndef SAMARA_BOARD_H_
#define SAMARA_BOARD_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Show a text. */
void board_write(const char *text);
/* Show a number: a whole one, and one of about seven digits. */
void board_integer(int64_t value);
void board_real(float value);
/* End the program; the emulator exits with `status`. Does not return. */
void board_exit(int status);

#ifdef __cplusplus
}
#endif

#endif
