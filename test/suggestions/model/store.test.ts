import { describe, expect, test } from 'bun:test';
import {
  decideSuggestion,
  expireSuggestions,
  findSuggestions,
  listSuggestions,
  markShown,
  registerCached,
  saveProposals,
  unseenIds,
} from '../../../src/suggestions/model/store.ts';
import { type Proposal, suggestionId } from '../../../src/suggestions/model/suggestion.ts';
import { madeProposal } from '../../support/decided.ts';
import { databasePerTest, homePerTest } from '../../support/per-test.ts';
import { rule, seedAnalysis } from '../../support/seed.ts';

const SHOP = '/home/dev/shop';
const IN_SHOP = { project: 'shop', projectPath: SHOP, origin: 'analysis' } as const;
const FOR_SHOP = { name: 'shop', spellings: [SHOP, `${SHOP}/`] };
const FIRST = '2026-11-20T09:00:00.000Z';
const LATER = '2026-11-21T09:00:00.000Z';

const home = homePerTest();
const db = databasePerTest(home);

const proposal = (text: string, changes: Partial<Proposal> = {}) =>
  madeProposal(text, { summary: `about ${text}`, priority: 1, ...changes });
const skill = (text: string) => proposal(text, { type: 'skill', details: { skillName: 'deploy' } });
const save = (ts: string, ...proposals: Proposal[]) => saveProposals(proposals, { ...IN_SHOP, ts }, db);
const statusOf = (id: string | undefined) => findSuggestions(id ?? '-', db)[0]?.status;

