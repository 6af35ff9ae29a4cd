/** Where everything of ours lives: every path of the product comes from here. */
export type StatePaths = Readonly<ReturnType<typeof pathsBelow>>;

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The paths for this environment, or undefined when no home directory is known. `SELF_GENERATION_HOME` (absolute)
 * overrides. A relative value is ignored: it would be resolved inside whatever repository the user is in.
 */
export function statePaths(env: Environment, platform: string): StatePaths | undefined {
  const override = absolute(env.SELF_GENERATION_HOME);
  const user = absolute(env.HOME) ?? (platform === 'win32' ? absolute(env.USERPROFILE) : undefined);
  const home = override ?? (user === undefined ? undefined : `${user === '/' ? '' : user}/.self-generation`);
  return home === undefined
    ? undefined
    : pathsBelow(home, platform === 'win32' ? 'self-generation.exe' : 'self-generation');
}

/** The home is `~/.self-generation`, 0700. */
function pathsBelow(home: string, executable: string) {
  return {
    home,
    hooks: `${home}/hooks`,
    binary: `${home}/hooks/${executable}`,
    /** Programs that an update has replaced, as long as a process runs one; during an update also the new one. */
    versions: `${home}/hooks/versions`,
    /** Of OpenCode: install puts it there. */
    opencodePlugin: `${home}/opencode-plugin.js`,
    config: `${home}/config.json`,
    manifest: `${home}/install.json`,
    data: `${home}/data`,
    database: `${home}/data/self-gen.db`,
    /** Exists exactly while recordings wait for a writer that gets the lock. */
    spool: `${home}/spool`,
    /** Notes of what sub-agents were given, until a writer takes them in. */
    given: `${home}/given`,
    /** What the sub-agents that start next are to do. */
    tasks: `${home}/tasks`,
    hookLog: `${home}/logs/hooks.log`,
    /** Failures around background runs. */
    runsLog: `${home}/logs/runs.log`,
    /** What the plugin of OpenCode saw and did. */
    opencodeLog: `${home}/logs/opencode.log`,
    /** The last session whose transcript could not be read. */
    unreadNote: `${home}/logs/unread.json`,
    /** Hook scripts that earlier versions wrote for suggestions. Nothing runs them. */
    scripts: `${home}/hooks/auto`,
    /** One file per client event; its content is the time at which the event last came in. */
    heartbeats: `${home}/heartbeats`,
    backups: `${home}/backups`,
    runsDatabase: `${home}/data/runs.db`,
    /** One directory for each background run: prompts, output, the clients' own files. */
    runs: `${home}/runs`,
    /** A file named after each requester that has announcements waiting: hooks look no further without it. */
    inboxMarks: `${home}/inbox`,
    worktrees: `${home}/worktrees`,
    /** Drafts with all their versions, and approved plans. */
    plans: `${home}/plans`,
    /** Summaries of conversations, as a model gave them; the oldest go. */
    summaries: `${home}/summaries`,
    /** What is remembered of conversations: a directory for each requester, a file for each day. */
    memory: `${home}/memory`,
    /** A file for each session of OpenCode from which something was pruned, or kept from being. */
    pruned: `${home}/prune`,
  };
}

function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolutePath(path) ? path.replace(/[\\/]+$/, '') || '/' : undefined;
}

/** Whether a path of either kind of platform starts at a root. */
export function isAbsolutePath(path: string): boolean {
  return path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path) || path.startsWith('\\\\');
}

declare const SELF_GENERATION_VERSION: string | undefined;

/** The version in package.json, written in by the build; from source it is `source`. */
export const VERSION: string =
  typeof SELF_GENERATION_VERSION === 'string' ? SELF_GENERATION_VERSION : 'source';
