import { expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { arriving } from '../../../src/runs/pool/away-turn.ts';

const LENGTH_MAX = 20;

test('arriving() writes every byte once, whatever came before a kill and whatever comes again', () => {
  const directory = mkdtempSync(join(tmpdir(), 'arriving-'));
  const path = join(directory, 'file');
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: LENGTH_MAX }), { minLength: 1, maxLength: 8 }),
      fc.nat(),
      fc.nat(),
      (pieces, killedAt, cutBy) => {
        rmSync(path, { force: true });
        const at = (index: number) => pieces.slice(0, index).reduce((sum, { length }) => sum + length, 0);
        const take = (from: number, to: number) => {
          const file = arriving(path);
          for (let index = from; index < to; index++) file.take(at(index), pieces[index] ?? new Uint8Array());
          file.close();
          return file.bytes();
        };
        const before = (killedAt % pieces.length) + 1;
        const bytes = take(0, before);
        // The last piece was written in part: it comes again, whole.
        truncateSync(path, bytes - (cutBy % (pieces[before - 1]?.length ?? 1)));
        take(before - 1, pieces.length);
        expect(Buffer.compare(readFileSync(path), Buffer.concat(pieces))).toBe(0);
      },
    ),
  );
  rmSync(directory, { recursive: true });
});

test('arriving() refuses a piece behind a gap', () => {
  const directory = mkdtempSync(join(tmpdir(), 'arriving-'));
  const file = arriving(join(directory, 'file'));
  file.take(0, Buffer.from('abc'));
  expect(() => file.take(4, Buffer.from('e'))).toThrow('a part of what came back is missing');
  file.close();
  rmSync(directory, { recursive: true });
});
