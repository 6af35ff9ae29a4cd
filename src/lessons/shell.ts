/**
 * A shell command cut into its simple commands, exactly enough to compare two of them word by word. Not a shell: what it
 * does not understand (loops, nested substitutions) stays one word or one more simple command, which costs a lesson and
 * never harm.
 */

/** One program with its arguments. */
export type SimpleCommand = {
  /** As typed, assignments in front included, redirections left out. */
  readonly words: readonly string[];
  /** Where it runs, as `cd` said before it; empty where the shell stood. */
  readonly directory: string;
  readonly endedBy: Operator;
  /** It reads what the command before it prints. */
  readonly readsPipe: boolean;
};

type Operator = '' | '&&' | '||' | '|' | ';' | '&';

const COMMAND_LENGTH_MAX = 4096;
const COMMANDS_MAX = 32;
const WORDS_MAX = 120;

/** Words that begin or end a construct of the shell and are no program. */
const KEYWORDS = new Set(['do', 'then', 'else', 'elif', 'fi', 'done', 'esac', '{', '}', '!', 'time']);

/** Cuts a command line into its simple commands. `cd` is followed and not among them. */
export function parseShell(text: string): SimpleCommand[] {
  const found: { words: string[]; operator: Operator; level: number }[] = [];
  const reader = new Reader(text.slice(0, COMMAND_LENGTH_MAX).replace(/\\\r?\n/g, ' '));
  let words: string[] = [];
  let level = 0;
  for (;;) {
    const token = reader.next();
    if (token?.kind === 'word') {
      if (words.length < WORDS_MAX) words.push(token.text);
      continue;
    }
    const isGroup = token?.kind === 'group';
    if (words.length > 0)
      found.push({ words, operator: token?.kind === 'operator' ? token.text : '', level });
    else if (token?.kind === 'operator' && token.text !== ';') {
      const last = found.at(-1);
      if (last !== undefined && last.operator === '') last.operator = token.text;
    }
    words = [];
    if (isGroup) level = Math.max(0, level + token.step);
    if (token === undefined || found.length >= COMMANDS_MAX) break;
  }
  return withDirectories(found);
}

function withDirectories(
  found: readonly { words: string[]; operator: Operator; level: number }[],
): SimpleCommand[] {
  const commands: SimpleCommand[] = [];
  const directories: string[] = [''];
  let before: Operator = ';';
  for (const { words: all, operator, level } of found) {
    directories.length = level + 1;
    const inherited = directories.findLast((one) => one !== undefined) ?? '';
    const words = withoutKeywords(all);
    const [program, target] = words;
    if ((program === 'cd' || program === 'pushd') && before !== '|') {
      directories[level] = joined(inherited, unquoted(target ?? ''));
    } else if (words.length > 0) {
      commands.push({ words, directory: inherited, endedBy: operator, readsPipe: before === '|' });
    }
    before = operator === '' ? ';' : operator;
  }
  return commands;
}

function withoutKeywords(words: string[]): string[] {
  let start = 0;
  while (start < words.length && KEYWORDS.has(words[start] as string)) start++;
  const rest = words.slice(start);
  // The head of a loop runs nothing.
  return /^(?:for|while|until|if|case|select|function|export|local|set|unset|alias|trap)$/.test(rest[0] ?? '')
    ? []
    : rest;
}

function joined(base: string, target: string): string {
  if (target === '' || target === '-' || target.includes('$')) return base;
  const isAbsolute = /^(?:[/~]|[A-Za-z]:)/.test(target);
  const segments = (isAbsolute || base === '' ? target : `${base}/${target}`).split('/');
  const kept: string[] = [];
  for (const segment of segments) {
    if (segment === '.' || (segment === '' && kept.length > 0)) continue;
    if (segment === '..' && kept.length > 0 && kept.at(-1) !== '..' && kept.at(-1) !== '') kept.pop();
    else kept.push(segment);
  }
  return kept.join('/') || (isAbsolute ? '/' : '.');
}

/** A word without the quotes around its parts. */
export function unquoted(word: string): string {
  return word.replace(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gs, (_all, single, double, escaped) =>
    String(single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? ''),
  );
}

