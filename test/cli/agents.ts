import type { Command } from 'commander';
import type { CliContext } from '../../src/cli/context.ts';
import { PLAN_SECTIONS } from '../../src/runs/context/plan.ts';
import { PATH, type RunsHome } from '../runs/runs-home.ts';
import { type Answer, callHere } from './call.ts';

/** Calls of `explore` and `plan` by a person in the project of a home, with stand-ins for the clients. */

export const ENGLISH = { language: 'en', announce: { mode: 'raw' } };

/** A plan that lacks nothing; `first` is its first section's text. */
export function wholePlan(first = 'words'): string {
  return PLAN_SECTIONS.map((name, index) => `## ${name}\n1. ${index === 0 ? first : 'words'}`).join('\n');
}

export function callIn(
  { home, project }: RunsHome,
  command: (context: CliContext) => Command,
  words: readonly string[],
  changes: Partial<CliContext> = {},
): Promise<Answer> {
  const env = { HOME: home.path, PATH, LANG: 'C.UTF-8' };
  return callHere(command, words, { env, cwd: project, now: () => new Date(), ...changes });
}

/** A terminal at which this is typed, one line after the other; then Ctrl-C. */
export function typing(...lines: string[]): Partial<CliContext> & { readonly asked: string[] } {
  const asked: string[] = [];
  const ask = async (question: string) => {
    asked.push(question);
    return lines.shift();
  };
  return { isInteractive: true, ask, asked };
}
