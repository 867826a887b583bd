// SPDX-License-Identifier: Apache-2.0
// Starts a browser: Chromium by playwright-core, Firefox by puppeteer-core over WebDriver BiDi. What the plans use
// of their pages and contexts has the same names in both.

const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

// {context, close}: a browser with one context, whose pages are tabs of one window.
export async function launch(name, executablePath) {
  if (name === 'firefox') {
    const { default: puppeteer } = await import('puppeteer-core');
    const browser = await puppeteer.launch({ browser: name, executablePath, headless: true, protocolTimeout: 900e3 });
    return { context: browser.defaultBrowserContext(), close: () => browser.close() };
  }
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({ executablePath, args: FLAGS });
  return { context: await browser.newContext(), close: () => browser.close() };
}
