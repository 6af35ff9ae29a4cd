import { inertText } from '../../core/inert-text.ts';

/** What of a conversation a sub-agent is handed: everything, a summary, the newest turns, or nothing (seed 001, R7–R12). */

export const HANDOVER_MODES = ['none', 'full', 'summary', 'recent'] as const;
export type HandoverMode = (typeof HANDOVER_MODES)[number];

/** What a call wants handed over of a conversation, as its flags say. */
export type ContextWish = {
  readonly mode?: HandoverMode | undefined;
  readonly recentN?: number | undefined;
  readonly includeSystem?: boolean | undefined;
  readonly maxChars?: number | undefined;
  readonly pruned?: boolean | undefined;
  /** The id of a session of any client; otherwise the caller's own. */
  readonly session?: string | undefined;
};

export type HandoverSettings = {
  readonly mode: HandoverMode;
  /** Of `recent`: how many messages, in whole turns; 0 hands nothing over. */
  readonly recentN: number;
  /** Also what the client has put into the conversation. */
  readonly includeSystem: boolean;
  /** Of the text, frame and marker included; 0: as much as the sub-agent's client can take. */
  readonly maxChars: number;
  /** Without the results that pruning would not show any more. */
  readonly pruned: boolean;
};

export const HANDOVER_DEFAULTS: HandoverSettings = {
  mode: 'full',
  recentN: 12,
  includeSystem: false,
  maxChars: 0,
  pruned: false,
};

/** The settings as a call, an agent, the environment and the configuration have them, in this order; and warnings. */
export function resolveHandover(
  sources: readonly Readonly<Partial<Record<keyof HandoverSettings, unknown>>>[],
): { readonly settings: HandoverSettings; readonly warnings: readonly string[] } {
  const warnings: string[] = [];
  const first = (name: keyof HandoverSettings) =>
    sources.map((source) => source[name]).find((value) => value != null && value !== '');
  const count = (name: 'recentN' | 'maxChars') => {
    const value = Number(first(name) ?? HANDOVER_DEFAULTS[name]);
    if (Number.isInteger(value) && value >= 0) return value;
    warnings.push(
      `${name} "${first(name)}" is no whole number from 0 on: ${HANDOVER_DEFAULTS[name]} is used`,
    );
    return HANDOVER_DEFAULTS[name];
  };
  const wanted = first('mode') ?? HANDOVER_DEFAULTS.mode;
  const mode = HANDOVER_MODES.find((one) => one === String(wanted).trim().toLowerCase());
  if (mode === undefined)
    warnings.push(
      `there is no mode "${inertText(String(wanted), 40)}": full is used (${HANDOVER_MODES.join(', ')})`,
    );
  const isSet = (name: 'includeSystem' | 'pruned') => /^(?:true|1|yes)$/i.test(String(first(name) ?? false));
  const settings = {
    mode: mode ?? 'full',
    recentN: count('recentN'),
    includeSystem: isSet('includeSystem'),
    maxChars: count('maxChars'),
    pruned: isSet('pruned'),
  };
  return { settings, warnings };
}

/** Of the environment (seed 001: `PLAN_MODE_CONTEXT_…`), as a source of settings. */
export function handoverInEnvironment(env: Readonly<Record<string, string | undefined>>) {
  return {
    mode: env.PLAN_MODE_CONTEXT_MODE,
    recentN: env.PLAN_MODE_CONTEXT_RECENT_N,
    includeSystem: env.PLAN_MODE_CONTEXT_INCLUDE_SYSTEM,
    maxChars: env.PLAN_MODE_CONTEXT_MAX_CHARS,
  };
}
