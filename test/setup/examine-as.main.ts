import { examine } from '../../src/setup/doctor.ts';
import { runCommand } from '../../src/system/run-command.ts';

/**
 * What doctor finds in the HOME of this process, as another user, as JSON:
 *
 *   bun examine-as.main.ts UID PROGRAM
 */
const [uid = '', executablePath = ''] = process.argv.slice(2);
process.setuid?.(Number(uid));
const checks = await examine({
  env: process.env,
  platform: 'linux',
  executablePath,
  isCompiled: true,
  live: false,
  now: new Date(),
  run: runCommand,
  onStart: () => {},
});
console.log(JSON.stringify(checks));
