import { statePaths } from '../../../src/core/state-paths.ts';
import { runHookScript } from '../../../src/learn/apply/hook-script.ts';
import { runCommand } from '../../../src/sys/run-command.ts';

/** A process that runs the script of a suggestion as the command does, with this runtime.   bun hook-script.main.ts ID */
const paths = statePaths(process.env, process.platform);
if (paths === undefined) throw new Error('Cannot run a script: HOME is not set');
const { stdout, stderr } = await runHookScript({
  id: process.argv[2] ?? '',
  env: process.env,
  paths,
  now: new Date(),
  cwd: process.cwd(),
  executablePath: process.execPath,
  run: runCommand,
});
process.stdout.write(stdout);
process.stderr.write(stderr);
