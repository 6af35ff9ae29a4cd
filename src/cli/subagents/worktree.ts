import { reasonOf } from '../../core/guards.ts';
import { counted } from '../../core/text.ts';
import { isAway } from '../../runs/model/pool-role.ts';
import type { Run } from '../../runs/model/run.ts';
import { activeTurn } from '../../runs/requester.ts';
import type { RunListing } from '../../runs/store/runs.ts';
import { discardWorktree, lossOf } from '../../runs/workspace/worktree.ts';
import { isMerged, mergeChanges, readChanges, type TreeRun } from '../../runs/workspace/worktree-changes.ts';
import { EXIT, PROGRAM } from '../context.ts';
import { colouredDiff, printJson } from '../output.ts';
import {
  aboutRun,
  answer,
  callPlace,
  complain,
  complainOf,
  type JsonFlag,
  type RunsHere,
  visibleLine,
} from './runs-here.ts';

/** What a run has changed in a working tree of its own: to be seen, brought in, or dropped. */

/** `subagents diff`: what the run has changed, as a patch; through a pipe just as git gives it. */
export const diff = aboutRun({
  name: 'diff',
  description: 'show what a run has changed in its worktree',
  calls: ['3', '3 > changes.patch'],
  act: showChanges,
});

async function showChanges(here: RunsHere, _flags: JsonFlag, listing: RunListing): Promise<void> {
  const run = runWithTree(listing, 'diff', here);
  const { context, world } = here;
  const changes = await readChanges(run, world);
  if (changes.kind === 'failed') return complainOf('show the changes of', run, changes.reason, here);
  const { text } = changes;
  const { id: runId, number, worktree } = run;
  if (here.isJson) printJson({ runId, number, worktree, patch: text }, context);
  else if (text === '') context.stderr(`#${number} has changed nothing in ${visibleLine(worktree.path)}.\n`);
  else context.verbatim(context.screen() === undefined ? text : colouredDiff(text, context));
}

/** `subagents merge`: brings them into the working tree from which the run's was made; all of them or nothing. */
export const merge = aboutRun({
  name: 'merge',
  description: 'bring what a run has changed in its worktree into yours, not committed',
  calls: ['3'],
  act: bringIn,
});

async function bringIn(here: RunsHere, _flags: JsonFlag, listing: RunListing): Promise<void> {
  const run = runWithTree(listing, 'merge', here);
  checkIsDone('merge the changes of', run, here);
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
  const text = `${visibleLine(said[merged.kind])}\n${discard}\n`;
  answer({ runId, number, status: merged.kind, repository, files }, text, here);
}

type DiscardFlags = JsonFlag & { readonly yes?: true };

/** `subagents discard`: removes the working tree and its branch; asks when something is nowhere else. */
export const discard = aboutRun({
  name: 'discard',
  description: "remove a run's worktree and its branch",
  calls: ['3', '3 --yes'],
  define: (command) => command.option('--yes', 'also what is nowhere else'),
  act: remove,
});

async function remove(here: RunsHere, { yes }: DiscardFlags, listing: RunListing): Promise<void> {
  const run = runWithTree(listing, 'discard', here);
  checkIsDone('discard the worktree of', run, here);
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
    return complain(reasonOf(error), EXIT.failed, here);
  }
  const { id: runId, number, worktree } = run;
  const what = isAway(run)
    ? `the changes of #${number}: branch ${branch}`
    : `the worktree of #${number}: ${path}, branch ${branch}`;
  const said = visibleLine(`Discarded ${what}.`);
  answer({ runId, number, status: 'discarded', worktree }, `${said}\n`, here);
}

function runWithTree({ run }: RunListing, verb: string, here: RunsHere): Run & TreeRun {
  if (run.worktree !== null) return { ...run, worktree: run.worktree };
  const reason = `it works in "${run.cwd}", in no worktree of its own: "spawn --worktree always" gives one`;
  return complainOf(`${verb} the worktree of`, run, reason, here);
}

/** The changes of a run that still works are incomplete. */
function checkIsDone(what: string, run: Run, here: RunsHere): void {
  const active = activeTurn(run, here.world.paths);
  if (active === undefined) return;
  const next = `"${PROGRAM} subagents wait ${run.number}" waits for its end, "stop ${run.number}" ends it`;
  complainOf(what, run, `it is ${active.state}: ${next}`, here);
}
