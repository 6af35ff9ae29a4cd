import { grantProblem } from '../runs/model/permissions.ts';
import type { Requester } from '../runs/model/run.ts';
import { grantRefusal } from '../runs/spawn.ts';
import { ownProgram, type Refusal, type RunsWorld } from '../runs/world.ts';
import { loadRunConfig } from '../settings/all-settings.ts';
import { loadConfig } from '../settings/hook-settings.ts';
import { startDetached } from '../system/run-command.ts';
import { beginOrchestration } from './engine.ts';
import type { OrchestrationOptions } from './model/facts.ts';
import type { Orchestration, OrchestrationState } from './model/state.ts';
import { teamOf } from './team.ts';

/** Writes an orchestration down with the team and the limits that the settings have now; or says why it cannot begin. */
export function planOrchestration(
  prompt: string,
  { mode, permissions }: Pick<OrchestrationOptions, 'mode' | 'permissions'>,
  requester: Requester,
  world: RunsWorld,
): OrchestrationState | Refusal {
  const refused = refusalOf(permissions, requester, world);
  if (refused !== undefined) return refused;
  const { key, session, client, cwd } = requester;
  const config = loadRunConfig(world.paths);
  if (config.kind === 'refused') return { status: 'error', error: config.error };
  const { settings } = config;
  const { attempts } = settings.orchestrate;
  const { language } = loadConfig(world.paths);
  const options = { mode, permissions, language, team: teamOf(settings), attempts };
  return beginOrchestration({ requester: key, session, client, cwd, prompt, options }, world);
}

/** What no employee could be started with is said before anybody has planned. */
function refusalOf(
  permissions: readonly string[],
  requester: Requester,
  world: RunsWorld,
): Refusal | undefined {
  if (permissions.length === 0) return undefined;
  const error = permissions.map(grantProblem).find((one) => one !== undefined);
  return error === undefined ? grantRefusal(permissions, requester, world) : { status: 'error', error };
}

/** Has it carried on by a process of its own, which goes on when this one ends. @throws Error when that cannot be started */
export function startEngine({ number, cwd }: Pick<Orchestration, 'number' | 'cwd'>, world: RunsWorld): void {
  const [program, ...words] = ownProgram(world);
  startDetached(program, [...words, 'orchestrate', '--continue', String(number)], { env: world.env, cwd });
}
