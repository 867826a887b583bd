// SPDX-License-Identifier: Apache-2.0
// The dialect that kernels are written in: one text for OpenCL C 1.2 and for C11.
//
//   KERNEL(name) { GLOBAL const float *x = IN(0, float); … }
//
// Inside are ITEM(d), the work-item's index along dimension d; IN(i, T) and OUT(i, T), pointers to
// the launch's buffers; P(i) and Q(i), integers 0 to 15 and 16 to 31 (i is a hexadecimal digit);
// F(i), floats. Pointers into buffers are GLOBAL. A work-item may not write what another one reads:
// there are no barriers and no local memory. Vectors are float4, float16, int16 and so on with the
// names and the elements of OpenCL, loaded and stored by LOAD and STORE of their width.
//
// No contraction: a * b + c rounds twice, and fma(a, b, c) once, on every device.
