import { describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { reportCommand } from '../../src/cli/report.ts';
import type { Report } from '../../src/report/report.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { fillReportHome } from '../support/report-home.ts';
import { seedErrors, withDatabase } from '../support/seed.ts';
import { call, callHere } from './call.ts';

function filled(): Home {
  const home = temporaryHome();
  fillReportHome(home.paths, { events: 300, runs: 5, days: 20, now: new Date() });
  return home;
}

const report = (home: Home, ...words: string[]) => call(home, ['report', ...words]);
const pageOf = (home: Home) => `${home.paths.home}/report.html`;
const modeOf = (path: string) => statSync(path).mode & 0o777;

function embedded(path: string): Report {
  const html = readFileSync(path, 'utf8');
  return JSON.parse(/<script type="application\/json" id="report">(.*)<\/script>/.exec(html)?.[1] ?? '');
}

describe('report', () => {
  test('writes a page for the user alone, over the one before', async () => {
    using home = filled();
    for (const _ of [1, 2]) {
      const { exitCode, stdout } = await report(home);
      expect(exitCode).toBe(0);
      expect(stdout).toMatch(new RegExp(`^Wrote ${pageOf(home)} \\(\\d+ KB\\)\\.\\n$`));
      expect(modeOf(pageOf(home))).toBe(0o600);
      chmodSync(pageOf(home), 0o644);
    }
    expect(embedded(pageOf(home)).runs).toHaveLength(5);
  });

  test('tells a new user what to do, also without a home of ours', async () => {
    using home = temporaryHome();
    expect((await report(home)).exitCode).toBe(0);
    expect(embedded(pageOf(home)).isAnythingRecorded).toBe(false);
    expect(existsSync(home.paths.database)).toBe(false);
    expect(modeOf(home.paths.home)).toBe(0o700);
  });

  test('--out writes there, and never over a file that is no page of ours', async () => {
    using home = filled();
    const path = `${home.path}/page.html`;
    expect((await report(home, '--out', path)).exitCode).toBe(0);
    expect((await report(home, '--out', path)).exitCode).toBe(0);
    expect(existsSync(pageOf(home))).toBe(false);
    writeFileSync(path, 'mine');
    const { exitCode, stderr } = await report(home, '--out', path);
    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      `error: Cannot write "${path}": something else stands there. Give another file with --out.\n`,
    );
    expect(readFileSync(path, 'utf8')).toBe('mine');
    expect((await report(home, '--out', home.path)).exitCode).toBe(1);
    expect((await report(home, '--out', `${home.path}/nowhere/page.html`)).exitCode).toBe(1);
  });

  test('--out follows no link to a file that is not ours', async () => {
    using home = filled();
    const target = home.put('mine.txt', 'mine');
    symlinkSync(target, `${home.path}/link.html`);
    expect((await report(home, '--out', `${home.path}/link.html`)).exitCode).toBe(1);
    expect(readFileSync(target, 'utf8')).toBe('mine');
  });

  test('--json prints the same value and writes nothing', async () => {
    using home = filled();
    const { stdout } = await report(home, '--json', '--days', '10');
    expect(existsSync(pageOf(home))).toBe(false);
    await report(home, '--days', '10');
    const [printed, shown] = [JSON.parse(stdout), embedded(pageOf(home))];
    // What has to do with the time of the call differs.
    const same = ({ madeAt, proof, ...rest }: Report) => rest;
    expect(same(printed)).toEqual(same(shown));
    expect(printed.days).toBe(10);
  });

  test('takes the language of the settings, and --language before it', async () => {
    using home = filled();
    home.writeConfig({ language: 'en' });
    await report(home);
    expect(embedded(pageOf(home)).language).toBe('en');
    await report(home, '--language', 'ko');
    expect(readFileSync(pageOf(home), 'utf8')).toContain('<html lang="ko">');
  });

  test('--project shows one alone, and fails where nothing is recorded of it', async () => {
    using home = filled();
    await report(home, '--project', 'ingest');
    expect(embedded(pageOf(home)).projects.map(({ name }) => name)).toEqual(['ingest']);
    const { exitCode, stderr } = await report(home, '--project', 'nothing');
    expect(exitCode).toBe(3);
    expect(stderr).toStartWith('error: Cannot find the project "nothing": nothing is recorded of it');
  });

  test('--open says where the page is when there is nothing to open it with', async () => {
    using home = filled();
    const { exitCode, stdout, stderr } = await report(home, '--open');
    expect(exitCode).toBe(1);
    expect(stdout).toStartWith('Wrote ');
    expect(stderr).toBe(
      `error: Cannot open the report: there is no screen here. Open "${pageOf(home)}" in a browser.\n`,
    );
  });

  for (const words of [['--days', '0'], ['--days', 'x'], ['--language', 'fr'], ['extra'], ['--out']]) {
    test(`refuses ${words.join(' ')}`, async () => {
      using home = temporaryHome();
      expect((await report(home, ...words)).exitCode).toBe(2);
      expect(existsSync(pageOf(home))).toBe(false);
    });
  }

  test('counts by the days of the time zone that the machine is in', async () => {
    using home = temporaryHome();
    seedErrors(home.paths, [{ error: 'Error: a' }]);
    const at = new Date();
    at.setUTCDate(at.getUTCDate() - 3);
    const day = at.toISOString().slice(0, 10);
    withDatabase(home.paths, ({ sqlite }) => {
      sqlite.run('DELETE FROM events');
      for (const time of ['18:10', '18:20'])
        sqlite.run(
          "INSERT INTO events(type, ts, session_id, project, project_path, data) VALUES ('tool_use', ?, 's', 'app', '/home/dev/app', '{}')",
          `${day}T${time}:00.000Z`,
        );
    });
    const inZone = async (TZ: string) => {
      const { stdout } = await call(home, ['report', '--json'], { env: { TZ } });
      return (JSON.parse(stdout) as Report).calls.map(({ day, calls }) => [day, calls]);
    };
    const next = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
    expect(await inZone('UTC')).toEqual([[day, 2]]);
    // 5 hours and 45 minutes before UTC.
    expect(await inZone('Asia/Kathmandu')).toEqual([
      [day, 1],
      [next, 1],
    ]);
  });

  test('is removed by uninstall --purge', async () => {
    using home = filled();
    await report(home);
    expect((await call(home, ['uninstall', '--purge', '--yes'])).exitCode).toBe(0);
    expect(existsSync(pageOf(home))).toBe(false);
  });

  test('says that a program that runs from its source has no page', async () => {
    using home = filled();
    const { code, stderr } = await callHere(reportCommand, [], { env: { HOME: home.path } });
    expect(code).toBe(1);
    expect(stderr).toBe(
      'error: Cannot write the report: this program runs from its source, without the page. Build it.\n',
    );
  });
});