describe('suggestionId()', () => {
  test('is the same whatever the case, the spacing and the punctuation', () => {
    const id = suggestionId(proposal('Set the port, always.'), SHOP);
    expect(suggestionId(proposal('set the  port always'), SHOP)).toBe(id);
    expect(id).toMatch(/^s[0-9a-z]{9,11}$/);
  });

  test('differs by text, type, project, and for hooks by event', () => {
    const ids = [
      suggestionId(proposal('a'), SHOP),
      suggestionId(proposal('b'), SHOP),
      suggestionId(proposal('a'), '/home/dev/other'),
      suggestionId(proposal('a', { type: 'hook', details: { hookEvent: 'PostToolUse' } }), SHOP),
      suggestionId(proposal('a', { type: 'hook', details: { hookEvent: 'SessionEnd' } }), SHOP),
      suggestionId(proposal('a', { type: 'skill', details: { skillName: 'a' } }), SHOP),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('of a skill is that of its name, so that new words for it are not a new skill', () => {
    expect(suggestionId(skill('one way'), SHOP)).toBe(suggestionId(skill('another way'), SHOP));
  });
});

describe('saveProposals()', () => {
  test('stores what is new, and keeps the status and the first time of what is known', () => {
    const [id] = save(FIRST, proposal('a'));
    decideSuggestion(findOne(id), { kind: 'dismissed', why: 'no' }, FIRST, db);
    expect(save(LATER, proposal('A!'), proposal('b'))).toEqual([String(id), expect.any(String)]);
    expect(findOne(id)).toMatchObject({ status: 'dismissed', why: 'no', ts: FIRST, lastTs: LATER });
    expect(listSuggestions({}, db)).toHaveLength(2);
  });

  test('takes the newer words as long as nobody has decided, and the agreed ones afterwards', () => {
    const [id] = save(FIRST, skill('old steps'));
    save(LATER, skill('better steps'));
    expect(findOne(id)).toMatchObject({ text: 'better steps', summary: 'about better steps' });
    save(FIRST, skill('older steps'));
    expect(findOne(id).text).toBe('better steps');
    decideSuggestion(findOne(id), { kind: 'applied', applied: {} }, LATER, db);
    save('2026-11-22T09:00:00.000Z', skill('other steps'));
    expect(findOne(id)).toMatchObject({ text: 'better steps', lastTs: '2026-11-22T09:00:00.000Z' });
  });

  test('makes an expired one new when it is proposed again, and not when an old analysis is read again', () => {
    const [id] = save(FIRST, proposal('a'));
    expireSuggestions(LATER, db);
    expect(statusOf(id)).toBe('expired');
    save(FIRST, proposal('a'));
    expect(statusOf(id)).toBe('expired');
    save(LATER, proposal('a'));
    expect(statusOf(id)).toBe('new');
  });
});

function findOne(id: string | undefined) {
  const [found] = findSuggestions(id ?? '', db);
  if (found === undefined) throw new Error(`no suggestion ${id}`);
  return found;
}

describe('listSuggestions()', () => {
  test('returns those of the project and those of none, the most important first', () => {
    save(FIRST, proposal('low', { priority: 1 }), proposal('high', { priority: 9 }));
    const saveIn = (project: string, projectPath: string, one: Proposal) =>
      saveProposals([one], { ...IN_SHOP, project, projectPath, ts: FIRST }, db);
    saveIn('shop', '/home/dev/other', proposal('elsewhere'));
    saveIn('all', '', proposal('global', { priority: 5 }));
    saveIn('shop', '', proposal('by name'));
    saveIn('x', '', proposal('other name'));
    const texts = listSuggestions({ project: FOR_SHOP }, db).map(({ text }) => text);
    expect(texts.slice(0, 2)).toEqual(['high', 'global']);
    expect(texts.slice(2).sort()).toEqual(['by name', 'low']);
    expect(listSuggestions({}, db)).toHaveLength(6);
  });

  test('returns only the wanted statuses', () => {
    const [shown, fresh] = save(FIRST, proposal('a'), proposal('b'));
    markShown([String(shown)], db);
    const found = listSuggestions({ project: FOR_SHOP, statuses: ['new'] }, db);
    expect(found.map(({ id }) => id)).toEqual([String(fresh)]);
    expect(listSuggestions({ project: FOR_SHOP, statuses: [] }, db)).toEqual([]);
  });
});

describe('unseenIds()', () => {
  test('leaves out what has been announced or decided', () => {
    const [shown = '', fresh = '', dismissed = ''] = save(FIRST, proposal('a'), proposal('b'), proposal('c'));
    markShown([shown], db);
    decideSuggestion(findOne(dismissed), { kind: 'dismissed', why: null }, FIRST, db);
    expect(unseenIds([shown, fresh, dismissed, 'unknown'], db)).toEqual([fresh, 'unknown']);
  });
});

describe('markShown()', () => {
  test('changes nothing but what is new', () => {
    const [id = ''] = save(FIRST, proposal('a'));
    decideSuggestion(findOne(id), { kind: 'applied', applied: { file: 'x' } }, FIRST, db);
    markShown([id], db);
    expect(findOne(id)).toMatchObject({ status: 'applied', applied: { file: 'x' }, decidedTs: FIRST });
  });
});

describe('decideSuggestion()', () => {
  test('keeps every verdict in the feedback, and the newest as the status', () => {
    const [id = ''] = save(FIRST, proposal('a'));
    decideSuggestion(findOne(id), { kind: 'applied', applied: {} }, FIRST, db);
    decideSuggestion(findOne(id), { kind: 'undone' }, FIRST, db);
    expect(findOne(id)).toMatchObject({ status: 'shown', decidedTs: null, applied: null });
    decideSuggestion(findOne(id), { kind: 'dismissed', why: 'we have CI' }, LATER, db);
    expect(findOne(id)).toMatchObject({ status: 'dismissed', why: 'we have CI', decidedTs: LATER });
    const actions = ['accepted', 'undone', 'rejected'];
    expect(db.sqlite.all('SELECT action, suggestion_type, summary FROM feedback ORDER BY id')).toEqual(
      actions.map((action) => ({ action, suggestion_type: 'claude_md', summary: 'about a' })),
    );
  });
});

describe('registerCached()', () => {
  test('takes in what another implementation left in the cache, once, and nothing that is none', () => {
    seedAnalysis(home.paths, { suggestions: [rule('a'), { type: 'x' }, 'y', { type: 'skill', id: 'z' }] });
    seedAnalysis(home.paths, { suggestions: [rule('old')], ageHours: 100 });
    const since = new Date(Date.now() - 24 * 3_600_000).toISOString();
    registerCached(since, db);
    registerCached(since, db);
    expect(listSuggestions({}, db)).toMatchObject([
      { type: 'claude_md', text: 'a', project: 'app', projectPath: '', origin: 'cache', status: 'new' },
    ]);
  });
});
