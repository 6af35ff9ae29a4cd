import { describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { listTranscripts } from '../../src/clients/claude/transcript-list.ts';
import { ANALYSIS_MARK } from '../../src/core/told-texts.ts';
import { type Home, temporaryHome } from '../support/home.ts';
import { PROJECT } from '../support/payloads.ts';
import { Clock, putText, Transcript, transcriptPath } from '../support/transcripts.ts';

const list = (home: Home, progress: Parameters<typeof listTranscripts>[1] = () => undefined) =>
  listTranscripts([`${home.path}/.claude/projects`], progress);

function put(home: Home, session: string, agent?: string, clock = new Clock()): string {
  const transcript = new Transcript({ session, clock, ...(agent === undefined ? {} : { agent }) });
  return putText(home, transcriptPath(session, agent), transcript.prompt('Go.').text);
}

describe('listTranscripts()', () => {
  test('puts a session and its sub-agents together, the session first', () => {
    using home = temporaryHome();
    put(home, 's1', 'abc2');
    put(home, 's1', 'abc1');
    put(home, 's1');
    const meta = transcriptPath('s1', 'abc2').replace('.jsonl', '.meta.json');
    putText(home, meta, '{\n"agentType": "executor"\n}');
    const nested = transcriptPath('s1', 'abc3').replace('agent-', 'deeper/agent-');
    putText(home, nested, new Transcript({ agent: 'abc3' }).prompt('Go.').text);
    const { sessions, filesFound, unreadable } = list(home);
    expect([filesFound, sessions.length, unreadable]).toEqual([4, 1, []]);
    expect(sessions[0]?.files.map(({ owner }) => owner)).toEqual([
      { sessionId: 's1', agentId: null, agentType: null },
      { sessionId: 's1', agentId: 'abc1', agentType: null },
      { sessionId: 's1', agentId: 'abc2', agentType: 'executor' },
      { sessionId: 's1', agentId: 'abc3', agentType: null },
    ]);
    const outline = { sessionId: 's1', directory: PROJECT, isAnalysis: false };
    expect(sessions[0]?.outline).toEqual({ firstTs: '2026-11-20T09:00:01.000Z', ...outline });
  });

  test('puts sub-agents of older versions to the session that they name', () => {
    using home = temporaryHome();
    put(home, 's1');
    const agent = new Transcript({ session: 's1', agent: 'abc1' }).prompt('Go.').text;
    putText(home, '.claude/projects/-home-dev-app/agent-abc1.jsonl', agent);
    const { sessions } = list(home);
    expect(sessions.map(({ files }) => files.length)).toEqual([2]);
    expect(sessions[0]?.files[1]?.owner).toEqual({ sessionId: 's1', agentId: 'abc1', agentType: null });
  });

  test('keeps sub-agents together whose session has no transcript', () => {
    using home = temporaryHome();
    put(home, 's1', 'abc1');
    put(home, 's1', 'abc2');
    expect(list(home).sessions.map(({ files }) => files.length)).toEqual([2]);
  });

  test('puts the session first that began first', () => {
    using home = temporaryHome();
    put(home, 'a', undefined, new Clock(Date.parse('2026-11-20T12:00:00Z')));
    put(home, 'b');
    const ids = list(home).sessions.map(({ files }) => files[0]?.owner.sessionId);
    expect(ids).toEqual(['b', 'a']);
  });

  test('gives only what has something new, and from where', () => {
    using home = temporaryHome();
    const [one, two, three] = ['s1', 's2', 's3'].map((session) => put(home, session));
    const first = list(home).sessions.flatMap(({ files }) => files);
    const { head, bytes } = first[0] ?? { head: '', bytes: 0 };
    const known = new Map([
      [one, { head, bytesDone: 7, bytesSeen: bytes }],
      [two, { head: first[1]?.head ?? '', bytesDone: 10, bytesSeen: 20 }],
      [three, { head: 'of another file', bytesDone: bytes, bytesSeen: bytes }],
    ]);
    const { sessions, filesUnchanged } = list(home, (path) => known.get(path));
    expect(filesUnchanged).toBe(1);
    const files = sessions.flatMap((session) => session.files);
    const places = files.map((file) => [file.owner.sessionId, [file.from, file.seen]]);
    expect(Object.fromEntries(places)).toEqual({ s2: [10, 20], s3: [0, 0] });
  });

  test('takes a file that has become shorter from its beginning, and an empty one not at all', () => {
    using home = temporaryHome();
    const path = put(home, 's1');
    const [file] = list(home).sessions.flatMap(({ files }) => files);
    const known = { head: file?.head ?? '', bytesDone: 5, bytesSeen: (file?.bytes ?? 0) + 1 };
    expect(list(home, () => known).sessions[0]?.files[0]?.from).toBe(0);
    putText(home, transcriptPath('s2'), '');
    rmSync(path);
    expect(list(home)).toMatchObject({ sessions: [], filesFound: 1, filesUnchanged: 1 });
  });

  const prompts: [string, string, boolean][] = [
    ['an analysis by its first prompt', `[${ANALYSIS_MARK}]\nYou analyse`, true],
    ['a session that mentions one', `What is ${'x'.repeat(100)} ${ANALYSIS_MARK}?`, false],
  ];
  for (const [what, prompt, isAnalysis] of prompts) {
    test(`recognises ${what}`, () => {
      using home = temporaryHome();
      const noise = new Transcript();
      for (let count = 0; count < 50; count++)
        noise.add({ type: 'attachment', attachment: { text: 'x'.repeat(1000) } });
      putText(home, transcriptPath('s1'), noise.prompt(prompt).prompt(ANALYSIS_MARK).text);
      expect(list(home).sessions[0]?.outline.isAnalysis).toBe(isAnalysis);
    });
  }

  test('reports a directory that is not there', () => {
    const listed = listTranscripts(['/nowhere/at/all'], () => undefined);
    expect(listed).toMatchObject({ sessions: [], unreadable: [{ path: '/nowhere/at/all' }] });
  });
});
