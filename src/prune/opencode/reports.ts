import { inertText } from '../../core/inert-text.ts';
import { counted } from '../../core/text.ts';
import type { Message } from '../call.ts';
import { type Decision, RULES } from '../decision.ts';
import { jsonChars } from '../input.ts';
import type { Pruned } from '../store.ts';

/** What the user is told of pruning. */

const CHARS_PER_TOKEN = 4;
const TOOLS_MAX = 20;
const NAME_LENGTH_MAX = 60;

/** What was saved in a session. `isOn`: by the settings. */
export function statsOf(state: Pruned, isOn: boolean): string[] {
  const off = state.isOff
    ? ['Pruning is off in this session.']
    : isOn
      ? []
      : ['The settings switch pruning off.'];
  return [
    ...off,
    `This session: ${totalsOf([state])}.`,
    `Not sent any more: ${state.decisions.length > 0 ? savedBy(state.decisions) : 'nothing'}.`,
  ];
}

/** What was saved in all sessions. */
export function totalOf(all: readonly Pruned[]): string {
  return `All ${counted(all.length, 'session')}: ${totalsOf(all)}.`;
}

function totalsOf(all: readonly Pruned[]): string {
  const sum = (of: (one: Pruned) => number) => all.reduce((total, one) => total + of(one), 0);
  return [
    counted(
      sum(({ requests }) => requests),
      'request',
    ),
    `${inChars(sum(({ sentChars }) => sentChars))} sent`,
    `${inChars(sum(({ savedChars }) => savedChars))} saved`,
    `${inChars(sum(({ readAgainChars }) => readAgainChars))} read again because of it`,
  ].join(', ');
}

/** How much decisions save, and by which rules they were made: `deduplicate 2, purge-errors 1`. */
export function savedBy(decisions: readonly Decision[]): string {
  const chars = decisions.reduce((sum, { savedChars }) => sum + savedChars, 0);
  const names = RULES.flatMap((rule) => {
    const count = decisions.filter((decision) => decision.rule === rule).length;
    return count > 0 ? `${rule} ${count}` : [];
  });
  return `${inChars(chars)} of each request (${names.join(', ')})`;
}

/** Tokens as a rule of thumb: each model counts its own. */
function inChars(chars: number): string {
  return `${counted(chars, 'character')} (some ${counted(Math.round(chars / CHARS_PER_TOKEN), 'token')})`;
}

/** What the next request is made of, by its largest parts. */
export function contextOf(
  messages: readonly Message[],
  decisions: readonly Decision[],
  waiting: readonly Decision[],
): string[] {
  const calls = messages.flatMap((message) => message.calls);
  const said = messages.reduce((sum, { chars }) => sum + chars, 0);
  const byTool = [...Map.groupBy(calls, ({ tool }) => tool)].map(([tool, own]) => ({
    tool,
    count: own.length,
    chars: own.reduce((sum, { input, output }) => sum + jsonChars(input) + output.length, 0),
  }));
  byTool.sort((left, right) => right.chars - left.chars);
  const lines = byTool
    .slice(0, TOOLS_MAX)
    .map(
      ({ tool, count, chars }) =>
        `${inertText(tool, NAME_LENGTH_MAX)}: ${counted(count, 'call')}, ${inChars(chars)}`,
    );
  return [
    `Texts: ${inChars(said)}`,
    ...lines,
    ...(byTool.length > TOOLS_MAX ? [`${counted(byTool.length - TOOLS_MAX, 'other tool')}`] : []),
    `Of these not sent any more: ${decisions.length > 0 ? savedBy(decisions) : 'nothing'}`,
    `Waiting until it pays: ${waiting.length > 0 ? savedBy(waiting) : 'nothing'}`,
  ];
}
