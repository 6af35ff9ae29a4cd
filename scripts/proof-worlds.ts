/**
 * What the proof says in made-up worlds of which the truth is known, looked at after every failure: false alarms, intervals that
 * are wrong, and how many failures it takes until it is known that telling helps.
 */
import { parseArgs } from 'node:util';
import {
  type CureWorld,
  type Lessons,
  liveCure,
  livesOf,
  livesWith,
  RISKS,
  type Seen,
  type World,
} from '../test/benefit/made-worlds.ts';
import { exitCodeFor, median, printTable, random } from './measure.ts';

const USAGE = `Usage: bun scripts/proof-worlds.ts [--worlds N] [--json]

Lives made-up worlds, looks at the evidence after every failure, and prints what was seen at any time. Ends with 1 when
something is beyond its bound: 5 % false alarms and wrong intervals, 1.3 times as many failures as the method was found to need.

  --worlds N   so many lives of each world (20000); of fewer the bound of 5 % is wider by three standard errors
  --json       the figures as JSON`;

const WORLDS = 20_000;
const FALSE_MAX = 0.05;
/** How many times as many failures it may take as was found when the method was chosen. */
const SLOWER_MAX = 1.3;

/** A world with what was seen in all its lives; `most`: what may not be exceeded. */
type Figure = { readonly name: string; readonly value: number; readonly most?: number };
type Row = { readonly world: string; readonly figures: readonly Figure[] };

/** Switches when it is known, and stays. */
const whenKnown = (helps: number, wasOther: boolean) => wasOther || helps >= Math.log(20);
/** Holds out less whenever it looks well, as somebody would who wants to be right. */
const whenItLooksWell = (helps: number) => helps > 0;

const trial = { p: 0.5, failures: 400 };
const SEEN: readonly (World & { readonly name: string })[] = [
  ...Object.entries(RISKS).flatMap(([name, risk]) =>
    [1, 0.4].map((ratio) => ({ name: `${name} × ${ratio}`, ...trial, ratio, risk })),
  ),
  { name: 'p = 0.1 × 1', ...trial, ratio: 1, p: 0.1 },
  { name: 'steady × 0.7', ...trial, ratio: 0.7 },
  { name: 'steady × 0.1', ...trial, ratio: 0.1 },
  { name: 'steady × 2', ...trial, ratio: 2 },
  {
    name: 'p 0.5, when known 0.1 × 0.4',
    ...trial,
    failures: 200,
    ratio: 0.4,
    other: { p: 0.1, when: whenKnown },
  },
  {
    name: 'p 0.5, if well 0.1 × 1',
    ...trial,
    failures: 100,
    ratio: 1,
    other: { p: 0.1, when: whenItLooksWell },
  },
  {
    name: 'p 0.1, if well 0.5 × 1',
    p: 0.1,
    failures: 100,
    ratio: 1,
    other: { p: 0.5, when: whenItLooksWell },
  },
];

