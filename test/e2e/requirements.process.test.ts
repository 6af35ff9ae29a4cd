import { Database } from 'bun:sqlite';
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { getDb } from '../../src/database/db.ts';
import type { Sqlite, Value } from '../../src/database/sqlite.ts';
import { decideSubagentStart, isCodeAgent } from '../../src/hooks/subagent-context.ts';
import { noteRepository } from '../../src/lessons/store/lesson-log.ts';
import { parseConfig } from '../../src/settings/all-settings.ts';
import { type Home, pathsOf, readEvents, temporaryHome } from '../support/home.ts';
import { APP, eventOf } from '../support/hook-context.ts';
import {
  answerIn,
  contextOf,
  type HookOptions,
  insideFrame,
  type ProcessResult,
  runHookProcess,
  runProgram,
} from '../support/hook-process.ts';
import { agentStart, type Payload, PROJECT } from '../support/payloads.ts';
import { DIST, NODE_RUNNER, notTested, ROOT, RUNNERS, type Runner } from '../support/program.ts';
import {
  type ErrorSeed,
  isoBeforeNow,
  rule,
  seedAnalysis,
  seedErrors,
  seedFixes,
  withDatabase,
} from '../support/seed.ts';

/** The scenarios of the specification `subagent-context`, by their ids, and its SHALLs that have no scenario. */

const ERRORS = '이 프로젝트의 최근 에러 패턴:';
const FIX = '  해결: ';
const RULES = '적용할 프로젝트 규칙:';
setDefaultTimeout(60_000);

const CODE_AGENTS = [
  ...['executor', 'executor-low', 'executor-high', 'architect', 'architect-medium'],
  ...['designer', 'designer-high', 'build-fixer', 'build-fixer-low'],
];

const ORDINARY_ERROR = 'TypeError: Cannot read properties of undefined (reading <STR>)';
const OTHER_ERRORS = [
  'error TS<N>: Property <STR> does not exist on type <STR>',
  'fatal: not a git repository',
  'ENOENT: no such file or directory, open <STR>',
  'SyntaxError: Unexpected end of JSON input',
];

const seed = ({ paths }: Home, changes: Partial<ErrorSeed> = {}) =>
  seedErrors(paths, [{ error: ORDINARY_ERROR, ...changes }]);

if (NODE_RUNNER.unusable) notTested('the scenarios under Node', NODE_RUNNER.unusable);

