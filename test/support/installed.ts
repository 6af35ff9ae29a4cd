import { dirname, join } from 'node:path';
import { type InstallOptions, type InstallReport, install } from '../../src/setup/install.ts';
import { type UninstallOptions, type UninstallReport, uninstall } from '../../src/setup/uninstall.ts';
import { runCommand } from '../../src/system/run-command.ts';

/** How a program beside this home is installed in it, for a client of today; no client is on its PATH. */
export function installOptions(home: string, changes: Partial<InstallOptions> = {}): InstallOptions {
  return {
    ...{ env: { HOME: home, PATH: '/nowhere' }, platform: 'linux' },
    executablePath: join(dirname(home), 'dist', 'self-generation'),
    isCompiled: true,
    projectDirectory: dirname(home),
    dryRun: false,
    clientVersion: '2.1.328',
    run: runCommand,
    now: () => new Date('2026-11-20T09:47:09.123Z'),
    ...changes,
  };
}

/** How doctor looks at the compiled program, but for whose and when. */
export const EXAMINED = {
  ...{ platform: 'linux', isCompiled: true, live: false },
  ...{ run: runCommand, onStart: () => {} },
};

type Installed = Extract<InstallReport, { kind: 'done' }>;

/** Installs it. @throws Error that says why it failed. */
export async function installedIn(home: string, changes: Partial<InstallOptions> = {}): Promise<Installed> {
  const report = await install(installOptions(home, changes));
  if (report.kind === 'failed') throw new Error(`Cannot ${report.action}: ${report.reason}`);
  return report;
}

/** Uninstalls it, without what was learned unless the changes say so. */
export function uninstallIn(home: string, changes: Partial<UninstallOptions> = {}): UninstallReport {
  const env = { HOME: home, PATH: '/nowhere' };
  return uninstall({ env, platform: 'linux', purge: false, dryRun: false, ...changes });
}
