import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { prevention } from '../../src/benefit/evidence/prevention.ts';
import {
  asRecord,
  type Json,
  parseJson,
  readRecord,
  readRecords,
  readString,
} from '../../src/core/guards.ts';
import { answer, type ModelTurn, say, startScriptedModel, useTool } from '../../src/setup/scripted-model.ts';
import { runProblems, textsOf } from './checks.ts';
import {
  makeWorkspace,
  removeWorkspace,
  runClientOn,
  runProduct,
  runProductOrThrow,
  type Workspace,
} from './claude-code.ts';
import { CLIENT_VERSION, installClient, PRODUCT } from './install-client.ts';
import { offlineSuite } from './offline.ts';
import * as scenarios from './scenarios.ts';

/**
 * What the proof says of the real client in many sessions, half of them held out: a model that does as it is told, one that does
 * not listen, one that is led astray. Each decides by what stands in its request, as a model does, and knows of no arm.
 */

const FAILS = 'npm test';
const WORKS = 'PORT=8080 npm test';
/** A coin falls on one side less than six times in them in one of 5,000 cases. */
const SESSIONS_MAX = 30;

type Request = {
  readonly isTold: boolean;
  /** What it has run so far. */
  readonly ran: readonly string[];
};
/** What it runs next; undefined: it is done. */
type Client = (request: Request) => string | undefined;

const isDone = ({ ran }: Request) => ran.includes(WORKS);
/** Looks around, then finds out by itself. */
const byItself = ({ ran }: Request) => [FAILS, 'cat test.sh', 'cat settings.ini'][ran.length] ?? WORKS;
const obeys: Client = (request) => (isDone(request) ? undefined : request.isTold ? WORKS : byItself(request));
const ignores: Client = (request) => (isDone(request) ? undefined : byItself(request));
/** Would do it right, but what it is told makes it try first what fails. */
const isLedAstray: Client = (request) =>
  isDone(request) ? undefined : request.isTold ? byItself(request) : WORKS;

function improvise(client: Client): (body: Json) => ModelTurn {
  return (body) => {
    const messages = readRecords(body.messages);
    const [own, given] = [true, false].map((isOwn) =>
      messages.filter(({ role }) => (role === 'assistant') === isOwn),
    ) as [Json[], Json[]];
    const ran = own.flatMap(({ content }) =>
      readRecords(content).flatMap(({ input }) => readString(asRecord(input), 'command') ?? []),
    );
    // What it ran itself tells it nothing.
    const isTold = textsOf([body.system, given]).some((text) => text.includes(WORKS));
    const command = client({ isTold, ran });
    return answer(command === undefined ? say('Done.') : useTool('Bash', { command, description: 'Run it' }));
  };
}

const suite = await offlineSuite(() => installClient(CLIENT_VERSION));

setDefaultTimeout(300_000);
const ended: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of ended) await end();
});

async function proofIn(workspace: Workspace, ...flags: string[]): Promise<Json> {
  const end = await runProduct(workspace, ['proof', ...flags, '--json']);
  if (end.kind !== 'exited' || end.code !== 0)
    throw new Error(`Cannot read the proof: ${JSON.stringify(end)}`);
  return asRecord(parseJson(end.stdout));
}

type Lived = { readonly sessions: number; readonly proof: Json; readonly withdrawn: readonly Json[] };

/** Has the client learn, then work in sessions until that is enough; gives what `proof` says then. */
async function livedWith(client: Client, isEnough: (lived: Lived) => boolean) {
  const workspace = await makeWorkspace({ client: await installClient(CLIENT_VERSION), binary: PRODUCT });
  ended.push(() => removeWorkspace(workspace));
  await runProductOrThrow(workspace, ['install']);
  await runProductOrThrow(workspace, ['config', 'set', 'proof.holdOut', 'trial']);
  const { script, prompt } = scenarios.learn(workspace.project);
  const model = await startScriptedModel({ script, improvise: improvise(client) });
  ended.push(model.stop);
  await runClientOn(model, workspace, { prompt });
  const work = async () => {
    const run = await runClientOn(model, workspace, { prompt: '[[conv:work]] Run the tests.' });
    expect(runProblems(run, ['SessionStart'])).toEqual([]);
    return run.requests;
  };
  for (let sessions = 1; ; sessions++) {
    await work();
    const proof = await proofIn(workspace);
    const withdrawn = readRecords((await proofIn(workspace, '--withdrawn')).withdrawn);
    if (!isEnough({ sessions, proof, withdrawn }) && sessions < SESSIONS_MAX) continue;
    expect(await proofIn(workspace, '--verify')).toEqual({ problems: [] });
    const found = readRecord(readRecord(proof, 'start'), 'found');
    const [held, told] = [Number(found.held), Number(found.told)];
    return { proof, withdrawn, held, told, found, work };
  }
}

const verdictOf = (proof: Json) => readString(readRecord(proof, 'start'), 'verdict');
const failed = (held: number, told: number) =>
  Array.from({ length: held + told }, (_, at) => ({ isHeld: at < held, p: 0.5 }));

suite('proof', () => {
  test('of a client that does as it is told says that telling helps, as soon as that can be known', async () => {
    const { held, told, found, withdrawn } = await livedWith(
      obeys,
      ({ proof }) => verdictOf(proof) === 'helps',
    );
    expect(told).toBe(0);
    expect(found.evidence).toBeCloseTo(prevention(failed(held, 0)).evidence, 6);
    expect(prevention(failed(held - 1, 0)).evidence).toBeLessThan(20);
    expect(withdrawn).toEqual([]);
  });

  test('of a client that does not listen never says that it helps', async () => {
    const { held, told, found, proof, withdrawn } = await livedWith(
      ignores,
      ({ sessions }) => sessions === 10,
    );
    // In the first session there is no coin yet; a lesson of which nothing comes may be withdrawn after five failures.
    if (withdrawn.length === 0) expect(held + told).toBe(9);
    else expect(held + told).toBeGreaterThanOrEqual(5);
    expect(found.evidence).toBeCloseTo(prevention(failed(held, told)).evidence, 6);
    expect(verdictOf(proof)).toBe('open');
  });

  test('of a client that is led astray has the lesson withdrawn, and then it is told no more', async () => {
    const { held, told, withdrawn, work } = await livedWith(
      isLedAstray,
      (lived) => lived.withdrawn.length > 0,
    );
    // With five failures, each of them told, it prevents nothing with a probability of 99 %.
    expect([held, told]).toEqual([0, 5]);
    expect(withdrawn).toMatchObject([{ reason: 'statistics', resolution: expect.stringContaining(WORKS) }]);
    const turns = (await work()).filter(({ kind }) => kind === 'turn');
    expect(textsOf(turns[0]).some((text) => text.includes(WORKS))).toBe(false);
  });
});
