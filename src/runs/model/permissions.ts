import { isRecord, readTexts } from '../../core/guards.ts';
import { inAscii, isToolAllowed, policyName, type ToolName, type ToolPolicy } from './tool-policy.ts';

/** What a run may do without asking, since nobody can be asked: which calls of the tools of its policy are let through. */
export type Permissions = {
  readonly mode: PermissionMode;
  /** Rules beyond the mode, like `edit` or `exec(npm test:*)`: see parseRule(). */
  readonly allow: readonly string[];
  /** Rules for what is forbidden, or would be asked about. Stronger than all else. */
  readonly deny: readonly string[];
};

/**
 * `plan`: nothing is changed. `default`: whatever is more than looking is asked about. `edit`: files of the working
 * directory may be changed. `auto`: that, and what the client's own check of each call lets through. `all`: everything.
 */
export const PERMISSION_MODES = ['plan', 'default', 'edit', 'auto', 'all'] as const;
export type PermissionMode = (typeof PERMISSION_MODES)[number];

/** What is known of nobody: looking, and nothing else. */
export const ASKS_FIRST: Permissions = { mode: 'default', allow: [], deny: [] };

/** For who may do everything. */
export const ASKS_NEVER: Permissions = { mode: 'all', allow: [], deny: [] };

/** Of a rule: the tool as the policies name it, and of which calls it speaks; null: of all. */
export type Rule = { readonly tool: string; readonly calls: string | null };

/** Commands of a client with a sandbox may reach the network. No tool, but a rule as for one. */
export const NETWORK = 'network';
const RULE = /^\s*([^()\s]+?)\s*(?:\(\s*(\S.*?)\s*\))?\s*$/s;
const READING = ['read', 'grep', 'glob', 'list'];
const WRITING = ['write', 'edit', 'apply_patch', 'notebookedit'];

/** A rule's parts, under whatever name a client has for the tool (`Bash(npm test:*)`); undefined for what is none. */
export function parseRule(text: string): Rule | undefined {
  const [, name, calls] = RULE.exec(text) ?? [];
  if (name === undefined) return undefined;
  const tool = policyName(name);
  return {
    tool: WRITING.includes(tool) ? 'edit' : tool,
    calls: calls === undefined || calls === '*' ? null : calls,
  };
}

/** A rule in the words of the policies: as it is stored, told, and to be written into the settings. */
export function ruleText({ tool, calls }: Rule): string {
  return calls === null ? tool : `${tool}(${calls})`;
}

/** The rules among these texts; what is none counts as nothing. */
export function parseRules(texts: readonly string[]): Rule[] {
  return texts.flatMap((text) => parseRule(text) ?? []);
}

/** Whether every call of the tool is let through. */
export function mayUse(tool: ToolName | typeof NETWORK, permissions: Permissions): boolean {
  const { mode } = permissions;
  const name = WRITING.includes(tool) ? 'edit' : tool;
  if (parseRules(permissions.deny).some((rule) => covers(rule.tool, name))) return false;
  if (mode === 'all' || (name === 'edit' && (mode === 'edit' || mode === 'auto'))) return true;
  return parseRules(permissions.allow).some((rule) => rule.calls === null && covers(rule.tool, name));
}

/** How commands are judged by clients that have rules of their own for them: by the last one that fits, or as all others. */
export function commandRules(permissions: Permissions) {
  const about = (texts: readonly string[]) =>
    parseRules(texts).filter(({ tool, calls }) => calls !== null && covers(tool, 'exec'));
  const calls = (texts: readonly string[]) => about(texts).map((rule) => rule.calls as string);
  const bare = permissions.deny.filter((text) => parseRule(text)?.calls === null);
  const isForbidden = !mayUse('exec', { mode: 'all', allow: [], deny: bare });
  return {
    others: mayUse('exec', { ...permissions, deny: bare }),
    allow: isForbidden ? [] : calls(permissions.allow),
    deny: calls(permissions.deny),
  };
}

/** The rules that keep some files from being read, for a client that has none of the kind. */
export function pathRules({ deny }: Permissions): string[] {
  return deny.filter((text) => READING.includes(parseRule(text)?.tool ?? ''));
}

