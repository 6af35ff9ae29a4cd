import Table from 'cli-table3';
import type { CliContext } from './context.ts';

const NO_LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/** A table without lines; the heading is dim where colour is wanted. */
export function newTable(head: string[], { colour }: CliContext) {
  return new Table({
    head,
    chars: NO_LINES,
    style: { head: colour ? ['dim'] : [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
}
