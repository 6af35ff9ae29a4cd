import { isRecord, parseJson, readRecord, readString } from '../../core/guards.ts';

/**
 * Where the login of Gemini CLI is: for `agent-login.ts`. As a run has a home of its own (`TurnRequest.directory`), the
 * login has to be brought there before each turn: each of `files` that is in `directory` of the agent, or else of the user,
 * as a symbolic link of the same name in `directory` of the run, and what `geminiLoginEnv` says as environment.
 */
export const GEMINI_LOGIN = {
  /** Names the home; without it, that is the user's. */
  variable: 'GEMINI_CLI_HOME',
  /** Below the home. */
  directory: '.gemini',
  files: ['oauth_creds.json', 'google_accounts.json', 'gemini-credentials.json', 'installation_id'],
  /** Below `directory`; for `geminiLoginEnv`. */
  settings: 'settings.json',
  dotenv: '.env',
  /** Says which kind of login is meant, where several could be. */
  kindVariable: 'SELF_GENERATION_GEMINI_LOGIN',
} as const;

/** In a `.env` of the client's directory, where its guide advises to keep them. */
const VARIABLES: ReadonlySet<string> = new Set([
  ...['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION'],
  ...['GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_GCA', 'GOOGLE_APPLICATION_CREDENTIALS'],
  'GOOGLE_GEMINI_BASE_URL',
]);

/** What the texts of the client's settings and of its `.env` say of the login; variables of the caller are stronger. */
export function geminiLoginEnv(settings: string, dotenv: string): Readonly<Record<string, string>> {
  const value = parseJson(settings);
  const kind = isRecord(value)
    ? readString(readRecord(readRecord(value, 'security'), 'auth'), 'selectedType')
    : undefined;
  return {
    ...Object.fromEntries(dotenv.split('\n').flatMap(variableIn)),
    ...(kind === undefined ? {} : { [GEMINI_LOGIN.kindVariable]: kind }),
  };
}

/**
 * Which kind of login the client would choose by itself: asked for none, it refuses to start in a home without settings.
 * `hasAccount`: a Google account has logged in.
 */
export function geminiLoginKind(
  env: Readonly<Record<string, string | undefined>>,
  hasAccount: boolean,
): string | undefined {
  if (env.GOOGLE_GENAI_USE_GCA === 'true') return 'oauth-personal';
  if (env.GOOGLE_GENAI_USE_VERTEXAI === 'true') return 'vertex-ai';
  if (env.GEMINI_API_KEY) return 'gemini-api-key';
  return hasAccount ? 'oauth-personal' : undefined;
}

function variableIn(line: string): [string, string][] {
  const [, name, value = ''] = /^\s*(?:export\s+)?(\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
  if (name === undefined || !VARIABLES.has(name)) return [];
  return [[name, /^(['"`])(.*)\1$/.exec(value)?.[2] ?? value.replace(/\s#.*$/, '')]];
}
