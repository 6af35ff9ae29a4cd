import { describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { attachMark } from '../../../src/runs/model/run.ts';
import { setArchived } from '../../../src/runs/store/rows.ts';
import { changeRun, getRun } from '../../../src/runs/store/runs.ts';
import { identityNow, identityText } from '../../../src/system/process-identity.ts';
import type { ClientName } from '../../support/clients.ts';
import { refused, said } from '../call.ts';
import { NOW_MS, newShelf } from './shelf.ts';

/** Run 1 with a session of this client, which writes down how it is called. */
function shelfWith(client: ClientName, { agentDir = null as string | null, isOver = true } = {}) {
  const shelf = newShelf();
  const turn = shelf.start({ client, agentDir, cwd: shelf.project, archiveAfterMs: 3_600_000 });
  shelf.write((db) => changeRun(turn.runId, { sessionId: 'session-1' }, db));
  if (isOver) shelf.end(turn);
  const seen = `${shelf.home.path}/seen`;
  shelf.home.put(
    `bin/${client}`,
    `#!/bin/sh\n{ pwd; printf '%s\\n' "$@"; /usr/bin/env; } > '${seen}'\nexit 7\n`,
  );
  chmodSync(`${shelf.home.path}/bin/${client}`, 0o755);
  const kept = `${shelf.home.paths.runs}/${turn.runId}/turn-0.home`;
  return { ...shelf, turn, kept, seen: () => (existsSync(seen) ? readFileSync(seen, 'utf8') : undefined) };
}

const ON_TERMINAL = { isInteractive: true };

describe('subagents attach', () => {
  const commands: [client: ClientName, agentDir: string | null, command: (kept: string) => string][] = [
    ['claude', null, () => 'claude --resume session-1'],
    ['claude', '/a/claude', () => 'env CLAUDE_CONFIG_DIR=/a/claude claude --resume session-1'],
    ['codex', null, () => 'codex resume session-1'],
    ['codex', '/a b/codex', () => `env 'CODEX_HOME=/a b/codex' codex resume session-1`],
    ['gemini', null, (kept) => `env GEMINI_CLI_HOME=${kept} gemini --resume session-1`],
    [
      'opencode',
      null,
      (kept) => `env OPENCODE_DB=${kept}/opencode-sessions/opencode.db opencode --session session-1`,
    ],
  ];
  for (const [client, agentDir, command] of commands) {
    test(`prints how ${client} goes on${agentDir === null ? '' : ` with the login in ${agentDir}`}`, async () => {
      using shelf = shelfWith(client, { agentDir });
      expect(await shelf.call(['attach', '1', '--print'], ON_TERMINAL)).toEqual(
        said(`cd ${shelf.project} && ${command(shelf.kept)}\n`),
      );
      // Without a terminal nothing is started either.
      expect((await shelf.call(['attach', '1'])).stdout).toContain(command(shelf.kept));
      expect(shelf.seen()).toBeUndefined();
    });
  }

  test("takes the caller's own login away from one that has a login of its own", async () => {
    using shelf = shelfWith('claude', { agentDir: '/a' });
    const env = { HOME: shelf.home.path, PATH: `${shelf.home.path}/bin`, ANTHROPIC_API_KEY: 'key' };
    expect(await shelf.json<object>(['attach', '1'], { env })).toMatchObject({
      ...{ number: 1, client: 'claude', sessionId: 'session-1', cwd: shelf.project },
      command: ['claude', '--resume', 'session-1'],
      env: { CLAUDE_CONFIG_DIR: '/a' },
      unset: ['ANTHROPIC_API_KEY'],
    });
    const { stdout } = await shelf.call(['attach', '1', '--print'], { env });
    expect(stdout).toContain('env -u ANTHROPIC_API_KEY CLAUDE_CONFIG_DIR=/a claude');
    expect(stdout).not.toContain('key');
  });

  test('starts it on a terminal where the run worked, with the exit code of the client', async () => {
    using shelf = shelfWith('opencode');
    expect(await shelf.call(['attach', '1'], ON_TERMINAL)).toEqual(refused(7, ''));
    expect(shelf.seen()).toStartWith(`${shelf.project}\n--session\nsession-1\n`);
    expect(shelf.seen()).toContain(`\nOPENCODE_DB=${shelf.kept}/opencode-sessions/opencode.db\n`);
    // It is not put away while somebody sits in it.
    const archiveAtMs = shelf.write((db) => getRun(shelf.turn.runId, db)?.run.archiveAtMs);
    expect(archiveAtMs).toBe(NOW_MS + 86_400_000);
  });

  test('of Gemini brings what the user has configured to the session, and leaves the session alone', async () => {
    using shelf = shelfWith('gemini');
    for (const name of ['settings.json', '.env', 'projects.json', 'tmp/app/logs.json'])
      shelf.home.put(`.gemini/${name}`, '');
    mkdirSync(`${shelf.kept}/.gemini/tmp`, { recursive: true });
    for (let time = 0; time < 2; time++)
      expect((await shelf.call(['attach', '1'], ON_TERMINAL)).code).toBe(7);
    expect(shelf.seen()).toContain(`\nGEMINI_CLI_HOME=${shelf.kept}\n`);
    for (const name of ['settings.json', '.env'])
      expect(readlinkSync(`${shelf.kept}/.gemini/${name}`)).toBe(`${shelf.home.path}/.gemini/${name}`);
    for (const name of ['projects.json', 'tmp/app'])
      expect(existsSync(`${shelf.kept}/.gemini/${name}`)).toBe(false);
  });

  test('is refused while the run works, as a session has one writer, and only printed', async () => {
    using shelf = shelfWith('claude', { isOver: false });
    expect(await shelf.call(['attach', '1'], ON_TERMINAL)).toEqual(
      refused(
        1,
        '⚠️ Cannot attach to #1: it is running, and a session has one writer: "self-generation subagents wait 1" waits for its end, "attach 1 --print" shows the command.\n',
      ),
    );
    expect((await shelf.call(['attach', '1', '--print'])).stdout).toContain('claude --resume session-1');
    expect(shelf.seen()).toBeUndefined();
  });

  test('takes the session for itself: nobody else attaches and no message begins a turn until it has ended', async () => {
    using shelf = shelfWith('claude');
    const mark = attachMark(shelf.home.paths, shelf.turn.runId);
    shelf.home.put(
      'bin/claude',
      `#!/bin/sh\nwhile [ -e '${shelf.home.path}/stays' ]; do /bin/sleep 0.05; done\n`,
    );
    shelf.home.put('stays', '');
    const attached = shelf.call(['attach', '1'], ON_TERMINAL);
    while (!existsSync(mark)) await Bun.sleep(10);
    expect(statSync(mark).mode & 0o777).toBe(0o600);
    const who = `(PID ${process.pid}), and a session has one writer`;
    expect((await shelf.call(['attach', '1'], ON_TERMINAL)).stderr).toContain(
      `goes on with it already ${who}`,
    );
    const send = () => shelf.call(['send', '1', 'and now?', '--timeout', '0']);
    expect(await send()).toEqual(
      refused(
        1,
        `⚠️ Send failed: Subagent #1 takes no message: a person goes on with it on a terminal ${who}. Wait until that has ended\n`,
      ),
    );
    unlinkSync(`${shelf.home.path}/stays`);
    expect(await attached).toEqual(said(''));
    expect(existsSync(mark)).toBe(false);
    // Of one that was killed nothing is left but the file.
    writeFileSync(mark, identityText({ ...identityNow(process.pid), start: '1' }));
    expect((await send()).code).toBe(0);
  });

  test('is refused when the session is put away, its directory gone, or its client not there', async () => {
    using shelf = shelfWith('claude');
    const reason = async (changes = {}) => (await shelf.call(['attach', '1', '--print'], changes)).stderr;
    const env = { HOME: shelf.home.path, PATH: '/nowhere' };
    expect(await reason({ env })).toContain('claude is not on the PATH');
    shelf.write((db) => changeRun(shelf.turn.runId, { cwd: `${shelf.project}/gone` }, db));
    expect(await reason()).toContain('is gone: "self-generation subagents send 1" makes a worktree again');
    shelf.write((db) => setArchived(shelf.turn.runId, NOW_MS, db));
    expect(await reason()).toContain(
      'it is archived, and its session put away: "self-generation subagents retry 1"',
    );
  });
});
