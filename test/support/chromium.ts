import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { notTested } from './program.ts';

/** A real browser, Debian's, which finds what a person would. */

const PROGRAM = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** The browser; undefined where there is none, which is said. */
export async function startChromium(what: string): Promise<Browser | undefined> {
  if (!existsSync(PROGRAM)) return void notTested(what, `there is no ${PROGRAM}`);
  // As root its sandbox cannot start; the pages are ours.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return await chromium.launch({ executablePath: PROGRAM, args });
}

export type Looks = {
  readonly width: number;
  readonly scheme: 'light' | 'dark';
  readonly height?: number;
};

/** What a page did that it must not: errors and warnings on its console, and requests beside its own file. */
export type Watched = { readonly page: Page; readonly complaints: string[]; readonly requests: string[] };

/** Opens a file as a person does. */
export async function openPage(
  browser: Browser,
  file: string,
  { width, scheme, height = 900 }: Looks,
): Promise<Watched> {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme, locale: 'en-GB' });
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(`file://${file}`);
  await page.waitForSelector('h1');
  return { page, complaints, requests };
}
