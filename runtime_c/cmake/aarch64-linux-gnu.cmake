# SPDX-License-Identifier: Apache-2.0
# Cross compilation for 64-bit Arm Linux with Debian's compiler; tests run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)

# The CPU decides which instruction sets the dispatch finds: `max` has all of them, cortex-a53 none
# beyond NEON, neoverse-n1 the dot product without i8mm.
set(SAMARA_QEMU_CPU max CACHE STRING "CPU that qemu-aarch64 pretends to be")
find_program(SAMARA_QEMU qemu-aarch64)
if(SAMARA_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR
      ${SAMARA_QEMU};-cpu;${SAMARA_QEMU_CPU};-L;/usr/aarch64-linux-gnu)
endif()