/** Would-be failures until it is known, median and 80 %, as found when the method was chosen. */
const FOUND: readonly { ratio: number; p: number; needed: readonly [number, number] }[] = [
  { ratio: 0.7, p: 0.1, needed: [664, 1290] },
  { ratio: 0.7, p: 0.2, needed: [382, 726] },
  { ratio: 0.7, p: 0.5, needed: [257, 468] },
  { ratio: 0.4, p: 0.1, needed: [120, 240] },
  { ratio: 0.4, p: 0.2, needed: [67, 141] },
  { ratio: 0.4, p: 0.5, needed: [47, 87] },
  { ratio: 0.1, p: 0.1, needed: [35, 63] },
  { ratio: 0.1, p: 0.2, needed: [18, 35] },
  { ratio: 0.1, p: 0.5, needed: [16, 25] },
];
/** Six tenths of the cost gone, as most are mended at once; or, for comparison, as each takes six tenths less. */
const FOUND_CURES: readonly (Omit<CureWorld, 'episodes'> & {
  name: string;
  needed: readonly [number, number];
})[] = [
  { name: 'at once, p = 0.1', p: 0.1, atOnce: 0.73, needed: [108, 154] },
  { name: 'at once, p = 0.2', p: 0.2, atOnce: 0.73, needed: [58, 77] },
  { name: 'at once, p = 0.5', p: 0.5, atOnce: 0.73, needed: [28, 45] },
  {
    name: 'each × 0.4, p = 0.5',
    p: 0.5,
    ratio: 0.4,
    needed: [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  },
];
const CURES: readonly (CureWorld & { readonly name: string })[] = [
  { name: 'nothing, p = 0.5', p: 0.5, episodes: 200 },
  { name: 'nothing, p = 0.1', p: 0.1, episodes: 200 },
  { name: 'nothing, costs grow', p: 0.5, episodes: 200, scale: (at) => 0.3 * 1.01 ** at },
  {
    name: 'nothing, costs in bursts',
    ratio: 1,
    p: 0.5,
    episodes: 200,
    scale: (at) => (at % 20 < 5 ? 4 : 0.7),
  },
];

/** Twenty lessons, of which one makes a share of the failures, and so many of the others help. */
function twenty(helping: { count: number; ratio: number }, habit: { share: number; ratio: number }): Lessons {
  const share = (1 - habit.share) / 19;
  const others = Array.from({ length: 19 }, (_, at) => ({
    ratio: at < helping.count ? helping.ratio : 1,
    share,
  }));
  return [...others, habit];
}
const NONE = { count: 0, ratio: 1 };
const LESSONS: readonly { readonly name: string; readonly lessons: Lessons }[] = [
  { name: 'none of 20 helps, one habit', lessons: twenty(NONE, { share: 0.8, ratio: 1 }) },
  { name: '5 of 20 help × 0.1', lessons: twenty({ count: 5, ratio: 0.1 }, { share: 0.05, ratio: 1 }) },
  { name: 'only the habit of 20 × 0.4', lessons: twenty(NONE, { share: 0.8, ratio: 0.4 }) },
];
const LESSONS_FAILURES = 500;

const repeated = <T>(count: number, live: () => T): T[] => Array.from({ length: count }, live);
const shareOf = <T>(lives: readonly T[], has: (life: T) => boolean) =>
  lives.filter(has).length / lives.length;

/** How many it took, median and 80 %, and how many it may. */
function neededFigures(taken: readonly number[], [half, most]: readonly [number, number]): Figure[] {
  return [
    { name: 'median', value: median(taken), most: half * SLOWER_MAX },
    { name: '80 %', value: median(taken, 0.8), most: most * SLOWER_MAX },
  ];
}

function seenRows(worlds: number, falseMax: number): Row[] {
  return SEEN.map(({ name, ...world }, at) => {
    const lives = repeated(worlds, livesOf(world, random(at + 1)));
    const share = (figure: keyof Seen, isFalse: boolean): Figure => {
      const value = shareOf(lives, (life) => life[figure] === true);
      return { name: figure, value, ...(isFalse && { most: falseMax }) };
    };
    const { ratio } = world;
    const figures = [share('helps', ratio >= 1), share('harms', ratio <= 1), share('misses', true)];
    return { world: name, figures: [...figures, share('withdraws', false)] };
  });
}

function neededRows(worlds: number): Row[] {
  return FOUND.map(({ needed, ...world }, at) => {
    const live = livesOf({ ...world, failures: 4000, untilKnown: true }, random(100 + at));
    const taken = repeated(worlds, live).map(({ helps, wouldBe }) =>
      helps ? wouldBe : Number.POSITIVE_INFINITY,
    );
    return { world: `× ${world.ratio}, p = ${world.p}`, figures: neededFigures(taken, needed) };
  });
}

function cureRows(worlds: number, falseMax: number): Row[] {
  return CURES.map(({ name, ...world }, at) => {
    const draw = random(200 + at);
    const lives = repeated(worlds, () => liveCure(world, draw));
    const helps = shareOf(lives, ({ known }) => known < Number.POSITIVE_INFINITY);
    const harms = shareOf(lives, (life) => life.harms);
    const figures = [
      { name: 'helps', value: helps, most: falseMax },
      { name: 'harms', value: harms, most: falseMax },
    ];
    return { world: name, figures };
  });
}

function cureNeededRows(worlds: number): Row[] {
  return FOUND_CURES.map(({ needed, name, ...world }, at) => {
    const draw = random(300 + at);
    const taken = repeated(worlds, () => liveCure({ ...world, episodes: 400 }, draw).known);
    return { world: name, figures: neededFigures(taken, needed) };
  });
}

function lessonRows(worlds: number, falseMax: number): Row[] {
  return LESSONS.map(({ name, lessons }, at) => {
    const draw = random(400 + at);
    const lives = repeated(worlds, livesWith(lessons, LESSONS_FAILURES, draw));
    const isNone = lessons.every(({ ratio }) => ratio >= 1);
    const someHelp = shareOf(lives, (life) => life.someHelp < Number.POSITIVE_INFINITY);
    const falseShare = lives.reduce((sum, life) => sum + life.falseShare, 0) / lives.length;
    const figures = [
      { name: 'some help', value: someHelp, ...(isNone && { most: falseMax }) },
      { name: 'until then', value: median(lives.map((life) => life.someHelp)) },
      { name: 'any proven', value: shareOf(lives, ({ proven }) => proven > 0) },
      { name: 'of them false', value: falseShare, most: falseMax },
    ];
    return { world: name, figures };
  });
}

/** Lives all worlds; each table by its title. */
function tablesOf(worlds: number): Record<string, Row[]> {
  const falseMax = FALSE_MAX + (worlds < WORLDS ? 3 * Math.sqrt((FALSE_MAX * (1 - FALSE_MAX)) / worlds) : 0);
  return {
    'prevention, ever seen': seenRows(worlds, falseMax),
    'prevention, would-be failures until it is known': neededRows(worlds),
    'cure, ever seen': cureRows(worlds, falseMax),
    'cure, episodes until it is known': cureNeededRows(worlds),
    '20 lessons, ever seen': lessonRows(worlds, falseMax),
  };
}

const shown = (value: number) => (value > 1 ? String(Math.round(value)) : value.toFixed(3));

const { values } = parseArgs({
  options: { worlds: { type: 'string' }, json: { type: 'boolean' }, help: { type: 'boolean' } },
});
const worlds = Number(values.worlds ?? WORLDS);
if (values.help) console.log(USAGE);
else if (!(Number.isInteger(worlds) && worlds > 0)) {
  console.error(`Cannot live "${values.worlds}" worlds: not a whole number above 0; see --help`);
  process.exitCode = 2;
} else {
  const tables = tablesOf(worlds);
  if (values.json) console.log(JSON.stringify(tables, null, 2));
  else {
    for (const [title, rows] of Object.entries(tables)) {
      const head = rows[0]?.figures.map(({ name }) => name) ?? [];
      const cell = ({ value, most }: Figure) =>
        `${shown(value)}${most === undefined || most === Infinity ? '' : ` of ${shown(most)}${value > most ? ' EXCEEDED' : ''}`}`;
      printTable(
        [title, ...head],
        rows.map(({ world, figures }) => [world, ...figures.map(cell)]),
      );
    }
  }
  const faults = Object.entries(tables).flatMap(([title, rows]) =>
    rows.flatMap(({ world, figures }) =>
      figures.flatMap(({ name, value, most = Number.POSITIVE_INFINITY }) =>
        value > most ? [`${title}: ${name} of "${world}" is ${value}, more than ${most}`] : [],
      ),
    ),
  );
  process.exitCode = exitCodeFor(faults);
}
