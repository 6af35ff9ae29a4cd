/** `@` where the client reads a file: at the beginning of a word. `a@b.c` and `` `@types/x` `` are none. */
const MENTION = /(?:^|\s)@\S/;
/** Behind a bracket or a quote only what cannot be anything but a path. */
const PATH = /(?:^|[\s("'[])@["']?(?:[~/]|\.{1,2}(?:\/|\w)|[^\s`]*\.\.\/)/;
/** What certainly opens a fence: at the margin, and with no backtick behind it. In a list it may end before its end. */
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;

/**
 * Whether a Markdown text has the client read a file into the context. In code, which is no place for a mention, names
 * such as `@Component` are allowed; a path is not, because what the client takes for code may be something else.
 */
export function mentionsFile(text: string): boolean {
  return PATH.test(text) || proseOf(text).some((line) => MENTION.test(line));
}

/** The lines without what is certainly code: a block that is never closed is none. */
function proseOf(text: string): string[] {
  const prose: string[] = [];
  let open: { readonly mark: string; readonly lines: string[] } | undefined;
  for (const line of text.split(/\r\n|[\n\r]/)) {
    const mark = FENCE.exec(line)?.[1];
    if (open === undefined) {
      prose.push(withoutSpans(line));
      if (mark !== undefined) open = { mark, lines: [] };
    } else if (mark?.startsWith(open.mark) && line.trim() === mark) open = undefined;
    else open.lines.push(withoutSpans(line));
  }
  return [...prose, ...(open?.lines ?? [])];
}

/** A backslash or an element may make an ordinary character of a backtick; then nothing counts as code. */
function withoutSpans(line: string): string {
  return /[\\<]/.test(line) ? line : line.replace(/(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)/g, '``');
}
