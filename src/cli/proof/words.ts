import { ENOUGH } from '../../benefit/evidence/e-value.ts';
import type { Forecast } from '../../benefit/evidence/forecast.ts';
import {
  type CureProof,
  type PreventionProof,
  type Proof,
  TYPICAL_PER_WEEK,
  type Verdict,
} from '../../benefit/report.ts';
import { counted } from '../../core/text.ts';

/** What is proven, in plain English of at most 80 columns. */

/** A paragraph, each line a text; the first one is its heading. */
export type Paragraph = readonly [heading: string, ...lines: string[]];

const COLUMNS = 80;
const INDENT = '  ';

/** A text as lines of at most 80 columns, each behind the indent. */
export function wrap(text: string, indent: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) as string;
    if (line === '') lines[lines.length - 1] = word;
    else if (indent.length + line.length + 1 + word.length <= COLUMNS)
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.map((line) => indent + line);
}

const wrapped = (...texts: string[]): string[] => texts.flatMap((text) => wrap(text, INDENT));

/** How lessons do, apart from the ledger: how many of them are in which state. */
export type LessonCounts = Readonly<Record<string, number>>;

/** The whole screen of `proof`. */
export function proofParagraphs(proof: Proof, lessons: LessonCounts): Paragraph[] {
  const { start, failure, holdOut } = proof;
  const isCompared = [start, failure].some(({ told, held }) => told + held > 0);
  if (!isCompared) return [holdOut === 'off' ? offParagraph(proof) : beginsParagraph(proof), LIMITS];
  return [
    headParagraph(proof),
    startParagraph(proof),
    failureParagraph(proof),
    lessonsParagraph(proof, lessons),
    priceParagraph(proof),
    ...(holdOut === 'off' ? [stoppedParagraph()] : []),
    READING,
    LIMITS,
  ];
}

function headParagraph({ since, sessions, holdOut }: Proof): Paragraph {
  return [
    'Does telling lessons help?',
    ...wrapped(
      `Since ${since?.slice(0, 10)}, in ${counted(sessions, 'session')}, a coin has decided of each lesson whether it is told ` +
        `or held out. A session counts with its sub-agents and forks. Held out ${SHARES[holdOut]}.`,
    ),
  ];
}

const SHARES: Readonly<Record<Proof['holdOut'], string>> = {
  off: 'is nothing now (proof.holdOut is off)',
  low: 'is a tenth (proof.holdOut is low)',
  trial: 'is a half, and a tenth where it is known that telling helps (proof.holdOut is trial)',
};

/** One line of it, for `status`. */
export function proofLine(proof: Proof): string {
  const { start, failure, holdOut } = proof;
  const words: Readonly<Record<Verdict, string>> = {
    helps: 'helps',
    harms: 'does harm',
    open: 'not known yet',
    unknown: 'nothing to compare yet',
  };
  const known = `at a start ${words[start.verdict]}, at a failing call ${words[failure.verdict]}`;
  const isUnknown = start.verdict === 'unknown' && failure.verdict === 'unknown';
  if (holdOut === 'off' && isUnknown)
    return 'nothing is held out, so it cannot be known ("self-generation proof")';
  return isUnknown ? 'on trial, nothing to compare yet' : `telling lessons ${known}`;
}

function offParagraph(proof: Proof): Paragraph {
  return [
    'Does telling lessons help? It cannot be known: nothing is held out.',
    ...wrapped(
      'Counting failures before and after would mislead: lessons are learned when something ' +
        'fails most, so that it fails less afterwards whether anybody is told or not.',
      'To find out:  self-generation config set proof.holdOut trial',
      trialWords(proof),
    ),
  ];
}

/** What a trial does, what it costs, and how long it takes: also what `install` asks. */
export function trialWords({ onTrial, rate }: Pick<Proof, 'onTrial' | 'rate'>): string {
  const { startPerWeek, weeksSeen } = rate;
  const pace =
    weeksSeen < 1
      ? `at a typical rate of ${TYPICAL_PER_WEEK} repeated failures a week`
      : `at your rate of ${perWeek(startPerWeek)} repeated failures a week`;
  // Of those that come back although all are told, 1 / 0.4 as many would; half of them are held out, 6 of 10 of which telling prevents.
  const cost = weeksSeen < 1 ? TYPICAL_PER_WEEK * 0.3 : startPerWeek * 0.75;
  return (
    'A coin then holds each lesson out in half of the sessions, and in a tenth once it is known that telling helps. ' +
    `It costs the failures that a held-out lesson would have prevented: ${pace}, about ${perWeek(cost)} a week ` +
    `until then. ${answerWords(onTrial)}`
  );
}

function answerWords({ start, failure }: Proof['onTrial']): string {
  return (
    `An answer takes ${howLong(start)} for what is told at a start, ${howLong(failure)} for hints at a failing call: ` +
    'all of it if lessons prevent 6 of 10 failures.'
  );
}

