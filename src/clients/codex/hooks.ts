import { asRecord, isRecord, type Json, parseJson, readRecords, readString } from '../../core/guards.ts';
import type { Environment } from '../../core/state-paths.ts';
import type { RunCommand } from '../../system/run-command.ts';

/** What Codex says of the hooks that it knows: it passes over those that its user has not approved, and says nothing. */

/** A hook as Codex lists it. */
export type ListedHook = {
  /** `<path of hooks.json>:<event>:<group>:<entry>`, under which its state stands in config.toml. */
  readonly key: string;
  readonly command: string;
  /** The file that it is registered in. */
  readonly path: string;
  /** Of what is registered, as Codex computes it. */
  readonly hash: string;
  /** `modified`: it is not what was approved. */
  readonly trust: 'managed' | 'untrusted' | 'trusted' | 'modified';
  readonly isEnabled: boolean;
};

const TRUST: readonly unknown[] = [
  'managed',
  'untrusted',
  'trusted',
  'modified',
] satisfies ListedHook['trust'][];
const TIME_LIMIT_MS = 10_000;
const LIST_ID = 2;
/** Else it begins to fetch its plugins from a server. A version without that feature says so and goes on. */
const NO_PLUGINS = ['-c', 'features.plugins=false'];

/**
 * Asks the program for its hooks: `codex app-server`, JSON-RPC over standard input and output (measured with 0.169.0; takes a
 * quarter of a second, and no network). @throws Error that says why there is no answer.
 */
export async function listHooks(
  program: string,
  { env, cwd, run }: { readonly env: Environment; readonly cwd: string; readonly run: RunCommand },
): Promise<ListedHook[]> {
  const clientInfo = { name: 'self-generation', version: '1' };
  const requests = [
    { id: 1, method: 'initialize', params: { clientInfo } },
    { method: 'initialized' },
    { id: LIST_ID, method: 'hooks/list', params: { cwds: [cwd] } },
  ];
  const end = await run(program, ['app-server', ...NO_PLUGINS], {
    ...{ env, cwd, timeoutMs: TIME_LIMIT_MS },
    stdin: requests.map((request) => `${JSON.stringify(request)}\n`).join(''),
    isAnswered: (stdout) => answerIn(stdout) !== undefined,
  });
  const answer = end.kind === 'exited' ? answerIn(end.stdout) : undefined;
  const { error, result } = answer ?? {};
  if (isRecord(result))
    return readRecords(result.data).flatMap(({ hooks }) => readRecords(hooks).flatMap(hookIn));
  const reason = {
    exited: readString(asRecord(error), 'message') ?? 'it does not answer',
    failed: end.kind === 'failed' ? end.reason : '',
    'timed-out': `it took longer than ${TIME_LIMIT_MS / 1000} seconds`,
  }[end.kind];
  throw new Error(`"${program} app-server" does not list its hooks: ${reason}`);
}

function answerIn(stdout: string): Json | undefined {
  return stdout
    .split('\n')
    .map(parseJson)
    .find((line): line is Json => isRecord(line) && line.id === LIST_ID);
}

function hookIn(hook: Json): ListedHook[] {
  const [key, command, path, hash] = ['key', 'command', 'sourcePath', 'currentHash'].map((name) =>
    readString(hook, name),
  );
  if (key === undefined || command === undefined || path === undefined || hash === undefined) return [];
  if (!TRUST.includes(hook.trustStatus)) return [];
  const trust = hook.trustStatus as ListedHook['trust'];
  return [{ key, command, path, hash, trust, isEnabled: hook.enabled === true }];
}
