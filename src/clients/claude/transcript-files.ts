import { isRecord, lookOr, parseJson, readString, reasonOf } from '../../core/guards.ts';
import { fingerprint } from '../../core/text.ts';
import { ANALYSIS_MARK } from '../../core/told-texts.ts';
import { type FoundFile, findFiles } from '../../system/files.ts';
import { LineReader, readFirstLine } from '../../system/lines.ts';
import { readTextFile } from '../../system/runtime-bun.ts';
import { OpenCalls, readEntry, type TranscriptOwner, timeOf } from './transcript.ts';

/** A transcript that has something new. */
export type TranscriptFile = {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
  /** By what it is recognised when it is met again. */
  readonly head: string;
  /** Where the reading begins, and up to where somebody has looked before. */
  readonly from: number;
  readonly seen: number;
  /** `from` is anywhere in a line, and what is read does not count for the place. */
  readonly isWithinLine?: true;
  readonly owner: TranscriptOwner;
};

/** A session: its own transcript and those of its sub-agents, as far as they have something new. */
export type TranscriptSession = {
  readonly outline: TranscriptOutline;
  /** The session's own one first. */
  readonly files: readonly TranscriptFile[];
};

/** What the first lines of a session's transcript say about the whole. */
type TranscriptOutline = {
  /** Empty when no entry has a time. */
  readonly firstTs: string;
  /** Where the session was started. */
  readonly directory: string | undefined;
  readonly sessionId: string | undefined;
  /** Our own analysis started it: nobody has worked there. */
  readonly isAnalysis: boolean;
};

/** How far a transcript has been read. */
export type ReadingPlace = {
  /** Where the next reading begins: the line of a call without a result, or the end of what was looked at. */
  readonly bytesDone: number;
  /** Up to where it has been looked at. */
  readonly bytesSeen: number;
};

/** `head`: by what the file is recognised, how it begins. */
export type TranscriptPlace = ReadingPlace & { readonly head: string };

/** `isElsewhere`: the place is known under another path, so that the file was moved or copied since. */
export type FileProgress = TranscriptPlace & { readonly isElsewhere?: true };

/** How far a file has been read; undefined for one that is not known. */
export type ProgressOf = (path: string, head: string) => FileProgress | undefined;

/** A session by its own transcript, and what else belongs to it. */
type SessionPlace = {
  /** The session's own transcript, whether it is there or not. */
  readonly main: string;
  /** One of a sub-agent that may lie elsewhere than they all do. */
  readonly agent?: string | undefined;
  /** Whether there is anything in a file to be read now. */
  readonly isWanted: (file: FoundFile) => boolean;
  readonly onUnreadable: (path: string, reason: string) => void;
};

/** The transcripts of one session that have something new; undefined when none has. Never throws for a single file. */
export function findSession(
  { main, agent, ...place }: SessionPlace,
  progressOf: ProgressOf,
): TranscriptSession | undefined {
  const files = sessionFiles(main, agent).flatMap((file) => placedFile(file, { ...place, progressOf }));
  return files.length === 0 ? undefined : sessionOf(main, files);
}

function sessionFiles(main: string, agent: string | undefined): FoundFile[] {
  const below = `${main.replace(/\.jsonl$/, '')}${main.includes('\\') ? '\\' : '/'}subagents`;
  const agents = findFiles(below, '.jsonl').files;
  const files = new Map(agents.map((file) => [file.path, file]));
  // Under the name that the hooks are given, by which they look for its place.
  const named = [main, ...(agent === undefined ? [] : [agent])];
  for (const path of named) {
    const [found] = findFiles(path, '.jsonl').files;
    if (found !== undefined && (path === main || !files.has(found.path)))
      files.set(found.path, { ...found, path });
  }
  return [...files.values()];
}

const HEAD_BYTES_MAX = 64 * 1024;
const DECODER = new TextDecoder();

type Placing = Pick<SessionPlace, 'isWanted' | 'onUnreadable'> & { readonly progressOf: ProgressOf };

/** The file with its place; none where there is no line, or none of it is wanted. */
export function placedFile(
  file: FoundFile,
  { progressOf, isWanted, onUnreadable }: Placing,
): TranscriptFile[] {
  try {
    if (!isWanted(file) || file.bytes === 0) return [];
    const firstLine = readFirstLine(file.path, HEAD_BYTES_MAX);
    if (firstLine === undefined) return [];
    const head = fingerprint(DECODER.decode(firstLine));
    const place = placeOf(file, progressOf(file.path, head), head);
    return [{ ...file, head, ...place, owner: ownerOf(file.path) }];
  } catch (error) {
    onUnreadable(file.path, reasonOf(error)); // Gone meanwhile, or not for us.
    return [];
  }
}

