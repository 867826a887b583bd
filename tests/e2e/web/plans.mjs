// SPDX-License-Identifier: Apache-2.0
// What tests do in a browser; see browser.mjs. Each fills `found`.

const PLACES = [['isolated', '/cases.html'], ['plain', '/plain/cases.html']];
const WAYS = [{ threads: 1 }, { threads: 2 }, { threads: 2, worker: true }];

// The two small nets: answers, failures, pictures, no network, the policy of pages, the package's own page.
export async function small({ found, open, cases, ask, leave }) {
  for (const [place, path] of PLACES) {
    for (const name of ['float32', 'int8']) {
      for (const options of WAYS) {
        found[`${name} ${place} ${JSON.stringify(options)}`] = await ask(path, 'answers', name, options);
      }
    }
    if (place === 'isolated') {
      found.offline = await ask(path, 'offline');
      found.media = await ask(path, 'media');
    }
    await leave(path);
  }
  const strict = await cases('/cases.html?strings', false);
  found.strings = await strict.evaluate(() => cases.strings);
  await strict.close();
  const page = await open('/index.html');
  found.page = await page.evaluate(async () => {
    const said = document.getElementById('said');
    while (!/output|rror/.test(said.textContent)) await new Promise((done) => { setTimeout(done, 5); });
    return said.textContent;
  });
}

// Real networks: the outputs of their recorded inputs.
export async function networks({ found, ask, leave, argument }) {
  for (const [place, path] of PLACES) {
    for (const options of place === 'isolated' ? WAYS : [{ threads: 2 }]) {
      for (const name of argument.split(',')) {
        found[`${name} ${place} ${JSON.stringify(options)}`] = await ask(path, 'network', name, options);
      }
    }
    await leave(path);
  }
}
