import { isRecord, parseJson, readString } from './guards.ts';

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
