import { readTextFile } from '#runtime';
import type { StatePaths } from '../core/state-paths.ts';
import { oneOf, parseSettings, readSection, row } from './hook-settings.ts';

/** Whose word makes a lesson of the team one that is told here. */
const TRUSTS = ['me', 'reviewers', 'majority'] as const;

/** The settings of a team's members. */
export const TEAM_SETTINGS = {
  team: {
    trust: row(
      oneOf(...TRUSTS),
      'me',
      "whose word makes a lesson of your team one that agents are told: yours, a reviewer's, or that of most who take part",
    ),
  },
};

export type Trust = (typeof TRUSTS)[number];

/** Whose word counts. */
export function loadTrust(paths: StatePaths): Trust {
  return readSection(TEAM_SETTINGS, parseSettings(readTextFile(paths.config) ?? '{}')).team.trust;
}
