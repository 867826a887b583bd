/* SPDX-License-Identifier: Apache-2.0 */
/* Text output and exit for a program on a bare core. startup.c uses semihosting: the emulator, or a
 * debugger with semihosting enabled, shows the text. For your own board replace board_write by one
 * that writes to its UART. */
#ifndef SAMARA_BOARD_H_
#define SAMARA_BOARD_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Show a text. */
void board_write(const char *text);
/* Show an integer, and a float with about seven digits. */
void board_integer(int64_t value);
void board_real(float value);
/* End the program; the emulator exits with `status`. Does not return. */
void board_exit(int status);

#ifdef __cplusplus
}
#endif

#endif
