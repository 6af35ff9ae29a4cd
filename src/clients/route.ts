import { definedOnly, type Json } from '../core/guards.ts';
import type { Environment } from '../core/state-paths.ts';

/**
 * Where a client of the user's sends what it is asked: provider, address, model, login. A client that we start is kept
 * from most of the user's configuration, so this part of it is read here and carried over, or nothing is started.
 */
export type Route = {
  /** The model that the user's configuration names; null: the client chooses, as it would without us. */
  readonly model: string | null;
  /** For the client's configuration, in its own terms; may be seen by everybody on the machine where it has to be. */
  readonly settings: Json;
  /** Keys that stand in the user's configuration, by the variables in which the client is given them. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables of the caller that belong to this route: names, and beginnings that end in `*`. */
  readonly passedOn: readonly string[];
};

/** The user of a client, as far as it says where questions go. */
export type ClientUser = {
  readonly env: Environment;
  /** The directory of an agent's own login, in the layout of the client's own directory; null: the user's. */
  readonly agentDir: string | null;
  /** Where the client is to work; null: in an empty directory. */
  readonly cwd: string | null;
  /** The text of a file, undefined where there is none. @throws Error when there is one that cannot be read. */
  readonly read: (path: string) => string | undefined;
};

/** A setting because of which nothing may be sent. */
export class RouteRefusal extends Error {}

/** Why nothing may be sent, or null. `ask` asks a client for its route. */
export function refusalOf(ask: () => unknown): string | null {
  try {
    ask();
    return null;
  } catch (error) {
    if (error instanceof RouteRefusal) return error.message;
    throw error;
  }
}

/** What of the caller's environment a client is given: what is on a list, so that no secret of others goes along. */

/** What every client needs: its programs, the user's home with the login, language, certificates and the way out. */
export const PASSED_ON: readonly string[] = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_*', 'TZ', 'XDG_*'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'],
  ...['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'],
  ...['NODE_EXTRA_CA_CERTS', 'NODE_USE_SYSTEM_CA', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
  'DBUS_SESSION_BUS_ADDRESS', // The way to the keyring that may hold the login.
  ...['Path', 'SystemRoot', 'SystemDrive', 'ComSpec', 'PATHEXT', 'USERNAME', 'USERPROFILE'],
  ...['HOMEDRIVE', 'HOMEPATH', 'APPDATA', 'LOCALAPPDATA', 'ProgramData', 'ProgramFiles'],
];

/**
 * What a sub-agent needs besides, which unlike the model alone runs commands: where everything of ours is, so that a
 * command of ours finds itself refused there, and where tools of ordinary builds are. The agent that holds the user's
 * keys is not among them: who can ask it is the user on other machines. Named one by one, since what begins like these
 * may be a token (`CARGO_REGISTRY_TOKEN`, `NPM_CONFIG_…`).
 */
export const FOR_COMMANDS: readonly string[] = [
  ...['SELF_GENERATION_HOME', 'SHELL'],
  ...['JAVA_HOME', 'JDK_HOME', 'MAVEN_HOME', 'M2_HOME', 'GRADLE_HOME', 'GRADLE_USER_HOME', 'SDKMAN_DIR'],
  ...['ANDROID_HOME', 'ANDROID_SDK_ROOT', 'ANDROID_NDK_HOME', 'KOTLIN_HOME', 'DOTNET_ROOT', 'DEVELOPER_DIR'],
  ...['GOPATH', 'GOROOT', 'GOBIN', 'GOCACHE', 'GOMODCACHE', 'GOTOOLCHAIN', 'GOPRIVATE'],
  ...['CARGO_HOME', 'CARGO_TARGET_DIR', 'RUSTUP_HOME', 'RUSTUP_TOOLCHAIN'],
  ...['VIRTUAL_ENV', 'CONDA_PREFIX', 'CONDA_DEFAULT_ENV', 'CONDA_EXE', 'PYENV_ROOT', 'PYENV_VERSION'],
  ...['PIPX_HOME', 'POETRY_HOME', 'UV_CACHE_DIR', 'PIP_CACHE_DIR'],
  ...['NVM_DIR', 'NVM_BIN', 'FNM_DIR', 'VOLTA_HOME', 'N_PREFIX', 'PNPM_HOME', 'COREPACK_HOME', 'BUN_INSTALL'],
  ...['DENO_DIR', 'DENO_INSTALL', 'ASDF_DIR', 'ASDF_DATA_DIR', 'MISE_DATA_DIR', 'MISE_CONFIG_DIR'],
  ...['RBENV_ROOT', 'RBENV_VERSION', 'GEM_HOME', 'GEM_PATH', 'COMPOSER_HOME', 'PUB_CACHE', 'FLUTTER_ROOT'],
  ...['CC', 'CXX', 'PKG_CONFIG_PATH', 'CMAKE_PREFIX_PATH', 'CCACHE_DIR', 'HOMEBREW_PREFIX', 'NIX_PROFILES'],
  ...['REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'PIP_CERT', 'NIX_SSL_CERT_FILE', 'CARGO_HTTP_CAINFO'],
];

/** The variables of these names; a name that ends with `*` stands for all that begin so. */
export function variablesNamed(env: Environment, names: readonly string[]): Record<string, string> {
  return definedOnly(Object.fromEntries(Object.entries(env).filter(([name]) => isNamed(name, names))));
}

/** Whether a variable is among these names. */
export function isNamed(variable: string, names: readonly string[]): boolean {
  return names.some((one) => (one.endsWith('*') ? variable.startsWith(one.slice(0, -1)) : variable === one));
}
