import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { currentConversation, type PartRun, partRuns } from '../../../src/runs/store/parts.ts';
import { readRuns } from '../../../src/runs/store/rows.ts';
import { PATH, runsHome } from '../../runs/runs-home.ts';
import { BINARY, ROOT } from '../../support/program.ts';

export type Talk = ReturnType<typeof talkHome>;

/** A project in a home of its own, in which a person talks to the main agent: the built program, stand-ins for the clients. */
export function talkHome(settings: object = {}) {
  const here = runsHome({ language: 'en', announce: { mode: 'raw' }, ...settings });
  mkdirSync(`${here.project}/.git`);
  const bin = `${here.home.path}/bin`;
  mkdirSync(bin);
  writeFileSync(
    `${bin}/codex`,
    `#!/bin/sh\nexec bun '${ROOT}/test/fixtures/fake-codex.ts' '${bin}/codex-says' "$@"\n`,
  );
  chmodSync(`${bin}/codex`, 0o755);
  const env = { HOME: here.home.path, PATH: `${bin}:${PATH}`, LANG: 'C.UTF-8' };
  /** Starts the program, or a line of a shell that has it as `self-generation`. */
  const start = (words: readonly string[], more: Record<string, string> = {}) =>
    Bun.spawn([BINARY, ...words], {
      ...{ cwd: here.project, env: { ...env, ...more } },
      ...{ stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
    });
  const ended = async (child: ReturnType<typeof start>) => {
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { stdout, stderr, code };
  };
  const parts = (): readonly PartRun[] =>
    readRuns(here.home.paths, (db) => {
      const current = currentConversation(here.requester.key, db);
      return current === undefined ? [] : partRuns({ kind: 'conversation', id: current.id }, db);
    }) ?? [];
  return {
    ...here,
    env,
    start,
    ended,
    /** The runs of the current conversation. */
    parts,
    /** Its turns, in the order in which they were asked for. */
    said: () =>
      parts()
        .flatMap(({ turns }) => turns)
        .toSorted((one, other) => one.position - other.position),
    call: (...words: string[]) => ended(start(words)),
    /** A line of a shell, in which the program is $P. */
    shell: async (line: string) => {
      const options = {
        cwd: here.project,
        env: { ...env, P: BINARY },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      } as const;
      return ended(Bun.spawn(['sh', '-c', line], options));
    },
    /** What Codex says where nothing else is asked for. */
    codexSays: (text: string) => writeFileSync(`${bin}/codex-says`, text),
    /** What the clients of all turns were given. */
    prompts: (): string[] =>
      readdirSync(here.home.paths.runs).flatMap((run) =>
        readdirSync(`${here.home.paths.runs}/${run}`)
          .filter((name) => name.endsWith('.prompt'))
          .sort()
          .map((name) => readFileSync(`${here.home.paths.runs}/${run}/${name}`, 'utf8')),
      ),
    [Symbol.asyncDispose]: here[Symbol.asyncDispose],
  };
}
