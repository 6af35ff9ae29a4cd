import type { ConnectServer } from './team/membership.ts';

/**
 * All faces of the program but its hooks. What only one of them needs is loaded by that one alone: what talks to a server
 * above all.
 */

const loadServer = () => import('./database/postgres.ts');
const connectServer: ConnectServer = async (address) => (await loadServer()).connectServer(address);
/** Loaded for a turn that another machine does. */
const loadAway = async () => (await import('./runs/pool/away-turn.ts')).beginAwayTurn;
/** Loaded when a worker begins. */
const startWorker = async () => (await import('./runs/pool/worker.ts')).runWorker;

/** Shows the one that the words call for; a hook of the user's, which they have applied, by `isOfUser`. Returns the exit code. */
export async function showFace(
  words: readonly string[],
  { isOfUser }: { readonly isOfUser: boolean },
): Promise<number> {
  const isCalled = (name: string, length: number) => words[0] === name && words.length === length;
  if (isCalled('supervise', 3)) {
    const { renewHistory } = await import('./conversation/told-history.ts');
    const { superviseProcess } = await import('./runs/supervisor/supervise.ts');
    return await superviseProcess(words, { prepare: renewHistory, loadAway });
  }
  if (isCalled('worker-guard', 1)) return await (await import('./runs/pool/worker-guard.ts')).guardProcess();
  if (isCalled('catch-up', 2) || isCalled('catch-up', 3)) {
    await (await import('./transcripts/catch-up-process.ts')).catchUpProcess(words, process.env, loadServer);
    return 0;
  }
  if (isOfUser) {
    await (await import('./suggestions/applied-hook.ts')).appliedHookProcess(words[2] ?? '', process.env);
    process.exit(0);
  }
  if (isCalled('mcp', 1) || (isCalled('mcp', 2) && words[1] === '--knowledge')) {
    await (await import('./mcp/serve.ts')).serveMcp(words.length === 1);
    return 0;
  }
  return await (await import('./cli/run.ts')).runCli(words, { connectServer, startWorker });
}
