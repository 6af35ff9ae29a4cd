import type { Happening } from '../clients/claude/transcript.ts';
import type { ReadingPlace, TranscriptSession } from '../clients/claude/transcript-files.ts';
import {
  type Merged,
  MergedTranscripts,
  nothingPassedOver,
  type ReadingBudget,
} from '../clients/claude/transcript-reader.ts';
import type { Environment, StatePaths } from '../core/state-paths.ts';
import type { Db } from '../database/connection.ts';
import type { FullContext, Project } from '../hooks/decision.ts';
import type { HookEvent } from '../hooks/event.ts';
import { decide } from '../hooks/hooks.ts';
import { projectAt } from '../hooks/invocation.ts';
import { HOOK_DELAY_MS_MAX, QUEUED_MS_MAX } from '../hooks/store/record.ts';
import { type Config, loadConfig } from '../settings/hook-settings.ts';
import { loadSkills, type Skill, skillPlaces } from '../suggestions/model/skill-files.ts';
import type { Unreadable } from '../system/files.ts';
import { forgetNamelessCalls, type ImportStep, type ReadFile, writeSteps } from './imports-store.ts';

/** Holds the database for one piece of work, and leaves it to others before the next. */
export type InTurn = <T>(work: () => T) => T;

const REAL_CLOCK = { now: () => performance.now(), sleep: (ms: number): void => Bun.sleepSync(ms) };

/**
 * Shares the database with the hooks, which wait 400 ms for it and look again every few milliseconds, later every 100:
 * a process that holds it for long stretches with nothing between would keep them out. So it is left alone for as long as it
 * was held; what is done meanwhile counts.
 */
export function takingTurns({ now, sleep } = REAL_CLOCK): InTurn {
  let freedMs = 0;
  let heldMs = 0;
  return (work) => {
    const restMs = freedMs + heldMs - now();
    if (restMs > 0) sleep(restMs);
    const startedMs = now();
    try {
      return work();
    } finally {
      freedMs = now();
      heldMs = freedMs - startedMs;
    }
  };
}

export type PastOptions = {
  readonly config: Config;
  readonly env: Environment;
  readonly projectAt: (directory: string) => Project;
};

const NO_PROJECT: Project = { name: 'unknown', path: null, spellings: [] };

/**
 * What a hook would have decided on, had it been called then. Nothing is told to an agent any more, so nothing that is
 * known is looked up for it.
 */
export class PastContexts {
  readonly #options: PastOptions;
  readonly #projects = new Map<string, Project>();
  readonly #skills = new Map<string | null, readonly Skill[]>();

  constructor(options: PastOptions) {
    this.#options = options;
  }

  /** `startedIn`: the directory in which the session was started. */
  contextOf(event: HookEvent, { ts, startedIn }: { ts: string; startedIn: string | undefined }): FullContext {
    const directory = projectDirectory(event.cwd, startedIn);
    const project = directory === undefined ? NO_PROJECT : this.projectOf(directory);
    return {
      config: this.#options.config,
      now: new Date(ts),
      project,
      knowledge: () => undefined,
      skills: () => this.#skillsOf(project.path),
    };
  }

  projectOf(directory: string): Project {
    const known = this.#projects.get(directory) ?? this.#options.projectAt(directory);
    this.#projects.set(directory, known);
    return known;
  }

  #skillsOf(projectPath: string | null): readonly Skill[] {
    const known = this.#skills.get(projectPath) ?? loadSkills(skillPlaces(this.#options.env, projectPath));
    this.#skills.set(projectPath, known);
    return known;
  }
}

/** The hooks are told where the session was started, wherever below that its shell has gone since. */
function projectDirectory(cwd: string | undefined, startedIn: string | undefined): string | undefined {
  if (cwd === undefined || startedIn === undefined) return cwd ?? startedIn;
  const isBelow = cwd.startsWith(startedIn) && /^[\\/]/.test(cwd.slice(startedIn.length));
  return isBelow ? startedIn : cwd;
}

/** How far back the call of a result is looked for, by those who have the time. */
export const LOOK_BACK_BYTES = 8 * 1024 * 1024;

/** How many events are collected before they are written, and how long the database is held at once. */
export type WriteLimits = { readonly events: number; readonly holdMs: number };

/** Hooks wait 400 ms for the database. */
const WRITE_LIMITS: WriteLimits = { events: 256, holdMs: 50 };

type SessionImportOptions = {
  readonly contexts: PastContexts;
  readonly paths: StatePaths;
  readonly now: () => Date;
  readonly inTurn: InTurn;
  readonly budget: ReadingBudget;
  readonly lookBackBytes: number;
  readonly limits?: WriteLimits | undefined;
  readonly onProgress?: (bytesDone: number) => void;
};

/** Reads the transcripts of sessions and writes what is new; holds what has not been written yet, and counts. */
export class SessionImport {
  readonly added: Record<string, number> = {};
  readonly passedOver = nothingPassedOver();
  readonly unreadable: Unreadable[] = [];
  /** Projects of which there are new calls. */
  readonly projects = new Set<string>();
  known = 0;
  analyses = 0;
  #bytesDone = 0;
  readonly #options: SessionImportOptions;
  readonly #db: Db;
  #pending: ImportStep[] = [];

