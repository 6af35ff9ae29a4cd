/**
 * Makes the pictures of `report` for README.md: the built program's page of a made-up project, in a real Chromium.
 *
 *   bun scripts/report-images.ts                writes docs/images/report-light.png and report-dark.png
 *   bun scripts/report-images.ts --out FOLDER   all looks of it: wide and narrow, light and dark, both languages, empty
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openPage, startChromium } from '../test/support/chromium.ts';
import { fillReportHome } from '../test/support/report-home.ts';
import { inTemporary, pathsIn, timed } from './measure.ts';

const PROGRAM = join(import.meta.dir, '..', 'dist', 'self-generation');
const HEIGHT = 1180;

type Shot = {
  readonly name: string;
  readonly width: number;
  readonly scheme: 'light' | 'dark';
  readonly language: 'en' | 'ko';
  readonly isEmpty?: true;
  readonly isWhole?: true;
};

const FOR_README: readonly Shot[] = [
  { name: 'report-light', width: 1280, scheme: 'light', language: 'en' },
  { name: 'report-dark', width: 1280, scheme: 'dark', language: 'en' },
];

const ALL: readonly Shot[] = [1280, 400].flatMap((width) =>
  (['light', 'dark'] as const).flatMap((scheme) =>
    (['en', 'ko'] as const).flatMap((language): Shot[] => {
      const shot = { width, scheme, language, isWhole: true } as const;
      const name = `${width}-${scheme}-${language}`;
      return [
        { ...shot, name },
        { ...shot, name: `${name}-empty`, isEmpty: true },
      ];
    }),
  ),
);

if (import.meta.main) {
  const { out } = parseArgs({ options: { out: { type: 'string' } } }).values;
  const folder = out ?? join(import.meta.dir, '..', 'docs', 'images');
  mkdirSync(folder, { recursive: true });
  await inTemporary(async (root) => {
    const [full, empty] = [join(root, 'full'), join(root, 'empty')];
    for (const home of [full, empty]) mkdirSync(home);
    fillReportHome(pathsIn(full), { events: 5000, runs: 70, days: 84, now: new Date() });
    writeFileSync(pathsIn(full).config, JSON.stringify({ proof: { holdOut: 'trial' } }));
    const browser = await startChromium('the pictures of the report');
    if (browser === undefined) return;
    for (const { name, width, scheme, language, isEmpty, isWhole } of out === undefined ? FOR_README : ALL) {
      const home = isEmpty ? empty : full;
      timed([PROGRAM, 'report', '--language', language], { home });
      const { page } = await openPage(browser, join(home, '.self-generation/report.html'), {
        width,
        scheme,
        height: HEIGHT,
      });
      // What is made up must not look like a proof.
      if ((await page.locator('.verdict:is(.helps, .harms)').count()) > 0)
        throw new Error('Cannot take the pictures: the coins of this run look like a proof. Run it again');
      await page.screenshot({ path: join(folder, `${name}.png`), fullPage: isWhole === true });
      await page.close();
    }
    await browser.close();
  });
}
