import { type Attachment, attachTo } from '../../runs/attach.ts';
import type { RunListing } from '../../runs/store/runs.ts';
import { runAttached } from '../../system/run-command.ts';
import { printJson, visible } from '../output.ts';
import { aboutRun, complainOf, type JsonFlag, type RunsHere } from './runs-here.ts';

/** `subagents attach`: goes on with the session of a run in the client itself; without a terminal says how. */
export const attach = aboutRun({
  name: 'attach',
  description: "go on with a run's session in its own client, on a terminal",
  calls: ['3', '3 --print'],
  define: (command) => command.option('--print', 'only print the command'),
  act: start,
});

type AttachFlags = JsonFlag & { readonly print?: true };

async function start(here: RunsHere, { print }: AttachFlags, { run }: RunListing): Promise<void> {
  const { context, world, isJson } = here;
  const { id: runId, number, client, sessionId } = run;
  const answer = attachTo(run, print ? 'print' : 'start', world);
  if (answer.kind === 'refused') return complainOf('attach to', run, answer.reason, here);
  const { attachment } = answer;
  const { words: command, path, cwd, env, set, unset } = attachment;
  if (isJson) return printJson({ runId, number, client, sessionId, cwd, command, env: set, unset }, context);
  if (print || !context.isInteractive) return context.stdout(`${visible(shellLine(attachment))}\n`);
  // Ctrl-C is for the client, which has the terminal.
  const release = context.onInterrupt(() => {});
  try {
    context.setExitCode(await runAttached(path, command.slice(1), { cwd, env }));
  } finally {
    release();
  }
}

function shellLine({ words, cwd, set, unset }: Attachment): string {
  const changes = [
    ...unset.flatMap((name) => ['-u', name]),
    ...Object.entries(set).map(([name, value]) => `${name}=${value}`),
  ];
  const command = [...(changes.length === 0 ? [] : ['env', ...changes]), ...words];
  return `cd ${quoted(cwd)} && ${command.map(quoted).join(' ')}`;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
