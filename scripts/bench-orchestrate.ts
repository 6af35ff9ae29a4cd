/**
 * What an orchestration takes beside its clients: ten turns, one after the other, in a project that is a git repository.
 * The built program, real processes, and a stand-in whose model answers after one second; beside that it takes what the
 * real clients take of themselves (0.4 to 1 s in their suite), which a bare script does not.
 *
 *   bun scripts/bench-orchestrate.ts                       dist/self-generation
 *   bun scripts/bench-orchestrate.ts --program FILE        this program instead
 *   bun scripts/bench-orchestrate.ts --start 0             a client that takes nothing of itself
 *   bun scripts/bench-orchestrate.ts --limit 8             so many percent may be spent outside of the clients
 *
 * Prints what it measured, exits with 1 when the limit is broken or the orchestration did not come to its end.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ASKED, planText, verdictText } from '../test/orchestrate/scripted.ts';
import { exitCodeFor, inTemporary, makePlace, type Place, printTable, timed } from './measure.ts';

const AGENTS = ['ann', 'bob', 'cleo', 'dan', 'eve'];
/** Whose work does not pass at first. */
const TRIED_TWICE = ['dan', 'eve'];
/** The plan, each of the work, a review, two more tries, and a review. */
const TURNS = 1 + AGENTS.length + 1 + TRIED_TWICE.length + 1;
const OUTSIDE_PERCENT_MAX = 5;
const START_MS = 700;
const MODEL_MS = 1000;
const NS_PER_MS = 1_000_000;

const passed = (agents: readonly string[], passes: (agent: string) => boolean) =>
  verdictText(Object.fromEntries(agents.map((agent) => [agent, passes(agent)])));
const ANSWERS: readonly (readonly [asked: string, answer: string])[] = [
  [ASKED.plan, planText(AGENTS.map((agent) => ({ agent, task: `Do ${agent}'s part.` })))],
  ['This is review 1.', passed(AGENTS, (agent) => !TRIED_TWICE.includes(agent))],
  ['This is review 2.', passed(TRIED_TWICE, () => true)],
];

/** Notes when it began and when it ended, in nanoseconds. */
function clientScript(startMs: number): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const line = (result: string) =>
    quoted(JSON.stringify({ type: 'result', subtype: 'success', is_error: false, result, session_id: 's' }));
  const cases = ANSWERS.map(([asked, answer]) => `  *${quoted(asked)}*) said=${line(answer)} ;;`);
  return `#!/bin/sh
[ "$1" = --version ] && { echo '2.1.328 (Claude Code)'; exit; }
began=$(date +%s%N)
asked=$(cat)
sleep ${(startMs + MODEL_MS) / 1000}
case "$asked" in
${cases.join('\n')}
  *) said=${line('done')} ;;
esac
printf '%s\\n' "$said"
echo "$began $(date +%s%N)" >> "$HOME/turns"
`;
}

function makeProject({ project, env }: Place): void {
  writeFileSync(`${project}/README.md`, 'a project\n');
  const who = ['-c', 'user.name=dev', '-c', 'user.email=dev@example.com'];
  for (const call of [
    ['init', '-q'],
    ['add', '.'],
    [...who, 'commit', '-q', '-m', 'first'],
  ])
    timed(['git', ...call], { home: env.HOME ?? '', cwd: project, env });
}

function measure(program: string, place: Place): { wallMs: number; clientsMs: number; turns: number } {
  const { root: home, project: cwd, env } = place;
  const wallMs = timed([program, 'orchestrate', '--pipeline', 'Build the site.'], { home, cwd, env });
  const turns = readFileSync(`${home}/turns`, 'utf8').trim().split('\n');
  const clientsMs = turns.reduce((sum, line) => {
    const [began = 0n, ended = 0n] = line.split(' ').map(BigInt);
    return sum + Number(ended - began) / NS_PER_MS;
  }, 0);
  return { wallMs, clientsMs, turns: turns.length };
}

const { values } = parseArgs({
  options: {
    program: { type: 'string', default: 'dist/self-generation' },
    start: { type: 'string', default: String(START_MS) },
    limit: { type: 'string', default: String(OUTSIDE_PERCENT_MAX) },
  },
});

const limit = Number(values.limit);
process.exitCode = await inTemporary((root) => {
  const list = AGENTS.map((id) => ({ id, role: 'custom' }));
  const place = makePlace(root, clientScript(Number(values.start)), { language: 'en', agents: { list } });
  makeProject(place);
  const { wallMs, clientsMs, turns } = measure(resolve(values.program), place);
  if (turns !== TURNS) throw new Error(`Cannot measure: ${turns} turns were begun in place of ${TURNS}`);
  const percent = (100 * (wallMs - clientsMs)) / wallMs;
  const verdict = percent <= limit ? 'kept' : 'EXCEEDED';
  const each = Math.round((wallMs - clientsMs) / turns);
  const row = [turns, Math.round(wallMs), Math.round(clientsMs), each, percent.toFixed(1), limit, verdict];
  printTable(['turns', 'ms', 'in clients', 'beside each', '% outside', 'at most', ''], [row]);
  return exitCodeFor(percent <= limit ? [] : ['More time than that was spent outside of the clients']);
});
