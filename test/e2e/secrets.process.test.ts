import { expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { temporaryHome } from '../support/home.ts';
import { inParallel, runHookProcess, runProgram } from '../support/hook-process.ts';
import { type Payload, payload } from '../support/payloads.ts';
import { BINARY } from '../support/program.ts';
import { Dice, type Planted, plantedOf } from '../support/secret-kinds.ts';
import { Transcript, transcriptPath } from '../support/transcripts.ts';

/** `SECRETS_ROUNDS=20 SECRETS_SEED=$RANDOM bun test test/e2e/secrets.process.test.ts` plants more and other ones. */
const ROUNDS = Number(process.env.SECRETS_ROUNDS ?? 1);
const SEED = Number(process.env.SECRETS_SEED ?? 20260102);
const LEFT_MAX = 0.03;

const called = (tool_name: string, tool_input: Payload) =>
  payload('post-tool-use-bash', { tool_name, tool_input });
const starting = (tool_input: Payload) => payload('pre-tool-use-bash', { tool_name: 'Agent', tool_input });
const failed = (error: string) => payload('post-tool-use-failure-bash', { error: `Exit code 1\n${error}` });

/** Every place of every event of which something is stored. */
const ENTRIES: Readonly<Record<string, (text: string) => Payload>> = {
  prompt: (text) => payload('user-prompt-submit', { prompt: text }),
  'long prompt': (text) =>
    payload('user-prompt-submit', { prompt: `${'Please look at it. '.repeat(40)}\n${text}` }),
  command: (text) => payload('post-tool-use-bash', { tool_input: { command: text } }),
  output: (text) => {
    const tool_response = { stdout: `npm ERR! code 1\n${text}`, stderr: '' };
    return payload('post-tool-use-bash', { tool_input: { command: 'npm run build | tail' }, tool_response });
  },
  input: (words) => called('mcp__shop__order', { words }),
  pattern: (pattern) => called('Grep', { pattern }),
  file: (file_path) => called('Read', { file_path }),
  skill: (skill) => called('Skill', { skill }),
  agent: (text) => called('Agent', { subagent_type: text, model: text }),
  'name of a tool': (text) => payload('post-tool-use-bash', { tool_name: text }),
  error: (text) => failed(`Error: ${text}`),
  'long error': (text) => failed(`${'at work\n'.repeat(2000)}\nError: ${text}`),
  'failing command': (command) => ({ ...failed('Error: no such host'), tool_input: { command } }),
  'rejected call': (command) => {
    const tool_response = `<tool_use_error>Cannot: ${command}</tool_use_error>`;
    const call = { tool_name: 'Bash', tool_input: { command }, tool_response };
    return payload('post-tool-batch', { tool_calls: [call] });
  },
  task: (text) => starting({ prompt: text, description: text, subagent_type: 'executor' }),
  'type of a task': (text) => starting({ prompt: 'Go on.', subagent_type: text }),
};

/** Where a client puts names and ids of its own: secrets that look like none of them. */
const IDS: Readonly<Record<string, (id: string) => Payload>> = {
  'id of a call': (id) => payload('post-tool-use-bash', { tool_use_id: id }),
  'id of a failing call': (id) => payload('post-tool-use-failure-bash', { tool_use_id: id }),
  'id of an agent': (id) => payload('subagent-stop', { agent_id: id }),
  'type of an agent': (id) => payload('subagent-stop', { agent_type: id }),
  'id of a session': (id) => payload('user-prompt-submit', { session_id: id, prompt: 'Go on.' }),
  reason: (id) => payload('session-end', { reason: id }),
  source: (id) => payload('session-start', { source: id }),
};

function contents(directory: string): string {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => `${directory}/${name}`)
    .filter((path) => statSync(path).isFile())
    .map((path) => `${path}\n${readFileSync(path, 'latin1')}`)
    .join('\n');
}

/** What is known by its surroundings, and what several lines are, no client takes for a name. */
function isNoName({ kind, text }: Planted): boolean {
  return kind.includes('§') || kind.startsWith('(?<=') || text.includes('\n');
}

/** As the secret stands in bytes, and in a JSON document. */
function isIn(bytes: string, secret: string): boolean {
  return [secret, JSON.stringify(secret).slice(1, -1)].some((one) =>
    bytes.includes(Buffer.from(one).toString('latin1')),
  );
}

/** Of what is known by its surroundings, a few may be left. */
function expectNoneOf(planted: readonly (Planted & { readonly entry?: string })[], bytes: string): void {
  const left = planted.filter(({ secret }) => isIn(bytes, secret));
  const shown = left.map(({ entry = 'transcript', kind, text }) => `${entry}: ${kind}: ${text}`);
  if (process.env.SHOW_LEFT) console.log(`${left.length} of ${planted.length}\n${shown.join('\n')}`);
  expect(bytes).toContain('[REDACTED]');
  expect(shown.filter((_one, index) => !left[index]?.kind.includes('§'))).toEqual([]);
  expect(left.length / planted.length).toBeLessThanOrEqual(LEFT_MAX);
}

test('nothing in the home directory has the secrets that hooks were given', async () => {
  using home = temporaryHome();
  for (const place of [home.paths.given, home.paths.tasks]) mkdirSync(place, { recursive: true });
  const dice = new Dice(SEED);
  const planted: (Planted & { readonly entry: string })[] = [];
  const payloads: Payload[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const one of plantedOf(dice)) {
      const entries = Object.entries(isNoName(one) ? ENTRIES : { ...ENTRIES, ...IDS });
      const [entry, payloadOf] = dice.pick(entries);
      planted.push({ ...one, entry });
      payloads.push({ tool_use_id: `toolu_${payloads.length}`, ...payloadOf(one.text) });
    }
  }
  const results = await inParallel(payloads, 6, (one) => runHookProcess(one, { home: home.path }));
  expect(results.filter(({ exitCode }) => exitCode !== 0)).toEqual([]);
  const bytes = contents(home.path);
  expectNoneOf(planted, bytes);
}, 600_000);

test('nothing in the home directory has the secrets of a transcript that is imported', async () => {
  using home = temporaryHome();
  const dice = new Dice(SEED + 1);
  const planted = Array.from({ length: ROUNDS }, () => plantedOf(dice)).flat();
  const transcript = new Transcript();
  for (const [index, { text }] of planted.entries()) {
    const place = index % 4;
    if (place === 0) transcript.prompt(text);
    if (place === 1)
      transcript.say(text, 'tool_use').fail('Bash', { command: 'npm test' }, 'Exit code 1\nError: no');
    if (place === 2) transcript.succeed('Bash', { command: text });
    if (place === 3) transcript.fail('Bash', { command: 'npm test' }, `Exit code 1\nError: ${text}`);
  }
  home.put(transcriptPath('5ccbac7a-90c5-4c33-840b-85f1c3800580'), transcript.text);
  const result = await runProgram([BINARY, 'import'], { home: home.path });
  expect(result.exitCode, result.stderr).toBe(0);
  expectNoneOf(planted, contents(home.paths.home));
}, 600_000);
