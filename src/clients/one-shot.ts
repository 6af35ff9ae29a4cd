import type { ClientName } from '../core/client-name.ts';
import type { ClientUser, Route, Routed } from './routes/route.ts';

/**
 * Asking a model once through a command-line client: a prompt in, a text out. No tool is offered, no hook runs, nothing
 * of the project is read. What a client cannot switch off stands in its own file.
 */

export type OneShotRequest = {
  readonly prompt: string;
  /** As the client names its models; without one the client chooses. */
  readonly model: string | undefined;
  /** Where the user's own client sends questions to. */
  readonly route: Route;
  /** Kept to by clients that can; see `canSetBudget`. */
  readonly budgetUsd: number | undefined;
  /** An empty private directory: the child's working directory, which also takes `files`. */
  readonly directory: string;
};

/** What is to be run, and around it. The prompt is in `stdin` alone. */
export type OneShotCommand = {
  readonly program: string;
  readonly args: readonly string[];
  readonly stdin: string;
  /** By their paths below the directory; to be written, readable by the user only, before the start. */
  readonly files: Readonly<Record<string, string>>;
  /** Added to what is passed on, and stronger. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables which the client needs of the caller's environment: names, and beginnings that end in `*`. */
  readonly passedOn: readonly string[];
};

/** `inputTokens` include what came from a cache, `outputTokens` what the model thought; null: the client does not say. */
export type Usage = {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly costUsd: number | null;
  readonly model: string | null;
};

export type OneShotAnswer =
  | { readonly kind: 'answered'; readonly text: string; readonly usage: Usage }
  /** `reason`: one line in the client's own words where it has any. */
  | { readonly kind: 'failed'; readonly reason: string; readonly usage: Usage };

/** How the client ended. `code` is null when a signal ended it. */
export type ClientEnd = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

export type OneShotClient = {
  readonly name: ClientName;
  /** The name under which the client is found on the PATH. */
  readonly program: string;
  readonly canSetBudget: boolean;
  readonly route: (user: ClientUser, model: string | null) => Routed;
  readonly command: (request: OneShotRequest) => OneShotCommand;
  /** Answered only when the client itself says that it came to a good end. Never throws. */
  readonly readAnswer: (end: ClientEnd) => OneShotAnswer;
};

/** Takes the place of the client's own instructions, which speak of tools that are not there. */
export const INSTRUCTIONS =
  'Answer from the prompt alone. You have no tools, no files and no network, and nobody can be asked. ' +
  'Give the whole answer at once, in the form that the prompt asks for.';

/**
 * Set for every client. Hooks of ours end at once when they see the first, so that an analysis never feeds on itself;
 * what the client leaves in its temporary directory, the prompt among it, goes with the private one.
 */
export function commonEnv(directory: string): Readonly<Record<string, string>> {
  return { SELF_GENERATION_INTERNAL: '1', TMPDIR: directory, TMP: directory, TEMP: directory };
}

/** What every client needs: its programs, the user's home with the login, language, certificates and the way out. */
export const PASSED_ON: readonly string[] = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_*', 'TZ', 'XDG_*'],
  ...[
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'ALL_PROXY',
    'NO_PROXY',
    'http_proxy',
    'https_proxy',
    'all_proxy',
    'no_proxy',
  ],
  ...['NODE_EXTRA_CA_CERTS', 'NODE_USE_SYSTEM_CA', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
  // The way to the keyring that may hold the login.
  'DBUS_SESSION_BUS_ADDRESS',
  ...[
    'Path',
    'SystemRoot',
    'SystemDrive',
    'ComSpec',
    'PATHEXT',
    'USERNAME',
    'USERPROFILE',
    'HOMEDRIVE',
    'HOMEPATH',
  ],
  ...['APPDATA', 'LOCALAPPDATA', 'ProgramData', 'ProgramFiles'],
];
