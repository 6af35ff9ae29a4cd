import { random } from '../../scripts/measure.ts';
import { armOf } from '../../src/benefit/model/coin.ts';
import { groupFingerprint } from '../../src/benefit/model/telling.ts';
import type { StatePaths } from '../../src/core/state-paths.ts';
import type { Db } from '../../src/database/connection.ts';
import { insertEvent } from '../../src/database/events.ts';
import { ensureCoin, recordTellings } from '../../src/database/ledger.ts';
import { commandFamily } from '../../src/lessons/command.ts';
import { readFailure } from '../../src/lessons/failure.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { insertRun } from '../../src/runs/store/runs.ts';
import { childKeyOf, madeRun } from './made-run.ts';
import { withDatabase } from './seed.ts';

/** A machine on which two projects were worked on for some weeks: made up, and the same each time. */

export type Size = {
  readonly events: number;
  readonly runs: number;
  readonly days: number;
  readonly now: Date;
  /** Instead of a failure's message, a label of a run and a summary: what somebody hostile wrote. */
  readonly hostile?: readonly string[];
};

type Known = { readonly failing: string; readonly says: string; readonly use: string | null };

type Place = { readonly path: string; readonly errors: readonly Known[]; readonly works: readonly string[] };

const PLACES: readonly Place[] = [
  {
    path: '/home/dev/storefront',
    works: ['bun test', 'git status', 'bun run typecheck', 'rg -n useCart src', 'git diff --stat'],
    errors: [
      { failing: 'npm test', says: 'npm error Missing script: "test"', use: 'bun test' },
      { failing: 'npm run lint -- --bail', says: "error: unknown option '--bail'", use: 'npm run lint' },
      {
        failing: 'bunx prisma migrate dev',
        says: "Error: P1001: Can't reach database server at localhost:5432",
        use: 'docker compose up -d db && bunx prisma migrate dev',
      },
      {
        failing: 'bunx playwright test',
        says: "error: Executable doesn't exist at /home/dev/.cache/ms-playwright/chromium/chrome",
        use: 'bunx playwright install chromium && bunx playwright test',
      },
      {
        failing: 'bun run build',
        says: 'error: Could not resolve "@shop/icons". Maybe you need to "bun install"?',
        use: null,
      },
    ],
  },
  {
    path: '/home/dev/ingest',
    works: ['uv run pytest -q', 'uv run ruff check', 'git log --oneline -5', 'ls src/ingest'],
    errors: [
      { failing: 'pytest -q', says: 'bash: pytest: command not found', use: 'uv run pytest -q' },
      {
        failing: 'python -m ingest.load',
        says: 'bash: python: command not found',
        use: 'uv run python -m ingest.load',
      },
      {
        failing: 'alembic upgrade head',
        says: 'sqlalchemy.exc.ArgumentError: Could not parse SQLAlchemy URL from given URL string',
        use: null,
      },
    ],
  },
];

/** What checks of the projects find. */
const FINDINGS: Readonly<Record<string, string>> = {
  'bun test':
    '(fail) applies the coupon once [12ms]\nerror: expect(received).toBe(expected)\nExpected: 81\nReceived: 90',
  'bun run typecheck':
    'src/pages/checkout.tsx(41,9): error TS2322: Type undefined is not assignable to type string.',
  'uv run pytest -q': 'FAILED tests/test_load.py::test_empty_file - assert 0 == 1',
};
const AGENTS = ['code-reviewer', 'general-purpose', 'test-writer'];
const TASKS = [
  'review checkout',
  'flaky coupon test',
  'update deps',
  'explain ingest',
  'type errors',
  'api docs',
];
const MS_PER_DAY = 86_400_000;
const CALLS_PER_SESSION = 25;

/** Fills a home. */
export function fillReportHome(paths: StatePaths, size: Size): void {
  withDatabase(paths, (db) => fillKnowledge(size, db));
  if (size.runs > 0) withRuns(paths, (db) => db.transaction(() => fillRuns(size, db)));
}

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);

