import type { AnalyzeOptions } from '../../src/analysis/analyze.ts';
import type { Environment } from '../../src/core/state-paths.ts';
import { parseConfig } from '../../src/settings/all-settings.ts';
import type { Home } from '../support/home.ts';
import { PROJECT } from '../support/payloads.ts';

/** An analysis of the recorded project, asked for now by a command, with nothing configured. */
export function madeOptions(home: Home, env: Environment): AnalyzeOptions {
  return {
    env: { HOME: home.path, ...env },
    paths: home.paths,
    config: parseConfig({}).config,
    scope: { kind: 'project', name: 'app', path: PROJECT },
    days: 7,
    cli: 'claude',
    model: undefined,
    budgetUsd: undefined,
    trigger: 'command',
    now: () => new Date(),
    onProgress: () => {},
  };
}
