/** What a run is a part of, when it is no sub-agent of its requester. */
export type Part =
  /** A session that a worker of a pool was asked for; `id`: of the first of its turns there. `name`: `session`. */
  | { readonly kind: 'pool'; readonly id: string; readonly name: string }
  /** `name`: the number of a session of the conversation, or `memory.N`. */
  | { readonly kind: 'conversation'; readonly id: string; readonly name: string }
  /** `name`: `triage`, `plan`, `work.AGENT.PHASE`, `review.N`, `summary`. */
  | { readonly kind: 'orchestration'; readonly id: string; readonly name: string };

/** All parts of one conversation or orchestration. */
export type Whole = Pick<Part, 'kind' | 'id'>;

const PART = /^(conversation|orchestration|pool) ([\w-]{1,64}) ([\w.-]{1,128})$/;

/** The part as it is stored: there is one run for it. @throws Error when its id or name has other characters than words have */
export function partKey({ kind, id, name }: Part): string {
  const key = `${kind} ${id} ${name}`;
  if (!PART.test(key))
    throw new Error(`Cannot name the part "${key}": an id and a name have letters, digits, - and _`);
  return key;
}

/** The part that is stored so; undefined when it is none. */
export function partOf(key: string): Part | undefined {
  const [, kind, id, name] = PART.exec(key) ?? [];
  return kind === undefined ? undefined : ({ kind, id, name } as Part);
}

const OF_MEMORY = 'memory.';

/** Of the turns of one line one is at work at a time: those of a run, or of all sessions of a conversation. */
export function lineOf(runId: string, part: Part | null): string {
  return part !== null && isSession(part) ? `${part.kind} ${part.id}` : runId;
}

/** Whether the part is a session of a conversation, in which its user is answered. */
export function isSession({ kind, name }: Part): boolean {
  return kind === 'conversation' && !name.startsWith(OF_MEMORY);
}
