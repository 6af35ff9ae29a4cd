import { definedOnly, type Json, readString } from '../core/guards.ts';
import { relativeFile } from '../core/project.ts';
import { maskSensitivePath, redactSecrets } from '../core/redact.ts';
import { cleanText, cutText, oneLine } from '../core/text.ts';
import { commandFamily, isAgentTool, isFileTool, isShellTool } from '../lessons/command.ts';
import { type Failure, mayHideFailure, readFailure, readHiddenFailure } from '../lessons/failure.ts';
import type { CallRecord, Project, ToolError } from './decision.ts';
import type { ToolCall } from './event.ts';

/** What is kept of a tool call: always redacted and bounded, and never what a file contains. */

/** `cwd`: where the shell stood. */
type Call = ToolCall & { readonly cwd: string | undefined };

const TEXT_LENGTH_MAX = 512;
const LINE_LENGTH_MAX = 2000;
const INPUT_LENGTH_MAX = 300;
const REMARK_LENGTH_MAX = 240;
const ERROR_RAW_LENGTH_MAX = 2000;
const ERROR_AROUND = 700;
/** Secrets, and the telling line, are looked for in so much of the beginning and of the end of an error. */
const ERROR_HEAD_SCANNED = 6000;
const ERROR_TAIL_SCANNED = 2000;
const ERROR_MARGIN = 1000;
const COMMAND_SCANNED_MAX = 4096;
const SENSITIVE = '[SENSITIVE_PATH]';

/** What is kept of any call. */
export function callRecord(call: Call, project: Project): CallRecord {
  const line = callLine(call);
  const isShell = isShellTool(call.tool);
  return {
    tool: bounded(call.tool),
    toolUseId: call.toolUseId,
    command: isShell && line !== null ? commandFamily(line) : null,
    line,
    directory: isShell && call.cwd !== undefined ? directoryOf(call.cwd, project) : null,
    remark: call.remark ? bounded(oneLine(cutText(call.remark, TEXT_LENGTH_MAX)), REMARK_LENGTH_MAX) : null,
    file: toolFile(call, project),
    chars: call.chars,
  };
}

function callLine({ tool, input }: Pick<Call, 'tool' | 'input'>): string | null {
  if (isShellTool(tool)) {
    const command = readString(input, 'command');
    return command === undefined ? null : bounded(command, LINE_LENGTH_MAX);
  }
  if (isFileTool(tool) || isAgentTool(tool)) return null;
  const words = JSON.stringify(input);
  return words === '{}' ? null : bounded(words, INPUT_LENGTH_MAX);
}

function directoryOf(cwd: string, project: Project): string {
  if (project.spellings.some((root) => relativeFile(cwd, null) === relativeFile(root, null))) return '';
  return bounded(withinProject(cwd, project));
}

/** REQ-DC-202: the few facts of a call's input that are worth keeping beside. Of a Bash command that is its program. */
export function toolMeta({ tool, input }: Pick<Call, 'tool' | 'input'>, { command }: CallRecord): Json {
  if (tool === 'Bash') return { command: command?.split(' ', 1)[0] ?? '' };
  if (isFileTool(tool)) {
    const file = filePath(input);
    return file === undefined ? {} : { file: maskSensitivePath(bounded(file)) };
  }
  const field = (key: string) => {
    const value = readString(input, key);
    return value === undefined ? undefined : bounded(value);
  };
  if (tool === 'Grep' || tool === 'Glob') return definedOnly({ pattern: field('pattern') });
  if (tool === 'Skill') return definedOnly({ skill: field('skill') ?? field('command') });
  if (isAgentTool(tool)) return definedOnly({ agentType: field('subagent_type'), model: field('model') });
  return {};
}

/** The file of a file tool's call, relative to the project; null for other tools and for files with secrets. */
function toolFile({ tool, input }: Call, project: Project): string | null {
  const file = filePath(input);
  if (!isFileTool(tool) || file === undefined) return null;
  // Relative first: what stands above the project may look like a secret.
  return maskSensitivePath(file) === SENSITIVE ? null : bounded(withinProject(file, project));
}

