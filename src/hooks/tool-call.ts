import { type Command, parseCommand } from '../core/command.ts';
import { type Json, readString } from '../core/guards.ts';
import { normalizeError } from '../core/normalize-error.ts';
import { relativeFile } from '../core/project.ts';
import type { ToolError } from '../core/recording.ts';
import { maskSensitivePath, redactSecrets } from '../core/redact.ts';
import { cleanText, cutText } from '../core/text.ts';
import { isAgentTool, isFileTool } from '../core/tools.ts';
import type { Project } from './decision.ts';

/** What is kept of a tool call: never its content, always redacted and bounded. */

type Call = { readonly tool: string; readonly input: Json; readonly toolUseId: string | null };

const TEXT_LENGTH_MAX = 512;
const ERROR_RAW_LENGTH_MAX = 500;
/** Secrets are looked for in this much of an error, of which 500 characters are stored. */
const ERROR_SCANNED_MAX = 8192;
const COMMAND_SCANNED_MAX = 4096;
const MENTIONED_FILES_MAX = 5;
const SENSITIVE = '[SENSITIVE_PATH]';

/** REQ-DC-202: the few facts of a call that are worth keeping. Of a Bash command that is its program. */
export function toolMeta({ tool, input }: Call): Json {
  if (tool === 'Bash') return { command: toolCommand({ tool, input, toolUseId: null })?.program ?? '' };
  if (isFileTool(tool)) {
    const file = filePath(input);
    return file === undefined ? {} : { file: maskSensitivePath(bounded(file)) };
  }
  if (tool === 'Grep' || tool === 'Glob') return definedOnly({ pattern: boundedField(input, 'pattern') });
  if (tool === 'Skill')
    return definedOnly({ skill: boundedField(input, 'skill') ?? boundedField(input, 'command') });
  if (isAgentTool(tool)) {
    return definedOnly({
      agentType: boundedField(input, 'subagent_type'),
      model: boundedField(input, 'model'),
    });
  }
  return {};
}

/** The command of a Bash call; null for other tools. */
export function toolCommand({ tool, input }: Call): Command | null {
  const text = readString(input, 'command');
  if (tool !== 'Bash' || text === undefined) return null;
  return parseCommand(redactSecrets(cleanText(cutText(text, COMMAND_SCANNED_MAX))));
}

/** The file of a file tool's call, relative to the project; null for other tools and for files with secrets. */
export function toolFile({ tool, input }: Call, project: Project): string | null {
  const file = filePath(input);
  if (!isFileTool(tool) || file === undefined) return null;
  const shown = maskSensitivePath(bounded(file));
  return shown === SENSITIVE ? null : fileOfProject(shown, project);
}

/** The file relative to the project, whichever of its worktrees it lies in. */
function fileOfProject(file: string, { spellings }: Project): string {
  for (const root of spellings) {
    const relative = relativeFile(file, root);
    if (relative.length < file.length) return relative;
  }
  return relativeFile(file, null);
}

/** A failed call as it is stored. `error` may be of any length and content. */
export function toolError(call: Call, error: string, project: Project): ToolError {
  const scanned = redactSecrets(cleanText(cutText(error, ERROR_SCANNED_MAX)));
  return {
    tool: bounded(call.tool),
    error: normalizeError(scanned),
    errorRaw: cutText(scanned, ERROR_RAW_LENGTH_MAX),
    toolUseId: call.toolUseId,
    command: toolCommand(call),
    file: toolFile(call, project),
    mentionedFiles: mentionedFiles(scanned, project),
  };
}

const FILE_NAME = /(?:[A-Za-z]:)?[\w@.\-/\\]{1,200}\.[A-Za-z]\w{0,5}\b/g;
const NOT_OF_THE_PROJECT = /(?:^|\/)(?:node_modules|\.git|site-packages|dist-packages)\//;

/** Files of the project that an error text names, such as `src/db.ts:10:5`. */
function mentionedFiles(text: string, project: Project): string[] {
  const names = text.match(FILE_NAME) ?? [];
  const files = names
    .map((name) => fileOfProject(name, project).replace(/^\.\//, ''))
    .filter((file) => /\//.test(file) || /\.\w{1,4}$/.test(file))
    .filter((file) => !file.startsWith('/') && !/^[A-Za-z]:/.test(file) && !NOT_OF_THE_PROJECT.test(file))
    .filter((file) => maskSensitivePath(file) !== SENSITIVE);
  return [...new Set(files)].slice(0, MENTIONED_FILES_MAX);
}

function filePath(input: Json): string | undefined {
  return readString(input, 'file_path') ?? readString(input, 'notebook_path');
}

function boundedField(input: Json, key: string): string | undefined {
  const value = readString(input, key);
  return value === undefined ? undefined : bounded(value);
}

function bounded(text: string): string {
  return cutText(redactSecrets(cleanText(cutText(text, COMMAND_SCANNED_MAX))), TEXT_LENGTH_MAX);
}

function definedOnly(values: Record<string, string | undefined>): Json {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
