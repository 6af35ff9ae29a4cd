import { readFileSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { collectGarbage } from '#runtime';
import type { Client } from '../clients/client.ts';
import { CLIENTS, clientNamed } from '../clients/clients.ts';
import type { CallChange, ExportedSession, SessionHead } from '../clients/session-format.ts';
import type { ClientName } from '../core/client-name.ts';
import { isRecord, type Json, lookOr, parseJson, readRecord, readRecords } from '../core/guards.ts';
import type { Environment } from '../core/state-paths.ts';
import { withOpenFile } from '../system/files.ts';
import { LineReader } from '../system/lines.ts';

/** A session as it is written down, in a file or in its client's store: read record by record, and copied with other calls. */
export type SessionSource = {
  readonly client: Client;
  readonly head: SessionHead;
  /** `onShare`: is told how much of it has been read, from 0 to 1, where its size is known. */
  readonly records: (onShare: OnShare) => Iterable<Json>;
  /** Writes a copy in the client's own format into the open file; a line of which no call is changed byte for byte. */
  readonly copy: (file: number, change: CallChange, onShare: OnShare) => void;
};

export type OnShare = (share?: number) => void;

/** Why there is no session to work on. */
export type NoSource = {
  readonly kind: 'not-found' | 'no-file' | 'unclear' | 'sub-agent';
  readonly reason: string;
};

/** So far into a file the client is looked for by its records. */
const LOOKED_AT_BYTES = 8 * 1024 * 1024;
const LINE_BYTES_MAX = 32 * 1024 * 1024;
/** A document is held in memory as a whole. */
const DOCUMENT_BYTES_MAX = 128 * 1024 * 1024;

/** The session in a file: of the client that is named, else of the one whose records these are. */
export function sourceInFile(path: string, named: ClientName | undefined): SessionSource | NoSource {
  const file = lookOr(() => statSync(path), undefined);
  if (file === undefined) return { kind: 'not-found', reason: 'there is no such file' };
  if (!file.isFile()) return { kind: 'no-file', reason: 'it is no regular file' };
  if (file.size === 0) return { kind: 'no-file', reason: 'it is empty' };
  const clients = Object.values(CLIENTS).filter(({ name }) => named === undefined || name === named);
  for (const { record, end } of linesOf(path)) {
    const found = isRecord(record) ? foundIn(record, clients) : undefined;
    if (found !== undefined) return ofMain(sourceOfLines(path, found));
    if (end > LOOKED_AT_BYTES) break;
  }
  const document = clients.find(({ sessions }) => sessions.format.exported !== undefined);
  const isSmall = file.size <= DOCUMENT_BYTES_MAX;
  if (document !== undefined && isSmall) {
    const exported = exportedIn(path);
    const found = exported && foundIn(exported.info, [document]);
    if (exported !== undefined && found !== undefined) return ofMain(sourceOfExport(() => exported, found));
  }
  if (!isSmall && document !== undefined)
    return {
      kind: 'unclear',
      reason: 'a document of more than 128 MiB is not read: name its session instead',
    };
  const whose = named === undefined ? 'any client' : clientNamed(named).title;
  return { kind: 'unclear', reason: `nothing in it shows that it is a session of ${whose}` };
}

/** The session with this id in the store of the client, or of any. */
export function sourceInStore(
  id: string,
  named: ClientName | undefined,
  env: Environment,
): SessionSource | NoSource {
  const clients = Object.values(CLIENTS).filter(({ name }) => named === undefined || name === named);
  for (const client of clients) {
    const session = client.sessions.withId(id, env);
    if (session === undefined) continue;
    const { exported } = client.sessions.format;
    if (exported === undefined) return sourceInFile(session.path, client.name);
    const found = foundIn(exported(session).info, [client]);
    if (found !== undefined) return ofMain(sourceOfExport(() => exported(session), found));
  }
  const whose = named === undefined ? 'no client' : clientNamed(named).title;
  return {
    kind: 'not-found',
    reason: `${whose} has ${named === undefined ? 'a' : 'no'} session with this id`,
  };
}

/**
 * Writes the copy into a new file, for this user alone. @throws Error from the system, also where there is a file
 * already; nothing is left behind then.
 */
export function writeCopy(source: SessionSource, change: CallChange, target: string, onShare: OnShare): void {
  collectGarbage(); // All results of the session have been in memory to decide on them.
  withOpenFile(target, 'wx', (file) => {
    try {
      source.copy(file, change, onShare);
    } catch (error) {
      rmSync(target, { force: true });
      throw error;
    }
  });
}

type Found = Pick<SessionSource, 'client' | 'head'>;

function foundIn(record: Json, clients: readonly Client[]): Found | undefined {
  for (const client of clients) {
    const head = client.sessions.format.headIn(record);
    if (head !== undefined) return { client, head };
  }
  return undefined;
}

function ofMain(source: SessionSource): SessionSource | NoSource {
  if (!source.head.isOfAgent) return source;
  return { kind: 'sub-agent', reason: 'it is the session of a sub-agent, from which nothing is taken' };
}

function sourceOfLines(path: string, found: Found): SessionSource {
  const { format } = found.client.sessions;
  const { size } = statSync(path);
  return {
    ...found,
    *records(onShare) {
      for (const { record, end } of linesOf(path)) {
        if (isRecord(record)) yield record;
        onShare(end / size);
      }
    },
    copy(file, change, onShare) {
      withOpenFile(path, 'r', (original) => {
        let copied = 0;
        for (const { record, start, end, isEnded } of linesOf(path)) {
          onShare(end / size);
          const changed = isRecord(record) ? format.withCalls(record, change) : record;
          if (changed === record) continue;
          copyBytes(original, file, copied, start);
          writeFileSync(file, JSON.stringify(changed) + (isEnded ? '\n' : ''));
          copied = end;
        }
        copyBytes(original, file, copied, statSync(path).size);
      });
    },
  };
}

type FileLine = {
  /** Undefined where the line is no JSON, or too long to be looked into. */
  readonly record: unknown;
  readonly start: number;
  readonly end: number;
  readonly isEnded: boolean;
};

const DECODER = new TextDecoder();

function* linesOf(path: string): Generator<FileLine> {
  const reader = new LineReader(path, { lineBytesMax: LINE_BYTES_MAX });
  try {
    for (let line = reader.next(); line !== undefined; line = reader.next()) {
      const { start, end, isEnded } = line;
      const record = line.kind === 'line' ? parseJson(DECODER.decode(line.bytes)) : undefined;
      yield { record, start, end, isEnded };
    }
  } finally {
    reader.close();
  }
}

const CHUNK_BYTES = 1024 * 1024;

function copyBytes(from: number, to: number, start: number, end: number): void {
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(0, end - start)));
  for (let at = start; at < end; ) {
    const length = readSync(from, chunk, 0, Math.min(chunk.length, end - at), at);
    if (length === 0) throw new Error('the session has become shorter while it was copied');
    writeFileSync(to, chunk.subarray(0, length));
    at += length;
  }
}

/** An export, a whole document. */
function exportedIn(path: string): ExportedSession | undefined {
  const document = parseJson(readFileSync(path, 'utf8'));
  if (!isRecord(document) || !Array.isArray(document.messages)) return undefined;
  return { info: readRecord(document, 'info'), messages: readRecords(document.messages) };
}

function sourceOfExport(exported: () => ExportedSession, found: Found): SessionSource {
  const { withCalls } = found.client.sessions.format;
  return {
    ...found,
    *records(onShare) {
      const { info, messages } = exported();
      yield info;
      for (const message of messages) {
        yield message;
        onShare();
      }
    },
    copy(file, change, onShare) {
      const { info, messages } = exported();
      const indented = (value: unknown, by: string) =>
        JSON.stringify(value, null, 2).replaceAll('\n', `\n${by}`);
      writeFileSync(file, `{\n  "info": ${indented(info, '  ')},\n  "messages": [`);
      let between = '\n';
      for (const message of messages) {
        writeFileSync(file, `${between}    ${indented(withCalls(message, change), '    ')}`);
        between = ',\n';
        onShare();
      }
      writeFileSync(file, between === '\n' ? ']\n}\n' : '\n  ]\n}\n');
    },
  };
}
