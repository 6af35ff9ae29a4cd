import { existsSync } from 'node:fs';
import { findClientVersion } from '../clients/claude/setup.ts';
import { reasonOf } from '../core/guards.ts';
import { statePaths } from '../core/state-paths.ts';
import { checkRuns } from './background-runs.ts';
import {
  checkApplied,
  checkHooks,
  checkMcp,
  checkProgram,
  checkRegistration,
  type ProgramWorld,
} from './check-installation.ts';
import {
  checkConfig,
  checkDatabase,
  checkEnvironment,
  checkHeartbeats,
  checkHookLog,
  checkPermissions,
  checkSpool,
  checkTranscripts,
  checkWithheld,
  checkWritable,
  type Finding,
  failed,
  ok,
  skipped,
} from './checks.ts';
import { checkClients } from './clients/set-up.ts';
import { checkCommand, programWord } from './command-link.ts';
import { checkAgents } from './config/check-agents.ts';
import { checkVersions } from './kept-versions.ts';
import { runLiveCheck } from './live-check.ts';

export type DoctorOptions = Omit<ProgramWorld, 'paths' | 'binary' | 'install'> & {
  /** Also run the real client against a scripted model on this machine. */
  readonly live: boolean;
  /** Called before each check, for progress. */
  readonly onStart: (name: string) => void;
};

/** One thing that `doctor` looked at. */
export type Check = Finding & { readonly name: string };

const LIVE_TIME_LIMIT_MS = 120_000;

/** All checks, in the order in which they are made and shown. */
const CHECKS: readonly (readonly [name: string, check: (world: ProgramWorld) => Found | Promise<Found>])[] = [
  ['program', checkProgram],
  ['command', checkCommand],
  ['earlier versions', checkVersions],
  ['environment', checkEnvironment],
  ['config', checkConfig],
  ['writable', checkWritable],
  ['permissions', checkPermissions],
  ['spool', checkSpool],
  ['database', checkDatabase],
  ['withheld', checkWithheld],
  ['registration', checkRegistration],
  ['applied hooks', checkApplied],
  ['hooks', checkHooks],
  ['sub-agents', checkAgents],
  ['MCP server', checkMcp],
  ['other clients', checkClients],
  ['background runs', checkRuns],
  ['transcripts', checkTranscripts],
  ['hook failures', checkHookLog],
  ['last seen', checkHeartbeats],
];
type Found = Finding | Finding[];

/**
 * Looks at everything that has to be right for the hooks to work. Changes nothing but what waits to be recorded, and removes
 * programs that updates have replaced and nobody runs. Never throws: what cannot be looked at is a failed check, and the
 * others are made all the same.
 */
export async function examine(options: DoctorOptions): Promise<Check[]> {
  const paths = statePaths(options.env, options.platform);
  if (paths === undefined) {
    const detail = 'HOME is not set to an absolute path: the hooks have nowhere to keep anything';
    return [{ name: 'home', ...failed(detail, 'Set HOME in this shell and wherever the client is started') }];
  }
  const binary = existsSync(paths.binary) ? paths.binary : options.executablePath;
  const world = { ...options, paths, binary, install: installCommand(options) };
  const checks: Check[] = [];
  for (const [name, check] of options.live ? [...CHECKS, ['live', checkLive] as const] : CHECKS) {
    options.onStart(name);
    try {
      checks.push(...[await check(world)].flat().map((finding) => ({ name, ...finding })));
    } catch (error) {
      const detail = `cannot be checked: ${reasonOf(error)}`;
      checks.push({ name, ...failed(detail, 'Correct that and run doctor again') });
    }
  }
  return checks;
}

/** With the whole path where the shell does not find the program by its name. */
function installCommand({ executablePath, isCompiled, env, platform }: DoctorOptions): string {
  if (!isCompiled) return 'self-generation install';
  return `${programWord(executablePath, env, platform)} install`;
}

async function checkLive(world: ProgramWorld): Promise<Finding[]> {
  const client = await findClientVersion(world);
  if (client.kind === 'unknown') return [skipped(`the real client cannot be run: ${client.reason}`)];
  const { binary: binaryPath, env } = world;
  const limits = { env, timeoutMs: LIVE_TIME_LIMIT_MS };
  const report = await runLiveCheck({ clientPath: client.path, binaryPath, ...limits });
  const remedy = 'Compare with "self-generation doctor" without --live';
  if (report.kind === 'failed') return [failed(report.reason, remedy)];
  const missing = report.events.filter(({ state }) => state === 'not seen').map(({ event }) => event);
  const events =
    missing.length === 0
      ? ok(`Claude Code ${report.clientVersion ?? ''} ran every registered hook`)
      : failed(`never ran: ${missing.join(', ')}`, remedy);
  const context =
    report.context === 'delivered'
      ? ok("a recorded error was in the sub-agent's first request")
      : failed(`the sub-agent was not told: ${report.context}`, remedy);
  return [
    { name: 'live events', ...events },
    { name: 'live context', ...context },
  ];
}
