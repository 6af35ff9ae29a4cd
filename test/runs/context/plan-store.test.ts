import { describe, expect, test as testOfBun } from 'bun:test';
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { withVersion } from '../../../src/runs/context/plan-loop.ts';
import {
  approvedState,
  approvePlan,
  currentVersion,
  findPlan,
  listPlans,
  newPlan,
  type Plan,
  savePlan,
} from '../../../src/runs/context/plan-store.ts';
import { type Home, temporaryHome } from '../../support/home.ts';

const AT = (second: number) => new Date(Date.UTC(2026, 10, 23, 7, 8, second));
const TURN = { runId: 'a'.repeat(32), turn: 1 };
const modeOf = (path: string) => statSync(path).mode & 0o777;

function test(title: string, work: (home: Home) => void): void {
  testOfBun(title, () => {
    using home = temporaryHome();
    work(home);
  });
}

function saved({ paths }: Home, task = 'Expire sessions', requester = 'app', second = 9): Plan {
  const plan = withVersion(
    newPlan(task, requester, AT(second)),
    { text: 'the plan\n\n---\n\nwith a line', feedback: null, ...TURN },
    AT(second),
  );
  return savePlan(plan, paths);
}

describe('plans', () => {
  test('are files for this user alone, and read as they were written', (home) => {
    const plan = saved(home);
    expect(modeOf(home.paths.plans)).toBe(0o700);
    expect(modeOf(`${home.paths.plans}/${plan.id}.json`)).toBe(0o600);
    expect(listPlans('app', home.paths)).toEqual([plan]);
    expect(listPlans('other', home.paths)).toEqual([]);
    expect(listPlans(null, home.paths)).toHaveLength(1);
  });

  test('are listed with the newest first; what is no plan is left out', (home) => {
    const [one, other] = [saved(home, 'one', 'app', 1), saved(home, 'other', 'app', 2)];
    writeFileSync(`${home.paths.plans}/00000000.json`, '{"id":"00000000"}');
    writeFileSync(`${home.paths.plans}/11111111.json`, 'torn');
    writeFileSync(`${home.paths.plans}/notes.txt`, '');
    expect(listPlans('app', home.paths).map(({ id }) => id)).toEqual([other.id, one.id]);
  });

  test('there are none without a directory', ({ paths }) => expect(listPlans(null, paths)).toEqual([]));

  test('hold no secret of their task', (home) => {
    const plan = saved(home, `use ghp_${'a1B2'.repeat(9)} to push`);
    expect(readFileSync(`${home.paths.plans}/${plan.id}.json`, 'utf8')).not.toContain('a1B2a1B2');
  });

  test('are meant by "last" or the beginning of their id', () => {
    const made = (id: string) => ({ ...newPlan('x', 'app', AT(1)), id });
    const plans = [made('1a2b0000'), made('1a2c0000')];
    expect(findPlan('last', plans)).toMatchObject({ id: '1a2b0000' });
    expect(findPlan('1A2C', plans)).toMatchObject({ id: '1a2c0000' });
    expect(findPlan('1a2', plans)).toMatchObject({ error: expect.stringContaining('1a2b0000, 1a2c0000') });
    expect(findPlan('ffff', plans)).toMatchObject({ error: expect.stringContaining('Unknown plan: ffff') });
    expect(findPlan('last', [])).toMatchObject({ error: expect.stringContaining('Unknown plan') });
    expect(findPlan(' ', plans)).toHaveProperty('error');
  });
});

describe('an approved plan', () => {
  test('is Markdown, by its hash, for this user alone', (home) => {
    const approved = approvePlan(saved(home), AT(30), home.paths);
    const { file = '', hash = '' } = approved.approved ?? {};
    expect(file).toBe(`${home.paths.plans}/expire-sessions-20261123-070830.md`);
    expect(readFileSync(file, 'utf8')).toEndWith('---\n\nthe plan\n\n---\n\nwith a line\n');
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(modeOf(file)).toBe(0o600);
    expect(listPlans('app', home.paths)).toEqual([approved]);
    expect(approved.status).toBe('approved');
    expect(approvedState(approved)).toBe('as approved');
  });

  test('that was changed since, or is gone, is noticed', (home) => {
    const approved = approvePlan(saved(home), AT(30), home.paths);
    const file = approved.approved?.file ?? '';
    appendFileSync(file, 'and more\n');
    expect(approvedState(approved)).toBe('changed since');
    rmSync(file);
    expect(approvedState(approved)).toBe('gone');
    expect(approvedState(saved(home))).toBeNull();
  });

  test('does not write over another of the same task and second', (home) => {
    const files = [saved(home), saved(home)].map(
      (plan) => approvePlan(plan, AT(30), home.paths).approved?.file ?? '',
    );
    expect(new Set(files).size).toBe(2);
    for (const file of files) expect(existsSync(file)).toBe(true);
  });

  test('needs a draft', (home) => {
    const none = newPlan('x', 'app', AT(1));
    expect(() => approvePlan(none, AT(2), home.paths)).toThrow('it has no draft yet');
    expect(currentVersion(none)).toBeUndefined();
    expect(existsSync(home.paths.plans) ? readdirSync(home.paths.plans) : []).toEqual([]);
  });
});
