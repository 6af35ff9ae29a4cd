import { readRecord, readString } from '../../core/guards.ts';
import { type ClientUser, configIn, homeOf, type Route, RouteRefusal, routed } from './route.ts';

/**
 * What Gemini CLI's settings and the `.env` beside them say of login, address and model, measured with 0.61.0. As a run
 * has a home of its own, each of `files` is also to be linked there, see `agent-login.ts`.
 */
export const geminiRoute = routed(routeOf);

export const GEMINI_LOGIN = {
  /** Names the home; without it, that is the user's. */
  variable: 'GEMINI_CLI_HOME',
  /** Below the home. */
  directory: '.gemini',
  files: ['oauth_creds.json', 'google_accounts.json', 'gemini-credentials.json', 'installation_id'],
  dotenv: '.env',
  /** Says which kind of login is meant, where several could be. */
  kindVariable: 'SELF_GENERATION_GEMINI_LOGIN',
} as const;

/** In a `.env` of the client's directory, where its guide advises to keep them. */
const IN_DOTENV: ReadonlySet<string> = new Set([
  ...['GEMINI_API_KEY', 'GEMINI_MODEL', 'GOOGLE_API_KEY', 'GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION'],
  ...['GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_GCA', 'GOOGLE_APPLICATION_CREDENTIALS'],
  ...['GOOGLE_GEMINI_BASE_URL', 'GOOGLE_VERTEX_BASE_URL', 'CODE_ASSIST_ENDPOINT'],
]);
/** Not all of `GEMINI_*`: GEMINI_SANDBOX moves the prompt to the arguments of a container. */
const OWN: readonly string[] = [
  ...['GEMINI_API_KEY', 'GEMINI_MODEL', 'GEMINI_FORCE_*', 'CODE_ASSIST_ENDPOINT', 'CLOUD_SHELL'],
  ...['GOOGLE_GEMINI_BASE_URL', 'GOOGLE_GENAI_*', 'GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION'],
];
/** Kinds of login that use those of Google's cloud. */
const CLOUD: Readonly<Record<string, readonly string[]>> = {
  'vertex-ai': ['GOOGLE_*', 'CLOUDSDK_*', 'GCLOUD_PROJECT'],
  'compute-default-credentials': ['GOOGLE_*', 'CLOUDSDK_*', 'GCLOUD_PROJECT'],
};

/** The directory that the client takes for its own. */
export function geminiDirectory(user: Pick<ClientUser, 'env' | 'agentDir'>): string {
  return user.agentDir ?? `${user.env[GEMINI_LOGIN.variable] || homeOf(user)}/${GEMINI_LOGIN.directory}`;
}

function routeOf(user: ClientUser): Route {
  const directory = geminiDirectory(user);
  const settings = configIn(`${directory}/settings.json`, user, Bun.JSONC.parse);
  const said = Object.fromEntries(dotenv(directory, user).split('\n').flatMap(variableIn));
  const known = { ...said, ...user.env };
  const asked = readString(readRecord(readRecord(settings, 'security'), 'auth'), 'selectedType');
  const kind = asked || known[GEMINI_LOGIN.kindVariable] || kindOf(known, hasAccount(directory, user));
  const missing = Object.entries(said).filter(([name]) => user.env[name] === undefined);
  return {
    model: known.GEMINI_MODEL ? null : (readString(readRecord(settings, 'model'), 'name') ?? null),
    settings: {},
    env: {
      ...Object.fromEntries(missing),
      ...(kind === undefined ? {} : { [GEMINI_LOGIN.kindVariable]: kind }),
    },
    passedOn: [...OWN, ...(CLOUD[kind ?? ''] ?? [])],
  };
}

/** The client reads one of them, the nearer one. */
function dotenv(directory: string, { read, agentDir, ...user }: ClientUser): string {
  const beside = `${directory}/${GEMINI_LOGIN.dotenv}`;
  try {
    return (
      read(beside) ?? (agentDir === null ? read(`${homeOf(user)}/${GEMINI_LOGIN.dotenv}`) : undefined) ?? ''
    );
  } catch {
    throw new RouteRefusal(`Cannot tell where questions would go: "${beside}" cannot be read`);
  }
}

/** Which kind of login the client would choose by itself: asked for none, it refuses to start in a home without settings. */
function kindOf(env: Readonly<Record<string, string | undefined>>, hasAccount: boolean): string | undefined {
  if (env.GOOGLE_GENAI_USE_GCA === 'true') return 'oauth-personal';
  if (env.GOOGLE_GENAI_USE_VERTEXAI === 'true') return 'vertex-ai';
  if (env.GEMINI_API_KEY) return 'gemini-api-key';
  return hasAccount ? 'oauth-personal' : undefined;
}

function hasAccount(directory: string, { read }: ClientUser): boolean {
  try {
    return read(`${directory}/oauth_creds.json`) !== undefined;
  } catch {
    return true; // It is there; who may read it is the client's to find out.
  }
}

function variableIn(line: string): [string, string][] {
  const [, name, value = ''] = /^\s*(?:export\s+)?(\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
  if (name === undefined || !IN_DOTENV.has(name)) return [];
  return [[name, /^(['"`])(.*)\1$/.exec(value)?.[2] ?? value.replace(/\s#.*$/, '')]];
}
