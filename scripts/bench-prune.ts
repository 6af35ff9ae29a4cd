/**
 * What pruning costs before a request of OpenCode: 10,000 calls of 5,000 characters through the built plugin's
 * `messages.transform`, for a session that it has never seen and for one that it knows, against @tarquinen/opencode-dcp on the
 * same messages; and ten times as many calls, shorter ones, which may take twelve times as long. As OpenCode does, each request
 * has its messages read anew.
 *
 *   bun scripts/bench-prune.ts               dist/opencode-plugin.js
 *   bun scripts/bench-prune.ts --slack 2     limits twice as high, for a machine that does other things as well
 *   bun scripts/bench-prune.ts --quick       fewer rounds, and without the other plugin
 *
 * Prints a table, exits with 1 when a step takes longer than its limit.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Json } from '../src/core/guards.ts';
import type { HostInput, HostMessage } from '../src/prune/opencode/host.ts';
import { installPackage } from '../test/clients/install-client.ts';
import { exitCodeFor, inTemporary, median, printTable, random } from './measure.ts';

const STEP_MS_MAX = 150;
const RATIO_MAX = 12;
const CALLS = 10_000;
const CHARS = 5000;
/** Of calls ten times as many are made, and that they fit into the memory they are shorter. */
const SHORT_CHARS = 500;
const DCP = '3.1.14';
/** DCP takes less than 10,000 messages. */
const CALLS_OF_ANSWER = 2;
/** It is not waited for any longer. */
const OTHER_MS_MAX = 20_000;

type Hooks = { readonly [name: string]: (input: object, output: object) => Promise<void> };
type Plugin = (host: HostInput) => Promise<Hooks>;

/** A session whose calls read, write and run, now and then what they did before. The same for the same number. */
function madeMessages(calls: number, chars: number, sessionID: string): HostMessage[] {
  const { below } = random(20_261);
  const filler = (seed: number) =>
    `${seed} const value = compute(input, options);\n`.repeat(chars / 40).slice(0, chars);
  const file = (seed: number) =>
    `<path>/p/${seed}</path>\n<type>file</type>\n<content>\n1: ${filler(seed)}\n\n(End of file - total 1 lines)\n</content>`;
  const made = (index: number): { tool: string; input: Json; output: string; status?: string } => {
    const filePath = `src/file-${below(calls / 4)}.ts`;
    const kind = below(20);
    if (kind < 9) return { tool: 'read', input: { filePath }, output: file(below(calls)) };
    if (kind < 10) return { tool: 'read', input: { filePath: 'src/same.ts' }, output: file(1) };
    if (kind < 12)
      return {
        tool: 'write',
        input: { filePath, content: filler(index) },
        output: 'Wrote file successfully.',
      };
    if (kind < 13)
      return {
        tool: 'edit',
        input: { filePath, oldString: filler(index), newString: '' },
        output: 'no',
        status: 'error',
      };
    return { tool: 'bash', input: { command: `make target-${below(calls / 4)}` }, output: filler(index) };
  };
  const callOf = (index: number, part: Json) => {
    const { tool, input, output, status = 'completed' } = made(index);
    const result = status === 'error' ? { error: output } : { output };
    const time = { start: index, end: index };
    const state = { status, input, ...result, title: '', metadata: {}, time };
    return { ...part, id: `prt_${index}`, type: 'tool', callID: `call_${index}`, tool, state };
  };
  const answers = calls / CALLS_OF_ANSWER;
  return Array.from({ length: answers + answers / 50 }, (_, index) => {
    const isPrompt = index % 51 === 0;
    const first = (index - Math.ceil(index / 51)) * CALLS_OF_ANSWER;
    const part = { messageID: `msg_${index}`, sessionID };
    const time = { created: 1_700_000_000_000 + index * 1000 };
    return {
      info: { id: `msg_${index}`, sessionID, role: isPrompt ? 'user' : 'assistant', time },
      parts: isPrompt
        ? [{ ...part, id: `prt_p${index}`, type: 'text', text: `Prompt ${index}` }]
        : [
            { ...part, id: `prt_s${index}`, type: 'step-start' },
            ...Array.from({ length: CALLS_OF_ANSWER }, (_, at) => callOf(first + at, part)),
          ],
    };
  });
}

/** A server that knows one main session. */
function host(directory: string): HostInput {
  const done = async () => ({ data: true });
  const get = async ({ path: { id } }: { path: { id: string } }) => ({
    data: { id, directory, title: 'A session' },
  });
  const client = {
    session: {
      get,
      messages: async () => ({ data: [] }),
      list: async () => ({ data: [] }),
      prompt: done,
    },
    tui: { showToast: done },
    app: { log: done, agents: async () => ({ data: [] }) },
  };
  return {
    client,
    directory,
    worktree: directory,
    project: { id: 'p' },
    serverUrl: 'http://127.0.0.1:1',
  } as never;
}