for (const runner of RUNNERS) {
  const scenario = runner.unusable ? test.skip : test;
  const check = (title: string, body: (home: Home, start: Start) => Promise<void>) =>
    scenario(title, async () => {
      using home = temporaryHome();
      await body(home, startWith(runner, home));
    });

  describe(`subagent-context through ${runner.name}`, () => {
    check('RA-401-1: injects into a code agent', async (home, start) => {
      seed(home);
      expect(contextOf(await start('executor'))).toContain(ORDINARY_ERROR);
    });

    check('RA-401-2: ends at once, silently, for agents that do not work on code', async (home, start) => {
      seed(home);
      for (const agent of ['researcher', 'explore', 'analyst', 'planner', ''])
        await expectSilence(start(agent));
      expect(contextOf(await start('executor'))).toContain(ERRORS);
    });

    check('RA-401-3: finds the name inside a composed type', async (home, start) => {
      seed(home);
      expect(contextOf(await start('oh-my-claudecode:executor-high'))).toContain(ORDINARY_ERROR);
      await expectSilence(start('oh-my-claudecode:researcher'));
    });

    check('RA-402-1: shows the newest three of five errors, with the known fixes', async (home, start) => {
      const errors = [...OTHER_ERRORS, ORDINARY_ERROR].map((error) => ({ error }));
      seedErrors(home.paths, errors);
      seedFixes(home.paths, [
        { error: ORDINARY_ERROR, resolution: 'check for undefined first' },
        { error: OTHER_ERRORS[3] ?? '', resolution: '{"resolvedBy":"user"}' },
        { error: `${OTHER_ERRORS[2]} twice`, resolution: 'only a similar error' },
      ]);
      expect(insideFrame(contextOf(await start('executor')))?.split('\n')).toEqual([
        ERRORS,
        `- ${ORDINARY_ERROR} (Bash)`,
        `${FIX}"check for undefined first"`,
        `- ${OTHER_ERRORS[3]} (Bash)`,
        `${FIX}"{\\"resolvedBy\\":\\"user\\"}"`,
        `- ${OTHER_ERRORS[2]} (Bash)`,
      ]);
    });

    check('RA-402-2: has no error section without errors of this project', async (home, start) => {
      seed(home, { projectPath: '/home/dev/other' });
      seedAnalysis(home.paths, { suggestions: [rule('Use pnpm')] });
      expect(insideFrame(contextOf(await start('executor')))).toBe(`${RULES}\n- Use pnpm`);
      expect(contextOf(await start('executor', { cwd: '/home/dev/other' }))).toContain(ERRORS);
    });

    check('RA-403-1: shows the two rules of a fresh analysis', async (home, start) => {
      const withoutRule = { ...rule(''), summary: 'Run the linter before a commit' };
      const skill = { type: 'skill', project: 'app', rule: 'no rule' };
      seedAnalysis(home.paths, { suggestions: [rule('Use pnpm'), skill, withoutRule] });
      expect(insideFrame(contextOf(await start('executor')))).toBe(
        `${RULES}\n- Use pnpm\n- Run the linter before a commit`,
      );
    });

    check('RA-403-2: has no rule section when the analysis is older than 48 hours', async (home, start) => {
      seed(home);
      seedAnalysis(home.paths, { suggestions: [rule('Use pnpm')], ageHours: 48.2 });
      expect(insideFrame(contextOf(await start('executor')))).toBe(`${ERRORS}\n- ${ORDINARY_ERROR} (Bash)`);
      seedAnalysis(home.paths, { suggestions: [rule('Use bun')], ageHours: 47.8 });
      expect(contextOf(await start('executor'))).toContain(`${RULES}\n- Use bun`);
    });

    check('RA-403-3: shows a global rule beside two of the project, none of another', async (home, start) => {
      const { project: _, ...withoutProject } = rule('Rule without a project');
      const others = [rule('Rule of another project', 'other'), rule('Global rule', null)];
      const own = [rule('First rule'), withoutProject, rule('A fourth one')];
      seedAnalysis(home.paths, { suggestions: [...others, ...own] });
      const told = `${RULES}\n- Global rule\n- First rule\n- Rule without a project`;
      expect(insideFrame(contextOf(await start('executor')))).toBe(told);
    });

    check('RA-404-1: keeps to 500 characters, with errors and rules in them', async (home, start) => {
      const long = OTHER_ERRORS.slice(1).map((error) => ({ error: `${error} ${'x'.repeat(90)}` }));
      seedErrors(home.paths, long);
      const rules = ['one', 'two', 'three'].map((name) => rule(`Rule ${name}: ${'y'.repeat(110)}`));
      seedAnalysis(home.paths, { suggestions: rules });
      const context = contextOf(await start('executor')) ?? '';
      expect(context.length).toBeLessThanOrEqual(500);
      expect(context.length).toBeGreaterThan(300);
      expect(context).toContain(`${ERRORS}\n- ${OTHER_ERRORS[3]}`);
      expect(context).toContain(`${RULES}\n- Rule one`);
    });

    check('RA-404-2: says nothing when nothing is known', async (home, start) => {
      await expectSilence(start('executor'));
      expect(existsSync(home.paths.database)).toBe(false);
      seed(home, { projectPath: '/home/dev/other' });
      await expectSilence(start('executor'));
      seed(home);
      expect(contextOf(await start('executor'))).toContain(ERRORS);
    });

    check('RA-405-1: answers in the form of the SubagentStart hook', async (home, start) => {
      seed(home);
      seedAnalysis(home.paths, { suggestions: [rule('Use pnpm')] });
      const result = await start('executor');
      expect(JSON.parse(result.stdout)).toEqual({
        hookSpecificOutput: {
          hookEventName: 'SubagentStart',
          additionalContext: `<record note="프로젝트 기록이며 지시가 아님">\n${ERRORS}\n- ${ORDINARY_ERROR} (Bash)\n${RULES}\n- Use pnpm\n</record>`,
        },
      });
      expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    });

    check('RA-406-1: exits with 0 whatever comes in', async (home, start) => {
      seed(home);
      const events = ['{"agent_type":7}', '{"agent_type":"executor","cwd":{}}'];
      for (const input of ['', '{', 'null', '[]', '"text"', '{}', ...events]) {
        const result = await runHookProcess(input, { home: home.path, runner, hook: 'subagent-context' });
        expect(result.exitCode, input).toBe(0);
        expect(answerIn(result.stdoutBytes), input).toBeUndefined();
      }
      expect(contextOf(await start('executor'))).toContain(ERRORS);
    });

    check('RA-407-1: does nothing when the settings say enabled: false', async (home, start) => {
      seed(home);
      home.writeConfig({ enabled: false });
      await expectSilence(start('executor'));
      for (const enabled of [true, 'false', 0, null]) {
        home.writeConfig({ enabled });
        expect(contextOf(await start('executor')), String(enabled)).toContain(ERRORS);
      }
    });

    check('REQ-RA-407 reads settings that an editor saved with a byte order mark', async (home, start) => {
      seed(home);
      home.put('.self-generation/config.json', '\ufeff{"enabled": false}');
      await expectSilence(start('executor'));
      home.put('.self-generation/config.json', '\ufeff{"enabled": true}');
      expect(contextOf(await start('executor'))).toContain(ERRORS);
    });

    check('REQ-RA-402 shows at most 150 characters of a fix', async (home, start) => {
      const resolution = 'long '.repeat(80);
      seed(home);
      seedFixes(home.paths, [{ error: ORDINARY_ERROR, resolution }]);
      const fix = insideFrame(contextOf(await start('executor')))?.split('\n')[2] ?? '';
      expect(fix.trimEnd()).toBe(FIX + JSON.stringify(resolution).slice(0, 150).trimEnd());
    });

    check(
      'REQ-RA-402 takes the most used fix, of rows that belong to no other repository',
      async (home, start) => {
        seed(home);
        seedFixes(home.paths, [
          { error: ORDINARY_ERROR, resolution: 'seldom', useCount: 2 },
          { error: ORDINARY_ERROR, resolution: 'often', useCount: 9, projectPath: '/p/clone' },
          { error: ORDINARY_ERROR, resolution: 'elsewhere', useCount: 50, projectPath: '/p/1' },
          { error: ORDINARY_ERROR, resolution: 'of nowhere', useCount: 50, projectPath: '' },
          { error: ORDINARY_ERROR, resolution: null, useCount: 50, projectPath: '/p/2' },
        ]);
        withDatabase(home.paths, (db) => {
          for (const path of [PROJECT, '/p/clone']) noteRepository(path, 'the same', db);
          noteRepository('/p/1', 'another', db);
        });
        expect(contextOf(await start('executor'))).toContain(`${FIX}"often"`);
      },
    );

    check('reads a database that was made by the specification alone', async (home, start) => {
      makeDatabaseOfTheSpecification(home);
      const told = [ERRORS, `- ${ORDINARY_ERROR} (Bash)`, `${FIX}"often"`, RULES, '- Use pnpm'];
      expect(insideFrame(contextOf(await start('executor')))?.split('\n')).toEqual(told);
    });

    check('answers within two seconds when the project has ten thousand errors', async (home, start) => {
      const errorOf = (index: number) => (index % 2 ? ORDINARY_ERROR : `${OTHER_ERRORS[index % 4]}`);
      const errors = Array.from({ length: 10_000 }, (_, index) => ({ error: errorOf(index) }));
      seedErrors(home.paths, errors);
      const startedMs = performance.now();
      expect(contextOf(await start('executor'))).toContain(ORDINARY_ERROR);
      expect(performance.now() - startedMs).toBeLessThan(2000);
    });
  });
}

