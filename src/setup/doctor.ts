import { existsSync } from 'node:fs';
import { findClientVersion } from '../clients/claude/version.ts';
import { reasonOf } from '../core/guards.ts';
import { type Environment, type StatePaths, statePaths } from '../core/state-paths.ts';
import { hasSameBytes } from '../system/atomic-file.ts';
import type { RunCommand } from '../system/run-command.ts';
import { checkRuns } from './background-runs.ts';
import { checkApplied, checkHooks, checkMcp, checkRegistration } from './check-installation.ts';
import {
  type Check,
  checkConfig,
  checkDatabase,
  checkEnvironment,
  checkHeartbeats,
  checkHookLog,
  checkPermissions,
  checkTranscripts,
  checkWithheld,
  checkWritable,
  failed,
  ok,
  settle,
  skipped,
  warning,
} from './checks.ts';
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

/**
 * Looks at everything that has to be right for the hooks to work. Changes nothing but what waits to be recorded. Never
 * throws: what cannot be looked at is a failed check, and the others are made all the same.
 */
export async function examine(options: DoctorOptions): Promise<Check[]> {
  const paths = statePaths(options.env, options.platform);
  if (paths === undefined) {
    const detail = 'HOME is not set to an absolute path: the hooks have nowhere to keep anything';
    return [failed('home', detail, 'Set HOME in this shell and wherever the client is started')];
  }
  const checks: Check[] = [];
  for (const { name, look } of partsOf(options, paths)) {
    options.onStart(name);
    try {
      checks.push(...[await look()].flat());
    } catch (error) {
      checks.push(failed(name, `cannot be checked: ${reasonOf(error)}`, 'Correct that and run doctor again'));
    }
  }
  return checks;
}

type Part = { readonly name: string; readonly look: () => Check | Check[] | Promise<Check | Check[]> };

function partsOf(options: DoctorOptions, paths: StatePaths): Part[] {
  const { env, platform, run } = options;
  const world = { paths, env, platform, run, install: installCommandOf(options) };
  const isInstalled = existsSync(paths.binary);
  const binary = isInstalled ? paths.binary : options.executablePath;
  const parts: Part[] = [
    { name: 'program', look: () => checkBinary(options, paths.binary) },
    { name: 'environment', look: () => checkEnvironment(env) },
    { name: 'config', look: () => checkConfig(paths) },
    { name: 'writable', look: () => checkWritable(paths) },
    { name: 'permissions', look: () => checkPermissions(paths, platform) },
    { name: 'spool', look: () => settle(paths) },
    { name: 'database', look: () => checkDatabase(paths) },
    { name: 'withheld', look: () => checkWithheld(paths) },
    { name: 'registration', look: () => checkRegistration(world) },
    { name: 'applied hooks', look: () => checkApplied(paths, env, platform) },
    {
      name: 'hooks',
      look: () =>
        options.isCompiled || isInstalled
          ? checkHooks(binary, world)
          : skipped('hooks', 'this is not the compiled program'),
    },
    { name: 'MCP server', look: () => checkMcp(world) },
    { name: 'background runs', look: () => checkRuns(paths, options.now) },
    { name: 'transcripts', look: () => checkTranscripts(paths, options.now) },
    { name: 'hook failures', look: () => checkHookLog(paths, options.now) },
    { name: 'last seen', look: () => checkHeartbeats(paths) },
  ];
  return options.live ? [...parts, { name: 'live', look: () => checkLive(options, binary) }] : parts;
}

/** The whole path: nobody has to have put the program on the PATH. */
function installCommandOf({ executablePath, isCompiled }: DoctorOptions): string {
  if (!isCompiled) return 'self-generation install';
  return `${/[^\w./:\\-]/.test(executablePath) ? `"${executablePath}"` : executablePath} install`;
}

function checkBinary(options: DoctorOptions, installed: string): Check {
  const { executablePath, isCompiled } = options;
  const remedy = `Run: ${installCommandOf(options)}`;
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
