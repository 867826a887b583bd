// SPDX-License-Identifier: Apache-2.0
// As of ../vite, with JSX.

import react from '@vitejs/plugin-react';

const headers = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

export default {
  base: './',
  plugins: [react()],
  server: { headers, fs: { allow: ['..'] } },
  preview: { headers },
};