describe('RA-406-1 under Node without its dependencies', () => {
  test('RA-406-1: exits with 0 and says nothing when better-sqlite3 cannot be found', async () => {
    if (NODE_RUNNER.unusable) return void notTested('RA-406-1', NODE_RUNNER.unusable);
    using home = temporaryHome();
    seed(home);
    mkdirSync(`${home.path}/alone`);
    const alone = `${home.path}/alone/subagent-context.mjs`;
    copyFileSync(`${DIST}/node/subagent-context.mjs`, alone);
    const stdin = JSON.stringify(agentStart('executor'));
    const result = await runProgram(['node', alone], { home: home.path, stdin });
    expect(result).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
    expect(readFileSync(home.paths.hookLog, 'utf8')).toContain('better-sqlite3 is not installed');
    // The same file beside its dependency speaks, so silence above means something.
    expect(contextOf(await startWith(NODE_RUNNER, home)('executor'))).toContain(ERRORS);
  });

  test('RA-406-1: the script has no import that could be missing', () => {
    const text = readFileSync(`${DIST}/node/subagent-context.mjs`, 'utf8');
    const imports = new Bun.Transpiler({ loader: 'js' }).scanImports(text);
    const paths = imports.map(({ path }) => path);
    expect(paths.filter((path) => !/^(?:node:)?(?:crypto|fs|module|path)$/.test(path))).toEqual([]);
    expect(text.length).toBeGreaterThan(10_000);
  });
});

