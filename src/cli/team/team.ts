import type { Command } from 'commander';
import { type CliContext, commandGroup, type Given, subcommand } from '../context.ts';
import { teamPool } from './pool.ts';

const EXAMPLES = `
Examples:
  $ self-generation team pool`;

/** `team`: what a team shares. */
export function teamCommand(context: CliContext): Command {
  const description = 'what a team shares';
  const show = (flags: Given<'json'>) => teamPool.act(flags, context);
  const group = commandGroup('team', { description, after: EXAMPLES }, context, show);
  group.addCommand(subcommand(`team ${teamPool.name}`, teamPool, context, show));
  return group;
}
