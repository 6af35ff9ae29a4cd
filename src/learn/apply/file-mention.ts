/** `@` where the client reads a file: at the beginning of a word. `a@b.c` and `` `@types/x` `` are none. */
const MENTION = /(?:^|\s)@\S/;
/** Behind a bracket or a quote only what cannot be anything but a path. */
const PATH = /(?:^|[\s("'[])@["']?(?:[~/]|\.{1,2}(?:\/|\w)|[^\s`]*\.\.\/)/;
const FENCE = /^\s*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})/;

/**
 * Whether a Markdown text has the client read a file into the context. In code, which is no place for a mention, names
 * such as `@Component` are allowed; a path is not, because what the client takes for code may be something else.
 */
export function mentionsFile(text: string): boolean {
  return PATH.test(text) || proseOf(text).some((line) => MENTION.test(line));
}

/** The lines without what is certainly code. */
function proseOf(text: string): string[] {
  let fence: string | undefined;
  return text.split(/\r\n|[\n\r]/).flatMap((line) => {
    const mark = FENCE.exec(line)?.[1];
    if (fence === undefined) {
      fence = mark;
      return [withoutSpans(line)];
    }
    const isEnd = mark?.startsWith(fence) && line.trim() === mark;
    if (isEnd) fence = undefined;
    return [];
  });
}

/** A backslash or an element may make an ordinary character of a backtick; then nothing counts as code. */
function withoutSpans(line: string): string {
  return /[\\<]/.test(line) ? line : line.replace(/(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)/g, '``');
}
