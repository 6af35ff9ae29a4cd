import { readFileSync } from 'node:fs';

/**
 * Lists hooks as `codex app-server` does, from the hooks.json and config.toml in CODEX_HOME or ~/.codex; started by a shell
 * script of that name. What MUTE names is not answered.
 */

const directory = process.env.CODEX_HOME ?? `${process.env.HOME}/.codex`;
const path = `${directory}/hooks.json`;
const textOf = (file: string, otherwise: string) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return otherwise;
  }
};

type Group = { matcher?: string; hooks: { command: string }[] };

function listed(): object[] {
  const { hooks } = JSON.parse(textOf(path, '{}')) as { hooks?: Record<string, Group[]> };
  const config = Bun.TOML.parse(textOf(`${directory}/config.toml`, '')) as {
    features?: { hooks?: boolean };
    hooks?: { state?: Record<string, { trusted_hash?: string; enabled?: boolean }> };
  };
  if (config.features?.hooks === false) return [];
  return Object.entries(hooks ?? {}).flatMap(([event, groups]) =>
    groups.flatMap((group, at) =>
      group.hooks.map((hook, index) => {
        const name = event.replaceAll(/(?<=.)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
        const key = `${path}:${name}:${at}:${index}`;
        const hash = new Bun.CryptoHasher('sha256')
          .update(JSON.stringify([group.matcher, hook]))
          .digest('hex');
        const { trusted_hash: trusted, enabled = true } = config.hooks?.state?.[key] ?? {};
        const state = trusted === undefined ? 'untrusted' : 'modified';
        const trustStatus = trusted === `sha256:${hash}` ? 'trusted' : state;
        return {
          key,
          command: hook.command,
          sourcePath: path,
          currentHash: `sha256:${hash}`,
          trustStatus,
          enabled,
        };
      }),
    ),
  );
}

const lines = console as unknown as AsyncIterable<string>;
for await (const line of lines) {
  const { id, method } = JSON.parse(line);
  if (id === undefined || method === process.env.MUTE) continue;
  const result = method === 'hooks/list' ? { data: [{ hooks: listed() }] } : {};
  console.log(
    JSON.stringify(method === process.env.REFUSED ? { id, error: { message: 'no' } } : { id, result }),
  );
}
