/**
 * The hooks of the product, as they are registered for each call: which client event runs which script, as the seeds name
 * them. `Task` was renamed `Agent` in 2.1.63; both are listed because the matcher is compared with the name that the client
 * at hand uses.
 */
const LIST = [
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
  { name: 'subagent-tracker', event: 'SubagentStop', timeoutSeconds: 10, isAsync: true },
  { name: 'stop-tracker', event: 'Stop', timeoutSeconds: 10, isAsync: true },
  { name: 'result-waiter', event: 'Stop', timeoutSeconds: 2e6, isAsync: true, wakes: true },
  { name: 'session-analyzer', event: 'SessionStart', timeoutSeconds: 10 },
  { name: 'session-summary', event: 'SessionEnd', timeoutSeconds: 10 },
] as const;

export type HookName = (typeof LIST)[number]['name'];
export type HookEventName = (typeof LIST)[number]['event'];

export type HookRegistration = {
  readonly name: HookName;
  readonly event: HookEventName;
  /** The client's time limit, in its own unit: seconds. */
  readonly timeoutSeconds: number;
  readonly matcher?: string;
  /** Nobody has to wait for it: it says nothing. */
  readonly isAsync?: true;
  /** Its end with exit code 2 wakes the session: what it wrote to standard error is told to it. */
  readonly wakes?: true;
};

/**
 * How the hooks are registered. `session`: what the transcript tells is read from there. `per-call`: each call is handed
 * to a hook as well, for clients that keep no transcripts.
 */
export const HOOK_MODES = ['session', 'per-call'] as const;
export type HookMode = (typeof HOOK_MODES)[number];

export const HOOKS: readonly HookRegistration[] = LIST;

const ONLY_PER_CALL: readonly HookName[] = ['tool-logger', 'batch-logger'];

/** The hooks that are registered in this mode. */
export function hooksIn(mode: HookMode): readonly HookRegistration[] {
  if (mode === 'per-call') return HOOKS;
  return HOOKS.filter(({ name }) => !ONLY_PER_CALL.includes(name)).map((hook) =>
    hook.name === 'pre-tool-guide' ? { ...hook, matcher: 'Agent|Task' } : hook,
  );
}

/** The hook of this script name (an ending such as `.exe` or `.mjs` is ignored), or undefined. */
export function hookByName(name: string): HookRegistration | undefined {
  const at = name.lastIndexOf('.');
  const bare = at > 0 ? name.slice(0, at) : name;
  for (const hook of HOOKS) if (hook.name === bare) return hook;
  return undefined;
}
