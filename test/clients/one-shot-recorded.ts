import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientEnd } from '../../src/clients/one-shot.ts';

/** How a real client ended, as it was recorded; paths, ports and ids are not those of the machine. */
export function recorded(name: string): ClientEnd {
  const path = join(import.meta.dir, '..', 'fixtures', 'one-shot', `${name}.json`);
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** What the model of every `…-good` recording said. */
export const RECORDED_TEXT = '정답은 42입니다 👍\n\n"끝" @types/node';

/** An end with exit code 0 that said this and nothing else. */
export function ended(stdout: string, rest: Partial<ClientEnd> = {}): ClientEnd {
  return { code: 0, stderr: '', stdout, ...rest };
}

/** One JSON object on each line. */
export function lines(...events: readonly object[]): string {
  return `${events.map((event) => JSON.stringify(event)).join('\n')}\n`;
}
