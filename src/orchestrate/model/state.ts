import type { Run } from '../../runs/model/run.ts';
import type { Turn } from '../../runs/model/turn.ts';
import type {
  ChangesFact,
  EndedFact,
  Facts,
  LayoutFact,
  MergeFact,
  OrchestrationEnd,
  OrchestrationOptions,
  PlanFact,
  TriageFact,
  VerdictFact,
} from './facts.ts';
import type { AgentPhases } from './phases.ts';
import type { Verdict } from './verdict.ts';

/** An orchestration as it stands: made of its row, its facts and its runs by replay(), and of nothing else. */

/** The row. */
export type Orchestration = {
  readonly id: string;
  /** From 1 on, among those of its requester. */
  readonly number: number;
  readonly requester: string;
  readonly session: string | null;
  readonly client: string | null;
  readonly cwd: string;
  readonly prompt: string;
  readonly options: OrchestrationOptions;
  readonly state: OrchestrationEnd;
  readonly createdAtMs: number;
  readonly endedAtMs: number | null;
};

/** One time that a part was asked, from 1 on: a turn, or why there is none. */
export type Asked = { readonly key: string; readonly nth: number } & (
  | { readonly kind: 'turn'; readonly run: Run; readonly turn: Turn }
  | { readonly kind: 'refused'; readonly error: string }
);

/** One try of a phase, with its verdict when there is one. */
export type Attempt = {
  readonly round: number;
  readonly phase: AgentPhases['currentPhase'];
  /** From 1 on, in this phase. */
  readonly number: number;
  /** The part, and how often that was asked with this attempt. */
  readonly key: string;
  readonly nth: number;
  /** Null: not yet. */
  readonly asked: Asked | null;
  readonly changes: ChangesFact | null;
  readonly verdict: Verdict | null;
};

/** The work of one of the team. */
export type Work = AgentPhases & {
  /** `held`: it passed, and its changes wait to be brought in with those of others; `given up`: see `reason`. */
  readonly status: 'waiting' | 'working' | 'held' | 'done' | 'given up';
  readonly reason: string | null;
  /** It works beside others, in a working tree of its own. */
  readonly isParallel: boolean;
  /** In their order, all phases. */
  readonly attempts: readonly Attempt[];
  readonly merge: MergeFact | null;
  /** How often its phase was tried in vain since it began, or was continued. */
  readonly tries: number;
};

export type OrchestrationState = Orchestration & {
  readonly facts: Facts;
  /** How often it was continued after an end or a stop. */
  readonly epoch: number;
  /** Each part with all that was asked of it, in order. */
  readonly asked: ReadonlyMap<string, readonly Asked[]>;
  /** How often each part had been asked when it was last continued. */
  readonly askedBefore: Readonly<Record<string, number>>;
  /** `KEY NTH` of what came to nothing, and is asked for anew since it was continued. */
  readonly dropped: ReadonlySet<string>;
  readonly triage: TriageFact | null;
  readonly plan: PlanFact | null;
  readonly layout: LayoutFact | null;
  readonly works: readonly Work[];
  /** After which round, and for which time, changes are being brought in; null: not now. */
  readonly settling: { readonly round: number; readonly pass: number } | null;
  /** Of each round that has some. */
  readonly verdicts: readonly VerdictFact[];
  /** Who has asked for its end. */
  readonly stop: string | null;
  readonly ended: EndedFact | null;
};
