import type { Json } from '../../core/guards.ts';
import { otherClientIn } from '../event.ts';
import { translateCodex } from './codex.ts';
import { translateGemini } from './gemini.ts';
import type { Translated } from './translated.ts';

/** By the client's name, as it stands in the event and behind the hook's name in what the client calls. */
const TRANSLATIONS: Readonly<Record<string, (value: Json) => Translated>> = {
  codex: translateCodex,
  gemini: translateGemini,
};

/** What a hook of the client that stands in the event was handed, as ours know it. */
export function translated(value: Json): Translated {
  return TRANSLATIONS[otherClientIn(value) ?? '']?.(value) ?? { event: value };
}
