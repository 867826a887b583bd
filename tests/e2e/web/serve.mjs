// SPDX-License-Identifier: Apache-2.0
// A server of one folder. Paths below /plain/ come without the headers that isolate a page. `policy`: what a page may load.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname } from 'node:path';

const TYPES = { '.js': 'text/javascript', '.html': 'text/html', '.wasm': 'application/wasm', '.json': 'application/json' };
const ISOLATED = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };

const POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'";

export function serve(folder, policy = POLICY) {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, 'http://host').pathname, plain = path.startsWith('/plain/');
    try {
      const body = await readFile(folder + (plain ? path.slice(6) : path));
      response.writeHead(200, {
        'content-type': TYPES[extname(path)] ?? 'application/octet-stream',
        'content-length': body.length,
        'content-security-policy': policy,
        ...(plain ? {} : ISOLATED),
      });
      response.end(body);
    } catch {
      response.writeHead(404);
      response.end();
    }
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}
