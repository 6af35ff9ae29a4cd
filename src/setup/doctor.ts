import { existsSync } from 'node:fs';
import { type Environment, statePaths } from '../core/state-paths.ts';
import { hasSameBytes } from '../sys/atomic-file.ts';
import type { RunCommand } from '../sys/run-command.ts';
import { type Check, failed, ok, skipped, warning } from './check.ts';
import { checkHooks } from './check-hooks.ts';
import { checkRegistration } from './check-registration.ts';
import {
  checkConfig,
  checkDatabase,
  checkEnvironment,
  checkHeartbeats,
  checkHookLog,
  checkPermissions,
  checkWithheld,
  settle,
} from './check-state.ts';
import { findClientVersion } from './client-version.ts';
import { type LiveReport, runLiveCheck } from './live-check.ts';

export type DoctorOptions = {
  readonly env: Environment;
  readonly platform: string;
  readonly executablePath: string;
  readonly isCompiled: boolean;
  /** Also run the real client against a scripted model on this machine. */
  readonly live: boolean;
  readonly now: Date;
  readonly run: RunCommand;
  /** Called before each part, for progress. */
  readonly onStart: (part: string) => void;
};

const LIVE_TIME_LIMIT_MS = 120_000;

/** Looks at everything that has to be right for the hooks to work. Changes nothing but what waits to be recorded. */
export async function examine(options: DoctorOptions): Promise<Check[]> {
  const { env, platform, now, run, onStart } = options;
  const paths = statePaths(env, platform);
  if (paths === undefined) {
    return [
      failed(
        'home',
        'HOME is not set to an absolute path: the hooks have nowhere to keep anything',
        'Set HOME',
      ),
    ];
  }
  const binary = existsSync(paths.binary) ? paths.binary : options.executablePath;
  onStart('state');
  const checks = [
    checkBinary(options, paths.binary),
    checkEnvironment(env),
    checkConfig(paths),
    checkPermissions(paths, platform),
  ];
  onStart('database');
  checks.push(settle(paths), checkDatabase(paths), checkWithheld(paths));
  onStart('registration');
  checks.push(...(await checkRegistration({ env, platform, run })));
  onStart('hooks');
  checks.push(
    options.isCompiled || binary === paths.binary
      ? await checkHooks({ binary, env, run })
      : skipped('hooks', 'this is not the compiled program'),
  );
  checks.push(checkHookLog(paths, now), checkHeartbeats(paths));
  if (options.live) {
    onStart('the real client');
    checks.push(...(await checkLive(options, binary)));
  }
  return checks;
}

function checkBinary({ executablePath, isCompiled }: DoctorOptions, installed: string): Check {
  const remedy = 'Run "self-generation install"';
  if (!existsSync(installed)) return failed('program', `not installed: there is no ${installed}`, remedy);
  if (isCompiled && !hasSameBytes(executablePath, installed)) {
    return warning('program', `${installed} is another version than this program`, remedy);
  }
  return ok('program', installed);
}

async function checkLive({ env, platform, run }: DoctorOptions, binary: string): Promise<Check[]> {
  const client = await findClientVersion({ env, platform, run });
  if (client.kind === 'unknown') return [skipped('live', `the real client cannot be run: ${client.reason}`)];
  return describeLive(
    await runLiveCheck({ clientPath: client.path, binaryPath: binary, env, timeoutMs: LIVE_TIME_LIMIT_MS }),
  );
}

function describeLive(report: LiveReport): Check[] {
  const remedy = 'Compare with "self-generation doctor" without --live';
  if (report.kind === 'failed') return [failed('live', report.reason, remedy)];
  const missing = report.events.filter((event) => event.state === 'not seen').map((event) => event.event);
  const events =
    missing.length === 0
      ? ok('live events', `Claude Code ${report.clientVersion ?? ''} ran every registered hook`)
      : failed('live events', `never came in: ${missing.join(', ')}`, remedy);
  const context =
    report.context === 'delivered'
      ? ok('live context', "a recorded error was in the sub-agent's first request")
      : failed('live context', `the sub-agent was not told: ${report.context}`, remedy);
  return [events, context];
}
