import type { Employee } from '../../conversation/prompts/system.ts';
import type { Language } from '../../core/told-texts.ts';
import type { CommandRun } from '../../runs/context/commands-run.ts';
import type { PlannedWork } from './plan.ts';
import type { Verdict } from './verdict.ts';

/**
 * What is written down of an orchestration beside its runs: each fact once, under a name. Whoever asks for one that is
 * there gets the one that is there. `EPOCH` is how often the orchestration was continued.
 */

/** What is fixed when an orchestration begins. */
export type OrchestrationOptions = {
  readonly mode: 'auto' | 'pipeline';
  readonly language: Language;
  /** The agents of the settings with a role; never empty. */
  readonly team: readonly TeamMember[];
  /** How often each phase of the work may be tried. */
  readonly attempts: number;
  /** What the person who asks lets employees do besides. */
  readonly permissions: readonly string[];
};

/** `agentId`: its id in `agents.list`; null: the agent that asks. */
export type TeamMember = Employee & { readonly agentId: string | null };

/** How it was decided who does it. */
export type TriageFact = {
  readonly label: 'direct' | 'single' | 'team';
  readonly by: string;
  readonly evidence: string;
};

export type PlanFact =
  | { readonly kind: 'work'; readonly subtasks: readonly PlannedWork[]; readonly text: string }
  | { readonly kind: 'answer'; readonly text: string };

/** Who works at the same time, or why nobody does. `tree`: what the project was like then, as git names a tree. */
export type LayoutFact = {
  readonly parallel: readonly string[];
  readonly reason: string | null;
  readonly tree: string | null;
};

/** What the project is like, and the branch and commit that it is at. Null: git cannot say. */
export type TreeFact = { readonly tree: string | null; readonly head: string | null };

/**
 * What an attempt has done, and how it has left the project. `patch`: cut, without secrets. `report`: the file with all of what
 * it said. `moved`: the branch and commit before and after, where these are others; null: they are not.
 */
export type ChangesFact = TreeFact & {
  readonly moved: string | null;
  readonly files: readonly string[];
  readonly patch: string;
  readonly commands: readonly CommandRun[];
  readonly report: string | null;
};

/** Why something could not be asked for at all. */
export type RefusedFact = { readonly error: string };

export type VerdictFact = {
  readonly verdicts: readonly Verdict[];
  readonly allDone: boolean;
  readonly summary: string;
  readonly problems: readonly string[];
};

/** Whose changes cannot be brought together: of what was changed, what somebody else has changed as well. */
export type OverlapFact = {
  readonly held: readonly {
    readonly agent: string;
    readonly files: readonly string[];
    /** Agents, and `the project` for what was changed there meanwhile. */
    readonly with: readonly string[];
  }[];
};

export type MergeFact = {
  readonly kind: 'merged' | 'nothing' | 'failed';
  readonly files: readonly string[];
  /** Why it failed, or what would be lost with its working tree, which stays then; null: nothing. */
  readonly reason: string | null;
};

export type StopFact = { readonly by: string };

/**
 * `round`: the last one with verdicts; `asked`: how often each part had been asked by then; `dropped`: of each part, which of
 * these came to nothing in a round without verdicts, as one for which there was no budget.
 */
export type ContinuedFact = {
  readonly round: number;
  readonly asked: Readonly<Record<string, number>>;
  readonly dropped: Readonly<Record<string, number>>;
};

export type EndedFact = {
  readonly state: Exclude<OrchestrationEnd, 'open'>;
  /** What the user is told: the summary, the answer, or what went wrong. */
  readonly text: string;
};

export type OrchestrationEnd = 'open' | 'done' | 'partial' | 'failed' | 'stopped' | 'answered';

/** The value of each fact, by the pattern of its name. `KEY` names a part, `N` how often that was asked. */
export type Fact =
  | { readonly name: 'triage'; readonly value: TriageFact }
  | { readonly name: 'plan'; readonly value: PlanFact }
  | { readonly name: 'layout'; readonly value: LayoutFact }
  | { readonly name: `before.${string}`; readonly value: TreeFact }
  | { readonly name: `changes.${string}`; readonly value: ChangesFact }
  | { readonly name: `refused.${string}`; readonly value: RefusedFact }
  | { readonly name: `verdict.${number}`; readonly value: VerdictFact }
  | { readonly name: `overlap.${number}`; readonly value: OverlapFact }
  | { readonly name: `merge.${number}.${number}.${string}`; readonly value: MergeFact }
  | { readonly name: `stop.${number}`; readonly value: StopFact }
  | { readonly name: `continued.${number}`; readonly value: ContinuedFact }
  | { readonly name: `ended.${number}`; readonly value: EndedFact };

/** Facts by their names, of which this program has written every one. */
export class Facts {
  readonly #byName: ReadonlyMap<string, unknown>;

  constructor(facts: Iterable<{ readonly name: string; readonly value: unknown }>) {
    this.#byName = new Map(Array.from(facts, ({ name, value }) => [name, value]));
  }

  get<N extends Fact['name']>(name: N): FactOf<N> | null {
    return (this.#byName.get(name) as FactOf<N> | undefined) ?? null;
  }
}

type FactOf<N> = Fact extends infer F
  ? F extends Fact
    ? N extends F['name']
      ? F['value']
      : never
    : never
  : never;