/** A path relative to the project, to the innermost of its worktrees that it lies in; as it is when it lies outside. */
export function withinProject(path: string, { spellings }: Project): string {
  const relatives = spellings.map((root) => relativeFile(path, root));
  return relatives.reduce(
    (left, right) => (right.length < left.length ? right : left),
    relativeFile(path, null),
  );
}

/** A failed call as it is stored. `error` may be of any length and content. */
export function toolError(call: Call, error: string, project: Project): ToolError {
  const record = callRecord(call, project);
  const text = withoutEchoes(scanned(error), call, record);
  return errorOf(record, text, readFailure({ tool: call.tool, line: record.line, text }));
}

/** The same for a call that worked by its exit code; undefined when nothing shows that it did not. */
export function hiddenError(
  call: Call & { readonly output: string },
  record: CallRecord,
): ToolError | undefined {
  if (!isShellTool(call.tool) || call.output === '' || !mayHideFailure(record.line)) return undefined;
  const text = withoutEchoes(scanned(call.output), call, record);
  const failure = readHiddenFailure({ tool: call.tool, line: record.line, text });
  return failure && { ...errorOf(record, text, failure), isHidden: true };
}

function errorOf(record: CallRecord, text: string, { key, said, noise }: Failure): ToolError {
  return { ...record, error: key, said, errorRaw: keptOf(text, said), noise };
}

/** The beginning of a long text, and what stands around the line that names the error. */
function keptOf(text: string, said: string): string {
  const at = text.indexOf(said);
  if (text.length <= ERROR_RAW_LENGTH_MAX || (at >= 0 && at + said.length <= ERROR_RAW_LENGTH_MAX))
    return cutText(text, ERROR_RAW_LENGTH_MAX);
  const end = at < 0 ? text.length : Math.min(text.length, at + said.length + ERROR_AROUND / 2);
  return `${cutText(text, ERROR_RAW_LENGTH_MAX - ERROR_AROUND - 10)}\n…\n${text.slice(end - ERROR_AROUND, end)}`.toWellFormed();
}

/**
 * The beginning and the end of what was printed: the line that names the error often comes last. Secrets are looked for with what stands
 * around the cuts, and a line or word that a cut has torn is left out: its other half may have said what it is.
 */
function scanned(error: string): string {
  if (error.length <= ERROR_HEAD_SCANNED + ERROR_TAIL_SCANNED) return redactSecrets(cleanText(error));
  const head = redactSecrets(cleanText(cutText(error, ERROR_HEAD_SCANNED))).replace(/[^\s]*$/, '');
  const tail = redactSecrets(cleanText(error.slice(-ERROR_TAIL_SCANNED - ERROR_MARGIN).toWellFormed()));
  const rest = tail.slice(-ERROR_TAIL_SCANNED);
  const start = rest.indexOf('\n') + 1 || rest.search(/\s/) + 1;
  return `${head}\n…\n${rest.slice(start)}`;
}

const ECHO_LENGTH_MIN = 6;

/** What was taken out of the command as a secret may be printed by it without the name that gave it away. */
function withoutEchoes(text: string, { input }: Call, { line }: CallRecord): string {
  const typed = readString(input, 'command');
  if (typed === undefined || line === null || !line.includes('[REDACTED')) return text;
  let clean = text;
  for (const word of new Set(cutText(typed, COMMAND_SCANNED_MAX).split(/[\s"'`=,;|&()]+/))) {
    if (word.length >= ECHO_LENGTH_MIN && !line.includes(word)) clean = clean.replaceAll(word, '[REDACTED]');
  }
  return clean;
}

/** The file that a tool is called on. */
export function filePath(input: Json): string | undefined {
  return readString(input, 'file_path') ?? readString(input, 'notebook_path');
}

function bounded(text: string, lengthMax = TEXT_LENGTH_MAX): string {
  return cutText(redactSecrets(cleanText(cutText(text, COMMAND_SCANNED_MAX))), lengthMax);
}
