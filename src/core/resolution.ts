import { isRecord, parseJson, readString } from './guards.ts';
import type { Messages } from './messages.ts';
import { cutText, oneLine } from './text.ts';
import { isEditingTool } from './tools.ts';

/** A call between an error and the success that followed: a candidate for what helped. */
export type Helper = { readonly tool: string; readonly file: string | null; readonly command: string | null };

/** How an error went away, as stored in `error_kb.resolution`. */
export type ResolutionDetails = {
  /** What was done, in words: what agents and people are shown. */
  readonly summary?: string;
  readonly tool?: string;
  readonly sessionId?: string;
  readonly resolvedBy?: 'success_after_error' | 'cross_tool_resolution' | 'user';
  readonly errorRaw?: string | null;
  readonly filePath?: string | null;
  readonly toolSequence?: readonly string[];
  readonly promptContext?: string | null;
  readonly command?: string | null;
};

const SUMMARY_LENGTH_MAX = 140;
const NAMED_MAX = 2;

/** What helped, in one sentence: the edited files and commands between, then the success. */
export function describeResolution(
  found: {
    readonly helpers: readonly Helper[];
    readonly tool: string;
    readonly command: string | null;
    readonly retried: boolean;
  },
  messages: Messages,
): string {
  const success =
    found.command === null ? messages.succeeded(found.tool) : messages.passed(`\`${found.command}\``);
  const files = distinct(
    found.helpers.filter((helper) => isEditingTool(helper.tool)).map((helper) => helper.file),
  );
  const commands = distinct(found.helpers.map((helper) => helper.command)).filter(
    (one) => one !== found.command,
  );
  const steps: string[] = [];
  if (files.length > 0) steps.push(messages.edited(nameSome(files)));
  if (commands.length > 0) steps.push(messages.ran(nameSome(commands.map((command) => `\`${command}\``))));
  const whole =
    steps.length > 0
      ? messages.followedBy(steps.join(', '), success)
      : found.retried
        ? messages.unchangedRetry(success)
        : success;
  return cutText(oneLine(whole).replace(/["\\]/g, ''), SUMMARY_LENGTH_MAX);
}

/**
 * The resolution column in words: our own summary, else the path of tools that an earlier version stored, else the
 * text as it is.
 */
export function resolutionText(resolution: string): string {
  const parsed = parseJson(resolution);
  if (!isRecord(parsed)) return resolution;
  const summary = readString(parsed, 'summary');
  if (summary) return summary;
  const resolvedBy = readString(parsed, 'resolvedBy');
  const sequence = parsed.toolSequence;
  if (Array.isArray(sequence) && sequence.length > 0) {
    return `${resolvedBy ? `${resolvedBy}: ` : ''}${sequence.join(' → ')}`;
  }
  return resolvedBy || resolution;
}

/** Our own summary, or undefined when the resolution was stored by somebody else. */
export function resolutionSummary(resolution: string): string | undefined {
  const parsed = parseJson(resolution);
  return isRecord(parsed) ? readString(parsed, 'summary') || undefined : undefined;
}

function distinct(values: readonly (string | null)[]): string[] {
  return [...new Set(values.filter((value): value is string => value !== null && value !== ''))];
}

/** The newest names come first: the last change before the success is the likeliest cause. */
function nameSome(names: readonly string[]): string {
  const newest = names.slice(-NAMED_MAX);
  return names.length > NAMED_MAX ? `${newest.join(', ')} (+${names.length - NAMED_MAX})` : newest.join(', ');
}
