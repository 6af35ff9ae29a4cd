import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { redactSecrets } from '../../src/core/redact.ts';
import { messagesIn, resolutionText } from '../../src/core/told-texts.ts';
import { readFailure, readHiddenFailure } from '../../src/lessons/failure.ts';
import { manifestName } from '../../src/lessons/fetches.ts';
import { learn } from '../../src/lessons/learn.ts';
import type { ErrorGroup, LogEntry, LoggedCall } from '../../src/lessons/lesson.ts';

/**
 * Episodes of agents' work as plain text, so that outputs stand there as their tools print them:
 *
 * `# title`, `✗ command` that failed, `✓ command` that worked (a tool's name may follow the mark, `↵` ends a line of the
 * command), below it indented what was printed, `✎` a changed file, `»` a prompt, `§` another session, `= ` the beginning
 * of the lesson's text in English or `nothing`, `~ ` a part of the telling line of the first failure.
 */
export type Episode = {
  readonly title: string;
  readonly log: readonly LogEntry[];
  readonly expected: string | null;
  readonly said: string | undefined;
};

type Step = { readonly tool: string; readonly command: string; readonly failed: boolean; output: string };

export function readEpisodes(folder: string): Episode[] {
  return readdirSync(folder)
    .sort()
    .flatMap((file) => readFileSync(join(folder, file), 'utf8').split(/^# /m).slice(1))
    .map(episodeIn);
}

export function episodeIn(text: string): Episode {
  const [title = '', ...lines] = text.split('\n');
  const steps: (Step | 'edit' | 'prompt' | 'session')[] = [];
  let expected: string | null = null;
  let said: string | undefined;
  for (const line of lines) {
    const last = steps.at(-1);
    const [, mark, tool = '', command = ''] = /^([✗✓])(\w*) (.*)$/.exec(line) ?? [];
    if (mark !== undefined)
      steps.push({
        tool: tool || 'Bash',
        command: command.replaceAll('↵', '\n'),
        failed: mark === '✗',
        output: '',
      });
    else if (line.startsWith('✎')) steps.push('edit');
    else if (line.startsWith('»')) steps.push('prompt');
    else if (line === '§') steps.push('session');
    else if (line.startsWith('= ')) expected = line === '= nothing' ? null : line.slice(2);
    else if (line.startsWith('~ ')) said = line.slice(2);
    else if (typeof last === 'object') last.output += `${line.slice(2)}\n`;
  }
  return { title, log: logOf(steps), expected, said };
}

function logOf(steps: readonly (Step | 'edit' | 'prompt' | 'session')[]): LogEntry[] {
  let session = 1;
  return steps.flatMap((step, index): LogEntry[] => {
    const ts = new Date(Date.UTC(2026, 0, session, 0, index)).toISOString();
    const common = { session: `s${session}`, ts };
    if (step === 'session') session++;
    if (step === 'session') return [];
    if (step === 'prompt') return [{ kind: 'prompt', ...common }];
    const call = { kind: 'call', ...common, id: `c${index}`, agent: null, directory: '' } as const;
    if (step === 'edit') return [{ ...call, tool: 'Edit', line: null, outcome: { kind: 'worked' } }];
    return [{ ...call, ...callOf(step) }];
  });
}

/** What of a call the hooks record. */
function callOf({ tool, command, failed, output }: Step): Pick<LoggedCall, 'tool' | 'line' | 'outcome'> {
  const line = redactSecrets(command);
  const text = redactSecrets(failed ? output || 'Exit code 1' : output).trim();
  const failure = failed ? readFailure({ tool, line, text }) : readHiddenFailure({ tool, line, text });
  const outcome = failure ? ({ kind: 'failed', ...failure, text } as const) : ({ kind: 'worked' } as const);
  return { tool, line: tool.startsWith('mcp__') ? null : line, outcome };
}

/** What the manifests of these projects name. */
const NAMED = new Set(
  'cypress eslint fastapi jest ng node nx playwright prettier prisma turbo vite vitest'.split(' '),
);

/** The lesson about the first failure, in words; null when there is none. */
export function lessonAbout(log: readonly LogEntry[], language: 'ko' | 'en' = 'en') {
  const groups = learn(log, '/repo', (name) => NAMED.has(manifestName(name)));
  const first = firstFailure(log);
  const group = groups.find(({ key }) => key === first?.key);
  return { said: first?.said, text: group ? textOf(group, language) : null, groups };
}

export function textOf({ lesson }: ErrorGroup, language: 'ko' | 'en' = 'en'): string | null {
  return lesson && resolutionText(JSON.stringify(lesson.remedy), messagesIn(language));
}

function firstFailure(log: readonly LogEntry[]) {
  for (const entry of log) if (entry.kind === 'call' && entry.outcome.kind === 'failed') return entry.outcome;
  return undefined;
}
