import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

export const ROOT = resolve(import.meta.dir, '../..');

/**
 * Where the built program lies. TEST_DIST replaces it, so that one can put a program there that does nothing and see
 * which tests notice.
 */
export const DIST = process.env.TEST_DIST ?? `${ROOT}/dist`;
export const BINARY = `${DIST}/self-generation`;

for (const file of [BINARY, `${DIST}/node/subagent-context.mjs`]) {
  if (!existsSync(file))
    throw new Error(`There is no ${file}: run "bun scripts/build.ts" before these tests`);
}
