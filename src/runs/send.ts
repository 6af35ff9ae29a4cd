import { clientNamed } from '../clients/clients.ts';
import { redactSecrets } from '../core/redact.ts';
import { cutText, oneLine } from '../core/text.ts';
import type { Sqlite } from '../database/sqlite.ts';
import { loadRunConfig } from '../settings/all-settings.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import type { Requester, Run, RunWithMessages } from './model/run.ts';
import { isTerminal } from './model/turn.ts';
import { startSupervisors } from './reconcile.ts';
import { attachedProcess, ownRun, refusalInside, senderPermissions } from './requester.ts';
import { gapRefusal, ruleGaps } from './spawn-plan.ts';
import { spent } from './store/limits.ts';
import { claimTurns } from './store/queue.ts';
import { runsTransaction } from './store/rows.ts';
import { appendTurn } from './store/turns.ts';
import type { Refusal, RunsWorld } from './world.ts';

const MESSAGE_LENGTH_MAX = 256 * 1024;
/** So many messages may wait for one run. */
const WAITING_MAX = 20;
const NAME_LENGTH_MAX = 72;
const NAME_SCANNED_MAX = 4096;

/** `turn`: the number of the turn to wait for. */
type SendAnswer = { readonly status: 'accepted'; readonly runId: string; readonly turn: number } | Refusal;

/** Queues one more turn in the run's session, after its current one. The supervisor is started after the caller has had its answer. */
export function sendToRun(
  runId: string,
  message: string,
  requester: Requester,
  world: RunsWorld,
): SendAnswer {
  const inside = refusalInside('sessions_send', world);
  if (inside !== undefined) return inside;
  const text = message.trim();
  if (text === '') return error('message is required');
  if (text.length > MESSAGE_LENGTH_MAX) {
    const length = `${text.length} characters, the most is ${MESSAGE_LENGTH_MAX}`;
    return error(`message is too long: ${length}; put it into a file and name that`);
  }
  const config = loadRunConfig(world.paths);
  if (config.kind === 'refused') return error(config.error);
  const { settings } = config;
  const nowMs = world.now().getTime();
  // Outside of the transaction, because it reads files.
  const permissions = senderPermissions(requester, settings.tools.permitted, world);
  const { answer, claimed } = runsTransaction(world.paths, (db) => {
    const refused = (answer: Refusal) => ({ answer, claimed: [] });
    const own = ownRun(runId, requester, db);
    if ('status' in own) return refused(own);
    const refusal = sendRefusal(own, settings, db) ?? attachRefusal(own.run, world);
    if (refusal !== undefined) return refused(refusal);
    const client = clientNamed(own.run.client);
    const gaps = permissions === null ? [] : ruleGaps(client, permissions, requester);
    if (gaps.length > 0 && settings.tools.isStrict)
      return refused({ status: 'forbidden', error: gapRefusal(client, gaps) });
    const asked = { runId, kind: 'send', announces: null, message: text, nowMs, state: 'queued' } as const;
    const turn = appendTurn({ ...asked, session: requester.session ?? '', permissions }, db);
    const sent: SendAnswer = { status: 'accepted', runId, turn: turn.number };
    return { answer: sent, claimed: claimTurns(settings, nowMs, db) };
  });
  if (claimed.length > 0) setImmediate(() => startSupervisors(claimed, world));
  return answer;
}

function sendRefusal(
  { run, turn, waiting }: RunWithMessages,
  settings: RunSettings,
  db: Sqlite,
): Refusal | undefined {
  const title = redactSecrets(cutText(run.label ?? run.task, NAME_SCANNED_MAX));
  const name = `#${run.number} (${cutText(oneLine(title), NAME_LENGTH_MAX)})`;
  const limit = (words: string) => ({ ...error(words), limit: true }) as const;
  const again = 'Use retry to run its task again.';
  if (run.archivedAtMs !== null)
    return error(`Subagent ${name} is archived: its session cannot go on. ${again}`);
  if (isTerminal(turn.state) && run.sessionId === null)
    return error(`Subagent ${name} has no session that could go on. ${again}`);
  if (waiting >= WAITING_MAX)
    return limit(
      `${waiting} messages to subagent ${name} wait already: wait for an answer first, or stop it`,
    );
  const { tokens, usd } = settings.budget.run;
  const taken = spent({ runId: run.id }, db);
  if (taken.tokens < (tokens ?? Number.POSITIVE_INFINITY) && taken.usd < (usd ?? Number.POSITIVE_INFINITY))
    return undefined;
  const most = [...(tokens === null ? [] : [`${tokens} tokens`]), ...(usd === null ? [] : [`$${usd}`])];
  const words = `subagent ${name} has taken all that a run may take (${most.join(', ')})`;
  return limit(`budget exceeded: ${words}; raise budget.run in the settings, or use retry`);
}

/** Inside the transaction, in which nobody can attach to the run meanwhile. */
function attachRefusal(run: Run, { paths }: RunsWorld): Refusal | undefined {
  const process = attachedProcess(run, paths);
  if (process === undefined) return undefined;
  const who = `a person goes on with it on a terminal (PID ${process.pid}), and a session has one writer`;
  return error(`Subagent #${run.number} takes no message: ${who}. Wait until that has ended`);
}

function error(words: string): Refusal {
  return { status: 'error', error: words };
}
