import { posix } from 'node:path';
import { type Json, readString } from '../core/guards.ts';
import { isToolAllowed, policyName } from '../runs/model/tool-policy.ts';
import type { Call } from './call.ts';

/** What the clients' tools call a file. */
export const PATH_KEYS: readonly string[] = [
  'filePath',
  'file_path',
  'path',
  'absolute_path',
  'notebook_path',
];

/** The file of a call as the model has named it. */
export function namedPath({ input }: Call): string | undefined {
  return pathIn(input);
}

function pathIn(input: Json): string | undefined {
  for (const key of PATH_KEYS) {
    const path = Object.hasOwn(input, key) ? readString(input, key) : undefined;
    if (path !== undefined && path !== '') return path;
  }
  return undefined;
}

/** One name for a file, however it is written: absolute, with `/`, without `.` and `..`. */
export function resolvedPath(path: string, project: string): string {
  const [slashed, base] = [path.replaceAll('\\', '/'), project.replaceAll('\\', '/')];
  const isAbsolute = /^(?:\/|[A-Za-z]:\/)/.test(slashed);
  return posix.normalize(isAbsolute ? slashed : `${base}/${slashed}`);
}

/** Whether the output of a successful call of `read` is the whole file, from its first line to its last, by the words of each client. */
export function isWholeFile({ tool, input, output }: Call): boolean {
  if (output.includes('... (line truncated to ') || output.includes('... [truncated]')) return false;
  // OpenCode says where a file ends, whatever it was asked for. Each line of the file has its number in front.
  const [, open, close] = FRAMES.find(([first]) => output.startsWith(first)) ?? [];
  if (open !== undefined) {
    const [from, to] = [output.indexOf(open) + open.length, output.indexOf(close)];
    const last = output.slice(output.lastIndexOf('\n', to - 1), to);
    return (
      /^0*1[:|] /.test(output.slice(from, from + 8)) && /^\n\(End of file - total \d+ lines\)$/.test(last)
    );
  }
  const asked = Object.keys(input).filter((key) => !PATH_KEYS.includes(key));
  if (asked.length > 0) return false;
  // Claude Code numbers the lines, and shows neither more than so many nor longer ones.
  if (tool === 'Read') {
    const last = /\n *(\d+)[→\t][^\n]*$/.exec(output)?.[1] ?? '1';
    return /^ *1[→\t]/.test(output) && Number(last) < LINES_MAX && !/[^\n]{2000}/.test(output);
  }
  return (
    tool === 'read_file' && !/^\s*IMPORTANT: The file content has been truncated|^Cannot display/.test(output)
  );
}

const FRAMES = [
  ['<path>', '\n<content>\n', '\n</content>'],
  ['<file>', '<file>\n', '\n</file>'],
] as const;
const LINES_MAX = 2000;

export type Protection = {
  readonly protectedTools: readonly string[];
  readonly protectedFiles: readonly string[];
};

/** Says of a call whether it is of a tool, or of a file, that is always shown. `project`: the directory of the session. */
export function protectionOf(
  { protectedTools, protectedFiles }: Protection,
  project: string,
): (call: Call) => boolean {
  const policy = { deny: protectedTools, allow: null };
  const isProtectedTool = new Map<string, boolean>();
  const patterns = protectedFiles.map(globOf);
  const base = `${resolvedPath('.', project).replace(/\/$/, '')}/`;
  return (call) => {
    const isProtected = isProtectedTool.get(call.tool) ?? !isToolAllowed(policy, call.tool);
    isProtectedTool.set(call.tool, isProtected);
    if (isProtected || patterns.length === 0) return isProtected;
    return pathsOf(call).some((path) => {
      const resolved = resolvedPath(path, project);
      const below = resolved.startsWith(base) ? resolved.slice(base.length) : resolved;
      return patterns.some((pattern) => [path, resolved, below].some((one) => pattern.test(one)));
    });
  };
}

/** Also of a patch, which names its files in its text. */
function pathsOf(call: Call): string[] {
  const own = namedPath(call);
  if (own !== undefined) return [own];
  if (policyName(call.tool) !== 'apply_patch') return [];
  const texts = Object.values(call.input).filter((value) => typeof value === 'string');
  return texts.flatMap((text) => [...text.matchAll(PATCHED)].map(([, path = '']) => path));
}

const PATCHED = /^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.+?)\r?$/gm;

/** `**` is anything, `*` and `?` stop at `/`. */
function globOf(pattern: string): RegExp {
  const source = pattern
    .replaceAll('\\', '/')
    .replace(/[.+^${}()|[\]]/g, '\\$&')
    .replace(/\*\*\/|\*+|\?/g, (sign) => {
      if (sign === '**/') return '(?:.*/)?';
      if (sign === '?') return '[^/]';
      return sign === '*' ? '[^/]*' : '.*';
    });
  return new RegExp(`^${source}$`, 's');
}