function beginsParagraph({ holdOut, onTrial }: Proof): Paragraph {
  return [
    'Does telling lessons help? Not known yet: no coin has been thrown.',
    ...wrapped(
      `It begins with the next session in which there is a lesson to tell (proof.holdOut is ${holdOut}).`,
      ...(holdOut === 'trial' ? [answerWords(onTrial)] : []),
    ),
  ];
}

function stoppedParagraph(): Paragraph {
  return ['Nothing is held out any more', ...wrapped('proof.holdOut is off, so no answer comes nearer.')];
}

const HEADINGS: Readonly<Record<Verdict, string>> = {
  helps: 'IT HELPS',
  harms: 'IT DOES HARM',
  open: 'NOT KNOWN YET',
  unknown: 'NOT KNOWN YET',
};

function startParagraph(proof: Proof): Paragraph {
  const { start } = proof;
  const { failures, held, told } = start.found;
  const heading = `Told when an agent starts, does a failure come back less often? ${HEADINGS[start.verdict]}`;
  const seen = `Told ${times(start.told)}, held out ${times(start.held)}`;
  if (failures === 0)
    return [heading, ...wrapped(`${seen}; no failure came back.`, ...outlook(start, proof, 'start'))];
  return [
    heading,
    ...wrapped(
      `${seen}. ${counted(failures, 'failure')} came back: ${held} held out, ${told} told.`,
      ...riskWords(start),
      ...evidenceWords(start),
      ...outlook(start, proof, 'start'),
    ),
  ];
}

function failureParagraph(proof: Proof): Paragraph {
  const { failure } = proof;
  const { episodes, held, told, medianHeld, medianTold } = failure.found;
  const heading = `Told at a failing call, is it mended sooner? ${HEADINGS[failure.verdict]}`;
  const seen = `Told ${times(failure.told)}, held out ${times(failure.held)}`;
  if (episodes === 0)
    return [heading, ...wrapped(`${seen}; none settled.`, ...outlook(failure, proof, 'failure'))];
  const median = (value: number | null, count: number) =>
    value === null ? 'none yet' : `${counted(value, 'call')} (${counted(count, 'case')})`;
  return [
    heading,
    ...wrapped(
      `${seen}. Until the same check passed it took (median): held out ${median(medianHeld, held)}, told ` +
        `${median(medianTold, told)}.`,
      ...evidenceWords(failure),
      ...outlook(failure, proof, 'failure'),
    ),
  ];
}

/** How many come back told for 100 held out, and what can be ruled out already. */
function riskWords({ verdict, found: { best, low, high } }: PreventionProof): string[] {
  const many = (ratio: number) => Math.round(100 * ratio).toLocaleString('en');
  if (low === 0 && !Number.isFinite(high)) return [];
  const range = [
    ...(low > 0 ? [Number.isFinite(high) ? many(low) : `at least ${many(low)}`] : []),
    ...(Number.isFinite(high) ? [low > 0 ? many(high) : `at most ${many(high)}`] : []),
  ].join(' to ');
  const likely = best === null || !Number.isFinite(best) ? '' : `, most likely ${many(best)}`;
  const found = `In equally many sessions: for 100 failures held out, ${range} told (95 %, whenever you look)${likely}.`;
  if (verdict === 'open' && low > EXPECTED_RATIO)
    return [found, `So telling prevents at most ${many(1 - low)} of 100, if anything.`];
  return verdict === 'helps' && high > 1
    ? [
        found,
        'That it helps is known, how much is not yet: the range looks both ways and is the wider for it.',
      ]
    : [found];
}

/** A forecast is made for lessons that prevent 6 of 10. */
const EXPECTED_RATIO = 0.4;

function evidenceWords({ verdict, peak, found: { evidence, harm } }: PreventionProof | CureProof): string[] {
  const words = `Evidence that it helps ${amount(evidence)}, that it does harm ${amount(harm)}, of ${ENOUGH}.`;
  const fell = `It was ${amount(peak)} before, which counted as known; what came since speaks less for it.`;
  const isLess = verdict === 'open' && peak >= ENOUGH;
  return [words, ...(isLess ? [fell] : [])];
}

/** When an answer can be expected; nothing where there is one, or none is looked for. */
function outlook(
  { verdict, found, outlook: when }: (PreventionProof | CureProof) & { readonly outlook: Forecast },
  { rate, holdOut, start }: Proof,
  channel: 'start' | 'failure',
): string[] {
  if (verdict === 'harms') return ['See "lessons"; "errors withdraw ID" stops one that does harm.'];
  if (verdict === 'helps' || holdOut === 'off') return [];
  if ((channel === 'start' && start.found.low > EXPECTED_RATIO) || found.evidence < RULED_OUT)
    return [
      'An effect as large as 6 of 10 would have shown; a smaller one takes far more failures: do not wait for it.',
    ];
  const weekly = channel === 'start' ? rate.startPerWeek : rate.failurePerWeek;
  if (rate.weeksSeen < 1) return ['When an answer can be expected is known after a week.'];
  if (weekly === 0) return ['Nothing that is told failed in the last weeks, so no answer can be expected.'];
  const words =
    when.kind === 'never'
      ? 'there is no answer within two years'
      : `an answer still takes ${howLong(when)}, if ${channel === 'start' ? 'lessons prevent 6 of 10' : 'hints spare 6 of 10 calls'}`;
  const doubt = found.evidence < UNLIKELY ? ', which it does not look like so far' : '';
  return [
    `At your rate (${counted(Number(perWeek(weekly)), 'failure')} a week) ${words}${when.kind === 'never' ? '' : doubt}.`,
  ];
}