/** The hook's steps for the messages of a session, in a plugin that has just started; at last one message more each time. */
async function stepsOf(plugin: Plugin, messages: readonly HostMessage[], directory: string, more: number) {
  const text = JSON.stringify(messages);
  const hooks = await plugin(host(directory));
  const steps: { elapsedMs: number; removed: number }[] = [];
  for (let count = messages.length - more; count <= messages.length; count++) {
    const read = (JSON.parse(text) as HostMessage[]).slice(0, count);
    Bun.gc(true);
    const startedMs = performance.now();
    await hooks['experimental.chat.messages.transform']?.({}, { messages: read });
    const elapsedMs = performance.now() - startedMs;
    steps.push({ elapsedMs, removed: JSON.stringify(read).split('removed to save context').length - 1 });
  }
  return steps;
}

/** The first request of the other plugin, in a process of its own, as nothing else ends it: Infinity when it takes too long. */
async function timeOfOther(root: string): Promise<number> {
  const path = await installPackage({
    name: `opencode-dcp-${DCP}`,
    spec: `@tarquinen/opencode-dcp@${DCP}`,
    find: (directory) => {
      const entry = join(directory, 'node_modules/@tarquinen/opencode-dcp/dist/index.js');
      return existsSync(entry) ? entry : undefined;
    },
  });
  const config = join(root, '.config');
  mkdirSync(join(config, 'opencode'), { recursive: true });
  writeFileSync(join(config, 'opencode/dcp.jsonc'), '{"autoUpdate": false, "pruneNotification": "off"}');
  const env = { ...process.env, HOME: root, XDG_CONFIG_HOME: config, XDG_DATA_HOME: join(root, '.data') };
  const { stdout, stderr, exitCode, exitedDueToTimeout } = Bun.spawnSync(
    [process.execPath, import.meta.path, '--other', path],
    { env, timeout: OTHER_MS_MAX },
  );
  if (exitedDueToTimeout) return Number.POSITIVE_INFINITY;
  if (exitCode !== 0) throw new Error(`Cannot measure DCP: exit code ${exitCode} ${stderr}`);
  return Number(stdout.toString().trim().split('\n').at(-1));
}

const { values } = parseArgs({
  options: {
    slack: { type: 'string', default: '1' },
    quick: { type: 'boolean', default: false },
    other: { type: 'string' },
  },
});
const slack = Number(values.slack);
/** The first of a start is dearer, as nothing is compiled yet. */
const [STARTS, ROUNDS] = values.quick ? [3, 3] : [5, 7];

process.exitCode = await inTemporary(async (root) => {
  const messages = madeMessages(CALLS, CHARS, 'ses_large');
  if (values.other !== undefined) {
    const { default: plugin } = await import(values.other);
    const [step] = await stepsOf(plugin.server ?? plugin, messages, root, 0);
    console.log(step?.elapsedMs);
    return 0;
  }
  process.env.HOME = root;
  const { default: own } = await import(join(process.cwd(), 'dist/opencode-plugin.js'));
  const ofOwn = async (made: readonly HostMessage[]) => {
    const starts = [];
    for (let round = 0; round < STARTS; round++)
      starts.push((await stepsOf(own.server, made, root, 0))[0]?.elapsedMs ?? 0);
    const [first, ...next] = await stepsOf(own.server, made, root, ROUNDS);
    return {
      firstMs: median(starts),
      nextMs: median(next.map((one) => one.elapsedMs)),
      // What is compared with another size is without what else the machine did.
      fastestMs: Math.min(...next.map((one) => one.elapsedMs)),
      removed: first?.removed,
    };
  };
  const ours = await ofOwn(messages);
  const few = await ofOwn(madeMessages(CALLS, SHORT_CHARS, 'ses_few'));
  const many = await ofOwn(madeMessages(CALLS * 10, SHORT_CHARS, 'ses_many'));
  const otherMs = values.quick ? undefined : await timeOfOther(root);
  const rows: (readonly [string, number, number])[] = [
    ['first request, ms', ours.firstMs, STEP_MS_MAX * slack],
    ['next request, ms', ours.nextMs, STEP_MS_MAX * slack],
    ...(otherMs === undefined ? [] : [['first request, ms, of DCP', ours.firstMs, otherMs] as const]),
    ['ten times the calls, times', many.fastestMs / few.fastestMs, RATIO_MAX * slack],
  ];
  printTable(
    [`${CALLS} calls, ${ours.removed} placeholders`, 'is', 'at most'],
    rows.map(([name, is, most]) => [
      name,
      is.toFixed(1),
      most === Number.POSITIVE_INFINITY ? `more than ${OTHER_MS_MAX}` : most.toFixed(1),
    ]),
  );
  const faults = rows.flatMap(([name, is, most]) =>
    is <= most ? [] : [`${name}: ${is} is more than ${most}`],
  );
  if (ours.removed === 0) faults.push('Nothing was pruned: what was measured is not the work');
  return exitCodeFor(faults);
});
