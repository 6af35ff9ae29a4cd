import { callIdIn } from '../core/call-client.ts';
import type { ClientName } from '../core/client-name.ts';
import { type Json, readRecord, readRecords, readString, readTexts } from '../core/guards.ts';
import { fingerprint } from '../core/text.ts';
import { charsIn, type HookEvent } from '../hooks/event.ts';
import { parseHookEvent } from '../hooks/hooks.ts';
import {
  expandNames,
  isToolAllowed,
  policyName,
  type ToolName,
  type ToolPolicy,
} from '../runs/model/tool-policy.ts';

/** The tools of clients: which of them a child is offered, which of our server, and what hooks are told of their calls. */

/** Our own server in the configuration of a child; its tools are `mcp__self-generation__…` in a policy. */
export const MCP_SERVER_NAME = 'self-generation';
const PREFIX = `mcp__${MCP_SERVER_NAME}__`;
/** A tool that nobody has named: what means this one means all. */
const ANY_TOOL = `${PREFIX}\0`;

/** A client's own tools by their names there, each with that of a policy. */
export type OwnTools = Readonly<Record<string, ToolName>>;

/**
 * Which of the client's tools the policy lets through. A tool goes by both its names: who denies `Grep`, as the
 * client calls it, has not denied all that reads, and must not be left with it.
 */
export function offeredTools(policy: ToolPolicy, tools: OwnTools): string[] {
  const isOffered = (name: string) => {
    const names = new Set([tools[name] ?? name, name.toLowerCase()]);
    const isDenied = [...names].some((one) => !isToolAllowed({ ...policy, allow: null }, one));
    return !isDenied && [...names].some((one) => isToolAllowed(policy, one));
  };
  return Object.keys(tools).filter(isOffered);
}

/** Our MCP server, as a child's client is to start it. */
export type McpServer = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** How long a call of its tools may take. */
  readonly timeoutMs: number;
};

/** Our own server for a child, and which of its tools the child is let to see, by their names there. */
export type ShownServer = {
  readonly entry: McpServer;
  /** Null: all that are not denied. */
  readonly only: readonly string[] | null;
  readonly except: readonly string[];
};

/** Null where the child has no server. One that is denied some tools by a pattern, which no client can be told, has none. */
export function serverFor({ deny, allow }: ToolPolicy, mcp: McpServer | null): ShownServer | null {
  const isDenied = expandNames(deny).some(mayMeanOurs) || !isToolAllowed({ deny, allow: null }, ANY_TOOL);
  if (mcp === null || isDenied) return null;
  const isOpen = allow === null || isToolAllowed({ deny: [], allow }, ANY_TOOL);
  const only = isOpen ? null : named(allow);
  return only?.length === 0 ? null : { entry: mcp, only, except: named(deny) };
}

function named(names: readonly string[]): string[] {
  const ours = expandNames(names).filter((name) => name.startsWith(PREFIX) && !name.includes('*'));
  return ours.map((name) => name.slice(PREFIX.length));
}

function mayMeanOurs(pattern: string): boolean {
  const at = pattern.indexOf('*');
  if (at < 0) return false;
  const start = pattern.slice(0, at);
  return PREFIX.startsWith(start) || start.startsWith(PREFIX);
}

/** A call of a client's tool as the hooks know it: by the names and fields of Claude Code. */
export type HookCall = { readonly tool: string; readonly input: Json };

const FILES_MAX = 20;
/** The tools that something can be learned from, by their names in a policy. Other names stay as they are. */
const NAMES: Readonly<Record<string, string>> = {
  ...{ exec: 'Bash', read: 'Read', write: 'Write', edit: 'Edit', grep: 'Grep', glob: 'Glob' },
};
/** By which OpenCode and Gemini CLI read a skill; Codex reads its file. */
const SKILL_TOOLS = new Set(['skill', 'activate_skill']);
const FILE_FIELDS = ['file_path', 'filePath', 'absolute_path', 'path'];
const FILE_TOOLS = new Set(['Read', 'Write', 'Edit']);

