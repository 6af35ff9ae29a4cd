import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { startOnTerminal } from '../../support/terminal.ts';
import { runsHome } from '../runs-home.ts';

/** What a person is told of a result that nobody took; terminals are real. */

setDefaultTimeout(60_000);

const MAIN = resolve(import.meta.dir, '../../../src/main.ts');
const RAW = { mode: 'raw' };

describe('a result that nobody has taken', () => {
  test('is told to the program of the settings, without a shell and without what the sub-agent said', async () => {
    await using made = runsHome({ announce: RAW });
    const program = `${made.home.path}/tell`;
    const noted = `${made.home.path}/noted`;
    writeFileSync(program, `#!/bin/sh\nfor word; do echo "<$word>" >> ${noted}; done\n`);
    chmodSync(program, 0o755);
    made.home.writeConfig({ announce: RAW, notify: { command: [program, '$(id)', 'x'] } });
    made.spawn({ task: '[[answer secret words]]', label: 'tests' });
    await made.until(
      'somebody is told',
      () => existsSync(noted) && readFileSync(noted, 'utf8').includes('#1'),
    );
    expect(readFileSync(noted, 'utf8')).toBe('<$(id)>\n<x>\n<Sub-agent #1 "tests": success>\n');
  });

  test('is noted in the log where that program cannot be started', async () => {
    await using made = runsHome({ announce: RAW, notify: { command: ['/no/such/program'] } });
    made.spawn({ task: 'work' });
    const { runsLog } = made.home.paths;
    await made.until('it is noted', () => existsSync(runsLog) && readFileSync(runsLog, 'utf8') !== '');
    expect(readFileSync(runsLog, 'utf8')).toContain('Cannot notify with');
  });

  test('rings in the terminal in which the run was asked for, unless somebody waited for it there', async () => {
    await using made = runsHome({ announce: RAW });
    const program = `${process.execPath} ${MAIN}`;
    const script = [
      `${program} subagents spawn --label waited --wait '[[slow 100]] work'`,
      `${program} subagents spawn --label left '[[slow 100]] work'`,
      'sleep 30',
    ].join('; ');
    const env = { ...made.world.env, NO_COLOR: '1' };
    await using shell = startOnTerminal(['sh', '-c', script], { cwd: made.project, env });
    await made.until('it rings', () => shell.bytes().includes('\x1b]9;'));
    expect(shell.bytes()).toContain('\x1b]9;Sub-agent #2 "left": success\x1b\\\x07');
    expect(shell.bytes()).not.toContain('Sub-agent #1');
  });
});
