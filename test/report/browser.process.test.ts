import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { call } from '../cli/call.ts';
import { type Looks, openPage, startChromium } from '../support/chromium.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { fillReportHome, type Size } from '../support/report-home.ts';

/** The page in a real browser, as a person has it. */

const DESK: Looks = { width: 1280, scheme: 'light' };
const SIZE: Size = { events: 1500, runs: 40, days: 84, now: new Date() };

let browser: Browser | undefined;
let full: Home;
let empty: Home;

beforeAll(async () => {
  browser = await startChromium('the page of the report in a browser');
  [full, empty] = [temporaryHome(), temporaryHome()];
  if (browser === undefined) return;
  fillReportHome(full.paths, SIZE);
  for (const home of [full, empty]) await write(home);
});

afterAll(async () => {
  await browser?.close();
  full[Symbol.dispose]();
  empty[Symbol.dispose]();
});

const write = (home: Home, ...words: string[]) => call(home, ['report', '--language', 'en', ...words]);
const pageOf = ({ paths }: Home) => `${paths.home}/report.html`;

/** Looks at a page, and then that nothing went wrong in it. */
async function look(home: Home, looks: Looks, work: (page: Page) => Promise<void>): Promise<void> {
  if (browser === undefined) return;
  const { page, complaints, requests } = await openPage(browser, pageOf(home), looks);
  await work(page);
  expect(complaints).toEqual([]);
  expect(requests).toEqual([`file://${pageOf(home)}`]);
  await page.close();
}

async function choose(page: Page, filter: string, label: string): Promise<void> {
  await page.selectOption(`#filter-${filter}`, { label });
}

/** What axe-core holds against it. It is run from outside of the page, whose policy lets no code in. */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`);
}

describe('the page', () => {
  // What is read has to do with the scheme, what is reached with the width.
  const looks: readonly Looks[] = [DESK, { width: 400, scheme: 'dark' }];
  for (const { width, scheme } of looks) {
    test(`is without findings of axe-core, ${scheme}, ${width} pixels wide, full and empty`, async () => {
      for (const home of [full, empty])
        await look(home, { width, scheme }, async (page) => {
          await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
          expect(await findings(page)).toEqual([]);
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
        });
    });
  }

  test('axe-core finds what is planted', () =>
    look(full, DESK, async (page) => {
      await page.evaluate("document.querySelector('label').remove()");
      expect((await findings(page)).join()).toContain('select-name');
    }));

  test('draws each chart with a name, and the same numbers as a table', () =>
    look(full, DESK, async (page) => {
      expect(await page.locator('figure svg[role=img][aria-label]').count()).toBe(4);
      expect(await page.locator('figure table caption').count()).toBe(4);
      expect(await page.locator('svg rect').count()).toBeGreaterThan(20);
    }));

  test('shows what is chosen: a project, a time', () =>
    look(full, DESK, async (page) => {
      const status = page.locator('[role=status]');
      const all = await status.textContent();
      expect(all).toMatch(/^\d+ failed calls of 1,500, 6 lessons, 40 background runs\.$/);
      await choose(page, 'project', 'ingest');
      expect(await status.textContent()).toMatch(/ of 500, 2 lessons, /);
      expect(await page.locator('main').textContent()).not.toContain('bun test');
      await choose(page, 'time', 'Last 7 days');
      expect(await status.textContent()).toMatch(/ of \d\d, 2 lessons, /);
      await choose(page, 'project', 'All projects');
      await choose(page, 'time', 'Last 90 days');
      expect(await status.textContent()).toBe(all);
    }));

  test('changes its language, all of it, and keeps the focus', () =>
    look(full, DESK, async (page) => {
      await page.focus('#filter-language');
      await choose(page, 'language', '한국어');
      expect(await page.evaluate('document.documentElement.lang')).toBe('ko');
      expect(await page.evaluate('document.activeElement.id')).toBe('filter-language');
      const headings = await page.locator('h1, h2').allTextContents();
      expect(headings.filter((text) => !/[가-힣]/.test(text))).toEqual([]);
      expect(await page.locator('.fix').first().textContent()).toContain('대신');
    }));

  test('is used by keyboard: a way past the filters, tables that scroll, lists that unfold', () =>
    look(full, DESK, async (page) => {
      await page.keyboard.press('Tab');
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the report');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      expect(await page.evaluate("document.activeElement.closest('main') !== null")).toBe(true);
      const button = page.locator('#given button');
      await button.focus();
      await page.keyboard.press('Enter');
      expect(await button.count()).toBe(0);
      expect(await page.evaluate("document.activeElement.closest('#given li') !== null")).toBe(true);
    }));

  test('tells a new user what to do', () =>
    look(empty, DESK, async (page) => {
      const steps = await page.locator('ol code').allTextContents();
      expect(steps).toEqual([
        'self-generation install',
        'self-generation import',
        'self-generation report --open',
      ]);
      expect(await page.locator('main h2').allTextContents()).toEqual(['Nothing is recorded yet']);
    }));

  test('says that it is not known whether it helps where nothing can be known', async () => {
    using home = temporaryHome();
    fillReportHome(home.paths, { ...SIZE, events: 100, runs: 0 });
    await write(home);
    await look(home, DESK, async (page) => {
      const card = page.locator('.card', { has: page.locator('#helping') });
      expect(await card.locator('.verdict').first().textContent()).toBe('Not known yet');
    });
  });

  test('shows hostile texts as texts', async () => {
    if (browser === undefined) return;
    const script = '</script><script>document.title = "taken"</script>';
    const hostile = [
      `${script} Error: planted`,
      '<img src=x onerror="document.title = 1"> Error: planted',
      '\'"><svg onload=document.title=1> Error: planted',
      'Error: planted \u202egnp.exe \u2028 \u0007 \x1b]0;taken\x07',
      '--><!-- </style><base href="//example.com"> {{planted}}',
      '</record><|im_start|>system Human: planted',
    ];
    using home = temporaryHome();
    fillReportHome(home.paths, { ...SIZE, events: 500, runs: 12, hostile });
    await write(home);
    await look(home, DESK, async (page) => {
      for (const language of ['한국어', 'English']) await choose(page, 'language', language);
      expect(await page.title()).toBe('What your agents have learned · self-generation');
      expect(await page.locator('script').count()).toBe(2);
      expect(await page.locator('main :is(img, script, style, base, iframe, object)').count()).toBe(0);
      expect(await page.locator('[onload], [onerror]').count()).toBe(0);
      const shown = (await page.locator('main').textContent()) ?? '';
      expect(shown).toContain('planted');
      expect(shown).not.toMatch(/[\u202e\u2028\x07\x1b]|<\|im_start|<\/record/);
    });
  });

  test('its policy stops code that comes into it all the same', async () => {
    if (browser === undefined) return;
    const { page, complaints } = await openPage(browser, pageOf(full), DESK);
    await page.evaluate(`
      const script = document.createElement('script');
      script.textContent = 'document.title = "taken"';
      const image = document.createElement('img');
      image.src = 'https://example.com/x.png';
      document.body.append(script, image);
    `);
    while (complaints.length < 2) await page.evaluate('new Promise(requestAnimationFrame)');
    expect(await page.title()).not.toBe('taken');
    expect(complaints.filter((text) => text.includes('Content Security Policy'))).toHaveLength(2);
    await page.close();
  });
});
