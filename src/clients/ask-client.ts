import { rmSync } from 'node:fs';
import { reasonOf } from '../core/guards.ts';
import { redactSecrets } from '../core/redact.ts';
import type { TurnFiles } from '../runs/model/run.ts';
import { NO_USAGE, type Usage } from '../runs/model/turn.ts';
import { readRegularFile } from '../system/files.ts';
import type { ProcessIdentity } from '../system/process-identity.ts';
import { type Client, type OneShotAnswer, oneShotCommand, readAnswer } from './client.ts';
import { runClientToEnd, type Waiting, writeClientFiles } from './client-process.ts';
import type { ClientUser } from './route.ts';

/** A question to the model of a client, which has no tools and no session for it. */

export type Asking = Pick<Waiting, 'signal' | 'onStart'> &
  Pick<ClientUser, 'env' | 'agentDir'> & {
    /** Of this question; they go with it. */
    readonly files: TurnFiles;
    /** Null: that of the route, else the client chooses. */
    readonly model: string | null;
    /** A client that can be told one is told it; null: none. */
    readonly budgetUsd: number | null;
  };

const ANSWER_TIMEOUT_MS = 180_000;
/** Messages of clients are cut at 300; see reading.ts. */
const CUT_REASON_LENGTH_MIN = 299;
/** Of a client that was never started. */
export const NOTHING_SPENT: Usage = { ...NO_USAGE, costUsd: 0 };

/**
 * Asks in a new, empty, private directory. What was never started has cost nothing. A reason is without secrets. Never
 * throws.
 */
export async function askClient(client: Client, prompt: string, asking: Asking): Promise<OneShotAnswer> {
  let usage = NOTHING_SPENT;
  const onStart = (started: ProcessIdentity) => {
    usage = NO_USAGE;
    asking.onStart?.(started);
  };
  const answer = await answerTo(client, prompt, { ...asking, onStart })
    .finally(() => rmSync(asking.files.directory, { recursive: true, force: true }))
    .catch(reasonOf);
  if (typeof answer === 'string') return { kind: 'failed', reason: withoutSecrets(answer), usage };
  return answer.kind === 'answered' ? answer : { ...answer, reason: withoutSecrets(answer.reason) };
}

/** The answer, or why there is none. @throws Error when the client cannot be started. */
async function answerTo(client: Client, prompt: string, asking: Asking): Promise<OneShotAnswer | string> {
  const { env, agentDir, files, model, budgetUsd, ...waiting } = asking;
  const user = { env, agentDir, cwd: null, read: readRegularFile };
  const route = client.route(user, model);
  const question = { prompt, model, route, budgetUsd, agentDir, directory: files.home };
  const command = oneShotCommand(client, question);
  writeClientFiles(files, command);
  const end = await runClientToEnd(
    { command, files, cwd: files.home, env, passedOn: [] },
    { ...waiting, polite: client.politeSignal, timeoutMs: ANSWER_TIMEOUT_MS },
  );
  if (end.kind === 'exited') return readAnswer(client, end);
  return end.kind === 'timed-out'
    ? `${client.name} did not answer within ${ANSWER_TIMEOUT_MS / 1000} s`
    : `${client.name} gave no answer: ${end.reason}`;
}

/** A message may have been cut within a secret, of which the rest has no known shape: then its last word goes. */
function withoutSecrets(reason: string): string {
  return redactSecrets(reason.length < CUT_REASON_LENGTH_MIN ? reason : reason.replace(/\S*$/, '…'));
}
