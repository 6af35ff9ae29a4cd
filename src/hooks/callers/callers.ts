import { isRecord, type Json } from '../../core/guards.ts';
import { otherClientIn } from '../event.ts';
import { translateCodex } from './codex.ts';
import { translateGemini } from './gemini.ts';
import type { Translated } from './translated.ts';

/** By the client's name, as it stands in the event and behind the hook's name in what the client calls. */
const TRANSLATIONS: Readonly<Record<string, (value: Json) => Translated>> = {
  codex: translateCodex,
  gemini: translateGemini,
};

/** What another client's hook was handed, as ours know it; undefined for an event of Claude Code's own, or of nobody's. */
export function translated(value: unknown): Translated | undefined {
  if (!isRecord(value)) return undefined;
  const client = otherClientIn(value);
  return client === undefined ? undefined : (TRANSLATIONS[client]?.(value) ?? { event: value });
}
