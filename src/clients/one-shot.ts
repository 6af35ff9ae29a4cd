import { ASKS_FIRST } from '../runs/model/permissions.ts';
import { NO_TOOLS } from '../runs/model/tool-policy.ts';
import { NO_USAGE, type Usage } from '../runs/model/turn.ts';
import { type Client, type TurnCommand, type TurnRequest, type TurnSession, turnCommand } from './client.ts';

/** Stands at the beginning of every prompt of our own analysis, so that its sessions are never taken for the user's. */
export const ANALYSIS_MARK = 'self-generation-analysis';

export type OneShotAnswer =
  | { readonly kind: 'answered'; readonly text: string; readonly usage: Usage }
  /** `reason`: one line in the client's own words where it has any. */
  | { readonly kind: 'failed'; readonly reason: string; readonly usage: Usage };

/** The instructions take the place of the client's own, which speak of tools that are not there. */
const ONCE: TurnSession = {
  kind: 'once',
  instructions:
    'Answer from the prompt alone. You have no tools, no files and no network, and nobody can be asked. ' +
    'Give the whole answer at once, in the form that the prompt asks for.',
};

/**
 * What is to be run to ask a model once: a turn without a session and any tool, in an empty directory. A budget is kept to
 * by clients that can.
 */
export function oneShotCommand(
  client: Client,
  request: Pick<TurnRequest, 'prompt' | 'model' | 'route' | 'budgetUsd' | 'directory'>,
): TurnCommand {
  return turnCommand(client, {
    ...request,
    session: ONCE,
    thinking: null,
    policy: NO_TOOLS,
    permissions: ASKS_FIRST,
    budgetUsd: client.keepsBudget ? request.budgetUsd : null,
    cwd: request.directory,
    mcp: null,
    agentDir: null,
  });
}

/** What came of a question; an answer only when the client itself says that it came to a good end. Never throws. */
export function readAnswer(
  client: Client,
  {
    code,
    stdout,
    stderr,
  }: { readonly code: number | null; readonly stdout: string; readonly stderr: string },
): OneShotAnswer {
  const reader = client.reader({ session: ONCE, before: NO_USAGE });
  // On line feeds alone: a model's text may hold U+2028 and the like, which JSON does not escape.
  for (const line of stdout.split('\n')) reader.read(line);
  const said = stderr.trim() === '' ? stdout : stderr;
  const { outcome, text, error, usage } = reader.conclude({ code, signal: null }, said);
  if (outcome === 'success' && text !== null) return { kind: 'answered', text, usage };
  return { kind: 'failed', reason: error ?? 'the client gave no reason', usage };
}
