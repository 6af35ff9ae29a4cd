import { describe, expect, test } from 'bun:test';
import { appendFileSync, statSync } from 'node:fs';
import { hasUnreadResults } from '../../src/database/events.ts';
import { writeDatabase } from '../../src/hooks/store/use-database.ts';
import { savePlace } from '../../src/transcripts/imports-store.ts';
import { type Home, temporaryHome } from '../support/home.ts';

const RESULT = '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1"}]}}\n';
const CALL = '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c2","name":"Agent"}]}}\n';

/** Whether there is anything to be read of a file that was looked at so far. */
function isBehind(home: Home, path: string, bytesSeen: number | undefined): boolean {
  return writeDatabase(home.paths, (db) => {
    const place = { path, head: 'h', bytesDone: 0, fileBytes: 1e9 };
    if (bytesSeen !== undefined) savePlace({ ...place, bytesSeen }, new Date(), db);
    return hasUnreadResults(path, db);
  });
}

describe('hasUnreadResults()', () => {
  const rows: [what: string, grownBy: string, isBehind: boolean][] = [
    ['nothing', '', false],
    ['the call of a sub-agent', CALL, false],
    ['a result', RESULT, true],
    ['a result among others', `${CALL}${RESULT}${CALL}`, true],
    ['a result that is being written', RESULT.slice(0, -1), false],
    ['a call, and a result that is being written', `${CALL}${RESULT.slice(0, -1)}`, false],
    ['a text about results', '{"text":"what is \\"tool_result\\"?"}\n', false],
    ['more than is looked at', CALL.repeat(1000), true],
  ];
  for (const [what, grownBy, expected] of rows) {
    test(`is ${expected} when the file has grown by ${what}`, () => {
      using home = temporaryHome();
      const path = home.put('s1.jsonl', RESULT);
      const { size } = statSync(path);
      appendFileSync(path, grownBy);
      expect(isBehind(home, path, size)).toBe(expected);
    });
  }

  test('is true for a file that nobody has read, and for one that was written anew', () => {
    using home = temporaryHome();
    const path = home.put('s1.jsonl', RESULT);
    expect(isBehind(home, path, undefined)).toBe(true);
    expect(isBehind(home, path, 1000)).toBe(true);
  });

  test('is false where there is no file', () => {
    using home = temporaryHome();
    for (const path of [`${home.path}/none.jsonl`, home.put('empty.jsonl', '')])
      expect(isBehind(home, path, undefined)).toBe(false);
  });
});
