import type { Argument, Command, Option } from 'commander';

/** What a command is called, takes and answers: the one value that completions, man page and docs/commands.md are made of. */
export type CommandReference = {
  /** Behind the program's name: `['config', 'set']`; empty for the program itself. */
  readonly path: readonly string[];
  /** `self-generation config set [options] <key> <value>` */
  readonly usage: string;
  readonly description: string;
  readonly arguments: readonly ArgumentReference[];
  readonly options: readonly OptionReference[];
  /** What its help says behind that; read when it is asked for, since completions do not need it. */
  readonly details: CommandDetails;
  readonly commands: readonly CommandReference[];
};

/** A value that a person types. */
export type ValueReference = {
  /** As the usage shows it: `key`, `PATH`. */
  readonly name: string;
  readonly choices: readonly string[];
  readonly isRequired: boolean;
  readonly isVariadic: boolean;
};
export type ArgumentReference = ValueReference & { readonly description: string };
export type OptionReference = {
  /** `-v, --version`, `--days <N>` */
  readonly flags: string;
  readonly long: string;
  readonly short: string | undefined;
  readonly description: string;
  readonly value: ValueReference | undefined;
};

/** Paragraphs of text. One whose lines are indented is to be shown as it stands. */
export type CommandDetails = {
  readonly notes: readonly string[];
  readonly examples: string;
  readonly exitCodes: string;
};

/** Describes a command and those below it, without what is hidden and without commander's own `help`. */
export function referenceOf(command: Command, path: readonly string[] = []): CommandReference {
  const help = command.createHelp();
  const visible = help.visibleCommands(command).filter((one) => command.commands.includes(one));
  return {
    path,
    usage: help.commandUsage(command),
    description: command.description(),
    arguments: command.registeredArguments.map(argumentReference),
    options: help.visibleOptions(command).map(optionReference),
    get details() {
      return detailsIn(textBehindHelp(command));
    },
    commands: visible.map((one) => referenceOf(one, [...path, one.name()])),
  };
}

/** The command and all below it, in the order of the help. */
export function withSubcommands(reference: CommandReference): readonly CommandReference[] {
  return [reference, ...reference.commands.flatMap(withSubcommands)];
}

function argumentReference(argument: Argument): ArgumentReference {
  return {
    name: argument.name(),
    description: argument.description,
    choices: argument.argChoices ?? [],
    isRequired: argument.required,
    isVariadic: argument.variadic,
  };
}

function optionReference(option: Option): OptionReference {
  const { flags, short, description, argChoices = [], required, optional, variadic } = option;
  const name = /[<[]([^>\].]+)/.exec(flags)?.[1] ?? '';
  const value = { name, choices: argChoices, isRequired: required, isVariadic: variadic };
  return {
    ...{ flags, short, description },
    long: option.long ?? flags,
    value: required || optional ? value : undefined,
  };
}

/** What addHelpText() has added: all that a person is shown, without what commander itself writes. */
function textBehindHelp(command: Command): string {
  let shown = '';
  const { writeOut } = command.configureOutput();
  command.configureOutput({
    writeOut: (text) => {
      shown += text;
    },
  });
  command.outputHelp();
  command.configureOutput({ ...(writeOut && { writeOut }) });
  return shown.slice(command.helpInformation().length);
}

/** Takes the text apart at its empty lines, and at "Exit codes:", which may end a paragraph. */
function detailsIn(text: string): CommandDetails {
  const found = { notes: [] as string[], examples: '', exitCodes: '' };
  for (const paragraph of text.trim().split(/\n\s*\n/)) {
    const [said = '', codes] = paragraph.split(/(?<=^|\s)Exit codes:[ \n]/);
    if (codes !== undefined) found.exitCodes = codes;
    if (said.startsWith('Examples:\n')) found.examples = said.slice('Examples:\n'.length);
    else if (said.trim() !== '') found.notes.push(said.trimEnd());
  }
  return found;
}
