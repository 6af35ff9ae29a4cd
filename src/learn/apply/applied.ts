import { z } from 'zod';
import { HOOKS } from '../../core/hook-names.ts';

/**
 * What apply did, as it is kept with the suggestion: everything that undo needs, and by which a hook's code is known to
 * be what the user was shown.
 */
const COMMON = {
  scope: z.enum(['project', 'global']),
  /** The file that was written. */
  path: z.string(),
  /** Below which it has to stay. */
  root: z.string(),
  /** Directories that were made for it, outermost first. */
  directories: z.array(z.string()),
};

const APPLIED = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('skill'), ...COMMON, sha256: z.string() }),
  z.object({
    kind: z.literal('claude_md'),
    ...COMMON,
    rule: z.string(),
    /** There was no such file before. */
    createdFile: z.boolean(),
  }),
  z.object({
    kind: z.literal('hook'),
    ...COMMON,
    sha256: z.string(),
    event: z.enum(HOOKS.map((hook) => hook.event)),
    matcher: z.string().optional(),
    settings: z.string(),
    /** Empty: in every project. */
    projectPath: z.string(),
  }),
]);

export type Applied = z.infer<typeof APPLIED>;
export type AppliedOf<Kind extends Applied['kind']> = Extract<Applied, { kind: Kind }>;

/** The record of an applied suggestion; undefined when it is none of ours. */
export function readApplied(value: unknown): Applied | undefined {
  return APPLIED.safeParse(value).data;
}
