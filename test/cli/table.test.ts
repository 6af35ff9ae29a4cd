import { describe, expect, test } from 'bun:test';
import type { CliContext } from '../../src/cli/context.ts';
import { newTable } from '../../src/cli/output.ts';

function rendered(colour: boolean): string {
  const table = newTable(['name', 'value'], { colour } as CliContext);
  table.push(['a', 'one'], ['한글', 'two']);
  return table.toString();
}

describe('newTable()', () => {
  test('aligns columns by their width on a terminal, without lines', () => {
    expect(rendered(false).split('\n')).toEqual(['name  value', 'a     one  ', '한글  two  ']);
  });

  test('dims the heading, and nothing else, where colour is wanted', () => {
    const [heading, ...rows] = rendered(true).split('\n');
    expect(heading).toContain('\x1b[2mname\x1b[22m');
    expect(rows.join('')).not.toContain('\x1b');
  });
});
