import { inertText } from '../../core/inert-text.ts';
import { redactSecrets } from '../../core/redact.ts';
import type { Environment } from '../../core/state-paths.ts';
import { cleanText } from '../../core/text.ts';
import { loadSkills, skillPlaces } from '../../suggestions/model/skill-files.ts';
import { readTextFile } from '../../system/runtime-bun.ts';

/** The user's skills as an agent of any client is told of them: name, what for, and the file to read (seed 004). */

export type Skill = {
  readonly name: string;
  readonly description: string;
  /** Of its SKILL.md. */
  readonly path: string;
  readonly scope: 'global' | 'project';
};

const SKILLS_MAX = 40;
const DESCRIPTION_LENGTH_MAX = 200;
/** The front matter is looked for in so much of the file. */
const HEAD_LENGTH_MAX = 8192;

/** The skills of one place, which is a directory such as `~/.claude`; undefined or null: none. Never throws. */
export function loadActiveSkills(place: string | null | undefined, scope: Skill['scope']): readonly Skill[] {
  if (!place) return [];
  return loadSkills({ [scope]: place }).flatMap(({ name }) => {
    const path = `${place}/skills/${name}/SKILL.md`;
    const text = readTextFile(path);
    return text === undefined ? [] : [{ name, description: descriptionIn(text), path, scope }];
  });
}

/** Those of the user and of the project, at most 40 by name; one of the project hides a global one of its name. Never throws. */
export function getMergedSkills(env: Environment, projectPath: string | null): readonly Skill[] {
  const { global, agents, project } = skillPlaces(env, projectPath);
  const own = [agents, project === global ? null : project].flatMap((one) =>
    loadActiveSkills(one, 'project'),
  );
  const merged = new Map([...loadActiveSkills(global, 'global'), ...own].map((skill) => [skill.name, skill]));
  return [...merged.values()].sort((one, other) => (one.name < other.name ? -1 : 1)).slice(0, SKILLS_MAX);
}

/** One line each: `- name: what for (path)`. */
export function skillLines(skills: readonly Skill[]): string[] {
  return skills.map(({ name, description, path }) => {
    const what = description === '' ? '' : `: ${description}`;
    return `- ${inertText(name, 64)}${what} (${inertText(path, 1000)})`;
  });
}

/** `description:` of the front matter, on one line, inert; empty when there is none. */
function descriptionIn(text: string): string {
  const [, matter = ''] = /^---\r?\n([\s\S]*?)\r?\n---/.exec(text.slice(0, HEAD_LENGTH_MAX)) ?? [];
  const [, said = ''] =
    /^description:[ \t]*(?:[>|][+-]?[ \t]*\r?\n)?((?:.*)(?:\r?\n[ \t]+.*)*)/m.exec(matter) ?? [];
  const plain = said.trim().replace(/^(["'])([\s\S]*)\1$/, '$2');
  return inertText(redactSecrets(cleanText(plain)), DESCRIPTION_LENGTH_MAX);
}
