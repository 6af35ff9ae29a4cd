import type { RunSettings } from '../settings/run-settings.ts';
import type { TeamMember } from './model/facts.ts';

/** Where no agent of the settings has a role. */
const DEVELOPER: TeamMember = {
  name: 'developer',
  role: 'custom',
  description: 'does any work on this project',
  agentId: null,
};

/** The agents of the settings with a role, by their ids; without any, one developer in the client of sub-agents. */
export function teamOf({ agents }: Pick<RunSettings, 'agents'>): readonly TeamMember[] {
  const team = agents.flatMap(({ id, role, description, name }) =>
    role === null ? [] : [{ name: id, role, description: description ?? name ?? '', agentId: id }],
  );
  return team.length === 0 ? [DEVELOPER] : team;
}
