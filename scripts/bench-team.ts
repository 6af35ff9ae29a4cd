/**
 * How long a sync takes with a team of 50 members who share 100,000 lessons of one repository, on a PostgreSQL of its own on
 * this machine; and how large all that is. Fails when it takes longer than is promised.
 *
 *   bun scripts/bench-team.ts [--lessons N] [--slack F]
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { statePaths } from '../src/core/state-paths.ts';
import { connectServer } from '../src/database/postgres.ts';
import { readServerAddress } from '../src/database/server-address.ts';
import { readMembership, repositoryName, teamPaths } from '../src/team/membership.ts';
import { contentId, type NewFact } from '../src/team/model/fact.ts';
import { pushFacts, seatIn } from '../src/team/store/server.ts';
import { ADMIN, postgresPrograms, startPostgres } from '../test/support/postgres-server.ts';

const { values } = parseArgs({ options: { lessons: { type: 'string' }, slack: { type: 'string' } } });
const LESSONS = Number(values.lessons ?? 100_000);
const SLACK = Number(values.slack ?? 1);
const MEMBERS = 50;
const NEW = 100;
const FIRST_MS_MAX = 20_000;
const LATER_MS_MAX = 1_000;
const PROGRAM = 'dist/self-generation';

if (postgresPrograms() === undefined) {
  console.log('NOT TESTED HERE: a team on PostgreSQL, which is not installed');
  process.exit();
}

const server = await startPostgres();
const root = mkdtempSync(join(tmpdir(), 'self-generation-bench-team-'));
try {
  await measure();
} finally {
  await server.remove();
  rmSync(root, { recursive: true, force: true });
}

async function open(login: string) {
  const read = readServerAddress(server.url(login), {});
  if (read.kind === 'wrong') throw new Error(read.reason);
  return await connectServer(read.address);
}

async function measure(): Promise<void> {
  const project = join(root, 'shop');
  const git = (...args: string[]) => execFileSync('git', args, { stdio: 'ignore' });
  git('init', '-q', project);
  git('-C', project, 'remote', 'add', 'origin', 'https://git.example.com/shop.git');
  const run = (home: string, ...words: string[]) =>
    execFileSync(PROGRAM.startsWith('/') ? PROGRAM : join(process.cwd(), PROGRAM), words, {
      cwd: project,
      env: { HOME: join(root, home), PATH: process.env.PATH, SELF_GENERATION_TEAM_KEY: key },
      encoding: 'utf8',
    });
  let key = '';
  const admin = await open(ADMIN);
  key = JSON.parse(run('owner', 'team', 'join', server.url(ADMIN), '--create', 'shop', '--json')).key;
  const logins = Array.from({ length: MEMBERS }, (_, index) => `member${index}`);
  for (const login of logins) {
    await admin.script(`CREATE ROLE ${login} LOGIN; GRANT self_generation_member TO ${login}`);
    run('owner', 'team', 'members', 'add', login);
  }
  const [reader = ''] = logins;
  run(reader, 'team', 'join', server.url(reader));
  run(reader, 'team', 'share', '--yes');
  const paths = statePaths({ HOME: join(root, reader) }, process.platform);
  const membership = paths && readMembership(paths);
  if (paths === undefined || membership === undefined) throw new Error('no membership');
  const repository = repositoryName(key, membership.shared[0]?.remote ?? '');

  const pushing = performance.now();
  const each = LESSONS / (MEMBERS - 1);
  for (const [index, login] of logins.slice(1).entries())
    await push(login, Math.round(index * each), Math.round((index + 1) * each), repository);
  const pushedMs = performance.now() - pushing;

  const timed = (...words: string[]) => {
    const before = performance.now();
    const report = JSON.parse(run(reader, ...words));
    return { ms: performance.now() - before, report };
  };
  const first = timed('team', 'sync', '--json');
  if (first.report.pulled < LESSONS) throw new Error(`only ${first.report.pulled} facts came in`);
  const laters: number[] = [];
  for (let round = 0; round < 5; round++) {
    await push(logins[1] ?? '', LESSONS + round * NEW, LESSONS + (round + 1) * NEW, repository);
    const later = timed('team', 'sync', '--json');
    if (later.report.pulled !== NEW) throw new Error(`${later.report.pulled} facts came in, and not ${NEW}`);
    laters.push(later.ms);
  }
  const idle = timed('team', 'sync', '--json').ms;
  laters.sort((left, right) => left - right);
  const laterMs = laters[2] ?? 0;
  const [size] = await admin.all(
    `SELECT pg_table_size('self_generation.facts') AS rows, pg_indexes_size('self_generation.facts') AS indexes`,
  );
  await admin.close();
  const facts = LESSONS + laters.length * NEW;
  const perFact = (bytes: unknown) => `${(Number(bytes) / facts).toFixed(0)} bytes a fact`;
  console.log(`${LESSONS} lessons of ${MEMBERS - 1} members, one repository`);
  console.log(
    `sent in                ${seconds(pushedMs)}, ${((pushedMs / LESSONS) * 1000).toFixed(0)} µs each`,
  );
  console.log(`first sync             ${seconds(first.ms)} (limit ${seconds(FIRST_MS_MAX * SLACK)})`);
  console.log(
    `later, ${NEW} new        ${laters.map((ms) => ms.toFixed(0)).join(', ')} ms (limit ${LATER_MS_MAX * SLACK} ms)`,
  );
  console.log(`later, nothing new     ${idle.toFixed(0)} ms`);
  console.log(`on the server          ${perFact(size?.rows)}, ${perFact(size?.indexes)} in indexes`);
  console.log(`on a member's machine  ${perFact(statSync(teamPaths(paths).copy).size)}`);
  if (first.ms > FIRST_MS_MAX * SLACK || laterMs > LATER_MS_MAX * SLACK) {
    console.error('That is longer than the limit.');
    process.exitCode = 1;
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

async function push(login: string, from: number, until: number, repository: string): Promise<void> {
  const member = await open(login);
  const { team = 0 } = (await seatIn('shop', member)) ?? {};
  for (let at = from; at < until; at += 1000) {
    const facts = Array.from({ length: Math.min(1000, until - at) }, (_, index) =>
      made(at + index, repository),
    );
    await pushFacts(team, facts, member);
  }
  await member.close();
}

/** As long as a lesson of real sessions is in the middle. */
function made(index: number, repository: string): NewFact {
  const said = `error: Cannot find module '@shop/part-${index}' imported from src/feature-${index % 97}/index.ts`;
  const body = {
    ...{ key: said, said, sessions: (index % 9) + 1, failed: (index % 5) + 1, helped: (index % 7) + 1 },
    remedy: {
      kind: 'fixer' as const,
      failing: `npm test --workspace part-${index}`,
      use: `npm run build --workspace part-${index}`,
    },
  };
  const about = contentId({ kind: 'lesson', repository, body });
  return { id: about, about, repository, kind: 'lesson', body };
}
