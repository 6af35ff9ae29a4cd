import { describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { noteTask, readTask } from '../../src/database/given-note.ts';
import { type Home, temporaryHome } from '../support/home.ts';

const OF = { sessionId: 's1', agentType: 'executor' };

function installedHome(): Home {
  const home = temporaryHome();
  mkdirSync(home.paths.tasks, { recursive: true });
  return home;
}

describe('readTask()', () => {
  test('returns the words that were left last for this session and type, again and again', () => {
    using home = installedHome();
    for (const words of ['first', 'second']) noteTask({ ...OF, words }, home.paths);
    for (let times = 0; times < 2; times++) expect(readTask(OF, home.paths)).toBe('second');
  });

  test('returns nothing for another session or type, also where they share the file', () => {
    using home = installedHome();
    // More than there are files, so that some share one.
    for (let index = 0; index < 3000; index++)
      noteTask({ ...OF, sessionId: `s${index}`, words: `task ${index}` }, home.paths);
    expect(readdirSync(home.paths.tasks).length).toBeLessThanOrEqual(1296);
    expect(readTask({ ...OF, sessionId: 's2999' }, home.paths)).toBe('task 2999');
    for (let index = 0; index < 3000; index++)
      expect(['', `task ${index}`]).toContain(readTask({ ...OF, sessionId: `s${index}` }, home.paths));
    for (let index = 0; index < 9000; index++)
      expect(readTask({ sessionId: 's2999', agentType: `type ${index}` }, home.paths)).toBe('');
  });

  for (const content of ['', '{', '[]', 'null', '{"sessionId":"s1","agentType":"executor","words":7}']) {
    test(`returns nothing when the file has ${JSON.stringify(content)}`, () => {
      using home = installedHome();
      noteTask({ ...OF, words: 'x' }, home.paths);
      for (const name of readdirSync(home.paths.tasks)) writeFileSync(`${home.paths.tasks}/${name}`, content);
      expect(readTask(OF, home.paths)).toBe('');
    });
  }
});

describe('noteTask()', () => {
  test('keeps 4,000 characters', () => {
    using home = installedHome();
    noteTask({ ...OF, words: 'word '.repeat(5000) }, home.paths);
    expect(readTask(OF, home.paths)).toHaveLength(4000);
  });

  test('does not throw where it cannot write', () => {
    using home = temporaryHome();
    home.put('.self-generation/tasks', 'no directory');
    expect(() => noteTask({ ...OF, words: 'x' }, home.paths)).not.toThrow();
    expect(readTask(OF, home.paths)).toBe('');
  });
});
