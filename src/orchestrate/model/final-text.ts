import type { Language } from '../../core/told-texts.ts';
import type { OrchestrationState, Work } from './state.ts';

const WORDS = {
  ko: {
    done: '끝난 일:',
    notDone: '끝나지 않은 일:',
    none: '- (없음)',
    phase: (phase: number) => `${phase}단계`,
    next: '"self-generation orchestrate --continue"로 이어서 할 수 있습니다.',
    tree: (path: string) => `작업 트리: ${path}`,
  },
  en: {
    done: 'Done:',
    notDone: 'Not done:',
    none: '- (nothing)',
    phase: (phase: number) => `phase ${phase}`,
    next: '"self-generation orchestrate --continue" goes on with it.',
    tree: (path: string) => `its working tree: ${path}`,
  },
} satisfies Record<Language, unknown>;

type Told = Pick<OrchestrationState, 'works' | 'verdicts' | 'options'>;

/** What the user is told at the end: what the last reviewer says, and, when not all is done, what is and what is not. */
export function finalText({ works, verdicts, options }: Told): string {
  const words = WORDS[options.language];
  const summary = verdicts.at(-1)?.summary ?? '';
  const line = (work: Work) => `- ${work.agent}: ${work.task.split('\n', 1)[0]}`;
  const done = works.filter(({ status }) => status === 'done').map(line);
  if (done.length === works.length) return summary || [words.done, ...done].join('\n');
  const left = works
    .filter(({ status }) => status !== 'done')
    .map((work) => {
      const reason = work.reason === null ? '' : `: ${work.reason.split('\n', 1)[0]}`;
      const tree = treeOf(work);
      return `${line(work)} (${words.phase(work.currentPhase)}${reason}${tree === null ? '' : `; ${words.tree(tree)}`})`;
    });
  const lists = [words.done, ...(done.length === 0 ? [words.none] : done), '', words.notDone, ...left];
  return [...lists, '', words.next].join('\n');
}

/** The working tree of its own in which its changes are. */
function treeOf({ attempts }: Work): string | null {
  const trees = attempts.flatMap(({ asked }) => (asked?.kind === 'turn' && asked.run.worktree?.path) || []);
  return trees.at(-1) ?? null;
}
