import { createInterface } from 'node:readline';

/** Asks a question on the terminal that is answered with y or n; everything else, the end of the input too, is no. */
export function confirmOnTerminal(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    lines.once('SIGINT', () => lines.close());
    let answer: string | undefined;
    lines.once('close', () => {
      if (answer === undefined) process.stderr.write('\n'); // The question's line has not ended.
      resolve(/^\s*y(?:es)?\s*$/i.test(answer ?? ''));
    });
    lines.question(`${question} [y/N] `, (given) => {
      answer = given;
      lines.close();
    });
  });
}
