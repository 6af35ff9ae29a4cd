import type { Run } from '../../core/runs/run.ts';
import { counted } from '../../setup/check.ts';
import { activeTurn } from '../../subagents/own-run.ts';
import { discardWorktree, lossOf } from '../../subagents/workplace/worktree.ts';
import {
  isMerged,
  mergeChanges,
  readChanges,
  type TreeRun,
} from '../../subagents/workplace/worktree-changes.ts';
import { EXIT_FAILED, PROGRAM } from '../context.ts';
import { colouredDiff, printJson } from '../visible.ts';
import { visibleLine } from './run-words.ts';
import { callPlace, complain, complainUsage, findRun, type JsonFlag, type RunsHere } from './runs-here.ts';

/** What a run has changed in a working tree of its own: to be seen, brought in, or dropped. */

/** `subagents diff`: what the run has changed, as a patch; through a pipe just as git gives it. */
export async function diff(here: RunsHere, _flags: JsonFlag, target?: string): Promise<void> {
  const run = runWithTree(target, 'diff', here);
  if (run === undefined) return;
  const { context, world } = here;
  const changes = await readChanges(run, world);
  if (changes.kind === 'failed') return complainOf('show the changes of', run, changes.reason, here);
  const { text } = changes;
  if (here.isJson)
    printJson({ runId: run.id, number: run.number, worktree: run.worktree, patch: text }, context);
  else if (text === '')
    context.stderr(`#${run.number} has changed nothing in ${visibleLine(run.worktree.path)}.\n`);
  else context.stdout(context.screen() === undefined ? text : colouredDiff(text, context));
}

/** `subagents merge`: brings them into the working tree from which the run's was made; all of them or nothing. */
export async function merge(here: RunsHere, _flags: JsonFlag, target?: string): Promise<void> {
  const run = runWithTree(target, 'merge', here);
  if (run === undefined || isAtWork('merge the changes of', run, here)) return;
  const { path, repository } = run.worktree;
  const merged = await mergeChanges(run, here.world);
  if (merged.kind === 'failed') {
    const next = `nothing was changed. Commit or put away what is in the way in "${repository}", or take it by hand from "${path}"`;
    return complainOf('merge the changes of', run, `${merged.reason}; ${next}`, here);
  }
  const files = merged.kind === 'merged' ? merged.files : [];
  const discard = `"${PROGRAM} subagents discard ${run.number}" removes its worktree.${callPlace(run, here)}`;
  const said = {
    merged: `Merged #${run.number}: ${counted(files.length, 'file')} changed in ${repository}, not committed.`,
    nothing: `Nothing to merge: #${run.number} has changed nothing.`,
    known: `Nothing to merge: what #${run.number} has changed is in ${repository} already.`,
  };
  const { id: runId, number } = run;
  if (here.isJson) printJson({ runId, number, status: merged.kind, repository, files }, here.context);
  else here.context.stdout(`${visibleLine(said[merged.kind])}\n${discard}\n`);
}

export type DiscardFlags = JsonFlag & { readonly yes?: true };

/** `subagents discard`: removes the working tree and its branch; asks when something is nowhere else. */
export async function discard(here: RunsHere, { yes }: DiscardFlags, target?: string): Promise<void> {
  const run = runWithTree(target, 'discard', here);
  if (run === undefined || isAtWork('discard the worktree of', run, here)) return;
  const { context, world, isJson } = here;
  const { path, branch } = run.worktree;
  const loss = yes ? null : await lossOf(run.worktree, { ...world, isMerged: await isMerged(run, world) });
  const question = `${visibleLine(`#${run.number}, ${path}: ${loss}`)}. Discard it?`;
  if (loss !== null && !(context.isInteractive && !isJson && (await context.confirm(question)))) {
    const next = `it would be lost. See "${PROGRAM} subagents diff ${run.number}", or discard it with --yes`;
    return complainOf('discard the worktree of', run, `${loss}: ${next}`, here);
  }
  try {
    await discardWorktree(run.worktree, world);
  } catch (error) {
    return complain(String((error as Error).message), EXIT_FAILED, here);
  }
  if (isJson)
    printJson({ runId: run.id, number: run.number, status: 'discarded', worktree: run.worktree }, context);
  else
    context.stdout(
      visibleLine(`Discarded the worktree of #${run.number}: ${path}, branch ${branch}.`).concat('\n'),
    );
}

type TreeOfRun = Run & TreeRun;

/** Undefined after saying that there is no such run, or that it has no working tree of its own. */
function runWithTree(target: string | undefined, verb: string, here: RunsHere): TreeOfRun | undefined {
  if (target === undefined) complainUsage(`${verb} <id|#>`, here);
  const run = target === undefined ? undefined : findRun(target, here)?.run;
  if (run === undefined) return undefined;
  if (run.worktree !== null) return { ...run, worktree: run.worktree };
  const reason = `it works in "${run.cwd}", in no worktree of its own: "spawn --worktree always" gives one`;
  complainOf(`${verb} the worktree of`, run, reason, here);
  return undefined;
}

/** While a run works, what it has changed is not whole. Says so. */
function isAtWork(what: string, run: Run, here: RunsHere): boolean {
  const active = activeTurn(run, here.world.paths);
  if (active === undefined) return false;
  const next = `"${PROGRAM} subagents wait ${run.number}" waits for its end, "stop ${run.number}" ends it`;
  complainOf(what, run, `it is ${active.state}: ${next}`, here);
  return true;
}

function complainOf(what: string, run: Run, reason: string, here: RunsHere): void {
  complain(`Cannot ${what} #${run.number}: ${reason}.${callPlace(run, here)}`, EXIT_FAILED, here);
}
