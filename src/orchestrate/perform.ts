import { existsSync } from 'node:fs';
import { getMergedSkills } from '../conversation/prompts/skills.ts';
import { getProjectPath } from '../core/project.ts';
import type { Sqlite } from '../database/sqlite.ts';
import { commandsOf } from '../runs/context/commands-run.ts';
import { type Requester, type Run, runDirectory } from '../runs/model/run.ts';
import { sendToRun } from '../runs/send.ts';
import { seenByGit, spawnRun } from '../runs/spawn.ts';
import { requestStopOfTurn } from '../runs/store/turns.ts';
import { changesBetween, headOf, snapshotTree } from '../runs/workspace/snapshot.ts';
import { discardWorktree, lossOf, uncommittedFiles, worktreeProblem } from '../runs/workspace/worktree.ts';
import { isMerged, mergeChanges, type TreeRun } from '../runs/workspace/worktree-changes.ts';
import type { RunsWorld } from '../runs/world.ts';
import { writeFileAtomic } from '../system/atomic-file.ts';
import { message, opening } from './material.ts';
import type { ChangesFact, Fact, MergeFact, OverlapFact } from './model/facts.ts';
import { overlappingChanges } from './model/plan.ts';
import type { Asked, Attempt, OrchestrationState, Work } from './model/state.ts';
import type { Ask, Step } from './next-steps.ts';
import { partName, turnName } from './replay.ts';
import { endOrchestration, putFact } from './store.ts';

/** The effects of an orchestration. Each may be repeated: what is there already stays, and is not made again. */

/** Reports longer than this are also kept as a file. */
const REPORT_LENGTH_MAX = 2500;
const PROJECT = 'the project';

/** Who asks for the parts of an orchestration. */
export function requesterOf({ requester: key, session, client, cwd }: OrchestrationState): Requester {
  return { key, session, client, cwd };
}

/** The process, with its connection to the database of runs. */
export type Performing = RunsWorld & { readonly db: Sqlite };

/** Does one step. @throws Error when the database cannot be written, or git not be run */
export async function perform(
  step: Exclude<Step, { kind: 'wait' }>,
  state: OrchestrationState,
  world: Performing,
): Promise<void> {
  const put = (fact: Fact) => putFact(state.id, fact, world.now().getTime(), world.db);
  switch (step.kind) {
    case 'record':
      put(step.fact);
      return;
    case 'ask': {
      const error = await ask(step.ask, state, world);
      if (error !== null) put({ name: `refused.${step.ask.key}.${step.ask.nth}`, value: { error } });
      return;
    }
    case 'layout':
      put({ name: 'layout', value: await layout(step.parallel, state, world) });
      return;
    case 'snapshot': {
      const { cwd } = state;
      const [tree = null, head = null] = await Promise.all([
        snapshotTree(cwd, world.env),
        headOf(cwd, world.env),
      ]);
      put({ name: `before.${step.attempt.key}.${step.attempt.nth}`, value: { tree, head } });
      return;
    }
    case 'changes': {
      const value = await changes(step.attempt, step.isInOwnTree, state, world);
      put({ name: `changes.${step.attempt.key}.${step.attempt.nth}`, value });
      return;
    }
    case 'overlap':
      put({ name: `overlap.${step.round}`, value: await overlap(step.held, state, world) });
      return;
    case 'merge': {
      const run = treeRunOf(step.work);
      const value = await merge(step.work, run, world);
      put({ name: step.fact, value });
      // Only now: who is killed before that has to find the tree again. Where it cannot be removed, it stays.
      if (run !== undefined && value.reason === null)
        await discardWorktree(run.worktree, world).catch(() => {});
      return;
    }
    case 'stop':
      stop(step.asked, step.by, state, world);
      return;
    case 'end':
      endOrchestration(state.id, state.epoch, step.ended, world.now().getTime(), world.db);
  }
}

/** Begins or goes on with the run of a part. Returns why it cannot be asked; null: it is. */
async function ask(one: Ask, state: OrchestrationState, world: RunsWorld): Promise<string | null> {
  const requester = requesterOf(state);
  const known = state.asked.get(one.key)?.find((asked) => asked.kind === 'turn');
  if (known?.kind === 'turn') {
    const answer = sendToRun(known.run.id, message(one, state), requester, world, {
      name: turnName(one.nth),
    });
    return answer.status === 'accepted' ? null : answer.error;
  }
  const { id, cwd, options } = state;
  const skills = one.what === 'work' ? getMergedSkills(world.env, getProjectPath(cwd, world.env)) : [];
  const part = { kind: 'orchestration', id, name: partName(one.key, one.nth) } as const;
  const granted = one.what === 'work' && options.permissions.length > 0;
  const request = {
    ...opening(one, state, skills),
    part,
    cwd,
    ...(granted && { permissions: options.permissions }),
  };
  const answer = spawnRun(await seenByGit(request, requester, world), requester, world);
  return answer.status === 'accepted' ? null : answer.error;
}

