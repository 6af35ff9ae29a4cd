import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { loginEnvironment } from '../../clients/agent-login.ts';
import { askClient } from '../../clients/ask-client.ts';
import { clientNamed } from '../../clients/clients.ts';
import { lookOr } from '../../core/guards.ts';
import { redactSecrets } from '../../core/redact.ts';
import type { StatePaths } from '../../core/state-paths.ts';
import { ensurePrivateDirectory, writeFileAtomic } from '../../system/atomic-file.ts';
import { readRegularFile } from '../../system/files.ts';
import { questionFiles, type Run } from '../model/run.ts';
import { orLogged, type RunsWorld } from '../world.ts';
import { readSummary, type SummaryAnswer, summaryPrompt } from './summary.ts';

/** Whom a summary is asked of: the client and the model of the run that it is for. */
export type Summariser = Pick<Run, 'client' | 'agentDir'> & {
  readonly model: string | null;
  readonly budgetUsd: number | null;
};

export type SummaryOptions = {
  readonly charsMax: number;
  /** Ends the question early. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((words: string) => void) | undefined;
};

const KEPT_MAX = 50;
/** Longer than a question may take. */
const LEFT_BEHIND_MS = 3_600_000;
const ASKING = 'asking-';

/** The summary of a conversation; the same as before where the same was asked before. Never throws. */
export async function askSummary(
  conversation: string,
  { client: name, agentDir, model, budgetUsd }: Summariser,
  { charsMax, signal, onProgress }: SummaryOptions,
  { paths, env }: RunsWorld,
): Promise<SummaryAnswer> {
  const prompt = summaryPrompt(conversation, charsMax);
  const hash = createHash('sha256')
    .update(JSON.stringify([name, model, prompt]))
    .digest('hex');
  const file = join(paths.summaries, `${hash}.md`);
  const known = readSummary(
    lookOr(() => readRegularFile(file) ?? '', ''),
    charsMax,
  );
  if (known.kind === 'usable') return known;
  const client = clientNamed(name);
  if (agentDir !== null && client.login.linked !== undefined)
    return unusable(`${client.title} asks a question with its user's login alone, and the agent has its own`);
  onProgress?.(`${client.title} summarises the conversation`);
  const files = questionFiles(join(paths.summaries, `${ASKING}${randomUUID()}`));
  const user = { env: loginEnvironment({ client: name, agentDir }, env), agentDir };
  const answer = await askClient(client, prompt, {
    ...user,
    ...{ files, model, budgetUsd },
    ...(signal !== undefined && { signal }),
  });
  if (answer.kind === 'failed') return unusable(answer.reason);
  const read = readSummary(redactSecrets(answer.text), charsMax);
  if (read.kind === 'usable') orLogged('', paths, () => keep(file, read.summary, paths));
  return read;
}

const unusable = (reason: string): SummaryAnswer => ({ kind: 'unusable', reason });

/** Keeps a summary among the newest ones, and removes what a question left that was killed. @throws Error from the system */
function keep(file: string, summary: string, { summaries }: StatePaths): void {
  ensurePrivateDirectory(summaries);
  writeFileAtomic(file, summary);
  const entries = readdirSync(summaries).map((name) => {
    const path = join(summaries, name);
    return { path, isAsking: name.startsWith(ASKING), changedMs: lookOr(() => statSync(path).mtimeMs, 0) };
  });
  const kept = entries.filter(({ isAsking }) => !isAsking);
  const old = kept.sort((one, other) => other.changedMs - one.changedMs).slice(KEPT_MAX);
  const left = entries.filter(
    ({ isAsking, changedMs }) => isAsking && changedMs < Date.now() - LEFT_BEHIND_MS,
  );
  for (const { path } of [...old, ...left]) rmSync(path, { recursive: true, force: true });
}
