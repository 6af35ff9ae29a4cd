import { posix } from 'node:path';
import { withoutPrefix } from '../../core/command.ts';
import { type Json, readString } from '../../core/guards.ts';
import type { HookDeclaration } from '../../core/hook-declaration.ts';
import { inertLines } from '../../core/inert-text.ts';
import type { Project } from '../../hooks/decision.ts';
import type { HookEvent } from '../../hooks/event.ts';
import { filePath, withinProject } from '../../hooks/tool-call.ts';
import { parseShell, unquoted } from '../../lessons/shell.ts';

/**
 * What a declared hook answers to an event; undefined when the event is not what it is about. It is there against
 * habits: whoever wants to get round it writes the command in another way.
 */
export function answerDeclared(hook: HookDeclaration, event: HookEvent, project: Project): Json | undefined {
  if (event.name !== hook.event || !('tool' in event) || !hook.tools.includes(event.tool)) return undefined;
  if (hook.when !== undefined && !isMeant(hook.when, event, project)) return undefined;
  const text = inertLines(hook.text);
  const said =
    hook.action === 'deny'
      ? { permissionDecision: 'deny', permissionDecisionReason: text }
      : { additionalContext: text };
  return { hookSpecificOutput: { hookEventName: hook.event, ...said } };
}

type Call = { readonly input: Json; readonly cwd: string | undefined };

function isMeant(
  when: NonNullable<HookDeclaration['when']>,
  { input, cwd }: Call,
  project: Project,
): boolean {
  if ('command' in when) return runs(readString(input, 'command') ?? '', when.command.split(' '));
  const file = filePath(input);
  if (file === undefined || project.path === null) return false;
  const path = withinProject(posix.resolve(cwd ?? project.path, file.replaceAll('\\', '/')), project);
  return !posix.isAbsolute(path) && matchesGlob(path, when.path);
}

/** Whether one of the simple commands begins so, also behind `cd app &&`, assignments and wrappers such as `sudo`. */
function runs(line: string, wanted: readonly string[]): boolean {
  return parseShell(line).some(({ words }) => {
    const typed = words.map(unquoted);
    const inFront = typed.length - withoutPrefix(typed).length;
    for (let at = 0; at <= inFront; at++) {
      if (wanted.every((word, index) => typed[at + index] === word)) return true;
    }
    return false;
  });
}

/** A glob without a slash is about a file's name, in whatever directory; what is in a directory is below it. */
function matchesGlob(path: string, glob: string): boolean {
  const names = glob.includes('/') ? glob.split('/') : ['**', glob];
  if (names.at(-1) === '**') names.push('*');
  return matchesStars(path.split('/'), names, '**', (name, pattern) =>
    matchesStars([...name], [...pattern], '*', (left, right) => left === right),
  );
}

/**
 * Whether the items are as the pattern says, in which a star stands for any number of them. Only what the last star has
 * taken is ever tried again, so that no pattern takes more steps than the lengths of both multiplied.
 */
function matchesStars(
  items: readonly string[],
  pattern: readonly string[],
  star: string,
  fits: (item: string, one: string) => boolean,
): boolean {
  let [at, next, taken, lastStar] = [0, 0, 0, -1];
  while (at < items.length) {
    const one = pattern[next];
    if (one === star) {
      lastStar = next++;
      taken = at;
    } else if (one !== undefined && fits(items[at] as string, one)) {
      at++;
      next++;
    } else if (lastStar >= 0) {
      next = lastStar + 1;
      at = ++taken;
    } else return false;
  }
  return pattern.slice(next).every((one) => one === star);
}
