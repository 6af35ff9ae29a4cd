import { isRecord, type Json, readRecord, readString } from '../core/guards.ts';

/** A call of a client's tool as the hooks know it: by the names and fields of Claude Code. */
export type HookCall = { readonly tool: string; readonly input: Json };

const FILES_MAX = 20;
/** What clients other than Claude Code call the tools that something can be learned from. Other names stay as they are. */
const NAMES: Readonly<Record<string, string>> = {
  ...{ run_shell_command: 'Bash', bash: 'Bash', shell: 'Bash', exec_command: 'Bash' },
  ...{ read_file: 'Read', read: 'Read', write_file: 'Write', write: 'Write' },
  ...{ replace: 'Edit', edit: 'Edit', multiedit: 'Edit' },
  ...{ search_file_content: 'Grep', grep_search: 'Grep', grep: 'Grep', glob: 'Glob' },
};
const FILE_FIELDS = ['file_path', 'filePath', 'absolute_path', 'path'];
const FILE_TOOLS = new Set(['Read', 'Write', 'Edit']);

/** What the hooks would have been told of the call; of a patch, one call for each file that it changes. */
export function hookCalls({ tool, input }: HookCall): HookCall[] {
  if (tool === 'apply_patch' || tool === 'patch') return patchedFiles(input);
  const name = NAMES[tool] ?? tool;
  if (name === 'Bash') {
    const isInBackground = input.is_background === true ? { run_in_background: true } : {};
    return [{ tool: name, input: { ...input, ...isInBackground, command: commandOf(input) } }];
  }
  if (!FILE_TOOLS.has(name)) return [{ tool: name, input }];
  const file = FILE_FIELDS.map((field) => readString(input, field)).find((path) => path !== undefined);
  return [{ tool: name, input: file === undefined ? {} : { file_path: file } }];
}

/** How the clients word that a call was not let through. */
const REFUSALS: readonly RegExp[] = [
  /^Permission (?:to|for) .{0,4000} has been denied/s,
  /^Claude requested permissions to /,
  /^(?:<tool_use_error>)?File is in a directory that is denied by your permission settings/,
  /^The user (?:doesn't want to |rejected permission to |has specified a rule which prevents )/,
  /^Tool execution (?:denied by policy|blocked)/,
  /^Tool "[^"]{1,200}" not found/,
  /^Model tried to call unavailable tool /,
];

/** Whether a policy kept the call back: nothing of the project has failed then, and no hook would be told. */
export function isRefused(text: string): boolean {
  return REFUSALS.some((refusal) => refusal.test(text));
}

/** A command line, or its words. */
function commandOf(input: Json): unknown {
  const command = input.command ?? input.cmd;
  return Array.isArray(command) ? command.filter((word) => typeof word === 'string').join(' ') : command;
}

/** From the client's own list of changes, or from the patch itself. */
function patchedFiles(input: Json): HookCall[] {
  const listed = Array.isArray(input.changes) ? input.changes.filter(isRecord) : [];
  const named = isRecord(input.changes) ? Object.keys(readRecord(input, 'changes')) : [];
  const text =
    readString(input, 'patchText') ?? readString(input, 'patch') ?? readString(input, 'input') ?? '';
  const inText = [...text.matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.{1,4096})$/gm)];
  const files = [
    ...listed.flatMap((change) => readString(change, 'path') ?? []),
    ...named,
    ...inText.flatMap(([, path]) => path ?? []),
  ];
  const inputs = [...new Set(files)].slice(0, FILES_MAX).map((path) => ({ file_path: path }));
  return (inputs.length > 0 ? inputs : [{}]).map((one) => ({ tool: 'Edit', input: one }));
}
