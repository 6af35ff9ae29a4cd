import type { Verification } from '../prompts/criteria.ts';
import { PHASES, type Phase, WRITING_PHASE } from '../prompts/phase-gates.ts';

/** Which phases a piece of the work goes through, by its role, and where it stands (seed 004). */

const ALL: readonly Phase[] = PHASES;
/** By role; a role that is not named has those of `custom`. */
export const PHASE_PROFILES: Readonly<Record<string, readonly Phase[]>> = {
  frontend: ALL,
  backend: ALL,
  data: ALL,
  docs: [1, 3, 5],
  custom: [3],
};

/** A piece of the work. `role`: in small letters. */
type Subtask = {
  readonly agent: string;
  readonly role: string;
  readonly task: string;
  readonly verification: Verification | null;
};

/** The same as a plan names it. */
export type PlannedSubtask = Pick<Subtask, 'agent' | 'task'> & {
  readonly role?: string | undefined;
  readonly verification?: Verification | null | undefined;
  /** Phases of the profile before it are left out. */
  readonly start_phase?: number | undefined;
  /** And those after it. */
  readonly end_phase?: number | undefined;
};

/** Where the work of an agent stands. */
export type AgentPhases = Subtask & {
  readonly phaseProfile: readonly Phase[];
  readonly currentPhaseIdx: number;
  readonly currentPhase: Phase;
  readonly completed: boolean;
  readonly history: readonly PhaseResult[];
};

export type PhaseResult = {
  readonly round: number;
  readonly phase: Phase;
  readonly pass: boolean;
  readonly feedback: string;
};

/** The work of each subtask at its first phase. Of its profile at least one phase is left (seed: initAgentPhases). */
export function initAgentPhases(subtasks: readonly PlannedSubtask[]): AgentPhases[] {
  return subtasks.map(({ agent, task, role, verification, start_phase, end_phase }) => {
    const name = role?.trim().toLowerCase() || 'custom';
    const phaseProfile = phasesOf(name, start_phase ?? 1, end_phase ?? ALL.length);
    return {
      ...{ agent, task, role: name, verification: verification ?? null, phaseProfile },
      ...{
        currentPhaseIdx: 0,
        currentPhase: phaseProfile[0] ?? WRITING_PHASE,
        completed: false,
        history: [],
      },
    };
  });
}

function phasesOf(role: string, first: number, last: number): readonly Phase[] {
  const profile = (Object.hasOwn(PHASE_PROFILES, role) && PHASE_PROFILES[role]) || [WRITING_PHASE];
  const later = profile.filter((phase) => phase >= first);
  const from = later.length > 0 ? later : profile.slice(-1);
  const kept = from.filter((phase) => phase <= last);
  return kept.length > 0 ? kept : from.slice(0, 1);
}

/** The work after a verdict: as it was unless it passed, else in its next phase, or completed (seed: advancePhase). */
export function advancePhase<T extends AgentPhases>(work: T, passed: boolean): T {
  if (!passed || work.completed) return work;
  const currentPhaseIdx = work.currentPhaseIdx + 1;
  const next = work.phaseProfile[currentPhaseIdx];
  return next === undefined ? { ...work, completed: true } : { ...work, currentPhaseIdx, currentPhase: next };
}
