import { existsSync } from 'node:fs';
import { type StatePaths, statePaths } from '../../core/state-paths.ts';
import { pruneCommand } from './command.ts';
import type { Common } from './common.ts';
import { currentSettings } from './current-settings.ts';
import type { Hooks, HostClient, HostInput } from './host.ts';
import { knowledge } from './knowledge.ts';
import { pluginLog } from './plugin-log.ts';
import { pruning } from './pruning.ts';
import { sessionKinds } from './session-kinds.ts';
import { sessionStates } from './session-states.ts';

const WAIT_MS = 500;

/** What OpenCode starts, once for each directory that it works in. Our own runs are sub-agents: nothing is done there. */
export async function server(host: HostInput): Promise<Hooks> {
  const paths = statePaths(process.env, process.platform);
  const isOurs = process.env.SELF_GENERATION_INTERNAL === '1';
  return paths === undefined || isOurs ? {} : pluginHooks(host, paths);
}

/** The hooks of all parts of the plugin. They never throw: what OpenCode has then stays as it is. `waitMs`: for a look-up. */
export function pluginHooks(host: HostInput, paths: StatePaths, waitMs = WAIT_MS): Hooks {
  const log = pluginLog(paths.opencodeLog, () => new Date());
  const kinds = sessionKinds(host.client, log, waitMs);
  const settings = currentSettings(paths);
  // What is uninstalled goes on in an OpenCode that has loaded it, and has to leave nothing behind.
  const isInstalled = existsSync(paths.opencodePlugin);
  const isGone = () => isInstalled && !existsSync(paths.opencodePlugin);
  const common: Common = {
    host,
    paths,
    settings: () => (isGone() ? { ...settings(), enabled: false } : settings()),
    log,
    kinds,
    show: toaster(host.client),
  };
  const states = sessionStates(paths, host.directory, log);
  return composed([kinds, pruning(common, states), pruneCommand(common, states), knowledge(common)], log);
}

/** A terminal that shows toasts may be there or not. */
function toaster({ tui }: HostClient): Common['show'] {
  return async (message) => {
    try {
      await tui.showToast({ body: { message, variant: 'info' } });
    } catch {
      // It stands in the log as well.
    }
  };
}

const HOOKS = [
  ...['event', 'config', 'chat.message', 'command.execute.before'],
  ...['experimental.chat.messages.transform', 'experimental.session.compacting'],
] as const;

/** One hook for all parts that have it, in their order. A failure of one is logged, and is nothing to the others. */
function composed(parts: readonly Hooks[], log: Common['log']): Hooks {
  const hooks: Record<string, (input: never, output: never) => Promise<void>> = {};
  for (const name of HOOKS) {
    const having = parts.filter((part) => part[name as keyof Hooks] !== undefined);
    if (having.length === 0) continue;
    hooks[name] = async (input, output) => {
      for (const part of having) {
        try {
          await (part[name as keyof Hooks] as (input: never, output: never) => unknown)(input, output);
        } catch (error) {
          log.failure(`take part in OpenCode's ${name}`, error);
        }
      }
    };
  }
  return hooks;
}
