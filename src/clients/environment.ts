import type { Environment } from '../core/state-paths.ts';

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
 * Set for every client. Hooks of ours end at once when they see the first, so that an analysis never feeds on itself;
 * what the client leaves in its temporary directory, the prompt among it, goes with the private one.
 */
export function commonEnv(directory: string): Readonly<Record<string, string>> {
  return { SELF_GENERATION_INTERNAL: '1', TMPDIR: directory, TMP: directory, TEMP: directory };
}

/** The variables of these names; a name that ends with `*` stands for all that begin so. */
export function variablesNamed(env: Environment, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && isNamed(entry[0], names),
    ),
  );
}

/** Whether a variable is among these names. */
export function isNamed(variable: string, names: readonly string[]): boolean {
  return names.some((one) => (one.endsWith('*') ? variable.startsWith(one.slice(0, -1)) : variable === one));
}
