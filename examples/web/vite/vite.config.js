// SPDX-License-Identifier: Apache-2.0
// Relative addresses, so that the built page works in any folder; pages that may use threads.

const headers = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

export default {
  base: './',
  server: { headers, fs: { allow: ['..'] } },
  preview: { headers },
};
