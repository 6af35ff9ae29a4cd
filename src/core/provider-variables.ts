import { type Json, readRecord } from './guards.ts';

/** The variables from which the user's configuration of a client takes keys, by the names that the user has chosen. */

/** Those of one provider in Codex' config.toml. */
export function codexVariables(provider: Json): string[] {
  return [provider.env_key, ...Object.values(readRecord(provider, 'env_http_headers'))].filter(
    (name): name is string => typeof name === 'string' && /^\w+$/.test(name),
  );
}

/** Those that OpenCode is to put into its configuration, whose text this is; none of our own. */
export function opencodeVariables(text: string): string[] {
  const names = [...text.matchAll(/\{env:(\w+)\}/g)].map(([, name = '']) => name);
  return [...new Set(names)].filter((name) => !name.startsWith('SELF_GENERATION_'));
}
