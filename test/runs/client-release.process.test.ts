import { describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, readFileSync, utimesSync } from 'node:fs';
import { clientNamed } from '../../src/clients/clients.ts';
import { noteRelease, releaseWarning } from '../../src/runs/client-release.ts';
import { spawnRun } from '../../src/runs/spawn.ts';
import { withRuns } from '../../src/runs/store/rows.ts';
import { getRun } from '../../src/runs/store/runs.ts';
import { accepted, runsHome } from './runs-home.ts';

const [MEASURED = ''] = clientNamed('claude').version.measured;

/** A client that prints this as its version and counts how often it was asked. */
function bench() {
  const runs = runsHome();
  const { home } = runs;
  const asked = `${home.path}/asked`;
  const world = { ...runs.idle, env: { ...runs.world.env, PATH: `${home.path}/bin:/usr/bin:/bin` } };
  const install = (version: string, ageSeconds = 0) => {
    const path = home.put('bin/claude', `#!/bin/sh\necho x >> ${asked}\necho "${version}"\n`);
    chmodSync(path, 0o755);
    const at = Date.now() / 1000 - ageSeconds;
    utimesSync(path, at, at);
  };
  install(`${MEASURED} (Claude Code)`, 100);
  return {
    ...runs,
    world,
    install,
    timesAsked: () => (existsSync(asked) ? readFileSync(asked, 'utf8').split('\n').length - 1 : 0),
    spawn: (task: string) => accepted(spawnRun({ task, worktree: 'always' }, runs.requester, world)),
    warning: (runId: string) => withRuns(home.paths, (db) => getRun(runId, db)?.run.warning ?? null),
  };
}

describe('a client that is installed', () => {
  test('is asked for its release once, and not by the spawn', async () => {
    await using made = bench();
    const { runId } = made.spawn('one');
    expect(made.timesAsked()).toBe(0);
    await noteRelease(runId, made.world);
    await noteRelease(made.spawn('two').runId, made.world);
    expect(made.timesAsked()).toBe(1);
    expect(made.warning(runId)).toBeNull();
    expect(releaseWarning(clientNamed('claude'), made.world)).toBeNull();
  });

  test('is asked again when the program is another; a new release is told by its first run and by the later ones', async () => {
    await using made = bench();
    await noteRelease(made.spawn('one').runId, made.world);
    made.install('99.1.0 (Claude Code)');
    const { runId, warning } = made.spawn('two');
    expect(warning).toBeUndefined();
    await noteRelease(runId, made.world);
    const words = `claude 99.1.0 is new here; this program was tried with ${MEASURED}`;
    expect(made.warning(runId)).toBe(words);
    expect(made.spawn('three').warning).toBe(words);
    expect(made.timesAsked()).toBe(2);
  });

  test('is told to be unknown when it does not say', async () => {
    await using made = bench();
    made.install('no version at all');
    const { runId } = made.spawn('one');
    await noteRelease(runId, made.world);
    expect(made.warning(runId)).toStartWith('the version of claude is unknown; ');
  });
});