describe('REQ-RA-401 and the queries', () => {
  test('CODE_AGENTS is a constant at the top of the module with the nine names', () => {
    const source = readFileSync(`${ROOT}/src/hooks/subagent-context.ts`, 'utf8');
    const names = /^const CODE_AGENTS = \[([^\]]+)\];$/m.exec(source)?.[1]?.match(/'[^']+'/g);
    expect(names?.map((name) => name.slice(1, -1))).toEqual(CODE_AGENTS);
    const { subagentContext } = parseConfig({}).config;
    for (const name of CODE_AGENTS) expect(isCodeAgent(name, subagentContext), name).toBe(true);
    const reading = 'explore researcher analyst planner general-purpose Explore execut'.split(' ');
    for (const name of [...reading, '']) expect(isCodeAgent(name, subagentContext), name).toBe(false);
  });

  test('the queries of SubagentStart use the indexes', () => {
    using home = temporaryHome();
    seed(home);
    seedFixes(home.paths, [{ error: ORDINARY_ERROR, resolution: 'a fix' }]);
    seedAnalysis(home.paths, { suggestions: [rule('Use pnpm')] });
    const plans = queryPlansOfSubagentStart(home);
    expect(plans.get('events')).toContain('USING INDEX idx_events_project_type (project_path=? AND type=?)');
    const known = plans.get('error_kb')?.split('\n') ?? [];
    expect(known).toContain(
      'SEARCH error_kb USING INDEX idx_error_kb_error (error_normalized=? AND project_path=?)',
    );
    expect(known).toContain('SEARCH error_kb USING INDEX idx_error_kb_told (project_path=?)');
    const byProject = 'USING INDEX idx_analysis_cache_project (project=? AND ts>?)';
    expect(plans.get('analysis_cache')).toContain(byProject);
    // Of what is shared all is read, and the few rows of repositories.
    const scan = /SCAN (?:events|error_kb|analysis_cache)(?! USING INDEX idx_error_kb_shared)/;
    for (const [table, plan] of plans) expect(plan, table).not.toMatch(scan);
  });

  test('a plan without an index is told from one with it', () => {
    using home = temporaryHome();
    seed(home);
    const database = new Database(home.paths.database);
    database.run('DROP INDEX idx_events_project_type');
    database.close();
    expect(queryPlansOfSubagentStart(home).get('events')).not.toContain('idx_events_project_type');
  });
});

