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

// The live pages of the site: a drawn 1, a recording (argument), and times.
export async function live({ found, open, argument }) {
  const until = (page, pattern) => page.evaluate(async (wanted) => {
    const said = document.getElementById('said');
    while (!new RegExp(wanted).test(said.textContent)) await new Promise((done) => { setTimeout(done, 20); });
    return said.textContent;
  }, pattern);
  const digits = await open('/digits.html');
  found.ready = await until(digits, 'ready');
  const { x, y } = await (await digits.$('#paper')).boundingBox();
  await digits.mouse.move(x + 160, y + 60);
  await digits.mouse.down();
  await digits.mouse.move(x + 160, y + 260, { steps: 20 });
  await digits.mouse.up();
  found.digit = await until(digits, '%');
  const keywords = await open('/keywords.html');
  await until(keywords, 'ready');
  await (await keywords.$('#sound')).setInputFiles(argument);
  found.words = await until(keywords, 'no [01]|no word|rror');
  const faces = await open('/faces.html');
  found.faces = await until(faces, 'ready|choose a file');
  const latency = await open('/latency.html');
  found.latency = await until(latency, 'keywords.samara: .*threads: [2-9]|rror');
}
