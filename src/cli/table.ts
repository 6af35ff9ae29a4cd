import Table from 'cli-table3';
import pc from 'picocolors';
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
  const { dim } = pc.createColors(colour);
  return new Table({
    head: head.map(dim),
    chars: NO_LINES,
    // Its own colours are switched off: it would look at the environment by other rules than ours.
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
}