/** One that became shorter was written anew, unless it is a copy: then it was made before the other went on. */
function placeOf({ bytes }: FoundFile, known: FileProgress | undefined, head: string) {
  const isKnown = known?.head === head;
  if (isKnown && known.bytesSeen <= bytes) return { from: known.bytesDone, seen: known.bytesSeen };
  if (isKnown && known.isElsewhere) return { from: Math.min(known.bytesDone, bytes), seen: bytes };
  return { from: 0, seen: 0 };
}

/** `<project>/<session>/subagents/…/agent-<id>.jsonl`, in older versions `<project>/agent-<id>.jsonl`. */
const AGENT_FILE = /^(.*)[\\/]([^\\/]+)[\\/]subagents[\\/](?:.*[\\/])?agent-([^\\/]+)\.jsonl$/;
const OLD_AGENT_FILE = /^(.*)[\\/]agent-([^\\/]+)\.jsonl$/;

function ownerOf(path: string): TranscriptOwner {
  const [, , session, agent] = AGENT_FILE.exec(path) ?? [];
  if (session !== undefined && agent !== undefined) return agentOwner(path, session, agent);
  const [, , oldAgent] = OLD_AGENT_FILE.exec(path) ?? [];
  if (oldAgent !== undefined) return agentOwner(path, outlineOf(path)?.sessionId ?? 'unknown', oldAgent);
  return { sessionId: /([^\\/]+)\.jsonl$/.exec(path)?.[1] ?? 'unknown', agentId: null, agentType: null };
}

function agentOwner(path: string, sessionId: string, agentId: string): TranscriptOwner {
  const meta = parseJson(readTextFile(path.replace(/\.jsonl$/, '.meta.json')) ?? '');
  const agentType = isRecord(meta) ? readString(meta, 'agentType') : undefined;
  // The client's own helpers, which compact a conversation for example, have words in their ids and no type.
  const isHelper = agentType === undefined && !/^[0-9a-f]+$/.test(agentId);
  return { sessionId, agentId, agentType: isHelper ? '' : (agentType ?? null) };
}

/** The transcript of the session that this one belongs to, whether it is there or not. */
export function mainOf({ path, owner }: TranscriptFile): string {
  if (owner.agentId === null) return path;
  const [, directory = ''] = AGENT_FILE.exec(path) ?? OLD_AGENT_FILE.exec(path) ?? [];
  const separator = path.charAt(directory.length);
  return `${directory}${separator}${owner.sessionId}.jsonl`;
}

/** The files of one session, its own transcript, which is `main`, first. */
export function sessionOf(main: string, group: readonly TranscriptFile[]): TranscriptSession {
  const isOther = ({ path }: TranscriptFile) => Number(path !== main);
  const files = group.toSorted(
    (one, other) => isOther(one) - isOther(other) || compare(one.path, other.path),
  );
  return { files, outline: outlineOf(main) ?? outlineOf(files[0]?.path ?? main) ?? NO_OUTLINE };
}

const OUTLINE_LINES_MAX = 200;
const OUTLINE_BYTES_MAX = 4 * 1024 * 1024;
/** The mark stands at the beginning of the prompt, which in turn stands at the beginning of the session. */
const MARK_WITHIN = 100;

const NO_OUTLINE = { firstTs: '', directory: undefined, sessionId: undefined, isAnalysis: false };

/** Reads until the first prompt; undefined when the file cannot be read. */
function outlineOf(path: string): TranscriptOutline | undefined {
  return lookOr(() => {
    const reader = new LineReader(path, { chunkBytes: HEAD_BYTES_MAX, lineBytesMax: OUTLINE_BYTES_MAX });
    try {
      return readOutline(reader);
    } finally {
      reader.close();
    }
  }, undefined); // Not there, or not for us: the import itself meets the reason and reports it.
}

const SOMEBODY: TranscriptOwner = { sessionId: '', agentId: null, agentType: null };

function readOutline(reader: LineReader): TranscriptOutline {
  let found: TranscriptOutline = NO_OUTLINE;
  for (let count = 0; count < OUTLINE_LINES_MAX; count++) {
    const line = reader.next();
    if (line === undefined || line.start > OUTLINE_BYTES_MAX) break;
    const entry = line.kind === 'line' ? parseJson(DECODER.decode(line.bytes)) : undefined;
    if (!isRecord(entry)) continue;
    found = {
      firstTs: found.firstTs || (timeOf(entry) ?? ''),
      directory: found.directory || readString(entry, 'cwd'),
      sessionId: found.sessionId || readString(entry, 'sessionId'),
      isAnalysis: false,
    };
    const [first] = readEntry(entry, SOMEBODY, new OpenCalls());
    if (first?.kind === 'event' && first.event.name === 'UserPromptSubmit')
      return { ...found, isAnalysis: first.event.prompt.slice(0, MARK_WITHIN).includes(ANALYSIS_MARK) };
  }
  return found;
}

/** Less than, equal to or greater than 0, as sort() wants it. */
export function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
