import { setTimeout as sleep } from 'node:timers/promises';
import { cleanText, cutText, oneLine } from '../../core/text.ts';
import { loadRunSettings } from '../../settings/run-settings.ts';
import { runCommand } from '../../system/run-command.ts';
import { notifyTerminal } from '../../system/terminal.ts';
import { logRunFailure } from '../failure-log.ts';
import { untakenStatus } from '../store/outbox.ts';
import { getRun } from '../store/runs.ts';
import { readRuns } from '../store/runs-db.ts';
import type { RunsWorld } from '../world.ts';

/** How long somebody who waits may take: a session that is woken, a command. */
const TAKEN_WITHIN_MS = 4000;
const COMMAND_TIMEOUT_MS = 10_000;
const NAME_LENGTH_MAX = 72;

/**
 * Tells a person of a result that nobody has taken: by the program of the settings, else in the terminal in which the run
 * was asked for. Only that there is one, and how it ended: what a sub-agent said is for nobody's screen. Never throws.
 */
export async function notifyOfResult(runId: string, world: RunsWorld): Promise<void> {
  try {
    const { notifyCommand } = loadRunSettings(world.paths);
    const run = readRuns(world.paths, (db) => getRun(runId, db)?.run);
    if (run === undefined || (notifyCommand === null && run.terminal === null)) return;
    await sleep(TAKEN_WITHIN_MS);
    const nowMs = world.now().getTime();
    const status = readRuns(world.paths, (db) => untakenStatus(runId, nowMs, db));
    if (status === undefined) return;
    const name = run.label === null ? '' : ` "${cutText(oneLine(cleanText(run.label)), NAME_LENGTH_MAX)}"`;
    const text = `Sub-agent #${run.number}${name}: ${status}`;
    const [program, ...args] = notifyCommand ?? [];
    if (program === undefined) {
      if (run.terminal !== null) notifyTerminal(run.terminal, text);
      return;
    }
    const options = { env: world.env, cwd: world.paths.home, timeoutMs: COMMAND_TIMEOUT_MS };
    const end = await runCommand(program, [...args, text], options);
    if (end.kind === 'exited' && end.code === 0) return;
    const how = end.kind === 'exited' ? `exit code ${end.code}` : end.kind;
    const reason = end.kind === 'failed' ? end.reason : how;
    throw new Error(`Cannot notify with "${program}": ${reason}; correct notify.command`);
  } catch (error) {
    logRunFailure(runId, error, world.paths);
  }
}
