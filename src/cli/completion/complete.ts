import type { CommandReference, OptionReference, ValueReference } from './reference.ts';

/** A word that may stand where the cursor is, and what it means. */
export type Candidate = { readonly value: string; readonly description: string };

/** Where a value stands: of which command, behind which option or as which argument. */
export type ValuePlace = {
  readonly command: CommandReference;
  /** `--project`; undefined for an argument. */
  readonly option: string | undefined;
  /** As the usage shows it: `key`, `PATH`. */
  readonly name: string;
  /** The arguments before it. */
  readonly before: readonly string[];
};

/** What this machine knows for a place beside its choices. */
export type Known = (place: ValuePlace) => readonly Candidate[];

export type Completions = {
  readonly candidates: readonly Candidate[];
  /** Whether a path of a file or directory may stand there as well. */
  readonly takesFiles: boolean;
};

/** What the user has typed so far, read as the program would read it. */
type Reading = {
  readonly command: CommandReference;
  /** The arguments. */
  readonly given: readonly string[];
  readonly used: readonly OptionReference[];
  /** The option whose value comes next, or one more of its values. */
  readonly open: OptionReference | undefined;
  /** Whether the next word is that value whatever it looks like. */
  readonly isForced: boolean;
  /** Behind `--`. */
  readonly isPlain: boolean;
};

const NOTHING_YET = { given: [], used: [], open: undefined, isForced: false, isPlain: false } as const;
const FILE_NAMES = /^(?:file|path|place|copy|dir|folder)$/i;
const NOTHING: Completions = { candidates: [], takesFiles: false };

/**
 * What may stand where the last of these words stands, of which the beginning is typed. `words`: those behind the program's name;
 * bash splits at `=`, and some shells leave quotes on.
 */
export function completionsFor(
  words: readonly string[],
  program: CommandReference,
  known: Known,
): Completions {
  const typed = (words.at(-1) ?? '').replace(/^(?:""|''|["'])/, '');
  const reading = words.slice(0, -1).reduce(readWord, { command: program, ...NOTHING_YET });
  const [, long, begun = ''] = (!reading.isPlain && /^(--[\w-]+)=(.*)$/.exec(typed)) || [];
  if (long === undefined)
    return startingWith(typed === '=' ? '' : typed, candidatesAt(typed, reading, known));
  const option = reading.command.options.find((one) => one.long === long);
  const { candidates, takesFiles } = startingWith(begun, valuesOf(option, reading, known));
  return { candidates: candidates.map((one) => ({ ...one, value: `${long}=${one.value}` })), takesFiles };
}

function readWord(reading: Reading, word: string): Reading {
  const { command, given, used, open, isForced, isPlain } = reading;
  if (open !== undefined && word === '=') return reading;
  if (open !== undefined && (isForced || !word.startsWith('-')))
    return { ...reading, open: open.value?.isVariadic ? open : undefined, isForced: false };
  if (word === '--' && !isPlain) return { ...reading, open: undefined, isPlain: true };
  if (word.startsWith('-') && !isPlain) {
    const [name] = word.split('=');
    const option = command.options.find(({ long, short }) => name === long || name === short);
    const waiting = option?.value !== undefined && name === word ? option : undefined;
    const isRequired = waiting?.value?.isRequired === true;
    return { ...reading, used: option ? [...used, option] : used, open: waiting, isForced: isRequired };
  }
  const below = command.commands.find(({ path }) => given.length === 0 && path.at(-1) === word);
  return below ? { command: below, ...NOTHING_YET } : { ...reading, given: [...given, word] };
}

function candidatesAt(typed: string, reading: Reading, known: Known): Completions {
  const { command, given, used, open, isForced, isPlain } = reading;
  const ofOption = valuesOf(open, reading, known);
  if (isForced) return ofOption;
  const options = command.options
    .filter((option) => option.value?.isVariadic || !used.includes(option))
    .map(({ long, description }) => ({ value: long, description }));
  if (typed.startsWith('-') && !isPlain) return { candidates: options, takesFiles: false };
  const argument = command.arguments[given.length] ?? command.arguments.findLast((one) => one.isVariadic);
  const ofArgument = valuesOf(argument && { value: argument }, reading, known);
  const commands = given.length > 0 || isPlain ? [] : command.commands;
  const found = [
    ...ofOption.candidates,
    ...commands.map(({ path, description }) => ({ value: path.at(-1) ?? '', description })),
    ...ofArgument.candidates,
  ];
  const takesFiles = ofOption.takesFiles || ofArgument.takesFiles;
  // Where nothing is known to stand there, the options are what is left to say.
  return { candidates: found.length > 0 || takesFiles || isPlain ? found : options, takesFiles };
}

/** The values of an option, or of an argument, which has no name. */
function valuesOf(
  of: { readonly long?: string; readonly value: ValueReference | undefined } | undefined,
  { command, given }: Reading,
  known: Known,
): Completions {
  if (of?.value === undefined) return NOTHING;
  const { name, choices } = of.value;
  const candidates = [
    ...choices.map((value) => ({ value, description: '' })),
    ...known({ command, option: of.long, name, before: given }),
  ];
  return { candidates, takesFiles: FILE_NAMES.test(name) };
}

function startingWith(typed: string, { candidates, takesFiles }: Completions): Completions {
  return { candidates: candidates.filter(({ value }) => value.startsWith(typed)), takesFiles };
}
