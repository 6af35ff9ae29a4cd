import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A shorter name would be found inside nearly every agent type, because RA-401 looks for it as a part. */
const NAME_LENGTH_MIN = 3;
const NAME_LENGTH_MAX = 100;
const FILES_MAX = 500;
const FILE_BYTES_MAX = 256 * 1024;
const WRITING_TOOLS: readonly string[] = ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'];
/** What an agent without a `tools` line has to be denied to count as a reader. */
const INHERITED_WRITING_TOOLS: readonly string[] = ['Edit', 'Write'];

/** The texts of the `.md` files in and below an agents directory, in the order of their names; none when it does not exist. */
export function readAgentFiles(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort()
    .slice(0, FILES_MAX)
    .map((name) => join(directory, name))
    .filter((path) => {
      const stats = statSync(path, { throwIfNoEntry: false });
      return stats?.isFile() === true && stats.size <= FILE_BYTES_MAX;
    })
    .map((path) => readFileSync(path, 'utf8'));
}

/** The names of the agents whose tools can change files, by the texts of their files; each once. Never throws. */
export function writingAgents(texts: readonly string[]): string[] {
  const names = texts.flatMap((text) => {
    const fields = frontmatter(text);
    const name = fields.get('name')?.at(0);
    return name !== undefined && isUsableName(name) && canWrite(fields) ? [name] : [];
  });
  return [...new Set(names)];
}

/** The client's own agents that only look: a name that is part of theirs would give them context too (RA-401). */
const READING_AGENTS = ['Explore', 'Plan', 'statusline-setup', 'claude-code-guide'];

function isUsableName(name: string): boolean {
  const length = [...name].length;
  const isUsable = length >= NAME_LENGTH_MIN && length <= NAME_LENGTH_MAX && !/[\x00-\x1f\x7f]/.test(name);
  return isUsable && !READING_AGENTS.some((agent) => agent.includes(name));
}

function canWrite(fields: ReadonlyMap<string, readonly string[]>): boolean {
  const tools = fields.get('tools');
  const denied = new Set(fields.get('disallowedTools'));
  const inheritsAll = tools === undefined || tools.includes('*');
  const granted = inheritsAll
    ? INHERITED_WRITING_TOOLS
    : WRITING_TOOLS.filter((tool) => tools.some((rule) => rule === tool || rule.startsWith(`${tool}(`)));
  return granted.some((tool) => !denied.has(tool));
}

/**
 * The top-level fields of the YAML block at the beginning, as lists: `a, b`, `[a, b]` and `- a` lines. A field without
 * any value is left out, an empty list is an empty list. Nested maps and block texts are not read.
 */
function frontmatter(text: string): Map<string, string[]> {
  const fields = new Map<string, string[]>();
  const block = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text)?.[1] ?? '';
  let key = '';
  for (const line of block.split(/\r?\n/)) {
    const item = /^\s*-\s+(.+)$/.exec(line)?.[1];
    const field = /^([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*))?$/.exec(line);
    if (field !== null) {
      key = field[1] ?? '';
      const value = withoutComment(field[2] ?? '');
      if (value !== '') fields.set(key, splitList(value));
    } else if (item !== undefined && key !== '') {
      fields.set(key, [...(fields.get(key) ?? []), unquote(withoutComment(item))]);
    }
  }
  return fields;
}

/** Commas inside parentheses belong to a rule such as `Write(a,b)`. */
function splitList(value: string): string[] {
  const inner = /^\[(.*)\]$/.exec(value)?.[1] ?? unquote(value);
  const parts = inner.match(/(?:\([^)]*\)|[^,(])+/g) ?? [];
  return parts.map((part) => unquote(part.trim())).filter((part) => part !== '');
}

function withoutComment(value: string): string {
  return value.replace(/(?:^|\s)#.*$/, '').trim();
}

function unquote(value: string): string {
  return /^"(.*)"$/.exec(value)?.[1] ?? /^'(.*)'$/.exec(value)?.[1] ?? value;
}
