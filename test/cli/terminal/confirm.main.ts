import { confirmOnTerminal } from '../../../src/cli/terminal/ask.ts';

/** A process that asks one question and prints the answer. */
process.stdout.write(String(await confirmOnTerminal('Really?')));
