import { Argument, type Command } from 'commander';
import { HOOKS } from '../core/hook-names.ts';
import { statePaths } from '../core/state-paths.ts';
import { runHookScript } from '../learn/apply/hook-script.ts';
import { runCommand } from '../sys/run-command.ts';
import { type CliContext, EXIT_FAILED, newCommand } from './context.ts';

const EXAMPLES = `
Without NAME the event on standard input decides. A hook ends with 0 whatever happens and says nothing but its answer.

Examples:
  $ self-generation hook subagent-context < event.json
  $ self-generation hook < event.json
  $ self-generation hook script s1a2b3c4d5e < event.json      the code of an applied suggestion

A script that is not as it was when it was applied does not run. Whatever it ends with, its veto is not passed on.
Exit codes: 0 ran, 1 no such hook. Never 2: the client would take that for a veto.`;

/**
 * `hook`: what the client runs. The program's entry point has run it before anything else was loaded; a call that
 * comes here is one of an applied suggestion's script, one for help, or a wrong one.
 */
export function hookCommand(context: CliContext): Command {
  const command = newCommand('hook', context)
    .description('run one hook on the event on standard input; the client does that')
    .addArgument(new Argument('[name]').choices([...HOOKS.map((hook) => hook.name), 'script']))
    .argument('[id]', 'of the suggestion, for a script')
    .addHelpText('after', EXAMPLES)
    .exitOverride((error) => {
      if (error.exitCode !== 0) context.setExitCode(EXIT_FAILED);
      throw error;
    })
    .action(async (name?: string, id?: string) => {
      if (name !== 'script') command.error('error: a hook reads its event from standard input');
      else if (id === undefined) command.error('error: a script is called by the id of its suggestion');
      else await runScript(id, context);
    });
  return command;
}

async function runScript(id: string, context: CliContext): Promise<void> {
  const { env, platform, executablePath } = context;
  const paths = statePaths(env, platform);
  if (paths === undefined) return; // Without a home nothing is applied, and there is no log to say so in.
  const request = {
    id,
    env,
    paths,
    now: context.now(),
    cwd: directoryFor(context),
    executablePath,
    run: runCommand,
  };
  const { stdout, stderr } = await runHookScript(request);
  if (stdout !== '') context.stdout(stdout);
  if (stderr !== '') context.stderr(stderr);
}

/** A hook is run although the directory of its session has been removed. */
function directoryFor(context: CliContext): string {
  try {
    return context.cwd;
  } catch {
    return '/';
  }
}
