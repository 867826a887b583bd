// SPDX-License-Identifier: Apache-2.0
// What tests do in a browser; see browser.mjs. Each fills `found`.

const PLACES = [['isolated', '/cases.html'], ['plain', '/plain/cases.html']];
const WAYS = [{ threads: 1 }, { threads: 2 }, { threads: 2, worker: true }];

// The two small nets: answers, failures, pictures, many models, no network, the package's own page.
export async function small({ found, open, cases }) {
  for (const [place, path] of PLACES) {
    const page = await cases(path);
    for (const name of ['float32', 'int8']) {
      for (const options of WAYS) {
        found[`${name} ${place} ${JSON.stringify(options)}`] =
          await page.evaluate(([net, given]) => cases.answers(net, given), [name, options]);
      }
    }
    if (place === 'isolated') {
      found.offline = await page.evaluate(() => cases.offline());
      found.media = await page.evaluate(() => cases.media());
    }
    await page.close();
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
export async function networks({ found, cases, argument }) {
  for (const [place, path] of PLACES) {
    const page = await cases(path);
    for (const options of place === 'isolated' ? WAYS : [{ threads: 2 }]) {
      for (const name of argument.split(',')) {
        found[`${name} ${place} ${JSON.stringify(options)}`] =
          await page.evaluate(([net, given]) => cases.network(net, given), [name, options]);
      }
    }
    await page.close();
  }
}