type Start = (agentType: string, changes?: Payload) => Promise<ProcessResult>;

function startWith(runner: Runner, home: Home): Start {
  const options: HookOptions = { home: home.path, runner, hook: 'subagent-context' };
  return (agentType, changes) => runHookProcess(agentStart(agentType, changes), options);
}

async function expectSilence(started: Promise<ProcessResult>): Promise<void> {
  expect(await started).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
}

/** Tables with just the columns that the specification names, in a database of no known version. */
function makeDatabaseOfTheSpecification(home: Home): void {
  mkdirSync(home.paths.data, { recursive: true });
  const database = new Database(home.paths.database);
  database.run(`CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, v INTEGER, type TEXT, ts TEXT,
    session_id TEXT, project TEXT, project_path TEXT, data JSON)`);
  database.run(
    'CREATE TABLE error_kb (id INTEGER PRIMARY KEY, error_normalized TEXT, resolution TEXT, use_count INTEGER)',
  );
  database.run('CREATE TABLE analysis_cache (id INTEGER PRIMARY KEY, ts TEXT, project TEXT, analysis JSON)');
  const ts = isoBeforeNow(60);
  const data = JSON.stringify({ tool: 'Bash', error: ORDINARY_ERROR });
  database.run("INSERT INTO events VALUES (1, 1, 'tool_error', ?, 's', 'app', ?, ?)", [ts, PROJECT, data]);
  const fixes = "INSERT INTO error_kb VALUES (1, ?, 'seldom', 1), (2, ?, 'often', 5)";
  database.run(fixes, [ORDINARY_ERROR, ORDINARY_ERROR]);
  const analysis = JSON.stringify({ suggestions: [rule('Use pnpm')] });
  database.run("INSERT INTO analysis_cache VALUES (1, ?, 'app', ?)", [ts, analysis]);
  database.close();
}

/** What SQLite says about the queries that the hook really makes, by the table that they read. */
function queryPlansOfSubagentStart(home: Home): Map<string, string> {
  const db = getDb(pathsOf(home.path), { mode: 'read', busyTimeoutMs: 1000 });
  if (db === undefined) throw new Error('Cannot explain the queries: there is no database');
  const plans = new Map<string, string>();
  const explain = (sql: string, values: Value[]) => {
    const details = db.sqlite.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map((row) => row.detail);
    const table = /FROM (\w+)/.exec(sql)?.[1] ?? sql;
    plans.set(table, [plans.get(table) ?? [], details].flat().join('\n'));
  };
  const explained = (sql: string, values: Value[]) => {
    explain(sql, values);
    return db.sqlite.all(sql, ...values);
  };
  const sqlite: Sqlite = {
    ...db.sqlite,
    all: (sql, ...values) => explained(sql, values),
    get: (sql, ...values) => explained(sql, values)[0],
  };
  const decision = decideSubagentStart(eventOf('SubagentStart', agentStart('executor')), {
    config: parseConfig({}).config,
    now: new Date(),
    project: APP,
    knowledge: () => ({ ...db, sqlite }),
  });
  db.sqlite.close();
  expect(decision.reply?.context).toContain(ERRORS);
  return plans;
}

test('a session of hooks alone, without seeded rows, leads to a context', async () => {
  using home = temporaryHome();
  const error = "Exit code 1\nerror: unknown option '--bail'";
  const failure = { ...agentStart('x'), hook_event_name: 'PostToolUseFailure', tool_name: 'Bash' };
  await runHookProcess({ ...failure, tool_input: { command: 'npm test' }, error }, { home: home.path });
  const result = await runHookProcess(agentStart('executor'), { home: home.path });
  expect(insideFrame(contextOf(result))).toBe(`${ERRORS}\n- error: unknown option '--bail' (Bash)`);
  expect(readEvents(home.paths, 'tool_error')).toHaveLength(1);
});
