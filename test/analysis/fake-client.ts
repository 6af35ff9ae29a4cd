import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A `claude`, or another program, that answers, fails or hangs as it is told; the real one is in test/clients. */
export type FakeClient = {
  /** For the PATH. */
  readonly directory: string;
  /** What it was given, call by call. */
  readonly calls: () => readonly FakeCall[];
};

export type FakeCall = Readonly<Record<'stdin' | 'args' | 'env' | 'where', string>>;

/** `text`: an answer as Claude Code wraps it. `raw`: what else it may print. `hang`: it has to be ended, with what it has started, also in another session. */
export type FakeTurn =
  | { readonly text: string; readonly costUsd?: number }
  | { readonly raw: string; readonly exitCode: number }
  | 'hang';

/** Makes the program; the last turn is repeated. */
export function makeFakeClient(root: string, turns: readonly FakeTurn[], name = 'claude'): FakeClient {
  const directory = join(root, 'fake-bin');
  const state = join(root, 'fake-state');
  for (const path of [directory, state]) mkdirSync(path, { recursive: true });
  turns.forEach((turn, index) => {
    const last = index === turns.length - 1 ? 'last' : `${index + 1}`;
    writeFileSync(join(state, `turn-${last}`), bodyOf(turn));
    const code = typeof turn === 'object' && 'raw' in turn ? turn.exitCode : 0;
    writeFileSync(join(state, `code-${last}`), String(code));
  });
  const program = join(directory, name);
  writeFileSync(
    program,
    `#!/bin/sh
S='${state}'
n=$(( $(ls "$S" | grep -c '^stdin-') + 1 ))
cat > "$S/stdin-$n"
printf '%s\\n' "$@" > "$S/args-$n"
env > "$S/env-$n"
{ pwd; ls -A; stat -c %a .; } > "$S/where-$n"
t=$n; [ -e "$S/turn-$t" ] || t=last
if grep -q '^hang$' "$S/turn-$t"; then sleep 600 & setsid sleep 600 & wait; fi
cat "$S/turn-$t"
exit "$(cat "$S/code-$t")"
`,
  );
  chmodSync(program, 0o755);
  const read = (name: string) => readFileSync(join(state, name), 'utf8');
  const calls = () =>
    readdirSync(state)
      .filter((name) => name.startsWith('where-'))
      .map((name) => Number(name.slice('where-'.length)))
      .sort((left, right) => left - right)
      .map((n) => ({
        stdin: read(`stdin-${n}`),
        args: read(`args-${n}`),
        env: read(`env-${n}`),
        where: read(`where-${n}`),
      }));
  return { directory, calls };
}

function bodyOf(turn: FakeTurn): string {
  if (turn === 'hang') return 'hang\n';
  if ('raw' in turn) return turn.raw;
  return JSON.stringify({
    ...{ type: 'result', subtype: 'success', is_error: false, num_turns: 1, stop_reason: 'end_turn' },
    result: turn.text,
    total_cost_usd: turn.costUsd ?? 0.01,
    usage: { input_tokens: 100, output_tokens: 10 },
    modelUsage: { 'claude-sonnet-5-5': { outputTokens: 10 } },
  });
}
