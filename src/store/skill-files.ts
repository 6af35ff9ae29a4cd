import { readSkill, type Skill } from '../core/skills/skill.ts';
import type { Environment } from '../core/state-paths.ts';

const SKILLS_MAX = 200;
/** Of each file: what a skill is for stands at its beginning. */
const BYTES_READ_MAX = 8192;
/** A name comes into the agent's context: one that is a sentence, or two lines, is not a skill's. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}_:.-]{0,63}$/u;

/** Where Claude Code keeps the user's own commands and skills: for everywhere, and for one project. */
export type SkillPlaces = { readonly global: string | undefined; readonly project: string | null };

/** `~/.claude`, or what CLAUDE_CONFIG_DIR names; and the project's `.claude`. */
export function skillPlaces(env: Environment, projectPath: string | null): SkillPlaces {
  const home = env.HOME ?? env.USERPROFILE;
  const global = env.CLAUDE_CONFIG_DIR || (home && `${home}/.claude`) || undefined;
  return { global, project: projectPath === null ? null : `${projectPath}/.claude` };
}

/**
 * The skills there are now: `commands/<name>.md` and `skills/<name>/SKILL.md` (REQ-RA-101). One of the project hides a
 * global one of the same name. What cannot be read is passed over; never throws.
 */
export function loadSkills({ global, project }: SkillPlaces): Skill[] {
  const skills = new Map<string, Skill>();
  for (const [scope, directory] of [
    ['global', global],
    ['project', project],
  ] as const) {
    if (!directory) continue;
    for (const { name, path } of skillFiles(directory)) {
      const text = skills.size < SKILLS_MAX ? beginningOf(path) : undefined;
      if (text !== undefined) skills.set(name, readSkill(text, { name, scope, path }));
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
  return [...commands, ...skills].filter(({ name }) => NAME.test(name));
}

/** The first bytes of a file as text; undefined when it cannot be read. */
function beginningOf(path: string): string | undefined {
  const fs = process.getBuiltinModule('node:fs');
  let file: number | undefined;
  try {
    if (!fs.statSync(path).isFile()) return undefined; // A pipe would keep the hook waiting.
    file = fs.openSync(path, 'r');
    const bytes = new Uint8Array(BYTES_READ_MAX);
    const length = fs.readSync(file, bytes);
    return new TextDecoder().decode(bytes.subarray(0, length));
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) fs.closeSync(file);
  }
}

function namesIn(directory: string): string[] {
  try {
    return process.getBuiltinModule('node:fs').readdirSync(directory).sort().slice(0, SKILLS_MAX);
  } catch {
    return []; // There is no such directory, or it is not for us.
  }
}
