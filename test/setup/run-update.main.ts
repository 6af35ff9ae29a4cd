import { update } from '../../src/setup/update.ts';
import { runCommand } from '../../src/system/run-command.ts';

/** Updates the home of HOME from a folder: `bun run-update.main.ts FOLDER`. */
const report = await update({
  ...{ env: process.env, platform: 'linux', run: runCommand, target: 'linux-x64' },
  ...{ from: process.argv[2], checksOnly: false, dryRun: false, allowsDowngrade: false, onStart: () => {} },
});
console.log(JSON.stringify(report));