/** `npm test:*` and `npm test *` as what they begin with; undefined for a rule of another form. */
export function commandStart(calls: string): string | undefined {
  const start = /^(.+?)(?::\*| \*)$/s.exec(calls)?.[1];
  return start === undefined || start.includes('*') ? undefined : start;
}

/** What both let through. */
export function narrower(one: Permissions, other: Permissions): Permissions {
  const rank = ({ mode }: Permissions) => PERMISSION_MODES.indexOf(mode);
  const mode = rank(one) <= rank(other) ? one.mode : other.mode;
  const within = (rules: readonly string[], bounds: Permissions) =>
    rules.filter((text) => {
      const rule = parseRule(text);
      if (rule === undefined) return false;
      return bounds.allow.includes(text) || mayUse(rule.tool as ToolName, { ...bounds, deny: [] });
    });
  return {
    mode,
    allow: [...new Set([...within(one.allow, other), ...within(other.allow, one)])],
    deny: [...new Set([...one.deny, ...other.deny])],
  };
}

/** What a turn may do: a message may come from somebody who may do less than who started the run. */
export function turnPermissions(
  run: { readonly permissions: Permissions },
  turn: { readonly permissions: Permissions | null },
): Permissions {
  return turn.permissions === null ? run.permissions : narrower(run.permissions, turn.permissions);
}

/** The permissions without what changes files by anything but a command. */
export function withoutEditing({ mode, allow, deny }: Permissions): Permissions {
  return {
    mode: mode === 'edit' || mode === 'auto' ? 'default' : mode,
    allow: allow.filter((text) => parseRule(text)?.tool !== 'edit'),
    deny,
  };
}

/** The permissions with what somebody has granted: `edit`, `all`, or rules. In plan mode too, as a person meant it. */
export function granted(permissions: Permissions, grants: readonly string[]): Permissions {
  const rules = grants.map(grantOf);
  if (rules.includes('all')) return { ...permissions, mode: 'all' };
  return { ...permissions, allow: [...new Set([...permissions.allow, ...rules])] };
}

/** What the clients call the modes that let as much through. */
const MODES_OF_CLIENTS: Readonly<Record<string, string>> = {
  acceptedits: 'edit',
  auto_edit: 'edit',
  'workspace-write': 'edit',
  bypasspermissions: 'all',
  yolo: 'all',
  'danger-full-access': 'all',
};

function grantOf(text: string): string {
  const word = text.trim();
  return MODES_OF_CLIENTS[word.toLowerCase()] ?? word;
}

/** What is wrong with a grant, if anything. */
export function grantProblem(text: string): string | undefined {
  const rule = parseRule(grantOf(text));
  if (grantOf(text) === 'all' || rule?.tool === NETWORK) return undefined;
  const isKnown = rule !== undefined && policyName(rule.tool) === rule.tool && KNOWN.includes(rule.tool);
  return isKnown
    ? undefined
    : `"${inAscii(text)}" is no permission: it may be edit, all, or rules like "exec(npm test:*)"`;
}

const KNOWN: readonly string[] = ['read', 'edit', 'exec', 'web_search', 'web_fetch', 'todo'];

/** The grants in a list with commas, which may stand in brackets too. Every other letter stays, so that none is lost. */
export function splitGrants(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const letter of text) {
    if (letter === '(') depth++;
    else if (letter === ')') depth--;
    if (letter === ',' && depth <= 0) parts.push('');
    else parts.push(`${parts.pop()}${letter}`);
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** From a column of the database; a run that was written down without them asks first. */
export function readPermissions(value: unknown): Permissions {
  if (!isRecord(value)) return ASKS_FIRST;
  const mode = PERMISSION_MODES.find((one) => one === value.mode) ?? ASKS_FIRST.mode;
  return { mode, allow: readTexts(value.allow), deny: readTexts(value.deny) };
}

/** Whether these permissions keep a run from changing files that its policy lets it change. */
export function looksOnly(policy: ToolPolicy, permissions: Permissions): boolean {
  const offersEditing = isToolAllowed(policy, 'edit') && isToolAllowed(policy, 'write');
  return offersEditing && !mayUse('edit', permissions) && !mayUse('exec', permissions);
}

function covers(pattern: string, tool: string): boolean {
  return pattern === '*' || pattern === tool;
}
