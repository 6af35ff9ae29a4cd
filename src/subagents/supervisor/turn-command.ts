import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PASSED_ON } from '../../clients/one-shot.ts';
import type { TurnCommand } from '../../clients/runs/run-client.ts';
import type { TurnFiles } from '../../core/runs/run-files.ts';
import type { Turn } from '../../core/runs/turn.ts';
import type { Environment } from '../../core/state-paths.ts';
import { markerOf } from './turn-client.ts';

const PRIVATE_FILE = { mode: 0o600 } as const;
const PRIVATE_DIRECTORY = { mode: 0o700, recursive: true } as const;
/** Where everything of ours is, for a command of ours that the client may run: it has to find itself refused there. */
const OWN_VARIABLES = ['SELF_GENERATION_HOME'];

/** Writes what the client finds at its start: its prompt, its private directory, empty files for what it says. */
export function writeTurnFiles(files: TurnFiles, command: TurnCommand): void {
  mkdirSync(files.directory, PRIVATE_DIRECTORY);
  makeEmpty(files);
  for (const name of command.keeps ?? []) linkKept(files, name);
  writeFileSync(files.prompt, command.stdin, PRIVATE_FILE);
  for (const [name, text] of Object.entries(command.files)) {
    const path = join(files.home, name);
    mkdirSync(dirname(path), PRIVATE_DIRECTORY);
    writeFileSync(path, text, PRIVATE_FILE);
  }
}

/** An earlier try of the same turn leaves nothing behind. */
function makeEmpty(files: TurnFiles): void {
  for (const path of [files.output, files.errors]) {
    rmSync(path, { force: true });
    writeFileSync(path, '', PRIVATE_FILE);
  }
  rmSync(files.home, { recursive: true, force: true });
  mkdirSync(files.home, PRIVATE_DIRECTORY);
}

/** A directory that stays when the turn's own goes; a junction, as links are not for everybody on Windows. */
function linkKept(files: TurnFiles, name: string): void {
  const kept = join(files.kept, name);
  const link = join(files.home, name);
  for (const directory of [kept, dirname(link)]) mkdirSync(directory, PRIVATE_DIRECTORY);
  symlinkSync(kept, link, 'junction');
}

/** What the client's environment holds: of ours only what is on a list, so that no secret of others goes along. */
export function clientEnvironment(
  turn: Pick<Turn, 'runId' | 'number'>,
  command: TurnCommand,
  env: Environment,
): Environment {
  const names = [...PASSED_ON, ...OWN_VARIABLES, ...command.passedOn];
  const isPassedOn = (name: string) =>
    names.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one));
  const marker = markerOf(turn);
  return {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => isPassedOn(name))),
    ...command.env,
    SELF_GENERATION_INTERNAL: '1',
    [marker.name]: marker.value,
  };
}
