import type { CandidateGroup } from '../../src/analysis/candidates.ts';
import { PROJECT } from '../support/payloads.ts';

/** A group of failures, made up: one failing call of `npm test`. */
export function madeGroup(changes: Partial<CandidateGroup> = {}): CandidateGroup {
  const key = changes.key ?? 'Error: no port';
  return {
    group: 1,
    projectPath: PROJECT,
    key,
    said: key,
    keys: [key],
    isFinding: false,
    callIds: ['call 1'],
    sessionIds: ['s1'],
    failingLines: ['npm test'],
    shown: { calls: 1, sessions: 1, example: { command: 'npm test', says: key, next: [] } },
    ...changes,
  };
}
