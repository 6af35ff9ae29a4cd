import { statSync } from 'node:fs';
import { geminiCommandEnd } from '../../core/gemini-command.ts';
import {
  isRecord,
  type Json,
  lookOr,
  parseJson,
  readRecord,
  readRecords,
  readString,
} from '../../core/guards.ts';
import { NO_USAGE, type Usage } from '../../runs/model/turn.ts';
import { realPath } from '../../system/atomic-file.ts';
import { readTail } from '../../system/lines.ts';
import type { AgentEvent, ExitCodes } from '../client.ts';
import { cutWord, mainModel, readAmount, StreamReader, textAt, usageIn, wordAt } from '../reading.ts';

/** The command as which a prompt goes in; the client says it again, with the prompt. */
export const MESSAGE_COMMAND = 'self-generation-message';

/**
 * The client replaces `@path` by the file, also in a prompt that it reads from its input. With an invisible character
 * between the two there is no such file; the model reads over it, and what it copies is taken out again.
 */
const JOINER = '\u2060';

/** A prompt in which the client finds no file to put in. */
export function withJoiners(prompt: string): string {
  return prompt.replaceAll('@', `@${JOINER}`);
}

/**
 * What Gemini CLI says of a turn, one JSON object on each line (`--output-format stream-json`). Not in it: what the model
 * thinks; attempts after which the client tries again. The statistics are those of the turn, all models together.
 */
export class GeminiReader extends StreamReader {
  /** Pieces of one message follow each other; anything else ends it. */
  #isSaying = false;
  /** Why the client stopped the model, if it did: the result calls that a success. */
  #stopped: string | null = null;

  /** What the client writes there at every start is no complaint. */
  protected override atEnd(stderr: string): string {
    this.problem ??= complaintOf(stderr);
    this.isModelRefused ||= this.verdict === 'error' && isAboutModel(this.problem ?? '');
    if (this.start.session.kind === 'once') this.text = this.text?.replaceAll(`@${JOINER}`, '@') ?? null;
    return '';
  }

  protected step(line: Json): readonly AgentEvent[] {
    const wasSaying = this.#isSaying;
    this.#isSaying = false;
    return this.byType(line.type, {
      init: () => {
        const model = readString(line, 'model') ?? 'auto'; // The client chooses for each question anew.
        return this.begin(readString(line, 'session_id'), model.startsWith('auto') ? null : model);
      },
      message: () => this.#message(line, wasSaying),
      tool_use: () => {
        this.hasWorked = true;
        const [id, tool] = [wordAt(line, 'tool_id'), wordAt(line, 'tool_name')];
        return [{ kind: 'tool-call', id, tool, input: readRecord(line, 'parameters') }];
      },
      // A command that fails is no error to the client, and its exit code is not told.
      tool_result: () => {
        const text = readString(line, 'output') ?? textAt(readRecord(line, 'error'), 'message');
        const isError = line.status === 'error';
        return [{ kind: 'tool-result', id: wordAt(line, 'tool_id'), tool: null, isError, text }];
      },
      error: () => this.#error(line),
      result: () => this.#result(line),
    });
  }

  #message(line: Json, wasSaying: boolean): AgentEvent[] {
    const text = textAt(line, 'content');
    if (line.role === 'user') {
      // The turn's own prompt is known already.
      return text.startsWith(`/${MESSAGE_COMMAND}\n`) ? [] : [{ kind: 'user', text }];
    }
    const isPiece = line.delta === true;
    this.#isSaying = text === '' ? wasSaying : isPiece;
    if (text === '') return [];
    this.say(text, isPiece && wasSaying);
    return [{ kind: 'text', text, isPiece }];
  }

  /** Some are warnings, some end the turn: of the latter the result says so as well, except for an end by the client itself. */
  #error(line: Json): AgentEvent[] {
    const text = cutWord(readString(line, 'message') ?? 'the client gives a warning');
    this.problem = text;
    if (/^(?:Loop detected|Maximum session turns|Agent execution)/.test(text)) this.#stopped = text;
    return this.warn(text);
  }

  #result(line: Json): AgentEvent[] {
    this.usage = usageOf(readRecord(line, 'stats'));
    const isError = line.status !== 'success' || this.#stopped !== null;
    const said = readString(readRecord(line, 'error'), 'message')?.replace(/^\[API Error: (.*)\]$/s, '$1');
    const problem = isError ? cutWord(this.#stopped ?? said ?? this.problem ?? 'the turn failed') : null;
    return [{ kind: 'usage', usage: this.usage }, this.end(problem)];
  }
}

