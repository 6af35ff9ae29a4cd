import type { Case } from './context.ts'; export const ADOPT_CASES: readonly Case[] = [];
