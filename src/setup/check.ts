import type { Environment, StatePaths } from '../core/state-paths.ts';
import type { RunCommand } from '../system/run-command.ts';

/** One thing that `doctor` looked at. */
export type Check = {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  /** What the user can do about it. */
  readonly remedy?: string;
};

/** What there is to be looked at, and with what. */
export type CheckWorld = {
  readonly paths: StatePaths;
  readonly env: Environment;
  readonly platform: string;
  readonly run: RunCommand;
  /** The command line that installs. */
  readonly install: string;
};

/** It is as it should be. */
export function ok(name: string, detail: string): Check {
  return { name, status: 'ok', detail };
}

/** The hooks work, but not as the user may expect. */
export function warning(name: string, detail: string, remedy: string): Check {
  return { name, status: 'warning', detail, remedy };
}

/** The hooks do not work, or lose what they are given. */
export function failed(name: string, detail: string, remedy: string): Check {
  return { name, status: 'failed', detail, remedy };
}

/** It could not, or need not, be looked at. */
export function skipped(name: string, detail: string): Check {
  return { name, status: 'skipped', detail };
}
