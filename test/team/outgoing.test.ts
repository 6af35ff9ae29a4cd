import { describe, expect, test } from 'bun:test';
import { idOf } from '../../src/team/model/fact.ts';
import { type Local, leadsOutside, outgoing, type Sent, sharedForm } from '../../src/team/outgoing.ts';
import type { Known } from '../../src/team/store/copy.ts';
import type { LocalLesson } from '../../src/team/store/knowledge.ts';

const REPOSITORY = idOf('shop');
const PROJECT = '/home/ada/work/shop';
const lesson = (changes: Partial<LocalLesson> = {}): LocalLesson => ({
  ...{ row: 1, projectPath: PROJECT, key: 'error: no', said: 'error: no', fromTeam: undefined },
  remedy: { kind: 'command', failing: 'npm t', use: 'npm test' },
  support: { sessions: 2, failed: 3, helped: 2 },
  ...changes,
});
const NOTHING: Local = {
  ...{ repository: REPOSITORY, projects: [PROJECT] },
  ...{ lessons: [], rules: [], withdrawals: [], decisions: [] },
};
const UNSENT: Sent = {
  me: 'ada',
  ids: new Set(),
  knownOf: () => undefined,
  aboutOf: () => undefined,
  sessionsOf: () => 0,
  part: { takesPart: true, said: 1 },
};
const known = (changes: Partial<Known> = {}): Known => ({
  ...{
    about: idOf('l'),
    kind: 'lesson',
    author: 'ada',
    isContradicted: false,
    isMine: true,
    ownOpinion: null,
    isAccepted: false,
    withdrawn: null,
  },
  ...changes,
});
const factsOf = (local: Partial<Local>, sent: Partial<Sent> = {}) =>
  outgoing({ ...NOTHING, ...local }, { ...UNSENT, ...sent }).facts;

describe('leadsOutside()', () => {
  const OUTSIDE = [
    ...[
      'cat /home/ada/notes.txt',
      'ENOENT: no such file, open "/Users/ada/x.ts"',
      'cd ~/work && make',
      '~ada/x',
    ],
    ...[
      'C:\\Users\\ada\\shop',
      'type D:\\x',
      '\\\\server\\share\\x',
      'file:///home/ada/x',
      '(/srv/data/x)',
      '=/opt/tool/bin',
    ],
    'python /usr/lib/python3/site.py',
    ...[
      'make 2>/home/ada/log.txt',
      'cc -I/home/ada/include x.c',
      'docker run -v/home/ada:/x',
      'make -C/opt/acme/x',
      'a:/home/ada/bin',
    ],
    ...[
      'cat ../secret-client/config',
      'cat $HOME/secret/x',
      'ls $' + '{HOME}/x',
      'C:/Users/ada/x',
      'file:/home/ada/x',
      'vscode://file/home/x',
    ],
    ...['scp host:/srv/acme/x .', '%USERPROFILE%\\x', 'x >/srv/a/b'],
  ];
  for (const text of OUTSIDE) test(`yes: ${text}`, () => expect(leadsOutside(text)).toBe(true));
  const INSIDE = [
    ...['src/main.ts', './run.sh', 'npm test 2>/dev/null', 'GET https://x.example/a/b', 'a/b/c'],
    ...[
      '1/2',
      'and/or',
      '<PATH>',
      's/a/b/',
      'git@x.example:a/b',
      '@scope/name/x',
      'text/html',
      '/api',
      'route "/"',
    ],
  ];
  for (const text of INSIDE) test(`no: ${text}`, () => expect(leadsOutside(text)).toBe(false));
});

