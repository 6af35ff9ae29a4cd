import { clipped } from '../../conversation/history.ts';
import { inertText } from '../../core/inert-text.ts';
import { redactSecrets } from '../../core/redact.ts';
import { cleanText, fingerprint } from '../../core/text.ts';
import { inertCode } from '../../runs/model/handover.ts';

/** Texts of other agents as they stand in a prompt: without secrets, inert, cut, and within a fence that they cannot end. */

/** Of a name, the user's request, and what an agent says at its end. */
export const NAME_LENGTH_MAX = 80;
export const REQUEST_LENGTH_MAX = 4000;
export const REPORT_LENGTH_MAX = 4000;
export const PATH_LENGTH_MAX = 300;

/** The text of somebody else with its lines: cleaned, then without secrets, then cut, then inert. */
export function inertPart(text: string, lengthMax: number): string {
  return inertCode(clipped(redactSecrets(cleanText(text)), lengthMax)).trim();
}

/** The same on one line. */
export function inertWords(text: string, lengthMax: number): string {
  return inertText(redactSecrets(cleanText(text)), lengthMax);
}

/** Fences for all texts that go into one prompt. No text can name the fingerprint of what it is itself a part of. */
export function fences(texts: unknown) {
  const nonce = fingerprint(JSON.stringify(texts));
  const fence = (name: string, text: string, lengthMax: number) =>
    [
      `<<<BEGIN_${name} ${nonce}>>>`,
      inertPart(text, lengthMax).replaceAll(nonce, '[nonce]'),
      `<<<END_${name} ${nonce}>>>`,
    ].join('\n');
  return { nonce, fence };
}

export type Fence = ReturnType<typeof fences>['fence'];
