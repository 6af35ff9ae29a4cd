import type { Config } from '../../core/config.ts';
import type { Environment } from '../../core/state-paths.ts';
import type { FullContext, Project } from '../../hooks/decision.ts';
import type { HookEvent } from '../../hooks/event.ts';
import { loadSkills, type Skill, skillPlaces } from '../../store/skill-files.ts';

export type PastOptions = {
  readonly config: Config;
  readonly env: Environment;
  readonly projectAt: (directory: string) => Project;
};

const NO_PROJECT: Project = { name: 'unknown', path: null, spellings: [] };

/**
 * What a hook would have decided on, had it been called then. Nothing is told to an agent any more, so nothing that is
 * known is looked up for it.
 */
export class PastContexts {
  readonly #options: PastOptions;
  readonly #projects = new Map<string, Project>();
  readonly #skills = new Map<string | null, readonly Skill[]>();

  constructor(options: PastOptions) {
    this.#options = options;
  }

  /** `startedIn`: the directory in which the session was started. */
  contextOf(event: HookEvent, { ts, startedIn }: { ts: string; startedIn: string | undefined }): FullContext {
    const directory = projectDirectory(event.cwd, startedIn);
    const project = directory === undefined ? NO_PROJECT : this.projectOf(directory);
    return {
      config: this.#options.config,
      now: new Date(ts),
      project,
      knowledge: () => undefined,
      skills: () => this.#skillsOf(project.path),
    };
  }

  projectOf(directory: string): Project {
    const known = this.#projects.get(directory) ?? this.#options.projectAt(directory);
    this.#projects.set(directory, known);
    return known;
  }

  #skillsOf(projectPath: string | null): readonly Skill[] {
    const known = this.#skills.get(projectPath) ?? loadSkills(skillPlaces(this.#options.env, projectPath));
    this.#skills.set(projectPath, known);
    return known;
  }
}

/** The hooks are told where the session was started, wherever below that its shell has gone since. */
function projectDirectory(cwd: string | undefined, startedIn: string | undefined): string | undefined {
  if (cwd === undefined || startedIn === undefined) return cwd ?? startedIn;
  const isBelow = cwd.startsWith(startedIn) && /^[\\/]/.test(cwd.slice(startedIn.length));
  return isBelow ? startedIn : cwd;
}