/** What the hooks would have been told of the call; of a patch, one call for each file that it changes. */
export function hookCalls({ tool, input }: HookCall): HookCall[] {
  if (policyName(tool) === 'apply_patch') return patchedFiles(input);
  const name = NAMES[policyName(tool)] ?? tool;
  if (SKILL_TOOLS.has(tool)) return [{ tool: 'Skill', input: { skill: input.name } }];
  // Codex has a tool of the shell's name that runs JavaScript: its commands are calls of their own.
  if (name === 'Bash' && commandIn(input) === undefined) return [{ tool, input }];
  if (name === 'Bash') {
    const isInBackground = input.is_background === true ? { run_in_background: true } : {};
    return [{ tool: name, input: { ...input, ...isInBackground, command: commandIn(input) } }];
  }
  if (!FILE_TOOLS.has(name)) return [{ tool: name, input }];
  const file = fileIn(input);
  return [{ tool: name, input: file === undefined ? {} : { file_path: file } }];
}

/** The file that a call is about. */
export function fileIn(input: Json): string | undefined {
  return FILE_FIELDS.map((field) => readString(input, field)).find((path) => path !== undefined);
}

/** The command line of a call, which may be given word by word, or as the script of a shell; as it was given where it is neither. */
export function commandIn(input: Json): unknown {
  const said = input.command ?? input.cmd;
  if (!Array.isArray(said)) return said;
  const words = readTexts(said);
  const isScript = words.length === 3 && /^-l?c$/.test(words[1] ?? '');
  return isScript ? words[2] : words.join(' ');
}

/** A call that has ended. */
export type EndedCall = HookCall & {
  /** No other call of the client has it. */
  readonly id: string;
  readonly isError: boolean;
  readonly text: string;
  /** Of a command whose text does not say it; null where nobody knows how it ended. */
  readonly code: number | null;
};

/**
 * What the hooks would have been told of the call. `common`: what each event of its agent carries. The id under which it
 * is recorded says which client's it is.
 */
export function hookEvents(
  client: { readonly name: ClientName; readonly hookCalls: (call: HookCall) => readonly HookCall[] },
  ended: EndedCall,
  common: Json,
): HookEvent[] {
  return client.hookCalls(ended).flatMap((call, at) => {
    const [name, said] = endOf(ended, call);
    const id = callIdIn(client.name, fingerprint(at === 0 ? ended.id : `${ended.id} ${at}`));
    const chars = at === 0 ? charsIn(ended.input) + ended.text.length : 0;
    const told = { tool_name: call.tool, tool_input: call.input, tool_use_id: id, chars, ...said };
    const input = name === 'PostToolBatch' ? { tool_calls: [told] } : told;
    const event = parseHookEvent({ ...common, ...input }, name);
    if (event === undefined) return [];
    return 'toolUseId' in event ? { ...event, toolUseId: id } : event;
  });
}

/** Which hook tells of such an end, and what it is told. */
function endOf({ isError, text, code }: EndedCall, { tool }: HookCall): readonly [HookEvent['name'], Json] {
  // Rejected by the client, before it was done.
  if (isError && text.startsWith('<tool_use_error>')) return ['PostToolBatch', { tool_response: text }];
  // One without a word is one that nobody can recognise again.
  if (isError)
    return ['PostToolUseFailure', { error: text.trim() || (tool === 'Bash' ? 'Exit code ?' : '?') }];
  if (code === 0 || (code === null && tool !== 'Bash'))
    return ['PostToolUse', { tool_response: { stdout: text } }];
  // It returned, which does not mean that it worked.
  if (code === null) return ['PostToolUse', { tool_response: { interrupted: true } }];
  return ['PostToolUseFailure', { error: `Exit code ${code}\n${text}`.trim() }];
}

/** From the client's own list of changes, or from the patch itself. */
function patchedFiles(input: Json): HookCall[] {
  const text =
    readString(input, 'patchText') ?? readString(input, 'patch') ?? readString(input, 'input') ?? '';
  const inText = [...text.matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.{1,4096})$/gm)];
  const files = [
    ...readRecords(input.changes).flatMap((change) => readString(change, 'path') ?? []),
    ...Object.keys(readRecord(input, 'changes')),
    ...inText.flatMap(([, path]) => path ?? []),
  ];
  const inputs = [...new Set(files)].slice(0, FILES_MAX).map((path) => ({ file_path: path }));
  return (inputs.length > 0 ? inputs : [{}]).map((one) => ({ tool: 'Edit', input: one }));
}
