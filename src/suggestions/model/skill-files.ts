import { lookOr } from '../../core/guards.ts';
import { type Environment, userHomeOf } from '../../core/state-paths.ts';

/**
 * One of the user's commands and skills, by the name that calls it. `agents`: of the project as well, where other clients than
 * Claude Code read it; not all of them say when they use one.
 */
export type Skill = {
  readonly name: string;
  readonly scope: (typeof SCOPES)[number];
  /** When its file was last written. */
  readonly changedMs: number;
};

/** One of the project hides one of the same name before it. */
const SCOPES = ['global', 'agents', 'project'] as const;

const SKILLS_MAX = 200;
/** A name is recorded and told to the analysis: one that is a sentence, or two lines, is not a skill's. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}_:.-]{0,63}$/u;

/** Where clients keep the user's own commands and skills: for everywhere, and for one project. */
type SkillPlaces = Partial<Readonly<Record<Skill['scope'], string | null | undefined>>>;

/** `~/.claude`, or what CLAUDE_CONFIG_DIR names; and the project's `.claude` and `.agents`. */
export function skillPlaces(env: Environment, projectPath: string | null) {
  const home = userHomeOf(env, process.platform);
  const global = env.CLAUDE_CONFIG_DIR || (home && `${home}/.claude`) || undefined;
  const below = (name: string) => (projectPath === null ? null : `${projectPath}/${name}`);
  return { global, agents: below('.agents'), project: below('.claude') } satisfies SkillPlaces;
}

/**
 * The skills there are now: `commands/<name>.md` and `skills/<name>/SKILL.md` (REQ-RA-101). One of the project hides a
 * global one of the same name. What is not a file is ignored. Never throws.
 */
export function loadSkills(places: SkillPlaces): Skill[] {
  const skills = new Map<string, Skill>();
  for (const scope of SCOPES) {
    const directory = places[scope];
    if (!directory) continue;
    for (const { name, path } of skillFiles(directory)) {
      const changedMs = skills.size < SKILLS_MAX ? fileChangedMs(path) : undefined;
      if (changedMs !== undefined) skills.set(name, { name, scope, changedMs });
    }
  }
  return [...skills.values()];
}

type SkillFile = { readonly name: string; readonly path: string };

function skillFiles(directory: string): SkillFile[] {
  const commands = namesIn(`${directory}/commands`)
    .filter((file) => file.endsWith('.md'))
    .map((file) => ({ name: file.slice(0, -3), path: `${directory}/commands/${file}` }));
  const skills = namesIn(`${directory}/skills`).map((name) => ({
    name,
    path: `${directory}/skills/${name}/SKILL.md`,
  }));
  return [...commands, ...skills]
    .map(({ name, path }) => ({ name: name.normalize('NFC'), path }))
    .filter(({ name }) => NAME.test(name));
}

/** Undefined when it is no file. */
function fileChangedMs(path: string): number | undefined {
  const stats = lookOr(() => process.getBuiltinModule('node:fs').statSync(path), undefined);
  return stats?.isFile() ? stats.mtimeMs : undefined;
}

function namesIn(directory: string): string[] {
  const names = lookOr(() => process.getBuiltinModule('node:fs').readdirSync(directory), []);
  return names.sort().slice(0, SKILLS_MAX);
}
