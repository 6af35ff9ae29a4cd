/** The hooks of the product: which client event runs which script, as the seeds name them. */
export type HookName =
  | 'prompt-logger'
  | 'pre-tool-guide'
  | 'tool-logger'
  | 'error-logger'
  | 'batch-logger'
  | 'subagent-context'
  | 'subagent-tracker'
  | 'session-analyzer'
  | 'session-summary';

export type HookEventName =
  | 'UserPromptSubmit'
  | 'PreToolUse'
  | 'PostToolUse'
  | 'PostToolUseFailure'
  | 'PostToolBatch'
  | 'SubagentStart'
  | 'SubagentStop'
  | 'SessionStart'
  | 'SessionEnd';

export type HookRegistration = {
  readonly name: HookName;
  readonly event: HookEventName;
  /** The client's time limit, in its own unit: seconds. */
  readonly timeoutSeconds: number;
  readonly matcher?: string;
};

/**
 * `Task` was renamed `Agent` in 2.1.63; both are listed because the matcher is compared with the name that the
 * client at hand uses.
 */
export const HOOKS: readonly HookRegistration[] = [
  { name: 'prompt-logger', event: 'UserPromptSubmit', timeoutSeconds: 5 },
  {
    name: 'pre-tool-guide',
    event: 'PreToolUse',
    timeoutSeconds: 5,
    matcher: 'Edit|Write|MultiEdit|NotebookEdit|Bash|Task|Agent',
  },
  { name: 'tool-logger', event: 'PostToolUse', timeoutSeconds: 5 },
  { name: 'error-logger', event: 'PostToolUseFailure', timeoutSeconds: 5 },
  { name: 'batch-logger', event: 'PostToolBatch', timeoutSeconds: 5 },
  { name: 'subagent-context', event: 'SubagentStart', timeoutSeconds: 5 },
  { name: 'subagent-tracker', event: 'SubagentStop', timeoutSeconds: 5 },
  { name: 'session-analyzer', event: 'SessionStart', timeoutSeconds: 10 },
  { name: 'session-summary', event: 'SessionEnd', timeoutSeconds: 10 },
];

/** The hook of this script name (an ending such as `.exe` or `.mjs` is ignored), or undefined. */
export function hookByName(name: string): HookRegistration | undefined {
  const at = name.lastIndexOf('.');
  const bare = at > 0 ? name.slice(0, at) : name;
  for (const hook of HOOKS) if (hook.name === bare) return hook;
  return undefined;
}