/** Evidence below it speaks against an effect as large as a forecast is made for: where there is one, it ever falls so low hardly ever. */
const UNLIKELY = 0.1;
const RULED_OUT = 0.01;

/** Whether one of several lessons helps, where all together do not say so already. */
function someWords({ some, start }: Proof): string[] {
  if (some.lessons < 2) return [];
  const { failures } = start.found;
  const habit = `${some.most} of the ${counted(failures, 'failure')} that came back are of one lesson, of ${some.lessons}.`;
  const found = `${some.verdict === 'helps' ? 'Yes' : 'Not known yet'} (evidence ${amount(some.evidence)} of ${ENOUGH}).`;
  return start.verdict === 'helps' ? [habit] : [habit, `Does at least one of them help? ${found}`];
}

function lessonsParagraph(proof: Proof, lessons: LessonCounts): Paragraph {
  const { kinds } = proof;
  const states = Object.entries(STATES).flatMap(([state, words]) =>
    lessons[state] ? [`${lessons[state]} ${words}`] : [],
  );
  const of = kinds.filter(({ told, held }) => told + held > 0);
  const rows = of.map(({ kind, channel, toldFailures, heldFailures, evidence, harm }) => {
    const where = channel === 'start' ? 'at a start' : 'at a failing call';
    const facts = `${heldFailures} held out, ${toldFailures} told`;
    return `${INDENT}${(KINDS[kind] ?? kind).padEnd(18)}${where.padEnd(19)}${facts.padEnd(24)}${amount(evidence)} / ${amount(harm)}`;
  });
  return [
    'Which lessons?',
    ...wrapped(...(states.length > 0 ? [`${states.join(', ')}.`] : []), ...someWords(proof)),
    ...(new Set(of.map(({ kind }) => kind)).size > 1
      ? [`${INDENT}${'kind'.padEnd(18)}${'where'.padEnd(19)}${'failures'.padEnd(24)}helps / harms`, ...rows]
      : []),
  ];
}

const STATES: Readonly<Record<string, string>> = {
  proven: 'proven to help',
  trial: 'on trial',
  'too-rare': 'too rare to know',
  quiet: 'not seen again, told only at the failure',
  pinned: 'pinned, never held out',
  withdrawn: 'withdrawn ("proof --withdrawn")',
};

const KINDS: Readonly<Record<string, string>> = {
  rule: 'learned by rules',
  lint: 'lint rules',
  model: 'by a model',
  user: 'by you',
  error: 'errors, no fix',
};

function priceParagraph({ price, start }: Proof): Paragraph {
  const { heldFailures, letThrough, toldChars } = price;
  const came = `${counted(heldFailures, 'failure')} came back while held out`;
  const so =
    heldFailures === 0
      ? 'No failure came back while its lesson was held out.'
      : start.verdict === 'helps'
        ? `${came}; by what is seen, telling would have prevented about ${letThrough} of them.`
        : `${came}: telling would have prevented at most these.`;
  return ['What it cost', ...wrapped(so, `Agents were told ${toldChars.toLocaleString('en')} characters.`)];
}

const READING: Paragraph = [
  'How to read it',
  ...wrapped(
    `Evidence is what 1, staked against "telling changes nothing", has become: below 1 it was lost in part, at ${ENOUGH} it ` +
      `counts as known. Where telling changes nothing it ever gets there for at most 1 user in ${ENOUGH}, however often one looks.`,
  ),
];

const LIMITS: Paragraph = [
  'Not measured',
  ...wrapped(
    'Tokens and time saved; whether the work was right; sessions without a transcript. A lesson that was held out may be ' +
      "known from elsewhere (the client's memory, CLAUDE.md): effects look smaller then.",
  ),
];

/** In words: `about 12 weeks (in 4 of 5 cases within 22)`. */
export function howLong(forecast: Forecast): string {
  if (forecast.kind === 'never') return 'more than two years';
  const { kind, median, most } = forecast;
  const unit = kind === 'weeks' ? 'week' : 'month';
  return `about ${counted(median, unit)} (in 4 of 5 cases within ${most})`;
}

const times = (count: number) => counted(count, 'time');

/** A rate with one place, or none. */
function perWeek(rate: number): string {
  return rate >= 10 ? String(Math.round(rate)) : rate.toFixed(1).replace(/\.0$/, '');
}

function amount(evidence: number): string {
  if (evidence >= 1000) return 'over 1,000';
  return evidence >= 10 ? String(Math.floor(evidence)) : (Math.floor(evidence * 10) / 10).toFixed(1);
}
