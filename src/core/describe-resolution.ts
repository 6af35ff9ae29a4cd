import { onlyReads } from './command.ts';
import type { Messages } from './messages.ts';
import { cutText, oneLine } from './text.ts';
import { isEditingTool } from './tools.ts';

/** A call between an error and the success that followed: a candidate for what helped. */
export type Helper = { readonly tool: string; readonly file: string | null; readonly command: string | null };

const SUMMARY_LENGTH_MAX = 140;
const NAMED_MAX = 2;

/** A success, and the calls between it and the error before it. */
export type Success = {
  readonly helpers: readonly Helper[];
  readonly tool: string;
  /** In words, for Bash; null for other tools. */
  readonly command: string | null;
  /** The failed command itself, word for word. */
  readonly retried: boolean;
};

/**
 * What helped, in one sentence: the edited files and commands between, then the success. Empty when there is nothing to
 * say: that a file tool worked at last is no lesson.
 */
export function describeResolution(found: Success, messages: Messages): string {
  const steps = helpingSteps(found, messages);
  if (found.command === null && steps.length === 0) return '';
  const success =
    found.command === null ? messages.succeeded(found.tool) : messages.passed(`\`${found.command}\``);
  const whole =
    steps.length > 0
      ? messages.followedBy(steps.join(', '), success)
      : found.retried
        ? messages.unchangedRetry(success)
        : success;
  return cutText(oneLine(whole).replace(/["\\]/g, ''), SUMMARY_LENGTH_MAX);
}

/** Edits and commands that change something; for a file tool, if nothing else, what was read. */
function helpingSteps({ helpers, command: success }: Success, messages: Messages): string[] {
  const filesOf = (isHelping: (tool: string) => boolean) =>
    distinct(helpers.filter((helper) => isHelping(helper.tool)).map((helper) => helper.file));
  const edited = filesOf(isEditingTool);
  const commands = distinct(helpers.map((helper) => helper.command)).filter(
    (command) => command !== success && !onlyReads(command),
  );
  const steps: string[] = [];
  if (edited.length > 0) steps.push(messages.edited(nameSome(edited)));
  if (commands.length > 0) steps.push(messages.ran(nameSome(commands.map((command) => `\`${command}\``))));
  if (success !== null || steps.length > 0) return steps;
  const read = filesOf((tool) => tool === 'Read');
  return read.length > 0 ? [messages.read(nameSome(read))] : [];
}

function distinct(values: readonly (string | null)[]): string[] {
  return [...new Set(values.filter((value): value is string => value !== null && value !== ''))];
}

/** The newest names come first: the last change before the success is the likeliest cause. */
function nameSome(names: readonly string[]): string {
  const newest = names.slice(-NAMED_MAX);
  return names.length > NAMED_MAX ? `${newest.join(', ')} (+${names.length - NAMED_MAX})` : newest.join(', ');
}