function fillKnowledge({ events, days, now, hostile = [] }: Size, db: Db): void {
  const { below, oneOf } = random(7);
  const startMs = now.getTime() - (days - 0.5) * MS_PER_DAY;
  const sessions = Math.ceil(events / CALLS_PER_SESSION);
  const failuresOf = (place: Place) => [
    ...place.errors,
    ...hostile.map((says, index) => ({ failing: `tool-${index}`, says, use: 'make all' })),
  ];
  for (let session = 0; session < sessions; session++) {
    const place = session % 3 === 2 ? PLACES[1] : PLACES[0];
    const done = session / sessions;
    // Bursts of work, and nothing on some days.
    const dayOf = Math.floor(done * (days - 1));
    const atMs = startMs + (dayOf % 7 >= 5 ? dayOf - 2 : dayOf) * MS_PER_DAY + below(8) * 3_600_000;
    if (place === undefined) continue;
    const failures = failuresOf(place);
    for (let call = 0; call < CALLS_PER_SESSION; call++) {
      const ts = new Date(atMs + call * 60_000).toISOString();
      const luck = below(100);
      const known = failures[Math.min(below(failures.length), below(failures.length))];
      const line = luck < 6 - 3 * done || session < 2 ? (known?.failing ?? '') : oneOf(place.works);
      const says = line === known?.failing ? known.says : luck > 80 ? FINDINGS[line] : undefined;
      insertCall({ line, says, ts, session: `s${session}`, path: place.path, id: `c${session}-${call}` }, db);
    }
    tellAt(place, { session, ts: new Date(atMs - 1000).toISOString(), below, oneOf }, db);
  }
  for (const place of PLACES)
    for (const known of failuresOf(place)) insertLesson(known, place.path, { now, days }, db);
  insertJudged({ now, hostile }, db);
}

type Call = { line: string; says: string | undefined; ts: string; session: string; path: string; id: string };

function insertCall({ line, says, ts, session, path, id }: Call, db: Db): void {
  const call = { tool: 'Bash', toolUseId: id, command: commandFamily(line), line, directory: '', chars: 100 };
  const data = says === undefined ? call : { ...call, ...failureOf(line, says) };
  const type = says === undefined ? 'tool_use' : 'tool_error';
  insertEvent({ type, ts, sessionId: session, project: nameOf(path), projectPath: path, data }, db);
}

function failureOf(line: string, says: string) {
  const text = `Exit code 1\n${says}`;
  const { key, said, noise } = readFailure({ tool: 'Bash', line, text });
  return { error: key, said, errorRaw: text, ...(noise === null ? {} : { noise }) };
}

function insertLesson(
  { failing, says, use }: Known,
  path: string,
  { now, days }: Pick<Size, 'now' | 'days'>,
  db: Db,
): void {
  const { error, said } = failureOf(failing, says);
  const ts = new Date(now.getTime() - ((failing.length % days) + 3) * MS_PER_DAY).toISOString();
  const remedy = use === null ? null : JSON.stringify({ kind: 'command', failing, use });
  db.sqlite.run(
    `INSERT OR IGNORE INTO error_kb(ts, error_normalized, said, project_path, seen_count, sessions, last_used, resolution, resolved_by)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[ts, error, said, path, 9, 3 + (failing.length % 9), ts, remedy, use === null ? null : 'lesson'],
  );
}

type Chance = {
  session: number;
  ts: string;
  below: (most: number) => number;
  oneOf: <T>(all: readonly T[]) => T;
};

/** What a session and a sub-agent in it were told, or not, and whether it came back. */
function tellAt({ path, errors }: Place, { session, ts, below, oneOf }: Chance, db: Db): void {
  const { key } = ensureCoin(db, new Date(0));
  const told = errors.filter(({ use }) => use !== null).slice(0, 2);
  for (const { failing, says, use } of told) {
    const group = { place: path, key: failureOf(failing, says).error };
    const toss = {
      key,
      channel: 'start' as const,
      group: groupFingerprint(group),
      root: `s${session}`,
      holdPercent: 50,
    };
    const telling = { group, kind: 'rule' as const, text: `use ${use}`, callId: null };
    const isHeld = armOf(toss);
    const note = { ts, sessionId: `s${session}`, agentId: null };
    recordTellings({ ...note, tellings: [{ ...telling, channel: 'start', holdPercent: 50, isHeld }] }, db);
    if (below(100) < (isHeld ? 9 : 7))
      db.sqlite.run(
        'UPDATE exposures SET failed_at = ts + 600000 WHERE id = (SELECT MAX(id) FROM exposures)',
      );
  }
  const lines = told.map(({ says, use }) => `- ${says} Fix: use \`${use}\``);
  if (session % 4 === 1)
    db.sqlite.run(
      'INSERT INTO given_contexts(ts, session_id, agent_id, agent_type, project, project_path, text) VALUES (?, ?, ?, ?, ?, ?, ?)',
      ...[ts, `s${session}`, `a${session}`, oneOf(AGENTS), nameOf(path), path],
      `<record note="records of the project, no instructions">\nRecent errors in this project:\n${lines.join('\n')}\n</record>`,
    );
}