  constructor(options: SessionImportOptions, db: Db) {
    this.#options = options;
    this.#db = db;
  }

  /** Reads what is new of a session; returns what was read, or undefined for a session of our own analysis. */
  take({ files, outline }: TranscriptSession): MergedTranscripts | undefined {
    if (outline.isAnalysis) {
      this.analyses++;
      // Done with, although nothing of them is recorded.
      for (const { path, head, bytes } of files)
        this.keep([{ read: { path, head, bytesDone: bytes, bytesSeen: bytes, fileBytes: bytes } }]);
      return undefined;
    }
    const { passedOver, unreadable } = this;
    const { budget, lookBackBytes, contexts } = this.#options;
    const transcripts = new MergedTranscripts(files, { budget, lookBackBytes, passedOver, unreadable });
    const ends = new Map(files.map((file) => [file.path, file.from]));
    for (const { from, isWithinLine, owner } of files) {
      if (from === 0 && !isWithinLine && owner.agentId === null)
        forgetNamelessCalls(owner.sessionId, this.#db);
    }
    for (const merged of transcripts.read()) {
      this.#bytesDone += merged.end - (ends.get(merged.file.path) ?? 0);
      ends.set(merged.file.path, merged.end);
      this.keep(stepsOf(merged, outline.directory, contexts));
    }
    return transcripts;
  }

  /** Writes what is pending, in as many transactions as it takes. Throws what SQLite throws. */
  write(): void {
    const { inTurn, now, paths, limits = WRITE_LIMITS, onProgress } = this.#options;
    while (this.#pending.length > 0) {
      const options = { now: now(), paths, budgetMs: limits.holdMs };
      const written = inTurn(() => writeSteps(this.#pending, options, this.#db));
      this.#pending = this.#pending.slice(written.steps);
      onProgress?.(this.#bytesDone);
      this.known += written.known;
      for (const project of written.projects) this.projects.add(project);
      for (const [type, count] of Object.entries(written.added))
        this.added[type] = (this.added[type] ?? 0) + count;
    }
  }

  /** Takes what is to be written, and writes when it is much. Throws what SQLite throws. */
  keep(steps: readonly ImportStep[]): void {
    this.#pending.push(...steps);
    const { limits = WRITE_LIMITS } = this.#options;
    if (this.#pending.length >= limits.events) this.write();
  }
}

/**
 * What is to be written of the next events of a session. The line is done with when the last of its events is.
 * `startedIn`: where the session was started.
 */
function stepsOf(
  { file, step, place }: Merged,
  startedIn: string | undefined,
  contexts: PastContexts,
): ImportStep[] {
  const { path, head, bytes: fileBytes, isWithinLine } = file;
  const readUntil = (place: ReadingPlace): ReadFile | undefined =>
    isWithinLine ? undefined : { path, head, fileBytes: Math.max(fileBytes, place.bytesSeen), ...place };
  if (step === undefined) return [{ read: readUntil(place) }];
  return step.events.map((past, index) => {
    const read = readUntil(index === step.events.length - 1 ? step.after : step.before);
    return pastStep(past, { startedIn, contexts, read });
  });
}

type PastEvent = Extract<Happening, { kind: 'event' }>;
/** `startedIn`: where the session was started. `read`: how far its file has been read with it. */
type PastPlace = Pick<ImportStep, 'read'> & {
  readonly startedIn: string | undefined;
  readonly contexts: PastContexts;
};

/** What is to be written of an event: what its hook would have recorded, by its own decision. */
export function pastStep(
  { ts, event, isQueued }: PastEvent,
  { startedIn, contexts, read }: PastPlace,
): ImportStep {
  const recording = decide(event, contexts.contextOf(event, { ts, startedIn })).recording;
  const delayMsMax = isQueued ? QUEUED_MS_MAX : HOOK_DELAY_MS_MAX;
  return { read, ...(recording && { recording, delayMsMax }) };
}

type SessionReading = {
  readonly paths: StatePaths;
  readonly env: Environment;
  readonly now: Date;
  readonly budget: ReadingBudget;
  /** Nobody waits: it takes turns with those who record, and looks far back for the call of a result. */
  readonly isThorough: boolean;
};

export type ReadSession = {
  readonly transcripts: MergedTranscripts | undefined;
  /** Of which something was recorded. */
  readonly projects: ReadonlySet<string>;
};

/** Records what the files of one session have; returns what was read. Throws what SQLite throws. */
export function readSession(
  session: TranscriptSession,
  { paths, env, now, budget, isThorough }: SessionReading,
  db: Db,
): ReadSession {
  const past = {
    config: loadConfig(paths),
    env,
    projectAt: (directory: string) => projectAt(directory, env),
  };
  const inTurn: InTurn = isThorough ? takingTurns() : (work) => work();
  const lookBackBytes = isThorough ? LOOK_BACK_BYTES : 0;
  const contexts = new PastContexts(past);
  const reading = new SessionImport({ contexts, paths, now: () => now, inTurn, budget, lookBackBytes }, db);
  const transcripts = reading.take(session);
  reading.write();
  return { transcripts, projects: reading.projects };
}