/** Thoughts are in the total alone. After an error of the service all is 0, whatever was used before. */
function usageOf(stats: Json): Usage {
  const total = readAmount(stats, 'total_tokens');
  if (total === null || total === 0) return NO_USAGE;
  const { outputTokens: answer, ...usage } = usageIn(stats, ['input_tokens', 'output_tokens', 'cached']);
  const rest = usage.inputTokens === null ? null : total - usage.inputTokens;
  const outputTokens = rest === null || (answer !== null && answer > rest) ? answer : rest;
  return { ...usage, outputTokens, model: mainModel(readRecord(stats, 'models'), 'output_tokens') };
}

/** What the client says to a person before it ends without a result, between notices of all kinds. */
function complaintOf(stderr: string): string | null {
  const lines = stderr.split('\n');
  const complaint = /^(?:Error(?! executing tool)|Please|Invalid|Unknown|No input|When using)\b/;
  const said = lines.findLast((line) => complaint.test(line));
  return said === undefined ? null : cutWord(said);
}

/** In the words of the service: `no such model`, `models/x is not found for API version v1beta`. */
function isAboutModel(message: string): boolean {
  const refusal = /not found|no such|not supported|does not exist|unknown/i;
  return /\bmodels?\b/i.test(message) && refusal.test(message);
}

/** Exit codes of Gemini CLI's commands, by the conversation in the run's home: its output does not say them. */

/** Of the end of each conversation. */
const READ_BYTES_MAX = 4 * 1024 * 1024;
const CONVERSATIONS_MAX = 4;
const CONVERSATIONS = new Bun.Glob('{home,*.home}/.gemini/tmp/*/chats/*.jsonl');
const SCAN = { absolute: true, dot: true, followSymlinks: true };

/** Reads the newest conversations of a run. Never throws: what cannot be read says nothing. */
export function geminiExits(runDirectory: string): ExitCodes {
  const codes = new Map<string, number>();
  for (const file of conversations(runDirectory)) {
    for (const line of readTail(file, READ_BYTES_MAX).split('\n')) {
      // Most of a conversation is of no interest, and some of it is long.
      if (!line.includes('"toolCalls"')) continue;
      const message = parseJson(line);
      for (const call of readRecords(isRecord(message) && message.toolCalls)) addCall(call, codes);
    }
  }
  return (callId) => codes.get(callId);
}

function addCall(call: Json, codes: Map<string, number>): void {
  const id = readString(call, 'id');
  const outputs = readRecords(call.result).map((part) =>
    readString(readRecord(readRecord(part, 'functionResponse'), 'response'), 'output'),
  );
  const output = outputs.find((one) => one !== undefined);
  if (id === undefined || output === undefined) return;
  const { code } = geminiCommandEnd(output);
  if (code !== null) codes.set(id, code);
}

/** `turn-1.home/.gemini/tmp/<project>/chats/session-….jsonl`, the newest first; the home of a turn leads to what stays. */
function conversations(runDirectory: string): string[] {
  const files = lookOr(() => [...CONVERSATIONS.scanSync({ cwd: runDirectory, ...SCAN })], []);
  const age = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const distinct = [...new Set(files.map(realPath))];
  return distinct.sort((one, other) => age(other) - age(one)).slice(0, CONVERSATIONS_MAX);
}