describe('sharedForm()', () => {
  test('names what lies in the project from its root', () => {
    const said = `cannot find ${PROJECT}/src/a.ts in ${PROJECT}`;
    expect(sharedForm(lesson({ said }), REPOSITORY)?.body.said).toBe('cannot find src/a.ts in .');
  });

  test('leaves the path of a neighbour whose name begins so what it is: outside', () => {
    expect(
      sharedForm(lesson({ said: `open ${PROJECT}-secret-client/build.log` }), REPOSITORY),
    ).toBeUndefined();
    expect(sharedForm(lesson({ said: `cd ${PROJECT} && make` }), REPOSITORY)?.body.said).toBe('cd . && make');
  });

  test('is none where a path outside is left, in whatever field', () => {
    for (const changes of [
      { said: 'open /home/ben/x' },
      { key: 'open /home/ben/x' },
      { remedy: { kind: 'command', failing: 'a', use: '/opt/x/y' } as const },
      { remedy: { kind: 'directory', use: 'make', directory: '/srv/x' } as const },
    ])
      expect(sharedForm(lesson(changes), REPOSITORY)).toBeUndefined();
  });

  test('is the same for two members whose clones lie elsewhere', () => {
    const said = (project: string) => `error in ${project}/a.ts`;
    const at = (project: string) =>
      sharedForm(lesson({ projectPath: project, said: said(project), key: 'k' }), REPOSITORY);
    expect(at('/home/ada/shop')?.about).toBe(at('/srv/ben/shop-2')?.about ?? '');
  });
});

describe('outgoing()', () => {
  test('sends a lesson once, and again when it was seen in twice as many sessions', () => {
    const [first] = factsOf({ lessons: [lesson()] });
    expect(first).toMatchObject({ kind: 'lesson', body: { sessions: 2, failed: 3, helped: 2 } });
    const ids = new Set([first?.id ?? '']);
    const grown = (sessions: number) => [lesson({ support: { sessions, failed: 9, helped: sessions } })];
    expect(factsOf({ lessons: grown(3) }, { ids, sessionsOf: () => 2 })).toEqual([]);
    expect(factsOf({ lessons: grown(4) }, { ids, sessionsOf: () => 2 })).toMatchObject([
      { kind: 'support', about: first?.about, body: { sessions: 4 } },
    ]);
  });

  test('does not send back what came from the team', () => {
    expect(factsOf({ lessons: [lesson({ fromTeam: idOf('x') })] })).toEqual([]);
  });

  test('keeps what names a place outside here, and says which', () => {
    const said = 'open /home/ben/x';
    expect(
      outgoing({ ...NOTHING, lessons: [lesson({ said })], rules: ['see /home/ada/rules.md'] }, UNSENT),
    ).toEqual({
      facts: [],
      keptBack: [said, 'see /home/ada/rules.md'],
    });
  });

  test('says once that this member takes part', () => {
    expect(factsOf({}, { part: { takesPart: false, said: 0 } })).toMatchObject([
      { kind: 'part', body: { takesPart: true } },
    ]);
    expect(factsOf({})).toEqual([]);
  });

  const withdrawal = (reason: 'user' | 'contradiction' | 'gone', detail = 'it failed twice') => ({
    ...{ id: 1, ts: '2026-11-20T10:00:00.000Z', reason, detail, key: 'error: no', said: 'error: no' },
    ...{ resolution: JSON.stringify(lesson().remedy), project: PROJECT, place: PROJECT },
  });

  test('tells the team of what was withdrawn here: its author withdraws, another contradicts', () => {
    const of = (reason: 'user' | 'contradiction' | 'gone', isMine: boolean) =>
      factsOf(
        { withdrawals: [withdrawal(reason)] },
        { knownOf: () => known({ author: isMine ? 'ada' : 'ben' }) },
      ).map(({ kind }) => kind);
    expect([of('user', true), of('contradiction', true)]).toEqual([['withdraw'], ['withdraw']]);
    expect([of('user', false), of('contradiction', false)]).toEqual([[], ['contradicted']]);
    expect([of('gone', true), of('gone', false)]).toEqual([[], []]);
  });

  test('does not echo what the team has withdrawn, nor tell of what it does not know', () => {
    const withdrawals = [withdrawal('user', 'in the team, by ada: wrong')];
    expect(factsOf({ withdrawals }, { knownOf: () => known() })).toEqual([]);
    expect(factsOf({ withdrawals: [withdrawal('user')] })).toEqual([]);
  });

  test('tells each decision once', () => {
    const decision = { prefix: 'ab', accepts: true, ts: '2026-11-20T10:00:00.000Z', why: null };
    const sent = { aboutOf: () => idOf('l') };
    const [fact, ...others] = factsOf({ decisions: [decision] }, sent);
    expect([fact?.kind, others]).toEqual(['verdict', []]);
    expect(factsOf({ decisions: [decision] }, { ...sent, ids: new Set([fact?.id ?? '']) })).toEqual([]);
  });
});
