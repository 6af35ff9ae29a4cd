/** Where everything of ours lives: every path of the product comes from here. */
export type StatePaths = {
  /** `~/.self-generation`, 0700. */
  readonly home: string;
  readonly hooks: string;
  readonly binary: string;
  readonly config: string;
  readonly manifest: string;
  readonly data: string;
  readonly database: string;
  /** Exists exactly while recordings wait for a writer that gets the lock. */
  readonly spool: string;
  /** Notes of what sub-agents were given, until a writer takes them in. */
  readonly given: string;
  /** What the sub-agents that start next are to do. */
  readonly tasks: string;
  readonly hookLog: string;
  /** Failures around background runs. */
  readonly runsLog: string;
  /** The last session whose transcript could not be read. */
  readonly unreadNote: string;
  /** Hook scripts that an earlier implementation generated. Nothing runs them. */
  readonly scripts: string;
  /** One file per client event; its content is the time at which the event last came in. */
  readonly heartbeats: string;
  readonly backups: string;
  readonly runsDatabase: string;
  /** One directory for each background run: prompts, output, the clients' own files. */
  readonly runs: string;
  /** A file named after each requester that has announcements waiting: hooks look no further without it. */
  readonly inboxMarks: string;
  readonly worktrees: string;
};

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The paths for this environment, or undefined when no home directory is known. `SELF_GENERATION_HOME` (absolute)
 * overrides. A relative value is ignored: it would be resolved inside whatever repository the user is in.
 */
export function statePaths(env: Environment, platform: string): StatePaths | undefined {
  const override = absolute(env.SELF_GENERATION_HOME);
  const user = absolute(env.HOME) ?? (platform === 'win32' ? absolute(env.USERPROFILE) : undefined);
  const home = override ?? (user === undefined ? undefined : `${user === '/' ? '' : user}/.self-generation`);
  if (home === undefined) return undefined;
  const executable = platform === 'win32' ? 'self-generation.exe' : 'self-generation';
  return {
    home,
    hooks: `${home}/hooks`,
    binary: `${home}/hooks/${executable}`,
    config: `${home}/config.json`,
    manifest: `${home}/install.json`,
    data: `${home}/data`,
    database: `${home}/data/self-gen.db`,
    spool: `${home}/spool`,
    given: `${home}/given`,
    tasks: `${home}/tasks`,
    hookLog: `${home}/logs/hooks.log`,
    runsLog: `${home}/logs/runs.log`,
    unreadNote: `${home}/logs/unread.json`,
    scripts: `${home}/hooks/auto`,
    heartbeats: `${home}/heartbeats`,
    backups: `${home}/backups`,
    runsDatabase: `${home}/data/runs.db`,
    runs: `${home}/runs`,
    inboxMarks: `${home}/inbox`,
    worktrees: `${home}/worktrees`,
  };
}

function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolutePath(path) ? path.replace(/[\\/]+$/, '') || '/' : undefined;
}

/** Whether a path of either kind of platform starts at a root. */
export function isAbsolutePath(path: string): boolean {
  return path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path) || path.startsWith('\\\\');
}
