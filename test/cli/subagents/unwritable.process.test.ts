import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { waitingAnnouncements } from '../../../src/runs/store/outbox.ts';
import { runProgram } from '../../support/hook-process.ts';
import { BINARY } from '../../support/program.ts';
import { newShelf, type Shelf } from './shelf.ts';

/** The program itself, whose standard output is a full disk, or a pipe that nobody reads. */

const OUTPUTS = ['> /dev/full', '| true'];
const CALLS = ['inbox', 'inbox --json', 'wait 1', 'wait all --json'];

/** `redirection`: of a shell. The exit code is the program's. */
async function call(shelf: Shelf, words: string, redirection: string) {
  const code = `${shelf.home.path}/exit-code`;
  const line = `{ sleep 0.2; ${BINARY} ${words}; echo $? > ${code}; } ${redirection}`;
  const { stderr } = await runProgram(['sh', '-c', line], { home: shelf.home.path, cwd: shelf.project });
  return { code: Number(await Bun.file(code).text()), stderr };
}

describe.if(existsSync('/dev/full'))('an output that cannot be written', () => {
  for (const words of CALLS) {
    for (const output of OUTPUTS) {
      test(`costs nothing of what "subagents ${words}" was to tell: ${output}`, async () => {
        using shelf = newShelf();
        shelf.end(shelf.start(), {}, { id: 'aaaa-1', result: 'word '.repeat(800) });
        const { code, stderr } = await call(shelf, `subagents ${words}`, output);
        const isFull = output.includes('full');
        expect(code).toBe(isFull ? 1 : 0);
        if (isFull)
          expect(stderr).toMatch(
            /^error: Cannot write to standard output: .*ENOSPC.*\. What it did stays: run it again, [^\n]*\.\n$/,
          );
        else expect(stderr).toBe('');
        const waiting = shelf.write((db) => waitingAnnouncements(shelf.key, db));
        expect(waiting).toMatchObject([{ id: 'aaaa-1', state: 'pending' }]);
        const { stdout } = await runProgram([BINARY, 'subagents', 'inbox'], {
          home: shelf.home.path,
          cwd: shelf.project,
        });
        expect(stdout).toContain('announceId aaaa-1');
        expect(shelf.write((db) => waitingAnnouncements(shelf.key, db))).toEqual([]);
      });
    }
  }

  test('is said in one line by every command, with exit code 1', async () => {
    using shelf = newShelf();
    for (const words of ['doctor', 'status --json', 'subagents list']) {
      const { code, stderr } = await call(shelf, words, '> /dev/full');
      expect({ words, code, lines: stderr.split('\n').length }).toEqual({ words, code: 1, lines: 2 });
    }
  });
});
