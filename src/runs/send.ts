import { clientNamed } from '../clients/clients.ts';
import { redactSecrets } from '../core/redact.ts';
import { cutText, oneLine } from '../core/text.ts';
import type { Sqlite } from '../database/sqlite.ts';
import { loadRunConfig } from '../settings/all-settings.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import { grantProblem } from './model/permissions.ts';
import { isLive, type Requester, type Run, type RunWithMessages } from './model/run.ts';
import { labelProblem } from './model/run-target.ts';
import { isTerminal } from './model/turn.ts';
import { startSupervisors } from './reconcile.ts';
import { ownRun, refusalInside } from './requester.ts';
import { isPerson, senderPermissions } from './requester-permissions.ts';
import { spawnAgain } from './spawn.ts';
import { gapRefusal, ruleGaps } from './spawn-plan.ts';
import { spent } from './store/limits.ts';
import { claimTurns } from './store/queue.ts';
import { readRuns, withRuns } from './store/runs-db.ts';
import { appendTurn } from './store/turns.ts';
import { directoryBefore } from './workspace/worktree.ts';
import type { Refusal, RunsWorld, SendAnswer, SpawnAnswer, SpawnRequest } from './world.ts';

const MESSAGE_LENGTH_MAX = 256 * 1024;
/** Messages that wait for a run; whoever sends more does not read the answers. */
const WAITING_MAX = 20;
const NAME_LENGTH_MAX = 72;
const NAME_SCANNED_MAX = 4096;

/** One more turn in the run's session, after its current one. Nothing is started before the caller has had its answer. */
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
  // Files are read for it, so not while others wait for the database.
  const permissions = senderPermissions(requester, settings.tools.permitted, world);
  return withRuns(world.paths, (db) => {
    const { answer, claimed } = db.transaction(() => {
      const own = ownRun(runId, requester, db);
      if ('status' in own) return { answer: own, claimed: [] };
      const refusal = sendRefusal(own, settings, db);
      if (refusal !== undefined) return { answer: refusal, claimed: [] };
      const client = clientNamed(own.run.client);
      const gaps = permissions === null ? [] : ruleGaps(client, permissions, requester);
      if (gaps.length > 0 && settings.tools.isStrict) {
        const refused: Refusal = { status: 'forbidden', error: gapRefusal(client, gaps) };
        return { answer: refused, claimed: [] };
      }
      const asked = { runId, kind: 'send', announces: null, message: text, nowMs, state: 'queued' } as const;
      const turn = appendTurn({ ...asked, session: requester.session ?? '', permissions }, db);
      const sent: SendAnswer = { status: 'accepted', runId, turn: turn.number };
      return { answer: sent, claimed: claimTurns(settings, nowMs, db) };
    });
    if (claimed.length > 0) setImmediate(() => startSupervisors(claimed, world));
    return answer;
  });
}

function sendRefusal(
  { run, turn, waiting }: RunWithMessages,
  settings: RunSettings,
  db: Sqlite,
): Refusal | undefined {
  const title = redactSecrets(cutText(run.label ?? run.task, NAME_SCANNED_MAX));
  const name = `#${run.number} (${cutText(oneLine(title), NAME_LENGTH_MAX)})`;
  if (run.archivedAtMs !== null) {
    return error(`Subagent ${name} is archived: its session cannot go on. Use retry to run its task again.`);
  }
  if (isTerminal(turn.state) && run.sessionId === null) {
    return error(`Subagent ${name} has no session that could go on. Use retry to run its task again.`);
  }
  if (waiting >= WAITING_MAX) {
    return {
      ...error(`${waiting} messages to subagent ${name} wait already: wait for an answer first, or stop it`),
      limit: true,
    };
  }
  const { tokens, usd } = settings.budget.run;
  const taken = spent({ runId: run.id }, db);
  if ((tokens !== null && taken.tokens >= tokens) || (usd !== null && taken.usd >= usd)) {
    const most = [...(tokens === null ? [] : [`${tokens} tokens`]), ...(usd === null ? [] : [`$${usd}`])];
    const words = `subagent ${name} has taken all that a run may take (${most.join(', ')})`;
    return {
      ...error(`budget exceeded: ${words}; raise budget.run in the settings, or use retry`),
      limit: true,
    };
  }
  return undefined;
}

function error(words: string): Refusal {
  return { status: 'error', error: words };
}

const MS_PER_SECOND = 1000;

/** A new run with the task and settings of one that has ended (P9). What the agent's settings say is read anew. */
export function retryRun(runId: string, requester: Requester, world: RunsWorld): SpawnAnswer {
  const inside = refusalInside('sessions_spawn', world);
  if (inside !== undefined) return inside;
  const own = readRuns(world.paths, (db) => ownRun(runId, requester, db));
  if (own === undefined) return { status: 'error', error: `Unknown subagent id: ${runId}` };
  if ('status' in own) return own;
  const { run, turn } = own;
  if (isLive(own)) {
    const what = isTerminal(turn.state) ? 'has a message waiting' : `is still ${turn.state}`;
    return { status: 'error', error: `Subagent #${run.number} ${what}: stop it first.` };
  }
  const request = requestOf(run);
  const permissions = isPerson(requester, world) ? { permissions: grantsOf(run) } : {};
  return spawnAgain({ ...request, ...permissions }, requester, world);
}

/** A person lets it do once more what it was let do. */
function grantsOf({ permissions: { mode, allow } }: Run): readonly string[] {
  if (mode === 'all') return ['all'];
  const known = allow.filter((rule) => grantProblem(rule) === undefined);
  return mode === 'edit' || mode === 'auto' ? ['edit', ...known] : known;
}

function requestOf(run: Run): SpawnRequest {
  const { task, label, agentId, client, model, thinking, runTimeoutMs, cleanup, worktreeMode } = run;
  return {
    task,
    agentId,
    client,
    cleanup,
    worktree: worktreeMode,
    runTimeoutSeconds: runTimeoutMs / MS_PER_SECOND,
    cwd: directoryBefore(run), // A tree of its own is made anew.
    idempotencyKey: `retry ${run.id}`,
    // Not one that was given before such labels were refused.
    label: label === null || labelProblem(label) !== undefined ? undefined : label,
    model: model.requested ?? undefined,
    thinking: thinking ?? undefined,
  };
}
