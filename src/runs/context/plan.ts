import { createHash } from 'node:crypto';
import { inertText } from '../../core/inert-text.ts';
import { cleanText, cutText, fingerprint } from '../../core/text.ts';

/** Plans as values: what one has to have, what a person says of it, and the file that an approved one becomes (seed 001). */

export const PLAN_SECTIONS = [
  'Task Analysis',
  'Interface Specification',
  'Architecture',
  'Implementation Steps',
  'Verification Strategy',
  'Success Criteria',
] as const;

/** Which of the six sections a plan lacks, or has without anything in them; in their order. */
export function missingSections(plan: string): string[] {
  const bodies = sectionsOf(plan);
  return PLAN_SECTIONS.filter((name) => !bodies.get(name.toLowerCase()));
}

/** What stands below each heading of the second level, by its name in lower case without its number. */
function sectionsOf(plan: string): Map<string, string> {
  const bodies = new Map<string, string>();
  for (const section of plan.split(/^(?=##\s+\S)/m)) {
    const [head = '', ...rest] = section.split('\n');
    bodies.set(
      head
        .replace(/^##\s+(?:\d+[.)]\s*)?/, '')
        .trim()
        .toLowerCase(),
      rest.join('\n').trim(),
    );
  }
  return bodies;
}

/** A plan as values (seed 001). */
export type ActionPlan = {
  readonly taskUnderstanding: string;
  readonly strategy: string;
  readonly steps: readonly ActionStep[];
  readonly estimatedTools: readonly string[];
  readonly successCriteria: string;
};
type ActionStep = {
  readonly stepNumber: number;
  readonly description: string;
  readonly prompt: string;
  readonly requiredTools: readonly string[];
  readonly dependsOn: readonly number[];
  readonly expectedOutput: string;
};

const step = (stepNumber: number, description: string, prompt: string): ActionStep => {
  return { stepNumber, description, prompt, requiredTools: [], dependsOn: [], expectedOutput: '' };
};

/** Of who does its task at once, without a plan before it. */
export function directPlan(task: string): ActionPlan {
  const steps = [step(1, 'Direct execution', task)];
  return {
    taskUnderstanding: task,
    strategy: 'Direct execution',
    steps,
    estimatedTools: [],
    successCriteria: '',
  };
}

/** The numbered steps of a plan, one line each. */
export function planSteps(plan: string): string[] {
  const body = sectionsOf(plan).get('implementation steps') ?? '';
  const numbered = body.matchAll(/^(?:#{3,6}\s+)?(?:\*\*)?(?:Step\s+)?\d+[.):]\s*(.+)$/gim);
  return [...numbered].map(([, text = '']) => text.replace(/\*\*/g, '').trim());
}

/** What a plan in its six sections comes to. */
export function readActionPlan(task: string, plan: string): ActionPlan {
  const sections = sectionsOf(plan);
  return {
    taskUnderstanding: sections.get('task analysis') || task,
    strategy: sections.get('architecture') ?? '',
    steps: planSteps(plan).map((text, index) => step(index + 1, text, text)),
    estimatedTools: [],
    successCriteria: sections.get('success criteria') ?? '',
  };
}

/** What a planning agent is asked (R9). `context`: the hand-over; empty: none. */
export function planPrompt(task: string, context: string): string {
  const words = ['Task:', task, '', 'Context:', context || 'None', ''];
  return [...words, 'Create a detailed plan using the required format.', ''].join('\n');
}

/** What it is asked after a person has said something of its plan. */
export function refinePrompt(feedback: string, plan: string, lacking: readonly string[] = []): string {
  const gaps = lacking.length === 0 ? [] : ['', `The plan lacks: ${lacking.join(', ')}.`];
  // No plan can name its own fingerprint, and so end before its end.
  const frame = `plan-${fingerprint(plan)}`;
  const current = ['Current plan:', `<${frame}>`, plan, `</${frame}>`];
  const words = [...current, '', 'Feedback of the user:', feedback, ...gaps, ''];
  return [...words, 'Give the whole plan anew, in the required format.', ''].join('\n');
}

/** The rules for a plan, as the agent is told them. */
export const PLAN_RULES = [
  'You are a Planning Agent. DO NOT write code and change nothing: look at what is there, and write a plan.',
  'The plan is Markdown with exactly these sections, each of which has to say something:',
  ...PLAN_SECTIONS.map((name) => `## ${name}`),
  'Number the steps of the implementation. Name files by their paths.',
].join('\n');

/** What a person wants with a plan that was shown. Anything that is no command is feedback. */
export type PlanDecision =
  | { readonly kind: 'approve' | 'cancel' | 'show' | 'undo' | 'nothing' }
  | { readonly kind: 'feedback'; readonly text: string };

const DECISIONS: Readonly<Record<string, 'approve' | 'cancel' | 'show' | 'undo' | 'nothing'>> = {
  ...{ approve: 'approve', approved: 'approve', ok: 'approve', done: 'approve' },
  ...{ cancel: 'cancel', quit: 'cancel', exit: 'cancel' },
  ...{ show: 'show', undo: 'undo', '': 'nothing' },
};

/** Reads what was typed. */
export function readDecision(typed: string): PlanDecision {
  const text = typed.trim();
  const word = text.toLowerCase();
  const kind = Object.hasOwn(DECISIONS, word) ? DECISIONS[word] : undefined;
  return kind === undefined ? { kind: 'feedback', text } : { kind };
}

/** An approved plan as a file: its name, its text, and the hash of its content by which a change is noticed. */
export function planFile(task: string, plan: string, at: Date) {
  const stamp = at.toISOString().replace(/[-:]/g, '').slice(0, 15).replace('T', '-');
  const slug = task
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '');
  const head = [
    '# Plan',
    '',
    '## Task',
    inertText(task, 500),
    '',
    '## Generated',
    at.toISOString(),
    '',
    '---',
    '',
  ];
  const text = `${head.join('\n')}\n${cleanText(plan).trimEnd()}\n`;
  return {
    name: `${cutText(slug, 50).replace(/-+$/, '') || 'plan'}-${stamp}.md`,
    text,
    hash: planHash(text),
  };
}

/** Of what stands in such a file behind its head. */
export function planHash(text: string): string {
  const [, ...plan] = text.split('\n---\n');
  return createHash('sha256').update(plan.join('\n---\n').trim()).digest('hex');
}