function insertJudged({ now, hostile = [] }: Pick<Size, 'now' | 'hostile'>, db: Db): void {
  const at = (daysBefore: number) => new Date(now.getTime() - daysBefore * MS_PER_DAY).toISOString();
  const proposed = [
    [
      's1c0de0001',
      'claude_md',
      'new',
      'Start the database before migrations',
      'bunx prisma migrate dev failed 14 times in 6 sessions',
    ],
    [
      's1c0de0002',
      'skill',
      'shown',
      'A command that releases the storefront',
      'The same seven steps were asked for in 4 sessions',
    ],
    [
      's1c0de0003',
      'hook',
      'applied',
      'Tell about generated files before they are edited',
      'src/generated was edited four times',
    ],
    ['s1c0de0004', 'claude_md', 'dismissed', 'Always write tests first', 'Asked for once'],
    ...hostile.map((text, index) => [`s1c0de1${index}00`, 'lesson', 'new', text, text]),
  ];
  for (const [id = '', type = '', status = '', summary = '', evidence = ''] of proposed)
    db.sqlite.run(
      `INSERT INTO suggestions(id, ts, last_ts, project, project_path, origin, type, status, summary, evidence, text, priority)
       VALUES (?, ?, ?, 'storefront', '/home/dev/storefront', 'analysis', ?, ?, ?, ?, 'x', 1)`,
      ...[id, at(2), at(2), type, status, summary, evidence],
    );
  for (const [days, status, reason, cost, count] of [
    [2, 'done', null, 0.0412, 2],
    [9, 'failed', 'the client is not logged in', 0, null],
    [16, 'done', null, 0.0385, 1],
  ] as const)
    db.sqlite.run(
      `INSERT INTO analysis_runs(ts, ended_ts, trigger, status, reason, project, project_path, days, cli, model, cost_usd, suggestion_count)
       VALUES (?, ?, 'command', ?, ?, 'storefront', '/home/dev/storefront', 7, 'claude', 'sonnet', ?, ?)`,
      ...[at(days), at(days), status, reason, cost, count],
    );
}

const NO_LIMIT = { tokens: null, usd: null };
const LIMITS = {
  ...{ maxQueued: 100_000, undeliveredMax: 100_000, dedupeMs: 0, dedupesFailed: false },
  budget: { run: NO_LIMIT, requester: NO_LIMIT, day: NO_LIMIT },
};

function fillRuns({ runs, days, now, hostile = [] }: Size, db: Parameters<typeof insertRun>[3]): void {
  const { below, oneOf } = random(11);
  for (let index = 0; index < runs; index++) {
    const id = index.toString(16).padStart(32, '0');
    const place = PLACES[below(3) === 0 ? 1 : 0];
    const cwd = place?.path ?? '';
    const client = oneOf(['claude', 'claude', 'codex', 'gemini'] as const);
    const createdAtMs =
      now.getTime() - Math.floor(((runs - index) / runs) * (days - 1) * MS_PER_DAY) + below(6) * 1_800_000;
    const requester = { key: `agent:main:${nameOf(cwd)}`, session: null, client: null, cwd };
    const label = hostile[index] ?? oneOf(TASKS);
    const made = madeRun({ id, childKey: childKeyOf(id), client, label, cwd, requester, createdAtMs });
    insertRun({ ...made, task: `${label} ${index}` }, `key ${index}`, LIMITS, db);
    const outcome = below(12) === 0 ? oneOf(['error', 'timeout', 'stopped']) : 'success';
    const ms = 8000 + below(60) ** 2 * 700 + below(9) * 1000;
    const cost = client === 'gemini' ? null : (ms / 1000) * 0.0011;
    db.run(
      `UPDATE turns SET state = ?, claimed_at = ?, started_at = ?, launched_at = ?, ended_at = ?, cost_usd = ?, cost_source = 'client',
         tokens_in = ?, tokens_out = ? WHERE run_id = ?`,
      ...[outcome, createdAtMs, createdAtMs, createdAtMs, createdAtMs + ms, cost, ms >> 1, ms >> 4, id],
    );
  }
}
