import { createInterface } from 'node:readline';

/** Asks a question on the terminal that is answered with y or n; everything else, the end of the input too, is no. */
export async function confirmOnTerminal(question: string): Promise<boolean> {
  return /^\s*y(?:es)?\s*$/i.test((await askOnTerminal(`${question} [y/N] `)) ?? '');
}

/** Asks for a line on the terminal; undefined at the end of the input, and upon Ctrl-C. */
export function askOnTerminal(question: string): Promise<string | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    lines.once('SIGINT', () => lines.close());
    let answer: string | undefined;
    lines.once('close', () => {
      if (answer === undefined) process.stderr.write('\n'); // The question's line has not ended.
      resolve(answer);
    });
    lines.question(question, (given) => {
      answer = given;
      lines.close();
    });
  });
}