/** The program of a simple command, without path and without the assignments in front of it; empty when there is none. */
export function programOf({ words }: Pick<SimpleCommand, 'words'>): string {
  const typed = words.find((one) => !isAssignment(one)) ?? '';
  // In PowerShell a path has backslashes.
  const word = /["']/.test(typed) ? unquoted(typed) : typed;
  return word.slice(word.search(/[^\\/]*$/)).replace(/\.(?:exe|cmd|bat)$/i, '');
}

/** `NAME=value` in front of a command. */
export function isAssignment(word: string): boolean {
  return /^[A-Za-z_]\w*\+?=/.test(word);
}

type Token =
  | { readonly kind: 'word'; readonly text: string }
  | { readonly kind: 'operator'; readonly text: Operator }
  | { readonly kind: 'group'; readonly step: 1 | -1 };

/** Reads tokens one by one. */
class Reader {
  readonly #text: string;
  #at = 0;
  readonly #heredocs: string[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  /** Undefined at the end. */
  next(): Token | undefined {
    for (;;) {
      const character = this.#text[this.#at];
      if (character === undefined) return undefined;
      if (character === ' ' || character === '\t' || character === '\r') this.#at++;
      else if (character === '#') this.#at = this.#lineEnd();
      else if (this.#skipRedirection()) continue;
      else return this.#token(character);
    }
  }

  #token(character: string): Token {
    if (character === '\n') {
      this.#at++;
      this.#skipHeredocs();
      return { kind: 'operator', text: ';' };
    }
    if (character === '(' || character === ')') {
      this.#at++;
      return { kind: 'group', step: character === '(' ? 1 : -1 };
    }
    const operator = /^(?:&&|\|\||\|&|[;|&])/.exec(this.#text.slice(this.#at, this.#at + 2))?.[0];
    if (operator === undefined) return { kind: 'word', text: this.#word() };
    this.#at += operator.length;
    return { kind: 'operator', text: (operator === '|&' ? '|' : operator) as Operator };
  }

  /** `2>&1`, `> file`, `< file`, `<<EOF`. */
  #skipRedirection(): boolean {
    const found = /^(?:\d*(?:>&|<&)[\d-]|&?>>?\|?|\d+>>?|<<-?|<)(?!\()/.exec(
      this.#text.slice(this.#at, this.#at + 8),
    )?.[0];
    if (found === undefined) return false;
    this.#at += found.length;
    if (/[&]\S$/.test(found)) return true;
    while (this.#text[this.#at] === ' ') this.#at++;
    const word = this.#word();
    if (found.startsWith('<<')) this.#heredocs.push(unquoted(word));
    return true;
  }

  #skipHeredocs(): void {
    for (const end of this.#heredocs.splice(0)) {
      while (this.#at < this.#text.length) {
        const line = this.#text.slice(this.#at, this.#lineEnd());
        this.#at = Math.min(this.#text.length, this.#lineEnd() + 1);
        if (line.trim() === end) break;
      }
    }
  }

  #lineEnd(): number {
    const end = this.#text.indexOf('\n', this.#at);
    return end < 0 ? this.#text.length : end;
  }

  #word(): string {
    const start = this.#at;
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at] as string;
      if (
        /[\s;|&()<>]/.test(character) &&
        !(character === '(' && /[$<>=]/.test(this.#text[this.#at - 1] ?? ' ')) &&
        !(/[<>]/.test(character) && this.#text[this.#at + 1] === '(')
      )
        break;
      if (character === '\\') this.#at += 2;
      else if (character === "'") this.#at = this.#behind("'", this.#at + 1);
      else if (character === '"') this.#at = this.#behindDouble(this.#at + 1);
      else if (character === '`') this.#at = this.#behind('`', this.#at + 1);
      else if (character === '(') this.#at = this.#behindParenthesis(this.#at + 1);
      else this.#at++;
    }
    this.#at = Math.max(Math.min(this.#at, this.#text.length), start + 1);
    return this.#text.slice(start, this.#at);
  }

  #behind(mark: string, from: number): number {
    const end = this.#text.indexOf(mark, from);
    return end < 0 ? this.#text.length : end + 1;
  }

  #behindDouble(from: number): number {
    for (let at = from; at < this.#text.length; at++) {
      const character = this.#text[at];
      if (character === '\\') at++;
      else if (character === '"') return at + 1;
      else if (character === '(' && this.#text[at - 1] === '$') at = this.#behindParenthesis(at + 1) - 1;
    }
    return this.#text.length;
  }

  #behindParenthesis(from: number): number {
    let depth = 1;
    for (let at = from; at < this.#text.length; at++) {
      const character = this.#text[at];
      if (character === '\\') at++;
      else if (character === '<' && this.#text[at + 1] === '<') at = this.#behindHeredoc(at) - 1;
      else if (character === "'") at = this.#behind("'", at + 1) - 1;
      else if (character === '"') at = this.#behindDouble(at + 1) - 1;
      else if (character === '(') depth++;
      else if (character === ')' && --depth === 0) return at + 1;
    }
    return this.#text.length;
  }

  /** Behind a here-document inside a substitution, whose text may hold anything. */
  #behindHeredoc(from: number): number {
    const [mark, , end] = /^<<-?[ \t]*(['"]?)(\w+)\1/.exec(this.#text.slice(from, from + 64)) ?? [];
    if (mark === undefined || end === undefined) return from + 2;
    const body = from + mark.length;
    const found = new RegExp(`^[ \\t]*${end}[ \\t]*$`, 'm').exec(this.#text.slice(body));
    return found === null ? this.#text.length : body + found.index + found[0].length;
  }
}