/** A tree of one's own is made of the last commit: what is not committed would not be in it. */
async function layout(parallel: readonly string[], { cwd }: OrchestrationState, { env }: RunsWorld) {
  const files = await uncommittedFiles(cwd, env);
  const reason =
    (await worktreeProblem(cwd, env)) ??
    (files > 0 ? `${files} files of the project are not committed: one after the other` : null);
  if (reason !== null) return { parallel: [], reason, tree: null };
  return { parallel, reason, tree: (await snapshotTree(cwd, env)) ?? null };
}

async function changes(
  { key, nth, asked }: Attempt,
  isInOwnTree: boolean,
  { facts, cwd }: OrchestrationState,
  world: RunsWorld,
): Promise<ChangesFact> {
  if (asked?.kind !== 'turn') return { ...NOTHING, head: null, moved: null, commands: [], report: null };
  const { run, turn } = asked;
  const text = turn.result ?? '';
  const report =
    text.length > REPORT_LENGTH_MAX ? `${runDirectory(world.paths, run.id)}/answer-${turn.number}.md` : null;
  if (report !== null) writeFileAtomic(report, `${text}\n`, { mode: 0o600 });
  const found = isInOwnTree ? null : facts.get(`before.${key}.${nth}`);
  const before = isInOwnTree ? baseOf(run) : (found?.tree ?? null);
  // A tree in which nothing was made is removed at the end of the turn.
  const isGone = isInOwnTree && run.worktree !== null && !existsSync(run.worktree.path);
  const [changed, head = null] = await Promise.all([
    isGone ? { ...NOTHING, tree: before } : changedSince(isInOwnTree ? run.cwd : cwd, before, world),
    // In a tree of its own it may be at what it likes.
    found == null ? undefined : headOf(cwd, world.env),
  ]);
  const moved = found?.head == null || head === found.head ? null : `${found.head} → ${head ?? '?'}`;
  return { ...changed, head, moved, commands: commandsOf(run, turn.number, world), report };
}

function baseOf({ worktree }: Run): string | null {
  return worktree?.base ?? null;
}

const NOTHING = { tree: null, files: [], patch: '' };

/** What is other in a directory's project than in that tree; nothing where git cannot say. */
async function changedSince(cwd: string, before: string | null, { env }: RunsWorld) {
  const after = before === null ? undefined : await snapshotTree(cwd, env);
  if (before === null || after === undefined) return NOTHING;
  if (before === after) return { ...NOTHING, tree: after };
  const { files, patch } = await changesBetween(cwd, before, after, env);
  return { tree: after, files: files.map(({ path }) => path), patch };
}

function treeRunOf({ attempts }: Work): (Run & TreeRun) | undefined {
  const runs = attempts.flatMap(({ asked }) => (asked?.kind === 'turn' ? [asked.run] : []));
  return runs.flatMap((run) => (run.worktree === null ? [] : [{ ...run, worktree: run.worktree }]))[0];
}

/** Which files were changed by more than one of them, or in the project meanwhile. */
async function overlap(
  held: readonly Work[],
  state: OrchestrationState,
  world: RunsWorld,
): Promise<OverlapFact> {
  const byAgent = new Map<string, readonly string[]>();
  for (const work of held) {
    const run = treeRunOf(work);
    const { files } =
      run === undefined ? { files: [] } : await changedSince(run.worktree.path, baseOf(run), world);
    byAgent.set(work.agent, files);
  }
  const { files } = await changedSince(state.cwd, state.layout?.tree ?? null, world);
  const others = new Map([...byAgent, [PROJECT, files]]);
  return {
    held: [...byAgent].flatMap(([agent, own]) => {
      const common = [...others].flatMap(([other, theirs]) => {
        const both = other === agent ? [] : overlappingChanges(own, theirs);
        return both.length === 0 ? [] : [{ other, both }];
      });
      const both = [...new Set(common.flatMap((one) => one.both))];
      return both.length === 0 ? [] : [{ agent, files: both, with: common.map(({ other }) => other) }];
    }),
  };
}

/** Brings in all of it or nothing. */
async function merge({ attempts }: Work, run: TreeRun | undefined, world: RunsWorld): Promise<MergeFact> {
  if (run === undefined) return { kind: 'failed', files: [], reason: 'it has no working tree of its own' };
  const made = attempts.findLast(({ changes }) => changes !== null)?.changes?.files ?? [];
  if (made.length === 0 && !existsSync(run.worktree.path))
    return { kind: 'nothing', files: [], reason: null };
  const merged = await mergeChanges(run, world);
  if (merged.kind === 'failed') return { kind: 'failed', files: [], reason: merged.reason };
  const reason = await lossOf(run.worktree, { ...world, isMerged: await isMerged(run, world) });
  if (merged.kind === 'merged') return { kind: 'merged', files: merged.files, reason };
  return { kind: merged.kind === 'known' ? 'merged' : 'nothing', files: [], reason };
}

function stop(
  asked: readonly Asked[],
  by: string,
  { session }: OrchestrationState,
  { db, now }: Performing,
): void {
  const stop = { reason: 'requested', by, session: session ?? '', atMs: now().getTime() } as const;
  for (const one of asked) {
    if (one.kind !== 'turn') continue;
    requestStopOfTurn({ runId: one.run.id, turn: one.turn.number }, 'any', stop, db);
  }
}
