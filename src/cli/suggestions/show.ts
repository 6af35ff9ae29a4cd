import { counted } from '../../core/text.ts';
import { timeAgo } from '../../runs/model/stats.ts';
import { diffOf } from '../../setup/file-plan.ts';
import { locate } from '../../setup/manifest.ts';
import { planLesson } from '../../suggestions/apply.ts';
import { filesOf, readApplied } from '../../suggestions/decide.ts';
import { describeDeclaration, type Suggestion } from '../../suggestions/model/suggestion.ts';
import { type CliContext, type CliState, PROGRAM } from '../context.ts';
import { colouredDiff, printJson, shownLine, visible } from '../output.ts';
import { pickSuggestion, planHere } from './suggestions-here.ts';

/** What applying it would do: changes as a diff, in words, or why it cannot be. */
type Effect = { readonly diff: string; readonly notes: readonly string[]; readonly refused: string | null };

/** `suggestions show`: the whole of one suggestion, and what to do with it. Changes nothing. */
export function showSuggestion(
  word: string,
  { json }: { readonly json?: true },
  state: CliState,
  context: CliContext,
): void {
  const suggestion = pickSuggestion(word, state.paths, context);
  const effect = effectOf(suggestion, state, context);
  if (json) printJson({ ...suggestion, effect }, context);
  else print(suggestion, effect, context);
}

/** Null when it is applied. */
function effectOf(suggestion: Suggestion, state: CliState, context: CliContext): Effect | null {
  const { type, status, project } = suggestion;
  const only = (change: Partial<Effect>): Effect => ({ diff: '', notes: [], refused: null, ...change });
  if (status === 'applied') return null;
  if (type === 'lesson') {
    const plan = planLesson(suggestion);
    if (plan.kind === 'refused') return only({ refused: plan.reason });
    return only({ notes: [`No file is changed: agents in ${project} are told it when its error happens`] });
  }
  const place = locate(context.env, context.platform);
  if (place.kind === 'failed') return only({ refused: `${place.reason}. ${place.advice}` });
  const plan = planHere(suggestion, { place }, state, context);
  if (plan.kind === 'refused') return only({ refused: plan.reason });
  if (plan.kind === 'present')
    return only({ notes: [`The same rule stands already in line ${plan.line} of ${plan.path}`] });
  return only({ diff: diffOf(plan.change), notes: plan.notes });
}

const TITLES = { claude_md: 'Rule', skill: 'Skill', hook: 'Hook', lesson: 'Lesson' } as const;

function print(suggestion: Suggestion, effect: Effect | null, context: CliContext): void {
  const { type, summary, id, evidence, details, text, why, project } = suggestion;
  const { bold, dim } = context.colours;
  const section = (title: string, body: string) => {
    if (body.trim() === '') return;
    context.stdout(`\n${bold(title)}\n`);
    context.verbatim(`${body.trimEnd()}\n`);
  };
  const place = project === 'all' ? 'all projects' : project;
  context.stdout(`${bold(`[${type}] ${shownLine(summary)}`)}\n`);
  context.stdout(`${dim(`${id} · ${shownLine(place)} · ${standing(suggestion, context)}`)}\n`);
  const { hook, skillName, lesson, errors = [], examples = [] } = details;
  const name = type === 'skill' && skillName !== undefined ? ` "${shownLine(skillName)}"` : '';
  section(`${TITLES[type]}${name}`, indented(hook === undefined ? text : describeDeclaration(hook)));
  section('For the error', indented(lesson?.said ?? ''));
  section(`Prevents ${counted(errors.length, 'error')}`, indented(errors.join('\n')));
  section('For prompts such as', indented(examples.join('\n')));
  section('Evidence', indented(evidence));
  section('Dismissed because', indented(why ?? ''));
  if (effect === null) {
    const applied = readApplied(suggestion.applied);
    const files = applied === undefined ? [] : filesOf(applied).map(({ path }) => path);
    section('Written to', indented(files.join('\n')));
  } else if (effect.refused !== null) section('It cannot be applied', indented(effect.refused));
  else section('Applying it', `${colouredDiff(effect.diff, context)}${indented(effect.notes.join('\n'))}`);
  context.stdout(`\n${bold('Decide')}\n${nextSteps(suggestion, effect)}`);
}

/** Not wrapped: it may be Markdown or code. */
function indented(text: string): string {
  return text === '' ? '' : `${visible(text).trimEnd()}\n`.replace(/^(?=.)/gm, '  ');
}

function standing({ status, ts, lastTs, decidedTs }: Suggestion, { now }: CliContext): string {
  const ago = (at: string) => timeAgo(Date.parse(at), now().getTime());
  if (decidedTs !== null && (status === 'applied' || status === 'dismissed'))
    return `${status} ${ago(decidedTs)}`;
  const again = lastTs === ts ? '' : `, last ${ago(lastTs)}`;
  const waits = status === 'expired' ? 'expired' : 'waits for your decision';
  return `${waits} · proposed ${ago(ts)}${again}`;
}

function nextSteps({ id, status }: Suggestion, effect: Effect | null): string {
  const steps = [
    ...(effect?.refused === null ? [[`apply ${id}`, 'shows the change and asks first']] : []),
    ...(status === 'dismissed' || status === 'applied' ? [[`undo ${id}`, 'takes the decision back']] : []),
    ...(status === 'new' || status === 'shown' || status === 'expired'
      ? [[`dismiss ${id} --why "…"`, 'is not proposed again']]
      : []),
  ];
  const width = Math.max(...steps.map(([call = '']) => call.length));
  return steps.map(([call = '', effect]) => `  ${PROGRAM} ${call.padEnd(width)}   ${effect}\n`).join('');
}
