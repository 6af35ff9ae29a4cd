import { z } from 'zod';

/** What apply did, as it is kept with the suggestion: everything that undo needs, and what a hook does when it is asked. */
const COMMON = {
  scope: z.enum(['project', 'global']),
  /** The file that was written. */
  path: z.string(),
  /** Directories that were made for it, outermost first. */
  directories: z.array(z.string()),
};
/** Of a file below which directory it has to stay. */
const FILE = { ...COMMON, root: z.string() };

const APPLIED = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('skill'), ...FILE, sha256: z.string() }),
  z.object({
    kind: z.literal('claude_md'),
    ...FILE,
    rule: z.string(),
    /** There was no such file before. */
    createdFile: z.boolean(),
  }),
  /** `path`: the settings in which it is registered. */
  z.object({
    kind: z.literal('declaration'),
    ...COMMON,
    /** Read again each time that it is asked: a later version may know better what must not be said. */
    declaration: z.unknown(),
    /** Empty: in every project. */
    projectPath: z.string(),
  }),
  /** A script that an earlier version wrote and registered. Nothing runs it any more. */
  z.object({ kind: z.literal('hook'), ...FILE, sha256: z.string(), settings: z.string() }),
]);

export type Applied = z.infer<typeof APPLIED>;
export type AppliedOf<Kind extends Applied['kind']> = Extract<Applied, { kind: Kind }>;

/** The record of an applied suggestion; undefined when it is none of ours. */
export function readApplied(value: unknown): Applied | undefined {
  return APPLIED.safeParse(value).data;
}
